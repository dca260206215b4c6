/* What is done to names: made, removed, moved, linked, asked about. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fdtable.h"
#include "filestat.h"
#include "functions.h"
#include "guard.h"
#include "guest_memory.h"
#include "nacre_files_abi.h"
#include "scratch.h"
#include "secrets.h"

enum purpose { TO_ASK, TO_CHANGE };

/* The way to a place: `number` is a directory's, `name` a path and its length. */
static int find(struct nacre_wasi *wasi, const union nacre_wasi_cell *number,
                const union nacre_wasi_cell *name, enum ws_links links,
                enum purpose purpose, struct ws_place *place)
{
    char path[NACRE_PATH_MAX];
    struct ws_file *base;
    int error = P1_SUCCESS;

    /* There nothing is changed, and who asks was served before he came here. */
    if (ws_is_secrets(wasi, ws_u32(number)))
        base = ws_file_get(wasi, ws_u32(number));
    else
        error = ws_directory_get(wasi, ws_u32(number), &base);
    if (error == P1_SUCCESS)
        error = ws_guest_path(wasi, ws_u32(&name[0]), ws_u32(&name[1]), path);
    if (error == P1_SUCCESS && purpose == TO_CHANGE)
        error = ws_guard_write(wasi, base->mount, path);
    return error == P1_SUCCESS ? ws_resolve(wasi, base, path, links, place) : error;
}

static enum ws_links links_of(uint32_t lookup_flags)
{
    return lookup_flags & P1_LOOKUP_FOLLOW ? WS_LINK_FOLLOWED : WS_LINK_IF_SLASH;
}

static int must_exist(const struct ws_place *place)
{
    if (!place->exists)
        return P1_NOENT;
    return place->slash && !S_ISDIR(place->st.st_mode) ? P1_NOTDIR : P1_SUCCESS;
}

/* ---- making ---- */

/* Linux says EEXIST here before it looks at the slash. */
static int must_be_free(const struct ws_place *place)
{
    if (!place->exists)
        return P1_SUCCESS;
    return place->slash && !S_ISDIR(place->st.st_mode) ? P1_NOTDIR : P1_EXIST;
}

int ws_path_create_directory(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    int error = find(wasi, &cells[0], &cells[1], WS_LINK_KEPT, TO_CHANGE, &place);

    if (error == P1_SUCCESS)
        error = must_be_free(&place);
    if (error == P1_SUCCESS)
        error = ws_scratch_name(wasi, place.mount);
    if (error != P1_SUCCESS)
        return error;
    if (mkdirat(place.dir_fd, place.last, 0777) != 0)
        return ws_errno(errno);
    error = ws_guard_made(wasi, &place, false);
    if (error != P1_SUCCESS)
        (void)unlinkat(place.dir_fd, place.name, AT_REMOVEDIR);
    return error;
}

int ws_path_symlink(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    char target[NACRE_PATH_MAX];
    int error = ws_guest_path(wasi, ws_u32(&cells[0]), ws_u32(&cells[1]), target);

    if (error == P1_SUCCESS)
        error = find(wasi, &cells[2], &cells[3], WS_LINK_KEPT, TO_CHANGE, &place);
    if (error != P1_SUCCESS)
        return error;
    /* It could not be followed from here, and a program outside should not be led by
     * a guest to a place that the guest can't name. */
    if (target[0] == '/' && !wasi->mounts[place.mount].config->is_root) {
        ws_deny(wasi, place.mount, "escape", target);
        return P1_PERM;
    }
    error = ws_guard_above(wasi, &place);
    if (error == P1_SUCCESS)
        error = must_be_free(&place);
    if (error == P1_SUCCESS)
        error = ws_scratch_name(wasi, place.mount);
    if (error != P1_SUCCESS)
        return error;
    if (symlinkat(target, place.dir_fd, place.last) != 0)
        return ws_errno(errno);
    error = ws_guard_made(wasi, &place, true);
    if (error != P1_SUCCESS)
        (void)unlinkat(place.dir_fd, place.name, 0);
    return error;
}

