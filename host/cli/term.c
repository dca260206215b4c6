#include "term.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/text.h"

#define PROGRESS_AFTER_MS 1000
#define PROGRESS_EVERY_MS 10000 /* where lines stay, as in a log */
#define LINE_BYTES 1024

static bool is_terminal(int fd)
{
    const char *kind = getenv("TERM");

    return isatty(fd) && kind && strcmp(kind, "dumb") != 0;
}

bool cli_term_colours(int fd)
{
    const char *refused = getenv("NO_COLOR");

    return !(refused && refused[0]) && is_terminal(fd);
}

void cli_term_clear(struct cli_term *term)
{
    if (term->line_open)
        (void)fputs("\r\033[K", stderr);
    term->line_open = false;
}

void cli_term_progress(void *data, const char *what, uint64_t elapsed_ms)
{
    struct cli_term *term = data;
    char shown[NACRE_SHOWN];

    if (elapsed_ms < PROGRESS_AFTER_MS)
        return;
    (void)nacre_text_shown(shown, what);
    if (is_terminal(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r\033[Knacre: %s, %" PRIu64 " s", shown,
                      elapsed_ms / 1000);
        term->line_open = true;
        return;
    }
    if (term->spoken_at_ms == 0 || elapsed_ms < term->spoken_at_ms ||
        elapsed_ms - term->spoken_at_ms >= PROGRESS_EVERY_MS) {
        cli_say("%s, %" PRIu64 " s", shown, elapsed_ms / 1000);
        term->spoken_at_ms = elapsed_ms;
    }
}

void cli_term_notice(void *data, const char *sentence)
{
    cli_term_clear(data);
    cli_say_lines("note", sentence);
}

void cli_say(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    (void)fprintf(stderr, "nacre: %s\n", line);
}

void cli_say_lines(const char *lead, const char *text)
{
    char shown[LINE_BYTES];
    bool first = true;

    while (*text || first) {
        size_t length = strcspn(text, "\n");

        (void)nacre_text_show(shown, sizeof(shown), text, length);
        if (first)
            (void)fprintf(stderr, "nacre: %s: %s\n", lead, shown);
        else
            (void)fprintf(stderr, "    %s\n", shown);
        first = false;
        text += length;
        text += *text == '\n';
    }
}
