/*
 * Trusts the call's list of secrets; paths, numbers and vectors are the guest's.
 */
#include "secrets.h"

#include <string.h>
#include <unistd.h>

#include "filestat.h"
#include "functions.h"
#include "guard.h"

/* What a name of the guest's leads to. */
enum { THE_DIRECTORY = -1 };

static const struct nacre_secret_file *secret_of(const struct nacre_wasi *wasi,
                                                 const struct ws_file *file)
{
    return &wasi->call.secret_files[file->secret];
}

static int find_name(const struct nacre_wasi *wasi, const char *name, size_t length)
{
    for (uint32_t i = 0; i < wasi->call.secret_file_count; i++) {
        const char *own = wasi->call.secret_files[i].name;

        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return (int)i;
    }
    return THE_DIRECTORY;
}

/*
 * Where `path` leads: a secret's index or THE_DIRECTORY.  NOENT when it would be a name
 * in the directory and there is none such.
 */
static int find(struct nacre_wasi *wasi, const char *path, int *ret_index)
{
    int index = THE_DIRECTORY;

    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        const char *next = at + length;

        if (at == path && length == 0) {
            ws_deny(wasi, wasi->config.mount_count, "escape", path);
            return P1_PERM;
        }
        /* A file is the end of every path: not even a slash may follow. */
        if (index != THE_DIRECTORY)
            return P1_NOTDIR;
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            ws_deny(wasi, wasi->config.mount_count, "escape", path);
            return P1_PERM;
        }
        if (!(length == 1 && *at == '.')) {
            index = find_name(wasi, at, length);
            if (index == THE_DIRECTORY)
                return P1_NOENT;
            if (*next == '/')
                return P1_NOTDIR;
        }
        at = next + strspn(next, "/");
    }
    *ret_index = index;
    return P1_SUCCESS;
}

/* The number of a file as the guest sees it; 1 is the directory's. */
static uint64_t ino_of(int index)
{
    return index == THE_DIRECTORY ? 1 : (uint64_t)index + 2;
}

static int put_stat(const struct nacre_wasi *wasi, int index, uint32_t address)
{
    struct p1_filestat out = {
        .ino = ino_of(index),
        .filetype = index == THE_DIRECTORY ? P1_FILETYPE_DIRECTORY
                                           : P1_FILETYPE_REGULAR_FILE,
        .nlink = 1,
        .size = index == THE_DIRECTORY ? 0 : wasi->call.secret_files[index].count,
    };

    return ws_guest_put(wasi, address, &out, sizeof(out));
}

void ws_secrets_begin(struct nacre_wasi *wasi, uint32_t number)
{
    wasi->files[number] = (struct ws_file){
        .kind = WS_SECRETS,
        .fd = -1,
        .list_fd = -1,
        .mount = wasi->config.mount_count,
        .preopen = true,
        .rights = ws_rights_directory,
        .inheriting = ws_rights_directory | ws_rights_file,
    };
}

/* ---- opening ---- */

static int judge_open(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells,
                      const char *path, int *ret_index)
{
    uint32_t oflags = ws_u32(&cells[4]), fdflags = ws_u32(&cells[7]);
    int error;

    if ((oflags & ~P1_OFLAGS_ALL) || (fdflags & ~P1_FDFLAGS_ALL))
        return P1_INVAL;
    if (fdflags & P1_FDFLAGS_SYNC)
        return P1_NOTSUP;
    error = ws_files_room(wasi);
    if (error != P1_SUCCESS)
        return error;
    if ((ws_u64(&cells[5]) & P1_RIGHT_FD_WRITE) || (oflags & P1_OFLAG_TRUNC))
        return ws_guard_write(wasi, wasi->config.mount_count, path);
    error = find(wasi, path, ret_index);
    if (error == P1_NOENT && (oflags & P1_OFLAG_CREAT))
        return ws_guard_write(wasi, wasi->config.mount_count, path);
    if (error != P1_SUCCESS)
        return error;
    if ((oflags & P1_OFLAG_CREAT) && (oflags & P1_OFLAG_EXCL))
        return P1_EXIST;
    if (*ret_index == THE_DIRECTORY)
        return oflags & P1_OFLAG_CREAT ? P1_ISDIR : P1_SUCCESS;
    return oflags & P1_OFLAG_DIRECTORY ? P1_NOTDIR : P1_SUCCESS;
}

