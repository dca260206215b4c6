/* Trusts the tool; of the request's variables, nothing. */
#include "nt_start.h"

#include <string.h>

#include "nacre/shell.h"
#include "nacre/text.h"

#define WORDS_MAX 4096

void nt_words_clear(struct nt_words *words)
{
    free(words->arguments);
    free(words->environment);
    *words = (struct nt_words){ 0 };
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

static size_t name_length(const char *assignment)
{
    const char *equals = strchr(assignment, '=');

    return equals ? (size_t)(equals - assignment) : 0;
}

static bool has_name(const char *const *assignments, const char *assignment)
{
    size_t length = name_length(assignment);

    for (size_t i = 0; assignments && assignments[i]; i++)
        if (name_length(assignments[i]) == length &&
            memcmp(assignments[i], assignment, length) == 0)
            return true;
    return false;
}

static enum nacre_status check_environment(const char *const *environment,
                                           struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    for (size_t i = 0; environment && environment[i]; i++) {
        const char *reason = nacre_shell_environment_denied(environment[i]);

        if (name_length(environment[i]) == 0)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "environment '%s': expected NAME=VALUE",
                              nacre_text_shown(shown, environment[i]));
        if (reason)
            return nacre_fail(err, NACRE_ERR_DENIED, "environment: %s", reason);
    }
    return NACRE_OK;
}

enum nacre_status nt_words_make(const struct nacre_tool *tool,
                                const struct nacre_request *request,
                                const char *const *defaults, struct nt_words *ret_words,
                                struct nacre_error *err)
{
    NACRE_AUTO(nt_words_clear) struct nt_words words = { 0 };
    const char *const *argv = (const char *const *)tool->argv;
    size_t own = count_of(argv), more = count_of(request->arguments);
    size_t given = count_of(request->environment), used = 0;
    enum nacre_status status = check_environment(request->environment, err);

    if (status != NACRE_OK)
        return status;
    if (own + more > WORDS_MAX || given > WORDS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d arguments or variables",
                          WORDS_MAX);
    words.arguments = calloc(own + more + 1, sizeof(*words.arguments));
    words.environment = calloc(given + count_of(defaults) + 1,
                               sizeof(*words.environment));
    if (!words.arguments || !words.environment)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a command");
    for (size_t i = 0; i < own; i++)
        words.arguments[i] = argv[i];
    for (size_t i = 0; i < more; i++)
        words.arguments[own + i] = request->arguments[i];
    for (size_t i = 0; i < given; i++)
        words.environment[used++] = request->environment[i];
    for (size_t i = 0; defaults[i]; i++)
        if (!has_name(request->environment, defaults[i]))
            words.environment[used++] = defaults[i];
    *ret_words = words;
    words = (struct nt_words){ 0 };
    return NACRE_OK;
}
