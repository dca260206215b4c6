#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fail_alloc.h"
#include "nacre/own.h"
#include "warm_plan.h"
#include "wire.h"

static void json_guard(json_t **owned)
{
    json_decref(*owned);
}

static void assert_texts_equal(const char *a, const char *b)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_string_equal(a, b);
}

static void assert_lists_equal(char *const *a, char *const *b)
{
    assert_int_equal(!a, !b);
    for (size_t i = 0; a && (a[i] || b[i]); i++)
        assert_texts_equal(a[i], b[i]);
}

/* ---- all that an executor reads arrives ---- */

/* Whoever adds a member has to let it travel, and to compare it below; or to know that no
 * executor reads it. */
static void no_struct_has_grown_unseen(void **state)
{
    (void)state;
#if defined(__x86_64__) || defined(__aarch64__)
    assert_int_equal(sizeof(struct nacre_plan), 536);
    assert_int_equal(sizeof(struct nacre_limits), 96);
    assert_int_equal(sizeof(struct nacre_mount), 64);
    assert_int_equal(sizeof(struct nacre_container), 160);
    assert_int_equal(sizeof(struct nacre_request), 312);
    assert_int_equal(sizeof(struct nacre_usage), 80);
    assert_int_equal(offsetof(struct nacre_result, run_id), 2248);
    assert_int_equal(offsetof(struct nacre_result, denials), 2492);
    assert_int_equal(sizeof(struct nacre_denial), 1384);
    assert_int_equal(sizeof(struct nacre_egress_record), 320);
    assert_int_equal(sizeof(struct nacre_box_info), 688);
    assert_int_equal(sizeof(struct nacre_keeper_choice), 40);
#endif
}

static void assert_containers_equal(const struct nacre_container *a,
                                    const struct nacre_container *b)
{
    assert_texts_equal(a->image, b->image);
    assert_texts_equal(a->workdir, b->workdir);
    assert_texts_equal(a->user, b->user);
    assert_texts_equal(a->seccomp_profile, b->seccomp_profile);
    assert_texts_equal(a->apparmor_profile, b->apparmor_profile);
    assert_texts_equal(a->selinux_label, b->selinux_label);
    assert_texts_equal(a->setup_command, b->setup_command);
    assert_texts_equal(a->cpuset, b->cpuset);
    assert_lists_equal(a->tmpfs, b->tmpfs);
    assert_lists_equal(a->keep_capabilities, b->keep_capabilities);
    assert_lists_equal(a->blocked_syscalls, b->blocked_syscalls);
    assert_lists_equal(a->environment, b->environment);
    assert_lists_equal(a->ulimits, b->ulimits);
    assert_int_equal(a->read_only_root, b->read_only_root);
    assert_int_equal(a->user_namespaces, b->user_namespaces);
    assert_int_equal(a->memory_swap_bytes, b->memory_swap_bytes);
    assert_int_equal(a->memory_reservation_bytes, b->memory_reservation_bytes);
    assert_int_equal(a->cpus_nano, b->cpus_nano);
    assert_int_equal(a->disk_bytes, b->disk_bytes);
    assert_int_equal(a->disk_iops, b->disk_iops);
    assert_int_equal(a->disk_io_weight, b->disk_io_weight);
}

static void assert_limits_equal(const struct nacre_limits *a,
                                const struct nacre_limits *b)
{
    assert_int_equal(a->memory_bytes_max, b->memory_bytes_max);
    assert_int_equal(a->memory_asked, b->memory_asked);
    assert_int_equal(a->wall_ms_max, b->wall_ms_max);
    assert_int_equal(a->open_files_max, b->open_files_max);
    assert_int_equal(a->output_bytes_max, b->output_bytes_max);
    assert_int_equal(a->cpu_shares, b->cpu_shares);
    assert_int_equal(a->processes_max, b->processes_max);
    assert_int_equal(a->processes_asked, b->processes_asked);
    assert_int_equal(a->fuel_max, b->fuel_max);
    assert_int_equal(a->fuel_exact, b->fuel_exact);
    assert_int_equal(a->scratch_bytes_max, b->scratch_bytes_max);
    assert_int_equal(a->scratch_files_max, b->scratch_files_max);
}

