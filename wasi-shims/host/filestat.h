#ifndef NACRE_WASI_FILESTAT_H
#define NACRE_WASI_FILESTAT_H

#include "state.h"

uint8_t ws_filetype(mode_t mode);
int ws_filestat_put(const struct nacre_wasi *wasi, uint32_t address,
                    const struct stat *st);

/* INVAL for flags that contradict each other. */
int ws_times(uint64_t atim, uint64_t mtim, uint32_t flags, struct timespec ret_times[2]);

#endif
