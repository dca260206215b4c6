/* What a server says: hostile, and perhaps an echo of a secret. */
#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "headers.h"
#include "nacre/own.h"

/* What libcurl is told to make it give up. */
#define GIVE_UP 0

void fetch_forget_answer(struct door_fetch *fetch)
{
    fetch->status = 0;
    nacre_buf_clear(&fetch->head);
    fetch->head_bytes = 0;
    fetch->head_over = false;
    fetch->encoded = false;
    fetch->body_bytes = fetch->dropped_bytes = 0;
    free(fetch->location);
    fetch->location = NULL;
    nacre_leak_stream_free(fetch->scrubber);
    fetch->scrubber = NULL;
}

/* ---- the head ---- */

static bool begin_body(struct door_fetch *fetch)
{
    struct nacre_error err;

    if (!fetch->door->scrub || fetch_is_redirected(fetch))
        return true;
    if (nacre_leak_stream_new(fetch->door->scrub, &fetch->scrubber, &err) == NACRE_OK)
        return true;
    fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The answer can't be cleaned: %s", err.text);
    return false;
}

static bool end_head(struct door_fetch *fetch)
{
    long status = 0;

    (void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 101 || status < 100 || status > 999) {
        fetch_fail(fetch, NACRE_HTTP_PROTOCOL, "%.200s answers with status %ld.",
                   fetch->url.host, status);
        return false;
    }
    if (status < 200) { /* the real one is still to come */
        nacre_buf_clear(&fetch->head);
        free(fetch->location);
        fetch->location = NULL;
        return true;
    }
    fetch->status = (uint32_t)status;
    fetch->head_over = true;
    fetch_queue(fetch);
    return begin_body(fetch);
}

static bool keep_field(struct door_fetch *fetch, const struct door_field *field)
{
    struct nacre_error err;

    if (door_field_is(field, "Content-Encoding"))
        fetch->encoded = true;
    if (door_field_is(field, "Location")) {
        if (fetch->location) {
            fetch_fail(fetch, NACRE_HTTP_PROTOCOL,
                       "%.200s redirects to two places at once.", fetch->url.host);
            return false;
        }
        fetch->location = strndup(field->value, field->value_size);
    }
    if (door_field_is_theirs(field))
        return true;
    if (nacre_buf_add(&fetch->head, field->name, field->name_size, &err) == NACRE_OK &&
        nacre_buf_add(&fetch->head, ": ", 2, &err) == NACRE_OK &&
        nacre_buf_add(&fetch->head, field->value, field->value_size, &err) == NACRE_OK &&
        nacre_buf_add(&fetch->head, "\n", 1, &err) == NACRE_OK)
        return true;
    fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The answer's headers can't be kept.");
    return false;
}

/* One line, as libcurl has it: ended by CR LF or LF. */
static bool take_line(struct door_fetch *fetch, char *bytes, size_t count)
{
    const char *at = bytes;
    struct door_field field;

    if (count >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        return true;
    if (count >= 2 && bytes[count - 2] == '\r') { /* the line's own end, and no other */
        bytes[count - 2] = '\n';
        count--;
    }
    if (count == 1 && bytes[0] == '\n')
        return end_head(fetch);
    if (door_field_next(&at, &count, &field) == DOOR_NEXT_FIELD && count == 0)
        return keep_field(fetch, &field);
    fetch_fail(fetch, NACRE_HTTP_PROTOCOL,
               "A header line in the answer of %.200s is malformed.", fetch->url.host);
    return false;
}

size_t fetch_take_head(char *bytes, size_t size, size_t count, void *data)
{
    struct door_fetch *fetch = data;
    NACRE_AUTO(nacre_heap_guard) char *line = NULL;
    uint64_t most = fetch->door->egress.limits.header_bytes_max;

    count *= size;
    if (fetch->state != FETCH_SENDING)
        return GIVE_UP;
    fetch->head_bytes += count;
    if (fetch->head_bytes > most) {
        fetch_fail(fetch, NACRE_HTTP_TOO_LARGE,
                   "The headers of the answer of %.200s take more than %llu bytes.",
                   fetch->url.host, (unsigned long long)most);
        return GIVE_UP;
    }
    if (fetch->head_over)
        return count; /* trailers: nobody asked for any */
    line = malloc(count + 1);
    if (!line) {
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "No memory for the answer's headers.");
        return GIVE_UP;
    }
    memcpy(line, bytes, count);
    return take_line(fetch, line, count) ? count : GIVE_UP;
}

