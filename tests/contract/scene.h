#ifndef NACRE_TESTS_CONTRACT_SCENE_H
#define NACRE_TESTS_CONTRACT_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <signal.h>

#include "nacre/nacre.h"

/*
 * An engine as an embedder has it, in a directory of its own.  What is left in its audit
 * log at the end has to verify, and every run in it to have ended.
 */
struct scene {
    char dir[64];
    struct nacre_engine *engine;
    const void *own; /* of the test program */
    /* cmocka puts handlers of its own in place for each test; a guest's trap in this
     * process needs the engine's. */
    bool in_process;
    struct sigaction traps[4];
};

/* `options` without directories: these are the scene's. */
int scene_open(struct scene *scene, struct nacre_engine_options options);
int scene_close(struct scene *scene);

/* Of the scene's own file; a module is WebAssembly as text. */
struct nacre_tool *scene_module(const struct scene *scene, const char *wat);
struct nacre_policy *scene_policy(const char *text);

/* The records of one run, exactly a begin and an end, to be released; of the newest where
 * `run_id` is NULL. */
void scene_records(const struct scene *scene, const char *run_id, json_t **ret_begin,
                   json_t **ret_end);

/* Runs to a result; anything else fails the test, and so do records that tell another
 * story than the result.  Takes the tool. */
struct nacre_result *scene_run(const struct scene *scene, const char *policy_text,
                               struct nacre_tool *tool,
                               const struct nacre_request *request);

#endif
