#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FINDINGS_MAX 512
#define ROUNDS_MAX 64

/* One figure of one row over the rounds, or a text. */
struct finding {
    char row[64], metric[32];
    double values[ROUNDS_MAX], median;
    size_t count;
    char text[256]; /* of the machine, or why a row has no figures */
};

const struct finding *finding_get(const char *row, const char *metric); /* or NULL */

/* ---- what the report shows: tables, each ended by an empty entry ---- */

struct row {
    const char *id, *label;
};

struct column {
    const char *metric, *heading;
    double scale; /* what is shown is the figure divided by this */
    int decimals;
};

struct section {
    const char *title, *note;
    const struct column *columns;
    const struct row *rows;
};

/* One figure over another, both from this run; or, with `over_row` NULL, over `scale`. */
struct aim {
    const char *label;
    const char *row, *metric, *over_row, *over_metric;
    bool is_at_least; /* else: at most */
    double limit;
    double scale;
};

extern const struct section report_sections[];
extern const struct aim report_aims[];

void report_markdown(FILE *file);
void report_json(FILE *file);

#endif
