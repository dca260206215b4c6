#ifndef NACRE_TOOLS_RULES_H
#define NACRE_TOOLS_RULES_H

#include "nacre/approval.h"
#include "nacre/nacre.h"

/*
 * host.yaml as it is now, kept with an engine for as long as its file is the same (device,
 * inode, size, times: what changes its owner or mode changes one of them).  Who holds it
 * keeps what it got.  From several threads.
 */
struct tools_rules;

NACRE_MUST_CHECK enum nacre_status tools_rules_get(struct nacre_engine *engine,
                                                   struct tools_rules **ret_rules,
                                                   struct nacre_error *err);
const struct nacre_host_rules *tools_rules_of(const struct tools_rules *rules);
void tools_rules_put(struct tools_rules *rules); /* accepts NULL */

static inline void tools_rules_guard(struct tools_rules **rules)
{
    tools_rules_put(*rules);
}

#endif
