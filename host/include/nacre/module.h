#ifndef NACRE_MODULE_H
#define NACRE_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/tool.h"

/* What a module is and wants, read from its sections without compiling it. */

#define NACRE_CAPABILITY_MAP(X)          \
    X(NONE, "none")                      \
    X(FILES, "filesystem")               \
    X(CLOCK, "clock")                    \
    X(RANDOM, "random")                  \
    X(OUTPUT, "stdio")                   \
    X(NETWORK, "network")                \
    X(PROCESS, "process")
enum nacre_capability {
#define X(id, name) NACRE_CAPABILITY_##id,
    NACRE_CAPABILITY_MAP(X)
#undef X
    NACRE_CAPABILITY_COUNT
};
const char *nacre_capability_name(enum nacre_capability capability);

struct nacre_module_item {
    char *module; /* of an import; NULL for an export */
    char *name;
    char kind;       /* 'f'unc, 'm'emory, 't'able, 'g'lobal, 'e'xception tag */
    char *signature; /* "(i32, i32) -> i32" for functions, "1..16 pages" for memories */
    bool known;      /* an import that nacre serves */
    enum nacre_capability capability; /* of a known import */
};

struct nacre_module_info {
    struct nacre_module_item *imports, *exports;
    uint32_t import_count, export_count;
    uint32_t function_count; /* defined, not imported */
    uint64_t memory_pages_min, memory_pages_max; /* max UINT64_MAX: none said */
    bool has_memory, is_command, is_reactor, has_names;
    char refused[160]; /* why it can't run: "needs memory64, ..."; "" when it can */
};

/* Reads the module's sections; never compiles or runs it.  NACRE_ERR_NOT_RUNNABLE
 * for what is not a core WebAssembly module, with a sentence that says what it is. */
NACRE_MUST_CHECK enum nacre_status nacre_module_read(const struct nacre_tool *tool,
                                                     struct nacre_module_info **ret_info,
                                                     struct nacre_error *err);
void nacre_module_info_free(struct nacre_module_info *info); /* accepts NULL */
NACRE_OWNED(nacre_module_info)

#endif
