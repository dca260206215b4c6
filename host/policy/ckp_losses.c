/* What a policy has and CKP can't say: one loss for each setting, none left out. */
#include "ckp_losses.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

void nacre_losses_clear(struct nacre_losses *losses)
{
    free(losses->items);
    *losses = (struct nacre_losses){ .items = NULL };
}

enum nacre_status nacre_loss_add(struct nacre_losses *losses, const char *key,
                                 struct nacre_place place, struct nacre_error *err,
                                 const char *format, ...)
{
    size_t size = (losses->count + 1) * sizeof(*losses->items);
    struct nacre_loss *items = losses->items, *loss;
    va_list args;

    /* It grows at 0, 8, 16, 32, ... entries. */
    if (losses->count == 0 ||
        (losses->count >= 8 && (losses->count & (losses->count - 1)) == 0))
        items = realloc(items, losses->count == 0 ? 8 * size : 2 * size);
    if (!items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the report");
    losses->items = items;
    loss = &items[losses->count++];
    *loss = (struct nacre_loss){ .place = place };
    (void)snprintf(loss->key, sizeof(loss->key), "%s", key);
    va_start(args, format);
    (void)vsnprintf(loss->text, sizeof(loss->text), format, args);
    va_end(args);
    return NACRE_OK;
}

static enum nacre_status lose_rules(const char *key, const struct nacre_rules *rules,
                                    bool names_only, struct nacre_losses *losses,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < rules->count && status == NACRE_OK; i++) {
        const char *text = rules->items[i].text;
        /* Values of the environment may be secrets; a report is read by others. */
        size_t length = names_only ? strcspn(text, "=") : strlen(text);
        char shown[NACRE_SHOWN], name[64];

        (void)snprintf(name, sizeof(name), "%s[%zu]", key, i);
        status = nacre_loss_add(losses, name, rules->items[i].place, err, "'%s'%s",
                                nacre_text_show(shown, sizeof(shown), text, length),
                                names_only ? "; give --env to each run" : "");
    }
    return status;
}

/* Who adds a member has to say here how it is lost. */
_Static_assert(sizeof(struct nacre_container_rules) ==
                   8 * sizeof(struct nacre_rule) + 5 * sizeof(struct nacre_rules) +
                       (sizeof(struct nacre_flag) + 7) / 8 * 8 +
                       6 * sizeof(struct nacre_limit),
               "a setting of containers that is not reported as lost");

#define MEMBER(name) "container." #name, offsetof(struct nacre_container_rules, name)

static enum nacre_status lose_texts(const struct nacre_container_rules *container,
                                    struct nacre_losses *losses, struct nacre_error *err)
{
    static const struct {
        const char *key;
        size_t offset;
        const char *instead;
    } texts[] = {
        { MEMBER(image), "; give --image to each run" },
        { MEMBER(workdir), "; give --directory to each run" },
        { MEMBER(user), "" },
        { MEMBER(seccomp_profile), "" },
        { MEMBER(apparmor_profile), "" },
        { MEMBER(selinux_label), "" },
        { MEMBER(setup_command), "" },
        { MEMBER(cpuset), "" },
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(texts) && status == NACRE_OK; i++) {
        const struct nacre_rule *rule =
            (const void *)((const char *)container + texts[i].offset);
        char shown[NACRE_SHOWN];

        if (rule->text)
            status = nacre_loss_add(losses, texts[i].key, rule->place, err, "'%s'%s",
                                    nacre_text_shown(shown, rule->text),
                                    texts[i].instead);
    }
    return status;
}

static enum nacre_status lose_limits(const struct nacre_container_rules *container,
                                     struct nacre_losses *losses,
                                     struct nacre_error *err)
{
    static const struct {
        const char *key;
        size_t offset;
    } limits[] = {
        { MEMBER(memory_swap) }, { MEMBER(memory_reservation) },
        { MEMBER(cpus_nano) },   { MEMBER(disk_bytes) },
        { MEMBER(disk_iops) },   { MEMBER(disk_io_weight) },
    };
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < NACRE_COUNT(limits) && status == NACRE_OK; i++) {
        const struct nacre_limit *limit =
            (const void *)((const char *)container + limits[i].offset);

        if (limit->place.line > 0 || limit->value > 0)
            status = nacre_loss_add(losses, limits[i].key, limit->place, err, "%ju",
                                    (uintmax_t)limit->value);
    }
    return status;
}

enum nacre_status nacre_losses_of_policy(const struct nacre_policy *policy,
                                         struct nacre_losses *losses,
                                         struct nacre_error *err)
{
    const struct nacre_container_rules *container = &policy->container;
    const struct {
        const char *key;
        const struct nacre_rules *rules;
        bool names_only;
    } lists[] = {
        { "container.tmpfs", &container->tmpfs, false },
        { "container.keep_capabilities", &container->keep_capabilities, false },
        { "container.blocked_syscalls", &container->blocked_syscalls, false },
        { "container.environment", &container->environment, true },
        { "container.ulimits", &container->ulimits, false },
        { "network.resolvers", &policy->network.resolvers, false },
        { "network.fixed_hosts", &policy->network.fixed_hosts, false },
    };
    enum nacre_status status = lose_texts(container, losses, err);

    if (status == NACRE_OK)
        status = lose_limits(container, losses, err);
    if (status == NACRE_OK && container->read_only_root.place.line > 0)
        status = nacre_loss_add(losses, "container.read_only_root",
                                container->read_only_root.place, err, "%s",
                                container->read_only_root.on ? "true" : "false");
    if (status == NACRE_OK && policy->filesystem.denied_inside &&
        policy->filesystem.denied_paths.count > 0)
        status = nacre_loss_add(losses, "filesystem.denied_inside",
                                policy->filesystem.denied_paths.place, err,
                                "in CKP denied_paths are names of the host as well: more "
                                "is denied");
    for (size_t i = 0; i < NACRE_COUNT(lists) && status == NACRE_OK; i++)
        status =
            lose_rules(lists[i].key, lists[i].rules, lists[i].names_only, losses, err);
    if (status == NACRE_OK && policy->user_namespaces)
        status = nacre_loss_add(losses, "container.user_namespaces", policy->level_place,
                                err, "a browser's policy: no other may have them");
    return status;
}
