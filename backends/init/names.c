/* Queries are a guest's: nothing of one is believed, and what is echoed of it goes back
 * to whoever sent it. */
#include "names.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER 12
#define NAME_MAX_BYTES 255 /* with the length of each label, and the root's */
#define LABEL_MAX 63
#define TURN_MAX 64 /* queries at a time: others wait too */
#define TTL_S 60

enum { TYPE_A = 1, TYPE_ANY = 255, CLASS_IN = 1 };
enum { CODE_NONE, CODE_FORMAT = 1, CODE_NO_NAME = 3, CODE_NOT_KNOWN = 4, CODE_REFUSED };

static unsigned read_u16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

/* The name as a text in lower case; returns where it ends, 0 when it is none.  One with
 * characters that no host has is a name, which nothing matches: "". */
static size_t read_name(const uint8_t *query, size_t count, char ret_name[256])
{
    size_t at = HEADER, used = 0;
    bool is_host = true;

    while (at < count && query[at] != 0) {
        size_t length = query[at++];

        if (length > LABEL_MAX || length > count - at ||
            at - HEADER + length + 1 > NAME_MAX_BYTES)
            return 0;
        if (used > 0)
            ret_name[used++] = '.';
        for (size_t i = 0; i < length; i++) {
            char c = (char)query[at++];

            if (c >= 'A' && c <= 'Z')
                c = (char)(c - 'A' + 'a');
            is_host &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_';
            ret_name[used++] = c;
        }
    }
    ret_name[is_host ? used : 0] = '\0';
    return at < count ? at + 1 : 0;
}

static bool matches(const char *pattern, const char *name)
{
    size_t below = strlen(name), length;

    if (name[0] == '\0')
        return false;
    if (pattern[0] != '*')
        return strcmp(pattern, name) == 0;
    length = strlen(++pattern);
    return length == 0 || (below > length && strcmp(name + below - length, pattern) == 0);
}

static bool is_served(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (matches(*names, name))
            return true;
    return false;
}

size_t names_answer(const char *const *names, const uint8_t *query, size_t count,
                    uint8_t ret_answer[NAMES_ANSWER_MAX])
{
    static const uint8_t found[] = { 0xc0, HEADER, 0, TYPE_A, 0, CLASS_IN, 0, 0, 0, TTL_S,
                                     0, 4, 127, 0, 1, 1 };
    char name[256];
    size_t end, used = HEADER;
    unsigned type = 0, code = CODE_NONE;

    if (count < HEADER || query[2] & 0x80) /* an answer is not answered */
        return 0;
    memset(ret_answer, 0, HEADER);
    memcpy(ret_answer, query, 2);
    ret_answer[2] = (uint8_t)(0x80 | (query[2] & 0x79)); /* its kind, and "recurse" */
    ret_answer[3] = 0x80;
    end = read_name(query, count, name);
    if ((query[2] & 0x78) != 0)
        code = CODE_NOT_KNOWN;
    else if (read_u16(query + 4) != 1 || end == 0 || count - end < 4)
        code = CODE_FORMAT;
    else {
        type = read_u16(query + end);
        code = read_u16(query + end + 2) != CLASS_IN ? CODE_REFUSED
               : is_served(names, name)              ? CODE_NONE
                                                     : CODE_NO_NAME;
        used = end + 4;
        memcpy(ret_answer + HEADER, query + HEADER, used - HEADER);
        ret_answer[5] = 1;
    }
    ret_answer[3] |= (uint8_t)code;
    if (code == CODE_NONE && (type == TYPE_A || type == TYPE_ANY)) {
        memcpy(ret_answer + used, found, sizeof(found));
        used += sizeof(found);
        ret_answer[7] = 1;
    }
    assert(used <= NAMES_ANSWER_MAX);
    return used;
}

void names_serve(int fd, const char *const *names)
{
    uint8_t query[NAMES_ANSWER_MAX], answer[NAMES_ANSWER_MAX];

    for (int i = 0; i < TURN_MAX; i++) {
        struct sockaddr_in from;
        socklen_t size = sizeof(from);
        ssize_t count = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT,
                                 (struct sockaddr *)&from, &size);
        size_t used;

        if (count < 0)
            return;
        used = names_answer(names, query, (size_t)count, answer);
        if (used > 0)
            (void)sendto(fd, answer, used, MSG_DONTWAIT | MSG_NOSIGNAL,
                         (struct sockaddr *)&from, size);
    }
}