/* By what is written of them, which test_egress.c compares with what was read. */
static void assert_networks_equal(const struct nacre_egress *a,
                                  const struct nacre_egress *b)
{
    struct nacre_buf texts[2] = { NACRE_BUF(65536), NACRE_BUF(65536) };
    struct nacre_error err;

    assert_int_equal(nacre_egress_write(a, &texts[0], &err), NACRE_OK);
    assert_int_equal(nacre_egress_write(b, &texts[1], &err), NACRE_OK);
    assert_string_equal(texts[0].bytes, texts[1].bytes);
    nacre_buf_clear(&texts[0]);
    nacre_buf_clear(&texts[1]);
}

static void assert_plans_equal(const struct nacre_plan *a, const struct nacre_plan *b)
{
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->runtime, b->runtime);
    assert_int_equal(a->full_tree, b->full_tree);
    assert_int_equal(a->own_tmp, b->own_tmp);
    assert_int_equal(a->tmp_writable, b->tmp_writable);
    assert_int_equal(a->shared_memory, b->shared_memory);
    assert_int_equal(a->required, b->required);
    assert_int_equal(a->waivable, b->waivable);
    assert_texts_equal(a->directory, b->directory);
    assert_int_equal(a->scope, b->scope);
    assert_texts_equal(a->scope_key, b->scope_key);
    assert_int_equal(a->denied_host_count, b->denied_host_count);
    assert_lists_equal(a->denied_host_paths, b->denied_host_paths);
    assert_int_equal(a->denied_root_count, b->denied_root_count);
    assert_lists_equal(a->denied_root, b->denied_root);
    assert_memory_equal(&a->digest, &b->digest, sizeof(a->digest));
    assert_int_equal(a->sealed, b->sealed);
    assert_limits_equal(&a->limits, &b->limits);
    assert_networks_equal(&a->egress, &b->egress);
    assert_int_equal(a->injection, b->injection);
    assert_int_equal(a->leak_scan, b->leak_scan);
    assert_int_equal(a->leak_patterns, b->leak_patterns);
    assert_containers_equal(&a->container, &b->container);
    assert_int_equal(a->mount_count, b->mount_count);
    for (uint32_t i = 0; i < a->mount_count; i++) {
        assert_texts_equal(a->mounts[i].guest, b->mounts[i].guest);
        assert_texts_equal(a->mounts[i].host, b->mounts[i].host);
        assert_int_equal(a->mounts[i].writable, b->mounts[i].writable);
        assert_int_equal(a->mounts[i].denied_count, b->mounts[i].denied_count);
        assert_int_equal(a->mounts[i].covered_count, b->mounts[i].covered_count);
        for (uint32_t k = 0; k < a->mounts[i].denied_count; k++)
            assert_texts_equal(a->mounts[i].denied[k], b->mounts[i].denied[k]);
        for (uint32_t k = 0; k < a->mounts[i].covered_count; k++)
            assert_texts_equal(a->mounts[i].covered[k], b->mounts[i].covered[k]);
    }
}

/* Through text, as it is on the wire. */
static json_t *sent(json_t *json)
{
    NACRE_AUTO(json_guard) json_t *owned = json;
    NACRE_AUTO(nacre_heap_guard) char *text = json_dumps(owned, JSON_COMPACT);

    assert_non_null(text);
    return json_loads(text, JSON_REJECT_DUPLICATES, NULL);
}

static void a_plan_arrives_whole(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("agent:a");
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *read = NULL;
    NACRE_AUTO(json_guard) json_t *json = sent(nacre_wire_plan(plan));
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_wire_read_plan(json, &read, &err), NACRE_OK);
    assert_plans_equal(plan, read);
}

