/* The request is anybody's; the vault says what is granted, the policy how it is
 * given. */
#include "secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/leak.h"
#include "nacre/text.h"

/* Issued a moment before the run's own time begins. */
#define TOKEN_GRACE_MS 1000

void run_secrets_clear(struct run_secrets *secrets)
{
    free(secrets->environment);
    free(secrets->files);
    nacre_secret_set_free(secrets->set);
    *secrets = (struct run_secrets){ 0 };
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

/* Without a secrets section planning refuses by name what is asked for. */
static bool is_needed(const struct nacre_engine *engine,
                      const struct nacre_policy *policy,
                      const struct nacre_request *request)
{
    if (policy->secrets.place.line == 0)
        return false;
    if (count_of(request->secrets) > 0 || count_of(request->tokens) > 0)
        return true;
    /* One that was issued for its session before can be of use only where there is a way
     * out. */
    return (request->session || request->agent) &&
           policy->network.mode > NACRE_NETWORK_DENY &&
           nacre_token_any(engine->places.state_dir, request->session, request->agent);
}

static struct nacre_secret_asker asker_of(const struct nacre_policy *policy,
                                          const char *tool,
                                          const struct nacre_request *request,
                                          const char *run_id)
{
    return (struct nacre_secret_asker){ .policy = policy->name,
                                        .tool = request->called ? request->called : tool,
                                        .session = request->session,
                                        .agent = request->agent, .run_id = run_id };
}

static uint64_t token_ms(const struct nacre_policy *policy,
                         const struct nacre_request *request)
{
    if (request->token_ms > 0)
        return request->token_ms;
    return (request->timeout_ms > 0 ? request->timeout_ms
                                    : policy->limits.timeout_ms.value) + TOKEN_GRACE_MS;
}

/* ---- refusals ---- */

/* Which of the names is it that is denied? */
static const char *find_denied(struct nacre_vault *vault,
                               const struct nacre_secret_asker *asker,
                               const char *const *names)
{
    for (size_t i = 0; names && names[i]; i++) {
        NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
        const char *const one[] = { names[i], NULL };
        struct nacre_secret_asker asks = *asker;
        struct nacre_error err;

        asks.run_id = NULL;
        if (nacre_secrets_collect(vault, &asks, one, NULL, 0, &set, &err) ==
            NACRE_ERR_DENIED)
            return names[i];
    }
    return NULL;
}

static enum nacre_status deny(struct nacre_vault *vault,
                              const struct nacre_policy *policy,
                              const struct nacre_secret_asker *asker,
                              const struct nacre_request *request,
                              struct nacre_result *result, struct nacre_error *err)
{
    const char *name = find_denied(vault, asker, request->secrets);
    struct nacre_denial denial = { .code = "secret-denied",
                                   .rule = "capabilities.secrets",
                                   .place = policy->secrets.place };
    char shown[NACRE_SHOWN];

    if (!name)
        name = find_denied(vault, asker, request->tokens);
    (void)snprintf(denial.text, sizeof(denial.text), "%s", err->text);
    if (name)
        (void)snprintf(denial.fix, sizeof(denial.fix),
                       "nacre secret grant %.*s --to 'policy:%s'",
                       (int)strcspn(name, "="),
                       name, nacre_text_shown(shown, policy->name));
    nacre_result_deny(result, &denial);
    return err->status;
}

/* The value of which of them is in `text`?  NULL: of none. */
static const struct nacre_secret *find_value(const struct nacre_secret_set *set,
                                             const char *text)
{
    for (uint32_t i = 0; text && i < set->count; i++)
        if (set->items[i].count >= NACRE_LEAK_VALUE_MIN &&
            memmem(text, strlen(text), set->items[i].value, set->items[i].count))
            return &set->items[i];
    return NULL;
}

/* Names of the caller's are recorded as they are, and shown wherever a run is: one that
 * holds a value is none, and is told nobody. */
static enum nacre_status deny_names(struct run_secrets *secrets,
                                    struct nacre_result *result, struct nacre_error *err)
{
    const struct {
        const char **name, *rule;
    } rows[] = {
        { &secrets->request.session, "request.session" },
        { &secrets->request.agent, "request.agent" },
        { &secrets->request.caller, "request.caller" },
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct nacre_secret *secret = find_value(secrets->set, *rows[i].name);
        struct nacre_denial denial = { .code = "secret-denied",
                                       .fix = "take another name" };

        if (!secret)
            continue;
        *rows[i].name = "[redacted]";
        (void)snprintf(denial.rule, sizeof(denial.rule), "%s", rows[i].rule);
        (void)snprintf(denial.text, sizeof(denial.text),
                       "it holds the value of the secret %s, and would be recorded",
                       secret->name);
        nacre_result_deny(result, &denial);
        status = nacre_fail(err, NACRE_ERR_DENIED, "%s: %s", denial.rule, denial.text);
    }
    return status;
}

const char *run_secrets_tool_name(const struct run_secrets *secrets, const char *name)
{
    return secrets->set && find_value(secrets->set, name) ? "[redacted]" : name;
}

/* ---- handing over ---- */

static bool is_named_alike(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return strncmp(a, b, length + 1) == 0;
}

/* One variable has one value: neither the caller's nor ours is dropped in silence. */
static enum nacre_status add_variable(struct run_secrets *secrets, size_t *count,
                                      const char *assignment, struct nacre_error *err)
{
    for (size_t i = 0; i < *count; i++)
        if (is_named_alike(secrets->environment[i], assignment))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "the variable %.*s is given twice: name another for the "
                              "secret, as NAME=VARIABLE",
                              (int)strcspn(assignment, "="), assignment);
    secrets->environment[(*count)++] = assignment;
    return NACRE_OK;
}

