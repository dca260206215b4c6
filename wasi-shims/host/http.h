#ifndef NACRE_WASI_HTTP_H
#define NACRE_WASI_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/door_wire.h"
#include "nacre/error.h"
#include "nacre_http_abi.h"

/* The guest's responses and its line to the door. */

struct ws_response {
    bool is_open;
    uint32_t door_handle;
    char *headers; /* owned */
    uint32_t headers_size;
};

struct ws_http {
    struct ws_response responses[NACRE_DOOR_HANDLES]; /* the guest's handle is index + 1 */
    uint32_t open_count;
    bool in_message; /* and not out of it again: nobody knows what comes next */
    uint32_t error_size;
    char error[NACRE_HTTP_ERROR_MAX + 1]; /* why the last call failed */
};

struct nacre_wasi;

void ws_http_begin(struct nacre_wasi *wasi);

/* Lets go of all responses; the door closes them by itself when the run ends.  Fails when
 * the line can't be used again. */
NACRE_MUST_CHECK enum nacre_status ws_http_end(struct nacre_wasi *wasi,
                                               struct nacre_error *err);

#endif
