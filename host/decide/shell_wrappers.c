#include "shell_wrappers.h"

#include <string.h>

#include "nacre/own.h"

#define ROW(program, what) .name = program, .kind = SH_WRAPPER_##what

static const struct sh_wrapper wrappers[] = {
    /* shells */
    { ROW("sh", SHELL) },
    { ROW("dash", SHELL) },
    { ROW("ash", SHELL) },
    { ROW("hush", SHELL) },
    { ROW("posh", SHELL) },
    { ROW("yash", SHELL) },
    { ROW("bash", BASH) },
    { ROW("rbash", BASH) },
    { ROW("bash-static", BASH) },
    { ROW("zsh-static", BASH) },
    { ROW("zsh", BASH) },
    { ROW("ksh", BASH) },
    { ROW("ksh93", BASH) },
    { ROW("mksh", BASH) },
    /* builtins that run words or texts */
    { ROW("eval", JOIN) },
    { ROW(".", SOURCE) },
    { ROW("source", SOURCE) },
    { ROW("trap", TRAP) },
    { ROW("exec", RUN), .shorts = "cl" },
    { ROW("command", RUN), .shorts = "pvV" },
    { ROW("builtin", RUN) },
    { ROW("-", RUN) },
    { ROW("noglob", RUN) },
    { ROW("nocorrect", RUN) },
    { ROW("repeat", RUN), .operands = 1 },
    { ROW("coproc", RUN), .assignments = true },
    /* builtins that set variables */
    { ROW("export", ASSIGN) },
    { ROW("readonly", ASSIGN) },
    { ROW("declare", DECLARE) },
    { ROW("typeset", DECLARE) },
    { ROW("local", DECLARE) },
    { ROW("read", ASSIGN), .shorts = "ersEa:d:i:n:N:p:t:u:" },
    { ROW("getopts", ASSIGN), .operands = 2 },
    { ROW("unset", ASSIGN) },
    { ROW("let", ASSIGN) },
    { ROW("set", SET) },
    { ROW("printf", PRINTF) },
    { ROW("test", TEST) },
    { ROW("[", TEST) },
    /* builtins that change what later words mean */
    { ROW("alias", LATER), .shorts = "=" },
    { ROW("hash", LATER), .shorts = "p" },
    { ROW("jobs", LATER), .shorts = "x" },
    { ROW("mapfile", LATER), .shorts = "C" },
    { ROW("readarray", LATER), .shorts = "C" },
    { ROW("enable", LATER), .shorts = "fdn" },
    { ROW("bind", REFUSE) },
    { ROW("compgen", REFUSE) },
    { ROW("complete", REFUSE) },
    { ROW("fc", REFUSE) },
    { ROW("hist", REFUSE) },
    { ROW("nameref", REFUSE) },
    { ROW("emulate", REFUSE) },
    { ROW("zmodload", REFUSE) },
    { ROW("autoload", REFUSE) },
    { ROW("sched", REFUSE) },
    /* programs that run words */
    { ROW("busybox", RUN), .longs = "list list-full install help" },
    { ROW("toybox", RUN), .longs = "long help version" },
    { ROW("time", RUN), .shorts = "apqvVf:o:",
      .longs = "append format= output= portability verbose quiet version",
      .assignments = true },
    { ROW("nohup", RUN), .longs = "help version" },
    { ROW("nice", RUN), .shorts = "n:0123456789", .longs = "adjustment= help version" },
    { ROW("ionice", RUN), .shorts = "c:n:p:P:u:t",
      .longs = "class= classdata= pid= pgid= uid= ignore" },
    { ROW("chrt", RUN), .shorts = "abdfiomrRpvT:P:D:", .operands = 1,
      .longs = "all-tasks batch deadline fifo idle other max rr reset-on-fork pid "
               "verbose sched-runtime= sched-period= sched-deadline=" },
    { ROW("taskset", RUN), .shorts = "acp", .longs = "all-tasks cpu-list pid",
      .operands = 1 },
    { ROW("timeout", RUN), .shorts = "k:s:vfp", .operands = 1,
      .longs = "preserve-status foreground verbose kill-after= signal= help version" },
    { ROW("setsid", RUN), .shorts = "cfwV", .longs = "ctty fork wait version help" },
    { ROW("stdbuf", RUN), .shorts = "i:o:e:", .longs = "input= output= error=" },
    { ROW("unbuffer", RUN), .shorts = "p" },
    { ROW("chroot", RUN), .longs = "groups= userspec= skip-chdir", .operands = 1,
      .starts_shell = true },
    { ROW("unshare", RUN), .shorts = "muinpUCTfrcS:G:R:w:l:",
      .longs = "mount? uts? ipc? net? pid? user? cgroup? time? fork map-root-user "
               "map-current-user map-auto map-user= map-group= map-users= map-groups= "
               "keep-caps kill-child? mount-proc? propagation= setgroups= root= wd= "
               "setuid= setgid= monotonic= boottime= load-interp=",
      .starts_shell = true },
    { ROW("nsenter", RUN), .shorts = "am::u::i::n::p::U::C::T::Fet:S:G:r::w::W::Z",
      .longs = "all target= mount? uts? ipc? net? pid? user? cgroup? time? setuid= "
               "setgid= preserve-credentials root? wd? wdns? env no-fork follow-context",
      .starts_shell = true },
    { ROW("setpriv", RUN), .shorts = "d",
      .longs = "dump clear-groups keep-groups init-groups groups= inh-caps= "
               "ambient-caps= bounding-set= no-new-privs rgid= regid= egid= ruid= "
               "reuid= euid= securebits= pdeathsig= selinux-label= apparmor-profile= "
               "reset-env" },
    { ROW("sudo", RUN), .shorts = "ABbEHnPSiKkVvlsC:D:g:h:p:R:r:t:T:U:u:",
      .longs = "askpass background bell close-from= chdir= preserve-env? group= set-home "
               "host= login remove-timestamp reset-timestamp non-interactive "
               "preserve-groups prompt= chroot= role= stdin shell type= command-timeout= "
               "user= validate list version help",
      .assignments = true, .starts_shell = true },
    { ROW("doas", RUN), .shorts = "LnsC:u:a:", .starts_shell = true },
    { ROW("pkexec", RUN), .longs = "user= disable-internal-agent keep-cwd" },
    { ROW("gosu", RUN), .operands = 1 },
    { ROW("su-exec", RUN), .operands = 1 },
    { ROW("setuidgid", RUN), .operands = 1 },
    { ROW("tini", RUN), .shorts = "svwge:p:" },
    { ROW("dumb-init", RUN), .shorts = "cv", .longs = "single-child verbose" },
    { ROW("fakeroot", RUN), .longs = "unknown-is-real", .starts_shell = true },
    { ROW("linux32", RUN), .starts_shell = true },
    { ROW("linux64", RUN), .starts_shell = true },
    { ROW("strace", RUN), .shorts = "cCdfFhiknqrtTvVwxyYzZDa:b:e:I:o:O:p:P:s:S:u:U:X:",
      .longs = "follow-forks output-separately trace= output= string-limit= summary "
               "summary-only quiet? decode-fds? absolute-timestamps? seccomp-bpf" },
    { ROW("env", ENV), .shorts = "iv0u:C:S:",
      .longs = "ignore-environment null unset= chdir= split-string=S debug help version "
               "block-signal? default-signal? ignore-signal? list-signal-handling",
      .assignments = true },
    { ROW("xargs", XARGS), .shorts = "0rtpxoa:d:E:e::I:i::L:l::n:P:s:",
      .longs = "null no-run-if-empty verbose interactive exit open-tty arg-file= "
               "delimiter= eof? replace?i max-lines? max-args= max-procs= max-chars= "
               "process-slot-var= show-limits" },
    { ROW("find", FIND) },
    /* programs that run texts */
    { ROW("su", TEXT), .shorts = "lmpPfc:s:g:G:w:",
      .longs = "command=c session-command=c login preserve-environment pty fast shell= "
               "group= supp-group= whitelist-environment=",
      .operands = 99, .permutes = true, .starts_shell = true },
    { ROW("runuser", TEXT), .shorts = "lmpPfc:s:g:G:w:u:",
      .longs = "command=c session-command=c login preserve-environment pty fast shell= "
               "group= supp-group= whitelist-environment= user=",
      .starts_shell = true },
    { ROW("sg", TEXT), .shorts = "c:", .operands = 99, .permutes = true,
      .starts_shell = true },
    { ROW("script", TEXT), .shorts = "aefqc:E:I:O:B:o:m:t::T:",
      .longs = "append command=c echo= log-in= log-out= log-io= log-timing= "
               "logging-format= flush force return quiet output-limit= timing?",
      .operands = 99, .permutes = true, .starts_shell = true },
    { ROW("flock", TEXT), .shorts = "sexunoFvw:E:c:",
      .longs = "shared exclusive unlock nonblock nb timeout= wait= conflict-exit-code= "
               "close no-fork verbose command=c",
      .operands = 1 },
    { ROW("watch", JOIN), .shorts = "bcCdegptwrxn:q:",
      .longs = "beep color no-color differences? errexit chgexit interval= precise "
               "equexit= no-rerun no-title no-wrap exec" },
    { ROW("ssh", JOIN),
      .shorts = "46AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:i:J:L:l:m:O:p:Q:R:S:W:w:B:",
      .operands = 1, .starts_shell = true },
    /* programs whose command is written in a language or a file of theirs */
    { ROW("parallel", REFUSE) },
    { ROW("at", REFUSE) },
    { ROW("batch", REFUSE) },
    { ROW("crontab", REFUSE) },
    { ROW("chpst", REFUSE) },
    { ROW("envdir", REFUSE) },
    { ROW("softlimit", REFUSE) },
    { ROW("expect", REFUSE) },
    { ROW("screen", REFUSE) },
    { ROW("tmux", REFUSE) },
    { ROW("dtach", REFUSE) },
    { ROW("systemd-run", REFUSE) },
    { ROW("start-stop-daemon", REFUSE) },
    { ROW("capsh", REFUSE) },
    { ROW("setarch", REFUSE) },
    { ROW("prlimit", REFUSE) },
    { ROW("runcon", REFUSE) },
    { ROW("ltrace", REFUSE) },
    { ROW("gdb", REFUSE) },
    { ROW("bwrap", REFUSE) },
    { ROW("firejail", REFUSE) },
    { ROW("newgrp", REFUSE) },
    { ROW("login", REFUSE) },
    { ROW("csh", REFUSE) },
    { ROW("tcsh", REFUSE) },
    { ROW("fish", REFUSE) },
    { ROW("pwsh", REFUSE) },
    { ROW("nu", REFUSE) },
    { ROW("xonsh", REFUSE) },
    { ROW("elvish", REFUSE) },
    { ROW("ld.so", REFUSE) },
};

const struct sh_wrapper *nacre_sh_wrapper_find(const char *name)
{
    static const struct sh_wrapper loader = { ROW("the loader", REFUSE) };

    for (size_t i = 0; i < NACRE_COUNT(wrappers); i++)
        if (strcmp(wrappers[i].name, name) == 0)
            return &wrappers[i];
    if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0)
        return &loader;
    return NULL;
}
