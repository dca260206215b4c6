/*
 * OpenClaw's config.yml: everything is under `sandbox`, the rest of the file is not ours.
 * The document is untrusted.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claw.h"
#include "entries.h"
#include "nacre/text.h"

/* The draft comes first, so that the rows of every dialect fit. */
struct yml {
    struct nacre_config_draft draft;
    struct nacre_flag enabled, writable_tmpfs;
    struct nacre_limit tmpfs_size;
    unsigned policy; /* 1: deny-by-default, 2: allow-by-default */
    struct nacre_place policy_place;
};

#define YML_FLAG(key, member) \
    .name = key, .type = NACRE_SCHEMA_FLAG, .offset = offsetof(struct yml, member)

/* ---- without effect ---- */

static enum nacre_status note(void *target, const struct nacre_reading *at,
                              const struct nacre_node *node, const char *why,
                              struct nacre_error *err)
{
    struct yml *yml = target;

    return nacre_config_note(yml->draft.config, node->key_place, false, err, "%s: %s",
                             at->where, why);
}

static enum nacre_status note_drop(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    size_t index = 0;

    for (const struct nacre_node *one = node->first; one; one = one->next) {
        struct nacre_reading entry = nacre_reading_entry(at, index++);
        enum nacre_status status = nacre_schema_want_text(&entry, one, err);

        if (status != NACRE_OK)
            return status;
    }
    return note(target, at, node,
                "adds nothing, every capability is dropped but those of "
                "keep_capabilities",
                err);
}

static enum nacre_status want_flag(const struct nacre_reading *at,
                                   const struct nacre_node *node, struct nacre_error *err)
{
    return node->kind == NACRE_NODE_BOOLEAN
               ? NACRE_OK
               : nacre_schema_fail_type(at, node, "true or false", err);
}

static enum nacre_status note_recording(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    enum nacre_status status = want_flag(at, node, err);

    return status == NACRE_OK
               ? note(target, at, node, "without effect, nacre always records", err)
               : status;
}

static enum nacre_status note_capture(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    enum nacre_status status = want_flag(at, node, err);

    return status == NACRE_OK
               ? note(target, at, node,
                      "without effect, the caller gets the output and the audit log "
                      "never holds it",
                      err)
               : status;
}

static enum nacre_status note_level(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    static const char *const words[] = { "debug", "info", "warn", "warning", "error" };
    size_t index;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    return status == NACRE_OK
               ? note(target, at, node, "without effect, nacre always records all", err)
               : status;
}

/* ---- one value ---- */

static enum nacre_status set_engine(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    if (strcmp(node->text, "docker") == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, node->place, err,
                              "%s: '%s' is refused: the only engine is docker", at->where,
                              nacre_text_shown(shown, node->text));
}

static enum nacre_status set_seccomp(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct yml *yml = target;
    struct nacre_rule *rule = &yml->draft.rules.box.container.seccomp_profile;

    rule->place = node->place;
    if (strcmp(node->text, "default") == 0)
        return nacre_schema_copy("docker-default", &rule->text, err);
    return nacre_entry_text(at, node, &rule->text, err);
}

