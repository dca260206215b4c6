/* Trusts neither side: a rule comes from a policy, a host from a guest. */
#include "host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "nacre/decide.h"
#include "nacre/text.h"

#define NAME_MAX_LENGTH 253
#define LABEL_MAX_LENGTH 63

static bool is_letter_or_digit(char character)
{
    return (character >= 'a' && character <= 'z') ||
           (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9');
}

bool nacre_host_split(const char *text, struct nacre_host *ret_host)
{
    const char *colon = strrchr(text, ':');
    struct nacre_host host = { .name = text, .length = strlen(text) };

    if (colon) {
        uint64_t port;

        if (colon[1] == '0' || !nacre_text_u64(colon + 1, 65535, &port))
            return false;
        host.length = (size_t)(colon - text);
        host.port = (unsigned)port;
    }
    if (host.length > 1 && host.name[host.length - 1] == '.')
        host.length--;
    *ret_host = host;
    return true;
}

static bool is_label(const char *label, size_t length)
{
    if (length == 0 || length > LABEL_MAX_LENGTH || label[0] == '-' ||
        label[length - 1] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_letter_or_digit(label[i]) && label[i] != '-' && label[i] != '_')
            return false;
    return true;
}

/* What the resolvers of browsers and libcs take for a number. */
static bool is_numeric_label(const char *label, size_t length)
{
    if (length >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
        return true;
    for (size_t i = 0; i < length; i++)
        if (label[i] < '0' || label[i] > '9')
            return false;
    return true;
}

bool nacre_host_is_address(const char *name, size_t length)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr address;

    if (length >= sizeof(text))
        return false;
    memcpy(text, name, length);
    text[length] = '\0';
    return inet_pton(AF_INET, text, &address) == 1;
}

bool nacre_host_is_name(const char *name, size_t length)
{
    size_t start = 0;

    if (length == 0 || length > NAME_MAX_LENGTH)
        return false;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && name[i] != '.')
            continue;
        if (!is_label(name + start, i - start))
            return false;
        if (i == length && is_numeric_label(name + start, i - start))
            return nacre_host_is_address(name, length);
        start = i + 1;
    }
    return true;
}

bool nacre_host_matches(const char *rule, const char *host)
{
    struct nacre_host allowed, asked;
    bool below = rule[0] == '*' && rule[1] == '.';

    if (!nacre_host_split(below ? rule + 2 : rule, &allowed) ||
        !nacre_host_split(host, &asked))
        return false;
    if (!nacre_host_is_name(asked.name, asked.length))
        return false;
    if (allowed.port != 0 && allowed.port != asked.port)
        return false;
    if (below) {
        /* At least one character and the dot that keeps evilexample.com out. */
        if (asked.length < allowed.length + 2 ||
            asked.name[asked.length - allowed.length - 1] != '.')
            return false;
        asked.name += asked.length - allowed.length;
        asked.length = allowed.length;
    }
    return asked.length == allowed.length &&
           strncasecmp(asked.name, allowed.name, allowed.length) == 0;
}
