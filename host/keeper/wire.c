/*
 * Reads what came through the keeper's socket, by way of fields.c.  What is read is
 * judged by what an executor takes for granted of a plan that was made in its process.
 */
#include "wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "nacre/leak.h"

#define MOUNTS_MAX 4096
#define EGRESS_BYTES_MAX ((size_t)4 << 20)

/* ---- plans ---- */

static const struct field plan_fields[] = {
    FIELD(nacre_plan, level, NUMBER),
    FIELD(nacre_plan, runtime, NUMBER),
    FIELD(nacre_plan, full_tree, BOOL),
    FIELD(nacre_plan, own_tmp, BOOL),
    FIELD(nacre_plan, tmp_writable, BOOL),
    FIELD(nacre_plan, shared_memory, BOOL),
    FIELD(nacre_plan, required, U64),
    FIELD(nacre_plan, waivable, U64),
    FIELD(nacre_plan, directory, TEXT),
    FIELD(nacre_plan, scope, NUMBER),
    FIELD(nacre_plan, scope_key, TEXT),
    FIELD(nacre_plan, injection, NUMBER),
    FIELD(nacre_plan, leak_scan, BOOL),
    FIELD(nacre_plan, leak_patterns, NUMBER),
    NAMES(nacre_plan, denied_host_paths, denied_host_count),
    NAMES(nacre_plan, denied_root, denied_root_count),
};

static const struct field limit_fields[] = {
    FIELD(nacre_limits, memory_bytes_max, U64),
    FIELD(nacre_limits, memory_asked, BOOL),
    FIELD(nacre_limits, wall_ms_max, U64),
    FIELD(nacre_limits, open_files_max, U64),
    FIELD(nacre_limits, output_bytes_max, U64),
    FIELD(nacre_limits, cpu_shares, U64),
    FIELD(nacre_limits, processes_max, U64),
    FIELD(nacre_limits, processes_asked, BOOL),
    FIELD(nacre_limits, fuel_max, U64),
    FIELD(nacre_limits, fuel_exact, BOOL),
    FIELD(nacre_limits, scratch_bytes_max, U64),
    FIELD(nacre_limits, scratch_files_max, U64),
};

static const struct field mount_fields[] = {
    FIELD(nacre_mount, guest, TEXT),
    FIELD(nacre_mount, host, TEXT),
    FIELD(nacre_mount, own, BOOL),
    FIELD(nacre_mount, writable, BOOL),
    NAMES(nacre_mount, denied, denied_count),
    NAMES(nacre_mount, covered, covered_count),
};

