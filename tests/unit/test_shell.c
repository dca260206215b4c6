/* The judge of native commands: its words, its limits, argv, the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/shell.h"

#define HEAD                                                                             \
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: t\nspec:\n  level: process\n"
#define SHELL HEAD "  capabilities:\n    shell:\n      mode: "
#define RESTRICTED                                                                       \
    SHELL "restricted\n      blocked_commands:\n        - rm -rf /\n        - a | b\n"   \
          "      blocked_patterns:\n        - 'x y'\n        - \"'\"\n"

static struct nacre_policy *policy_of(const char *yaml)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err = { 0 };

    if (nacre_policy_parse("p.yaml", yaml, strlen(yaml), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s", err.line, err.column, err.text);
    return policy;
}

static struct nacre_answer judge_text(const struct nacre_policy *policy, const char *text)
{
    struct nacre_answer answer;
    struct nacre_error err = { 0 };
    const struct nacre_command command = { .shell_text = text };

    if (nacre_shell_judge(policy, &command, &answer, &err) != NACRE_OK)
        fail_msg("%s: %s", text, err.text);
    return answer;
}

/* ---- words ---- */

#define CANT "mode restricted runs only what can be judged: "

static const struct {
    const char *yaml, *command;
    bool allowed;
    const char *rule;
    int line;
    const char *text, *fix;
} answers[] = {
    { HEAD, "ls", false, "capabilities.shell.mode", 0, "'ls' is denied: mode is deny",
      "add under spec.capabilities.shell: mode: restricted" },
    { HEAD, "$x", false, "capabilities.shell.mode", 0, "'$x' is denied: mode is deny",
      "add under spec.capabilities.shell: mode: full" },
    { SHELL "deny\n", "ls", false, "capabilities.shell.mode", 9,
      "'ls' is denied: mode is deny", "p.yaml:9:13: change 'deny' to 'restricted'" },
    { SHELL "deny\n      blocked_commands: [ls, rm]\n", "ls | rm x", false,
      "capabilities.shell.mode", 9, "'ls | rm x' is denied: mode is deny",
      "p.yaml:9:13: change 'deny' to 'restricted'; remove 'ls' from blocked_commands "
      "(line 10); remove 'rm' from blocked_commands (line 10)" },
    { SHELL "deny\n      blocked_commands: [rm]\n", "rm $(", false,
      "capabilities.shell.mode", 9, "'rm $(' is denied: mode is deny",
      "p.yaml:9:13: change 'deny' to 'full'" },
    { SHELL "full\n", "rm -rf /", true, "capabilities.shell.mode", 9,
      "'rm -rf /' is allowed: mode is full", "p.yaml:9:13: change 'full' to 'deny'" },
    { SHELL "full\n      blocked_commands: [rm]\n", "rm x", true,
      "capabilities.shell.mode", 9,
      "'rm x' is allowed: mode is full; blocked_commands and blocked_patterns hold in "
      "mode restricted only",
      "p.yaml:9:13: change 'full' to 'deny'" },
    { RESTRICTED, "echo \"a b\"", true, "capabilities.shell.mode", 9,
      "'echo \"a b\"' is allowed: mode is restricted and nothing blocks it",
      "add under spec.capabilities.shell.blocked_commands: - \"echo a b\"" },
    { SHELL "restricted\n", "x=1", true, "capabilities.shell.mode", 9,
      "'x=1' is allowed: mode is restricted and nothing blocks it",
      "p.yaml:9:13: change 'restricted' to 'deny'" },
    { RESTRICTED, "rm -rf / ; a|b ; x y", false, "capabilities.shell.blocked_commands[0]",
      11, "'rm -rf / ; a|b ; x y' is denied: it holds the blocked command 'rm -rf /'",
      "remove 'rm -rf /' from blocked_commands (line 11); remove 'a | b' from "
      "blocked_commands (line 12); remove 'x y' from blocked_patterns (line 14)" },
    { RESTRICTED, "rm -rf \"$d\"", false, "capabilities.shell.blocked_commands[0]", 11,
      "'rm -rf \"$d\"' is denied: an expansion in it may make it the blocked command 'rm "
      "-rf /'; write out what it stands for",
      "remove 'rm -rf /' from blocked_commands (line 11)" },
    { RESTRICTED, "echo x y", false, "capabilities.shell.blocked_patterns[0]", 14,
      "'echo x y' is denied: the blocked pattern 'x y' matches it",
      "remove 'x y' from blocked_patterns (line 14)" },
    { RESTRICTED, "ls $(if", false, "capabilities.shell.mode", 9,
      "'ls $(if' is denied: " CANT "it ends too early (byte 8)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "rm -rf / ; $(if", false, "capabilities.shell.blocked_commands[0]", 11,
      "'rm -rf / ; $(if' is denied: it holds the blocked command 'rm -rf /'",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "ls; sh -c \"ls; $x\"", false, "capabilities.shell.mode", 9,
      "'ls; sh -c \"ls; $x\"' is denied: " CANT "sh is given a text that only the shell "
      "knows; write it out in single quotes (byte 11)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "tmux new ls", false, "capabilities.shell.mode", 9,
      "'tmux new ls' is denied: " CANT "what tmux starts can't be told; give the command "
      "by itself, with & behind it if it is to go on; that can be judged (byte 1)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "parallel ls", false, "capabilities.shell.mode", 9,
      "'parallel ls' is denied: " CANT "what parallel starts can't be told; give the "
      "command to xargs, or write a loop; these can be judged (byte 1)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "gdb -batch ./a.out", false, "capabilities.shell.mode", 9,
      "'gdb -batch ./a.out' is denied: " CANT "what gdb starts can't be told; run the "
      "program by itself, or under strace or valgrind; these can be judged (byte 1)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "git -c a.b=c log", false, "capabilities.shell.mode", 9,
      "'git -c a.b=c log' is denied: " CANT "git's setting 'a.b=c' may name a program, "
      "and which can't be told; leave it out (byte 8)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
    { RESTRICTED, "ls \"\n\"; \n\x1b", true, "capabilities.shell.mode", 9,
      "'ls \"\\x0a\"; \\x0a\\x1b' is allowed: mode is restricted and nothing blocks it",
      "add under spec.capabilities.shell.blocked_commands: - \"ls \\x0a\"" },
    { RESTRICTED, "ls \n fi\x1b | \n", false, "capabilities.shell.mode", 9,
      "'ls \\x0a fi\\x1b | \\x0a' is denied: " CANT "it ends too early (byte 13)",
      "p.yaml:9:13: change 'restricted' to 'full'" },
};

static void an_answer_names_the_line_and_the_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(answers); i++) {
        NACRE_AUTO(nacre_policy_guard)
        struct nacre_policy *policy = policy_of(answers[i].yaml);
        struct nacre_answer answer = judge_text(policy, answers[i].command);

        assert_string_equal(answer.text, answers[i].text);
        assert_string_equal(answer.fix, answers[i].fix);
        assert_string_equal(answer.rule, answers[i].rule);
        assert_int_equal(answer.place.line, answers[i].line);
        assert_int_equal(answer.allowed, answers[i].allowed);
    }
}

