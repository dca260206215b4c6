#include "plans.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/buf.h"
#include "nacre/secrets.h"

#define KEPT_MAX 32
#define KEY_BYTES_MAX 4096 /* a request with longer names is planned anew each time */

struct kept {
    struct kept *next;
    struct nacre_plan *plan;
    char *key;
    size_t key_size;
    uint32_t users;
};

struct nacre_plans {
    pthread_mutex_t lock;
    struct kept *first; /* most recently used first */
    uint32_t count;
};

enum nacre_status nacre_plans_new(struct nacre_plans **ret_plans, struct nacre_error *err)
{
    struct nacre_plans *plans = calloc(1, sizeof(*plans));

    if (!plans)
        return nacre_fail(err, NACRE_ERR_MEMORY, "plans");
    (void)pthread_mutex_init(&plans->lock, NULL);
    *ret_plans = plans;
    return NACRE_OK;
}

static void kept_free(struct kept *kept)
{
    nacre_plan_free(kept->plan);
    free(kept->key);
    free(kept);
}

void nacre_plans_free(struct nacre_plans *plans)
{
    if (!plans)
        return;
    for (struct kept *next; plans->first; plans->first = next) {
        next = plans->first->next;
        kept_free(plans->first);
    }
    (void)pthread_mutex_destroy(&plans->lock);
    free(plans);
}

/* ---- what a plan depends on, as bytes ---- */

struct key {
    char bytes[KEY_BYTES_MAX];
    size_t size;
    bool is_whole;
};

static void key_add(struct key *key, const void *bytes, size_t count)
{
    if (count > sizeof(key->bytes) - key->size) {
        key->is_whole = false;
        return;
    }
    memcpy(key->bytes + key->size, bytes, count);
    key->size += count;
}

/* With its length, so that two texts never read as two others; NULL is not "". */
static void key_add_text(struct key *key, const char *text)
{
    size_t length = text ? strlen(text) : SIZE_MAX;

    key_add(key, &length, sizeof(length));
    if (text)
        key_add(key, text, length);
}

static void key_add_texts(struct key *key, const char *const *texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        key_add_text(key, texts[i]);
    key_add_text(key, NULL);
}

/* A plan knows where secrets may go; a secret that was bound anew gives another plan. */
static void key_add_granted(struct key *key, const struct nacre_secret_set *granted)
{
    uint32_t count = granted ? granted->count : 0;

    key_add(key, &count, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        bool is_token = false;

        for (uint32_t k = 0; k < granted->token_count; k++)
            is_token |= granted->tokens[k].secret == i;
        key_add(key, &is_token, sizeof(is_token));
        key_add_text(key, granted->items[i].name);
        key_add_texts(key, granted->items[i].hosts);
    }
}

static void key_make(struct key *key, const struct nacre_policy *policy,
                     const struct nacre_request *request)
{
    const bool dials = request->dial_fd > 0;

    key->size = 0;
    key->is_whole = true;
    key_add(key, &policy->digest, sizeof(policy->digest));
    /* One configuration gives several policies, all with its digest: a session's exec and
     * its file tools. */
    key_add(key, &policy->level, sizeof(policy->level));
    key_add_text(key, policy->name);
    key_add_text(key, policy->source);
    key_add_text(key, policy->file);
    /* A configuration is compiled to several policies, which have one digest. */
    key_add(key, &policy->level, sizeof(policy->level));
    key_add(key, &policy->user_namespaces, sizeof(policy->user_namespaces));
    key_add(key, &policy->input.held_to_reading, sizeof(policy->input.held_to_reading));
    key_add_text(key, request->workspace);
    key_add_text(key, request->private_dir);
    key_add(key, &request->mount_count, sizeof(request->mount_count));
    for (uint32_t i = 0; i < request->mount_count; i++) {
        key_add_text(key, request->mounts[i].guest);
        key_add_text(key, request->mounts[i].host);
        key_add(key, &request->mounts[i].mode, sizeof(request->mounts[i].mode));
    }
    key_add(key, &request->fuel, sizeof(request->fuel));
    key_add(key, &request->timeout_ms, sizeof(request->timeout_ms));
    key_add_text(key, request->session);
    key_add_text(key, request->agent);
    key_add_text(key, request->invoke);
    key_add_text(key, request->directory);
    key_add_text(key, request->image);
    key_add(key, &request->scope, sizeof(request->scope));
    key_add(key, &request->unsandboxed, sizeof(request->unsandboxed));
    key_add(key, &dials, sizeof(dials));
    key_add_texts(key, request->waive);
    key_add_texts(key, request->secrets);
    key_add_texts(key, request->tokens);
    key_add_texts(key, request->intercept);
    key_add_granted(key, request->granted);
}

