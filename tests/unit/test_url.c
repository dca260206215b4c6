/* Names and URLs: one form for each, and a refusal for what two readers could take for
 * two things. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "nacre/url.h"

/* ---- names ---- */

static const struct {
    const char *text, *name;
} names[] = {
    { "api.example.com", "api.example.com" },
    { "API.Example.COM", "api.example.com" },
    { "api.example.com.", "api.example.com" },
    { "localhost", "localhost" },
    { "foo.localhost.", "foo.localhost" },
    { "a_b.example", "a_b.example" },
    { "r3---sn-4g5e6nsk.googlevideo.example", "r3---sn-4g5e6nsk.googlevideo.example" },
    { "1.example", "1.example" },
    { "192.0.2.1", "192.0.2.1" },
    { "[2001:DB8:0:0::1]", "2001:db8::1" },
    { "2001:db8::1", "2001:db8::1" },
    { "[::ffff:1.2.3.4]", "::ffff:1.2.3.4" },
    { "b\xc3\xbc""cher.example", "xn--bcher-kva.example" },
    { "B\xc3\x9c""CHER.example", "xn--bcher-kva.example" },
    { "bu\xcc\x88""cher.example", "xn--bcher-kva.example" }, /* u and a diaeresis */
    { "XN--BCHER-kva.example", "xn--bcher-kva.example" },
    { "stra\xc3\x9f""e.example", "xn--strae-oqa.example" },
    { "\xd0\x9f\xd0\xbe\xd1\x87\xd1\x82\xd0\xb0.example", "xn--80a1acny.example" },
    { "\xce\xa3.example", "xn--4xa.example" }, /* capital sigma */
    { "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae.example",
      "xn--u9ju32nb2abz6g.example" }, /* Han and Hiragana are written together */
    { "\xe4\xbe\x8b\xe5\xad\x90.\xe6\xb5\x8b\xe8\xaf\x95", "xn--fsqu00a.xn--0zwm56d" },
};

static void a_name_has_one_form(void **state)
{
    char name[NACRE_NAME_SIZE], again[NACRE_NAME_SIZE];
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        if (nacre_name_normalise(names[i].text, strlen(names[i].text), name, &err) !=
            NACRE_OK)
            fail_msg("'%s': %s", names[i].text, err.text);
        if (strcmp(name, names[i].name) != 0)
            fail_msg("'%s': %s instead of %s", names[i].text, name, names[i].name);
        assert_int_equal(nacre_name_normalise(name, strlen(name), again, &err), NACRE_OK);
        assert_string_equal(name, again);
    }
}

static const char *const bad_names[] = {
    "",
    ".",
    "..",
    "a..b",
    ".a",
    "a..",
    "-a.example",
    "a-.example",
    "a b",
    "a\tb",
    "a\nb",
    "a\r\nHost: evil",
    "a\x7f",
    "a%2eb",
    "%31%32%37.0.0.1",
    "a/b",
    "a?b",
    "a#b",
    "a\\b",
    "me@a",
    "a:80",
    "*.a",
    "a,b",
    "a'b",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.0.0.1.",
    "127.0.0.01",
    "256.0.0.1",
    "foo.1",
    "[::1",
    "::1]",
    "[]",
    "[",
    "[::1%25eth0]",
    "fe80::1%eth0",
    "[127.0.0.1]",
    "[::1].",
    "[v1.a]",
    "xn--a.example",            /* decodes to nothing */
    "xn--bcher-kva-.example",
    "xn--.example",
    "a\xff.example",            /* not UTF-8 */
    "a\xc0\xae""b",             /* an overlong dot */
    "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", /* full-width 127 */
    "\xe2\x91\xa0.example",                       /* a circled one */
    "exam\xc2\xadple.com",                        /* soft hyphen */
    "exam\xe2\x80\x8bple.com",                    /* zero-width space */
    "example\xe3\x80\x82""com",                   /* ideographic full stop */
    "example\xef\xbc\x8e""com",                   /* full-width one */
    "\xef\xbd\x85xample.com",                     /* full-width e */
    "\xd0\xb0pple.com",                           /* Cyrillic a among Latin */
    "p\xd0\xb0ypal.com",
    "g\xce\xbfogle.com",                          /* Greek omicron */
    "xn--pypal-4ve.com",                          /* the same Cyrillic a, encoded */
    "\xe2\x84\x80.com",                           /* account of */
    "a\xe2\x81\x84""b.com",                       /* fraction slash */
    "\xf0\x9f\x92\xa9.example",                   /* a symbol */
    "\xcc\x88""a.example",                        /* begins with a mark */
    "a\xe2\x80\xae.example",                      /* right to left */
};