static void what_is_no_command_is_told_so(void **state)
{
    static const char *const empty[] = { NULL }, *const nameless[] = { "", "x", NULL };
    static const char *const words[] = { "ls", NULL };
    static const struct nacre_command commands[] = {
        { .shell_text = NULL }, { .shell_text = "" }, { .shell_text = " \t\n" },
        { .argv = empty },      { .argv = nameless },
        { .shell_text = "ls", .argv = words },
    };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(commands); i++) {
        struct nacre_answer answer = { .allowed = true };
        struct nacre_error err = { 0 };

        assert_int_equal(nacre_shell_judge(policy, &commands[i], &answer, &err),
                         NACRE_ERR_USAGE);
        assert_true(answer.allowed && !answer.text[0] && err.text[0]);
    }
}

/* ---- without a shell ---- */

static const struct {
    const char *words[8];
    const char *rule; /* NULL: allowed */
} argvs[] = {
    { { "ls", "-l" }, NULL },
    { { "echo", "$x", "*", ";", "|", "`" }, NULL }, /* they stand for themselves */
    { { "rm", "-rf", "$x" }, NULL },
    { { "$x" }, NULL },
    { { "env", "PAGER=cat", "git" }, NULL },
    { { "a", "b" }, NULL },
    { { "sh", "-c", "ls" }, NULL },
    { { "rm", "-rf", "/" }, "blocked_commands[0]" },
    { { "/bin/rm", "-rf", "//" }, "blocked_commands[0]" },
    { { "rm", "-rf /" }, "blocked_commands[0]" },
    { { "env", "rm", "-rf", "/" }, "blocked_commands[0]" },
    { { "sh", "-c", "r\\m -rf /" }, "blocked_commands[0]" },
    { { "bash", "-c", "rm -rf $1", "_", "/" }, "blocked_commands[0]" },
    { { "find", ".", "-exec", "rm", "-rf", "{}", ";" }, "blocked_commands[0]" },
    { { "sh", "-c", "a x | b" }, NULL },
    { { "sh", "-c", "a | b" }, "blocked_commands[1]" },
    { { "echo", "x", "y" }, "blocked_patterns[0]" },
    { { "echo", "a b" }, "blocked_patterns[1]" }, /* quoted */
    { { "echo", "it's" }, "blocked_patterns[1]" },
    { { "echo", "" }, "blocked_patterns[1]" },
    { { "sh" }, "mode" },
    { { "sh", "-c", "$x" }, "mode" },
    { { "sh", "-c", "if" }, "mode" },
    { { "env", "LD_PRELOAD=x", "ls" }, "mode" },
    { { "xargs", "sh" }, "mode" },
    { { "ls", "\xff" }, "mode" },
};