int ws_secrets_open(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    char path[NACRE_PATH_MAX];
    struct ws_file file = { .fd = -1, .list_fd = -1, .mount = wasi->config.mount_count };
    uint32_t number;
    int index, error = ws_guest_path(wasi, ws_u32(&cells[2]), ws_u32(&cells[3]), path);

    if (error != P1_SUCCESS)
        return error;
    if (!ws_guest(wasi, ws_u32(&cells[8]), sizeof(number)))
        return P1_FAULT;
    error = judge_open(wasi, cells, path, &index);
    if (error != P1_SUCCESS)
        return error;
    if (index == THE_DIRECTORY) {
        file.kind = WS_SECRETS;
        file.rights = ws_u64(&cells[5]) & ws_rights_directory;
        file.inheriting = ws_u64(&cells[6]);
    } else {
        file.kind = WS_SECRET;
        file.secret = (uint32_t)index;
        file.flags = (uint16_t)ws_u32(&cells[7]);
        file.rights = ws_u64(&cells[5]) & ws_rights_file;
    }
    error = ws_file_add(wasi, &file, &number);
    if (error != P1_SUCCESS)
        return error;
    wasi->call.record->files_opened++;
    return ws_guest_put_u32(wasi, ws_u32(&cells[8]), number);
}

/* ---- asking ---- */

int ws_secrets_path_stat(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    char path[NACRE_PATH_MAX];
    int index, error = ws_guest_path(wasi, ws_u32(&cells[2]), ws_u32(&cells[3]), path);

    if (error == P1_SUCCESS)
        error = find(wasi, path, &index);
    return error == P1_SUCCESS ? put_stat(wasi, index, ws_u32(&cells[4])) : error;
}

int ws_secrets_stat(struct nacre_wasi *wasi, const struct ws_file *file, uint32_t address)
{
    return put_stat(wasi, file->kind == WS_SECRETS ? THE_DIRECTORY : (int)file->secret,
                    address);
}

int ws_secrets_readlink(struct nacre_wasi *wasi, const union nacre_wasi_cell *name)
{
    char path[NACRE_PATH_MAX];
    int index, error = ws_guest_path(wasi, ws_u32(&name[0]), ws_u32(&name[1]), path);

    if (error == P1_SUCCESS)
        error = find(wasi, path, &index);
    return error == P1_SUCCESS ? P1_INVAL : error;
}

/* A cookie is how many entries came before: ".", "..", then the secrets in their order.
 * An entry that does not fit is cut: that is how the guest learns there is more. */
int ws_secrets_readdir(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    static const char *const dots[] = { ".", ".." };
    uint32_t room = ws_u32(&cells[2]), used = 0;
    unsigned char *to = ws_guest(wasi, ws_u32(&cells[1]), room);
    uint64_t end = NACRE_COUNT(dots) + (uint64_t)wasi->call.secret_file_count;

    if (!to || !ws_guest(wasi, ws_u32(&cells[4]), sizeof(used)))
        return P1_FAULT;
    for (uint64_t at = ws_u64(&cells[3]); at < end && used < room; at++) {
        bool is_dots = at < NACRE_COUNT(dots);
        int index = is_dots ? THE_DIRECTORY : (int)(at - NACRE_COUNT(dots));
        const char *name = is_dots ? dots[at] : wasi->call.secret_files[index].name;
        const struct p1_dirent entry = {
            .next = at + 1,
            .ino = ino_of(index),
            .name_length = (uint32_t)strlen(name),
            .filetype = is_dots ? P1_FILETYPE_DIRECTORY : P1_FILETYPE_REGULAR_FILE,
        };
        const void *parts[] = { &entry, name };
        const size_t sizes[] = { sizeof(entry), entry.name_length };

        for (size_t i = 0; i < NACRE_COUNT(parts); i++) {
            uint32_t left = room - used;
            uint32_t count = sizes[i] < left ? (uint32_t)sizes[i] : left;

            memcpy(to + used, parts[i], count);
            used += count;
        }
    }
    return ws_guest_put_u32(wasi, ws_u32(&cells[4]), used);
}

/* ---- reading ---- */

int ws_secret_read(struct nacre_wasi *wasi, struct ws_file *file, int64_t offset,
                   struct ws_iov *iov, uint32_t *ret_count)
{
    const struct nacre_secret_file *secret = secret_of(wasi, file);
    uint64_t at = offset < 0 ? file->position : (uint64_t)offset, begun = at;
    int error = ws_iov_fill(wasi, iov, secret->bytes, secret->count, &at);

    if (error != P1_SUCCESS)
        return error;
    if (offset < 0)
        file->position = at;
    *ret_count = (uint32_t)(at - begun);
    return P1_SUCCESS;
}

int ws_secret_seek(const struct nacre_wasi *wasi, struct ws_file *file, int64_t offset,
                   int whence, uint64_t *ret_position)
{
    int64_t from = whence == SEEK_SET   ? 0
                   : whence == SEEK_CUR ? (int64_t)file->position
                                        : (int64_t)secret_of(wasi, file)->count;

    if ((offset > 0 && from > INT64_MAX - offset) || from + offset < 0)
        return P1_INVAL;
    file->position = (uint64_t)(from + offset);
    *ret_position = file->position;
    return P1_SUCCESS;
}

uint64_t ws_secret_left(const struct nacre_wasi *wasi, const struct ws_file *file)
{
    size_t count = secret_of(wasi, file)->count;

    return file->position < count ? count - file->position : 0;
}
