/*
 * Each case in the sandbox, as a call would run it: its arguments on stdin, a workspace
 * of its own.  The tool is its author's and may do anything that the policy grants.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"
#include "nacre/author.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "nacre/tree.h"

#define REPORT_BYTES_MAX ((size_t)256 << 10)
#define CASES_MAX 10000
#define COMPILE_MS 300000

struct testing {
    struct nacre_engine *engine;
    const struct nacre_manifest *manifest;
    const struct nacre_test_options *options;
    struct nacre_policy *policy; /* unless a case names its own */
    struct nacre_tool *tool;
    struct nacre_test_totals totals;
};

#define TOLERANCE_PERCENT 10

/* ---- a workspace ---- */

struct workspace {
    char path[64];
    int fd, parent_fd;
};

static void workspace_remove(struct workspace *workspace)
{
    struct nacre_error err;
    const char *name = strrchr(workspace->path, '/');

    if (workspace->parent_fd >= 0 && name)
        (void)!nacre_tree_remove(workspace->parent_fd, name + 1, &err);
    nacre_fd_guard(&workspace->fd);
    nacre_fd_guard(&workspace->parent_fd);
}

static enum nacre_status workspace_make(struct workspace *workspace,
                                        struct nacre_error *err)
{
    (void)snprintf(workspace->path, sizeof(workspace->path), "/tmp/nacre-test-XXXXXX");
    if (!mkdtemp(workspace->path)) {
        workspace->path[0] = '\0';
        return nacre_fail(err, NACRE_ERR_IO, "a workspace for a case");
    }
    workspace->parent_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    workspace->fd = open(workspace->path,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (workspace->parent_fd < 0 || workspace->fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "a workspace for a case");
    return NACRE_OK;
}

/* ---- a run ---- */

static int arguments_fd(const json_t *arguments)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("arguments", MFD_CLOEXEC);

    if (fd >= 0 && json_dumpfd(arguments, fd, JSON_COMPACT) == 0 &&
        lseek(fd, 0, SEEK_SET) == 0)
        return nacre_fd_take(&fd);
    return -1;
}