static void words_without_a_shell_stand_for_themselves(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *unquoted =
        policy_of(SHELL "restricted\n      blocked_commands:\n        - rm -rf /\n"
                        "        - a | b\n");

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(argvs); i++) {
        const struct nacre_command command = { .argv = argvs[i].words };
        const char *rule = argvs[i].rule;
        bool pattern = rule && strstr(rule, "pattern");
        struct nacre_answer answer;
        struct nacre_error err = { 0 };

        assert_int_equal(
            nacre_shell_judge(pattern ? policy : unquoted, &command, &answer, &err),
            NACRE_OK);
        if (answer.allowed != !rule ||
            (rule && strcmp(answer.rule + strlen("capabilities.shell."), rule) != 0))
            fail_msg("row %zu: %s: %s", i, answer.rule, answer.text);
    }
}

/* ---- limits ---- */

static void what_is_not_utf8_is_denied_without_any_rule(void **state)
{
    static const char *const texts[] = { "ls \xff", "ls \xc3", "ls '\xed\xa0\x80'",
                                         "ls # \xc0\xaf" };
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = policy_of(SHELL "restricted\n");

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        struct nacre_answer answer = judge_text(policy, texts[i]);

        assert_false(answer.allowed);
        assert_non_null(strstr(answer.text, "it is not UTF-8"));
    }
    assert_true(judge_text(policy, "ls 'gr\xc3\xbc\xc3\x9f'").allowed);
}

/* `piece` as often as it fits, then `end`. */
static const char *repeat(char *ret_text, size_t size, const char *piece, const char *end)
{
    size_t length = strlen(piece), used = 0;

    for (; used + length + strlen(end) <= size; used += length)
        memcpy(ret_text + used, piece, length);
    memcpy(ret_text + used, end, strlen(end) + 1);
    return ret_text;
}

#define TEXT_MAX ((size_t)32 << 10)

static void a_text_of_32_kib_is_judged_and_a_longer_one_denied(void **state)
{
    static char text[TEXT_MAX + 2];
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);

    (void)state;
    assert_true(judge_text(policy, repeat(text, TEXT_MAX, "ls;", "ls")).allowed);
    assert_false(judge_text(policy, repeat(text, TEXT_MAX, "ls;", "rm -rf /")).allowed);
    memset(text, 'x', TEXT_MAX + 1);
    assert_non_null(strstr(judge_text(policy, text).text, "longer than 32768 bytes"));
    text[TEXT_MAX] = '\0';
    assert_true(judge_text(policy, text).allowed);
}

/* Each overflows the stack, or takes for ever, where nesting or work has no bound. */
static void deep_nesting_is_denied(void **state)
{
    static const char *const deep[] = { "(",        "( ",      "$(",      "$((",  "${x:-",
                                        "\"$(",     "{ ",      "if ",     "`",    "<(",
                                        "f() ",     "! ",      "case x in x) ",   "eval ",
                                        "while a;do ", "\"${x:-", "env ", "a=(",  "[[ ",
                                        "sh -c '",  "time ",   "coproc ", "x=$(", "$[" };
    static char text[TEXT_MAX + 2];
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(deep); i++)
        if (judge_text(policy, repeat(text, TEXT_MAX, deep[i], "")).allowed)
            fail_msg("'%s' may be repeated without end", deep[i]);
    for (size_t i = 0; i < NACRE_COUNT(deep); i++)
        (void)judge_text(policy, repeat(text, TEXT_MAX, deep[i], "$x"));
    assert_true(judge_text(policy, "( ( ( ( ( (ls) ) ) ) ) )").allowed);
    assert_true(judge_text(policy, "echo $(echo $(echo $(echo $(ls))))").allowed);
}

