/*
 * Header lines and what stands for a secret in them: a field that is taken holds no
 * control character, and what comes out of an injection is either whole or refused.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "headers.h"
#include "inject.h"

static char host_name[] = "a.example", key_name[] = "K";
static struct nacre_egress_host host = { .name = host_name };
static struct nacre_egress_secret rule = { key_name, &host, 1 };
static unsigned char value[] = "the value";
static struct door_secret secret = { key_name, value, sizeof(value) - 1 };
static struct door door = { .egress = { .secrets = &rule, .secret_count = 1 },
                            .secrets = &secret, .secret_count = 1 };

static void inject(enum door_place place, const char *text, size_t count)
{
    static const struct door_target target = { &door, "a.example", 443, true };
    struct nacre_egress_verdict verdict = { 0 };
    struct door_locked out = { 0 };
    enum nacre_http_code code = door_inject(&target, place, text, count, &out, &verdict);
    bool wanted = door_inject_wanted(place, text, count);

    assert(code == NACRE_HTTP_OK || (code == NACRE_HTTP_DENIED && wanted &&
                                     verdict.code[0] && verdict.text[0]));
    if (!wanted)
        assert(code == NACRE_HTTP_OK && out.size == count &&
               (count == 0 || memcmp(out.bytes, text, count) == 0));
    else if (code == NACRE_HTTP_OK)
        assert(place == DOOR_IN_QUERY ? memmem(out.bytes, out.size, "the%20value", 11)
                                      : memmem(out.bytes, out.size, "the value", 9));
    door_locked_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    size_t left = size;
    struct door_field field;

    while (door_field_next(&at, &left, &field) == DOOR_NEXT_FIELD) {
        assert(field.name_size > 0);
        for (size_t i = 0; i < field.value_size; i++)
            assert((unsigned char)field.value[i] >= ' ' || field.value[i] == '\t');
        (void)door_field_is_ours(&field);
        (void)door_inject_wanted_authorization(field.value, field.value_size);
        inject(DOOR_IN_HEADER, field.value, field.value_size);
    }
    inject(DOOR_IN_QUERY, (const char *)data, size);
    return 0;
}
