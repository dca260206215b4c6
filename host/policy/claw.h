#ifndef NACRE_POLICY_CLAW_H
#define NACRE_POLICY_CLAW_H

#include "config_draft.h"

/*
 * What OpenClaw and Clawdis share: the tables below `sandbox`.  Their target is a
 * struct nacre_config_draft.
 */
extern const struct nacre_schema nacre_claw_docker_schema;
extern const struct nacre_schema nacre_claw_browser_schema;
extern const struct nacre_schema nacre_claw_prune_schema;
extern const struct nacre_schema nacre_claw_box_tools_schema; /* into rules.box.tools */
extern const char *const nacre_claw_mode_words[3];

typedef enum nacre_status nacre_claw_set(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err);

/* Values that need more than a row. */
nacre_claw_set nacre_claw_per_session;
nacre_claw_set nacre_claw_network;     /* none or bridge */
nacre_claw_set nacre_claw_env;         /* {K: V} to "K=V" */
nacre_claw_set nacre_claw_setup;       /* a text, or a list that newlines join */
nacre_claw_set nacre_claw_ulimits;     /* {name: soft}, {name: {soft, hard}} */
nacre_claw_set nacre_claw_docker_binds, nacre_claw_browser_binds;
nacre_claw_set nacre_claw_main_key;    /* session.mainKey */
nacre_claw_set nacre_claw_enter_docker, nacre_claw_enter_browser;
/* Refuses `$include`: what another file says would be missing. */
nacre_claw_set nacre_claw_include;
#define NACRE_CLAW_INCLUDE { NACRE_ROW_SET("$include", ANY, nacre_claw_include) }

nacre_entry_read nacre_claw_directory;  /* of the host: absolute, or below a home */
nacre_entry_read nacre_claw_prefix;     /* of the names of containers */
nacre_entry_read nacre_claw_resolver;   /* an address */
nacre_entry_read nacre_claw_extra_host; /* name:address to name=address */

/*
 * "${NAME}" in a text below `node`: OpenClaw puts a variable of its own environment
 * there.  That environment is not here, and the letters themselves would be something
 * else.
 */
NACRE_MUST_CHECK enum nacre_status nacre_claw_refuse_variables(
    const struct nacre_reading *at, const struct nacre_node *node,
    struct nacre_error *err);

/* One of "host:guest[:mode]", for `binds`. */
NACRE_MUST_CHECK enum nacre_status nacre_claw_bind(const struct nacre_reading *at,
                                                   const struct nacre_node *node,
                                                   struct nacre_bind_rule *ret_bind,
                                                   struct nacre_error *err);
/* One more; the same place inside twice is refused.  On failure `bind` is freed. */
NACRE_MUST_CHECK enum nacre_status nacre_bind_rules_add(const struct nacre_reading *at,
                                                        struct nacre_bind_rules *binds,
                                                        struct nacre_bind_rule *bind,
                                                        struct nacre_error *err);
/* Is the host's side of a bind absolute or below a home, the guest's absolute? */
NACRE_MUST_CHECK enum nacre_status
nacre_bind_host(const struct nacre_reading *at, struct nacre_place place,
                const char *text, char **ret_text, struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status
nacre_bind_guest(const struct nacre_reading *at, struct nacre_place place,
                 const char *text, char **ret_text, struct nacre_error *err);

#endif