/* "0-1,3": numbers and ranges that go up. */
static bool is_cpuset(const char *text)
{
    unsigned long first, last;
    char *end;

    do {
        if (*text < '0' || *text > '9')
            return false;
        first = last = strtoul(text, &end, 10);
        if (*end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoul(end + 1, &end, 10);
        if (last < first)
            return false;
        text = end + 1;
    } while (*end == ',');
    return *end == '\0';
}

/* "0" may stand there as a number. */
static enum nacre_status set_cpuset(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct yml *yml = target;
    struct nacre_rule *rule = &yml->draft.rules.box.container.cpuset;

    if ((node->kind != NACRE_NODE_TEXT && node->kind != NACRE_NODE_NUMBER) ||
        !is_cpuset(node->text))
        return nacre_schema_fail_type(at, node, "a list of processors like \"0-1,3\"",
                                      err);
    rule->place = node->place;
    return nacre_schema_copy(node->text, &rule->text, err);
}

/* ---- mounts ---- */

static enum nacre_status set_source(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_bind_rule *bind = target;

    bind->place = node->place;
    return nacre_bind_host(at, node->place, node->text, &bind->host, err);
}

static enum nacre_status set_target(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_bind_rule *bind = target;

    return nacre_bind_guest(at, node->place, node->text, &bind->guest, err);
}

/* Not said is ro: nobody asked for more. */
static enum nacre_status set_mode(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    static const char *const words[] = { "ro", "rw" };
    struct nacre_bind_rule *bind = target;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(at, node, words,
                                                        NACRE_COUNT(words), &index, err);

    bind->writable = index == 1;
    return status;
}

static const struct nacre_schema_key mount_keys[] = {
    { NACRE_ROW_SET("source", TEXT, set_source), .required = true,
      .example = "source: /srv/data" },
    { NACRE_ROW_SET("target", TEXT, set_target), .required = true,
      .example = "target: /data" },
    { NACRE_ROW_SET("mode", ANY, set_mode) },
};
static const struct nacre_schema mount_schema = NACRE_SCHEMA_OF(mount_keys);

/* What is mounted for writing where nacre has the workspace is the workspace. */
static bool take_workspace(struct yml *yml, struct nacre_bind_rule *bind)
{
    struct nacre_agent_rules *rules = &yml->draft.rules;

    if (strcmp(bind->guest, "/workspace") != 0 || !bind->writable ||
        rules->workspace.text)
        return false;
    rules->workspace = (struct nacre_rule){ .text = bind->host, .place = bind->place };
    rules->box.access = NACRE_ACCESS_RW;
    rules->box.access_place = bind->place;
    free(bind->guest);
    return true;
}

static enum nacre_status set_mounts(const struct nacre_reading *at,
                                    const struct nacre_node *list, void *target,
                                    struct nacre_error *err)
{
    struct yml *yml = target;
    struct nacre_bind_rules *binds = &yml->draft.rules.box.binds;
    size_t index = 0;

    binds->place = list->key_place;
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        struct nacre_reading entry = nacre_reading_entry(at, index++);
        struct nacre_bind_rule bind = { .writable = false };
        enum nacre_status status =
            nacre_schema_read(&mount_schema, &entry, node, &bind, err);

        if (status != NACRE_OK) {
            free(bind.host);
            free(bind.guest);
            return status;
        }
        if (!take_workspace(yml, &bind))
            status = nacre_bind_rules_add(&entry, binds, &bind, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* ---- the tables ---- */

#define COUNT_ROW(key, member, least, most, words) \
    NACRE_ROW_AMOUNT(key, member, nacre_unit_count, least, most, words)

static const struct nacre_schema_key limit_keys[] = {
    { NACRE_ROW_BYTES("memory", rules.box.memory_bytes) },
    { NACRE_ROW_BYTES("memory_swap", rules.box.container.memory_swap) },
    { NACRE_ROW_BYTES("memory_reservation", rules.box.container.memory_reservation) },
    { NACRE_ROW_CPUS("cpus", rules.box.container.cpus_nano) },
    { COUNT_ROW("cpu_shares", rules.box.cpu_shares, 2, 262144,
                "a whole number from 2 to 262144") },
    { NACRE_ROW_SET("cpuset", ANY, set_cpuset) },
    { NACRE_ROW_AMOUNT("disk", rules.box.container.disk_bytes, nacre_unit_bytes,
                       NACRE_MEMORY_MIN, (uint64_t)1 << 50,
                       "an amount of bytes from 1m to 1p, like 10g") },
    { COUNT_ROW("disk_iops", rules.box.container.disk_iops, 1, 1000000000,
                "a whole number from 1 to 1000000000") },
    { COUNT_ROW("disk_io_weight", rules.box.container.disk_io_weight, 10, 1000,
                "a whole number from 10 to 1000") },
};
static const struct nacre_schema limit_schema = NACRE_SCHEMA_OF(limit_keys);

static const struct nacre_schema_key logging_keys[] = {
    { NACRE_ROW_SET("enabled", ANY, note_recording) },
    { NACRE_ROW_SET("level", ANY, note_level) },
    { NACRE_ROW_SET("capture_stdout", ANY, note_capture) },
    { NACRE_ROW_SET("capture_stderr", ANY, note_capture) },
    { NACRE_ROW_AMOUNT("max_output_size", rules.box.output_bytes, nacre_unit_bytes, 1,
                       (uint64_t)1 << 30, "an amount of bytes up to 1g, like 10m") },
    { NACRE_ROW_SET("audit_trail", ANY, note_recording) },
};
static const struct nacre_schema logging_schema = NACRE_SCHEMA_OF(logging_keys);

static const char *const policy_words[] = { "deny-by-default", "allow-by-default" };

static const struct nacre_schema_key sandbox_keys[] = {
    { YML_FLAG("enabled", enabled) },
    { NACRE_ROW_SET("engine", TEXT, set_engine) },
    { NACRE_ROW_RULE("default_image", rules.box.container.image) },
    { NACRE_ROW_TIMEOUT("timeout", rules.box.timeout_ms) },
    { .name = "network_policy",
      .type = NACRE_SCHEMA_WORD,
      .offset = offsetof(struct yml, policy),
      .place_offset = offsetof(struct yml, policy_place),
      .words = policy_words,
      .word_count = NACRE_COUNT(policy_words) },
    { NACRE_ROW_RULES("allowed_hosts", rules.box.allowed_hosts, nacre_entry_host) },
    { NACRE_ROW_RULES("denied_hosts", rules.box.denied_hosts, nacre_entry_host) },
    { NACRE_ROW_SET("drop_capabilities", LIST, note_drop) },
    { NACRE_ROW_RULES("keep_capabilities", rules.box.container.keep_capabilities,
                      nacre_entry_text) },
    { NACRE_ROW_SET("mounts", LIST, set_mounts) },
    { NACRE_ROW_RULES("blocked_paths", rules.box.denied_paths, nacre_entry_denied_path) },
    { NACRE_ROW_RULE("selinux_label", rules.box.container.selinux_label) },
    { NACRE_ROW_RULE("apparmor_profile", rules.box.container.apparmor_profile) },
    { NACRE_ROW_FLAG("readonly_root", rules.box.container.read_only_root) },
    { YML_FLAG("writable_tmpfs", writable_tmpfs) },
    { .name = "tmpfs_size",
      .type = NACRE_SCHEMA_AMOUNT,
      .offset = offsetof(struct yml, tmpfs_size),
      .unit = nacre_unit_bytes,
      .min = 4096,
      .max = NACRE_MEMORY_MAX,
      .example = "an amount of bytes from 4k to 1t, like 64m" },
    { NACRE_ROW_SET("seccomp_profile", TEXT, set_seccomp) },
    { NACRE_ROW_RULES("blocked_syscalls", rules.box.container.blocked_syscalls,
                      nacre_entry_syscall) },
    { NACRE_ROW_SECTION("resource_limits", limit_schema) },
    { NACRE_ROW_SECTION("logging", logging_schema) },
};
static const struct nacre_schema sandbox_schema = NACRE_SCHEMA_OF(sandbox_keys);

static enum nacre_status enter_sandbox(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct yml *yml = target;

    (void)at, (void)err;
    yml->draft.rules.box.place = node->key_place;
    return NACRE_OK;
}

static const char *const no_likeness[] = { NULL };
static const struct nacre_schema_key root_keys[] = {
    { NACRE_ROW_SECTION("sandbox", sandbox_schema), .set = enter_sandbox },
};
const struct nacre_schema nacre_config_yml_schema = { .keys = root_keys,
                                                      .count = NACRE_COUNT(root_keys),
                                                      .foreign = no_likeness };

/* ---- what several keys say together ---- */

static enum nacre_status settle_network(struct yml *yml, struct nacre_error *err)
{
    struct nacre_box_rules *box = &yml->draft.rules.box;
    bool listed = box->allowed_hosts.count > 0;

    if (yml->policy == 2) {
        box->network = NACRE_NETWORK_ALLOW_ALL;
        box->network_place = yml->policy_place;
        if (listed)
            return nacre_config_note(yml->draft.config, box->allowed_hosts.place, false,
                                     err,
                                     "sandbox.allowed_hosts: adds nothing, "
                                     "allow-by-default allows every host that is not "
                                     "denied");
        return NACRE_OK;
    }
    box->network = listed ? NACRE_NETWORK_ALLOWLIST : NACRE_NETWORK_DENY;
    box->network_place = yml->policy == 1 ? yml->policy_place
                         : listed         ? box->allowed_hosts.place
                                          : (struct nacre_place){ .line = 0 };
    if (!listed && box->denied_hosts.count > 0)
        return nacre_config_note(yml->draft.config, box->denied_hosts.place, false, err,
                                 "sandbox.denied_hosts: adds nothing, no host is "
                                 "allowed");
    return NACRE_OK;
}

/* A mount at /tmp wins over the tmpfs. */
static enum nacre_status settle_tmpfs(struct yml *yml, struct nacre_error *err)
{
    struct nacre_box_rules *box = &yml->draft.rules.box;
    struct nacre_rules *tmpfs = &box->container.tmpfs;
    struct nacre_place place = yml->tmpfs_size.place.line > 0 ? yml->tmpfs_size.place
                                                             : yml->writable_tmpfs.place;
    char text[64] = "/tmp";
    enum nacre_status status;

    if (place.line == 0)
        return NACRE_OK;
    for (size_t i = 0; i < box->binds.count; i++)
        if (strcmp(box->binds.items[i].guest, "/tmp") == 0)
            return nacre_config_note(yml->draft.config, place, false, err,
                                     "sandbox: the mount at /tmp, line %d, wins over the "
                                     "tmpfs there",
                                     box->binds.items[i].place.line);
    if (yml->writable_tmpfs.place.line > 0 && !yml->writable_tmpfs.on) {
        status = nacre_config_note(yml->draft.config, yml->writable_tmpfs.place, false,
                                   err, "sandbox.writable_tmpfs: without effect, there "
                                        "is always a small tmpfs at /tmp");
        if (status != NACRE_OK || yml->tmpfs_size.place.line == 0)
            return status;
    }
    if (yml->tmpfs_size.place.line > 0)
        (void)snprintf(text, sizeof(text), "/tmp:size=%" PRIu64 ",mode=1777",
                       yml->tmpfs_size.value);
    tmpfs->items = calloc(1, sizeof(*tmpfs->items));
    if (!tmpfs->items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    tmpfs->count = 1;
    tmpfs->place = tmpfs->items[0].place = place;
    return nacre_schema_copy(text, &tmpfs->items[0].text, err);
}

static void clear(struct yml *yml)
{
    nacre_config_draft_clear(&yml->draft);
}

enum nacre_status nacre_config_yml_read(const struct nacre_node *root,
                                        struct nacre_config *config,
                                        struct nacre_error *err)
{
    NACRE_AUTO(clear) struct yml yml = { .draft.config = config };
    struct nacre_box_rules *box = &yml.draft.rules.box;
    struct nacre_reading at = { .source = config->source };
    enum nacre_status status =
        nacre_schema_read(&nacre_config_yml_schema, &at, root, &yml, err);

    if (status == NACRE_OK)
        status = settle_network(&yml, err);
    if (status == NACRE_OK)
        status = settle_tmpfs(&yml, err);
    if (status != NACRE_OK)
        return status;
    if (yml.enabled.place.line > 0) {
        box->mode = yml.enabled.on ? NACRE_MODE_ALL : NACRE_MODE_OFF;
        box->mode_place = yml.enabled.place;
    }
    return nacre_config_add(config, &yml.draft.rules, err);
}
