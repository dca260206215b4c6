/*
 * Configurations as CKP: suites/convert/NAME.conf, for the session and the agent of
 * NAME.ask (a line each, empty: none), must give NAME.expect: the policy, then a line for
 * each setting that CKP can't say.  What was written means what the session was settled
 * to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/convert.h"
#include "nacre/path.h"
#include "nacre/session.h"
#include "policy_text.h"
#include "suite.h"

#define CASES_MIN 6

struct subject {
    struct nacre_config *config;
    struct nacre_session *session;
};

static void subject_clear(struct subject *subject)
{
    nacre_session_free(subject->session);
    nacre_config_free(subject->config);
}

static struct subject settle(const char *path)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(65536);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf ask = NACRE_BUF(4096);
    struct subject subject = { 0 };
    struct nacre_error err;
    char *session, *agent, *rest;

    suite_read(path, &bytes);
    suite_read_beside(path, ".ask", &ask);
    rest = ask.bytes;
    session = strsep(&rest, "\n");
    agent = strsep(&rest, "\n");
    struct nacre_session_ask asked = { .session = session[0] ? session : NULL,
                                       .agent = agent[0] ? agent : NULL,
                                       .home = "/home/me" };

    if (nacre_config_parse("file", bytes.bytes, bytes.size, &subject.config, &err) !=
            NACRE_OK ||
        nacre_session_settle(subject.config, &asked, &subject.session, &err) != NACRE_OK)
        fail_msg("%s: %d:%d: %s", path, err.line, err.column, err.text);
    return subject;
}

/* The values alone: what nobody said may have to be said in CKP. */
static void values_of(const struct nacre_policy *policy, struct nacre_buf *out)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    struct nacre_error err;
    char *rest, *line;

    policy_text(&text, policy, false);
    rest = text.bytes;
    while ((line = strsep(&rest, "\n"))) {
        char *last = strrchr(line, ' ');

        /* A session's own section says nothing by being there. */
        if (strncmp(line, "name ", 5) == 0 || !last || last[-1] == ' ')
            continue;
        *last = '\0';
        assert_int_equal(nacre_buf_addf(out, &err, "%s\n", line), NACRE_OK);
    }
}

static void expect_same(const struct nacre_policy *policy, const struct nacre_buf *text)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *again = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf before = NACRE_BUF(65536);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf after = NACRE_BUF(65536);
    struct nacre_error err;

    assert_int_equal(nacre_policy_parse("p", text->bytes, text->size, &again, &err),
                     NACRE_OK);
    values_of(policy, &before);
    values_of(again, &after);
    assert_string_equal(before.bytes, after.bytes);
}

static void expect_conversion(void *data, const char *path)
{
    NACRE_AUTO(subject_clear) struct subject subject = settle(path);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;

    (void)data;
    if (nacre_ckp_write_session(subject.session, &text, &losses, &err) != NACRE_OK)
        fail_msg("%s: %s", path, err.text);
    expect_same(subject.session->shell, &text);
    for (size_t i = 0; i < losses.count; i++)
        assert_int_equal(nacre_buf_addf(&text, &err, "%d:%d %s: %s\n",
                                        losses.items[i].place.line,
                                        losses.items[i].place.column,
                                        losses.items[i].key, losses.items[i].text),
                         NACRE_OK);
    suite_expect(path, text.bytes);
}

static void each_configuration_becomes_its_policy_and_its_losses(void **state)
{
    (void)state;
    assert_true(suite_each(NACRE_SUITES_DIR "/convert", ".conf", expect_conversion, NULL) >=
                CASES_MIN);
}

static void conversion_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(subject_clear) struct subject subject = { 0 };
    struct nacre_error err;
    bool fired = true;

    (void)state;
    subject = settle(NACRE_SUITES_DIR "/convert/openclaw.conf");
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
        NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
        enum nacre_status status;

        assert_true(n < 5000);
        fail_alloc_after(n);
        status = nacre_ckp_write_session(subject.session, &text, &losses, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_becomes_its_policy_and_its_losses),
        cmocka_unit_test(conversion_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