/* Each takes minutes where every stage may be as long as the text. */
static void pipelines_that_call_much_are_denied(void **state)
{
    static const struct {
        const char *body, *call;
    } hostile[] = {
        { "p q r;", "f|" },
        { "f;f;f;", "f|" },
        { "eval p q;", "f|" },
        { "f|", "f|" },
        { "x <(f);", "f|" },
        { "coproc f;", "f|" },
        { "f()(x);", "f|" },
        { "x <long-long-long-long-long-long-name;", "f|" },
    };
    static char text[TEXT_MAX + 2], half[TEXT_MAX / 2 + 1];
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(hostile); i++) {
        size_t used = (size_t)snprintf(text, sizeof(text), "f() { %sx; }; ",
                                       repeat(half, TEXT_MAX / 2 - 32, hostile[i].body,
                                              ""));

        (void)repeat(text + used, TEXT_MAX - used, hostile[i].call, "f");
        if (!strstr(judge_text(policy, text).text, "too often"))
            fail_msg("'%s' may be called without end: %s", hostile[i].body,
                     judge_text(policy, text).text);
    }
    assert_true(judge_text(policy, "f() { x | y; }; f | f | f; z | f; f | z").allowed);
}

static void every_cut_of_a_long_text_is_judged(void **state)
{
    static const char text[] =
        "if [[ $a =~ ^(x|y)$ ]]; then cat <<-E >f \"${b[@]:-$(c `d`)}\"\n\tx $(e)\n\tE\n"
        "for ((i=0;i<3;i++)); do env -S 'x y' z & done; case $f in (a|b) x=(1 '2') ;; "
        "esac; g() { sh -c 'h | i' <<< \"$((1+$(j)))\"; }; fi; $'\\x41\\n' ~ {a,b} <(k)";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);
    char cut[sizeof(text)];

    (void)state;
    for (size_t from = 0; from < sizeof(text) - 1; from++)
        for (size_t size = 1; size <= sizeof(text) - 1 - from; size += 7) {
            memcpy(cut, text + from, size);
            cut[size] = '\0';
            if (cut[strspn(cut, " \t\n")])
                (void)judge_text(policy, cut);
        }
}

/* ---- memory ---- */

static const char *const tried[] = {
    "echo \"$(cat <<E\n$x\nE\n)\" | env -S 'a b' >f; sh -c 'c | d' <<< e; x=(1 2)",
    "find . -exec b {} \\; | xargs -I% c %; ((i++)); [[ a && b ]]; eval a `b` ${c:-$(d)}",
    "export A=$b; for i in a; do printf -v c d; done; bash <<'E'\nls\nE",
    "find \"$d\" -name \"$n\" -exec e \"$f\" {} +; git -C x y; git-z; npx -c 'a b' c",
    "CC='gcc x' make; f() { g; }; f 1; coproc X { y; }; docker run \"$i\" h; wait -p j",
    "a <(b) > >(c); f() { d; }; e | f; exec 3>&1; coproc g; sh -c 'h | f' | sh -c i",
    "git -c user.name=a clone -c core.eol=lf u; git rebase -x 'a b' m; git submodule "
    "foreach 'c d' e; ssh -o User=a h b; rsync -ae ssh c d; \"$x/e\" f; PYTHONPATH=. g",
    "fd -x a {} b; scp -S c d e; go test -exec 'f g' h; hyperfine 'i | j'; qemu-arm k l",
    "ls $(",
};

static void without_memory_nothing_is_allowed(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(RESTRICTED);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(tried); i++) {
        const struct nacre_command command = { .shell_text = tried[i] };
        bool fired = true;

        for (int n = 0; fired; n++) {
            struct nacre_answer answer = { .allowed = true };
            struct nacre_error err = { 0 };
            enum nacre_status status;

            assert_true(n < 10000);
            fail_alloc_after(n);
            status = nacre_shell_judge(policy, &command, &answer, &err);
            fired = fail_alloc_fired();
            fail_alloc_after(-1);
            assert_int_equal(err.status, status);
            if (fired && status == NACRE_OK)
                assert_false(answer.allowed);
            else if (fired)
                assert_int_equal(status, NACRE_ERR_MEMORY);
            else
                assert_int_equal(status, NACRE_OK);
        }
    }
}

