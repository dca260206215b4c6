#include "shell_wrappers.h"

#include <string.h>

#include "nacre/own.h"

#define ROW(program, what) .name = program, .kind = SH_WRAPPER_##what
#define SETARCH(machine)                                                                 \
    {                                                                                    \
        ROW(machine, RUN), .shorts = "vRFBILSTXZ3",                                      \
        .longs = "verbose addr-no-randomize fdpic-funcptrs mmap-page-zero "              \
                 "addr-compat-layout read-implies-exec 32bit short-inode whole-seconds " \
                 "sticky-timeouts 3gb 4gb uname-2.6 show list",                          \
        .starts_shell = true                                                             \
    }

/* What could be judged instead. */
#define BACKGROUND                                                                       \
    "give the command by itself, with & behind it if it is to go on; that can be judged"
#define LOOP "give the command to xargs, or write a loop; these can be judged"
#define TRACED                                                                           \
    "run the program by itself, or under strace or valgrind; these can be judged"
#define SHELLS "give the text to sh -c or bash -c, which can be judged"

static const struct sh_wrapper wrappers[] = {
    /* shells */
    { ROW("sh", SHELL) },
    { ROW("dash", SHELL) },
    { ROW("ash", SHELL) },
    { ROW("hush", SHELL) },
    { ROW("posh", SHELL) },
    { ROW("yash", SHELL) },
    { ROW("lash", SHELL) },
    { ROW("msh", SHELL) },
    { ROW("static-sh", SHELL) },
    { ROW("bash", BASH) },
    { ROW("rbash", BASH) },
    { ROW("bash-static", BASH) },
    { ROW("zsh-static", BASH) },
    { ROW("zsh", BASH) },
    { ROW("rzsh", BASH) },
    { ROW("ksh", BASH) },
    { ROW("rksh", BASH) },
    { ROW("pdksh", BASH) },
    { ROW("lksh", BASH) },
    { ROW("oksh", BASH) },
    { ROW("loksh", BASH) },
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
    { ROW("integer", DECLARE) },
    { ROW("float", DECLARE) },
    { ROW("wait", WAIT), .shorts = "fnp:" },
    { ROW("set", SET) },
    { ROW("shift", SET) },
    { ROW("exit", SET) },
    { ROW("return", SET) },
    { ROW("printf", PRINTF) },
    { ROW("print", PRINTF) },
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
    { ROW("vared", REFUSE) },
    { ROW("zparseopts", REFUSE) },
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
    { ROW("fakechroot", RUN), .starts_shell = true },
    { ROW("eatmydata", RUN) },
    { ROW("catchsegv", RUN) },
    { ROW("choom", RUN), .shorts = "n:p:", .longs = "adjust= pid=" },
    SETARCH("linux32"),
    SETARCH("linux64"),
    SETARCH("uname26"),
    SETARCH("x86_64"),
    SETARCH("i386"),
    SETARCH("i486"),
    SETARCH("i586"),
    SETARCH("i686"),
    SETARCH("athlon"),
    SETARCH("aarch64"),
    SETARCH("arm64"),
    SETARCH("armv7l"),
    SETARCH("ppc"),
    SETARCH("ppc64"),
    SETARCH("ppc64le"),
    SETARCH("s390"),
    SETARCH("s390x"),
    SETARCH("mips"),
    SETARCH("mips64"),
    SETARCH("riscv64"),
    { ROW("prlimit", RUN), .shorts = "vp:o:c::d::e::f::i::l::m::n::q::r::s::t::u::x::y::",
      .longs = "core? data? nice? fsize? sigpending? memlock? rss? nofile? msgqueue? "
               "rtprio? stack? cpu? nproc? as? locks? rttime? pid= output= noheadings "
               "raw verbose" },
    { ROW("ssh-agent", RUN), .shorts = "csdDka:E:O:P:t:" },
    { ROW("dbus-run-session", RUN), .longs = "help version" },
    { ROW("dbus-launch", RUN),
      .longs = "sh-syntax csh-syntax auto-syntax binary-syntax exit-with-session "
               "exit-with-x11 close-stderr help version" },
    { ROW("valgrind", RUN), .shorts = "qvdh",
      .longs = "tool? leak-check? show-leak-kinds? errors-for-leak-kinds? track-origins? "
               "error-exitcode? log-file? log-fd? xml? xml-file? suppressions? "
               "gen-suppressions? trace-children? num-callers? track-fds? time-stamp? "
               "show-reachable? undef-value-errors? keep-debuginfo? cache-sim? vgdb? "
               "child-silent-after-fork? callgrind-out-file? massif-out-file? stacks? "
               "cachegrind-out-file? dhat-out-file? branch-sim? dump-instr? "
               "collect-jumps? pages-as-heap? quiet verbose help version" },
    { ROW("chronic", RUN), .shorts = "ev" },
    { ROW("ifne", RUN), .shorts = "n" },
    { ROW("logsave", RUN), .shorts = "asv", .operands = 1 },
    { ROW("faketime", RUN), .shorts = "mf", .operands = 1 },
    { ROW("torsocks", RUN), .shorts = "dqiu:p:a:P:" },
    { ROW("torify", RUN) },
    { ROW("tsocks", RUN) },
    { ROW("proxychains", RUN), .shorts = "qf:" },
    { ROW("proxychains4", RUN), .shorts = "qf:" },
    { ROW("cgexec", RUN), .shorts = "bg:", .longs = "sticky" },
    { ROW("systemd-cat", RUN), .shorts = "t:p:",
      .longs = "identifier= priority= stderr-priority= level-prefix=" },
    { ROW("systemd-inhibit", RUN), .longs = "what= who= why= mode= list no-pager" },
    { ROW("run-one", RUN) },
    { ROW("run-this-one", RUN) },
    { ROW("keep-one-running", RUN) },
    { ROW("cttyhack", RUN), .starts_shell = true },
    { ROW("oneit", RUN), .shorts = "npr3c:" },
    { ROW("envuidgid", RUN), .operands = 1 },
    { ROW("s6-setuidgid", RUN), .operands = 1 },
    { ROW("tini-static", RUN), .shorts = "svwge:p:" },
    { ROW("catatonit", RUN), .shorts = "gLPVhp" },
    { ROW("nocache", RUN), .shorts = "n:" },
    { ROW("sshpass", RUN), .shorts = "f:d:p:P:e::vVh" },
    { ROW("git", GIT), .shorts = "C:c:pPhv",
      .longs = "git-dir= work-tree= namespace= config-env= super-prefix= attr-source= "
               "list-cmds? exec-path html-path man-path info-path paginate no-pager bare "
               "no-replace-objects no-lazy-fetch no-optional-locks no-advice "
               "literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs help "
               "version" },
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
    { ROW("fd", FD) },
    { ROW("fdfind", FD) },
    /* programs that have a command somewhere */
    { ROW("npx", AMONG) },
    { ROW("bunx", AMONG) },
    { ROW("uvx", AMONG) },
    { ROW("npm", AMONG), .longs = "exec x" },
    { ROW("pnpm", AMONG), .longs = "exec dlx" },
    { ROW("yarn", AMONG), .longs = "exec dlx" },
    { ROW("bun", AMONG), .longs = "x exec" },
    { ROW("uv", AMONG), .longs = "run" },
    { ROW("pipx", AMONG), .longs = "run" },
    { ROW("poetry", AMONG), .longs = "run" },
    { ROW("pipenv", AMONG), .longs = "run" },
    { ROW("pdm", AMONG), .longs = "run" },
    { ROW("hatch", AMONG), .longs = "run" },
    { ROW("rye", AMONG), .longs = "run" },
    { ROW("conda", AMONG), .longs = "run" },
    { ROW("mamba", AMONG), .longs = "run" },
    { ROW("micromamba", AMONG), .longs = "run" },
    { ROW("pixi", AMONG), .longs = "run exec x" },
    { ROW("tox", AMONG), .longs = "exec" },
    { ROW("bundle", AMONG), .longs = "exec" },
    { ROW("rbenv", AMONG), .longs = "exec" },
    { ROW("pyenv", AMONG), .longs = "exec" },
    { ROW("asdf", AMONG), .longs = "exec", .operands = 1 },
    { ROW("mise", AMONG), .longs = "exec x", .operands = 1 },
    { ROW("direnv", AMONG), .longs = "exec", .operands = 1 },
    { ROW("dotenv", AMONG), .longs = "run exec --" },
    { ROW("cross-env", AMONG) },
    { ROW("xvfb-run", AMONG) },
    { ROW("rlwrap", AMONG) },
    { ROW("numactl", AMONG) },
    { ROW("mpirun", AMONG) },
    { ROW("mpiexec", AMONG) },
    { ROW("orterun", AMONG) },
    { ROW("srun", AMONG) },
    { ROW("perf", AMONG), .longs = "stat record trace mem c2c lock kmem" },
    { ROW("docker", AMONG), .longs = "run exec create", .operands = 1 },
    { ROW("podman", AMONG), .longs = "run exec create", .operands = 1 },
    { ROW("nerdctl", AMONG), .longs = "run exec create", .operands = 1 },
    { ROW("docker-compose", AMONG), .longs = "run exec", .operands = 1 },
    { ROW("podman-compose", AMONG), .longs = "run exec", .operands = 1 },
    { ROW("kubectl", AMONG), .longs = "run exec debug", .operands = 1 },
    { ROW("oc", AMONG), .longs = "run exec debug rsh", .operands = 1 },
    { ROW("crictl", AMONG), .longs = "exec", .operands = 1 },
    { ROW("lxc", AMONG), .longs = "exec", .operands = 1 },
    { ROW("ip", AMONG), .longs = "exec", .operands = 1 },
    { ROW("nix-shell", AMONG) },
    { ROW("nix", AMONG), .longs = "develop shell", .operands = 1 },
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
    { ROW("hyperfine", OPTIONS), .shorts = "iNw:m:M:r:u:n:s:p:c:", .permutes = true,
      .longs = "warmup= min-runs= max-runs= runs= setup=t prepare=t conclude=t cleanup=t "
               "ignore-failure style= sort= time-unit= export-json= export-csv= "
               "export-markdown= export-asciidoc= export-orgmode= show-output output= "
               "input= command-name= reference=t shell=t",
      .option = nacre_sh_hyperfine_option },
    { ROW("concurrently", OPTIONS), .shorts = "krgin:c:p:l:t:s:m:", .permutes = true,
      .longs = "names= prefix-colors= prefix= prefix-length= timestamp-format= success= "
               "max-processes= kill-others kill-others-on-fail kill-signal= raw group "
               "no-color hide= handle-input default-input-target= restart-tries= "
               "restart-after= timings name-separator= teardown=T",
      .option = nacre_sh_concurrently_option },
    { ROW("nodemon", NAMED), .longs = "exec x" },
    { ROW("go", NAMED), .longs = "exec toolexec vettool" },
    { ROW("ssh", SSH), .option = nacre_sh_ssh_option,
      .shorts = "46AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:i:J:L:l:m:O:o:p:Q:R:S:W:w:B:" },
    { ROW("scp", OPTIONS), .permutes = true, .option = nacre_sh_scp_option,
      .shorts = "346ABCOpqRrTvc:D:i:J:l:o:P:S:X:" },
    { ROW("sftp", OPTIONS), .permutes = true, .option = nacre_sh_scp_option,
      .shorts = "46AaCfNpqrvB:b:c:D:i:J:l:o:P:R:S:s:X:" },
    { ROW("rsync", RSYNC) },
    /* programs whose command is written in a language or a file of theirs */
    { ROW("parallel", REFUSE), .instead = LOOP },
    { ROW("at", REFUSE), .instead = BACKGROUND },
    { ROW("batch", REFUSE), .instead = BACKGROUND },
    { ROW("crontab", LIST), .shorts = "lu:",
      .instead = "crontab -l can be judged, for it only lists" },
    { ROW("chpst", REFUSE) },
    { ROW("envdir", REFUSE) },
    { ROW("softlimit", REFUSE) },
    { ROW("expect", REFUSE) },
    { ROW("screen", REFUSE), .instead = BACKGROUND },
    { ROW("tmux", REFUSE), .instead = BACKGROUND },
    { ROW("dtach", REFUSE), .instead = BACKGROUND },
    { ROW("systemd-run", REFUSE), .instead = BACKGROUND },
    { ROW("start-stop-daemon", REFUSE), .instead = BACKGROUND },
    { ROW("capsh", REFUSE) },
    { ROW("setarch", REFUSE) },
    { ROW("runcon", REFUSE) },
    { ROW("ltrace", REFUSE), .instead = TRACED },
    { ROW("gdb", REFUSE), .instead = TRACED },
    { ROW("bwrap", REFUSE) },
    { ROW("firejail", REFUSE) },
    { ROW("newgrp", REFUSE) },
    { ROW("login", REFUSE) },
    { ROW("csh", REFUSE), .instead = SHELLS },
    { ROW("tcsh", REFUSE), .instead = SHELLS },
    { ROW("fish", REFUSE), .instead = SHELLS },
    { ROW("pwsh", REFUSE), .instead = SHELLS },
    { ROW("nu", REFUSE), .instead = SHELLS },
    { ROW("xonsh", REFUSE), .instead = SHELLS },
    { ROW("elvish", REFUSE), .instead = SHELLS },
    { ROW("rc", REFUSE), .instead = SHELLS },
    { ROW("sash", REFUSE), .instead = SHELLS },
    { ROW("osh", REFUSE), .instead = SHELLS },
    { ROW("ysh", REFUSE), .instead = SHELLS },
    { ROW("murex", REFUSE), .instead = SHELLS },
    { ROW("execlineb", REFUSE), .instead = SHELLS },
    { ROW("coreutils", REFUSE) },
    { ROW("sem", REFUSE), .instead = LOOP },
    { ROW("xe", REFUSE), .instead = LOOP },
    { ROW("tsp", REFUSE), .instead = BACKGROUND },
    { ROW("nq", REFUSE), .instead = BACKGROUND },
    { ROW("entr", REFUSE), .instead = LOOP },
    { ROW("watchexec", REFUSE), .instead = LOOP },
    { ROW("pee", REFUSE) },
    { ROW("mispipe", REFUSE) },
    { ROW("lckdo", REFUSE) },
    { ROW("setlock", REFUSE) },
    { ROW("with-lock-ex", REFUSE) },
    { ROW("timelimit", REFUSE) },
    { ROW("cpulimit", REFUSE) },
    { ROW("schedtool", REFUSE) },
    { ROW("daemonize", REFUSE), .instead = BACKGROUND },
    { ROW("run0", REFUSE), .instead = BACKGROUND },
    { ROW("systemd-nspawn", REFUSE) },
    { ROW("machinectl", REFUSE) },
    { ROW("lxc-attach", REFUSE) },
    { ROW("lxc-execute", REFUSE) },
    { ROW("schroot", REFUSE) },
    { ROW("proot", REFUSE) },
    { ROW("aa-exec", REFUSE) },
    { ROW("scriptlive", REFUSE) },
    { ROW("abduco", REFUSE), .instead = BACKGROUND },
    { ROW("openvt", REFUSE), .instead = BACKGROUND },
    { ROW("xterm", REFUSE), .instead = BACKGROUND },
    { ROW("x-terminal-emulator", REFUSE), .instead = BACKGROUND },
    { ROW("xinit", REFUSE) },
    { ROW("rr", REFUSE), .instead = TRACED },
    { ROW("lldb", REFUSE), .instead = TRACED },
    { ROW("sotruss", REFUSE), .instead = TRACED },
    { ROW("heaptrack", REFUSE), .instead = TRACED },
    { ROW("bpftrace", REFUSE), .instead = TRACED },
    { ROW("tcpsvd", REFUSE) },
    { ROW("udpsvd", REFUSE) },
    { ROW("inetd", REFUSE) },
    { ROW("crond", REFUSE) },
    { ROW("telnetd", REFUSE) },
    { ROW("getty", REFUSE) },
    { ROW("agetty", REFUSE) },
    { ROW("runsv", REFUSE) },
    { ROW("switch_root", REFUSE) },
    { ROW("run-init", REFUSE) },
};