static void a_plan_that_asks_for_little_arrives_too(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("shared");
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *read = NULL;
    NACRE_AUTO(json_guard) json_t *json = NULL;
    struct nacre_error err;

    (void)state;
    free(plan->container.cpuset);
    free(plan->container.workdir);
    plan->container.cpuset = plan->container.workdir = NULL;
    for (size_t i = 0; plan->container.tmpfs[i]; i++)
        free(plan->container.tmpfs[i]);
    plan->container.tmpfs[0] = NULL;
    json = sent(nacre_wire_plan(plan));
    assert_int_equal(nacre_wire_read_plan(json, &read, &err), NACRE_OK);
    assert_plans_equal(plan, read);
}

static void tools_and_requests_arrive_whole(void **state)
{
    const char *const words[] = { "cat", "-n", "\x80\xff not UTF-8", "", "\t\n\"\\",
                                  NULL };
    const struct nacre_request request = { .arguments = words,
                                           .box_name = "openclaw-sbx-a-1" };
    struct nacre_tool *tools[2] = { NULL };
    struct nacre_request read;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_tool_command(words, &tools[0], &err), NACRE_OK);
    assert_int_equal(nacre_tool_shell("echo \xff $A", &tools[1], &err), NACRE_OK);
    for (size_t i = 0; i < 2; i++) {
        NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = tools[i];
        NACRE_AUTO(nacre_tool_guard) struct nacre_tool *again = NULL;
        NACRE_AUTO(json_guard) json_t *json = sent(nacre_wire_tool(tool));

        assert_int_equal(nacre_wire_read_tool(json, &again, &err), NACRE_OK);
        assert_int_equal(tool->kind, again->kind);
        assert_string_equal(tool->name, again->name);
        assert_memory_equal(&tool->digest, &again->digest, sizeof(tool->digest));
        assert_lists_equal(tool->argv, again->argv);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct nacre_request none = { 0 };
        NACRE_AUTO(json_guard) json_t *json = sent(nacre_wire_request(i ? &none
                                                                        : &request));

        assert_int_equal(nacre_wire_read_request(json, &read, &err), NACRE_OK);
        assert_lists_equal(i ? NULL : (char *const *)words,
                           (char *const *)read.arguments);
        assert_texts_equal(i ? NULL : request.box_name, read.box_name);
        assert_int_equal(read.input_fd, -1);
        nacre_wire_request_clear(&read);
        assert_null(read.arguments);
    }
}

