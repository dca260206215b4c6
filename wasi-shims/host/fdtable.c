#include "fdtable.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scratch.h"
#include "secrets.h"

const uint64_t ws_rights_directory =
    P1_RIGHT_FD_FDSTAT_SET_FLAGS | P1_RIGHT_FD_SYNC | P1_RIGHT_FD_ADVISE |
    P1_RIGHT_PATH_CREATE_DIRECTORY | P1_RIGHT_PATH_CREATE_FILE |
    P1_RIGHT_PATH_LINK_SOURCE | P1_RIGHT_PATH_LINK_TARGET | P1_RIGHT_PATH_OPEN |
    P1_RIGHT_FD_READDIR | P1_RIGHT_PATH_READLINK | P1_RIGHT_PATH_RENAME_SOURCE |
    P1_RIGHT_PATH_RENAME_TARGET | P1_RIGHT_PATH_FILESTAT_GET |
    P1_RIGHT_PATH_FILESTAT_SET_TIMES | P1_RIGHT_FD_FILESTAT_GET |
    P1_RIGHT_FD_FILESTAT_SET_TIMES | P1_RIGHT_PATH_SYMLINK |
    P1_RIGHT_PATH_REMOVE_DIRECTORY | P1_RIGHT_PATH_UNLINK_FILE |
    P1_RIGHT_POLL_FD_READWRITE;

const uint64_t ws_rights_file =
    P1_RIGHT_FD_DATASYNC | P1_RIGHT_FD_READ | P1_RIGHT_FD_SEEK |
    P1_RIGHT_FD_FDSTAT_SET_FLAGS | P1_RIGHT_FD_SYNC | P1_RIGHT_FD_TELL |
    P1_RIGHT_FD_WRITE | P1_RIGHT_FD_ADVISE | P1_RIGHT_FD_ALLOCATE |
    P1_RIGHT_FD_FILESTAT_GET | P1_RIGHT_FD_FILESTAT_SET_SIZE |
    P1_RIGHT_FD_FILESTAT_SET_TIMES | P1_RIGHT_POLL_FD_READWRITE;

/* Without SEEK and TELL: that is how a guest tells a terminal from a file. */
static const uint64_t rights_stream =
    P1_RIGHT_FD_FDSTAT_SET_FLAGS | P1_RIGHT_FD_FILESTAT_GET | P1_RIGHT_POLL_FD_READWRITE;

/* What is open stays what it is: the host's mounts are asked once, not in each run. */
static int identify(struct nacre_wasi *wasi, struct ws_file *file)
{
    struct ws_mount *mount = &wasi->mounts[file->mount];
    bool is_mount = file->preopen && !mount->is_private;
    struct stat st;

    if (!is_mount || mount->id.ino == 0) {
        if (fstat(file->fd, &st) != 0)
            return ws_errno(errno);
        file->id = (struct ws_id){ st.st_dev, st.st_ino };
    }
    if (is_mount && mount->id.ino == 0)
        mount->id = file->id;
    else if (is_mount)
        file->id = mount->id;
    return P1_SUCCESS;
}

int ws_directory_get(struct nacre_wasi *wasi, uint32_t number, struct ws_file **ret_file)
{
    struct ws_file *file = ws_file_get(wasi, number);

    if (!file)
        return P1_BADF;
    if (file->kind != WS_DIRECTORY)
        return P1_NOTDIR;
    if (file->fd < 0) {
        int error = ws_scratch_make(wasi, file->mount);

        if (error != P1_SUCCESS)
            return error;
        file->fd = wasi->mounts[file->mount].fd;
    }
    *ret_file = file;
    return file->id.ino == 0 ? identify(wasi, file) : P1_SUCCESS;
}

int ws_regular_get(struct nacre_wasi *wasi, uint32_t number, int otherwise,
                   struct ws_file **ret_file)
{
    struct ws_file *file = ws_file_get(wasi, number);

    if (!file)
        return P1_BADF;
    if (file->kind != WS_FILE && file->kind != WS_SECRET)
        return otherwise;
    *ret_file = file;
    return P1_SUCCESS;
}

int ws_files_room(struct nacre_wasi *wasi)
{
    if (wasi->files_open < wasi->config.open_files_max)
        return P1_SUCCESS;
    ws_deny(wasi, UINT32_MAX, "open-files", NULL);
    return P1_MFILE;
}

