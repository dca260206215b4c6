#include "nacre/result.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* A JSON array of the few values that an export can return. */
#define VALUES_BYTES_MAX ((size_t)1 << 20)

const char *nacre_outcome_name(enum nacre_outcome outcome)
{
    static const char *const names[] = {
#define X(id, exit_status, name) [NACRE_OUTCOME_##id] = name,
        NACRE_OUTCOME_MAP(X)
#undef X
    };

    assert(outcome < NACRE_OUTCOME_COUNT);
    return names[outcome];
}

int nacre_result_exit(const struct nacre_result *result)
{
    static const int exits[] = {
#define X(id, exit_status, name) [NACRE_OUTCOME_##id] = exit_status,
        NACRE_OUTCOME_MAP(X)
#undef X
    };

    assert(result->outcome > NACRE_OUTCOME_NONE);
    assert(result->outcome < NACRE_OUTCOME_COUNT);
    /* A shell keeps eight bits: a guest that failed with 256 shall not look well there.
     */
    if (result->outcome == NACRE_OUTCOME_EXITED)
        return result->exit_status < 0 || result->exit_status > 255 ? 255
                                                                    : result->exit_status;
    if (result->outcome == NACRE_OUTCOME_KILLED)
        return exits[result->outcome] + result->signal;
    return exits[result->outcome];
}

enum nacre_status nacre_result_new(struct nacre_result **ret_result,
                                   struct nacre_error *err)
{
    struct nacre_result *result = malloc(sizeof(*result));

    if (!result)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a result of %zu bytes",
                          sizeof(*result));
    memset(result, 0, offsetof(struct nacre_result, denials));
    result->output.size_max = NACRE_BUF_LIMIT_MAX;
    result->errors.size_max = NACRE_BUF_LIMIT_MAX;
    result->values.size_max = VALUES_BYTES_MAX;
    *ret_result = result;
    return NACRE_OK;
}

void nacre_result_free(struct nacre_result *result)
{
    if (!result)
        return;
    nacre_buf_clear(&result->output);
    nacre_buf_clear(&result->errors);
    nacre_buf_clear(&result->values);
    free(result);
}

void nacre_result_deny(struct nacre_result *result, const struct nacre_denial *denial)
{
    if (result->denial_count < NACRE_DENIALS_MAX)
        result->denials[result->denial_count++] = *denial;
    result->denials_seen++;
}
