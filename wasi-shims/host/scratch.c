#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>

#include "nacre/tree.h"

static bool random_name(char ret_name[40])
{
    uint64_t bits[2];

    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        return false;
    (void)snprintf(ret_name, 40, "%016llx%016llx", (unsigned long long)bits[0],
                   (unsigned long long)bits[1]);
    return true;
}

int ws_scratch_make(struct nacre_wasi *wasi, uint32_t mount)
{
    struct ws_mount *own = &wasi->mounts[mount];

    if (own->fd >= 0)
        return P1_SUCCESS;
    if (!random_name(own->name))
        return P1_IO;
    if (mkdirat(wasi->config.scratch_fd, own->name, 0700) != 0)
        return ws_errno(errno);
    own->fd = openat(wasi->config.scratch_fd, own->name,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (own->fd < 0) {
        int error = ws_errno(errno);

        (void)unlinkat(wasi->config.scratch_fd, own->name, AT_REMOVEDIR);
        return error;
    }
    return P1_SUCCESS;
}

int ws_scratch_name(struct nacre_wasi *wasi, uint32_t mount)
{
    if (!wasi->mounts[mount].is_private)
        return P1_SUCCESS;
    if (wasi->scratch_files >= wasi->config.scratch_files_max) {
        ws_deny(wasi, mount, "scratch-full", NULL);
        return P1_NOSPC;
    }
    wasi->scratch_files++;
    return P1_SUCCESS;
}

int ws_scratch_reach(struct nacre_wasi *wasi, const struct ws_file *file, uint64_t end)
{
    if (!wasi->mounts[file->mount].is_private || end <= file->size_counted)
        return P1_SUCCESS;
    if (end - file->size_counted <= wasi->config.scratch_bytes_max - wasi->scratch_bytes)
        return P1_SUCCESS;
    ws_deny(wasi, file->mount, "scratch-full", NULL);
    return P1_NOSPC;
}

void ws_scratch_paid(struct nacre_wasi *wasi, struct ws_file *file, uint64_t end)
{
    if (!wasi->mounts[file->mount].is_private || end <= file->size_counted)
        return;
    wasi->scratch_bytes += end - file->size_counted;
    file->size_counted = end;
}

enum nacre_status ws_scratch_end(struct nacre_wasi *wasi, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < wasi->config.mount_count; i++) {
        struct ws_mount *own = &wasi->mounts[i];

        if (!own->is_private || own->fd < 0)
            continue;
        (void)close(own->fd);
        own->fd = -1;
        if (nacre_tree_remove(wasi->config.scratch_fd, own->name, err) != NACRE_OK)
            status = nacre_fail_context(err, "private directory");
    }
    return status;
}
