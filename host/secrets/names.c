/* What is read here came from a command line, a request, or a file that was sealed. */
#include "names.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

bool secret_name_is_valid(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > NACRE_SECRET_NAME_MAX || !is_plain(name[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_plain(name[i]) && name[i] != '-' && name[i] != '.')
            return false;
    return true;
}

enum nacre_status secret_name_check(const char *name, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (secret_name_is_valid(name))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "'%s' is no name for a secret: 1 to %d letters, digits, '_', '-', "
                      "'.', the first a letter, a digit or '_'",
                      nacre_text_shown(shown, name), NACRE_SECRET_NAME_MAX);
}

/* KIND:WORDS, with the words of somebody's own choice. */
static bool has_kind(const char *text, const char *const kinds[])
{
    size_t length = strlen(text);

    if (length > SCOPE_BYTES_MAX || !nacre_text_is_utf8(text, length))
        return false;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]))
            return false;
    for (size_t i = 0; kinds[i]; i++) {
        size_t kind = strlen(kinds[i]);

        if (strncmp(text, kinds[i], kind) == 0 && length > kind)
            return true;
    }
    return false;
}

bool secret_scope_is_valid(const char *scope)
{
    static const char *const kinds[] = { "run:", "session:", "agent:", NULL };

    return has_kind(scope, kinds);
}

enum nacre_status secret_grant_check(const char *grant, struct nacre_error *err)
{
    static const char *const kinds[] = { "policy:", "agent:", "tool:", NULL };
    char shown[NACRE_SHOWN];

    if (strcmp(grant, "any") == 0 || has_kind(grant, kinds))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "a grant is policy:NAME, agent:ID, tool:NAME or any, of at most %d "
                      "bytes, not '%s'",
                      SCOPE_BYTES_MAX, nacre_text_shown(shown, grant));
}

static bool is_variable(const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || length >= SECRET_VARIABLE || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_plain(text[i]))
            return false;
    return true;
}

enum nacre_status secret_wish_read(const char *text, struct secret_wish *ret_wish,
                                   struct nacre_error *err)
{
    const char *equals = strchrnul(text, '=');
    struct secret_wish wish = { 0 };
    char shown[NACRE_SHOWN];
    enum nacre_status status;
    size_t used = 0;

    /* Cut where it is too long already, which its check says. */
    (void)snprintf(wish.name, sizeof(wish.name), "%.*s",
                   (int)(equals - text > INT_MAX ? INT_MAX : equals - text), text);
    status = secret_name_check(wish.name, err);
    if (status != NACRE_OK)
        return status;
    if (*equals && !is_variable(equals + 1))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "'%s' is no name for a variable: expected NAME or "
                          "NAME=VARIABLE, with letters, digits and '_'",
                          nacre_text_shown(shown, equals + 1));
    if (*equals) {
        (void)snprintf(wish.variable, sizeof(wish.variable), "%s", equals + 1);
    } else {
        if (wish.name[0] >= '0' && wish.name[0] <= '9')
            wish.variable[used++] = '_';
        for (const unsigned char *at = (unsigned char *)wish.name; *at; at++)
            wish.variable[used++] = is_plain((char)*at) ? (char)toupper(*at) : '_';
    }
    *ret_wish = wish;
    return NACRE_OK;
}

bool secret_scope_means(const char *scope, const char *session, const char *agent)
{
    if (strncmp(scope, "session:", 8) == 0)
        return session && strcmp(scope + 8, session) == 0;
    return strncmp(scope, "agent:", 6) == 0 && agent && strcmp(scope + 6, agent) == 0;
}

static bool means(const char *grant, const char *kind, const char *who)
{
    size_t length = strlen(kind);

    return who && who[0] && strncmp(grant, kind, length) == 0 &&
           strcmp(grant + length, who) == 0;
}

bool secret_is_granted(char *const *grants, const struct nacre_secret_asker *asker)
{
    for (size_t i = 0; grants[i]; i++)
        if (strcmp(grants[i], "any") == 0 || means(grants[i], "policy:", asker->policy) ||
            means(grants[i], "agent:", asker->agent) ||
            means(grants[i], "tool:", asker->tool))
            return true;
    return false;
}
