/*
 * A tool as an agent has it: name and arguments in, one JSON object out, through the
 * whole door (manifest, schema, policy, jailed worker, audit record), in a warm engine
 * with a fresh instance for each call; by turns with the same module without the door
 * (ROW.run) and with the programs that are named behind it.
 *
 *     bench_tools ROW TOOL DIRECTORY ARGUMENTS-JSON COUNT [ROW PROGRAM [ARG...] [+ ...]]
 *
 * A row "ROW.output" says how many bytes of text it answered, so that a search that found
 * nothing is not taken for a fast one.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure.h"
#include "nacre/call.h"
#include "nacre/tree.h"

#define VARIANTS_MAX 8

struct side {
    struct nacre_engine *engine;
    struct nacre_policy *policy;
    struct nacre_tool *module;
    const char *tool, *workspace, *arguments;
    int input_fd;
    size_t output_bytes;
};

static void check(enum nacre_status status, const struct nacre_error *err)
{
    if (status != NACRE_OK)
        measure_die("%s", err->text);
}

static void call_door(void *data)
{
    struct side *side = data;
    const struct nacre_call call = {
        .tool = side->tool, .arguments = side->arguments,
        .argument_bytes = strlen(side->arguments), .policy = "workspace",
        .request = { .input_fd = -1, .workspace = side->workspace },
    };
    struct nacre_error err;
    const json_t *block;
    json_t *answer = NULL;

    check(nacre_call(side->engine, &call, &answer, &err), &err);
    block = json_array_get(json_object_get(answer, "content"), 0);
    if (!json_is_false(json_object_get(answer, "isError")))
        measure_die("%s: %s", side->tool,
                    json_string_value(json_object_get(block, "text")));
    side->output_bytes = json_string_length(json_object_get(block, "text"));
    json_decref(answer);
}

static void call_module(void *data)
{
    struct side *side = data;
    struct nacre_request request = { .input_fd = side->input_fd,
                                     .workspace = side->workspace };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    if (lseek(side->input_fd, 0, SEEK_SET) != 0)
        measure_die("the input does not begin again");
    check(nacre_run(side->engine, side->policy, side->module, &request, &result, &err),
          &err);
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0)
        measure_die("the guest %s with status %d", nacre_outcome_name(result->outcome),
                    result->exit_status);
}

static void side_open(struct side *side, const char *directory)
{
    char state[600], cache[600], keys[600];
    struct nacre_engine_options options = { .state_dir = state, .cache_dir = cache,
                                            .key_dir = keys };
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    size_t count = strlen(side->arguments);
    struct nacre_error err;

    (void)snprintf(state, sizeof(state), "%s/state", directory);
    (void)snprintf(cache, sizeof(cache), "%s/cache", directory);
    (void)snprintf(keys, sizeof(keys), "%s/keys", directory);
    check(nacre_engine_open(&options, &side->engine, &err), &err);
    check(nacre_tools_find(nacre_engine_tool_dirs(side->engine), side->tool, &manifest,
                           &err), &err);
    check(nacre_tool_load(manifest->module, &side->module, &err), &err);
    check(nacre_policy_load("workspace", nacre_engine_policy_dirs(side->engine),
                            &side->policy, &err), &err);
    side->input_fd = memfd_create("arguments", MFD_CLOEXEC);
    if (side->input_fd < 0 ||
        write(side->input_fd, side->arguments, count) != (ssize_t)count)
        measure_die("the arguments can't be written");
}

static void side_close(struct side *side)
{
    nacre_engine_free(side->engine);
    nacre_tool_free(side->module);
    nacre_policy_free(side->policy);
    (void)close(side->input_fd);
}

int main(int argc, char **argv)
{
    char directory[512], run_row[64], output_row[64];
    struct measure_variant variants[VARIANTS_MAX];
    struct nacre_error err;
    struct side side;
    size_t count = 2;

    if (argc < 6)
        measure_die("ROW TOOL DIRECTORY ARGUMENTS-JSON COUNT [ROW PROGRAM...]");
    (void)snprintf(directory, sizeof(directory), "%s/nacre-bench-XXXXXX",
                   getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    (void)snprintf(run_row, sizeof(run_row), "%s.run", argv[1]);
    (void)snprintf(output_row, sizeof(output_row), "%s.output", argv[1]);
    if (!mkdtemp(directory))
        measure_die("%s can't be made", directory);
    side = (struct side){ .tool = argv[2], .workspace = argv[3], .arguments = argv[4] };
    side_open(&side, directory);
    variants[0] = (struct measure_variant){ .row = argv[1], .call = call_door,
                                            .data = &side };
    variants[1] = (struct measure_variant){ .row = run_row, .call = call_module,
                                            .data = &side };
    if (argc > 6)
        count += measure_programs(argv + 6, variants + 2, VARIANTS_MAX - 2);
    measure_by_turns(variants, count, measure_count(argv[5]));
    measure_print(output_row, "bytes", side.output_bytes);
    side_close(&side);
    if (nacre_tree_remove(AT_FDCWD, directory, &err) != NACRE_OK)
        (void)fprintf(stderr, "%s is left behind: %s\n", directory, err.text);
    return 0;
}