static void a_spelling_that_means_something_else_is_refused(void **state)
{
    char name[NACRE_NAME_SIZE] = "untouched";
    char text[1200];
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad_names); i++) {
        err = (struct nacre_error){ 0 };
        if (nacre_name_normalise(bad_names[i], strlen(bad_names[i]), name, &err) !=
            NACRE_ERR_PARSE)
            fail_msg("'%s' is refused, not %s (%s)", bad_names[i], name, err.text);
        assert_true(err.text[0]);
        assert_string_equal(name, "untouched");
    }
    assert_int_equal(nacre_name_normalise("a\0b", 3, name, &err), NACRE_ERR_PARSE);
    memset(text, 'a', sizeof(text));
    assert_int_equal(nacre_name_normalise(text, 64, name, &err), NACRE_ERR_PARSE);
    assert_int_equal(nacre_name_normalise(text, sizeof(text), name, &err),
                     NACRE_ERR_PARSE);
    for (size_t i = 50; i < sizeof(text); i += 51)
        text[i] = '.';
    assert_int_equal(nacre_name_normalise(text, 253, name, &err), NACRE_OK);
    assert_int_equal(nacre_name_normalise(text, 254, name, &err), NACRE_ERR_PARSE);
    assert_int_equal(nacre_name_normalise(text, 1019, name, &err), NACRE_ERR_PARSE);
}

/* ---- URLs ---- */

static const struct {
    const char *text, *again;
} urls[] = {
    { "https://api.example.com", "https://api.example.com/" },
    { "HTTPS://API.example.com./v1?q=%20x", "https://api.example.com/v1?q=%20x" },
    { "http://a.example:80/", "http://a.example/" },
    { "https://a.example:443/", "https://a.example/" },
    { "https://a.example:80/", "https://a.example:80/" },
    { "http://a.example:8080?x=1", "http://a.example:8080/?x=1" },
    { "http://a.example/a//b/../c", "http://a.example/a//b/../c" },
    { "http://a.example/?u=http://b.example/@:",
      "http://a.example/?u=http://b.example/@:" },
    { "http://a.example/x[1]{2}|3", "http://a.example/x[1]{2}|3" },
    { "http://192.0.2.1/", "http://192.0.2.1/" },
    { "http://[2001:DB8::1]:81/x", "http://[2001:db8::1]:81/x" },
    { "https://[::1]", "https://[::1]/" },
    { "https://b\xc3\xbc""cher.example/x", "https://xn--bcher-kva.example/x" },
};

static void a_url_is_put_together_as_it_was_read(void **state)
{
    struct nacre_url url;
    struct nacre_error err;
    char text[NACRE_URL_BYTES_MAX + 300];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(urls); i++) {
        if (nacre_url_parse(urls[i].text, strlen(urls[i].text), &url, &err) != NACRE_OK)
            fail_msg("'%s': %s", urls[i].text, err.text);
        assert_true(nacre_url_text(&url, text, sizeof(text)));
        assert_string_equal(text, urls[i].again);
        assert_false(nacre_url_text(&url, text, strlen(urls[i].again)));
        assert_true(nacre_url_text(&url, text, strlen(urls[i].again) + 1));
    }
    assert_true(url.tls && url.port == 443 && !url.is_address);
    assert_int_equal(nacre_url_parse("http://192.0.2.1:81", 19, &url, &err), NACRE_OK);
    assert_true(!url.tls && url.port == 81 && url.is_address && !url.address.is_v6);
    assert_int_equal(url.address.bytes[0], 192);
}