static const struct sh_wrapper *find_exactly(const char *name, size_t size)
{
    for (size_t i = 0; i < NACRE_COUNT(wrappers); i++)
        if (strlen(wrappers[i].name) == size && memcmp(wrappers[i].name, name, size) == 0)
            return &wrappers[i];
    return NULL;
}

/* ld-linux-x86-64.so.2 and its like; musl's C library is its loader. */
static bool is_loader(const char *name)
{
    return (strncmp(name, "ld", 2) == 0 && strstr(name, ".so")) ||
           strncmp(name, "ld-musl", 7) == 0 || strncmp(name, "libc.so", 7) == 0 ||
           strncmp(name, "libc.musl", 9) == 0;
}

/* gtimeout: a program of GNU's where others have its name. */
static bool is_gnu(const char *name)
{
    static const char *const names[] = { "genv",    "gnice",   "gnohup",   "gstdbuf",
                                         "gchroot", "gruncon", "gtimeout", "gtime",
                                         "gxargs",  "gfind",   "gprintf",  "gtest" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* qemu-aarch64, qemu-arm-static: they run a program of another machine. */
static bool is_emulator(const char *name)
{
    static const char *const others[] = { "system-", "img",    "io",     "nbd",
                                          "storage", "ga",     "edid",   "keymap",
                                          "pr-",     "bridge", "vhost-", "vmsr" };

    if (strncmp(name, "qemu-", 5) != 0)
        return false;
    for (size_t i = 0; i < NACRE_COUNT(others); i++)
        if (strncmp(name + 5, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

const struct sh_wrapper *nacre_sh_wrapper_find(const char *name)
{
    static const struct sh_wrapper loader = { ROW("the loader", REFUSE) };
    static const struct sh_wrapper emulator = { ROW("qemu", AMONG) };
    const struct sh_wrapper *found = find_exactly(name, strlen(name));
    size_t size = strlen(name);

    if (found)
        return found;
    if (is_loader(name))
        return &loader;
    if (is_emulator(name))
        return &emulator;
    if (is_gnu(name))
        return find_exactly(name + 1, size - 1);
    if (strncmp(name, "git-", 4) == 0)
        return find_exactly("git", 3);
    while (size > 0 && strchr("0123456789.-", name[size - 1]))
        size--;
    found = find_exactly(name, size); /* bash-5.2, ksh93 */
    return found && (found->kind == SH_WRAPPER_SHELL || found->kind == SH_WRAPPER_BASH)
               ? found
               : NULL;
}
