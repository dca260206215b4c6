/* The container's settings of all agents and of one, put together. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "defaults.h"
#include "nacre/browser.h"
#include "nacre/text.h"
#include "schema.h"
#include "settle.h"

#define CONTAINER(member) offsetof(struct nacre_box_rules, container.member)

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a session's policy");
}

static const void *at(const struct nacre_box_rules *box, size_t offset)
{
    return (const char *)box + offset;
}

/* The same member of the policy's own container rules. */
static void *policy_at(struct nacre_policy *policy, size_t offset)
{
    return (char *)&policy->container + offset -
           offsetof(struct nacre_box_rules, container);
}

/* ---- the table of names ---- */

/* An agent's id may leave no room: then it is any agent's key, and the place tells. */
void nacre_key_shorten(const char *key, char ret_key[64])
{
    static const char entries[] = "agents.entries.";
    const char *rest = NULL;

    if (strlen(key) >= 60 && strncmp(key, entries, strlen(entries)) == 0) {
        rest = strstr(key, ".sandbox.");
        rest = rest ? rest : strstr(key, ".tools.");
    }
    if (rest)
        (void)snprintf(ret_key, 64, "agents.entries.*%.44s", rest);
    else
        (void)snprintf(ret_key, 64, "%.63s", key);
}

/* What is the same for a browser and for commands has one key. */
static enum nacre_key key_of(const struct nacre_box_view *view, bool of_agent,
                             enum nacre_key key)
{
    const struct nacre_browser_rules *said =
        of_agent ? &view->own->browser : &view->all->browser;

    if (!view->of_browser)
        return key;
    if (key == NACRE_KEY_IMAGE)
        return NACRE_KEY_BROWSER_IMAGE;
    if (key == NACRE_KEY_NETWORK && said->network.text)
        return NACRE_KEY_BROWSER_NETWORK;
    if (key == NACRE_KEY_BINDS && said->binds.place.line > 0)
        return NACRE_KEY_BROWSER_BINDS;
    return key;
}

static bool add_alias(const char *rule, size_t item, const char *key,
                      struct nacre_policy *policy)
{
    struct nacre_rule_alias added = { .rule = rule, .item = item }, *aliases;

    nacre_key_shorten(key, added.key);
    aliases = realloc(policy->aliases, (policy->alias_count + 1) * sizeof(*aliases));
    if (!aliases)
        return false;
    policy->aliases = aliases;
    aliases[policy->alias_count++] = added;
    return true;
}

bool nacre_box_alias(const struct nacre_box_view *view, bool of_agent, enum nacre_key key,
                     const char *rule, size_t item, struct nacre_policy *policy)
{
    char full[NACRE_CONFIG_KEY];

    return !nacre_config_key(view->config, of_agent ? view->agent : NULL,
                             key_of(view, of_agent, key), full) ||
           add_alias(rule, item, full, policy);
}

void nacre_alias_fix(struct nacre_policy *policy, const char *format, ...)
{
    struct nacre_rule_alias *last = &policy->aliases[policy->alias_count - 1];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(last->fix, sizeof(last->fix), format, args);
    va_end(args);
}

/* ---- one setting ---- */

bool nacre_box_limit(const struct nacre_box_view *view, size_t offset, enum nacre_key key,
                     const char *rule, struct nacre_limit *ret_limit,
                     struct nacre_policy *policy)
{
    const struct nacre_limit *own = at(view->own, offset), *all = at(view->all, offset);
    bool of_agent = own->place.line > 0;

    if (of_agent || all->place.line > 0)
        *ret_limit = of_agent ? *own : *all;
    return nacre_box_alias(view, of_agent, key, rule, 0, policy);
}

static enum nacre_status add_text(const struct nacre_box_view *view, size_t offset,
                                  enum nacre_key key, const char *rule,
                                  const char *by_default, struct nacre_policy *policy,
                                  struct nacre_error *err)
{
    const struct nacre_rule *own = at(view->own, offset), *all = at(view->all, offset);
    const struct nacre_rule *said = own->text ? own : all;
    const char *text = said->text ? said->text : by_default;
    struct nacre_rule *made = policy_at(policy, offset);

    if (!nacre_box_alias(view, own->text, key, rule, 0, policy))
        return no_memory(err);
    made->place = said->place;
    return text ? nacre_schema_copy(text, &made->text, err) : NACRE_OK;
}

/* ---- lists ---- */

static enum nacre_status append(struct nacre_rules *rules, const struct nacre_rule *rule,
                                struct nacre_error *err)
{
    struct nacre_rule *items =
        realloc(rules->items, (rules->count + 1) * sizeof(*rules->items));
    enum nacre_status status;

    if (!items)
        return no_memory(err);
    rules->items = items;
    items[rules->count] = (struct nacre_rule){ .place = rule->place };
    status = nacre_schema_copy(rule->text, &items[rules->count].text, err);
    if (status == NACRE_OK)
        rules->count++;
    return status;
}

static enum nacre_status append_all(struct nacre_rules *rules,
                                    const struct nacre_rules *more,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < more->count && status == NACRE_OK; i++)
        status = append(rules, &more->items[i], err);
    rules->place = more->place;
    return status;
}

