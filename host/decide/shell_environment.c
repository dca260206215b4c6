/* Which variables change what runs.  Trusts nothing. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/own.h"
#include "nacre/shell.h"
#include "shell_parse.h"

/* The value is a command, or a setting that names one. */
#define RUNS "is a command that other programs run"
#define OPTIONS "is a list of options that can run code"
#define CODE "is where a program finds code"
#define SETTINGS "is a file of settings that can name programs"
/* The value is a program that a text can show: it is judged as a command. */
#define TOOL "is a program that builds run"

/* Values that are harmless.  To switch a pager or an editor off, to choose a compiler or
 * to give a program more memory is what agents do all the time. */
#define OFF "cat true : /bin/cat /bin/true"
#define NONE "/dev/null"
#define HEAP "-Xm[sx][0-9]* -XX:Max*Size=[0-9]* -Dfile.encoding=* -Djava.awt.headless=*"
#define COMPILERS                                                                        \
    "cc c++ gcc g++ clang clang++ tcc gfortran gcc-[0-9]* g++-[0-9]* clang-[0-9]* "      \
    "clang++-[0-9]* *-gcc *-g++ *-clang *-clang++ *-gcc-[0-9]* *-g++-[0-9]*"
#define BINUTILS                                                                         \
    "ld ar as nm strip ranlib objcopy objdump readelf cpp ld.bfd ld.gold ld.lld lld "    \
    "mold llvm-* gcc-ar gcc-nm gcc-ranlib *-linux-*-ld *-linux-*-ar *-linux-*-as "       \
    "*-linux-*-nm *-linux-*-strip *-linux-*-ranlib *-linux-*-objcopy"

struct variable {
    const char *name;     /* as a pattern; the first that matches counts */
    const char *why;
    const char *harmless; /* patterns; a value is, if one matches each word of it */
};

