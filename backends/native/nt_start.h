#ifndef NACRE_NATIVE_START_H
#define NACRE_NATIVE_START_H

#include "nacre/own.h"
#include "nacre/tool.h"
#include "nt_box.h"

/* A command's words and variables, put together; they point into tool and request. */
struct nt_words {
    const char **arguments, **environment; /* NULL-terminated; the arrays are owned */
};

/*
 * `defaults` (NULL-terminated "K=V") hold where the request says nothing of that name.
 * NACRE_ERR_USAGE when one of the request's is no "K=V"; NACRE_ERR_DENIED when it would
 * change what runs.
 */
NACRE_MUST_CHECK enum nacre_status nt_words_make(const struct nacre_tool *tool,
                                                 const struct nacre_request *request,
                                                 const char *const *defaults,
                                                 struct nt_words *ret_words,
                                                 struct nacre_error *err);
void nt_words_clear(struct nt_words *words);

#endif