/* "K=V": is there one of this name in `rules`? */
static bool names(const struct nacre_rules *rules, const char *text)
{
    size_t length = strcspn(text, "=");

    for (size_t i = 0; i < rules->count; i++)
        if (strncmp(rules->items[i].text, text, length) == 0 &&
            strcspn(rules->items[i].text, "=") == length)
            return true;
    return false;
}

/* But those that `own` says anew. */
static enum nacre_status append_defaults(struct nacre_rules *rules,
                                         const char *const *texts,
                                         const struct nacre_rules *own,
                                         struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; texts && texts[i] && status == NACRE_OK; i++)
        if (!names(own, texts[i]))
            status = append(rules, &(struct nacre_rule){ .text = (char *)texts[i] }, err);
    return status;
}

enum nacre_status nacre_host_block(struct nacre_policy *policy, struct nacre_error *err)
{
    static const struct nacre_rules none;

    if (!add_alias("capabilities.shell.blocked_commands", 0, "built-in blocked_commands",
                   policy))
        return no_memory(err);
    nacre_alias_fix(policy, "run it in a sandbox: there any command runs");
    return append_defaults(&policy->shell.blocked_commands, nacre_host_blocked, &none,
                           err);
}

enum nacre_status nacre_box_list(const struct nacre_box_view *view, size_t offset,
                                 enum nacre_key key, const char *rule,
                                 struct nacre_rules *ret_rules,
                                 struct nacre_policy *policy, struct nacre_error *err)
{
    const struct nacre_rules *own = at(view->own, offset), *all = at(view->all, offset);
    bool of_agent = own->place.line > 0;

    if (!nacre_box_alias(view, of_agent, key, rule, 0, policy))
        return no_memory(err);
    return append_all(ret_rules, of_agent ? own : all, err);
}

/*
 * nofile and nproc are limits of every policy: "nofile=1024:2048" is max_open_files.  The
 * soft one holds, since there is one number; what is no number is left for the plan to
 * refuse.
 */
static bool take_ulimit(const struct nacre_box_view *view, bool of_agent,
                        const struct nacre_rule *rule, struct nacre_policy *policy)
{
    bool files = strncmp(rule->text, "nofile=", 7) == 0;
    struct nacre_limit *limit = files ? &policy->limits.max_open_files
                                      : &policy->limits.max_processes;
    const char *name = files ? "resource_limits.max_open_files"
                             : "resource_limits.max_processes";
    char soft[24];
    uint64_t number;

    if (!files && strncmp(rule->text, "nproc=", 6) != 0)
        return false;
    (void)snprintf(soft, sizeof(soft), "%.*s",
                   (int)strcspn(strchr(rule->text, '=') + 1, ":"),
                   strchr(rule->text, '=') + 1);
    if (!nacre_text_u64(soft, UINT32_MAX, &number) || number == 0)
        return false;
    if (limit->place.line > 0 && limit->value <= number)
        return true;
    *limit = (struct nacre_limit){ number, rule->place };
    for (size_t i = 0; i < policy->alias_count; i++) /* whoever had it: it is ours now */
        if (strcmp(policy->aliases[i].rule, name) == 0)
            policy->aliases[i].rule = "";
    return nacre_box_alias(view, of_agent, NACRE_KEY_ULIMITS, name, 0, policy);
}

static enum nacre_status append_merged(const struct nacre_box_view *view, bool of_agent,
                                       enum nacre_key key, const struct nacre_rule *rule,
                                       struct nacre_rules *made,
                                       struct nacre_policy *policy,
                                       struct nacre_error *err)
{
    if (key == NACRE_KEY_ULIMITS && take_ulimit(view, of_agent, rule, policy))
        return NACRE_OK;
    return append(made, rule, err);
}

/* Those of all that the agent does not say anew, then the agent's. */
static enum nacre_status merge(const struct nacre_box_view *view, size_t offset,
                               enum nacre_key key, const char *rule,
                               const char *const *by_default, struct nacre_policy *policy,
                               struct nacre_error *err)
{
    const struct nacre_rules *own = at(view->own, offset), *all = at(view->all, offset);
    struct nacre_rules *made = policy_at(policy, offset);
    enum nacre_status status = NACRE_OK;
    size_t inherited;

    if (all->place.line == 0)
        status = append_defaults(made, by_default, own, err);
    for (size_t i = 0; i < all->count && status == NACRE_OK; i++)
        if (!names(own, all->items[i].text))
            status = append_merged(view, false, key, &all->items[i], made, policy, err);
    inherited = made->count;
    for (size_t i = 0; i < own->count && status == NACRE_OK; i++)
        status = append_merged(view, true, key, &own->items[i], made, policy, err);
    made->place = own->place.line > 0 ? own->place : all->place;
    if (status == NACRE_OK && !nacre_box_alias(view, false, key, rule, 0, policy))
        status = no_memory(err);
    for (size_t i = inherited; i < made->count && status == NACRE_OK; i++)
        if (!nacre_box_alias(view, true, key, rule, i + 1, policy))
            status = no_memory(err);
    return status;
}

