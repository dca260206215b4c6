/*
 * report DIRECTORY: reads the findings of the measuring programs (see measure.h) from
 * stdin, takes the median of each over the rounds, and writes DIRECTORY/result.md and
 * DIRECTORY/result.json.  The Markdown goes to stdout too.
 *
 * Every row of report_tables.c appears, with figures or with the reason why there are
 * none.  A row without either fails the report: a figure that is silently missing would
 * flatter.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static struct finding findings[FINDINGS_MAX];
static size_t finding_count;

const struct finding *finding_get(const char *row, const char *metric)
{
    for (size_t i = 0; i < finding_count; i++)
        if (strcmp(findings[i].row, row) == 0 && strcmp(findings[i].metric, metric) == 0)
            return &findings[i];
    return NULL;
}

static struct finding *finding_add(const char *row, const char *metric)
{
    struct finding *finding = (struct finding *)finding_get(row, metric);

    if (finding)
        return finding;
    if (finding_count == FINDINGS_MAX || strlen(row) >= sizeof(finding->row) ||
        strlen(metric) >= sizeof(finding->metric))
        measure_die("too many findings, or too long a name: '%s', '%s'", row, metric);
    finding = &findings[finding_count++];
    memcpy(finding->row, row, strlen(row) + 1);
    memcpy(finding->metric, metric, strlen(metric) + 1);
    return finding;
}

static bool is_text(const char *row, const char *metric)
{
    return strcmp(metric, "unavailable") == 0 || strcmp(row, "machine") == 0;
}

static void line_read(char *line, unsigned number)
{
    char *metric = strchr(line, '\t');
    char *value = metric ? strchr(metric + 1, '\t') : NULL;
    struct finding *finding;
    char *end;

    line[strcspn(line, "\n")] = '\0';
    if (!value || metric == line || value == metric + 1 || value[1] == '\0')
        measure_die("line %u: expected ROW, METRIC and VALUE, with tabs between", number);
    *metric++ = '\0';
    *value++ = '\0';
    finding = finding_add(line, metric);
    if (is_text(line, metric)) {
        (void)snprintf(finding->text, sizeof(finding->text), "%s", value);
        return;
    }
    if (finding->count == ROUNDS_MAX)
        measure_die("line %u: more than %d rounds", number, ROUNDS_MAX);
    errno = 0;
    finding->values[finding->count++] = strtod(value, &end);
    if (end == value || *end || errno || finding->values[finding->count - 1] < 0)
        measure_die("line %u: '%s' is not a number from 0 on", number, value);
}

static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void findings_settle(void)
{
    for (size_t i = 0; i < finding_count; i++) {
        struct finding *finding = &findings[i];

        qsort(finding->values, finding->count, sizeof(double), by_size);
        if (finding->count > 0)
            finding->median = finding->count % 2 == 1
                                  ? finding->values[finding->count / 2]
                                  : (finding->values[finding->count / 2 - 1] +
                                     finding->values[finding->count / 2]) / 2;
    }
}

static bool row_is_whole(const struct row *row, const struct section *section)
{
    if (finding_get(row->id, "unavailable"))
        return true;
    for (const struct column *column = section->columns; column->metric; column++) {
        const struct finding *finding = finding_get(row->id, column->metric);

        if (!finding || finding->count == 0) {
            (void)fprintf(stderr, "report: %s has no %s\n", row->id, column->metric);
            return false;
        }
    }
    return true;
}

static bool rows_are_whole(void)
{
    bool whole = true;

    for (const struct section *section = report_sections; section->title; section++)
        for (const struct row *row = section->rows; row->id; row++)
            whole &= row_is_whole(row, section);
    return whole;
}

static FILE *file_new(const char *directory, const char *name)
{
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "we");
    if (!file)
        measure_die("%s: %s", path, strerror(errno));
    return file;
}

int main(int argc, char **argv)
{
    char line[1024];
    unsigned number = 0;
    FILE *markdown, *json;

    if (argc != 2)
        measure_die("expected DIRECTORY, and the findings on stdin");
    while (fgets(line, sizeof(line), stdin))
        line_read(line, ++number);
    findings_settle();
    if (!rows_are_whole())
        return 1;
    markdown = file_new(argv[1], "result.md");
    json = file_new(argv[1], "result.json");
    report_markdown(markdown);
    report_markdown(stdout);
    report_json(json);
    if (fclose(markdown) != 0 || fclose(json) != 0 || fflush(stdout) != 0)
        measure_die("the report can't be written: %s", strerror(errno));
    return 0;
}