/* ---- the environment ---- */

static void variables_that_change_what_runs_are_not_passed(void **state)
{
    static const char *const denied[] = {
        "PATH=/x", "PATH", "PATH=", "LD_PRELOAD=x", "LD_LIBRARY_PATH=x", "LD_",
        "BASH_ENV=x", "ENV=x", "IFS=/", "PS4=$(x)", "PROMPT_COMMAND=x",
        "SHELLOPTS=x", "BASHOPTS=x",
        "BASH_FUNC_ls%%=() { x; }", "GCONV_PATH=.", "GLIBC_TUNABLES=x", "PYTHONSTARTUP=x",
        "PYTHONPATH=.", "PERL5OPT=-Mx", "RUBYOPT=-rx", "NODE_OPTIONS=--require x",
        "JAVA_TOOL_OPTIONS=x", "GIT_SSH_COMMAND=x", "GIT_CONFIG_COUNT=1", "PAGER=less",
        "PAGER", "EDITOR=vi", "MAKEFLAGS=x", "SHELL=/bin/x", "LESSOPEN=|x %s",
        "OPENSSL_CONF=x", "OPENSSL_CONF=/dev/null x", "VIMINIT=x", "CC", "CC=sh",
        "CC=gcc x", "CC=/x/gcc", "CC=./x-gcc", "LD=sh", "RUSTC_WORKSPACE_WRAPPER=x",
        "CARGO_TARGET_A_B_RUNNER=x", "GOFLAGS=-toolexec=x", "GOFLAGS=-v\t-toolexec=x",
        "NODE_OPTIONS=--max-old-space-size=1\n--require=x", "RUSTFLAGS=-Clinker=x",
        "DOTNET_STARTUP_HOOKS=x", "CLASSPATH=.", "npm_config_script_shell=x",
        "NPM_CONFIG_Script-Shell=x", "GTK_MODULES=x", "KUBECONFIG=x", "AWS_CONFIG_FILE=x",
        "GROFF_COMMAND_PREFIX=x", "JAVA_HOME=/x", "JAVA_HOME=/usr/lib/jvm/../../../x",
        "DBUS_SESSION_BUS_ADDRESS=unixexec:path=x", "GIT_ALLOW_PROTOCOL=ext",
    };
    static const char *const passed[] = {
        "HOME=/x", "PATHS=/x", "MYPATH=x", "path=x", "LDFLAGS=x", "ENVIRONMENT=x", "=x",
        "", "LANG=C", "TERM=x", "PAGER=cat", "GIT_EDITOR=true", "GIT_PAGER=", "CC=gcc",
        "X=PATH=y", "CC=clang-15", "CXX=aarch64-linux-gnu-g++", "AR=llvm-ar", "LD=ld.lld",
        "NODE_OPTIONS=--max-old-space-size=4096", "MAKEFLAGS=-j4", "GOFLAGS=-mod=mod -v",
        "RUSTFLAGS=-D warnings", "CARGO_TARGET_DIR=x", "JAVA_HOME=/usr/lib/jvm/java-17",
        "OPENSSL_CONF=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "npm_config_cache=x",
        "npm_config_registry=https://x/", "cc=sh", "KUBECONFIGS=x",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(denied); i++)
        if (!nacre_shell_environment_denied(denied[i]))
            fail_msg("'%s' is passed", denied[i]);
    for (size_t i = 0; i < NACRE_COUNT(passed); i++)
        if (nacre_shell_environment_denied(passed[i]))
            fail_msg("'%s' is not passed", passed[i]);
    assert_string_equal(nacre_shell_environment_denied("PATH=/x"),
                        "decides which program a name means");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_names_the_line_and_the_change),
        cmocka_unit_test(what_is_no_command_is_told_so),
        cmocka_unit_test(words_without_a_shell_stand_for_themselves),
        cmocka_unit_test(what_is_not_utf8_is_denied_without_any_rule),
        cmocka_unit_test(a_text_of_32_kib_is_judged_and_a_longer_one_denied),
        cmocka_unit_test(deep_nesting_is_denied),
        cmocka_unit_test(pipelines_that_call_much_are_denied),
        cmocka_unit_test(every_cut_of_a_long_text_is_judged),
        cmocka_unit_test(without_memory_nothing_is_allowed),
        cmocka_unit_test(variables_that_change_what_runs_are_not_passed),
    };

    return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
