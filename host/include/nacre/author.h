#ifndef NACRE_AUTHOR_H
#define NACRE_AUTHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/manifest.h"
#include "nacre/nacre.h"

/*
 * For who writes tools: a folder that builds and passes its tests, its module by its
 * language's own toolchain, its tests as data in the sandbox.
 */

#define NACRE_LANGUAGE_MAP(X)            \
    X(C, "c")                            \
    X(ZIG, "zig")                        \
    X(GO, "go")                          \
    X(RUST, "rust")                      \
    X(ASSEMBLYSCRIPT, "assemblyscript")
enum nacre_language {
    NACRE_LANGUAGE_NONE,
#define X(id, name) NACRE_LANGUAGE_##id,
    NACRE_LANGUAGE_MAP(X)
#undef X
    NACRE_LANGUAGE_COUNT
};
const char *nacre_language_name(enum nacre_language language);
/* NONE when there is no such language. */
enum nacre_language nacre_language_find(const char *name);

/*
 * A new folder `directory` (which must not be there) with tool.yaml, source and a test,
 * for a tool called `name`: small letters, digits, '_' and '-'.
 */
NACRE_MUST_CHECK enum nacre_status nacre_author_new(enum nacre_language language,
                                                    const char *name,
                                                    const char *directory,
                                                    struct nacre_error *err);

/*
 * Builds the module of the folder by nacre/language, with the toolchain that PATH has.
 * NACRE_ERR_UNAVAILABLE: what is missing, and the package that brings it.
 * NACRE_ERR_USAGE: it does not compile; what the compiler said has gone to stderr.
 * `sdk_dir` is where the guest SDK of C lies (its parent has abi/); may be NULL.
 */
NACRE_MUST_CHECK enum nacre_status nacre_author_build(const struct nacre_manifest *manifest,
                                                      const char *sdk_dir,
                                                      struct nacre_error *err);

/*
 * Into `directory`/NAME: the module, and tool.yaml with nacre/digest.  What is there of an
 * earlier one is replaced.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_author_publish(const struct nacre_manifest *manifest, const char *directory,
                     struct nacre_error *err);

/*
 * A case is a file in the folder's tests/:
 *
 *     name: replaces one word                     # a sentence
 *     arguments: {path: a.txt, old_text: a, new_text: b}
 *     files: {a.txt: "a\n", b: {base64: AAE=}, l: {link: a.txt}, d: {directory: true}}
 *     expect: {isError: false, text: "…", text_contains: [x], code: no-match,
 *              structured: {edits: 1}}            # structured: at least these
 *     after: {a.txt: "b\n", b: {same: true}, gone.txt: null}
 *     fuel: {golden: 12345, tolerance_percent: 10}
 *     policy: deny-all                            # instead of the tool's own
 *
 * Paths are relative to /workspace, which holds `files` and nothing else.  Afterwards
 * each is as `after` says, or as before, and nothing else is there.
 */
struct nacre_case_report {
    const char *file, *name; /* name: "" when the case can't be read */
    bool passed, updated;
    uint64_t fuel;
    uint64_t wall_ns;
    const char *text; /* what differs, a line each; "" when nothing does */
};

struct nacre_test_options {
    const char *module; /* NULL: the manifest's */
    const char *policy; /* a reference; NULL: the manifest's sandbox_ref */
    const char *only;   /* cases whose file name contains it; NULL: all */
    bool update;        /* what a case expects becomes what it got, where they differ */
    uint64_t tolerance_percent; /* of the fuel that is written; 0: the case's own, or 10 */
    void (*each)(void *data, const struct nacre_case_report *report);
    void *data;
};

struct nacre_test_totals {
    uint32_t passed, failed, updated;
};

/* NACRE_OK whether they pass or not; NACRE_ERR_NOT_FOUND: there is no case. */
NACRE_MUST_CHECK enum nacre_status
nacre_author_test(struct nacre_engine *engine, const struct nacre_manifest *manifest,
                  const struct nacre_test_options *options,
                  struct nacre_test_totals *ret_totals, struct nacre_error *err);

#endif
