#ifndef NACRE_AUDIT_READ_H
#define NACRE_AUDIT_READ_H

#include <stdint.h>

#include "nacre/error.h"

/* A plain file, to read only; NACRE_ERR_NOT_FOUND when it is not there. */
NACRE_MUST_CHECK enum nacre_status audit_file_read_open(const char *path, int *ret_fd,
                                                        uint64_t *ret_size,
                                                        struct nacre_error *err);

#endif
