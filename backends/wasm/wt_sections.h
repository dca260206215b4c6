#ifndef WT_SECTIONS_H
#define WT_SECTIONS_H

#include "nacre/error.h"
#include "wt_bytes.h"
#include "wt_module.h"
#include "wt_types.h"

/*
 * One pass over a binary module.  What it gives are places in the module's bytes
 * that have been checked: a type at such a place can be read again without a fault.
 */

/* As imports and exports number them. */
enum wt_kind { WT_FUNCTION, WT_TABLE, WT_MEMORY, WT_GLOBAL, WT_TAG, WT_KIND_COUNT };

/* Where each function's, table's, ... type stands; imported ones come first. */
struct wt_space {
    uint32_t *places;
    uint32_t count, allocated;
};

struct wt_item {
    struct wt_name module; /* of an import */
    struct wt_name name;
    uint32_t type_place;
    enum wt_kind kind;
};

struct wt_items {
    struct wt_item *items;
    uint32_t count;
};

struct wt_sections {
    struct wt_bytes in;    /* the module, for reading at a place */
    struct wt_space types; /* each behind its form byte, or 0 when it is no function's */
    struct wt_space spaces[WT_KIND_COUNT];
    struct wt_items imports, exports;
    uint32_t functions_defined;
    struct wt_limits memory; /* the first one's, when there is one */
    struct wt_module_tables tables;
    bool has_names;
    uint32_t needs; /* WT_NEEDS() of what is switched off */
};

/*
 * NACRE_ERR_NOT_RUNNABLE when the bytes, which start like a module, are none; `name`
 * is what the message calls them.  The code itself is the engine's to judge.
 * Release with wt_sections_clear(), after a failure too.
 */
NACRE_MUST_CHECK enum nacre_status wt_sections_read(struct wt_sections *sections,
                                                    const char *name,
                                                    const unsigned char *bytes,
                                                    size_t count,
                                                    struct nacre_error *err);
void wt_sections_clear(struct wt_sections *sections);

/* The module's bytes from `place` on. */
struct wt_bytes wt_sections_at(const struct wt_sections *sections, uint32_t place);

/* Where the type of the function (or tag) whose type_place this is stands. */
uint32_t wt_sections_function(const struct wt_sections *sections,
                              const struct wt_item *item);

#endif
