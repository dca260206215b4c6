/*
 * What one run gets: the granted secrets, opened into locked memory, and stand-ins.  The
 * names come from a request; the vault and its tokens are authentic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "nacre/text.h"
#include "vault.h"

#define WISHES_MAX 64

/* The public part first; what it points to belongs to the rest. */
struct set {
    struct nacre_secret_set public;
    struct nacre_secret items[2 * WISHES_MAX + 1];
    char names[2 * WISHES_MAX][NACRE_SECRET_NAME_MAX + 1];
    char variables[2 * WISHES_MAX][SECRET_VARIABLE];
    char **hosts[2 * WISHES_MAX];
    char *environment[WISHES_MAX + 1]; /* into `pages` */
    struct locked pages;
};

/* One call's work. */
struct collect {
    struct nacre_vault *vault;
    const struct nacre_secret_asker *asker;
    const struct vault_entry *entries[2 * WISHES_MAX]; /* of the items */
    struct set *set;
    struct tokens tokens; /* all live ones */
};

void nacre_secret_set_free(struct nacre_secret_set *public)
{
    struct set *set = (struct set *)(void *)public;

    if (!set)
        return;
    locked_clear(&set->pages);
    for (size_t i = 0; i < NACRE_COUNT(set->hosts); i++) {
        for (size_t k = 0; set->hosts[i] && set->hosts[i][k]; k++)
            free(set->hosts[i][k]);
        free(set->hosts[i]);
    }
    free(public->tokens);
    free(set);
}

static enum nacre_status copy_hosts(char *const *hosts, char ***ret_copy,
                                    struct nacre_error *err)
{
    size_t count = 0;

    while (hosts[count])
        count++;
    *ret_copy = calloc(count + 1, sizeof(**ret_copy));
    for (size_t i = 0; *ret_copy && i < count; i++) {
        (*ret_copy)[i] = strdup(hosts[i]);
        if (!(*ret_copy)[i])
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
    }
    return *ret_copy ? NACRE_OK
                     : nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
}

static uint32_t item_of(const struct set *set, const char *name)
{
    for (uint32_t i = 0; i < set->public.count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

/* The item for this entry, a new one if need be, for tokens until it is asked for by
 * name; its value comes later. */
static enum nacre_status add_item(struct collect *collect,
                                  const struct vault_entry *entry,
                                  const char *variable, uint32_t *ret_index,
                                  struct nacre_error *err)
{
    struct set *set = collect->set;
    uint32_t at = item_of(set, entry->name);
    enum nacre_status status;

    *ret_index = at;
    if (at != UINT32_MAX)
        return NACRE_OK;
    at = set->public.count;
    if (at == NACRE_COUNT(collect->entries))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "a run can use %zu secrets at most",
                          NACRE_COUNT(collect->entries));
    status = copy_hosts(entry->hosts, &set->hosts[at], err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(set->names[at], sizeof(set->names[at]), "%s", entry->name);
    (void)snprintf(set->variables[at], sizeof(set->variables[at]), "%s", variable);
    set->items[at] = (struct nacre_secret){ .name = set->names[at],
                                            .hosts = (const char *const *)set->hosts[at],
                                            .variable = set->variables[at],
                                            .count = entry->value_count,
                                            .by_token = true };
    collect->entries[at] = entry;
    set->public.count++;
    *ret_index = at;
    return NACRE_OK;
}

static enum nacre_status find_granted(const struct collect *collect, const char *name,
                                      const struct vault_entry **ret_entry,
                                      struct nacre_error *err)
{
    const struct vault_entry *entry = vault_find(collect->vault, name);
    const struct nacre_secret_asker *asker = collect->asker;
    char policy[NACRE_SHOWN], tool[NACRE_SHOWN];

    if (!entry)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no secret %s; nacre secret set %s makes one", name,
                          name);
    if (!secret_is_granted(entry->grants, asker))
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "the secret %s is not granted to this run: neither to its "
                          "policy %s, nor to its agent or its tool%s%s", name,
                          nacre_text_shown(policy, asker->policy ? asker->policy : ""),
                          asker->tool ? " " : "",
                          nacre_text_shown(tool, asker->tool ? asker->tool : ""));
    *ret_entry = entry;
    return NACRE_OK;
}

static enum nacre_status add_named(struct collect *collect, const char *text,
                                   struct secret_wish *ret_wish, uint32_t *ret_index,
                                   struct nacre_error *err)
{
    const struct vault_entry *entry = NULL;
    enum nacre_status status = secret_wish_read(text, ret_wish, err);

    if (status == NACRE_OK)
        status = find_granted(collect, ret_wish->name, &entry, err);
    if (status == NACRE_OK)
        status = add_item(collect, entry, ret_wish->variable, ret_index, err);
    return status;
}

static enum nacre_status add_names(struct collect *collect, const char *const *names,
                                   struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; names && names[i] && status == NACRE_OK; i++) {
        struct secret_wish wish;
        uint32_t index = 0;

        if (i == WISHES_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "a run can ask for %d secrets",
                              WISHES_MAX);
        status = add_named(collect, names[i], &wish, &index, err);
        if (status == NACRE_OK && index != i)
            return nacre_fail(err, NACRE_ERR_USAGE, "the secret %s is asked for twice",
                              wish.name);
        if (status == NACRE_OK)
            collect->set->items[index].by_token = false;
    }
    return status;
}

static void add_token(struct collect *collect, uint32_t index, const struct token *token)
{
    struct nacre_secret_set *public = &collect->set->public;

    public->tokens[public->token_count++] = (struct nacre_secret_token){
        .digest = token->digest, .secret = index, .expires_ms = token->expires_ms
    };
}