/* ---- the list ---- */

static struct kept *find(struct nacre_plans *plans, const struct key *key)
{
    for (struct kept **at = &plans->first; *at; at = &(*at)->next) {
        struct kept *found = *at;

        if (found->key_size != key->size ||
            memcmp(found->key, key->bytes, key->size) != 0)
            continue;
        *at = found->next;
        found->next = plans->first;
        plans->first = found;
        found->users++;
        return found;
    }
    return NULL;
}

/* The last one that nobody uses, when there are too many. */
static struct kept *take_oldest(struct nacre_plans *plans)
{
    struct kept **oldest = NULL;
    struct kept *taken;

    for (struct kept **at = &plans->first; *at; at = &(*at)->next)
        if ((*at)->users == 0)
            oldest = at;
    if (plans->count <= KEPT_MAX || !oldest)
        return NULL;
    taken = *oldest;
    *oldest = taken->next;
    plans->count--;
    return taken;
}

static enum nacre_status keep(struct nacre_plans *plans, const struct key *key,
                              struct nacre_plan *plan, struct nacre_error *err)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    struct kept *oldest;

    if (kept)
        kept->key = malloc(key->size);
    if (!kept || !kept->key) {
        free(kept);
        return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
    }
    /* An incomplete key is kept as one that no request has. */
    kept->key_size = key->is_whole ? key->size : 0;
    memcpy(kept->key, key->bytes, kept->key_size);
    kept->plan = plan;
    kept->users = 1;
    (void)pthread_mutex_lock(&plans->lock);
    kept->next = plans->first;
    plans->first = kept;
    plans->count++;
    oldest = take_oldest(plans);
    (void)pthread_mutex_unlock(&plans->lock);
    if (oldest)
        kept_free(oldest);
    return NACRE_OK;
}

enum nacre_status nacre_plans_get(struct nacre_plans *plans,
                                  const struct nacre_policy *policy,
                                  const struct nacre_request *request,
                                  const struct nacre_plan **ret_plan,
                                  struct nacre_result *ret_denials,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct kept *kept = NULL;
    enum nacre_status status;
    struct key key;

    key_make(&key, policy, request);
    if (key.is_whole) {
        (void)pthread_mutex_lock(&plans->lock);
        kept = find(plans, &key);
        (void)pthread_mutex_unlock(&plans->lock);
    }
    if (kept) {
        *ret_plan = kept->plan;
        return NACRE_OK;
    }
    status = nacre_plan_make(policy, request, &plan, ret_denials, err);
    if (status == NACRE_OK)
        status = keep(plans, &key, plan, err);
    if (status != NACRE_OK)
        return status;
    *ret_plan = nacre_plan_take(&plan);
    return NACRE_OK;
}

void nacre_plans_put(struct nacre_plans *plans, const struct nacre_plan *plan)
{
    if (!plan)
        return;
    (void)pthread_mutex_lock(&plans->lock);
    for (struct kept *kept = plans->first; kept; kept = kept->next)
        if (kept->plan == plan)
            kept->users--;
    (void)pthread_mutex_unlock(&plans->lock);
}
