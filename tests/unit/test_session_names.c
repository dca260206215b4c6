/* Names that people know their sandboxes by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/hash.h"
#include "nacre/own.h"
#include "settle.h"

#define X31 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *key, *slug;
} slugs[] = {
    { "main", "main-b28b7af6" },
    { "agent:main:main", "agent-main-main-20ceb99b" },
    { "", "session-fcbdc4c2" },
    { "   ", "session-fcbdc4c2" },
    { "session", "session-fcbdc4c2" },
    { " main ", "main-b28b7af6" },
    { "\tmain\r\n", "main-b28b7af6" },
    { "\xc2\xa0main\xef\xbb\xbf", "main-b28b7af6" }, /* U+00A0, U+FEFF */
    { "\xe3\x80\x80", "session-fcbdc4c2" },          /* U+3000 */
    { "shared", "shared-d18aac96" },
    { "agent:work", "agent-work-55c1026e" },
    { "Agent:Main:MAIN", "agent-main-main-92fc1508" },
    { "group:120363@g.us", "group-120363-g.us-2d0c89e8" },
    { "../../etc/passwd", "..-..-etc-passwd-936d7c04" },
    { "..", "..-9d891e73" },
    { "-", "session-3bc15c8a" },
    { "--a--", "a-d133a99a" },
    { "a--b", "a--b-73823f1b" },
    { "a -b", "a--b-7cbf55a1" },
    { "a.b_c-d", "a.b_c-d-febe5e2c" },
    { "A B\tC", "a-b-c-249a25f3" },
    { "ünïcode", "n-code-979fe33b" },
    { "日本語", "session-c12140a0" },
    { "🦞", "session-18568d27" },
    { "a🦞b", "a-b-2d8fd829" },
    { "\xe2\x84\xaa", "k-be474d20" },      /* the Kelvin sign */
    { "\xc4\xb0x", "i-x-e10882f1" },       /* I with a dot */
    { "\xe2\x80\xa8x", "x-11f6ad8e" },     /* U+2028 */
    { "whatsapp:+491234", "whatsapp-491234-ffca1517" },
    { "telegram:group:-100123", "telegram-group--100123-e080ddf3" },
    { "discord:channel:123456789012345678901234567890",
      "discord-channel-1234567890123456-defd94a7" },
    { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-47372a7b" },
    { X31 "/b", X31 "--c89f064d" },  /* the cut leaves a '-' that stands before more */
    { X31 "--b", X31 "--34bba850" },
    { X31 "///", X31 "-42a8d8e9" },  /* and drops one that stands at the end */
    { X31 "a---", X31 "a-89104827" },
};

static void a_slug_is_what_its_users_know(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(slugs); i++) {
        char slug[NACRE_SLUG];

        nacre_session_slug(slugs[i].key, slug);
        assert_string_equal(slug, slugs[i].slug);
    }
}

static void bytes_that_are_no_text_make_a_slug_too(void **state)
{
    char slug[NACRE_SLUG];

    (void)state;
    nacre_session_slug("\xff\xfe", slug);
    assert_memory_equal(slug, "session-", 8);
    nacre_session_slug("a\xe2\x84", slug); /* half a Kelvin sign */
    assert_memory_equal(slug, "a-", 2);
}

static void a_container_is_called_prefix_and_slug_cut_at_63(void **state)
{
    static const struct {
        const char *prefix, *key, *name;
    } rows[] = {
        { "openclaw-sbx-", "main", "openclaw-sbx-main-b28b7af6" },
        { "clawdis-sbx-", "agent:main:main", "clawdis-sbx-agent-main-main-20ceb99b" },
        { "", "shared", "shared-d18aac96" },
        { "a-prefix-of-thirty-characters-", X31 "a---",
          "a-prefix-of-thirty-characters-" X31 "a-" },
    };
    char name[NACRE_BOX_NAME];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        nacre_session_box_name(rows[i].prefix, rows[i].key, name);
        assert_string_equal(name, rows[i].name);
        assert_true(strlen(name) <= 63);
    }
}

static void a_name_that_no_engine_takes_is_made_safe_and_stays_its_own(void **state)
{
    char a[NACRE_BOX_NAME], b[NACRE_BOX_NAME], longest[200];

    (void)state;
    nacre_session_safe_name("agent_main_session_7", a);
    assert_string_equal(a, "agent_main_session_7");
    nacre_session_safe_name("heartbeat_worker", a);
    assert_string_equal(a, "heartbeat_worker");
    nacre_session_safe_name("agent_main_session_a/b", a);
    nacre_session_safe_name("agent_main_session_a:b", b);
    assert_memory_equal(a, "agent_main_session_a-b-", 23);
    assert_string_not_equal(a, b);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    nacre_session_safe_name(longest, a);
    assert_int_equal(strlen(a), 63);
    longest[100] = 'y';
    nacre_session_safe_name(longest, b);
    assert_string_not_equal(a, b);
}

static void an_agents_id_has_one_spelling(void **state)
{
    static const struct {
        const char *id, *normal;
    } rows[] = {
        { "main", "main" },      { "", "main" },        { "  ", "main" },
        { "Work", "work" },      { "a b", "a-b" },      { "../x", "x" },
        { "日本", "main" },      { "my_bot-2", "my_bot-2" }, { "a.b", "a-b" },
        { "-x-", "x" },
    };
    char id[NACRE_AGENT_ID];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        nacre_session_agent_id(rows[i].id, id);
        assert_string_equal(id, rows[i].normal);
    }
}

static void sha1_is_that_of_its_standard(void **state)
{
    static const uint8_t abc[] = { 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81,
                                   0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50,
                                   0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d };
    uint8_t digest[NACRE_SHA1_BYTES];

    (void)state;
    nacre_sha1("abc", 3, digest);
    assert_memory_equal(digest, abc, sizeof(abc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slug_is_what_its_users_know),
        cmocka_unit_test(bytes_that_are_no_text_make_a_slug_too),
        cmocka_unit_test(a_container_is_called_prefix_and_slug_cut_at_63),
        cmocka_unit_test(a_name_that_no_engine_takes_is_made_safe_and_stays_its_own),
        cmocka_unit_test(an_agents_id_has_one_spelling),
        cmocka_unit_test(sha1_is_that_of_its_standard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
