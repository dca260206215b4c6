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
    return result;
}
