#include "answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
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
