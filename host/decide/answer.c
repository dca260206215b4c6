#include "nacre/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/text.h"

void nacre_answer_fix(struct nacre_answer *answer, const char *format, ...)
{
    size_t used = strlen(answer->fix);
    va_list args;

    if (used > 0 && used + 3 < sizeof(answer->fix)) {
        memcpy(answer->fix + used, "; ", 3);
        used += 2;
    }
    va_start(args, format);
    (void)vsnprintf(answer->fix + used, sizeof(answer->fix) - used, format, args);
    va_end(args);
    nacre_trim(answer->fix);
}

void nacre_answer_change(struct nacre_answer *answer, const struct nacre_policy *policy,
                         struct nacre_place place, const char *from, const char *to)
{
    char source[NACRE_SHOWN];

    nacre_answer_fix(answer, "%s:%d:%d: change '%s' to '%s'",
                     nacre_text_shown(source, policy->source), place.line, place.column,
                     from, to);
}

void nacre_answer_add(struct nacre_answer *answer, struct nacre_place list_place,
                      const char *parent, const char *key, const char *word)
{
    char yaml[NACRE_YAML_WORD];

    if (list_place.line > 0)
        nacre_answer_fix(answer, "add under spec.%s.%s: - %s", parent, key,
                         nacre_yaml_word(yaml, word));
    else
        nacre_answer_fix(answer, "add under spec.%s: %s: [%s]", parent, key,
                         nacre_yaml_word(yaml, word));
}

void nacre_answer_say(struct nacre_answer *answer, const char *key, size_t item,
                      struct nacre_place place, const char *format, ...)
{
    va_list args;

    nacre_rule_name(answer->rule, key, item);
    answer->place = place;
    va_start(args, format);
    (void)vsnprintf(answer->text, sizeof(answer->text), format, args);
    va_end(args);
    nacre_trim(answer->text);
}

void nacre_rule_name(char ret_rule[64], const char *key, size_t item)
{
    if (item > 0)
        (void)snprintf(ret_rule, 64, "%s[%zu]", key, item - 1);
    else
        (void)snprintf(ret_rule, 64, "%s", key);
}

/* Letters, digits and a few signs, and nothing that YAML takes for a number, a
 * boolean, a null or a mapping. */
static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-";
    static const char *const words[] = { "true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n" };

    if (!strchr("/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", text[0]))
        return false;
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return text[0] && text[strspn(text, plain)] == '\0';
}

const char *nacre_yaml_word(char ret_word[NACRE_YAML_WORD], const char *text)
{
    char escaped[NACRE_YAML_WORD - 8];
    size_t used = 0;

    if (is_plain(text) && strlen(text) < NACRE_YAML_WORD) {
        (void)snprintf(ret_word, NACRE_YAML_WORD, "%s", text);
        return ret_word;
    }
    /* Quotes and backslashes first; nacre_text_show() then adds only escapes that
     * mean the same in YAML. */
    for (; *text && used + 3 < sizeof(escaped); text++) {
        if (*text == '"' || *text == '\\')
            escaped[used++] = '\\';
        escaped[used++] = *text;
    }
    ret_word[0] = '"';
    (void)nacre_text_show(ret_word + 1, NACRE_YAML_WORD - 6, escaped, used);
    used = strlen(ret_word);
    (void)snprintf(ret_word + used, NACRE_YAML_WORD - used, "%s\"", *text ? "..." : "");
    return ret_word;
}

void nacre_trim(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && !nacre_text_is_utf8(text, length))
        length--;
    text[length] = '\0';
}