/* Those issued before, for the session or the agent. */
static enum nacre_status add_live(struct collect *collect, struct nacre_error *err)
{
    const struct nacre_secret_asker *asker = collect->asker;
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < collect->tokens.count && status == NACRE_OK; i++) {
        const struct token *token = &collect->tokens.items[i];
        const struct vault_entry *entry = vault_find(collect->vault, token->secret);
        struct secret_wish wish;
        uint32_t index;

        if (!entry || !secret_scope_means(token->scope, asker->session, asker->agent))
            continue;
        status = secret_wish_read(token->secret, &wish, err);
        if (status == NACRE_OK)
            status = add_item(collect, entry, wish.variable, &index, err);
        if (status == NACRE_OK)
            add_token(collect, index, token);
    }
    return status;
}

/* Those of this run: issued, and put where the guest will find them. */
static enum nacre_status issue(struct collect *collect, const char *const *token_names,
                               uint64_t token_ms, struct nacre_error *err)
{
    struct set *set = collect->set;
    unsigned char *at = set->pages.bytes + set->pages.size; /* from the end */
    char text[NACRE_TOKEN_TEXT] = "", scope[NACRE_SECRET_NAME_MAX + 8];
    enum nacre_status status = NACRE_OK;

    (void)snprintf(scope, sizeof(scope), "run:%s", collect->asker->run_id);
    for (uint32_t i = 0; token_names && token_names[i] && status == NACRE_OK; i++) {
        struct secret_wish wish;
        uint32_t index = 0;
        size_t length;

        status = add_named(collect, token_names[i], &wish, &index, err);
        if (status == NACRE_OK)
            status = tokens_add(&collect->tokens, wish.name, scope, token_ms, text, err);
        if (status != NACRE_OK)
            break;
        length = strlen(wish.variable) + 1 + sizeof(text);
        at -= length;
        (void)snprintf((char *)at, length, "%s=%s", wish.variable, text);
        set->environment[i] = (char *)at;
        add_token(collect, index, &collect->tokens.items[collect->tokens.count - 1]);
    }
    explicit_bzero(text, sizeof(text));
    return status;
}

/* Every value into the pages, from their beginning on: after its variable's name and
 * before a terminator, so that it need not be copied to stand in an environment. */
static enum nacre_status open_values(struct collect *collect, struct nacre_error *err)
{
    struct set *set = collect->set;
    unsigned char *at = set->pages.bytes;
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < set->public.count && status == NACRE_OK; i++) {
        const struct vault_entry *entry = collect->entries[i];
        size_t name = strlen(set->variables[i]);

        memcpy(at, set->variables[i], name);
        at[name] = '=';
        status = vault_entry_open(entry, collect->vault->content.id,
                                  collect->vault->private->seal_key, at + name + 1, err);
        set->items[i].assignment = (const char *)at;
        set->items[i].value = at + name + 1;
        at += name + 1 + entry->value_count + 1;
    }
    return status;
}

/* Room for the values and, after them, for the tokens' variables. */
static enum nacre_status make_pages(struct collect *collect, uint32_t issued,
                                    struct nacre_error *err)
{
    size_t size = issued * (SECRET_VARIABLE + 1 + (size_t)NACRE_TOKEN_TEXT);

    for (uint32_t i = 0; i < collect->set->public.count; i++)
        size += SECRET_VARIABLE + 1 + collect->entries[i]->value_count;
    return locked_new(size, &collect->set->pages, err);
}

static enum nacre_status fill(struct collect *collect, const char *const *names,
                              const char *const *token_names, uint64_t token_ms,
                              struct nacre_error *err)
{
    struct nacre_secret_set *public = &collect->set->public;
    enum nacre_status status = add_names(collect, names, err);
    uint32_t issued = 0;

    /* Known to be granted before anything is issued. */
    for (; token_names && token_names[issued] && status == NACRE_OK; issued++) {
        struct secret_wish wish;
        uint32_t index;

        if (issued == WISHES_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "a run can ask for %d tokens",
                              WISHES_MAX);
        status = add_named(collect, token_names[issued], &wish, &index, err);
    }
    if (status == NACRE_OK)
        status = tokens_load(collect->vault, &collect->tokens, err);
    if (status != NACRE_OK)
        return status;
    public->tokens = calloc(collect->tokens.count + issued + 1, sizeof(*public->tokens));
    if (!public->tokens)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for tokens");
    status = add_live(collect, err);
    if (status != NACRE_OK || !collect->asker->run_id)
        return status;
    status = make_pages(collect, issued, err);
    if (status == NACRE_OK)
        status = open_values(collect, err);
    if (status == NACRE_OK && issued > 0)
        status = issue(collect, token_names, token_ms, err);
    if (status == NACRE_OK && issued > 0)
        status = tokens_save(collect->vault, &collect->tokens, err);
    return status;
}

enum nacre_status nacre_secrets_collect(struct nacre_vault *vault,
                                        const struct nacre_secret_asker *asker,
                                        const char *const *names,
                                        const char *const *token_names, uint64_t token_ms,
                                        struct nacre_secret_set **ret_set,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    struct collect collect = { .vault = vault, .asker = asker };
    enum nacre_status status = vault_begin(vault, &lock, err);

    if (status != NACRE_OK)
        return status;
    collect.set = calloc(1, sizeof(*collect.set));
    if (!collect.set)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for secrets");
    collect.set->public.items = collect.set->items;
    collect.set->public.environment = collect.set->environment;
    status = fill(&collect, names, token_names, token_ms, err);
    tokens_clear(&collect.tokens);
    if (status != NACRE_OK) {
        nacre_secret_set_free(&collect.set->public);
        return status;
    }
    *ret_set = &collect.set->public;
    return NACRE_OK;
}