static const char *const bad_urls[] = {
    "",
    "a.example",
    "//a.example",
    "/x",
    "http:",
    "http:/",
    "http://",
    "http:///",
    "http:///a.example/",
    "http:/a.example",
    "http:a.example",
    "http://?x",
    "http://:80/",
    "ftp://a.example/",
    "file:///etc/passwd",
    "gopher://a.example/",
    "javascript:alert(1)",
    "httpss://a.example",
    " http://a.example",
    "http://a.example/ ",
    "http://a.example/a b",
    "http://a.example/\t",
    "http://a.example/\r\nHost: b",
    "http://a.example/\x01",
    "http://a.example\\@b.example/",
    "http://a.example/\\",
    "http:\\\\a.example/",
    "http://me@a.example/",
    "http://me:pw@a.example/",
    "http://a.example@b.example/",
    "http://@a.example/",
    "http://a.example:80@b.example/",
    "http://a.example#x",
    "http://a.example/#x",
    "http://a.example#@b.example/",
    "http://a.example/?#",
    "http://a.example:/",
    "http://a.example:0/",
    "http://a.example:080/",
    "http://a.example:65536/",
    "http://a.example:99999999999/",
    "http://a.example:8a/",
    "http://a.example:-1/",
    "http://a.example:80:81/",
    "http://a%2eexample/",
    "http://a.example%00.b.example/",
    "http://a.example/%",
    "http://a.example/%4",
    "http://a.example/%zz",
    "http://a.example/\xc3\xbc",
    "http://a.example/?\xc3\xbc",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://\xef\xbc\x91.1.1.1/",
    "http://[::1/",
    "http://::1/",
    "http://2001:db8::1:80/",
    "http://[::1]x/",
    "http://[::1]80/",
    "http://[::1%25lo]/",
    "http://[127.0.0.1]/",
    "http://a..example/",
    "http://*.example/",
    "http://a example/",
    "http://a,b/",
};

static void a_url_that_two_readers_differ_on_is_refused(void **state)
{
    static char text[NACRE_URL_BYTES_MAX + 2] = "http://a.example/";
    struct nacre_url url = { .host = "untouched" };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad_urls); i++) {
        err = (struct nacre_error){ 0 };
        if (nacre_url_parse(bad_urls[i], strlen(bad_urls[i]), &url, &err) !=
            NACRE_ERR_PARSE)
            fail_msg("'%s' is refused, not %s", bad_urls[i], url.host);
        assert_non_null(strstr(err.text, "the URL is refused"));
        assert_string_equal(url.host, "untouched");
    }
    assert_int_equal(nacre_url_parse("http://a.example/\0x", 19, &url, &err),
                     NACRE_ERR_PARSE);
    memset(text + 17, 'x', sizeof(text) - 17);
    assert_int_equal(nacre_url_parse(text, NACRE_URL_BYTES_MAX + 1, &url, &err),
                     NACRE_ERR_PARSE);
    assert_int_equal(nacre_url_parse(text, NACRE_URL_BYTES_MAX, &url, &err), NACRE_OK);
}

