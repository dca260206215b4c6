/* Colour and the progress line: where they appear, and where they must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "term.h"

/* The two ends of a terminal; what is written to `user` appears at `watch` as it is. */
struct terminal {
    int watch, user;
};

static struct terminal terminal_open(void)
{
    struct terminal terminal = { .watch = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };
    struct termios settings;

    assert_true(terminal.watch >= 0);
    assert_int_equal(grantpt(terminal.watch), 0);
    assert_int_equal(unlockpt(terminal.watch), 0);
    terminal.user = open(ptsname(terminal.watch), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal.user >= 0);
    assert_int_equal(tcgetattr(terminal.user, &settings), 0);
    cfmakeraw(&settings);
    assert_int_equal(tcsetattr(terminal.user, TCSANOW, &settings), 0);
    return terminal;
}

static void terminal_close(struct terminal *terminal)
{
    (void)close(terminal->user);
    (void)close(terminal->watch);
}

#define END '|'

/*
 * What `speak` writes to stderr when that is `fd`, seen from `watch`.  A terminal hands
 * it over in pieces and in its own time: a mark tells where it ends.
 */
static const char *hear(int fd, int watch, void (*speak)(struct cli_term *term),
                        struct cli_term *term, char ret_text[512])
{
    int kept = dup(2);
    size_t used = 0;

    assert_true(kept >= 0);
    assert_int_equal(dup2(fd, 2), 2);
    speak(term);
    (void)fputc(END, stderr);
    (void)fflush(stderr);
    assert_int_equal(dup2(kept, 2), 2);
    (void)close(kept);
    do {
        ssize_t got = read(watch, ret_text + used, 511 - used);

        assert_true(got > 0);
        used += (size_t)got;
    } while (ret_text[used - 1] != END);
    ret_text[used - 1] = '\0';
    return ret_text;
}

static void colour_needs_a_terminal_and_no_refusal(void **state)
{
    struct terminal terminal = terminal_open();
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)setenv("TERM", "xterm", 1);
    (void)unsetenv("NO_COLOR");
    assert_true(cli_term_colours(terminal.user));
    assert_false(cli_term_colours(ends[1]));
    (void)setenv("NO_COLOR", "", 1);
    assert_true(cli_term_colours(terminal.user));
    (void)setenv("NO_COLOR", "1", 1);
    assert_false(cli_term_colours(terminal.user));
    (void)unsetenv("NO_COLOR");
    (void)setenv("TERM", "dumb", 1);
    assert_false(cli_term_colours(terminal.user));
    (void)unsetenv("TERM");
    assert_false(cli_term_colours(terminal.user));
    (void)close(ends[0]);
    (void)close(ends[1]);
    terminal_close(&terminal);
}

static void speak_early(struct cli_term *term)
{
    cli_term_progress(term, "compiling tool.wasm", 999);
    cli_term_clear(term);
}

static void speak_late(struct cli_term *term)
{
    cli_term_progress(term, "compiling \033tool.wasm", 1000);
    cli_term_progress(term, "compiling \033tool.wasm", 2000);
}

static void speak_twelve_seconds(struct cli_term *term)
{
    for (uint64_t ms = 0; ms <= 12000; ms += 1000)
        cli_term_progress(term, "compiling tool.wasm", ms);
    cli_term_clear(term);
}

static void speak_notice(struct cli_term *term)
{
    cli_term_progress(term, "compiling", 1000);
    cli_term_notice(term, "one\ntwo \x9b");
}

static void a_second_passes_before_anything_is_said(void **state)
{
    struct terminal terminal = terminal_open();
    struct cli_term term = { 0 };
    char text[512];

    (void)state;
    (void)setenv("TERM", "xterm", 1);
    assert_string_equal(hear(terminal.user, terminal.watch, speak_early, &term, text),
                        "");
    assert_string_equal(hear(terminal.user, terminal.watch, speak_late, &term, text),
                        "\r\033[Knacre: compiling \\x1btool.wasm, 1 s"
                        "\r\033[Knacre: compiling \\x1btool.wasm, 2 s");
    assert_string_equal(hear(terminal.user, terminal.watch, speak_early, &term, text),
                        "\r\033[K");
    terminal_close(&terminal);
}

static void a_log_gets_whole_lines_and_few(void **state)
{
    struct cli_term term = { 0 };
    char text[512];
    int ends[2];

    (void)state;
    (void)setenv("TERM", "xterm", 1);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_string_equal(hear(ends[1], ends[0], speak_twelve_seconds, &term, text),
                        "nacre: compiling tool.wasm, 1 s\n"
                        "nacre: compiling tool.wasm, 11 s\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_notice_does_not_mix_with_the_line(void **state)
{
    struct terminal terminal = terminal_open();
    struct cli_term term = { 0 };
    char text[512];

    (void)state;
    (void)setenv("TERM", "xterm", 1);
    assert_string_equal(hear(terminal.user, terminal.watch, speak_notice, &term, text),
                        "\r\033[Knacre: compiling, 1 s\r\033[K"
                        "nacre: note: one\n    two \\x9b\n");
    terminal_close(&terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colour_needs_a_terminal_and_no_refusal),
        cmocka_unit_test(a_second_passes_before_anything_is_said),
        cmocka_unit_test(a_log_gets_whole_lines_and_few),
        cmocka_unit_test(a_notice_does_not_mix_with_the_line),
    };

    return cmocka_run_group_tests_name("term", tests, NULL, NULL);
}
