/*
 * The readers of configurations against files, for each dialect: what lies in
 * suites/DIALECT/invalid must fail with the one line of its .expect, what lies in
 * suites/DIALECT/valid must give the rules and notes that its .expect spells out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config_dump.h"
#include "fail_alloc.h"
#include "nacre/buf.h"
#include "nacre/config.h"
#include "nacre/path.h"
#include "suite.h"

static const struct suite {
    const char *directory;
    enum nacre_dialect dialect;
    int valid_min, invalid_min;
} suites[] = {
    { "openclaw", NACRE_DIALECT_OPENCLAW, 18, 140 },
    { "clawdis", NACRE_DIALECT_CLAWDIS, 7, 35 },
    { "config-yml", NACRE_DIALECT_CONFIG_YML, 12, 60 },
    { "clawpy", NACRE_DIALECT_CLAWPY, 5, 20 },
};

static void check_valid(const struct suite *suite, const struct nacre_buf *bytes,
                        const struct nacre_config *config)
{
    struct nacre_digest digest = nacre_hash(bytes->bytes, bytes->size);
    enum nacre_dialect dialect = NACRE_DIALECT_UNSET;
    struct nacre_error err;

    assert_true(nacre_digest_equal(&digest, &config->digest));
    assert_string_equal(config->source, "config");
    assert_null(config->file);
    assert_int_equal(config->dialect, suite->dialect);
    assert_int_equal(nacre_config_recognise("config", bytes->bytes, bytes->size, &dialect,
                                            &err),
                     NACRE_OK);
    assert_int_equal(dialect, suite->dialect);
}

/* What came of one file, in the form of its .expect. */
static void outcome_of(const struct suite *suite, const char *path, bool valid,
                       struct nacre_buf *out)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)2 << 20);
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err = { .status = NACRE_OK }, unused;
    enum nacre_status status;
    char line[1024];

    suite_read(path, &bytes);
    status = nacre_config_parse("config", bytes.bytes, bytes.size, &config, &err);
    assert_int_equal(status, err.status);
    if (status == NACRE_OK) {
        check_valid(suite, &bytes, config);
        config_dump(config, out);
    } else {
        assert_int_equal(status, NACRE_ERR_PARSE);
        assert_string_equal(err.file, "config");
        assert_null(config);
        (void)snprintf(line, sizeof(line), "%d:%d: %s\n", err.line, err.column, err.text);
        assert_int_equal(nacre_buf_add(out, line, strlen(line), &unused), NACRE_OK);
    }
    if ((status == NACRE_OK) != valid)
        fail_msg("%s is %s:\n%s", path, valid ? "refused" : "accepted", out->bytes);
}

struct files {
    const struct suite *suite;
    bool valid;
};

static int run(const struct suite *suite, bool valid,
               void (*each)(void *data, const char *path))
{
    struct files files = { suite, valid };
    char directory[NACRE_PATH_MAX];

    (void)snprintf(directory, sizeof(directory), "%s/%s/%s", NACRE_SUITES_DIR,
                   suite->directory, valid ? "valid" : "invalid");
    return suite_each(directory, ".yaml", each, &files) +
           suite_each(directory, ".json5", each, &files);
}

static void compare(void *data, const char *path)
{
    const struct files *files = data;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(65536);

    outcome_of(files->suite, path, files->valid, &found);
    suite_expect(path, found.bytes);
}

static void each_invalid_file_is_refused_at_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(suites); i++)
        assert_true(run(&suites[i], false, compare) >= suites[i].invalid_min);
}

static void each_valid_file_gives_its_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(suites); i++)
        assert_true(run(&suites[i], true, compare) >= suites[i].valid_min);
}

static void fail_each_allocation(void *data, const char *path)
{
    const struct files *files = data;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)2 << 20);
    bool fired = true;

    suite_read(path, &bytes);
    for (int n = 0; fired; n++) {
        struct nacre_config *config = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        enum nacre_status status;

        assert_true(n < 5000);
        fail_alloc_after(n);
        status = nacre_config_parse("c", bytes.bytes, bytes.size, &config, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        if (fired)
            assert_int_equal(status, NACRE_ERR_MEMORY);
        else
            assert_int_equal(status == NACRE_OK, files->valid);
        assert_int_equal(config != NULL, status == NACRE_OK);
        assert_int_equal(err.status, status);
        nacre_config_free(config);
    }
}

static void every_file_survives_every_allocation_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(suites); i++) {
        (void)run(&suites[i], true, fail_each_allocation);
        (void)run(&suites[i], false, fail_each_allocation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invalid_file_is_refused_at_its_place),
        cmocka_unit_test(each_valid_file_gives_its_rules),
        cmocka_unit_test(every_file_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
