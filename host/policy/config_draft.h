#ifndef NACRE_POLICY_CONFIG_DRAFT_H
#define NACRE_POLICY_CONFIG_DRAFT_H

#include "config_model.h"
#include "schema.h"

/*
 * What the tables of the dialects fill in: the rules of all agents or of one, and the
 * configuration, for notes and for what it has once.
 */
struct nacre_config_draft {
    struct nacre_config *config;
    struct nacre_agent_rules rules;
};

static inline void nacre_config_draft_clear(struct nacre_config_draft *draft)
{
    nacre_agent_rules_clear(&draft->rules);
}

/* One reader for each dialect: from the root of its document.  On failure the
 * configuration is partly filled. */
typedef enum nacre_status nacre_dialect_read(const struct nacre_node *root,
                                             struct nacre_config *config,
                                             struct nacre_error *err);
nacre_dialect_read nacre_openclaw_read;
nacre_dialect_read nacre_clawdis_read;
nacre_dialect_read nacre_config_yml_read;
nacre_dialect_read nacre_clawpy_read;

/* Their tables, for who wants to look them over. */
extern const struct nacre_schema nacre_openclaw_schema, nacre_openclaw_agent_schema,
    nacre_clawdis_schema, nacre_config_yml_schema, nacre_clawpy_schema;

/* The text of a profile that is built in; NULL when there is none of that name. */
const char *nacre_clawpy_profile(const char *name);

/* ---- rows of tables; `member` is of struct nacre_config_draft ---- */

#define NACRE_SCHEMA_OF(table) { .keys = table, .count = NACRE_COUNT(table) }
#define NACRE_ROW_SECTION(key, inner) \
    .name = key, .type = NACRE_SCHEMA_SECTION, .section = &(inner)
#define NACRE_ROW_SET(key, kind, setter) \
    .name = key, .type = NACRE_SCHEMA_##kind, .set = setter
#define NACRE_ROW_OFFSET(member) .offset = offsetof(struct nacre_config_draft, member)
#define NACRE_ROW_WORD(key, member, list)                                       \
    .name = key, .type = NACRE_SCHEMA_WORD, NACRE_ROW_OFFSET(member),           \
    .place_offset = offsetof(struct nacre_config_draft, member##_place),        \
    .words = list, .word_count = NACRE_COUNT(list)
#define NACRE_ROW_FLAG(key, member) \
    .name = key, .type = NACRE_SCHEMA_FLAG, NACRE_ROW_OFFSET(member)
#define NACRE_ROW_LIMIT(key, member, least, most)                              \
    .name = key, .type = NACRE_SCHEMA_LIMIT, NACRE_ROW_OFFSET(member), .min = least, \
    .max = most
#define NACRE_ROW_AMOUNT(key, member, reader, least, most, words)              \
    .name = key, .type = NACRE_SCHEMA_AMOUNT, NACRE_ROW_OFFSET(member),        \
    .unit = reader, .min = least, .max = most, .example = words
#define NACRE_ROW_RULE(key, member) NACRE_ROW_RULE_BY(key, member, nacre_entry_text)
#define NACRE_ROW_RULE_BY(key, member, reader)                                 \
    .name = key, .type = NACRE_SCHEMA_RULE, NACRE_ROW_OFFSET(member), .entry = reader
#define NACRE_ROW_RULES(key, member, reader)                                   \
    .name = key, .type = NACRE_SCHEMA_RULES, NACRE_ROW_OFFSET(member), .entry = reader

/* ---- amounts that mean the same in every dialect ---- */

#define NACRE_MEMORY_MIN ((uint64_t)1 << 20)
#define NACRE_MEMORY_MAX ((uint64_t)1 << 40)
#define NACRE_CPUS_NANO_MIN 1000000u
#define NACRE_CPUS_NANO_MAX ((uint64_t)4096 * 1000000000u)
#define NACRE_TIMEOUT_MS_MAX 604800000u
#define NACRE_ROW_BYTES(key, member)                                               \
    NACRE_ROW_AMOUNT(key, member, nacre_unit_bytes, NACRE_MEMORY_MIN, NACRE_MEMORY_MAX, \
                     "an amount of bytes from 1m to 1t, like 512m or 2g")
#define NACRE_ROW_CPUS(key, member)                                                \
    NACRE_ROW_AMOUNT(key, member, nacre_unit_cpus, NACRE_CPUS_NANO_MIN,            \
                     NACRE_CPUS_NANO_MAX, "a number of processors from 0.001 to 4096, " \
                                          "like 1.5")
#define NACRE_ROW_TIMEOUT(key, member)                                             \
    NACRE_ROW_AMOUNT(key, member, nacre_unit_ms, 1, NACRE_TIMEOUT_MS_MAX,          \
                     "a time of at most 7 days, like 120s")

#endif