static const struct variable variables[] = {
    /* the loader and the C library: code in every program */
    { "LD", TOOL, BINUTILS },
    { "LD_*", "makes the loader run other code" },
    { "GCONV_PATH", "makes the C library load other code" },
    { "GLIBC_TUNABLES", "changes the loader" },
    { "LOCPATH", "makes the C library read other data as its own" },
    { "NLSPATH", "makes the C library read other data as its own" },
    { "GETCONF_DIR", "is where getconf finds programs" },
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
    { "PS[0124]", "is expanded and so run" },
    { "PROMPT4", "is expanded and so run" },
    { "PROMPT_COMMAND", "is run by bash" },
    { "CDPATH", "decides which directory a name means" },
    { "FPATH", "is where zsh and ksh find functions" },
    { "SHELL", "is the shell that other programs start" },
    { "CONFIG_SHELL", "is the shell that other programs start", "sh bash /bin/sh" },
    { "NULLCMD", RUNS, OFF },
    { "READNULLCMD", RUNS, OFF },
    { "INPUTRC", SETTINGS, NONE },
    /* interpreters: code before the program, or in place of its modules */
    { "PYTHONSTARTUP", "is a file that Python runs first" },
    { "PYTHONPATH", "is where Python finds code" },
    { "PYTHONHOME", "is where Python finds code" },
    { "PYTHONUSERBASE", "is where Python finds code" },
    { "PYTHONPLATLIBDIR", "is where Python finds code" },
    { "PYTHONPYCACHEPREFIX", "is where Python finds code" },
    { "PYTHONEXECUTABLE", "is where Python finds code" },
    { "PYTHONBREAKPOINT", "names code that Python runs", "0" },
    { "PYTHONWARNINGS", "names code that Python loads", "ignore default error always" },
    { "PYTHONINSPECT", "makes Python read commands from its input" },
    { "PYTEST_ADDOPTS", OPTIONS, "-[qvsx] -vv --tb=* --color=*" },
    { "PYTEST_PLUGINS", CODE },
    { "IPYTHONDIR", CODE },
    { "JUPYTER_*", CODE },
    { "MPLBACKEND", "names code that Python loads", "agg Agg svg SVG pdf PDF" },
    { "PIP_CONFIG_FILE", SETTINGS, NONE },
    { "PERL5OPT", OPTIONS },
    { "PERL5LIB", "is where Perl finds code" },
    { "PERLLIB", "is where Perl finds code" },
    { "PERL5DB", "is code that Perl runs" },
    { "PERLDB_OPTS", OPTIONS },
    { "RUBYOPT", OPTIONS, "-W -W[0-2] -w" },
    { "RUBYLIB", "is where Ruby finds code" },
    { "GEM_HOME", "is where Ruby finds code" },
    { "GEM_PATH", "is where Ruby finds code" },
    { "BUNDLE_GEMFILE", "is a file that Ruby runs" },
    { "NODE_OPTIONS", OPTIONS,
      "--max-old-space-size=[0-9]* --max_old_space_size=[0-9]* --no-warnings "
      "--no-deprecation --trace-warnings --trace-deprecation --enable-source-maps "
      "--experimental-vm-modules --openssl-legacy-provider" },
    { "NODE_PATH", "is where Node finds code" },
    { "NODE_REPL_EXTERNAL_MODULE", "is where Node finds code" },
    { "BUN_OPTIONS", OPTIONS },
    { "LUA_INIT*", "is code that Lua runs" },
    { "LUA_PATH*", "is where Lua finds code" },
    { "LUA_CPATH*", "is where Lua finds code" },
    { "JAVA_TOOL_OPTIONS", OPTIONS, HEAP },
    { "JDK_JAVA_OPTIONS", OPTIONS, HEAP },
    { "JDK_JAVAC_OPTIONS", OPTIONS, HEAP },
    { "_JAVA_OPTIONS", OPTIONS, HEAP },
    { "JAVA_OPTS", OPTIONS, HEAP },
    { "MAVEN_OPTS", OPTIONS, HEAP },
    { "MAVEN_ARGS", OPTIONS, "-B -q -o -U -e --batch-mode --quiet" },
    { "GRADLE_OPTS", OPTIONS, HEAP " -Dorg.gradle.daemon=*" },
    { "ANT_OPTS", OPTIONS, HEAP },
    { "ANT_ARGS", OPTIONS },
    { "SBT_OPTS", OPTIONS, HEAP },
    { "JAVA_HOME", CODE, "/usr/lib/jvm/*" },
    { "JAVACMD", RUNS, "java /usr/bin/java" },
    { "CLASSPATH", "is where Java finds code" },
    { "DOTNET_STARTUP_HOOKS", "names code that .NET runs first" },
    { "DOTNET_ADDITIONAL_DEPS", CODE },
    { "DOTNET_SHARED_STORE", CODE },
    { "DOTNET_ROOT*", CODE, "/usr/lib/dotnet /usr/share/dotnet" },
    { "CORECLR_*", CODE },
    { "COR_PROFILER*", CODE },
    { "PHPRC", "is where PHP finds its settings" },
    { "PHP_INI_SCAN_DIR", "is where PHP finds its settings" },
    { "AWKPATH", "is where awk finds code" },
    { "AWKLIBPATH", "is where awk finds code" },
    { "R_PROFILE*", "is a file that R runs first" },
    { "R_ENVIRON*", SETTINGS },
    { "R_LIBS*", "is where R finds code" },
    { "R_HOME", "is where R finds code" },
    { "R_DEFAULT_PACKAGES", "names code that R loads" },
    { "JULIA_NUM_THREADS", "changes Julia", "auto [0-9]*" },
    { "JULIA_*", "can name code that Julia runs" },
    { "ERL_*", OPTIONS },
    { "ELIXIR_ERL_OPTIONS", OPTIONS },
    { "GUILE_*", "is where Guile finds code" },
    { "TCLLIBPATH", "is where Tcl finds code" },
    { "TCL_LIBRARY", "is where Tcl finds code" },
    { "TK_LIBRARY", "is where Tcl finds code" },
    { "EMACSLOADPATH", "is where Emacs finds code" },
    { "VIMINIT", "is a command that vi runs first" },
    { "GVIMINIT", "is a command that vi runs first" },
    { "EXINIT", "is a command that vi runs first" },
    { "VIM", "is where vim finds code" },
    { "VIMRUNTIME", "is where vim finds code" },
    /* libraries that load others */
    { "OPENSSL_CONF", SETTINGS, NONE },
    { "OPENSSL_MODULES", "is where OpenSSL finds code" },
    { "OPENSSL_ENGINES", "is where OpenSSL finds code" },
    { "GTK_*MODULE*", "names code that GTK loads" },
    { "GTK[23]_MODULES", "names code that GTK loads" },
    { "GTK_PATH", "is where GTK finds code" },
    { "GTK_EXE_PREFIX", "is where GTK finds code" },
    { "GIO_*MODULE*", "is where GLib finds code" },
    { "GDK_PIXBUF_MODULE*", "is where GLib finds code" },
    { "QT_PLUGIN_PATH", "is where Qt finds code" },
    { "QT_QPA_PLATFORM_PLUGIN_PATH", "is where Qt finds code" },
    { "QML*_IMPORT_PATH", "is where Qt finds code" },
    { "GST_PLUGIN_*", "is where GStreamer finds code" },
    { "LIBGL_DRIVERS_PATH", CODE },
    { "LIBVA_DRIVERS_PATH", CODE },
    { "VDPAU_DRIVER_PATH", CODE },
    { "GBM_BACKENDS_PATH", CODE },
    { "VK_*FILE*", CODE },
    { "VK_*LAYER*", CODE },
    { "OCL_ICD_*", CODE },
    { "__EGL_*", CODE },
    { "SDL_DYNAMIC_API", CODE },
    { "ALSA_CONFIG_*", CODE },
    { "SASL_PATH", CODE },
    { "KRB5_CONFIG", SETTINGS, NONE },
    { "SSH_SK_PROVIDER", CODE },
    { "MAGICK_*_PATH", "names programs that ImageMagick runs" },
    { "TERMINFO*", "makes terminals' data come from elsewhere", "/usr/share/terminfo" },
    { "DBUS_*_ADDRESS", "can name a program that is started",
      "unix:path=/run/user/[0-9]/bus unix:path=/run/user/[0-9][0-9][0-9][0-9]/bus" },
    { "OMPI_MCA_*", "can name programs that MPI runs" },
    /* tools that start others */
    { "GIT_EXEC_PATH", "is where git finds its programs" },
    { "GIT_TEMPLATE_DIR", "is where git finds hooks" },
    { "GIT_CONFIG_NOSYSTEM", "changes git's settings", "0 1 true false" },
    { "GIT_CONFIG*", "can name programs that git runs", NONE },
    { "GIT_ALLOW_PROTOCOL", "can allow git to run programs", "file git http https ssh" },
    { "GIT_PROTOCOL_FROM_USER", "can allow git to run programs", "0" },
    { "MAKEFLAGS", OPTIONS, "-j -j[0-9] -j[0-9][0-9] -s -k" },
    { "MFLAGS", OPTIONS },
    { "GNUMAKEFLAGS", OPTIONS, "-j -j[0-9] -j[0-9][0-9] -s -k" },
    { "MAKEFILES", "is a list of files that make runs first" },
    { "CMAKE_TOOLCHAIN_FILE", "is a file that CMake runs" },
    { "CMAKE_*_LAUNCHER", TOOL, "ccache sccache" },
    { "CCACHE_*PREFIX*", RUNS },
    { "CCACHE_*COMPILER", TOOL, COMPILERS },
    { "CCACHE_CONFIGPATH", SETTINGS, NONE },
    { "GCC_EXEC_PREFIX", "is where gcc finds its programs" },
    { "COMPILER_PATH", "is where gcc finds its programs" },
    { "CCC_OVERRIDE_OPTIONS", OPTIONS },
    { "NVCC_*_FLAGS", OPTIONS },
    { "NVCC_CCBIN", TOOL, COMPILERS },
    { "CC", TOOL, COMPILERS },
    { "CXX", TOOL, COMPILERS },
    { "FC", TOOL, COMPILERS },
    { "F77", TOOL, COMPILERS },
    { "HOSTCC", TOOL, COMPILERS },
    { "HOSTCXX", TOOL, COMPILERS },
    { "CC_FOR_BUILD", TOOL, COMPILERS },
    { "CPP", TOOL, COMPILERS " " BINUTILS },
    { "AS", TOOL, COMPILERS " " BINUTILS },
    { "AR", TOOL, BINUTILS },
    { "NM", TOOL, BINUTILS },
    { "STRIP", TOOL, BINUTILS },
    { "RANLIB", TOOL, BINUTILS },
    { "OBJCOPY", TOOL, BINUTILS },
    { "OBJDUMP", TOOL, BINUTILS },
    { "PKG_CONFIG", TOOL, "pkg-config pkgconf *-pkg-config" },
    { "M4", TOOL, "m4" },
    { "YACC", TOOL, "yacc bison byacc" },
    { "LEX", TOOL, "lex flex" },
    { "LIBTOOL", TOOL, "libtool" },
    { "RUSTC", TOOL, "rustc" },
    { "RUSTDOC", TOOL, "rustdoc" },
    { "RUSTC_*WRAPPER", TOOL, "sccache ccache" },
    { "RUSTC_LINKER", TOOL, COMPILERS },
    { "RUSTFLAGS", OPTIONS,
      "-[CDWAFgO] warnings -Dwarnings -Awarnings dead_code unused --cfg --cfg=* "
      "tokio_unstable target-cpu=* -Ctarget-cpu=* target-feature=* opt-level=[0-3sz] "
      "debuginfo=[0-2] -Cdebuginfo=[0-2]" },
    { "CARGO_ENCODED_RUSTFLAGS", OPTIONS },
    { "CARGO_BUILD_RUSTC*", RUNS },
    { "CARGO_BUILD_RUSTFLAGS", OPTIONS },
    { "CARGO_TARGET_*_RUNNER", RUNS },
    { "CARGO_TARGET_*_LINKER", TOOL, COMPILERS },
    { "CARGO_TARGET_*_RUSTFLAGS", OPTIONS },
    { "CARGO_REGISTRIES_*_CREDENTIAL_PROVIDER", RUNS },
    { "GOFLAGS", OPTIONS,
      "-mod=mod -mod=vendor -mod=readonly -trimpath -race -v -buildvcs=* -count=* "
      "-tags=* -p=[0-9]*" },
    { "GOROOT", CODE, "/usr/lib/go* /usr/local/go" },
    { "GOTOOLCHAIN", "decides which program go is", "local auto go1.*" },
    { "GOENV", SETTINGS, "off " NONE },
    { "GOCACHEPROG", RUNS },
    { "GOAUTH", RUNS, "off netrc" },
    { "NIX_PATH", CODE },
    { "NIX_CONFIG", SETTINGS },
    { "npm_config_script?shell", "is the shell that npm starts" },
    { "npm_config_shell", "is the shell that npm starts" },
    { "npm_config_node?options", OPTIONS },
    { "npm_config_node?gyp", RUNS },
    { "npm_config_git", RUNS, "git" },
    { "npm_config_python", RUNS, "python3" },
    { "npm_config_editor", RUNS, OFF },
    { "npm_config_viewer", RUNS, OFF },
    { "npm_config_browser", RUNS, OFF " false" },
    { "npm_config_*config", SETTINGS, NONE },
    { "npm_config_init?module", "is code that npm runs" },
    { "npm_config_onload?script", "is code that npm runs" },
    { "YARN_RC_FILENAME", SETTINGS },
    { "YARN_YARN_PATH", CODE },
    { "YARN_PLUGINS", CODE },
    { "KUBECONFIG", SETTINGS, NONE },
    { "AWS_CONFIG_FILE", SETTINGS, NONE },
    { "AWS_SHARED_CREDENTIALS_FILE", SETTINGS, NONE },
    { "DOCKER_CONFIG", SETTINGS },
    { "HELM_PLUGINS", CODE },
    { "ANSIBLE_CONFIG", SETTINGS, NONE },
    { "ANSIBLE_LIBRARY", CODE },
    { "ANSIBLE_*_PLUGINS", CODE },
    { "TF_CLI_CONFIG_FILE", SETTINGS, NONE },
    { "WGETRC", SETTINGS, NONE },
    { "RIPGREP_CONFIG_PATH", SETTINGS, NONE },
    { "HGRCPATH", SETTINGS, NONE },
    { "PSQLRC", SETTINGS, NONE },
    { "SCREENRC", SETTINGS, NONE },
    { "FZF_DEFAULT_*", OPTIONS },
    { "BAT_OPTS", OPTIONS },
    { "GROFF_COMMAND_PREFIX", "decides which programs groff runs" },
    { "GROFF_BIN_PATH", "is where groff finds programs" },
    { "MANOPT", OPTIONS },
    { "LESS", OPTIONS, "-[FRXSinq] -FRX -FRSX -RFX FRX FRSX R" },
    { "MORE", OPTIONS },
    { "ZIPOPT", OPTIONS },
    { "TAR_OPTIONS", OPTIONS },
    { "VALGRIND_LIB", CODE },
    { "VALGRIND_OPTS", OPTIONS, "--leak-check=* --error-exitcode=* -q" },
    { "*SAN_SYMBOLIZER_PATH", RUNS, "/usr/bin/llvm-symbolizer*" },
    { "PUPPETEER_EXECUTABLE_PATH", RUNS, "/usr/bin/chromium* /usr/bin/google-chrome*" },
    { "CHROME_BIN", RUNS, "chromium* /usr/bin/chromium* /usr/bin/google-chrome*" },
    { "GIT_SSH", RUNS, OFF },
    { "GIT_SSH_COMMAND", RUNS, OFF },
    { "GIT_EXTERNAL_DIFF", RUNS, OFF },
    { "GIT_PROXY_COMMAND", RUNS, OFF },
    { "GIT_ASKPASS", RUNS, OFF },
    { "GIT_SEQUENCE_EDITOR", RUNS, OFF },
    { "SSH_ASKPASS", RUNS, OFF },
    { "SSH_*_HELPER", RUNS },
    { "SUDO_ASKPASS", RUNS, OFF },
    { "RSYNC_RSH", RUNS, OFF " ssh" },
    { "RSYNC_CONNECT_PROG", RUNS },
    { "CVS_RSH", RUNS, OFF },
    { "SVN_SSH", RUNS, OFF },
    { "HGMERGE", RUNS, OFF },
    { "KUBECTL_EXTERNAL_DIFF", RUNS, OFF " diff" },
    { "LESSOPEN", RUNS, OFF },
    { "LESSCLOSE", RUNS, OFF },
    { "FCEDIT", RUNS, OFF },
    { "HGEDITOR", RUNS, OFF },
    { "P4EDITOR", RUNS, OFF },
    { "CVSEDITOR", RUNS, OFF },
    { "VISUAL", RUNS, OFF },
    { "PAGER", RUNS, OFF },
    { "MANPAGER", RUNS, OFF },
    { "*_PAGER", RUNS, OFF },
    { "EDITOR", RUNS, OFF },
    { "*_EDITOR", RUNS, OFF },
    { "BROWSER", RUNS, OFF " none" },
    { "GH_BROWSER", RUNS, OFF },
};