static enum nacre_status run(const struct testing *testing,
                             const struct tool_case *tool_case, const char *workspace,
                             struct nacre_result **ret_result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int input_fd = arguments_fd(tool_case->arguments);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *own = NULL;
    const struct nacre_manifest *manifest = testing->manifest;
    const struct nacre_policy *policy = testing->policy;
    struct nacre_request request = {
        .input_fd = input_fd, .caller = "nacre test",
        .fuel = manifest->fuel.place.line ? manifest->fuel.value : 0,
    };

    if (input_fd < 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a case's arguments");
    if (tool_case->policy) {
        if (nacre_engine_policy(testing->engine, tool_case->policy, &own, err) !=
            NACRE_OK)
            return err->status;
        policy = own;
    }
    /* A tool that touches no file needs no policy that grants one. */
    if (policy->filesystem.mode != NACRE_FILESYSTEM_DENY || tool_case->files)
        request.workspace = workspace;
    if (manifest->timeout_ms.place.line &&
        manifest->timeout_ms.value < policy->limits.timeout_ms.value)
        request.timeout_ms = manifest->timeout_ms.value;
    return nacre_run(testing->engine, policy, testing->tool, &request, ret_result, err);
}

/* A case that expects a good answer has arguments that a caller could pass. */
static enum nacre_status judge_arguments(const struct testing *testing,
                                         const struct tool_case *tool_case,
                                         struct nacre_buf *text, struct nacre_error *err)
{
    const struct nacre_node *is_error = nacre_node_find(tool_case->expect, "isError");
    struct nacre_error why;

    if (strcmp(is_error->text, "true") == 0 ||
        nacre_manifest_judge(testing->manifest, tool_case->arguments, &why) == NACRE_OK)
        return NACRE_OK;
    return nacre_buf_addf(text, err, "no caller could pass these arguments: %s\n",
                          why.text);
}

/* Without an answer, `text` says why. */
static enum nacre_status read_answer(const struct nacre_result *result,
                                     json_t **ret_answer, struct nacre_buf *text,
                                     struct nacre_error *err)
{
    const char *output = result->output.bytes ? result->output.bytes : "";
    char shown[512];
    json_t *answer;

    for (uint32_t i = 0;
         result->outcome == NACRE_OUTCOME_DENIED && i < result->denial_count; i++)
        if (nacre_buf_addf(text, err, "%s; %s\n", result->denials[i].text,
                           result->denials[i].fix) != NACRE_OK)
            return err->status;
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0)
        return nacre_buf_addf(
            text, err, "it ended %s (%d)%s%.600s%s%s\n",
            nacre_outcome_name(result->outcome), nacre_result_exit(result),
            result->reason[0] ? ": " : "", result->reason,
            result->errors.size ? "; stderr: " : "",
            nacre_text_show(shown, sizeof(shown),
                            result->errors.bytes ? result->errors.bytes : "",
                            result->errors.size));
    answer = json_loadb(output, result->output.size,
                        JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (json_is_object(answer)) {
        *ret_answer = answer;
        return NACRE_OK;
    }
    json_decref(answer);
    return nacre_buf_addf(text, err, "its output is no JSON object: %s\n",
                          nacre_text_show(shown, sizeof(shown), output,
                                          result->output.size));
}

static enum nacre_status judge(const struct testing *testing,
                               const struct tool_case *tool_case, int workspace_fd,
                               const struct nacre_result *result, const json_t *answer,
                               struct case_stale *ret_stale, struct nacre_buf *text,
                               struct nacre_error *err)
{
    struct case_stale stale = { .fuel = !tool_case->has_fuel &&
                                        result->usage.fuel_exact };
    size_t before = text->size;
    enum nacre_status status = case_judge_answer(tool_case, answer, text, err);

    stale.answer = text->size > before;
    before = text->size;
    if (status == NACRE_OK)
        status = case_judge_files(tool_case, workspace_fd, text, err);
    stale.files = text->size > before;
    before = text->size;
    if (status == NACRE_OK)
        status = case_judge_fuel(tool_case, result->usage.fuel, result->usage.fuel_exact,
                                 text, err);
    stale.fuel |= text->size > before;
    /* An update does not mend this one. */
    if (status == NACRE_OK)
        status = judge_arguments(testing, tool_case, text, err);
    *ret_stale = stale;
    return status;
}

/* ---- a case ---- */

static void tell(struct testing *testing, struct nacre_case_report *report,
                 const struct nacre_buf *text)
{
    report->text = text->bytes ? text->bytes : "";
    report->passed = text->size == 0;
    if (report->updated)
        testing->totals.updated++;
    else if (report->passed)
        testing->totals.passed++;
    else
        testing->totals.failed++;
    testing->options->each(testing->options->data, report);
}

static uint64_t tolerance_of(const struct testing *testing,
                             const struct tool_case *tool_case)
{
    if (testing->options->tolerance_percent > 0)
        return testing->options->tolerance_percent;
    return tool_case->has_fuel ? tool_case->fuel_tolerance_percent : TOLERANCE_PERCENT;
}

static enum nacre_status run_case(struct testing *testing,
                                  const struct tool_case *tool_case,
                                  struct nacre_case_report *report,
                                  struct nacre_buf *text, struct nacre_error *err)
{
    NACRE_AUTO(workspace_remove) struct workspace workspace = { .fd = -1,
                                                                .parent_fd = -1 };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct case_stale stale = { 0 };
    json_t *answer = NULL;
    enum nacre_status status = workspace_make(&workspace, err);

    if (status == NACRE_OK)
        status = case_make_files(tool_case, workspace.fd, err);
    if (status == NACRE_OK)
        status = run(testing, tool_case, workspace.path, &result, err);
    if (status == NACRE_OK) {
        report->fuel = result->usage.fuel;
        report->wall_ns = result->usage.wall_ns;
        status = read_answer(result, &answer, text, err);
    }
    if (status == NACRE_OK && answer)
        status = judge(testing, tool_case, workspace.fd, result, answer, &stale, text,
                       err);
    if (status == NACRE_OK && testing->options->update &&
        (stale.answer || stale.files || stale.fuel)) {
        status = case_update(tool_case, &stale, answer, workspace.fd, result->usage.fuel,
                             tolerance_of(testing, tool_case), err);
        report->updated = status == NACRE_OK;
    }
    json_decref(answer);
    return status;
}

/* A case that can't be read fails; the others go on. */
static enum nacre_status try_case(struct testing *testing, const char *path,
                                  struct nacre_error *err)
{
    NACRE_AUTO(tool_case_guard) struct tool_case *tool_case = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(REPORT_BYTES_MAX);
    struct nacre_case_report report = { .file = path, .name = "" };
    struct nacre_error why;
    char line[1024];
    enum nacre_status status = case_load(path, &tool_case, &why);

    if (status == NACRE_OK) {
        report.name = tool_case->name;
        status = run_case(testing, tool_case, &report, &text, &why);
    }
    if (status == NACRE_ERR_MEMORY) {
        *err = why;
        return status;
    }
    if (status != NACRE_OK) {
        nacre_error_print(&why, line, sizeof(line));
        status = nacre_buf_addf(&text, err, "%s\n", line);
    }
    if (status == NACRE_OK)
        tell(testing, &report, &text);
    return status;
}

/* ---- all of them ---- */

static int is_case(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static enum nacre_status try_all(struct testing *testing, struct nacre_error *err)
{
    char directory[NACRE_PATH_MAX], path[NACRE_PATH_MAX + NAME_MAX + 2];
    struct dirent **entries = NULL;
    enum nacre_status status = NACRE_OK;
    int count, tried = 0;

    (void)snprintf(directory, sizeof(directory), "%s/tests",
                   testing->manifest->directory);
    count = scandir(directory, &entries, is_case, alphasort);
    for (int i = 0; i < count; i++) {
        const char *only = testing->options->only;

        (void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        if (status == NACRE_OK && i < CASES_MAX &&
            (!only || strstr(entries[i]->d_name, only))) {
            status = try_case(testing, path, err);
            tried++;
        }
        free(entries[i]);
    }
    free(entries);
    if (status == NACRE_OK && tried == 0)
        status = nacre_fail(err, NACRE_ERR_NOT_FOUND,
                            "no case in %.300s: a case is a file like tests/first.yaml",
                            directory);
    return status;
}

enum nacre_status nacre_author_test(struct nacre_engine *engine,
                                    const struct nacre_manifest *manifest,
                                    const struct nacre_test_options *options,
                                    struct nacre_test_totals *ret_totals,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct testing testing = { .engine = engine, .manifest = manifest,
                               .options = options };
    const char *reference = options->policy ? options->policy : manifest->sandbox_ref;
    enum nacre_status status = nacre_engine_policy(engine, reference, &policy, err);

    if (status == NACRE_OK)
        status = nacre_tool_load(options->module ? options->module : manifest->module,
                                 &tool, err);
    if (status == NACRE_ERR_NOT_FOUND && policy)
        return nacre_fail_context(err, "build the tool first, with nacre build");
    /* A case's time is for the tool, not for compiling it. */
    if (status == NACRE_OK)
        status = nacre_cache_add(engine, tool, COMPILE_MS, err);
    if (status != NACRE_OK)
        return status;
    testing.policy = policy;
    testing.tool = tool;
    status = try_all(&testing, err);
    *ret_totals = testing.totals;
    return status;
}
