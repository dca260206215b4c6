/* The four bytes by which a finding can begin: none is missing, and all are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leak_scan.h"

static struct nacre_leaks *made(const char *secret, uint32_t patterns)
{
    struct nacre_leak_value value = { .name = "X", .count = strlen(secret),
                                      .bytes = (const unsigned char *)secret };
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_leaks_new(&value, 1, patterns, &leaks, &err), NACRE_OK);
    return leaks;
}

static bool has(const struct nacre_leaks *leaks, const unsigned char *key, uint32_t owner)
{
    const struct leak_entry *entry;
    size_t count = leak_index_find(&leaks->index, key, &entry);

    for (size_t i = 0; i < count; i++)
        if (entry[i].owner == owner)
            return true;
    return false;
}

/* Every byte at every place, where the scanner tries a few. */
static size_t check_all(const struct nacre_leaks *leaks, enum leak_form form,
                        unsigned char *key, size_t used)
{
    size_t found = 0;

    if (used == LEAK_KEY_BYTES) {
        if (!has(leaks, key, (uint32_t)form))
            fail_msg("form %d may begin with '%.4s'", (int)form, (const char *)key);
        return 1;
    }
    for (unsigned next = 0; next < 256; next++) {
        key[used] = (unsigned char)next;
        if (leak_value_read(leaks->values, form, key, used + 1).is_open)
            found += check_all(leaks, form, key, used + 1);
    }
    return found;
}

static void no_beginning_of_a_value_is_missing(void **state)
{
    static const char *const secrets[] = {
        "hunter22", "?~+/>>", "'\"'\\'x", "\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80",
        "%%41 +",
        "\x01\x02\x1b\x07\x7f\xff", "\n-\\n\r\t.", "      .      ", "0x00000",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(secrets); i++) {
        struct nacre_leaks *leaks = made(secrets[i], 0);
        size_t found = 0;

        for (enum leak_form form = 0; leaks->value_count > 0 && form < LEAK_FORM_COUNT;
             form++) {
            unsigned char key[LEAK_KEY_BYTES];

            found += check_all(leaks, form, key, 0);
        }
        assert_int_equal(found, leaks->index.entry_count);
        nacre_leaks_free(leaks);
    }
}

static void every_key_is_met_wherever_it_stands(void **state)
{
    struct nacre_leaks *leaks = made("hunter22", NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 0; i < leaks->index.entry_count; i++)
        for (size_t before = 0; before < 9; before++)
            for (size_t after = 0; after < 9; after++) {
                unsigned char text[32];
                size_t count = before + LEAK_KEY_BYTES + after, at = 0;

                memset(text, 1, sizeof(text));
                memcpy(text + before, &leaks->index.entries[i].key, LEAK_KEY_BYTES);
                while (at < before)
                    at = leak_index_next(&leaks->index, text, at, count) + 1;
                if (before == 0)
                    at = leak_index_next(&leaks->index, text, 0, count) + 1;
                assert_int_equal(at, before + 1);
            }
    nacre_leaks_free(leaks);
}

static void every_beginning_of_a_key_is_held(void **state)
{
    struct nacre_leaks *leaks = made("hunter22", NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 0; i < leaks->index.entry_count; i++)
        for (size_t count = 1; count < LEAK_KEY_BYTES; count++) {
            unsigned char key[LEAK_KEY_BYTES];

            memcpy(key, &leaks->index.entries[i].key, sizeof(key));
            assert_true(leak_index_begins(&leaks->index, key, count));
        }
    assert_false(leak_index_begins(&leaks->index, (const unsigned char *)"\x01", 1));
    nacre_leaks_free(leaks);
}

static void an_index_is_sorted_without_twins(void **state)
{
    struct nacre_leaks *leaks = made("aaaaaaaa", NACRE_LEAK_PATTERNS);

    (void)state;
    for (size_t i = 1; i < leaks->index.entry_count; i++) {
        const struct leak_entry *one = &leaks->index.entries[i - 1], *next = one + 1;

        assert_true(one->key < next->key ||
                    (one->key == next->key && one->owner < next->owner));
    }
    nacre_leaks_free(leaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_beginning_of_a_value_is_missing),
        cmocka_unit_test(every_key_is_met_wherever_it_stands),
        cmocka_unit_test(every_beginning_of_a_key_is_held),
        cmocka_unit_test(an_index_is_sorted_without_twins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
