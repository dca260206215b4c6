/* Plans and answers as JSON.  jansson's "_new" setters take their value over, NULL too,
 * and then fail: so one check of all of them together is enough. */
#include <jansson.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/render.h"
#include "nacre/text.h"
#include "walls.h"

static void json_guard(json_t **owned)
{
    json_decref(*owned);
}

static json_t *json_take(json_t **owned)
{
    json_t *taken = *owned;

    *owned = NULL;
    return taken;
}

/* Names from outside need not be UTF-8, and JSON must be. */
static json_t *name_or_null(const char *name)
{
    char shown[4 * NACRE_PATH_MAX];

    if (!name)
        return json_null();
    if (nacre_text_is_utf8(name, strlen(name)))
        return json_string(name);
    return json_string(nacre_text_show(shown, sizeof(shown), name, strlen(name)));
}

static json_t *digest_text(const struct nacre_digest *digest)
{
    char hex[NACRE_HEX];

    return json_string(nacre_digest_hex(digest, hex));
}

/* A counter that is too big for JSON's integers can't come from a policy. */
static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static bool set_place(json_t *object, const struct nacre_policy *policy,
                      struct nacre_place place)
{
    bool said = place.line > 0;
    int bad = json_object_set_new(object, "file",
                                  said ? name_or_null(policy->source) : json_null());

    bad |= json_object_set_new(object, "line",
                               said ? json_integer(place.line) : json_null());
    bad |= json_object_set_new(object, "column",
                               said ? json_integer(place.column) : json_null());
    return bad == 0;
}

static json_t *policy_json(const struct nacre_policy *policy)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = json_object_set_new(object, "name", name_or_null(policy->name));

    bad |= json_object_set_new(object, "version", name_or_null(policy->version));
    bad |= json_object_set_new(object, "source", name_or_null(policy->source));
    bad |= json_object_set_new(object, "digest", digest_text(&policy->digest));
    return bad ? NULL : json_take(&object);
}

static json_t *names_json(char *const *names, uint32_t count)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint32_t i = 0; i < count; i++)
        bad |= json_array_append_new(array, name_or_null(names[i]));
    return bad ? NULL : json_take(&array);
}

static json_t *features_json(uint64_t features)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint64_t bit = 1; bit != 0 && bit <= features; bit <<= 1)
        if (features & bit)
            bad |= json_array_append_new(
                array, json_string(nacre_feature_name((enum nacre_feature)bit)));
    return bad ? NULL : json_take(&array);
}

static json_t *mount_json(const struct nacre_mount *mount)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    bool said = mount->place.line > 0;
    int bad = json_object_set_new(object, "guest", name_or_null(mount->guest));

    bad |= json_object_set_new(object, "host", name_or_null(mount->host));
    bad |= json_object_set_new(object, "own", json_boolean(mount->own));
    bad |= json_object_set_new(object, "writable", json_boolean(mount->writable));
    bad |= json_object_set_new(object, "denied",
                               names_json(mount->denied, mount->denied_count));
    bad |= json_object_set_new(object, "covered",
                               names_json(mount->covered, mount->covered_count));
    bad |= json_object_set_new(object, "line",
                               said ? json_integer(mount->place.line) : json_null());
    bad |= json_object_set_new(object, "column",
                               said ? json_integer(mount->place.column) : json_null());
    return bad ? NULL : json_take(&object);
}

static json_t *mounts_json(const struct nacre_plan *plan)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint32_t i = 0; i < plan->mount_count; i++)
        bad |= json_array_append_new(array, mount_json(&plan->mounts[i]));
    return bad ? NULL : json_take(&array);
}

static json_t *limits_json(const struct nacre_limits *limits)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        { "memory_bytes_max", limits->memory_bytes_max },
        { "wall_ms_max", limits->wall_ms_max },
        { "open_files_max", limits->open_files_max },
        { "output_bytes_max", limits->output_bytes_max },
        { "processes_max", limits->processes_max },
        { "fuel_max", limits->fuel_max },
        { "scratch_bytes_max", limits->scratch_bytes_max },
        { "scratch_files_max", limits->scratch_files_max },
    };
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = json_object_set_new(object, "fuel_exact", json_boolean(limits->fuel_exact));

    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        bad |= json_object_set_new(object, rows[i].name, number(rows[i].value));
    bad |= json_object_set_new(object, "cpu_shares",
                               limits->cpu_shares ? number(limits->cpu_shares)
                                                  : json_null());
    return bad ? NULL : json_take(&object);
}