static void results_and_failures_arrive_whole(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *read = NULL;
    NACRE_AUTO(json_guard) json_t *json = NULL, *failed = NULL;
    struct nacre_error err, failure = { .status = NACRE_ERR_TIMEOUT, .text = "cut \xc3" };
    struct nacre_error again;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    assert_int_equal(nacre_result_new(&read, &err), NACRE_OK);
    result->outcome = NACRE_OUTCOME_KILLED;
    result->exit_status = -3;
    result->signal = 15;
    result->output_cut = true;
    (void)snprintf(result->reason, sizeof(result->reason), "why \x9f");
    result->usage = (struct nacre_usage){ .memory_bytes_peak = 1, .memory_refused = true,
                                          .cpu_ns = 3, .bytes_read = 4,
                                          .bytes_written = UINT64_MAX,
                                          .files_opened = 6 };
    result->leak = true;
    result->leaks = (struct nacre_leak_tally){ 1, 2, 3, UINT64_MAX };
    result->denials_seen = 40;
    result->denial_count = NACRE_DENIALS_MAX;
    memset(result->denials, 0, sizeof(result->denials));
    result->denials[31] = (struct nacre_denial){ "host-not-allowed", "network.mode",
                                                 { 7, 9 }, "/p", "no \x9f", "ask" };
    result->egress_seen = UINT64_MAX;
    result->egress_count = 1;
    result->egress[0] = (struct nacre_egress_record){
        "GET", "a.test", 65535, true, "tls", 200, 3, 4, UINT64_MAX
    };
    json = sent(nacre_wire_result(result));
    assert_int_equal(nacre_wire_read_result(json, read, &err), NACRE_OK);
    assert_int_equal(read->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(read->exit_status, -3);
    assert_int_equal(read->signal, 15);
    assert_true(read->output_cut);
    assert_string_equal(read->reason, "why \x9f");
    assert_memory_equal(&read->usage, &result->usage, sizeof(read->usage));
    assert_true(read->leak);
    assert_memory_equal(&read->leaks, &result->leaks, sizeof(read->leaks));
    assert_int_equal(read->denials_seen, 40);
    assert_int_equal(read->denial_count, NACRE_DENIALS_MAX);
    assert_string_equal(read->denials[31].code, "host-not-allowed");
    assert_int_equal(read->denials[31].place.column, 9);
    assert_string_equal(read->denials[31].text, "no \x9f");
    assert_string_equal(read->denials[0].text, "");
    assert_true(read->egress_seen == UINT64_MAX);
    assert_int_equal(read->egress_count, 1);
    assert_int_equal(read->egress[0].port, 65535);
    assert_true(read->egress[0].sent);
    assert_string_equal(read->egress[0].code, "tls");
    assert_true(read->egress[0].bytes_received == UINT64_MAX);
    failed = sent(nacre_wire_error(&failure));
    assert_int_equal(nacre_wire_read_error(failed, &again, &err), NACRE_OK);
    assert_int_equal(again.status, NACRE_ERR_TIMEOUT);
    assert_string_equal(again.text, "cut \xc3");
}

static void walls_boxes_and_choices_arrive_whole(void **state)
{
    const struct nacre_mechanism wall = { "seccomp", "of \xff", true };
    const struct nacre_box_info box = {
        .id = "0123456789ab", .name = "nacre-1", .scope_key = "session:\xff",
        .image = "image", .digest = "ff", .created_ms = UINT64_MAX, .used_ms = 2,
        .commands = 3, .owner_pid = 4,
    };
    const struct nacre_keeper_choice choice = { "session:\xff", "agent:\xfe", 1, UINT64_MAX,
                                                true, true };
    NACRE_AUTO(json_guard) json_t *a = sent(nacre_wire_mechanism(&wall));
    NACRE_AUTO(json_guard) json_t *b = sent(nacre_wire_box(&box));
    NACRE_AUTO(json_guard) json_t *c = sent(nacre_wire_choice(&choice));
    struct nacre_keeper_choice read_choice;
    struct nacre_mechanism read_wall;
    struct nacre_box_info read_box;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_wire_read_mechanism(a, &read_wall, &err), NACRE_OK);
    assert_memory_equal(&read_wall, &wall, sizeof(wall));
    assert_int_equal(nacre_wire_read_box(b, &read_box, &err), NACRE_OK);
    assert_memory_equal(&read_box, &box, sizeof(box));
    assert_int_equal(nacre_wire_read_choice(c, &read_choice, &err), NACRE_OK);
    assert_string_equal(read_choice.which, choice.which);
    assert_string_equal(read_choice.scope_key, choice.scope_key);
    assert_int_equal(read_choice.idle_ms, 1);
    assert_int_equal(read_choice.age_ms, UINT64_MAX);
    assert_true(read_choice.force);
    assert_true(read_choice.unrecorded);
    nacre_wire_choice_clear(&read_choice);
}

/* ---- what is not as it should be ---- */

static void assert_plan_refused(json_t *json, const char *named)
{
    struct nacre_plan *read = NULL;
    struct nacre_error err = { .text = "" };

    assert_int_equal(nacre_wire_read_plan(json, &read, &err), NACRE_ERR_PARSE);
    assert_null(read);
    assert_non_null(strstr(err.text, named));
}

/* Each field of a plan: once missing, once of another kind, once under another name. */
static void a_plan_with_a_field_astray_is_refused(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("agent:a");
    NACRE_AUTO(json_guard) json_t *good = nacre_wire_plan(plan);
    static const char *const objects[] = { "", "limits", "container" };
    const char *key;
    json_t *value;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(objects); i++)
        json_object_foreach(objects[i][0] ? json_object_get(good, objects[i]) : good, key,
                            value) {
            NACRE_AUTO(json_guard) json_t *copy = json_deep_copy(good);
            json_t *part = objects[i][0] ? json_object_get(copy, objects[i]) : copy;

            (void)value;
            assert_int_equal(json_object_del(part, key), 0);
            assert_plan_refused(copy, "not as expected");
            assert_int_equal(json_object_set_new(part, key, json_real(1.5)), 0);
            assert_plan_refused(copy, "not as expected");
            assert_int_equal(json_object_del(part, key), 0);
            assert_int_equal(json_object_set_new(part, "zz", json_null()), 0);
            assert_plan_refused(copy, "not as expected");
        }
}

