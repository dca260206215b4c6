/*
 * The policy reader against files: suites/policy/invalid/NAME.yaml must fail with the
 * one line of NAME.expect, suites/policy/valid/NAME.yaml must give the model that
 * NAME.expect spells out, and every file of policies/ must load by its name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/buf.h"
#include "nacre/path.h"
#include "nacre/policy.h"
#include "policy_text.h"
#include "suite.h"

#define INVALID_MIN 90
#define VALID_MIN 25

/* ---- the runner ---- */

/* One file of a suite; `data` is whether it is a valid one. */
static void judge(void *data, const char *yaml)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF(65536);
    bool valid = *(const bool *)data;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)2 << 20);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status;

    suite_read(yaml, &bytes);
    status = nacre_policy_parse("policy.yaml", bytes.bytes, bytes.size, &policy, &err);
    assert_int_equal(status, err.status);
    if (status != NACRE_OK) {
        assert_int_equal(status, NACRE_ERR_PARSE);
        assert_string_equal(err.file, "policy.yaml");
        assert_null(policy);
        assert_int_equal(nacre_buf_addf(&out, &err, "%d:%d: %s\n", err.line, err.column,
                                        err.text),
                         NACRE_OK);
    } else {
        struct nacre_digest digest = nacre_hash(bytes.bytes, bytes.size);

        assert_true(nacre_digest_equal(&digest, &policy->digest));
        assert_string_equal(policy->source, "policy.yaml");
        policy_text(&out, policy, true);
    }
    if ((status == NACRE_OK) != valid)
        fail_msg("%s is %s:\n%s", yaml, valid ? "refused" : "accepted", out.bytes);
    suite_expect(yaml, out.bytes);
}

static void each_invalid_policy_is_refused_at_its_place(void **state)
{
    bool valid = false;

    (void)state;
    assert_true(suite_each(NACRE_SUITES_DIR "/policy/invalid", ".yaml", judge, &valid) >=
                INVALID_MIN);
}

static void each_valid_policy_gives_its_model(void **state)
{
    bool valid = true;

    (void)state;
    assert_true(suite_each(NACRE_SUITES_DIR "/policy/valid", ".yaml", judge, &valid) >=
                VALID_MIN);
}

static const struct {
    const char *name;
    enum nacre_level level;
} ready[] = {
    { "build", NACRE_LEVEL_PROCESS },   { "container", NACRE_LEVEL_CONTAINER },
    { "shell", NACRE_LEVEL_PROCESS },   { "deny-all", NACRE_LEVEL_WASM },
    { "read-only", NACRE_LEVEL_WASM },  { "standard", NACRE_LEVEL_CONTAINER },
    { "vm", NACRE_LEVEL_VM },           { "web-api", NACRE_LEVEL_WASM },
    { "web-fetch", NACRE_LEVEL_WASM },  { "workspace", NACRE_LEVEL_WASM },
};

static int is_yaml(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".yaml") == 0;
}

static void every_ready_policy_loads_by_its_name(void **state)
{
    static const char *const directories[] = { NACRE_POLICIES_DIR, NULL };
    struct dirent **entries = NULL;
    int count = scandir(NACRE_POLICIES_DIR, &entries, is_yaml, alphasort);

    (void)state;
    assert_int_equal(count, NACRE_COUNT(ready)); /* none without a row here */
    for (int i = 0; i < count; i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(65536);
        struct nacre_error err;

        free(entries[i]);
        if (nacre_policy_load(ready[i].name, directories, &policy, &err) != NACRE_OK)
            fail_msg("%s: %s", ready[i].name, err.text);
        assert_string_equal(policy->name, ready[i].name);
        assert_int_equal(policy->level, ready[i].level);
        suite_read(policy->source, &bytes);
        assert_true(strncmp(bytes.bytes, "# For ", 6) == 0); /* says who it is for */
    }
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invalid_policy_is_refused_at_its_place),
        cmocka_unit_test(each_valid_policy_gives_its_model),
        cmocka_unit_test(every_ready_policy_loads_by_its_name),
    };

    return cmocka_run_group_tests_name("policy_suite", tests, NULL, NULL);
}
