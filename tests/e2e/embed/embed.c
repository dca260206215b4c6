/* embed POLICY WORKSPACE MODULE [ARGUMENT...]: a host program with nacre inside. */
#include <stdio.h>

#include "nacre/nacre.h"

static void copy(const struct nacre_buf *from, FILE *to)
{
    if (from->size > 0)
        (void)fwrite(from->bytes, 1, from->size, to);
}

int main(int argc, char **argv)
{
    /* Freed in the opposite order: the engine, which owns the workers, goes last. */
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;
    char why[1024];

    if (argc < 4) {
        (void)fputs("usage: embed POLICY WORKSPACE MODULE [ARGUMENT...]\n", stderr);
        return 125;
    }
    const struct nacre_request request = {
        .arguments = (const char *const *)argv + 4,
        .workspace = argv[2],
        .input_fd = -1,
    };
    if (nacre_engine_open(NULL, &engine, &err) != NACRE_OK ||
        nacre_engine_policy(engine, argv[1], &policy, &err) != NACRE_OK ||
        nacre_tool_load(argv[3], &tool, &err) != NACRE_OK ||
        nacre_run(engine, policy, tool, &request, &result, &err) != NACRE_OK) {
        nacre_error_print(&err, why, sizeof(why)); /* the host could not do its job */
        (void)fprintf(stderr, "embed: %s\n", why);
        return nacre_status_exit(err.status);
    }

    copy(&result->output, stdout);
    copy(&result->errors, stderr);
    for (uint32_t i = 0; i < result->denial_count; i++)
        (void)fprintf(stderr, "embed: denied: %s\n", result->denials[i].text);
    (void)fprintf(stderr, "embed: %s\n", nacre_outcome_name(result->outcome));
    return nacre_result_exit(result);
}
