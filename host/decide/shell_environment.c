/* Which variables change what runs.  Trusts nothing. */
#include <string.h>

#include "nacre/own.h"
#include "nacre/shell.h"

/* The value is a command, or a setting that names one. */
#define RUNS "is a command that other programs run"

static const struct {
    const char *name; /* with '*' at the end: every name that begins so */
    const char *why;
} variables[] = {
    /* the loader and the C library: code in every program */
    { "LD_*", "makes the loader run other code" },
    { "GCONV_PATH", "makes the C library load other code" },
    { "GLIBC_TUNABLES", "changes the loader" },
    { "LOCPATH", "makes the C library read other data as its own" },
    /* shells: what runs before a command, and what its words mean */
    { "PATH", "decides which program a name means" },
    { "ENV", "is a file that a shell runs first" },
    { "BASH_ENV", "is a file that bash runs first" },
    { "ZDOTDIR", "is where zsh finds the files that it runs first" },
    { "IFS", "decides where words end" },
    { "SHELLOPTS", "turns on options of every shell below" },
    { "BASHOPTS", "turns on options of every bash below" },
    { "BASH_FUNC_*", "defines a function in every bash below" },
    { "BASH_ALIASES", "changes what a name means" },
    { "BASH_CMDS", "decides which program a name means" },
    { "BASH_LOADABLES_PATH", "is where bash finds code to load" },
    { "PS0", "is expanded and so run" },
    { "PS1", "is expanded and so run" },
    { "PS2", "is expanded and so run" },
    { "PS4", "is expanded and so run by set -x" },
    { "PROMPT_COMMAND", "is run by bash" },
    { "CDPATH", "decides which directory a name means" },
    { "FPATH", "is where zsh and ksh find functions" },
    { "SHELL", "is the shell that other programs start" },
    /* interpreters: code before the program, or in place of its modules */
    { "PYTHONSTARTUP", "is a file that Python runs first" },
    { "PYTHONPATH", "is where Python finds code" },
    { "PYTHONHOME", "is where Python finds code" },
    { "PYTHONUSERBASE", "is where Python finds code" },
    { "PYTHONBREAKPOINT", "names code that Python runs" },
    { "PYTHONWARNINGS", "names code that Python loads" },
    { "PYTHONINSPECT", "makes Python read commands from its input" },
    { "PERL5OPT", "is a list of options that can run code" },
    { "PERL5LIB", "is where Perl finds code" },
    { "PERLLIB", "is where Perl finds code" },
    { "PERL5DB", "is code that Perl runs" },
    { "RUBYOPT", "is a list of options that can run code" },
    { "RUBYLIB", "is where Ruby finds code" },
    { "NODE_OPTIONS", "is a list of options that can run code" },
    { "NODE_PATH", "is where Node finds code" },
    { "LUA_INIT*", "is code that Lua runs" },
    { "LUA_PATH*", "is where Lua finds code" },
    { "LUA_CPATH*", "is where Lua finds code" },
    { "JAVA_TOOL_OPTIONS", "is a list of options that can run code" },
    { "JDK_JAVA_OPTIONS", "is a list of options that can run code" },
    { "_JAVA_OPTIONS", "is a list of options that can run code" },
    { "PHPRC", "is where PHP finds its settings" },
    { "PHP_INI_SCAN_DIR", "is where PHP finds its settings" },
    { "AWKPATH", "is where awk finds code" },
    { "AWKLIBPATH", "is where awk finds code" },
    /* tools that start others */
    { "GIT_EXEC_PATH", "is where git finds its programs" },
    { "GIT_TEMPLATE_DIR", "is where git finds hooks" },
    { "GIT_CONFIG*", "can name programs that git runs" },
    { "MAKEFLAGS", "is a list of options that can run code" },
    { "MFLAGS", "is a list of options that can run code" },
    { "GNUMAKEFLAGS", "is a list of options that can run code" },
    { "MAKEFILES", "is a list of files that make runs first" },
    { "RUSTC_WRAPPER", RUNS },
    { "CARGO_BUILD_RUSTC*", RUNS },
    { "GIT_SSH", RUNS },
    { "GIT_SSH_COMMAND", RUNS },
    { "GIT_EXTERNAL_DIFF", RUNS },
    { "GIT_PROXY_COMMAND", RUNS },
    { "GIT_ASKPASS", RUNS },
    { "GIT_EDITOR", RUNS },
    { "GIT_SEQUENCE_EDITOR", RUNS },
    { "GIT_PAGER", RUNS },
    { "SSH_ASKPASS", RUNS },
    { "SUDO_ASKPASS", RUNS },
    { "SUDO_EDITOR", RUNS },
    { "RSYNC_RSH", RUNS },
    { "CVS_RSH", RUNS },
    { "TAR_OPTIONS", "is a list of options that can run code" },
    { "PAGER", RUNS },
    { "MANPAGER", RUNS },
    { "SYSTEMD_PAGER", RUNS },
    { "LESSOPEN", RUNS },
    { "LESSCLOSE", RUNS },
    { "EDITOR", RUNS },
    { "VISUAL", RUNS },
    { "FCEDIT", RUNS },
    { "BROWSER", RUNS },
};

/* To switch a pager or an editor off is what agents do all the time. */
static bool is_harmless(const char *value)
{
    static const char *const values[] = { "",  "cat",      "true",
                                          ":", "/bin/cat", "/bin/true" };

    for (size_t i = 0; i < NACRE_COUNT(values); i++)
        if (strcmp(value, values[i]) == 0)
            return true;
    return false;
}

const char *nacre_shell_environment_denied(const char *assignment)
{
    size_t size = strcspn(assignment, "=");

    for (size_t i = 0; i < NACRE_COUNT(variables); i++) {
        const char *name = variables[i].name;
        size_t length = strlen(name);
        bool prefix = name[length - 1] == '*';

        if (prefix ? size < length - 1 || strncmp(assignment, name, length - 1) != 0
                   : size != length || strncmp(assignment, name, length) != 0)
            continue;
        if (strcmp(variables[i].why, RUNS) == 0 && assignment[size] == '=' &&
            is_harmless(assignment + size + 1))
            return NULL;
        return variables[i].why;
    }
    return NULL;
}
