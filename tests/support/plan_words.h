#ifndef NACRE_TEST_PLAN_WORDS_H
#define NACRE_TEST_PLAN_WORDS_H

/* Policies in few words, for tables of tests.  After <cmocka.h>. */

#include "nacre/policy.h"

/* Six lines: what a table row writes starts on line 7, in the spec. */
#define HEAD                 \
    "claw: \"0.3.0\"\n"      \
    "kind: Sandbox\n"        \
    "metadata:\n"            \
    "  name: tested\n"       \
    "spec:\n"                \
    "  level: wasm\n"
#define CAPABILITIES HEAD "  capabilities:\n"
#define FILES CAPABILITIES "    filesystem:\n" /* ends on line 8 */

#define MOUNT(path, permissions) \
    "        - {path: " path ", permissions: " permissions "}\n"
#define SCOPED                                                                           \
    FILES "      mode: scoped\n      mount_paths:\n" /* entries from line 11 on */
#define READ_ONLY FILES "      mode: read-only\n      mount_paths:\n"
#define FULL FILES "      mode: full\n      mount_paths:\n"
#define DENIED(paths) "      denied_paths: [" paths "]\n"

#define LIMITS HEAD "  resource_limits:\n" /* ends on line 7 */
#define NET CAPABILITIES "    network:\n"
#define SECRETS CAPABILITIES "    secrets:\n"
#define SHELL CAPABILITIES "    shell:\n"
#define LEVEL(words)        \
    "claw: \"0.3.0\"\n"     \
    "kind: Sandbox\n"       \
    "metadata:\n"           \
    "  name: tested\n"      \
    "spec:\n"               \
    "  level: " words "\n"

static inline struct nacre_policy *policy_of(const char *yaml)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err = { 0 };

    if (nacre_policy_parse("p.yaml", yaml, strlen(yaml), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s in:\n%s", err.line, err.column, err.text, yaml);
    return policy;
}

#endif
