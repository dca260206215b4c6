#include "report.h"

#include <jansson.h>

#include "measure.h"

static const char *machine(const char *what)
{
    const struct finding *finding = finding_get("machine", what);

    return finding ? finding->text : "unknown";
}

enum verdict {
    VERDICT_UNKNOWN,
    VERDICT_MET,
    VERDICT_SHORT,
};

static const char *verdict_name(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_MET:
        return "met";
    case VERDICT_SHORT:
        return "short";
    case VERDICT_UNKNOWN:
        break;
    }
    return "not available";
}

/* Only from what was measured in this run. */
static enum verdict aim_judge(const struct aim *aim, double *ret_ratio)
{
    const struct finding *figure = finding_get(aim->row, aim->metric);
    const struct finding *over =
        aim->over_row ? finding_get(aim->over_row, aim->over_metric) : NULL;

    if (!figure || figure->count == 0)
        return VERDICT_UNKNOWN;
    if (aim->over_row && (!over || over->count == 0 || !(over->median > 0)))
        return VERDICT_UNKNOWN;
    *ret_ratio = figure->median / (over ? over->median : aim->scale);
    if (aim->is_at_least)
        return *ret_ratio >= aim->limit ? VERDICT_MET : VERDICT_SHORT;
    return *ret_ratio <= aim->limit ? VERDICT_MET : VERDICT_SHORT;
}

/* ---- Markdown ---- */

static double shown(const struct row *row, const struct column *column)
{
    return finding_get(row->id, column->metric)->median / column->scale;
}

static void markdown_section(FILE *file, const struct section *section)
{
    (void)fprintf(file, "### %s\n\n%s\n\n| |", section->title, section->note);
    for (const struct column *column = section->columns; column->metric; column++)
        (void)fprintf(file, " %s |", column->heading);
    (void)fprintf(file, "\n|---|");
    for (const struct column *column = section->columns; column->metric; column++)
        (void)fprintf(file, "---:|");
    (void)fputc('\n', file);
    for (const struct row *row = section->rows; row->id; row++) {
        const struct finding *absent = finding_get(row->id, "unavailable");

        (void)fprintf(file, "| %s |", row->label);
        for (const struct column *column = section->columns; column->metric; column++) {
            if (absent)
                (void)fprintf(file, " %s |",
                              column == section->columns ? "not available" : "");
            else
                (void)fprintf(file, " %.*f |", column->decimals, shown(row, column));
        }
        (void)fputc('\n', file);
    }
    (void)fputc('\n', file);
    for (const struct row *row = section->rows; row->id; row++) {
        const struct finding *absent = finding_get(row->id, "unavailable");

        if (absent)
            (void)fprintf(file, "Not available: %s (%s).\n\n", row->label, absent->text);
    }
}

static void markdown_aims(FILE *file)
{
    (void)fprintf(file, "### Against the aims\n\n"
                        "| | ratio | aim | |\n|---|---:|---:|---|\n");
    for (const struct aim *aim = report_aims; aim->label; aim++) {
        double ratio = 0;
        enum verdict verdict = aim_judge(aim, &ratio);

        (void)fprintf(file, "| %s |", aim->label);
        if (verdict == VERDICT_UNKNOWN)
            (void)fprintf(file, " |");
        else
            (void)fprintf(file, " %.*f |", aim->limit < 0.1 ? 3 : 2, ratio);
        (void)fprintf(file, " %s %.3g | %s |\n", aim->is_at_least ? "≥" : "≤", aim->limit,
                      verdict_name(verdict));
    }
    (void)fputc('\n', file);
}

void report_markdown(FILE *file)
{
    (void)fprintf(file,
                  "%s, %s cores, Linux %s; wasmtime %s (library), %s (program), "
                  "Extism %s, bubblewrap %s, Docker %s; files on %s; medians of %s "
                  "rounds, variants by turns; load %s before, %s after; %s.\n\n",
                  machine("cpu"), machine("cores"), machine("kernel"),
                  machine("wasmtime"), machine("wasmtime_program"), machine("extism"),
                  machine("bubblewrap"), machine("docker"), machine("filesystem"),
                  machine("rounds"), machine("load_before"), machine("load_after"),
                  machine("date"));
    for (const struct section *section = report_sections; section->title; section++)
        markdown_section(file, section);
    markdown_aims(file);
}

/* ---- JSON ---- */

static json_t *made(json_t *value)
{
    if (!value)
        measure_die("out of memory");
    return value;
}

static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, made(value)) != 0)
        measure_die("out of memory");
}

static json_t *json_row(const struct row *row, const struct section *section)
{
    const struct finding *absent = finding_get(row->id, "unavailable");
    json_t *object = made(json_object());

    put(object, "id", json_string(row->id));
    put(object, "label", json_string(row->label));
    if (absent) {
        put(object, "unavailable", json_string(absent->text));
        return object;
    }
    for (const struct column *column = section->columns; column->metric; column++) {
        const struct finding *finding = finding_get(row->id, column->metric);
        json_t *figure = made(json_object());

        put(figure, "median", json_real(finding->median));
        put(figure, "least", json_real(finding->values[0]));
        put(figure, "most", json_real(finding->values[finding->count - 1]));
        put(figure, "rounds", json_integer((json_int_t)finding->count));
        put(object, column->metric, figure);
    }
    return object;
}

static json_t *json_sections(void)
{
    json_t *sections = made(json_array());

    for (const struct section *section = report_sections; section->title; section++) {
        json_t *object = made(json_object()), *rows = made(json_array());

        for (const struct row *row = section->rows; row->id; row++)
            if (json_array_append_new(rows, json_row(row, section)) != 0)
                measure_die("out of memory");
        put(object, "title", json_string(section->title));
        put(object, "rows", rows);
        if (json_array_append_new(sections, object) != 0)
            measure_die("out of memory");
    }
    return sections;
}

static json_t *json_aims(void)
{
    json_t *aims = made(json_array());

    for (const struct aim *aim = report_aims; aim->label; aim++) {
        json_t *object = made(json_object());
        double ratio = 0;
        enum verdict verdict = aim_judge(aim, &ratio);

        put(object, "label", json_string(aim->label));
        put(object, aim->is_at_least ? "at_least" : "at_most", json_real(aim->limit));
        put(object, "ratio", verdict == VERDICT_UNKNOWN ? json_null() : json_real(ratio));
        put(object, "verdict", json_string(verdict_name(verdict)));
        if (json_array_append_new(aims, object) != 0)
            measure_die("out of memory");
    }
    return aims;
}

void report_json(FILE *file)
{
    static const char *const facts[] = {
        "cpu", "cores", "kernel", "wasmtime", "wasmtime_program", "extism",
        "bubblewrap", "docker", "filesystem", "rounds", "load_before", "load_after",
        "date",
    };
    json_t *root = made(json_object()), *about = made(json_object());

    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        put(about, facts[i], json_string(machine(facts[i])));
    put(root, "machine", about);
    put(root, "sections", json_sections());
    put(root, "aims", json_aims());
    if (json_dumpf(root, file, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0)
        measure_die("the report can't be written");
    (void)fputc('\n', file);
    json_decref(root);
}