/* Each word of the value is one that a pattern of the list matches; none at all, too.  What
 * a shell would read as more than a word is none, whatever a `*` could stand for. */
static bool is_harmless(const char *value, const char *patterns)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_+.,:/=@%- \t\n";
    char word[256], pattern[64];

    if (value[strspn(value, plain)] != '\0')
        return false;
    for (value += strspn(value, " \t\n"); *value; value += strspn(value, " \t\n")) {
        size_t size = strcspn(value, " \t\n");
        bool found = false;

        if (size >= sizeof(word))
            return false;
        (void)snprintf(word, sizeof(word), "%.*s", (int)size, value);
        for (const char *at = patterns; *at && !found; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");

            (void)snprintf(pattern, sizeof(pattern), "%.*s", (int)length, at);
            found = fnmatch(pattern, word, FNM_PATHNAME) == 0;
            at += length;
        }
        if (!found)
            return false;
        value += size;
    }
    return true;
}

static const struct variable *variable_find(const char *assignment)
{
    char name[256];
    int flags;

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(assignment, "="), assignment);
    /* npm reads its own in any case. */
    flags = strncasecmp(name, "npm_", 4) == 0 ? FNM_CASEFOLD : 0;
    for (size_t i = 0; i < NACRE_COUNT(variables); i++) {
        const char *pattern = variables[i].name;

        if ((pattern[0] == name[0] || pattern[0] == '*' || flags) &&
            fnmatch(pattern, name, flags) == 0)
            return &variables[i];
    }
    return NULL;
}

const char *nacre_shell_environment_denied(const char *assignment)
{
    const struct variable *variable = variable_find(assignment);
    const char *equals = strchr(assignment, '=');

    if (!variable ||
        (equals && variable->harmless && is_harmless(equals + 1, variable->harmless)))
        return NULL;
    return variable->why;
}

bool nacre_sh_variable_is_tool(const char *assignment)
{
    const struct variable *variable = variable_find(assignment);

    return variable && strcmp(variable->why, TOOL) == 0;
}
