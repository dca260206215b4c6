#ifndef NACRE_CLI_TERM_H
#define NACRE_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* May text on `fd` carry colour?  A terminal that can, and no NO_COLOR. */
bool cli_term_colours(int fd);

/* What stands on stderr while something slow goes on.  Zeroed is the start. */
struct cli_term {
    bool line_open;        /* a progress line stands there, to be overwritten */
    uint64_t spoken_at_ms; /* of the work, when a line was last written to no terminal */
};

/* The two callbacks of an engine; `term` is a struct cli_term. */
void cli_term_progress(void *term, const char *what, uint64_t elapsed_ms);
void cli_term_notice(void *term, const char *sentence);

/* Before anything else is written to the terminal, and at the end. */
void cli_term_clear(struct cli_term *term);

/* "nacre: ..." and a newline on stderr.  The caller has made foreign text fit to
 * print. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "nacre: LEAD: " and text of foreign origin, made fit to print here; its further
 * lines are indented. */
void cli_say_lines(const char *lead, const char *text);

#endif