/* ---- the whole ---- */

static enum nacre_status add_texts(const struct nacre_box_view *view,
                                   struct nacre_policy *policy, struct nacre_error *err)
{
    const struct {
        size_t offset;
        enum nacre_key key;
        const char *rule, *by_default;
    } rows[] = {
        { CONTAINER(image), NACRE_KEY_IMAGE, "container.image",
          view->of_browser ? NACRE_BROWSER_IMAGE
                           : nacre_config_defaults(view->config)->image },
        { CONTAINER(workdir), NACRE_KEY_WORKDIR, "container.workdir", NULL },
        { CONTAINER(user), NACRE_KEY_USER, "container.user", NULL },
        { CONTAINER(seccomp_profile), NACRE_KEY_SECCOMP, "container.seccomp_profile",
          NULL },
        { CONTAINER(apparmor_profile), NACRE_KEY_APPARMOR, "container.apparmor_profile",
          NULL },
        { CONTAINER(selinux_label), NACRE_KEY_SELINUX, "container.selinux_label", NULL },
        { CONTAINER(setup_command), NACRE_KEY_SETUP, "container.setup_command", NULL },
        { CONTAINER(cpuset), NACRE_KEY_CPUSET, "container.cpuset", NULL },
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(rows) && status == NACRE_OK; i++)
        status = add_text(view, rows[i].offset, rows[i].key, rows[i].rule,
                          rows[i].by_default, policy, err);
    return status;
}

static enum nacre_status add_numbers(const struct nacre_box_view *view,
                                     struct nacre_policy *policy, struct nacre_error *err)
{
    static const struct {
        size_t offset;
        enum nacre_key key;
        const char *rule;
    } rows[] = {
        { CONTAINER(memory_swap), NACRE_KEY_MEMORY_SWAP, "container.memory_swap" },
        { CONTAINER(memory_reservation), NACRE_KEY_MEMORY_RESERVATION,
          "container.memory_reservation" },
        { CONTAINER(cpus_nano), NACRE_KEY_CPUS, "container.cpus" },
        { CONTAINER(disk_bytes), NACRE_KEY_DISK, "container.disk" },
        { CONTAINER(disk_iops), NACRE_KEY_DISK_IOPS, "container.disk_iops" },
        { CONTAINER(disk_io_weight), NACRE_KEY_DISK_IO_WEIGHT,
          "container.disk_io_weight" },
    };

    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (!nacre_box_limit(view, rows[i].offset, rows[i].key, rows[i].rule,
                             policy_at(policy, rows[i].offset), policy))
            return no_memory(err);
    return NACRE_OK;
}

static enum nacre_status add_lists(const struct nacre_box_view *view,
                                   struct nacre_policy *policy, struct nacre_error *err)
{
    static const struct nacre_rules none;
    const struct nacre_dialect_defaults *defaults = nacre_config_defaults(view->config);
    struct nacre_container_rules *made = &policy->container;
    enum nacre_status status =
        nacre_box_list(view, CONTAINER(tmpfs), NACRE_KEY_TMPFS, "container.tmpfs",
                       &made->tmpfs, policy, err);

    if (status == NACRE_OK && made->tmpfs.place.line == 0)
        status = append_defaults(&made->tmpfs, defaults->tmpfs, &none, err);
    if (status == NACRE_OK)
        status = nacre_box_list(view, CONTAINER(keep_capabilities),
                                NACRE_KEY_KEEP_CAPABILITIES,
                                "container.keep_capabilities", &made->keep_capabilities,
                                policy, err);
    if (status == NACRE_OK)
        status = nacre_box_list(view, CONTAINER(blocked_syscalls),
                                NACRE_KEY_BLOCKED_SYSCALLS, "container.blocked_syscalls",
                                &made->blocked_syscalls, policy, err);
    if (status == NACRE_OK)
        status = merge(view, CONTAINER(environment), NACRE_KEY_ENVIRONMENT,
                       "container.environment", defaults->environment, policy, err);
    if (status == NACRE_OK)
        status = merge(view, CONTAINER(ulimits), NACRE_KEY_ULIMITS, "container.ulimits",
                       NULL, policy, err);
    return status;
}

enum nacre_status nacre_box_container(const struct nacre_box_view *view,
                                      struct nacre_policy *policy,
                                      struct nacre_error *err)
{
    const struct nacre_flag *own = &view->own->container.read_only_root;
    const struct nacre_flag *all = &view->all->container.read_only_root;
    bool of_agent = own->place.line > 0;
    enum nacre_status status = add_texts(view, policy, err);

    policy->container.read_only_root = of_agent ? *own : *all;
    if (status == NACRE_OK &&
        !nacre_box_alias(view, of_agent, NACRE_KEY_READ_ONLY_ROOT,
                         "container.read_only_root", 0, policy))
        status = no_memory(err);
    if (status == NACRE_OK)
        status = add_numbers(view, policy, err);
    if (status == NACRE_OK)
        status = add_lists(view, policy, err);
    return status;
}