static json_t *decision_json(const struct nacre_policy *policy,
                             const struct nacre_decision *decision)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    struct nacre_decision spelt = *decision;
    int bad;

    nacre_policy_spell(policy, spelt.rule, spelt.fix, sizeof(spelt.fix));
    bad = json_object_set_new(object, "rule", json_string(spelt.rule));
    bad |= json_object_set_new(object, "verdict",
                               json_string(nacre_verdict_name(decision->verdict)));
    bad |= set_place(object, policy, decision->place) ? 0 : -1;
    bad |= json_object_set_new(object, "what", json_string(decision->what));
    bad |= json_object_set_new(object, "mechanism", json_string(decision->mechanism));
    bad |= json_object_set_new(object, "fix", json_string(spelt.fix));
    return bad ? NULL : json_take(&object);
}

static json_t *decisions_json(const struct nacre_policy *policy,
                              const struct nacre_plan *plan)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint32_t i = 0; i < plan->decision_count; i++)
        bad |= json_array_append_new(array, decision_json(policy, &plan->decisions[i]));
    return bad ? NULL : json_take(&array);
}

static json_t *wall_json(const struct nacre_mechanism *wall)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = json_object_set_new(object, "name", json_string(wall->name));

    bad |= json_object_set_new(object, "present", json_boolean(wall->present));
    bad |= json_object_set_new(object, "detail", json_string(wall->detail));
    return bad ? NULL : json_take(&object);
}

static json_t *executor_json(const struct nacre_plan *plan,
                             const struct nacre_executor *executor)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    NACRE_AUTO(json_guard) json_t *walls = json_array();
    int bad = json_object_set_new(object, "name", json_string(executor->ops->name));

    for (uint32_t i = 0; i < executor->mechanism_count; i++)
        bad |= json_array_append_new(walls, wall_json(&executor->mechanisms[i]));
    bad |= json_object_set_new(
        object, "lacks",
        features_json(plan->required & ~executor->features & ~plan->waivable));
    bad |= json_object_set_new(object, "walls", json_take(&walls));
    return bad ? NULL : json_take(&object);
}

static json_t *scope_json(const struct nacre_plan *plan)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = json_object_set_new(object, "name",
                                  plan->scope == NACRE_SCOPE_UNSET
                                      ? json_null()
                                      : json_string(nacre_scope_name(plan->scope)));

    bad |= json_object_set_new(object, "key", name_or_null(plan->scope_key));
    return bad ? NULL : json_take(&object);
}

/* As --waive takes them. */
static json_t *waived_json(uint64_t waived)
{
    NACRE_AUTO(json_guard) json_t *array = json_array();
    int bad = array ? 0 : -1;

    for (uint64_t bit = 1; bit != 0 && bit <= waived; bit <<= 1)
        if (waived & bit)
            bad |= json_array_append_new(
                array, json_string(nacre_waiver_name((enum nacre_feature)bit)));
    return bad ? NULL : json_take(&array);
}

static json_t *list_json(char *const *texts)
{
    uint32_t count = 0;

    while (texts && texts[count])
        count++;
    return names_json(texts, count);
}

