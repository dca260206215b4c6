/* A worker that a guest has taken over writes what it likes: nothing of it is believed
 * past its bounds, and it can't make nacre say that nacre failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>

#include "fail_alloc.h"
#include "wt_result.h"

static struct wt_reply honest(void)
{
    return (struct wt_reply){ .outcome = NACRE_OUTCOME_EXITED, .exit_status = 3,
                              .fuel = 70,
                              .fuel_exact = 1, .memory_bytes_peak = 65536 };
}

/* Not inlined: gcc 12 at -O3 takes the guarded copy for a dangling one. */
static __attribute__((noinline)) struct nacre_result *new_result(void)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    return result;
}

static void assert_killed_by_nobody_elses_fault(const struct wt_reply *reply,
                                                const char *said)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct nacre_error err;

    assert_int_equal(wt_result_reply(reply, result, &err), NACRE_OK);
    assert_int_equal(result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(result->signal, SIGKILL);
    assert_non_null(strstr(result->reason, said));
    assert_int_equal(result->values.size, 0);
}

static void an_honest_reply_is_told_as_it_is(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct wt_reply reply = honest();
    struct nacre_error err;

    (void)state;
    reply.values_size = 18;
    memcpy(reply.values, "[-1,2.5e+10,\"nan\"]", 18);
    (void)strcpy(reply.reason, "trap\n  at inner (+0x20)");
    assert_int_equal(wt_result_reply(&reply, result, &err), NACRE_OK);
    assert_int_equal(result->outcome, NACRE_OUTCOME_EXITED);
    assert_int_equal(result->exit_status, 3);
    assert_int_equal(result->usage.fuel, 70);
    assert_string_equal(result->values.bytes, "[-1,2.5e+10,\"nan\"]");
    assert_string_equal(result->reason, "trap\n  at inner (+0x20)");
}

static void an_outcome_that_no_worker_gives_is_a_kill(void **state)
{
    static const uint32_t outcomes[] = {
        NACRE_OUTCOME_NONE,      NACRE_OUTCOME_KILLED, NACRE_OUTCOME_DENIED,
        NACRE_OUTCOME_COUNT,     NACRE_OUTCOME_COUNT + 1,
        0x7fffffff,              0x80000000,              UINT32_MAX,
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(outcomes); i++) {
        struct wt_reply reply = honest();

        reply.outcome = outcomes[i];
        assert_killed_by_nobody_elses_fault(&reply, "made no sense");
    }
}

/* Whatever failure of the host's it claims, forged or not. */
static void a_worker_cannot_make_nacre_say_that_nacre_failed(void **state)
{
    struct wt_reply reply = honest();

    (void)state;
    for (uint32_t status = 1; status <= NACRE_STATUS_COUNT + 1; status++) {
        reply.status = status;
        (void)strcpy(reply.reason, "nacre is broken");
        if (status == NACRE_ERR_NOT_RUNNABLE)
            continue;
        if (status == NACRE_ERR_IO || status == NACRE_ERR_MEMORY)
            assert_killed_by_nobody_elses_fault(&reply, "could not begin: nacre is broken");
        else
            assert_killed_by_nobody_elses_fault(&reply, "made no sense");
    }
    reply.status = UINT32_MAX;
    assert_killed_by_nobody_elses_fault(&reply, "made no sense");
}

static void that_a_guest_was_never_entered_is_told_in_printable_words(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct wt_reply reply = honest();
    struct nacre_error err;

    (void)state;
    reply.status = NACRE_ERR_NOT_RUNNABLE;
    (void)strcpy(reply.reason, "no export\033[2J");
    assert_int_equal(wt_result_reply(&reply, result, &err), NACRE_ERR_NOT_RUNNABLE);
    assert_string_equal(err.text, "no export\\x1b[2J");
}

