/* Several renames as one call of the host's; see nacre_files_abi.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nacre_tool.h"

#ifdef __wasm32__

#include <wasi/libc-find-relpath.h>

#include "nacre_files_abi.h"

__attribute__((import_module(NACRE_FILES_MODULE), import_name("rename_all")))
int nacre_rename_all(const struct nacre_rename *renames, uint32_t count, uint32_t *done);

/* Which directory of the host's it is in, and its name there. */
static bool find(const char *path, uint32_t *ret_fd, const char **ret_name,
                 uint32_t *ret_size)
{
    const char *prefix, *name;
    int fd = __wasilibc_find_abspath(path, &prefix, &name);

    if (fd < 0)
        return false;
    *ret_fd = (uint32_t)fd;
    *ret_name = name;
    *ret_size = (uint32_t)strlen(name);
    return true;
}

bool nacre_tool_rename_all(const struct nacre_tool_rename *renames, size_t count,
                           size_t *ret_done)
{
    struct nacre_rename *asked = nacre_arena((count + 1) * sizeof(*asked));
    uint32_t done = 0;

    *ret_done = 0;
    for (size_t i = 0; i < count; i++)
        if (!find(renames[i].from, &asked[i].from_fd, &asked[i].from,
                  &asked[i].from_size) ||
            !find(renames[i].to, &asked[i].to_fd, &asked[i].to, &asked[i].to_size)) {
            errno = ENOENT;
            return false;
        }
    /* wasi-libc's numbers are preview1's. */
    errno = nacre_rename_all(asked, (uint32_t)count, &done);
    *ret_done = done;
    return errno == 0;
}

#else

bool nacre_tool_rename_all(const struct nacre_tool_rename *renames, size_t count,
                           size_t *ret_done)
{
    for (*ret_done = 0; *ret_done < count; ++*ret_done)
        if (rename(renames[*ret_done].from, renames[*ret_done].to) != 0)
            return false;
    return true;
}

#endif
