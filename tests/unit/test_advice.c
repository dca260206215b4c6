/* What `nacre check` says about configurations that are legal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/advice.h"
#include "nacre/buf.h"

#define BOX(words) \
    "{agents: {defaults: {workspace: '/w', sandbox: {mode: 'all',\n" words "}}}}"
#define DOCKER(words) BOX("docker: {" words "}")
#define TOOLS(box, words)                                                 \
    "{agents: {defaults: {sandbox: {mode: 'all', " box "}}},\n"           \
    "tools: {sandbox: {tools: {" words "}}}}"

#define ELEVATED(words)                                    \
    "{agents: {defaults: {sandbox: {mode: 'all'}}},\n"     \
    "tools: {elevated: {" words "}}}"

/* The warnings as "LINE:COLUMN first words"; notes that are only told are left out. */
static void warnings_of(const char *document, struct nacre_buf *out)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_advice_clear) struct nacre_advice advice = { 0 };
    struct nacre_error err;

    if (nacre_config_parse("c.json", document, strlen(document), &config, &err) !=
            NACRE_OK ||
        nacre_config_advise(config, "/home/me", &advice, &err) != NACRE_OK)
        fail_msg("%s\n%d:%d: %s", document, err.line, err.column, err.text);
    for (size_t i = 0; i < advice.count; i++)
        if (advice.notes[i].unwise)
            assert_int_equal(nacre_buf_addf(out, &err, "%d:%d %.30s|",
                                            advice.notes[i].place.line,
                                            advice.notes[i].place.column,
                                            advice.notes[i].text),
                             NACRE_OK);
}

static const struct {
    const char *document, *warnings;
} rows[] = {
    /* Images. */
    { DOCKER("image: 'node:22'"), "" },
    { DOCKER("image: 'reg.example:5000/node:22-slim'"), "" },
    { DOCKER("image: 'node@sha256:"
             "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'"),
      "" },
    { DOCKER("image: 'node'"), "2:17 the image 'node' has no tag, w|" },
    { DOCKER("image: 'node:latest'"), "2:17 the image 'node:latest' has th|" },
    { DOCKER("image: 'reg.example:5000/node'"), "2:17 the image 'reg.example:5000/no|" },
    /* Binds. */
    { DOCKER("binds: ['/srv/d:/d:ro']"), "" },
    { DOCKER("binds: ['/w/sub:/d:rw']"), "" },
    { DOCKER("binds: ['/srv/d:/d:rw']"), "2:18 '/srv/d' is outside the worksp|" },
    { DOCKER("binds: ['/ws/d:/d:rw']"), "2:18 '/ws/d' is outside the workspa|" },
    { DOCKER("binds: ['/w/../srv:/d:rw']"), "2:18 '/w/../srv' is outside the wor|" },
    { DOCKER("binds: ['~/d:/d:rw']"), "2:18 '~/d' is outside the workspace|" },
    /* The browser. */
    { TOOLS("", "allow: ['exec'], deny: []"), "" },
    { TOOLS("", "allow: ['browser'], deny: ['browser']"), "" },
    { TOOLS("browser: {enabled: true}", "allow: ['browser'], deny: []"), "" },
    { TOOLS("", "allow: ['browser'], deny: []"), "2:35 browser is allowed and no brow|" },
    { TOOLS("", "allow: ['group:ui'], deny: []"),
      "2:35 browser is allowed and no brow|" },
    { TOOLS("", "deny: [], allow: ['exec', 'BROW*']"),
      "2:53 browser is allowed and no brow|" },
    { TOOLS("browser: {enabled: false}", "allow: ['browser'], deny: []"),
      "2:35 browser is allowed and no brow|" },
    { TOOLS("", "allow: ['exec', 'browser']"), "2:43 'browser' is allowed here and |" },
    { TOOLS("", "alsoAllow: ['cron']"), "2:39 'cron' is allowed here and sta|" },
    /* Elevation. */
    { ELEVATED("allowFrom: {chat: ['7']}"), "" },
    { ELEVATED("enabled: false, allowFrom: {chat: ['*']}"), "" },
    { ELEVATED("allowFrom: {chat: ['7', '*']}"),
      "2:44 everybody on chat may ask for |" },
    { ELEVATED("allowFrom: {a: ['7'], chat: ['chat:*']}"),
      "2:49 everybody on chat may ask for |" },
    /* What takes tools away elsewhere and not here. */
    { "{agents: {}, tools: {byProvider: {}}}",
      "1:22 tools.byProvider: not read: wh|" },
    { "{agents: {}, tools: {profile: 'minimal'}}", "" },
    /* Containers. */
    { DOCKER("user: '1000:1000'"), "" },
    { DOCKER("user: '0:0'"), "2:16 commands run as root of the sa|" },
    { DOCKER("user: 'root'"), "2:16 commands run as root of the sa|" },
    { DOCKER("user: '000'"), "2:16 commands run as root of the sa|" },
    { DOCKER("readOnlyRoot: true"), "" },
    { DOCKER("readOnlyRoot: false"), "2:24 the root can be written: a com|" },
    { DOCKER("env: {LANG: 'C', MONKEY: 'x'}"), "" },
    { DOCKER("env: {MY_TOKEN: 'x'}"), "2:26 MY_TOKEN looks like a secret t|" },
    { DOCKER("env: {db_password: 'x'}"), "2:29 db_password looks like a secre|" },
    /* config.yml keeps capabilities. */
    { "sandbox:\n  keep_capabilities: [CHOWN]\n", "" },
    { "sandbox:\n  keep_capabilities: [SYS_ADMIN]\n",
      "2:23 the capability SYS_ADMIN is a |" },
    { "sandbox:\n  keep_capabilities: [CHOWN, CAP_NET_RAW]\n",
      "2:30 the capability NET_RAW is a wa|" },
    /* What is off is off. */
    { "{agents: {defaults: {sandbox: {mode: 'off', docker: {}}}}}",
      "1:38 agents.defaults.sandbox.mode i|" },
    { "{agents: {defaults: {sandbox: {docker: {}}}}}",
      "1:22 agents.defaults.sandbox.mode i|" },
    { "sandbox:\n  enabled: false\n", "2:12 sandbox.enabled is off: no ses|" },
    { "{agents: {defaults: {workspace: '/w'}}}", "" },
    { "{agents: {defaults: {sandbox: {mode: 'non-main'}}}}", "" },
};