static bool table_reserve(struct nacre_wasi *wasi, uint32_t count)
{
    uint32_t room = wasi->file_room ? wasi->file_room : 16;
    struct ws_file *grown;

    if (count <= wasi->file_room)
        return true;
    while (room < count)
        room *= 2;
    grown = realloc(wasi->files, room * sizeof(*grown));
    if (!grown)
        return false;
    wasi->files = grown;
    wasi->file_room = room;
    return true;
}

int ws_file_add(struct nacre_wasi *wasi, const struct ws_file *file,
                uint32_t *ret_number)
{
    uint32_t number = 0;

    assert(wasi->files_open < wasi->config.open_files_max);
    while (number < wasi->file_end && wasi->files[number].kind != WS_FREE)
        number++;
    if (number == wasi->file_end) {
        if (number == INT32_MAX || !table_reserve(wasi, number + 1))
            return P1_NOMEM;
        wasi->file_end++;
    }
    wasi->files[number] = *file;
    wasi->files_open++;
    *ret_number = number;
    return P1_SUCCESS;
}

static void release(struct nacre_wasi *wasi, const struct ws_file *file)
{
    if (file->list_fd >= 0)
        (void)close(file->list_fd);
    if (file->kind != WS_INPUT && file->kind != WS_OUTPUT && !file->preopen) {
        if (file->fd >= 0)
            (void)close(file->fd);
        wasi->files_open--;
    }
    free(file->path);
}

static void table_trim(struct nacre_wasi *wasi)
{
    while (wasi->file_end > 0 && wasi->files[wasi->file_end - 1].kind == WS_FREE)
        wasi->file_end--;
}

void ws_file_close(struct nacre_wasi *wasi, uint32_t number)
{
    assert(wasi->files[number].kind != WS_FREE);
    release(wasi, &wasi->files[number]);
    wasi->files[number].kind = WS_FREE;
    table_trim(wasi);
}

int ws_file_renumber(struct nacre_wasi *wasi, uint32_t from, uint32_t to)
{
    struct ws_file replaced;

    if (!ws_file_get(wasi, from) || !ws_file_get(wasi, to))
        return P1_BADF;
    if (from == to)
        return P1_SUCCESS;
    replaced = wasi->files[to];
    wasi->files[to] = wasi->files[from];
    wasi->files[from].kind = WS_FREE;
    release(wasi, &replaced);
    table_trim(wasi);
    return P1_SUCCESS;
}

void ws_files_moved(struct nacre_wasi *wasi, uint32_t mount, const char *from,
                    const char *to)
{
    size_t from_length = strlen(from);

    for (uint32_t i = 0; i < wasi->file_end; i++) {
        struct ws_file *file = &wasi->files[i];
        char *path;

        if (file->kind != WS_DIRECTORY || file->mount != mount || !file->path ||
            strncmp(file->path, from, from_length) != 0 ||
            (file->path[from_length] != '\0' && file->path[from_length] != '/'))
            continue;
        if (asprintf(&path, "%s%s", to, file->path + from_length) < 0) {
            ws_file_close(wasi, i);
            continue;
        }
        free(file->path);
        file->path = path;
    }
}

bool ws_files_begin(struct nacre_wasi *wasi)
{
    uint32_t count = 3 + wasi->config.mount_count;
    bool has_secrets = wasi->call.secret_file_count > 0;

    if (!table_reserve(wasi, count + has_secrets))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        wasi->files[i] = (struct ws_file){
            .kind = i == 0 ? WS_INPUT : WS_OUTPUT,
            .fd = i == 0 && !wasi->call.input ? wasi->call.input_fd : -1,
            .list_fd = -1,
            .stream = i == 0 ? 0 : i - 1,
            .rights = rights_stream | (i == 0 ? P1_RIGHT_FD_READ : P1_RIGHT_FD_WRITE),
        };
    for (uint32_t i = 3; i < count; i++)
        wasi->files[i] = (struct ws_file){
            .kind = WS_DIRECTORY,
            .fd = wasi->mounts[i - 3].fd,
            .list_fd = -1,
            .mount = i - 3,
            .preopen = true,
            .rights = ws_rights_directory,
            .inheriting = ws_rights_directory | ws_rights_file,
        };
    if (has_secrets)
        ws_secrets_begin(wasi, count++);
    wasi->file_end = count;
    wasi->files_open = 0;
    return true;
}

void ws_files_end(struct nacre_wasi *wasi)
{
    while (wasi->file_end > 0)
        ws_file_close(wasi, wasi->file_end - 1);
    assert(wasi->files_open == 0);
}