static const struct field container_fields[] = {
    FIELD(nacre_container, image, TEXT),
    FIELD(nacre_container, workdir, TEXT),
    FIELD(nacre_container, user, TEXT),
    FIELD(nacre_container, seccomp_profile, TEXT),
    FIELD(nacre_container, apparmor_profile, TEXT),
    FIELD(nacre_container, selinux_label, TEXT),
    FIELD(nacre_container, setup_command, TEXT),
    FIELD(nacre_container, cpuset, TEXT),
    FIELD(nacre_container, tmpfs, LIST),
    FIELD(nacre_container, keep_capabilities, LIST),
    FIELD(nacre_container, blocked_syscalls, LIST),
    FIELD(nacre_container, environment, LIST),
    FIELD(nacre_container, ulimits, LIST),
    FIELD(nacre_container, read_only_root, BOOL),
    FIELD(nacre_container, user_namespaces, BOOL),
    FIELD(nacre_container, memory_swap_bytes, U64),
    FIELD(nacre_container, memory_reservation_bytes, U64),
    FIELD(nacre_container, cpus_nano, U64),
    FIELD(nacre_container, disk_bytes, U64),
    FIELD(nacre_container, disk_iops, U64),
    FIELD(nacre_container, disk_io_weight, U64),
};

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *write_mounts(const struct nacre_plan *plan)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < plan->mount_count; i++)
        if (json_array_append_new(array, fields_write(&plan->mounts[i], mount_fields,
                                                      NACRE_COUNT(mount_fields))) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* By its own writer, as a text: one reader for the door and for the keeper. */
static json_t *write_egress(const struct nacre_egress *egress)
{
    struct nacre_buf text = NACRE_BUF(EGRESS_BYTES_MAX);
    struct nacre_error err;
    json_t *json = NULL;

    if (nacre_egress_write(egress, &text, &err) == NACRE_OK)
        json = json_stringn(text.bytes, text.size);
    nacre_buf_clear(&text);
    return json;
}

json_t *nacre_wire_plan(const struct nacre_plan *plan)
{
    json_t *json = fields_write(plan, plan_fields, NACRE_COUNT(plan_fields));
    char hex[NACRE_HEX];

    assert(plan->sealed);
    if (json &&
        put(json, "digest", json_string(nacre_digest_hex(&plan->digest, hex))) &&
        put(json, "limits",
            fields_write(&plan->limits, limit_fields, NACRE_COUNT(limit_fields))) &&
        put(json, "container",
            fields_write(&plan->container, container_fields,
                         NACRE_COUNT(container_fields))) &&
        put(json, "egress", write_egress(&plan->egress)) &&
        put(json, "mounts", write_mounts(plan)))
        return json;
    json_decref(json);
    return NULL;
}

static enum nacre_status read_mounts(const json_t *json, struct nacre_plan *plan,
                                     struct nacre_error *err)
{
    size_t count = json_array_size(json);

    if (!json_is_array(json) || count > MOUNTS_MAX)
        return fields_wrong("mounts", err);
    plan->mounts = calloc(count + 1, sizeof(*plan->mounts));
    if (!plan->mounts)
        return fields_no_memory(err);
    while (plan->mount_count < count) {
        struct nacre_mount *mount = &plan->mounts[plan->mount_count];
        enum nacre_status status =
            fields_read(json_array_get(json, plan->mount_count), mount, mount_fields,
                        NACRE_COUNT(mount_fields), 0, err);

        plan->mount_count++;
        if (status != NACRE_OK)
            return status;
        if (!mount->guest)
            return fields_wrong("mounts", err);
    }
    return NACRE_OK;
}

static enum nacre_status read_egress(const json_t *json, struct nacre_egress *ret_egress,
                                     struct nacre_error *err)
{
    if (!json_is_string(json))
        return fields_wrong("egress", err);
    return nacre_egress_read(json_string_value(json), json_string_length(json),
                             ret_egress, err);
}

/* What an executor takes for granted of a plan that was made here. */
static bool is_plausible(const struct nacre_plan *plan)
{
    const struct nacre_container *container = &plan->container;

    return plan->level > NACRE_LEVEL_UNSET && plan->level < NACRE_LEVEL_COUNT &&
           plan->runtime > NACRE_RUNTIME_UNSET && plan->runtime < NACRE_RUNTIME_COUNT &&
           plan->scope < NACRE_SCOPE_COUNT && plan->directory &&
           plan->injection < NACRE_INJECTION_COUNT &&
           plan->leak_patterns <= NACRE_LEAK_PATTERNS &&
           plan->limits.wall_ms_max > 0 && plan->limits.output_bytes_max > 0 &&
           plan->limits.open_files_max > 0 &&
           container->image && container->tmpfs &&
           container->keep_capabilities && container->blocked_syscalls &&
           container->environment && container->ulimits;
}

enum nacre_status nacre_wire_read_plan(const json_t *json, struct nacre_plan **ret_plan,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = calloc(1, sizeof(*plan));
    const char *hex = json_string_value(json_object_get(json, "digest"));
    enum nacre_status status;

    if (!plan)
        return fields_no_memory(err);
    status = fields_read(json, plan, plan_fields, NACRE_COUNT(plan_fields), 5, err);
    if (status == NACRE_OK)
        status = fields_read(json_object_get(json, "limits"), &plan->limits, limit_fields,
                             NACRE_COUNT(limit_fields), 0, err);
    if (status == NACRE_OK)
        status = fields_read(json_object_get(json, "container"), &plan->container,
                             container_fields, NACRE_COUNT(container_fields), 0, err);
    if (status == NACRE_OK)
        status = read_mounts(json_object_get(json, "mounts"), plan, err);
    if (status == NACRE_OK)
        status = read_egress(json_object_get(json, "egress"), &plan->egress, err);
    if (status == NACRE_OK && (!hex || !nacre_digest_from_hex(hex, &plan->digest)))
        status = fields_wrong("digest", err);
    if (status == NACRE_OK && !is_plausible(plan))
        status = fields_wrong("plan", err);
    if (status != NACRE_OK)
        return status;
    plan->sealed = true;
    *ret_plan = nacre_plan_take(&plan);
    return NACRE_OK;
}

/* ---- tools and requests ---- */

static const struct field tool_fields[] = {
    FIELD(nacre_tool, kind, NUMBER),
    FIELD(nacre_tool, argv, LIST),
};

json_t *nacre_wire_tool(const struct nacre_tool *tool)
{
    assert(tool->kind != NACRE_TOOL_MODULE);
    return fields_write(tool, tool_fields, NACRE_COUNT(tool_fields));
}

static bool is_shell(char *const *argv)
{
    return argv && argv[0] && strcmp(argv[0], "/bin/sh") == 0 && argv[1] &&
           strcmp(argv[1], "-c") == 0 && argv[2] && !argv[3];
}

enum nacre_status nacre_wire_read_tool(const json_t *json, struct nacre_tool **ret_tool,
                                       struct nacre_error *err)
{
    struct nacre_tool read = { 0 };
    enum nacre_status status =
        fields_read(json, &read, tool_fields, NACRE_COUNT(tool_fields), 0, err);

    if (status == NACRE_OK && read.kind == NACRE_TOOL_COMMAND && read.argv)
        status = nacre_tool_command((const char *const *)read.argv, ret_tool, err);
    else if (status == NACRE_OK && read.kind == NACRE_TOOL_SHELL &&
             is_shell(read.argv))
        status = nacre_tool_shell(read.argv[2], ret_tool, err);
    else if (status == NACRE_OK)
        status = fields_wrong("kind", err);
    fields_clear(&read, tool_fields, NACRE_COUNT(tool_fields));
    return status;
}

/* What else there is of it goes by private.h. */
static const struct field request_fields[] = {
    FIELD(nacre_request, arguments, LIST),
    FIELD(nacre_request, box_name, TEXT),
};

json_t *nacre_wire_request(const struct nacre_request *request)
{
    return fields_write(request, request_fields, NACRE_COUNT(request_fields));
}

enum nacre_status nacre_wire_read_request(const json_t *json,
                                          struct nacre_request *ret_request,
                                          struct nacre_error *err)
{
    struct nacre_request request = { .input_fd = -1 };
    enum nacre_status status =
        fields_read(json, &request, request_fields, NACRE_COUNT(request_fields), 0, err);

    if (status != NACRE_OK)
        fields_clear(&request, request_fields, NACRE_COUNT(request_fields));
    else
        *ret_request = request;
    return status;
}

void nacre_wire_request_clear(struct nacre_request *request)
{
    fields_clear(request, request_fields, NACRE_COUNT(request_fields));
    *request = (struct nacre_request){ .input_fd = -1 };
}

/* ---- results and errors ---- */

static const struct field result_fields[] = {
    FIELD(nacre_result, outcome, NUMBER),
    FIELD(nacre_result, exit_status, NUMBER),
    FIELD(nacre_result, signal, NUMBER),
    FIELD(nacre_result, output_cut, BOOL),
    FIELD(nacre_result, reason, CHARS),
    FIELD(nacre_result, denials_seen, U64),
    FIELD(nacre_result, egress_seen, U64),
    FIELD(nacre_result, leak, BOOL),
    FIELD(nacre_result, leaks.values, U64),
    FIELD(nacre_result, leaks.blocked, U64),
    FIELD(nacre_result, leaks.redacted, U64),
    FIELD(nacre_result, leaks.warned, U64),
};

static const struct field usage_fields[] = {
    FIELD(nacre_usage, memory_bytes_peak, U64),
    FIELD(nacre_usage, memory_refused, BOOL),
    FIELD(nacre_usage, processes_refused, BOOL),
    FIELD(nacre_usage, cpu_ns, U64),
    FIELD(nacre_usage, bytes_read, U64),
    FIELD(nacre_usage, bytes_written, U64),
    FIELD(nacre_usage, files_opened, U64),
};

/* What the run was refused, and what it sent. */
static const struct field denial_fields[] = {
    FIELD(nacre_denial, code, CHARS),
    FIELD(nacre_denial, rule, CHARS),
    FIELD(nacre_denial, place.line, NUMBER),
    FIELD(nacre_denial, place.column, NUMBER),
    FIELD(nacre_denial, path, CHARS),
    FIELD(nacre_denial, text, CHARS),
    FIELD(nacre_denial, fix, CHARS),
};

static const struct field egress_fields[] = {
    FIELD(nacre_egress_record, method, CHARS),
    FIELD(nacre_egress_record, host, CHARS),
    FIELD(nacre_egress_record, port, SMALL),
    FIELD(nacre_egress_record, sent, BOOL),
    FIELD(nacre_egress_record, code, CHARS),
    FIELD(nacre_egress_record, status, NUMBER),
    FIELD(nacre_egress_record, hops, NUMBER),
    FIELD(nacre_egress_record, bytes_sent, U64),
    FIELD(nacre_egress_record, bytes_received, U64),
};

static json_t *write_rows(const void *rows, size_t row_size, uint32_t row_count,
                          const struct field *fields, size_t count)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < row_count; i++)
        if (json_array_append_new(array, fields_write((const char *)rows + i * row_size,
                                                      fields, count)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static enum nacre_status read_rows(const json_t *json, const char *name, void *rows,
                                   size_t row_size, uint32_t row_max,
                                   const struct field *fields, size_t count,
                                   uint32_t *ret_count, struct nacre_error *err)
{
    size_t found = json_array_size(json);

    if (!json_is_array(json) || found > row_max)
        return fields_wrong(name, err);
    for (size_t i = 0; i < found; i++) {
        void *row = (char *)rows + i * row_size;
        enum nacre_status status;

        memset(row, 0, row_size);
        status = fields_read(json_array_get(json, i), row, fields, count, 0, err);
        if (status != NACRE_OK)
            return status;
    }
    *ret_count = (uint32_t)found;
    return NACRE_OK;
}

json_t *nacre_wire_result(const struct nacre_result *result)
{
    json_t *json = fields_write(result, result_fields, NACRE_COUNT(result_fields));

    if (json &&
        put(json, "usage",
            fields_write(&result->usage, usage_fields, NACRE_COUNT(usage_fields))) &&
        put(json, "denials",
            write_rows(result->denials, sizeof(result->denials[0]), result->denial_count,
                       denial_fields, NACRE_COUNT(denial_fields))) &&
        put(json, "egress",
            write_rows(result->egress, sizeof(result->egress[0]), result->egress_count,
                       egress_fields, NACRE_COUNT(egress_fields))))
        return json;
    json_decref(json);
    return NULL;
}

enum nacre_status nacre_wire_read_result(const json_t *json, struct nacre_result *result,
                                         struct nacre_error *err)
{
    enum nacre_status status =
        fields_read(json, result, result_fields, NACRE_COUNT(result_fields), 3, err);

    if (status == NACRE_OK)
        status = fields_read(json_object_get(json, "usage"), &result->usage, usage_fields,
                             NACRE_COUNT(usage_fields), 0, err);
    if (status == NACRE_OK)
        status = read_rows(json_object_get(json, "denials"), "denials", result->denials,
                           sizeof(result->denials[0]), NACRE_DENIALS_MAX, denial_fields,
                           NACRE_COUNT(denial_fields), &result->denial_count, err);
    if (status == NACRE_OK)
        status = read_rows(json_object_get(json, "egress"), "egress", result->egress,
                           sizeof(result->egress[0]), NACRE_EGRESS_RECORDS_MAX,
                           egress_fields, NACRE_COUNT(egress_fields),
                           &result->egress_count, err);
    if (status == NACRE_OK && (result->outcome == NACRE_OUTCOME_NONE ||
                               result->outcome >= NACRE_OUTCOME_COUNT))
        return fields_wrong("outcome", err);
    return status;
}

static const struct field error_fields[] = {
    FIELD(nacre_error, status, NUMBER),
    FIELD(nacre_error, text, CHARS),
    FIELD(nacre_error, rule, CHARS),
    FIELD(nacre_error, path, CHARS),
    FIELD(nacre_error, fix, CHARS),
};

json_t *nacre_wire_error(const struct nacre_error *err)
{
    return fields_write(err, error_fields, NACRE_COUNT(error_fields));
}

enum nacre_status nacre_wire_read_error(const json_t *json,
                                        struct nacre_error *ret_failure,
                                        struct nacre_error *err)
{
    struct nacre_error failure = { 0 };
    enum nacre_status status =
        fields_read(json, &failure, error_fields, NACRE_COUNT(error_fields), 0, err);

    if (status == NACRE_OK &&
        (failure.status == NACRE_OK || failure.status >= NACRE_STATUS_COUNT))
        return fields_wrong("status", err);
    if (status == NACRE_OK)
        *ret_failure = failure;
    return status;
}

/* ---- what it says of itself ---- */

static const struct field mechanism_fields[] = {
    FIELD(nacre_mechanism, name, CHARS),
    FIELD(nacre_mechanism, detail, CHARS),
    FIELD(nacre_mechanism, present, BOOL),
};

json_t *nacre_wire_mechanism(const struct nacre_mechanism *mechanism)
{
    return fields_write(mechanism, mechanism_fields, NACRE_COUNT(mechanism_fields));
}

enum nacre_status nacre_wire_read_mechanism(const json_t *json,
                                            struct nacre_mechanism *ret_mechanism,
                                            struct nacre_error *err)
{
    struct nacre_mechanism mechanism = { 0 };
    enum nacre_status status = fields_read(json, &mechanism, mechanism_fields,
                                           NACRE_COUNT(mechanism_fields), 0, err);

    if (status == NACRE_OK)
        *ret_mechanism = mechanism;
    return status;
}

static const struct field box_fields[] = {
    FIELD(nacre_box_info, id, CHARS),
    FIELD(nacre_box_info, name, CHARS),
    FIELD(nacre_box_info, scope_key, CHARS),
    FIELD(nacre_box_info, image, CHARS),
    FIELD(nacre_box_info, digest, CHARS),
    FIELD(nacre_box_info, created_ms, U64),
    FIELD(nacre_box_info, used_ms, U64),
    FIELD(nacre_box_info, commands, NUMBER),
    FIELD(nacre_box_info, owner_pid, NUMBER),
};

json_t *nacre_wire_box(const struct nacre_box_info *info)
{
    return fields_write(info, box_fields, NACRE_COUNT(box_fields));
}

enum nacre_status nacre_wire_read_box(const json_t *json, struct nacre_box_info *ret_info,
                                      struct nacre_error *err)
{
    struct nacre_box_info info = { 0 };
    enum nacre_status status =
        fields_read(json, &info, box_fields, NACRE_COUNT(box_fields), 0, err);

    if (status == NACRE_OK)
        *ret_info = info;
    return status;
}

static const struct field choice_fields[] = {
    FIELD(nacre_keeper_choice, which, TEXT),
    FIELD(nacre_keeper_choice, scope_key, TEXT),
    FIELD(nacre_keeper_choice, unrecorded, BOOL),
    FIELD(nacre_keeper_choice, idle_ms, U64),
    FIELD(nacre_keeper_choice, age_ms, U64),
    FIELD(nacre_keeper_choice, force, BOOL),
};

json_t *nacre_wire_choice(const struct nacre_keeper_choice *choice)
{
    return fields_write(choice, choice_fields, NACRE_COUNT(choice_fields));
}

enum nacre_status nacre_wire_read_choice(const json_t *json,
                                         struct nacre_keeper_choice *ret_choice,
                                         struct nacre_error *err)
{
    struct nacre_keeper_choice choice = { 0 };
    enum nacre_status status =
        fields_read(json, &choice, choice_fields, NACRE_COUNT(choice_fields), 0, err);

    if (status != NACRE_OK)
        fields_clear(&choice, choice_fields, NACRE_COUNT(choice_fields));
    else
        *ret_choice = choice;
    return status;
}

void nacre_wire_choice_clear(struct nacre_keeper_choice *choice)
{
    fields_clear(choice, choice_fields, NACRE_COUNT(choice_fields));
    *choice = (struct nacre_keeper_choice){ 0 };
}