static bool is_length(const struct door_field *field)
{
    return door_field_is(field, "Content-Length") ||
           door_field_is(field, "Content-Encoding") ||
           door_field_is(field, "Accept-Ranges");
}

/* Lengths are of the body as it was sent; decoded or scrubbed it has another. */
static bool drop_lengths(struct door_fetch *fetch, struct nacre_buf *ret_head)
{
    const char *at = fetch->head.bytes;
    size_t left = fetch->head.size;
    bool changed = fetch->scrubber || (fetch->encoded && !fetch->raw_body);
    struct nacre_error err;

    while (left > 0) {
        const char *line = at;
        struct door_field field;

        if (door_field_next(&at, &left, &field) != DOOR_NEXT_FIELD)
            return false;
        if (changed && is_length(&field))
            continue;
        if (nacre_buf_add(ret_head, line, (size_t)(at - line), &err) != NACRE_OK)
            return false;
    }
    return true;
}

bool fetch_clean_head(struct door_fetch *fetch, struct nacre_buf *ret_head)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf kept = NACRE_BUF((size_t)2 << 20);
    struct nacre_leak_counts counts = { 0 };
    struct nacre_error err;

    if (!fetch->door->scrub)
        return drop_lengths(fetch, ret_head);
    return drop_lengths(fetch, &kept) &&
           nacre_leaks_redact(fetch->door->scrub, kept.bytes, kept.size, ret_head,
                              &counts, &err) == NACRE_OK;
}

/* ---- the body ---- */

static void keep_body(void *data, const char *bytes, size_t count)
{
    struct door_fetch *fetch = data;
    struct nacre_error err;

    if (nacre_buf_add(&fetch->pending, bytes, count, &err) != NACRE_OK)
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The answer's body can't be kept.");
    else if (!fetch_hold(fetch))
        fetch_fail(fetch, NACRE_HTTP_TOO_MANY,
                   "Over %zu MiB of answers wait to be read. Read them, or ask for less at "
                   "once.",
                   FETCH_HELD_MAX >> 20);
}

static void add_body(struct door_fetch *fetch, const char *bytes, size_t count,
                     bool at_end)
{
    struct nacre_error err;

    if (!fetch->scrubber)
        keep_body(fetch, bytes, count);
    else if (nacre_leak_stream_add(fetch->scrubber, bytes, count, at_end, keep_body,
                                   fetch, &err) != NACRE_OK)
        fetch_fail(fetch, NACRE_HTTP_INTERNAL, "The answer can't be cleaned: %s",
                   err.text);
}

/* All of it is taken: what is refused here libcurl would keep decoded, tens of megabytes
 * for each packet of a bomb.  That it waits with the next packet is up to fetch.c. */
size_t fetch_take_body(char *bytes, size_t size, size_t count, void *data)
{
    struct door_fetch *fetch = data;
    uint64_t most = fetch->door->egress.limits.body_bytes_max;

    count *= size;
    if (fetch->state != FETCH_SENDING || !fetch->head_over)
        return GIVE_UP;
    if (fetch_is_redirected(fetch)) {
        fetch->dropped_bytes += count;
        return fetch->dropped_bytes <= FETCH_DROPPED_BYTES ? count : GIVE_UP;
    }
    if (count > most - fetch->body_bytes) {
        fetch_fail(fetch, NACRE_HTTP_TOO_LARGE,
                   "The answer of %.200s is larger than the %llu bytes that may come. "
                   "Ask for a part of it.",
                   fetch->url.host, (unsigned long long)most);
        return GIVE_UP;
    }
    fetch->body_bytes += count;
    add_body(fetch, bytes, count, false);
    fetch_queue(fetch);
    return fetch->state == FETCH_SENDING ? count : GIVE_UP;
}

void fetch_end_body(struct door_fetch *fetch)
{
    if (fetch->scrubber)
        add_body(fetch, "", 0, true);
}
