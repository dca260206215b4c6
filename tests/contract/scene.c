#include "scene.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/tree.h"

static const int trap_signals[] = { SIGILL, SIGSEGV, SIGFPE, SIGBUS };

int scene_open(struct scene *scene, struct nacre_engine_options options)
{
    char state_dir[96], cache_dir[96], key_dir[96];
    struct nacre_error err;

    (void)snprintf(scene->dir, sizeof(scene->dir), "/tmp/nacre-contract-XXXXXX");
    if (!mkdtemp(scene->dir))
        return -1;
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", scene->dir);
    (void)snprintf(cache_dir, sizeof(cache_dir), "%s/cache", scene->dir);
    (void)snprintf(key_dir, sizeof(key_dir), "%s/keys", scene->dir);
    options.state_dir = state_dir;
    options.cache_dir = cache_dir;
    options.key_dir = key_dir;
    if (nacre_engine_open(&options, &scene->engine, &err) != NACRE_OK) {
        print_error("%s\n", err.text);
        return -1;
    }
    scene->in_process = options.in_process;
    for (size_t i = 0; i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], NULL, &scene->traps[i]);
    return 0;
}

int scene_close(struct scene *scene)
{
    struct nacre_audit_report report = { 0 };
    struct nacre_error err = { 0 };
    char audit[128], keys[128];
    int failed = 0;

    nacre_engine_free(scene->engine);
    (void)snprintf(audit, sizeof(audit), "%s/state/audit.jsonl", scene->dir);
    (void)snprintf(keys, sizeof(keys), "%s/keys", scene->dir);
    if (nacre_audit_verify(audit, keys, &report, &err) != NACRE_OK ||
        report.open_runs != 0 || report.records == 0) {
        print_error("audit: %s\n", err.text);
        failed = -1;
    }
    if (nacre_tree_remove(AT_FDCWD, scene->dir, &err) != NACRE_OK)
        failed = -1;
    return failed;
}

struct nacre_tool *scene_module(const struct scene *scene, const char *wat)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/guest.wat", scene->dir);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(wat, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(nacre_tool_load(path, &tool, &err), NACRE_OK);
    return tool;
}

struct nacre_policy *scene_policy(const char *text)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err;

    if (nacre_policy_parse("test.yaml", text, strlen(text), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s", err.line, err.column, err.text);
    return policy;
}

/* ---- the audit log ---- */

struct records {
    const char *run_id; /* NULL: any */
    json_t *begin, *end;
    int count;
};

static bool add_record(void *data, uint64_t line, const char *text, size_t count)
{
    struct records *records = data;
    json_t *json;
    bool begins;

    (void)line;
    if (records->run_id && !strstr(text, records->run_id))
        return true;
    json = json_loadb(text, count, 0, NULL);
    assert_non_null(json);
    begins = strcmp(json_string_value(json_object_get(json, "type")), "begin") == 0;
    assert_null(begins ? records->begin : records->end);
    *(begins ? &records->begin : &records->end) = json;
    records->count++;
    return true;
}

void scene_records(const struct scene *scene, const char *run_id, json_t **ret_begin,
                   json_t **ret_end)
{
    struct records records = { .run_id = run_id };
    struct nacre_audit_cursor cursor = { 0 };
    struct nacre_error err;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/state/audit.jsonl", scene->dir);
    if (!run_id)
        assert_int_equal(nacre_audit_tail(path, 2, &cursor, &err), NACRE_OK);
    assert_int_equal(nacre_audit_read(path, &cursor, add_record, &records, &err),
                     NACRE_OK);
    assert_int_equal(records.count, 2);
    assert_true(records.begin && records.end);
    *ret_begin = records.begin;
    *ret_end = records.end;
}

static void assert_word(const json_t *record, const char *key, const char *word)
{
    const char *found = json_string_value(json_object_get(record, key));

    if (!word)
        assert_null(found);
    else
        assert_string_equal(found ? found : "", word);
}

static uint64_t number_of(const json_t *record, const char *key)
{
    const json_t *number = json_object_get(record, key);

    assert_true(json_is_integer(number));
    return (uint64_t)json_integer_value(number);
}

static void assert_denials(const json_t *denials, const struct nacre_result *result)
{
    assert_int_equal(json_array_size(denials), result->denial_count);
    for (uint32_t i = 0; i < result->denial_count; i++) {
        const json_t *denial = json_array_get(denials, i);

        assert_word(denial, "code", result->denials[i].code);
        assert_word(denial, "rule", result->denials[i].rule);
        assert_int_equal(number_of(denial, "line"), result->denials[i].place.line);
    }
}

/* Nothing but a pair, which says how the result came to be. */
static void assert_recorded(const struct scene *scene, const struct nacre_policy *policy,
                            const struct nacre_result *result)
{
    const char *level = nacre_level_name(policy->level);
    const json_t *usage;
    json_t *begin, *end;

    scene_records(scene, result->run_id, &begin, &end);
    assert_word(begin, "level", level);
    assert_word(end, "level", level);
    /* Before an executor is chosen, or by it: it says so itself. */
    if (result->outcome != NACRE_OUTCOME_DENIED)
        assert_word(begin, "executor", level);
    assert_word(end, "executor", json_string_value(json_object_get(begin, "executor")));
    assert_int_equal(json_is_true(json_object_get(end, "unsandboxed")),
                     result->unsandboxed);
    assert_int_equal(json_is_true(json_object_get(end, "degraded")), result->waived != 0);
    assert_word(end, "outcome", nacre_outcome_name(result->outcome));
    if (result->outcome == NACRE_OUTCOME_EXITED)
        assert_int_equal(number_of(end, "exit_status"), result->exit_status);
    else
        assert_true(json_is_null(json_object_get(end, "exit_status")));
    assert_true(json_is_null(json_object_get(end, "error")));
    usage = json_object_get(end, "usage");
    assert_int_equal(number_of(usage, "wall_ns"), result->usage.wall_ns);
    assert_int_equal(number_of(usage, "bytes_written"), result->usage.bytes_written);
    assert_int_equal(number_of(usage, "memory_bytes_peak"),
                     result->usage.memory_bytes_peak);
    assert_denials(json_object_get(end, "denials"), result);
    json_decref(begin);
    json_decref(end);
}

/* ---- runs ---- */

struct nacre_result *scene_run(const struct scene *scene, const char *policy_text,
                               struct nacre_tool *tool,
                               const struct nacre_request *request)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *owned = tool;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = scene_policy(policy_text);
    struct nacre_result *result = NULL;
    struct nacre_error err;

    for (size_t i = 0; scene->in_process && i < NACRE_COUNT(trap_signals); i++)
        (void)sigaction(trap_signals[i], &scene->traps[i], NULL);
    if (nacre_run(scene->engine, policy, owned, request, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_recorded(scene, policy, result);
    return result;
}
