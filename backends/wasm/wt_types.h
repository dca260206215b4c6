#ifndef WT_TYPES_H
#define WT_TYPES_H

#include "wt_bytes.h"

/* Types as a module spells them: read, judged and, where asked, put into words. */

/* What the engine has switched off (wt_engine.c), by the names people know. */
#define WT_NEED_MAP(X)                                        \
    X(MULTI_MEMORY, "multi-memory")                           \
    X(MEMORY64, "memory64")                                   \
    X(THREADS, "threads")                                     \
    X(GC, "GC")                                               \
    X(EXTERNREF, "externref")                                 \
    X(EXCEPTIONS, "exceptions")                               \
    X(CUSTOM_PAGES, "custom page sizes")                      \
    X(STACK_SWITCHING, "stack switching")                     \
    X(FUNCTION_REFERENCES, "typed function references")       \
    X(COMPACT_IMPORTS, "compact imports")

enum wt_need {
#define X(id, name) WT_NEED_##id,
    WT_NEED_MAP(X)
#undef X
    WT_NEED_COUNT
};
#define WT_NEEDS(id) (1u << WT_NEED_##id)

/* Words for a person; what does not fit is cut and ends in "...". */
struct wt_text {
    char bytes[256];
    size_t used;
};

void wt_text_add(struct wt_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct wt_limits {
    uint64_t min, max; /* max UINT64_MAX: none said */
};

/*
 * Each reads one type.  *needs gains what it takes from the proposals above; `text`
 * may be NULL.  A fault is left in `in`.
 */
void wt_value_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text);
void wt_function_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text);
void wt_global_type(struct wt_bytes *in, uint32_t *needs, struct wt_text *text);
struct wt_limits wt_memory_type(struct wt_bytes *in, uint32_t *needs,
                                struct wt_text *text);
struct wt_limits wt_table_type(struct wt_bytes *in, uint32_t *needs,
                               struct wt_text *text);

/* The function type at `in`, behind its 0x60, in letters as nacre_wasi_function has
 * them ("iI:i"); '?' for all but i32 and i64.  What does not fit is cut. */
void wt_function_letters(struct wt_bytes *in, char *ret_letters, size_t size);

/* Behind its leading byte `form`: struct, array or continuation. */
void wt_composite_type(struct wt_bytes *in, uint8_t form, uint32_t *needs);

/* A constant expression, up to and with its end. */
void wt_constant(struct wt_bytes *in, uint32_t *needs);

#define WT_FORM_FUNCTION 0x60
#define WT_FORM_REC 0x4e
#define WT_FORM_SUB_FINAL 0x4f
#define WT_FORM_SUB 0x50
#define WT_FORM_SHARED 0x65

#endif
