/*
 * Any bytes at all, as what comes to a browser's port and as what its sandbox answers:
 * what is let through holds nothing that a head could be broken with, and how an answer is
 * cut never changes what it is.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_plain(const char *text)
{
    for (; *text; text++)
        assert((unsigned char)*text >= ' ' || *text == '\t');
}

static void route(const struct door_head *head, bool is_screen)
{
    struct route route;

    route_read(head, 4000, is_screen, &route);
    if (route.is == ROUTE_REFUSED)
        return;
    assert(strlen(route.token) == TOKEN_HEX - 1);
    assert(strcmp(route.host, "127.0.0.1:4000") == 0 ||
           strcmp(route.host, "localhost:4000") == 0);
    assert(!route.path[0] || route.path[0] == '/');
    assert(!strstr(route.path, "..") && !strpbrk(route.path, "?%\\ \r\n"));
    assert_plain(route.socket.key);
    assert_plain(route.socket.extensions);
    assert_plain(route.socket.protocol);
    assert((route.is == ROUTE_FILE || route.is == ROUTE_SCREEN) == !!route.cookie[0]);
    assert(is_screen == (route.is != ROUTE_VERSION && route.is != ROUTE_CDP));
}

static void ask(const char *text, size_t size)
{
    struct door_head head = { .form = DOOR_TARGET_NONE };
    size_t used;

    if (door_head_read(text, size, false, &head, &used) == DOOR_HEAD_WHOLE) {
        route(&head, false);
        route(&head, true);
    }
    door_head_clear(&head);
}

static void answer(const char *text, size_t size)
{
    struct answer whole, cut;
    size_t used = 0, used_cut = 0;
    enum answer_is is = answer_read(text, size, &whole, &used);

    if (is != ANSWER_WHOLE)
        return;
    assert(used <= size && whole.status >= 100 && whole.status <= 599);
    assert_plain(whole.type);
    assert_plain(whole.accept);
    assert_plain(whole.extensions);
    assert_plain(whole.protocol);
    assert(answer_read(text, used, &cut, &used_cut) == ANSWER_WHOLE);
    assert(used_cut == used && memcmp(&cut, &whole, sizeof(cut)) == 0);
    assert(answer_read(text, used - 1, &cut, &used_cut) == ANSWER_MORE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of just this size: a byte beyond is seen */

    if (!text)
        return 0;
    memcpy(text, data, size);
    ask(text, size);
    answer(text, size);
    free(text);
    return 0;
}
