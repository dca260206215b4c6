/*
 * Whatever this process gives back is wiped, whoever had it: values go through libcurl's
 * memory and OpenSSL's on their way out, and through theirs and ours when a server gives
 * them back.  Takes the place of the C library's own functions for all of them.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own names for them, beneath those that a program may replace. */
void __libc_free(void *bytes);

void free(void *bytes)
{
    if (bytes)
        explicit_bzero(bytes, malloc_usable_size(bytes));
    __libc_free(bytes);
}

void *realloc(void *bytes, size_t size)
{
    size_t had = bytes ? malloc_usable_size(bytes) : 0;
    void *moved;

    if (bytes && size > 0 && size <= had)
        return bytes;
    moved = malloc(size);
    if (moved && bytes)
        memcpy(moved, bytes, had < size ? had : size);
    if (moved)
        free(bytes);
    return moved;
}