static json_t *container_json(const struct nacre_container *container)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        { "image", container->image },
        { "workdir", container->workdir },
        { "user", container->user },
        { "seccomp_profile", container->seccomp_profile },
        { "apparmor_profile", container->apparmor_profile },
        { "selinux_label", container->selinux_label },
        { "setup_command", container->setup_command },
        { "cpuset", container->cpuset },
    };
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        { "memory_swap_bytes", container->memory_swap_bytes },
        { "memory_reservation_bytes", container->memory_reservation_bytes },
        { "cpus_nano", container->cpus_nano },
        { "disk_bytes", container->disk_bytes },
        { "disk_iops", container->disk_iops },
        { "disk_io_weight", container->disk_io_weight },
    };
    const struct {
        const char *name;
        char *const *list;
    } lists[] = {
        { "tmpfs", container->tmpfs },
        { "keep_capabilities", container->keep_capabilities },
        { "blocked_syscalls", container->blocked_syscalls },
        { "environment", container->environment },
        { "ulimits", container->ulimits },
    };
    NACRE_AUTO(json_guard) json_t *object = json_object();
    int bad = json_object_set_new(object, "read_only_root",
                                  json_boolean(container->read_only_root));

    bad |= json_object_set_new(object, "user_namespaces",
                               json_boolean(container->user_namespaces));
    for (size_t i = 0; i < NACRE_COUNT(texts); i++)
        bad |= json_object_set_new(object, texts[i].name, name_or_null(texts[i].text));
    for (size_t i = 0; i < NACRE_COUNT(numbers); i++)
        bad |= json_object_set_new(object, numbers[i].name, number(numbers[i].value));
    for (size_t i = 0; i < NACRE_COUNT(lists); i++)
        bad |= json_object_set_new(object, lists[i].name, list_json(lists[i].list));
    return bad ? NULL : json_take(&object);
}

json_t *nacre_plan_json(const struct nacre_policy *policy, const struct nacre_plan *plan,
                        const struct nacre_executor *executor)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    uint64_t lacks = executor ? plan->required & ~executor->features : 0;
    bool runnable = !(lacks & ~plan->waivable);
    int bad = json_object_set_new(object, "policy", policy_json(policy));

    for (uint32_t i = 0; i < plan->decision_count; i++)
        runnable &= plan->decisions[i].verdict != NACRE_VERDICT_REFUSE;
    bad |= json_object_set_new(object, "level",
                               json_string(nacre_level_name(plan->level)));
    bad |= json_object_set_new(object, "runtime",
                               json_string(nacre_runtime_name(plan->runtime)));
    bad |= json_object_set_new(object, "runnable", json_boolean(runnable));
    bad |= json_object_set_new(object, "digest", digest_text(&plan->digest));
    bad |= json_object_set_new(object, "full_tree", json_boolean(plan->full_tree));
    bad |= json_object_set_new(object, "mounts", mounts_json(plan));
    bad |= json_object_set_new(object, "limits", limits_json(&plan->limits));
    bad |= json_object_set_new(object, "required", features_json(plan->required));
    bad |= json_object_set_new(object, "directory", name_or_null(plan->directory));
    bad |= json_object_set_new(object, "scope", scope_json(plan));
    bad |= json_object_set_new(object, "container",
                               nacre_level_has_image(plan->level)
                                   ? container_json(&plan->container)
                                   : json_null());
    bad |= json_object_set_new(object, "unsandboxed",
                               json_boolean(plan->level == NACRE_LEVEL_NONE));
    bad |= json_object_set_new(object, "waived", waived_json(lacks & plan->waivable));
    bad |= json_object_set_new(object, "degraded",
                               json_boolean(lacks & plan->waivable));
    bad |= json_object_set_new(object, "decisions", decisions_json(policy, plan));
    if (executor)
        bad |= json_object_set_new(object, "executor", executor_json(plan, executor));
    return bad ? NULL : json_take(&object);
}

json_t *nacre_answer_json(const struct nacre_policy *policy, const char *question,
                          const struct nacre_answer *answer)
{
    NACRE_AUTO(json_guard) json_t *object = json_object();
    struct nacre_answer spelt = *answer;
    int bad = json_object_set_new(object, "question", name_or_null(question));

    nacre_policy_spell(policy, spelt.rule, spelt.fix, sizeof(spelt.fix));
    bad |= json_object_set_new(object, "allowed", json_boolean(answer->allowed));
    if (answer->is_path) {
        bad |= json_object_set_new(object, "read", json_boolean(answer->read));
        bad |= json_object_set_new(object, "write", json_boolean(answer->write));
    }
    bad |= json_object_set_new(object, "rule", json_string(spelt.rule));
    bad |= set_place(object, policy, answer->place) ? 0 : -1;
    bad |= json_object_set_new(object, "text", json_string(answer->text));
    bad |= json_object_set_new(object, "fix", json_string(spelt.fix));
    return bad ? NULL : json_take(&object);
}