static void set_at(json_t *json, const char *path, json_t *value)
{
    char first[64];
    const char *slash = strchr(path, '/');

    if (!slash) {
        assert_int_equal(json_object_set_new(json, path, value), 0);
        return;
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)(slash - path), path);
    set_at(json_object_get(json, first), slash + 1, value);
}

static void a_plan_that_no_executor_could_run_is_refused(void **state)
{
    static const struct {
        const char *path, *json;
    } rows[] = {
        { "level", "0" }, { "level", "99" }, { "level", "-1" }, { "level", "4294967296" },
        { "level", "\"3\"" }, { "runtime", "0" }, { "runtime", "77" }, { "scope", "50" },
        { "directory", "null" }, { "directory", "[]" },
        { "directory", "\"\xc4\x80\"" }, { "directory", "\"\xe2\x82\xac\"" },
        { "digest", "\"12\"" }, { "digest", "null" }, { "digest", "\"zz\"" },
        { "mounts", "{}" }, { "mounts", "[1]" }, { "mounts", "[{}]" },
        { "mounts", "null" },
        { "denied_root", "null" }, { "denied_root", "[null]" }, { "denied_root", "[[]]" },
        { "denied_host_paths", "{}" },
        { "limits", "null" }, { "limits", "[]" }, { "limits/wall_ms_max", "\"0\"" },
        { "limits/wall_ms_max", "5" }, { "limits/wall_ms_max", "\"-5\"" },
        { "limits/wall_ms_max", "\" 5\"" }, { "limits/wall_ms_max", "\"\"" },
        { "limits/wall_ms_max", "\"18446744073709551616\"" },
        { "limits/wall_ms_max", "\"5x\"" }, { "limits/memory_asked", "1" },
        { "limits/output_bytes_max", "\"0\"" }, { "limits/open_files_max", "\"0\"" },
        { "container", "null" }, { "container/image", "null" },
        { "container/tmpfs", "null" }, { "container/environment", "null" },
        { "container/tmpfs", "\"/tmp\"" }, { "container/read_only_root", "\"true\"" },
    };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("agent:a");
    NACRE_AUTO(json_guard) json_t *good = nacre_wire_plan(plan);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(json_guard) json_t *copy = json_deep_copy(good);
        json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);

        assert_non_null(value);
        set_at(copy, rows[i].path, value);
        assert_plan_refused(copy, "not as expected");
    }
}

static void a_list_without_end_is_refused(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("agent:a");
    NACRE_AUTO(json_guard) json_t *json = nacre_wire_plan(plan);
    json_t *list = json_array();

    (void)state;
    for (size_t i = 0; i < 16385; i++)
        assert_int_equal(json_array_append_new(list, json_string("x")), 0);
    set_at(json, "denied_root", list);
    assert_plan_refused(json, "'denied_root'");
}

