#ifndef NACRE_CLI_DOCUMENT_H
#define NACRE_CLI_DOCUMENT_H

#include "nacre/buf.h"
#include "nacre/document.h"

/*
 * All of a document's bytes, which may be anybody's: from stdin for "-", else from a
 * regular file.  `buf` is empty and has the limit NACRE_DOCUMENT_BYTES_MAX.
 */
NACRE_MUST_CHECK enum nacre_status cli_document_read(const char *path,
                                                     struct nacre_buf *buf,
                                                     struct nacre_error *err);

#endif
