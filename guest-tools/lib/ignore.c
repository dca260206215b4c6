#include "ignore.h"

#include <stdlib.h>
#include <string.h>

#include "glob.h"

#define RULES_MAX 65536U

static bool is_special(char letter)
{
    return letter == '*' || letter == '?' || letter == '[' || letter == '\\';
}

static bool is_plain(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_special(text[i]))
            return false;
    return true;
}

/* Blanks at the end do not count, unless a backslash is before them. */
static size_t without_blanks(const char *line, size_t count)
{
    size_t end = 0;

    for (size_t i = 0; i < count; i++) {
        if (line[i] == '\\' && i + 1 < count)
            end = ++i + 1;
        else if (line[i] != ' ')
            end = i + 1;
    }
    return end;
}

bool ignore_add_line(struct ignore_rules *rules, const char *line, size_t count)
{
    struct ignore_rule rule = { 0 };

    if (count > 0 && line[count - 1] == '\r')
        count--;
    if (count == 0 || line[0] == '#')
        return true;
    count = without_blanks(line, count);
    rule.negated = count > 0 && line[0] == '!';
    line += rule.negated;
    count -= rule.negated;
    if (count > 0 && line[count - 1] == '/') {
        rule.directory_only = true;
        count--;
    }
    rule.bound = memchr(line, '/', count) != NULL;
    if (count > 0 && line[0] == '/') {
        line++;
        count--;
    }
    if (count == 0)
        return true;
    rule.glob = line;
    rule.count = (uint32_t)count;
    rule.kind = is_plain(line, count) ? IGNORE_TEXT
                : !rule.bound && line[0] == '*' && is_plain(line + 1, count - 1)
                    ? IGNORE_ENDING
                    : IGNORE_GLOB;
    if (rules->count == rules->room) {
        size_t room = rules->room ? 2 * rules->room : 16;
        struct ignore_rule *grown =
            room > RULES_MAX ? NULL : realloc(rules->rules, room * sizeof(*grown));

        if (!grown)
            return false;
        rules->rules = grown;
        rules->room = room;
    }
    rules->rules[rules->count++] = rule;
    return true;
}

bool ignore_add_file(struct ignore_rules *rules, const char *bytes, size_t count)
{
    size_t at = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < count) {
        const char *newline = memchr(bytes + at, '\n', count - at);
        size_t end = newline ? (size_t)(newline - bytes) : count;

        if (!ignore_add_line(rules, bytes + at, end - at))
            return false;
        at = end + 1;
    }
    return true;
}

void ignore_clear(struct ignore_rules *rules)
{
    free(rules->rules);
    *rules = (struct ignore_rules){ 0 };
}

static bool rule_matches(const struct ignore_rule *rule, const char *text, size_t count)
{
    switch (rule->kind) {
    case IGNORE_TEXT:
        return rule->count == count && memcmp(rule->glob, text, count) == 0;
    case IGNORE_ENDING:
        return rule->count - 1 <= count &&
               memcmp(rule->glob + 1, text + count - (rule->count - 1),
                      rule->count - 1) == 0;
    case IGNORE_GLOB:
        break;
    }
    return glob_matches(rule->glob, rule->count, text, count);
}

enum ignore_verdict ignore_judge(const struct ignore_rules *rules, const char *path,
                                 size_t path_count, const char *name, bool is_directory)
{
    size_t name_count = path_count - (size_t)(name - path);

    for (size_t i = rules->count; i > 0; i--) {
        const struct ignore_rule *rule = &rules->rules[i - 1];

        if (rule->directory_only && !is_directory)
            continue;
        if (rule_matches(rule, rule->bound ? path : name,
                         rule->bound ? path_count : name_count))
            return rule->negated ? IGNORE_KEPT : IGNORE_LEFT_OUT;
    }
    return IGNORE_NONE;
}
