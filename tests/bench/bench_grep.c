/*
 * grep over a tree: the guest tool in a warm engine, a fresh instance for each call, by
 * turns with the programs that are named behind it.
 *
 *     bench_grep ROW GREP.wasm DIRECTORY ARGUMENTS-JSON COUNT [ROW PROGRAM [ARG...] [+
 * ...]]
 *
 * A row "ROW.output" says how many bytes the tool answered, so that a search that found
 * nothing is not taken for a fast one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure.h"
#include "nacre/nacre.h"
#include "nacre/tree.h"

#define VARIANTS_MAX 8

static const char policy_text[] =
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: bench}\nspec:\n  level: wasm\n"
    "  capabilities:\n    filesystem:\n      mode: read-only\n      mount_paths:\n"
    "        - {path: /workspace, permissions: ro}\n"
    "  resource_limits: {memory_mb: 256, timeout_ms: 600000}\n";

struct side {
    struct nacre_engine *engine;
    struct nacre_policy *policy;
    struct nacre_tool *tool;
    const char *workspace;
    int input_fd;
    size_t output_bytes;
};

static void check(enum nacre_status status, const struct nacre_error *err)
{
    if (status != NACRE_OK)
        measure_die("%s", err->text);
}

static void call(void *data)
{
    struct side *side = data;
    struct nacre_request request = { .input_fd = side->input_fd,
                                     .workspace = side->workspace };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    if (lseek(side->input_fd, 0, SEEK_SET) != 0)
        measure_die("the input does not begin again");
    check(nacre_run(side->engine, side->policy, side->tool, &request, &result, &err),
          &err);
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0)
        measure_die("the guest %s with status %d", nacre_outcome_name(result->outcome),
                    result->exit_status);
    side->output_bytes = result->output.size;
}

int main(int argc, char **argv)
{
    char directory[512], state[600], cache[600], keys[600], row[64];
    struct nacre_engine_options options = { .state_dir = state, .cache_dir = cache,
                                            .key_dir = keys };
    struct measure_variant variants[VARIANTS_MAX];
    struct side side = { .input_fd = memfd_create("arguments", MFD_CLOEXEC) };
    struct nacre_error err;
    size_t count = 1;

    if (argc < 6)
        measure_die("ROW GREP.wasm DIRECTORY ARGUMENTS-JSON COUNT [ROW PROGRAM...]");
    (void)snprintf(directory, sizeof(directory), "%s/nacre-bench-XXXXXX",
                   getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(directory))
        measure_die("%s can't be made", directory);
    (void)snprintf(state, sizeof(state), "%s/state", directory);
    (void)snprintf(cache, sizeof(cache), "%s/cache", directory);
    (void)snprintf(keys, sizeof(keys), "%s/keys", directory);
    check(nacre_tool_load(argv[2], &side.tool, &err), &err);
    check(nacre_policy_parse("bench.yaml", policy_text, strlen(policy_text), &side.policy,
                             &err), &err);
    check(nacre_engine_open(&options, &side.engine, &err), &err);
    side.workspace = argv[3];
    if (side.input_fd < 0 ||
        write(side.input_fd, argv[4], strlen(argv[4])) != (ssize_t)strlen(argv[4]))
        measure_die("the arguments can't be written");
    variants[0] = (struct measure_variant){ .row = argv[1], .call = call, .data = &side };
    if (argc > 6)
        count += measure_programs(argv + 6, variants + 1, VARIANTS_MAX - 1);
    measure_by_turns(variants, count, measure_count(argv[5]));
    (void)snprintf(row, sizeof(row), "%s.output", argv[1]);
    measure_print(row, "bytes", side.output_bytes);
    nacre_engine_free(side.engine);
    nacre_tool_free(side.tool);
    nacre_policy_free(side.policy);
    if (nacre_tree_remove(AT_FDCWD, directory, &err) != NACRE_OK)
        (void)fprintf(stderr, "%s is left behind: %s\n", directory, err.text);
    return 0;
}
