#ifndef NACRE_INPUT_H
#define NACRE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/policy.h"

/*
 * The scan of what a tool is given: its arguments and its input.  One table of rules,
 * each with a score that counts once however often it is found; the sum makes it safe,
 * suspect or an attack.
 *
 * It is a smoke detector, not a wall: who rephrases passes.  The sandbox is the wall.
 * What it reads through: letter case, full-width letters, blanks of any kind and number,
 * zero-width and tag characters between letters, and base64 (once) around any of it.
 * What it does not: other alphabets that look alike, paraphrase, languages beyond the few
 * in the table, compression, encryption, text in pictures.
 */

/* The annotations of a CKP policy (metadata.annotations) that say struct nacre_policy's
 * `input` and what CKP has no key for; every other one that begins with NACRE_ANNOTATION
 * is an error. */
#define NACRE_ANNOTATION "nacre/"
#define NACRE_ANNOTATION_SCAN NACRE_ANNOTATION "input-scan"       /* off, on, strict */
#define NACRE_ANNOTATION_SUSPECT NACRE_ANNOTATION "on-suspect"    /* allow, warn, block */
#define NACRE_ANNOTATION_ATTACK NACRE_ANNOTATION "on-attack"      /* the same */
#define NACRE_ANNOTATION_INTENT NACRE_ANNOTATION "require-intent" /* "true", ... */
#define NACRE_ANNOTATION_DENIED NACRE_ANNOTATION "denied-hosts"   /* HOST, HOST, ... */

#define NACRE_INPUT_CLASS_MAP(X) \
    X(NONE, "none")              /* nothing was scanned */ \
    X(SAFE, "safe")              \
    X(SUSPECT, "suspect")        \
    X(ATTACK, "attack")
enum nacre_input_class {
#define X(id, name) NACRE_INPUT_CLASS_##id,
    NACRE_INPUT_CLASS_MAP(X)
#undef X
    NACRE_INPUT_CLASS_COUNT
};
const char *nacre_input_class_name(enum nacre_input_class class);
const char *nacre_input_mode_name(enum nacre_input_mode mode);
const char *nacre_input_action_name(enum nacre_input_action action);
const char *nacre_intent_need_name(enum nacre_intent_need need);

/* From which sum on.  Mode `strict` needs less. */
#define NACRE_INPUT_SUSPECT 30
#define NACRE_INPUT_ATTACK 80
#define NACRE_INPUT_STRICT_SUSPECT 15
#define NACRE_INPUT_STRICT_ATTACK 50

#define NACRE_INPUT_RULES_MAX 32
#define NACRE_INPUT_BYTES_MAX ((size_t)64 << 20) /* of a stdin that is scanned */

struct nacre_input_hit {
    const char *rule;   /* its name; static */
    uint32_t score;
    const char *where;  /* as nacre_input_scan_add() was told */
    size_t offset;      /* in what was added: near where it begins */
    bool encoded;       /* found in what base64 held */
};

/* Zeroed is a new scan.  Holds no memory of its own. */
struct nacre_input_scan {
    uint32_t score, hit_count;
    struct nacre_input_hit hits[NACRE_INPUT_RULES_MAX];
};

/* Adds what is in `bytes`; `where` outlives the scan.  A rule that can't be decided (a
 * match limit) counts as found. */
NACRE_MUST_CHECK enum nacre_status nacre_input_scan_add(struct nacre_input_scan *scan,
                                                        const char *where,
                                                        const void *bytes, size_t count,
                                                        struct nacre_error *err);

/* `mode` is ON or STRICT. */
enum nacre_input_class nacre_input_scan_class(const struct nacre_input_scan *scan,
                                              enum nacre_input_mode mode);

/* The hit with the highest score, the first of them; NULL when there is none. */
const struct nacre_input_hit *nacre_input_scan_worst(const struct nacre_input_scan *scan);

/* What becomes of a class by a policy; unsaid, a suspect is told, an attack blocked. */
enum nacre_input_action nacre_input_action(const struct nacre_policy *policy,
                                           enum nacre_input_class class);

/* A row of the table, for `nacre input-scan --list` and for tests; NULL past the end. */
struct nacre_input_rule {
    const char *name;
    uint32_t score;
    const char *about; /* what it finds, in a few words */
    /* NULL-terminated, texts as C has them: what is found, and what looks like it but
     * may not be. */
    const char *const *examples, *const *counter_examples;
};
const struct nacre_input_rule *nacre_input_rule(size_t index);

#endif
