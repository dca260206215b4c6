/*
 * Any bytes at all, as a request: how they are cut never changes the verdict, and what is
 * understood and written out again is understood the same way.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 4096

static enum door_head_is read_by(const char *text, size_t size, size_t step,
                                 struct door_head *head, size_t *ret_used)
{
    enum door_head_is is = DOOR_HEAD_MORE;

    for (size_t at = step; is == DOOR_HEAD_MORE; at += step) {
        is = door_head_read(text, at < size ? at : size, false, head, ret_used);
        if (at >= size)
            break;
    }
    return is;
}

static void assert_clean(const struct door_head *head)
{
    const char *at = head->fields.bytes, *end;

    for (; at && *at; at = end + 1) {
        end = strchr(at, '\n');
        assert(end && memchr(at, ':', (size_t)(end - at)) &&
               !memchr(at, '\r', (size_t)(end - at)));
        assert(strncasecmp(at, "host:", 5) != 0 &&
               strncasecmp(at, "transfer-encoding:", 18) != 0 &&
               strncasecmp(at, "content-length:", 15) != 0);
    }
    assert(head->form != DOOR_TARGET_NONE && head->url.host[0] != '\0');
    assert(!head->is_chunked || head->body_bytes == 0);
}

static void read_body(const char *text, size_t size, const struct door_head *head)
{
    struct nacre_buf whole = NACRE_BUF(BODY_MAX), cut = NACRE_BUF(BODY_MAX);
    enum door_body_is is, early = DOOR_BODY_MORE;
    struct door_body body;
    size_t taken, at = 0;

    door_body_init(&body, head);
    is = door_body_take(&body, text, size, &whole, &taken);
    assert(taken <= size && whole.size <= BODY_MAX);
    door_body_init(&body, head);
    while (early == DOOR_BODY_MORE && at <= size) {
        size_t one;

        early = door_body_take(&body, text + at, at < size, &cut, &one);
        if (early == DOOR_BODY_MORE && at == size)
            break;
        at += one;
    }
    assert(is == early && whole.size == cut.size);
    assert(whole.size == 0 || memcmp(whole.bytes, cut.bytes, whole.size) == 0);
    assert(is != DOOR_BODY_WHOLE || at == taken);
    nacre_buf_clear(&whole);
    nacre_buf_clear(&cut);
}

static void inflate_it(const char *text, size_t size)
{
    struct nacre_buf out = NACRE_BUF(BODY_MAX);
    enum door_body_is is = door_inflate(text, size, &out);

    assert(is != DOOR_BODY_MORE && out.size <= BODY_MAX);
    nacre_buf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct door_head whole = { .scanned = 0 }, cut = { .scanned = 0 };
    char *text = malloc(size + 1);
    size_t used = 0, used_cut = 0;
    enum door_head_is is;

    assert(text);
    memcpy(text, data, size);
    is = door_head_read(text, size, false, &whole, &used);
    assert(read_by(text, size, 1 + size % 7, &cut, &used_cut) == is);
    inflate_it(text, size);
    if (is == DOOR_HEAD_WHOLE) {
        assert(used == used_cut && used <= size && whole.fields.size == cut.fields.size);
        assert(strcmp(whole.url.host, cut.url.host) == 0);
        assert_clean(&whole);
        read_body(text + used, size - used, &whole);
    }
    door_head_clear(&whole);
    door_head_clear(&cut);
    free(text);
    return 0;
}