static void values_are_numbers_or_nothing(void **state)
{
    static const struct {
        const char *text;
        uint32_t size;
    } bad[] = {
        { "[", 1 },         { "]", 1 },        { "42", 2 },      { "{}", 2 },
        { "[1]x", 4 },      { "x[1]", 4 },     { "[\"a b\"]", 7 }, { "[\"\\u\"]", 6 },
        { "[\033]", 3 },    { "[\0]", 3 },     { "[1\n]", 4 },   { "[<]", 3 },
        { "[]", WT_VALUES_MAX + 1 }, { "[]", WT_VALUES_MAX }, { "[]", UINT32_MAX },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct wt_reply reply = honest();
        size_t length = bad[i].size < 16 ? bad[i].size : 2;

        memcpy(reply.values, bad[i].text, length);
        reply.values_size = bad[i].size;
        assert_killed_by_nobody_elses_fault(&reply, "made no sense");
    }
}

static void texts_without_an_end_are_cut_and_cleaned(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
    struct wt_reply reply = honest();
    struct nacre_error err;

    (void)state;
    memset(reply.reason, 'x', sizeof(reply.reason));
    assert_int_equal(wt_result_reply(&reply, result, &err), NACRE_OK);
    assert_int_equal(strlen(result->reason), sizeof(result->reason) - 1);
    memset(reply.reason, '\033', sizeof(reply.reason));
    assert_int_equal(wt_result_reply(&reply, result, &err), NACRE_OK);
    assert_null(strchr(result->reason, '\033'));
    assert_true(strlen(result->reason) < sizeof(result->reason));
    memset(reply.reason, '\n', sizeof(reply.reason));
    assert_int_equal(wt_result_reply(&reply, result, &err), NACRE_OK);
    assert_true(strlen(result->reason) < sizeof(result->reason));
}

/* ---- the record ---- */

#define OUTPUT_MAX 8
static const unsigned char bytes[2][OUTPUT_MAX] = { "stdout..", "stderr.." };
static const unsigned char *const output[2] = { bytes[0], bytes[1] };
static struct nacre_mount mount = { .guest = (char *)"/work", .place = { 12, 7 } };
static const struct nacre_plan plan = { .mounts = &mount, .mount_count = 1 };
static const struct nacre_request plain = { .input_fd = -1 };

static struct nacre_result *result_of(const struct nacre_wasi_record *record,
                                      const struct nacre_request *request)
{
    struct nacre_result *result = new_result();
    struct nacre_error err;

    assert_int_equal(wt_result_record(record, output, OUTPUT_MAX, &plan, request, result,
                                      &err),
                     NACRE_OK);
    return result;
}

static void output_is_never_read_past_its_buffer(void **state)
{
    static const uint64_t claims[] = { 0, 1, OUTPUT_MAX - 1, OUTPUT_MAX, OUTPUT_MAX + 1,
                                       (uint64_t)1 << 32, UINT64_MAX - 1, UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(claims); i++) {
        struct nacre_wasi_record record = { .output_used = { claims[i], claims[i] } };
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = result_of(&record,
                                                                               &plain);
        uint64_t there = claims[i] < OUTPUT_MAX ? claims[i] : OUTPUT_MAX;

        assert_int_equal(wt_result_output(&record, 0, OUTPUT_MAX), there);
        assert_int_equal(result->output.size, there);
        assert_int_equal(result->errors.size, there);
        if (there > 0)
            assert_memory_equal(result->errors.bytes, bytes[1], there);
    }
    {
        const struct nacre_request streamed = { .input_fd = -1, .stream_only = true };
        struct nacre_wasi_record record = { .output_used = { 5, 5 } };
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = result_of(&record,
                                                                               &streamed);

        assert_int_equal(result->output.size + result->errors.size, 0);
    }
}

