#ifndef NACRE_TEST_CONFIG_WORDS_H
#define NACRE_TEST_CONFIG_WORDS_H

/* Configurations by hand, as a reader leaves them.  After <cmocka.h>. */

#include <stdlib.h>
#include <string.h>

#include "nacre/config.h"

#define HOME "/home/u"

static inline struct nacre_place at(int line)
{
    return (struct nacre_place){ line, 3 };
}

static inline struct nacre_config *config_of(enum nacre_dialect dialect)
{
    struct nacre_config *config = calloc(1, sizeof(*config));

    assert_non_null(config);
    config->source = strdup("openclaw.json");
    config->dialect = dialect;
    return config;
}

/* Only one: a second would move the first. */
static inline struct nacre_agent_rules *agent_of(struct nacre_config *config,
                                                 const char *id)
{
    assert_int_equal(config->agent_count, 0);
    config->agents = calloc(1, sizeof(*config->agents));
    assert_non_null(config->agents);
    config->agent_count = 1;
    config->agents[0].id = strdup(id);
    config->agents[0].place = at(2);
    return &config->agents[0];
}

static inline void set_text(struct nacre_rule *rule, const char *text, int line)
{
    *rule = (struct nacre_rule){ strdup(text), at(line) };
}

static inline void add_rule(struct nacre_rules *rules, const char *text, int line)
{
    rules->items = realloc(rules->items, (rules->count + 1) * sizeof(*rules->items));
    assert_non_null(rules->items);
    set_text(&rules->items[rules->count++], text, line);
    if (rules->place.line == 0)
        rules->place = at(line);
}

/* "a b c", each a line further down; "[]" is a list that is there and empty. */
static inline void add_rules(struct nacre_rules *rules, const char *words, int line)
{
    char text[512], *rest = text, *word;

    if (!words)
        return;
    rules->place = at(line);
    if (strcmp(words, "[]") == 0)
        return;
    assert_true(strlen(words) < sizeof(text));
    memcpy(text, words, strlen(words) + 1);
    while ((word = strsep(&rest, " ")))
        add_rule(rules, word, ++line);
}

static inline void add_bind(struct nacre_bind_rules *binds, const char *host,
                            const char *guest, bool writable, int line)
{
    binds->items = realloc(binds->items, (binds->count + 1) * sizeof(*binds->items));
    assert_non_null(binds->items);
    binds->items[binds->count++] = (struct nacre_bind_rule){
        strdup(host), strdup(guest), writable, at(line),
    };
    binds->place = at(line);
}

static inline void set_mode(struct nacre_box_rules *box, enum nacre_mode mode, int line)
{
    box->mode = mode;
    box->mode_place = at(line);
}

static inline void set_scope(struct nacre_box_rules *box, enum nacre_scope scope,
                             int line)
{
    box->scope = scope;
    box->scope_place = at(line);
}

static inline void set_access(struct nacre_box_rules *box, enum nacre_access access,
                              int line)
{
    box->access = access;
    box->access_place = at(line);
}

#endif
