#ifndef NACRE_TESTS_CONTRACT_STAGE_H
#define NACRE_TESTS_CONTRACT_STAGE_H

#include "scene.h"

/*
 * One executor and what it plays: the same acts are a module at level wasm and a command
 * at the others.
 */
enum act { HELLO, EXIT_42, SPIN, FLOOD, GROW, ECHO, LEAVE_TRACE, ACTS };

struct stage {
    const char *name;
    const char *level;
    bool gvisor; /* the runtime of a container */
    bool machine; /* that takes seconds to boot: one serves for all that it can */
    bool in_process;
    const char *image;   /* of a container */
    const char *more;    /* of a policy's capabilities */
    unsigned memory_mb;  /* 0 where it can't be limited */
    const char *bounds;  /* on processes and open files, what of them can be limited */
    int calls;           /* of each thread */
};

const struct stage *stage_of(const struct scene *scene);
bool is_wasm(const struct scene *scene);
struct nacre_tool *tool_of(const struct scene *scene, enum act act);
const char *level_of(const struct scene *scene); /* as a policy has it */

/* Half a second for what must not end by itself; a container takes longer to come up. */
#define SHORT "timeout_ms: 1500, max_output_bytes: 2500"
#define PATIENT "timeout_ms: 60000"
#define LITTLE PATIENT ", max_output_bytes: 2500"
#define PROCESSES_MAX "40"
#define FILES_MAX "64"

#define POLICY 1024
const char *policy_text(const struct scene *scene, const char *limits,
                        char ret_text[POLICY]);
int line_of(const char *text, const char *word); /* on which line of a policy it is */

struct nacre_request request_of(const struct scene *scene);

struct nacre_result *play(const struct scene *scene, enum act act, const char *limits);
struct nacre_result *run_shell(const struct scene *scene, const char *shell,
                               const char *limits);
/* Runs `text` with a /workspace that is `workspace`, or private, less `denied`. */
struct nacre_result *run_in(const struct scene *scene, const char *workspace,
                            const char *denied, const char *text);

#endif
