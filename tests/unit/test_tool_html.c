/* What guest-tools/fetch makes of pages and character sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "html.h"

static int clear(void **state)
{
    (void)state;
    nacre_arena_reset();
    return 0;
}

static void a_page_becomes_text(void **state)
{
    static const struct {
        const char *page, *text, *title;
    } rows[] = {
        { "", "", "" },
        { "a  b\n\tc ", "a b c", "" },
        { "<p>a<p>b</p>c", "a\n\nb\n\nc", "" },
        { "<div>a</div><div>b</div>", "a\nb", "" },
        { "a<br>b<BR/>c", "a\nb\nc", "" },
        { "<h1>A</h1><h3>B</h3><h6>C</h6>", "# A\n\n### B\n\n###### C", "" },
        { "<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n  - c\n\nd", "" },
        { "<ol><li>a</li><li>b</li></ol>", "1. a\n2. b", "" },
        { "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2", "" },
        { "<pre>a\n  b &lt;</pre>c", "a\n  b <\n\nc", "" },
        { "<a href='/x'>y</a>", "[y](/x)", "" },
        { "<a href=/x?a=1&amp;b=(2)>y", "[y](/x?a=1&b=%282%29)", "" },
        { "<a href=\" h \n i \">y</a>", "[y](h%20%20i%20)", "" },
        { "<a href='/x'></a>z", "z", "" },
        { "<a href='#x'>y</a><a href='JavaScript:z'>w</a>", "yw", "" },
        { "<a href=x>a<a href=y>b</a>", "[a](x)[b](y)", "" },
        { "<img src=x alt='a &amp; b'><img>", "![a & b]", "" },
        { "<title> A &amp;\n B </title>c", "c", "A & B" },
        { "<title>a</title><title>b</title>", "", "a" },
        { "<title>a", "", "a" },
        { "<script>a</script>b<SCRIPT>c</script >d<style>e</style>", "bd", "" },
        { "<script>\"</scripts>\"</script>b", "b", "" },
        { "<script>never ends", "", "" },
        { "a<!-- b -- > c -->d<!-->e<!--->f<!doctype x>g<?php y ?>h", "adefgh", "" },
        { "a<!-- never ends", "a", "" },
        { "a<svg><svg>b</svg>c</svg>d", "ad", "" },
        { "a<div hidden>b<div>c</div>d</div>e<template>f</template>", "ae", "" },
        { "<span hidden>never ends", "", "" },
        { "a < b <3 <", "a < b <3 <", "" },
        { "a</ b>c", "a</ b>c", "" },
        { "a<b", "a", "" },
        { "a<b c='>'>d", "ad", "" },
        { "a<b c=\"", "a", "" },
        { "&amp;&lt;&#65;&#x42;&#x43&nbsp;&hellip;", "&<ABC\xc2\xa0…", "" },
        { "&#0;&#xd800;&#x110000;&#150;&#99999999999999999999;", "���–�9999;", "" },
        { "&nope; & &; &amp &#; &#x;", "&nope; & &; &amp &#; &#x;", "" },
        { "<hr>a<blockquote>b</blockquote>", "---\n\na\n\nb", "" },
        { "</p></ul></ol></pre></a>x", "x", "" },
        { "<p \xff\xfe=1>\xff", "\xff", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t count = strlen(rows[i].page);
        char *page_bytes = malloc(count + 1); /* no NUL behind it */
        struct html_page page;

        memcpy(page_bytes, rows[i].page, count);
        html_read(page_bytes, count, &page);
        if (strcmp(page.text.bytes, rows[i].text) != 0)
            fail_msg("%s: got '%s', wanted '%s'", rows[i].page, page.text.bytes,
                     rows[i].text);
        assert_string_equal(page.title.count > 0 ? page.title.bytes : "", rows[i].title);
        free(page_bytes);
        nacre_arena_reset();
    }
}

/* Of each a megabyte and more: what looks back at every one would never end. */
static void hostile_pages_are_read_once(void **state)
{
    static const char *const pieces[] = {
        "<", "</", "<a ", "<a href='", "<a href=\"x\">", "<a href=x>y", "<!--", "<!", "<!-",
        "-->", "&", "&#", "&#0", "&amp", "<ul>", "<ul><li>", "<ol><li>x", "<pre>", "<div>",
        "<div hidden>", "<svg>", "</svg>", "<title>", "<script>", "<script></script", "</script",
        "<style></styl", "<td>", "<tr><td>", "<h6>", "<p a=b c=d ", "='", " \t\n", "\xff", "",
    };
    size_t size = 1500000;
    char *bytes = malloc(size);
    struct html_page page;

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t length = strlen(pieces[i]);

        for (size_t at = 0; at < size; at++)
            bytes[at] = length > 0 ? pieces[i][at % length] : '\0';
        html_read(bytes, size, &page);
        assert_true(page.text.count <= 16 * size + 64);
        nacre_arena_reset();
    }
    free(bytes);
}

static void a_charset_is_found_where_it_is_said(void **state)
{
    static const struct {
        const char *type, *bytes;
        bool is_html;
        enum charset charset;
    } rows[] = {
        { "text/html; charset=utf-8", "", true, CHARSET_UTF8 },
        { "text/html;CHARSET=\"ISO-8859-1\"", "", true, CHARSET_CP1252 },
        { "text/html; charset = latin1", "", true, CHARSET_CP1252 },
        { "text/html; charset=koi8-r", "", true, CHARSET_OTHER },
        { "text/html; charset=", "", true, CHARSET_UNKNOWN },
        { "text/html; charset", "", true, CHARSET_UNKNOWN },
        { "text/html", "\xef\xbb\xbfx", true, CHARSET_UTF8 },
        { "text/html", "\xff\xfex", true, CHARSET_OTHER },
        { "text/html", "<meta charset=windows-1252>", true, CHARSET_CP1252 },
        { "text/html", "<META http-equiv=x content='text/html; charset=utf-8'>", true,
          CHARSET_UTF8 },
        { "text/html; charset=utf-8", "<meta charset=latin1>", true, CHARSET_UTF8 },
        { "text/plain", "<meta charset=latin1>", false, CHARSET_UNKNOWN },
        { "text/html", "<p>charset=latin1</p>", true, CHARSET_UNKNOWN },
        { "text/html", "<meta charset=latin1", true, CHARSET_UNKNOWN },
        { "", "", true, CHARSET_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[32];

        if (charset_find(rows[i].type, rows[i].bytes, strlen(rows[i].bytes),
                         rows[i].is_html, name) != rows[i].charset)
            fail_msg("%s, %s", rows[i].type, rows[i].bytes);
    }
}

static void every_byte_of_windows_1252_becomes_utf_8(void **state)
{
    struct nacre_text text = { 0 };
    char bytes[255];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i + 1);
    charset_decode_cp1252(bytes, sizeof(bytes), &text);
    assert_true(charset_is_utf8(text.bytes, text.count, false));
    assert_non_null(strstr(text.bytes, "€"));
    assert_non_null(strstr(text.bytes, "þÿ"));
    assert_false(charset_is_utf8("a\xc3", 2, false));
    assert_true(charset_is_utf8("a\xc3", 2, true));
    assert_false(charset_is_utf8("\xff" "abcdef", 7, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_page_becomes_text, clear),
        cmocka_unit_test_teardown(hostile_pages_are_read_once, clear),
        cmocka_unit_test_teardown(a_charset_is_found_where_it_is_said, clear),
        cmocka_unit_test_teardown(every_byte_of_windows_1252_becomes_utf_8, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
