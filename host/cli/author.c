#include "author.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum nacre_status cli_author_load(const char *directory,
                                  struct nacre_manifest **ret_manifest,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *absolute = realpath(directory, NULL);

    if (!absolute)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no folder '%.300s'; nacre new makes one", directory);
    return nacre_manifest_load(absolute, ret_manifest, err);
}

/* In the source tree, and where it is installed. */
static bool find_sdk(char ret_path[PATH_MAX])
{
    static const char *const beside[] = { "../wasi-shims/guest",
                                          "../share/nacre/guest/sdk" };
    char program[PATH_MAX], path[PATH_MAX + 64];
    char *slash;

    if (!realpath("/proc/self/exe", program))
        return false;
    slash = strrchr(program, '/');
    *slash = '\0';
    for (size_t i = 0; i < NACRE_COUNT(beside); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/nacre_tool.h", program, beside[i]);
        if (access(path, R_OK) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", program, beside[i]);
        return realpath(path, ret_path) != NULL;
    }
    return false;
}

enum nacre_status cli_author_build(const struct nacre_manifest *manifest,
                                   struct nacre_error *err)
{
    char sdk[PATH_MAX];

    return nacre_author_build(manifest, find_sdk(sdk) ? sdk : NULL, err);
}

/* ---- testing ---- */

struct telling {
    json_t *cases; /* NULL: as text */
    bool quiet, failed;
};

static void tell_json(struct telling *telling, const struct nacre_case_report *report)
{
    telling->failed |=
        json_array_append_new(
            telling->cases,
            json_pack("{s:o, s:o, s:b, s:b, s:I, s:I, s:o}", "file",
                      cli_json_text(report->file), "name", cli_json_text(report->name),
                      "passed", report->passed, "updated", report->updated, "fuel",
                      (json_int_t)report->fuel, "wall_ns", (json_int_t)report->wall_ns,
                      "differs", cli_json_text(report->text))) != 0;
}

static void tell(void *data, const struct nacre_case_report *report)
{
    struct telling *telling = data;
    const char *file = strrchr(report->file, '/');
    const char *verdict = report->updated ? "updated" : report->passed ? "ok" : "FAILED";

    file = file ? file + 1 : report->file;
    if (telling->cases) {
        tell_json(telling, report);
        return;
    }
    if (report->passed && !report->updated && telling->quiet)
        return;
    (void)printf("%-8s %-32s %12" PRIu64 " fuel  %s\n", verdict, file, report->fuel,
                 report->name);
    for (const char *line = report->text; *line && !report->updated;) {
        size_t length = strcspn(line, "\n");

        (void)printf("         %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

int cli_author_test(const struct cli_args *args, const struct nacre_manifest *manifest,
                    const struct cli_testing *testing)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_engine_options engine_options = { 0 };
    struct cli_term term = { 0 };
    struct telling telling = { .cases = args->json ? json_array() : NULL,
                               .quiet = testing->quiet };
    const struct nacre_test_options options = {
        .module = testing->module, .policy = testing->policy, .only = testing->only,
        .update = testing->update, .tolerance_percent = testing->tolerance_percent,
        .each = tell, .data = &telling,
    };
    struct nacre_test_totals totals = { 0 };
    struct nacre_error err;
    enum nacre_status status = cli_engine_open(engine_options, &term, &engine, &err);

    if (status == NACRE_OK)
        status = nacre_author_test(engine, manifest, &options, &totals, &err);
    cli_term_clear(&term);
    if (status != NACRE_OK) {
        json_decref(telling.cases);
        return cli_fail(args, &err);
    }
    if (args->json) {
        if (telling.failed ||
            !cli_json_print(json_pack("{s:s, s:I, s:I, s:I, s:o}", "tool", manifest->name,
                                      "passed", (json_int_t)totals.passed, "failed",
                                      (json_int_t)totals.failed, "updated",
                                      (json_int_t)totals.updated, "cases",
                                      telling.cases)))
            return nacre_status_exit(NACRE_ERR_MEMORY);
    } else {
        (void)printf("%s: %" PRIu32 " passed, %" PRIu32 " failed", manifest->name,
                     totals.passed, totals.failed);
        (void)printf(totals.updated ? ", %" PRIu32 " updated\n" : "\n", totals.updated);
    }
    return totals.failed ? 1 : 0;
}