static void each_unwise_line_is_named_and_nothing_else(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(4096);

        warnings_of(rows[i].document, &found);
        if (strcmp(found.bytes ? found.bytes : "", rows[i].warnings) != 0) {
            print_error("%s\nexpected: %s\nfound:    %s\n", rows[i].document,
                        rows[i].warnings, found.bytes ? found.bytes : "");
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void a_secret_of_the_file_is_never_told(void **state)
{
    static const char document[] = DOCKER("env: {MY_TOKEN: 'hunter2'}");
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_advice_clear) struct nacre_advice advice = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_parse("c", document, strlen(document), &config, &err),
                     NACRE_OK);
    assert_int_equal(nacre_config_advise(config, "/home/me", &advice, &err), NACRE_OK);
    assert_true(advice.count > 0);
    for (size_t i = 0; i < advice.count; i++)
        assert_null(strstr(advice.notes[i].text, "hunter2"));
}

/* Two agents inherit one line: one warning.  Another has its own. */
static void each_warning_is_given_once_and_in_the_order_of_lines(void **state)
{
    static const char document[] =
        "{agents: {\n"
        " defaults: {sandbox: {mode: 'all', docker: {binds: ['/srv:/d:rw']}}},\n"
        " list: [{id: 'a'}, {id: 'b'},\n"
        "  {id: 'c', sandbox: {docker: {image: 'node'}}}],\n"
        "}}";
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(4096);

    (void)state;
    warnings_of(document, &found);
    assert_string_equal(found.bytes, "2:53 '/srv' is outside the workspac|"
                                     "4:39 the image 'node' has no tag, w|");
}

static void advice_survives_every_allocation_failure(void **state)
{
    static const char document[] = DOCKER("image: 'node', user: 'root'");
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err;
    bool fired = true;

    (void)state;
    assert_int_equal(nacre_config_parse("c", document, strlen(document), &config, &err),
                     NACRE_OK);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_advice_clear) struct nacre_advice advice = { 0 };
        enum nacre_status status;

        assert_true(n < 5000);
        fail_alloc_after(n);
        status = nacre_config_advise(config, "/home/me", &advice, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_unwise_line_is_named_and_nothing_else),
        cmocka_unit_test(a_secret_of_the_file_is_never_told),
        cmocka_unit_test(each_warning_is_given_once_and_in_the_order_of_lines),
        cmocka_unit_test(advice_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