int ws_path_link(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place from = WS_PLACE;
    NACRE_AUTO(ws_place_guard) struct ws_place to = WS_PLACE;
    int error;

    if (ws_u32(&cells[1]) & P1_LOOKUP_FOLLOW)
        return P1_INVAL;
    /* Changing on both sides: a second name is a way to write to what has the first. */
    error = find(wasi, &cells[0], &cells[2], WS_LINK_KEPT, TO_CHANGE, &from);
    if (error == P1_SUCCESS)
        error = find(wasi, &cells[4], &cells[5], WS_LINK_KEPT, TO_CHANGE, &to);
    if (error == P1_SUCCESS)
        error = must_exist(&from);
    if (error == P1_SUCCESS && S_ISDIR(from.st.st_mode))
        error = P1_PERM;
    if (error == P1_SUCCESS && from.mount != to.mount)
        error = P1_XDEV;
    if (error == P1_SUCCESS)
        error = ws_guard_above(wasi, &to);
    if (error == P1_SUCCESS)
        error = must_be_free(&to);
    if (error == P1_SUCCESS)
        error = ws_scratch_name(wasi, to.mount);
    if (error != P1_SUCCESS)
        return error;
    if (linkat(from.dir_fd, from.name, to.dir_fd, to.last, 0) != 0)
        return ws_errno(errno);
    error = ws_guard_made(wasi, &to, true);
    if (error != P1_SUCCESS)
        (void)unlinkat(to.dir_fd, to.name, 0);
    return error;
}

/* ---- removing and moving ---- */

static int remove_name(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells,
                       int flags)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    int error = find(wasi, &cells[0], &cells[1], WS_LINK_KEPT, TO_CHANGE, &place);

    if (error == P1_SUCCESS)
        error = ws_guard_above(wasi, &place);
    if (error != P1_SUCCESS)
        return error;
    return unlinkat(place.dir_fd, place.last, flags) == 0 ? P1_SUCCESS : ws_errno(errno);
}

int ws_path_unlink_file(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return remove_name(wasi, cells, 0);
}

int ws_path_remove_directory(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    return remove_name(wasi, cells, AT_REMOVEDIR);
}

/*
 * preview1 has no modes, so that a guest that replaces a file by a new one and a rename
 * can't make the new one like the old: a script would no longer be executable.  What was
 * there says who may read and run it; a guest can't choose.  A file with a second name is
 * not new: its mode is also that of a name which may lie outside.
 */
static void keep_mode(const struct ws_place *from, const struct ws_place *to)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    mode_t mode = to->st.st_mode & 0777;
    struct stat held;

    if (!from->exists || !to->exists || !S_ISREG(from->st.st_mode) ||
        !S_ISREG(to->st.st_mode) || from->st.st_nlink != 1 ||
        (from->st.st_mode & 0777) == mode)
        return;
    fd = openat(from->dir_fd, from->name,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &held) == 0 && held.st_dev == from->st.st_dev &&
        held.st_ino == from->st.st_ino && held.st_nlink == 1)
        (void)fchmod(fd, mode); /* another user's file keeps its own, too */
}

int ws_path_rename(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place from = WS_PLACE;
    NACRE_AUTO(ws_place_guard) struct ws_place to = WS_PLACE;
    int error = find(wasi, &cells[0], &cells[1], WS_LINK_KEPT, TO_CHANGE, &from);

    if (error == P1_SUCCESS)
        error = find(wasi, &cells[3], &cells[4], WS_LINK_KEPT, TO_CHANGE, &to);
    if (error == P1_SUCCESS && from.mount != to.mount)
        error = P1_XDEV;
    if (error == P1_SUCCESS)
        error = ws_guard_above(wasi, &from);
    if (error == P1_SUCCESS)
        error = ws_guard_above(wasi, &to);
    if (error != P1_SUCCESS)
        return error;
    keep_mode(&from, &to);
    if (renameat(from.dir_fd, from.last, to.dir_fd, to.last) != 0)
        return ws_errno(errno);
    error = ws_guard_made(wasi, &to, true);
    if (error != P1_SUCCESS) {
        (void)renameat(to.dir_fd, to.name, from.dir_fd, from.name);
        return error;
    }
    ws_files_moved(wasi, from.mount, from.path, to.path);
    return P1_SUCCESS;
}

