/* A request's variables, files and secrets on their way to the keeper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "fail_alloc.h"
#include "private.h"

static const char *const environment[] = { "A=1", "\xe4=2", "E=", NULL };
static const struct nacre_secret_file files[] = {
    { "key", (const unsigned char *)"a\0b", 3 },
    { "empty", (const unsigned char *)"", 0 },
};
static const char *const hosts[] = { "a.test", "*.b.test:8443", NULL };
static const char *const no_hosts[] = { NULL };
static struct nacre_secret secrets[] = {
    { "first", hosts, "FIRST", (const unsigned char *)"hunter2", 7 },
    { "planned", no_hosts, NULL, NULL, 0, .by_token = true },
};
static struct nacre_secret_token tokens[] = {
    { .digest = { { 1, 2, 3 } }, .secret = 1, .expires_ms = UINT64_MAX },
};
static const struct nacre_secret_set granted = { .items = secrets, .count = 2,
                                                 .tokens = tokens, .token_count = 1 };
static const struct nacre_request whole = {
    .environment = environment, .secret_files = files, .secret_file_count = 2,
    .granted = &granted,
};

static size_t written(const struct nacre_request *request, unsigned char **ret_bytes)
{
    struct nacre_error err;
    size_t count = 0;

    if (keeper_private_write(request, ret_bytes, &count, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return count;
}

static void all_of_it_arrives(void **state)
{
    NACRE_AUTO(keeper_private_guard) struct keeper_private *private = NULL;
    struct nacre_request read = { 0 };
    unsigned char *bytes = NULL;
    struct nacre_error err;
    size_t count = written(&whole, &bytes);

    (void)state;
    assert_int_equal(keeper_private_read(bytes, count, &private, &err), NACRE_OK);
    keeper_private_wipe(bytes, count);
    keeper_private_lend(private, &read);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(read.environment[i], environment[i]);
    assert_null(read.environment[3]);
    assert_int_equal(read.secret_file_count, 2);
    assert_string_equal(read.secret_files[0].name, "key");
    assert_int_equal(read.secret_files[0].count, 3);
    assert_memory_equal(read.secret_files[0].bytes, "a\0b", 3);
    assert_int_equal(read.secret_files[1].count, 0);
    assert_int_equal(read.granted->count, 2);
    assert_string_equal(read.granted->items[0].hosts[1], "*.b.test:8443");
    assert_null(read.granted->items[0].hosts[2]);
    assert_string_equal(read.granted->items[0].variable, "FIRST");
    assert_memory_equal(read.granted->items[0].value, "hunter2", 7);
    assert_null(read.granted->items[1].variable);
    assert_null(read.granted->items[1].value);
    /* A run that has a stand-in alone may not name the secret there either. */
    assert_false(read.granted->items[0].by_token);
    assert_true(read.granted->items[1].by_token);
    assert_int_equal(read.granted->token_count, 1);
    assert_memory_equal(&read.granted->tokens[0].digest, &tokens[0].digest, 32);
    assert_int_equal(read.granted->tokens[0].secret, 1);
    assert_true(read.granted->tokens[0].expires_ms == UINT64_MAX);
}

static void what_is_not_there_is_not_sent(void **state)
{
    const struct nacre_request none = { .environment = no_hosts };
    NACRE_AUTO(keeper_private_guard) struct keeper_private *private = NULL;
    struct nacre_request read = { .granted = &granted };
    unsigned char *bytes = NULL;
    struct nacre_error err;
    size_t count = written(&none, &bytes);

    (void)state;
    assert_false(keeper_private_is_needed(&none));
    assert_false(keeper_private_is_needed(&(struct nacre_request){ 0 }));
    assert_true(keeper_private_is_needed(&whole));
    assert_int_equal(keeper_private_read(bytes, count, &private, &err), NACRE_OK);
    keeper_private_wipe(bytes, count);
    keeper_private_lend(private, &read);
    assert_null(read.environment[0]);
    assert_int_equal(read.secret_file_count, 0);
    assert_null(read.granted);
}