static enum nacre_status fill_environment(struct run_secrets *secrets,
                                          const struct nacre_request *request,
                                          uint32_t raw, struct nacre_error *err)
{
    const struct nacre_secret_set *set = secrets->set;
    size_t own = count_of(request->environment), count = own;
    size_t issued = count_of((const char *const *)set->environment);
    enum nacre_status status = NACRE_OK;

    if (raw + issued == 0)
        return NACRE_OK;
    secrets->environment = calloc(own + raw + issued + 1, sizeof(*secrets->environment));
    if (!secrets->environment)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a run's environment");
    if (own > 0)
        memcpy(secrets->environment, request->environment,
               own * sizeof(*secrets->environment));
    for (uint32_t i = 0; i < raw && status == NACRE_OK; i++) {
        const struct nacre_secret *secret = &set->items[i];

        if (memchr(secret->value, 0, secret->count))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "the secret %s holds a NUL byte, which no variable can: "
                              "use file-mount", secret->name);
        status = add_variable(secrets, &count, secret->assignment, err);
    }
    for (size_t i = 0; i < issued && status == NACRE_OK; i++)
        status = add_variable(secrets, &count, set->environment[i], err);
    secrets->request.environment = secrets->environment;
    return status;
}

static enum nacre_status fill_files(struct run_secrets *secrets, uint32_t raw,
                                    struct nacre_error *err)
{
    secrets->files = calloc((size_t)raw + 1, sizeof(*secrets->files));
    if (!secrets->files)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a run's secret files");
    for (uint32_t i = 0; i < raw; i++) {
        const struct nacre_secret *secret = &secrets->set->items[i];

        secrets->files[i] = (struct nacre_secret_file){ .name = secret->name,
                                                        .bytes = secret->value,
                                                        .count = secret->count };
    }
    secrets->request.secret_files = secrets->files;
    secrets->request.secret_file_count = raw;
    return NACRE_OK;
}

static void warn(const struct nacre_engine *engine, const struct nacre_secret_set *set)
{
    char text[256];

    for (uint32_t i = 0; engine->on_notice && i < set->count; i++) {
        if (set->items[i].count >= NACRE_LEAK_VALUE_MIN)
            continue;
        (void)snprintf(text, sizeof(text),
                       "the secret %s has fewer than %d bytes: what leaves the sandbox "
                       "is not searched for it", set->items[i].name,
                       NACRE_LEAK_VALUE_MIN);
        engine->on_notice(engine->notice_data, text);
    }
}

enum nacre_status run_secrets_open(struct nacre_engine *engine,
                                   const struct nacre_policy *policy,
                                   const struct nacre_tool *tool,
                                   const struct nacre_request *request,
                                   const char *run_id,
                                   struct run_secrets *secrets,
                                   struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    struct nacre_secret_asker asker = asker_of(policy, tool->name, request, run_id);
    enum nacre_injection how = policy->secrets.injection;
    uint32_t raw = 0;
    enum nacre_status status;

    secrets->request = *request;
    secrets->request.granted = NULL; /* a caller's own are no grants */
    secrets->request.secret_files = NULL;
    secrets->request.secret_file_count = 0;
    if (!is_needed(engine, policy, request))
        return NACRE_OK;
    status = nacre_vault_open(engine->places.state_dir, engine->places.key_dir, &vault,
                              err);
    if (status != NACRE_OK)
        return status;
    status = nacre_secrets_collect(vault, &asker, request->secrets, request->tokens,
                                   token_ms(policy, request), &secrets->set, err);
    if (status == NACRE_ERR_DENIED)
        return deny(vault, policy, &asker, request, result, err);
    if (status != NACRE_OK)
        return status;
    secrets->request.granted = secrets->set;
    status = deny_names(secrets, result, err);
    if (status != NACRE_OK)
        return status;
    if (how == NACRE_INJECTION_ENVIRONMENT || how == NACRE_INJECTION_FILE_MOUNT)
        raw = (uint32_t)count_of(request->secrets);
    status = fill_environment(secrets, request,
                              how == NACRE_INJECTION_ENVIRONMENT ? raw : 0, err);
    if (status == NACRE_OK && how == NACRE_INJECTION_FILE_MOUNT && raw > 0)
        status = fill_files(secrets, raw, err);
    if (status == NACRE_OK)
        warn(engine, secrets->set);
    return status;
}

enum nacre_status nacre_engine_secrets(struct nacre_engine *engine,
                                       const struct nacre_policy *policy,
                                       const char *tool,
                                       const struct nacre_request *request,
                                       struct nacre_secret_set **ret_set,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    struct nacre_secret_asker asker = asker_of(policy, tool, request, NULL);
    enum nacre_status status;

    if (!is_needed(engine, policy, request)) {
        *ret_set = NULL;
        return NACRE_OK;
    }
    status = nacre_vault_open(engine->places.state_dir, engine->places.key_dir, &vault,
                              err);
    if (status != NACRE_OK)
        return status;
    return nacre_secrets_collect(vault, &asker, request->secrets, request->tokens, 0,
                                 ret_set, err);
}