#define RENAMES_LATE_NS (100 * NACRE_NS_PER_MS) /* less than until a worker is killed */

/* One call of the guest's: its time does not end between two of them, unless they take
 * long beyond it. */
int ws_rename_all(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    enum { WORDS = sizeof(struct nacre_rename) / sizeof(uint32_t) };
    uint64_t address = ws_u32(&cells[0]);
    uint32_t count = ws_u32(&cells[1]), done = 0;
    int error = P1_SUCCESS;

    if (count > NACRE_RENAMES_MAX)
        return P1_INVAL;
    if (!ws_guest(wasi, address, count * sizeof(struct nacre_rename)) ||
        !ws_guest(wasi, ws_u32(&cells[2]), sizeof(done)))
        return P1_FAULT;
    for (; done < count; done++, address += sizeof(struct nacre_rename)) {
        union nacre_wasi_cell rename[WORDS];
        uint32_t words[WORDS];

        if (ws_is_late(wasi) &&
            nacre_clock_ns() - wasi->call.deadline_ns >= RENAMES_LATE_NS)
            error = ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
        else
            error = ws_guest_get(wasi, address, words, sizeof(words));
        if (error != P1_SUCCESS)
            break;
        for (size_t i = 0; i < WORDS; i++)
            rename[i] = (union nacre_wasi_cell){ .i32 = (int32_t)words[i] };
        error = ws_path_rename(wasi, rename);
        if (error != P1_SUCCESS)
            break;
    }
    (void)ws_guest_put_u32(wasi, ws_u32(&cells[2]), done);
    return error;
}

/* ---- asking ---- */

int ws_path_readlink(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    uint32_t room = ws_u32(&cells[4]);
    char target[NACRE_PATH_MAX];
    ssize_t length;
    int error;

    if (ws_is_secrets(wasi, ws_u32(&cells[0])))
        return ws_secrets_readlink(wasi, &cells[1]);
    error = find(wasi, &cells[0], &cells[1], WS_LINK_KEPT, TO_ASK, &place);
    if (error == P1_SUCCESS)
        error = must_exist(&place);
    if (error != P1_SUCCESS)
        return error;
    if (!ws_guest(wasi, ws_u32(&cells[3]), room))
        return P1_FAULT;
    length = readlinkat(place.dir_fd, place.name, target, sizeof(target));
    if (length < 0)
        return ws_errno(errno);
    if ((uint64_t)length < room)
        room = (uint32_t)length;
    error = ws_guest_put(wasi, ws_u32(&cells[3]), target, room);
    return error == P1_SUCCESS ? ws_guest_put_u32(wasi, ws_u32(&cells[5]), room) : error;
}

int ws_path_filestat_get(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    enum ws_links links = links_of(ws_u32(&cells[1]));
    int error;

    if (ws_is_secrets(wasi, ws_u32(&cells[0])))
        return ws_secrets_path_stat(wasi, cells);
    error = find(wasi, &cells[0], &cells[2], links, TO_ASK, &place);
    if (error == P1_SUCCESS)
        error = must_exist(&place);
    if (error == P1_SUCCESS)
        error = ws_filestat_put(wasi, ws_u32(&cells[4]), &place.st);
    return error;
}

int ws_path_filestat_set_times(struct nacre_wasi *wasi,
                               const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    enum ws_links links = links_of(ws_u32(&cells[1]));
    struct timespec times[2];
    int error = ws_times(ws_u64(&cells[4]), ws_u64(&cells[5]), ws_u32(&cells[6]), times);

    if (error == P1_SUCCESS)
        error = find(wasi, &cells[0], &cells[2], links, TO_CHANGE, &place);
    if (error == P1_SUCCESS)
        error = must_exist(&place);
    if (error != P1_SUCCESS)
        return error;
    if (utimensat(place.dir_fd, place.name, times, AT_SYMLINK_NOFOLLOW) != 0)
        return ws_errno(errno);
    return P1_SUCCESS;
}