static void anything_else_is_no_message_either(void **state)
{
    static const char *const rows[] = {
        "null", "1", "\"x\"", "[]", "{}", "{\"kind\":1,\"argv\":[\"a\"]}",
        "{\"kind\":0,\"argv\":[\"a\"]}", "{\"kind\":2,\"argv\":null}",
        "{\"kind\":2,\"argv\":[]}", "{\"kind\":3,\"argv\":[\"/bin/sh\",\"-c\"]}",
        "{\"kind\":3,\"argv\":[\"/bin/bash\",\"-c\",\"x\"]}",
        "{\"kind\":3,\"argv\":[\"/bin/sh\",\"-c\",\"x\",\"y\"]}",
        "{\"kind\":2,\"argv\":[1]}", "{\"kind\":2,\"argv\":[\"a\"],\"more\":1}",
        "{\"kind\":2}", "{\"arguments\":[2]}",
        "{\"arguments\":[],\"environment\":[]}",
        "{\"outcome\":1}", "{\"status\":0,\"text\":\"\"}",
        "{\"status\":99,\"text\":\"\"}",
        "{\"status\":1,\"text\":null}", "{\"which\":null,\"idle_ms\":\"1\"}",
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err, failure;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(json_guard) json_t *json = json_loads(rows[i], JSON_DECODE_ANY, NULL);
        struct nacre_keeper_choice choice;
        struct nacre_mechanism wall;
        struct nacre_box_info box;
        struct nacre_request request;
        struct nacre_plan *plan = NULL;
        struct nacre_tool *tool = NULL;

        assert_non_null(json);
        assert_int_not_equal(nacre_wire_read_plan(json, &plan, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_tool(json, &tool, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_request(json, &request, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_result(json, result, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_error(json, &failure, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_mechanism(json, &wall, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_box(json, &box, &err), NACRE_OK);
        assert_int_not_equal(nacre_wire_read_choice(json, &choice, &err), NACRE_OK);
        assert_null(plan);
        assert_null(tool);
    }
}

static void a_text_that_is_too_long_for_its_place_is_refused(void **state)
{
    const struct nacre_box_info box = { .id = "0123456789abcde" };
    NACRE_AUTO(json_guard) json_t *json = nacre_wire_box(&box);
    struct nacre_box_info read;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_wire_read_box(json, &read, &err), NACRE_OK);
    set_at(json, "id", json_string("0123456789abcdef"));
    assert_int_equal(nacre_wire_read_box(json, &read, &err), NACRE_ERR_PARSE);
    assert_non_null(strstr(err.text, "'id'"));
}

static void a_result_without_an_outcome_is_refused(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    NACRE_AUTO(json_guard) json_t *json = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    json = nacre_wire_result(result);
    assert_int_equal(nacre_wire_read_result(json, result, &err), NACRE_ERR_PARSE);
    set_at(json, "outcome", json_integer(NACRE_OUTCOME_COUNT));
    assert_int_equal(nacre_wire_read_result(json, result, &err), NACRE_ERR_PARSE);
    set_at(json, "outcome", json_integer(NACRE_OUTCOME_EXITED));
    assert_int_equal(nacre_wire_read_result(json, result, &err), NACRE_OK);
}

/* ---- without memory ---- */

static void running_out_of_memory_is_told_and_leaks_nothing(void **state)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("agent:a");
    NACRE_AUTO(json_guard) json_t *json = nacre_wire_plan(plan);
    struct nacre_error err;
    bool fired = true;

    (void)state;
    for (int i = 0; fired; i++) {
        struct nacre_plan *read = NULL;
        enum nacre_status status;

        fail_alloc_after(i);
        status = nacre_wire_read_plan(json, &read, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_plan_free(read);
    }
    fired = true;
    for (int i = 0; fired; i++) {
        json_t *written;

        fail_alloc_after(i);
        written = nacre_wire_plan(plan);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(!written, fired);
        json_decref(written);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_struct_has_grown_unseen),
        cmocka_unit_test(a_plan_arrives_whole),
        cmocka_unit_test(a_plan_that_asks_for_little_arrives_too),
        cmocka_unit_test(tools_and_requests_arrive_whole),
        cmocka_unit_test(results_and_failures_arrive_whole),
        cmocka_unit_test(walls_boxes_and_choices_arrive_whole),
        cmocka_unit_test(a_plan_with_a_field_astray_is_refused),
        cmocka_unit_test(a_plan_that_no_executor_could_run_is_refused),
        cmocka_unit_test(a_list_without_end_is_refused),
        cmocka_unit_test(anything_else_is_no_message_either),
        cmocka_unit_test(a_text_that_is_too_long_for_its_place_is_refused),
        cmocka_unit_test(a_result_without_an_outcome_is_refused),
        cmocka_unit_test(running_out_of_memory_is_told_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