static bool reads(const unsigned char *bytes, size_t count)
{
    NACRE_AUTO(keeper_private_guard) struct keeper_private *private = NULL;
    struct nacre_error err = { 0 };
    enum nacre_status status = keeper_private_read(bytes, count, &private, &err);

    assert_true(status == NACRE_OK || status == NACRE_ERR_PARSE);
    return status == NACRE_OK;
}

static void one_that_is_cut_or_goes_on_is_refused(void **state)
{
    unsigned char *bytes = NULL;
    size_t count = written(&whole, &bytes);
    unsigned char *longer = calloc(1, count + 1);

    (void)state;
    memcpy(longer, bytes, count);
    assert_true(reads(bytes, count));
    assert_false(reads(longer, count + 1));
    free(longer);
    for (size_t size = 0; size < count; size++) {
        unsigned char *part = malloc(size + 1);

        memcpy(part, bytes, size);
        assert_false(reads(part, size));
        free(part);
    }
    keeper_private_wipe(bytes, count);
}

/* Any one byte may be any other: it is read or refused, and nothing else happens. */
static void a_changed_byte_harms_nobody(void **state)
{
    static const unsigned char others[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
    unsigned char *bytes = NULL;
    size_t count = written(&whole, &bytes);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        unsigned char was = bytes[i];

        for (size_t k = 0; k < sizeof(others); k++) {
            bytes[i] = others[k];
            (void)reads(bytes, count);
        }
        bytes[i] = was;
    }
    keeper_private_wipe(bytes, count);
}

static void a_token_of_no_secret_is_refused(void **state)
{
    struct nacre_secret_set set = granted;
    const struct nacre_request request = { .granted = &set };
    unsigned char *bytes = NULL;
    size_t count;

    (void)state;
    tokens[0].secret = 2;
    count = written(&request, &bytes);
    assert_false(reads(bytes, count));
    keeper_private_wipe(bytes, count);
    tokens[0].secret = 0;
    set.count = 0;
    count = written(&request, &bytes);
    assert_false(reads(bytes, count));
    keeper_private_wipe(bytes, count);
    tokens[0].secret = 1;
}

static void too_much_is_refused_before_it_is_sent(void **state)
{
    const struct nacre_secret_file large = { "large", (const unsigned char *)"",
                                             (size_t)9 << 20 };
    const struct nacre_request request = { .secret_files = &large,
                                           .secret_file_count = 1 };
    unsigned char *bytes = NULL;
    struct nacre_error err;
    size_t count;

    (void)state;
    assert_int_equal(keeper_private_write(&request, &bytes, &count, &err),
                     NACRE_ERR_TOO_BIG);
    assert_null(bytes);
}

static void without_memory_it_fails_and_leaves_nothing(void **state)
{
    unsigned char *bytes = NULL, *again = NULL;
    size_t count = written(&whole, &bytes), size;
    struct nacre_error err;
    int after = 0;

    (void)state;
    for (bool fired = true; fired; after++) {
        NACRE_AUTO(keeper_private_guard) struct keeper_private *private = NULL;
        enum nacre_status status;

        fail_alloc_after(after);
        status = keeper_private_read(bytes, count, &private, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
    assert_true(after > 5);
    fail_alloc_after(0);
    assert_int_equal(keeper_private_write(&whole, &again, &size, &err), NACRE_ERR_MEMORY);
    fail_alloc_after(-1);
    keeper_private_wipe(bytes, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_arrives),
        cmocka_unit_test(what_is_not_there_is_not_sent),
        cmocka_unit_test(one_that_is_cut_or_goes_on_is_refused),
        cmocka_unit_test(a_changed_byte_harms_nobody),
        cmocka_unit_test(a_token_of_no_secret_is_refused),
        cmocka_unit_test(too_much_is_refused_before_it_is_sent),
        cmocka_unit_test(without_memory_it_fails_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