static const struct {
    const char *location, *leads_to; /* NULL: refused */
} redirects[] = {
    { "https://b.example/y", "https://b.example/y" },
    { "HTTP://b.example", "http://b.example/" },
    { "//b.example/y", "https://b.example/y" },
    { "//b.example:81", "https://b.example:81/" },
    { "/y?z", "https://a.example:8443/y?z" },
    { "y", "https://a.example:8443/p/y" },
    { "./y", "https://a.example:8443/p/y" },
    { "../y", "https://a.example:8443/y" },
    { "../../../y/.", "https://a.example:8443/y/" },
    { "..", "https://a.example:8443/" },
    { ".", "https://a.example:8443/p/" },
    { "/a/b/../../c/./d/..", "https://a.example:8443/c/" },
    { "/..a/...", "https://a.example:8443/..a/..." },
    { "?z=../..", "https://a.example:8443/p/q?z=../.." },
    { "", "https://a.example:8443/p/q?r=/s" },
    { "#top", "https://a.example:8443/p/q?r=/s" },
    { "/y#top", "https://a.example:8443/y" },
    { "https://b.example/y#https://c.example", "https://b.example/y" },
    { "https://b.example?x#y", "https://b.example/?x" },
    { "y:z/../x", NULL },
    { "https://b.example#@c.example/", NULL },
    { "//b.example#@c.example/", NULL },
    { "https:b.example", NULL },
    { "https:///b.example", NULL },
    { "///b.example", NULL },
    { "//", NULL },
    { "ftp://b.example/", NULL },
    { "file:/etc/passwd", NULL },
    { "javascript:x", NULL },
    { "data:,x", NULL },
    { "//me@b.example/", NULL },
    { "/\\b.example/", NULL },
    { "\\\\b.example", NULL },
    { "/a b", NULL },
    { "/a\r\nSet-Cookie: x", NULL },
    { "/%", NULL },
    { "/\xc3\xbc", NULL },
    { "//127.1/", NULL },
    { "//b.example:0/", NULL },
};

static void a_redirect_leads_to_one_place_or_none(void **state)
{
    static const char base_text[] = "https://a.example:8443/p/q?r=/s";
    struct nacre_url base, url;
    struct nacre_error err;
    char text[256];

    (void)state;
    assert_int_equal(nacre_url_parse(base_text, strlen(base_text), &base, &err),
                     NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(redirects); i++) {
        const char *location = redirects[i].location;
        enum nacre_status status =
            nacre_url_resolve(&base, location, strlen(location), &url, &err);

        if ((status == NACRE_OK) != (redirects[i].leads_to != NULL))
            fail_msg("'%s': %s", location, status == NACRE_OK ? url.host : err.text);
        if (status != NACRE_OK)
            continue;
        assert_true(nacre_url_text(&url, text, sizeof(text)));
        if (strcmp(text, redirects[i].leads_to) != 0)
            fail_msg("'%s' leads to %s, not %s", location, redirects[i].leads_to, text);
    }
    /* In place, as a loop over hops does it. */
    assert_int_equal(nacre_url_resolve(&base, "x", 1, &base, &err), NACRE_OK);
    assert_string_equal(base.target, "/p/x");
}

static void a_redirect_can_not_grow_beyond_the_limit(void **state)
{
    static char text[NACRE_URL_BYTES_MAX + 1] = "http://a.example/";
    struct nacre_url base, url;
    struct nacre_error err;

    (void)state;
    memset(text + 17, 'x', sizeof(text) - 17);
    text[4000] = '/';
    assert_int_equal(nacre_url_parse(text, NACRE_URL_BYTES_MAX, &base, &err), NACRE_OK);
    memset(text, 'y', sizeof(text));
    assert_int_equal(nacre_url_resolve(&base, text, 8000, &url, &err), NACRE_ERR_PARSE);
    assert_int_equal(nacre_url_resolve(&base, text, 100, &url, &err), NACRE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_one_form),
        cmocka_unit_test(a_spelling_that_means_something_else_is_refused),
        cmocka_unit_test(a_url_is_put_together_as_it_was_read),
        cmocka_unit_test(a_url_that_two_readers_differ_on_is_refused),
        cmocka_unit_test(a_redirect_leads_to_one_place_or_none),
        cmocka_unit_test(a_redirect_can_not_grow_beyond_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
