/* CKP's names in the words of the dialect that a policy was compiled from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/answer.h"

/* "key[3]": the length of "key", and 4 in *ret_item; 0 for one without a number. */
static size_t base_of(const char *rule, size_t *ret_item)
{
    const char *bracket = strchr(rule, '[');

    *ret_item = bracket ? strtoul(bracket + 1, NULL, 10) + 1 : 0;
    return bracket ? (size_t)(bracket - rule) : strlen(rule);
}

static const struct nacre_rule_alias *find(const struct nacre_policy *policy,
                                           const char *rule, size_t length, size_t item)
{
    for (size_t i = 0; i < policy->alias_count; i++)
        if (policy->aliases[i].item == item &&
            strlen(policy->aliases[i].rule) == length &&
            strncmp(policy->aliases[i].rule, rule, length) == 0)
            return &policy->aliases[i];
    return NULL;
}

/* Every `from` in `text` that stands alone becomes `to`; what does not fit is cut. */
static void replace(char *text, size_t size, const char *from, const char *to)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-/";
    size_t length = strlen(from), grown = strlen(to);
    char *at = text;

    while ((at = strstr(at, from))) {
        size_t left = strlen(at + length);
        bool alone = (at == text || !strchr(letters, at[-1])) &&
                     (!at[length] || !strchr("abcdefghijklmnopqrstuvwxyz_", at[length]));

        if (!alone || (size_t)(at - text) + grown + left >= size) {
            at += length;
            continue;
        }
        memmove(at + grown, at + length, left + 1);
        memcpy(at, to, grown);
        at += grown;
    }
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot ? dot + 1 : key;
}

/* "spec.a.b", "spec.a: b" and a bare "b", where that is a word of its own. */
static void spell_fix(const struct nacre_policy *policy, char *fix, size_t size)
{
    for (size_t i = 0; i < policy->alias_count; i++) {
        const struct nacre_rule_alias *alias = &policy->aliases[i];
        const char *last = last_part(alias->rule);
        char whole[80], apart[80];

        if (alias->item > 0)
            continue;
        (void)snprintf(whole, sizeof(whole), "spec.%.70s", alias->rule);
        (void)snprintf(apart, sizeof(apart), "spec.%.*s: %s",
                       (int)(last > alias->rule ? last - alias->rule - 1 : 0),
                       alias->rule, last);
        replace(fix, size, whole, alias->key);
        replace(fix, size, apart, alias->key);
        if (strchr(last, '_'))
            replace(fix, size, last, last_part(alias->key));
    }
}

/* "{path: P, permissions: ro}" as a bind of the dialect's: "P:P:ro", or with the words of
 * config.yml. */
static void spell_mount(const struct nacre_policy *policy, char *fix, size_t size)
{
    static const char rule[] = "capabilities.filesystem.mount_paths";
    static const char head[] = "{path: ", middle[] = ", permissions: ";
    const struct nacre_rule_alias *alias = find(policy, rule, strlen(rule), 0);
    char *start = strstr(fix, head);
    char *words = start ? strstr(start, middle) : NULL;
    char *end = words ? strchr(words, '}') : NULL;
    char path[200], made[512];
    size_t length = end ? (size_t)(words - start) - strlen(head) : 0;

    if (!alias || !end || length >= sizeof(path))
        return;
    (void)snprintf(path, sizeof(path), "%.*s", (int)length, start + strlen(head));
    if (strcmp(last_part(alias->key), "mounts") == 0)
        (void)snprintf(made, sizeof(made),
                       "%.*s{source: %s, target: %s, mode: %.2s}%.40s",
                       (int)(start - fix), fix, path, path, words + strlen(middle),
                       end + 1);
    else
        (void)snprintf(made, sizeof(made), "%.*s\"%s:%s:%.2s\"%.40s",
                       (int)(start - fix), fix, path, path, words + strlen(middle),
                       end + 1);
    (void)snprintf(fix, size, "%s", made);
}

void nacre_policy_spell(const struct nacre_policy *policy, char rule[64], char *fix,
                        size_t fix_size)
{
    const struct nacre_rule_alias *alias;
    size_t item, length = base_of(rule, &item);
    char number[24];

    if (policy->alias_count == 0)
        return;
    (void)snprintf(number, sizeof(number), "%.23s", rule + length);
    alias = find(policy, rule, length, item);
    if (alias)
        number[0] = '\0';
    else
        alias = find(policy, rule, length, 0);
    if (alias && alias->fix[0] && fix[0])
        (void)snprintf(fix, fix_size, "%s", alias->fix);
    else
        spell_fix(policy, fix, fix_size);
    spell_mount(policy, fix, fix_size);
    if (strstr(fix, "spec."))
        (void)snprintf(fix, fix_size, "nothing in this file can say it; a policy of "
                                      "CKP's can (nacre convert --to ckp)");
    if (alias)
        (void)snprintf(rule, 64, "%.60s%s", alias->key, number);
    nacre_trim(fix);
}