static void denials_are_counted_cut_and_cleaned(void **state)
{
    static const uint32_t counts[] = { 0, 1, NACRE_DENIALS_MAX, NACRE_DENIALS_MAX + 1,
                                       UINT32_MAX };
    static const uint32_t mounts[] = { 0, 1, 2, UINT32_MAX };
    static struct nacre_wasi_record record;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(counts); i++) {
        for (size_t k = 0; k < NACRE_COUNT(mounts); k++) {
            NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

            memset(&record, '\033', sizeof(record)); /* no text has an end */
            record.denial_count = counts[i];
            record.denials_seen = counts[i];
            for (int n = 0; n < NACRE_DENIALS_MAX; n++)
                record.denials[n].mount = mounts[k];
            result = result_of(&record, &plain);
            assert_int_equal(result->denial_count, counts[i] < NACRE_DENIALS_MAX
                                                       ? counts[i]
                                                       : NACRE_DENIALS_MAX);
            assert_int_equal(result->denials_seen, counts[i]);
            for (uint32_t n = 0; n < result->denial_count; n++) {
                const struct nacre_denial *denial = &result->denials[n];

                assert_true(strlen(denial->code) < sizeof(denial->code));
                assert_true(strlen(denial->path) < sizeof(denial->path));
                assert_null(strchr(denial->code, '\033'));
                assert_null(strchr(denial->text, '\033'));
                assert_int_equal(denial->place.line, mounts[k] == 0 ? 12 : 0);
            }
        }
    }
}

static void a_denial_names_the_path_that_the_guest_asked_for(void **state)
{
    static struct nacre_wasi_record record = {
        .denial_count = 1, .denials_seen = 1,
        .denials = { { .mount = 0, .code = "denied-path", .path = "secret/key" } },
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = result_of(&record,
                                                                           &plain);

    (void)state;
    assert_string_equal(result->denials[0].code, "denied-path");
    assert_string_equal(result->denials[0].path, "/work/secret/key");
}

/* What no mount has to do with is not put down to the filesystem's line. */
static void denials_beyond_the_mounts_say_what_they_are(void **state)
{
    static struct nacre_wasi_record record = {
        .denial_count = 3, .denials_seen = 3,
        .denials = { { .mount = UINT32_MAX, .code = "no-network", .path = "a.example" },
                     { .mount = UINT32_MAX, .code = "no-network", .path = "" },
                     { .mount = 1, .code = "read-only", .path = "key" } },
    };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = result_of(&record,
                                                                           &plain);

    (void)state;
    assert_string_equal(result->denials[0].rule, "capabilities.network.mode");
    assert_string_equal(result->denials[0].text, "no-network: a.example");
    assert_string_equal(result->denials[0].path, "a.example");
    assert_non_null(strstr(result->denials[0].fix, "allowed_hosts"));
    assert_string_equal(result->denials[1].text, "no-network");
    assert_string_equal(result->denials[2].text, "read-only: /run/secrets/key");
    assert_string_equal(result->denials[2].path, "");
}

static void copying_survives_every_allocation_failure(void **state)
{
    static struct nacre_wasi_record record = { .output_used = { 8, 8 } };
    struct wt_reply reply = honest();
    bool fired = true;

    (void)state;
    memcpy(reply.values, "[1]", 3);
    reply.values_size = 3;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = new_result();
        enum nacre_status status;
        struct nacre_error err;

        assert_true(n < 20);
        fail_alloc_after(n);
        status = wt_result_reply(&reply, result, &err);
        if (status == NACRE_OK)
            status = wt_result_record(&record, output, OUTPUT_MAX, &plan, &plain, result,
                                      &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_reply_is_told_as_it_is),
        cmocka_unit_test(an_outcome_that_no_worker_gives_is_a_kill),
        cmocka_unit_test(a_worker_cannot_make_nacre_say_that_nacre_failed),
        cmocka_unit_test(that_a_guest_was_never_entered_is_told_in_printable_words),
        cmocka_unit_test(values_are_numbers_or_nothing),
        cmocka_unit_test(texts_without_an_end_are_cut_and_cleaned),
        cmocka_unit_test(output_is_never_read_past_its_buffer),
        cmocka_unit_test(denials_are_counted_cut_and_cleaned),
        cmocka_unit_test(a_denial_names_the_path_that_the_guest_asked_for),
        cmocka_unit_test(denials_beyond_the_mounts_say_what_they_are),
        cmocka_unit_test(copying_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("wt_result", tests, NULL, NULL);
}
