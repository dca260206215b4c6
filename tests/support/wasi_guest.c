#include "wasi_guest.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/tree.h"

#define MUST(condition)                                                       \
    do {                                                                      \
        if (!(condition)) {                                                   \
            dprintf(2, "%s:%d: %s (errno %m)\n", __FILE__, __LINE__, #condition); \
            abort();                                                          \
        }                                                                     \
    } while (0)

/* ---- outside ---- */

bool outside_holds(const struct guest *guest, const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(guest->top_fd, path, O_RDONLY | O_CLOEXEC);
    char bytes[256];
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

    return got == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)got) == 0;
}

void outside_file(const struct guest *guest, const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(guest->top_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    MUST(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

void outside_dir(const struct guest *guest, const char *path)
{
    MUST(mkdirat(guest->top_fd, path, 0700) == 0);
}

void outside_link(const struct guest *guest, const char *target, const char *path)
{
    MUST(symlinkat(target, guest->top_fd, path) == 0);
}

bool outside_exists(const struct guest *guest, const char *path)
{
    return faccessat(guest->top_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

uint32_t outside_count(const struct guest *guest, const char *path)
{
    int fd = openat(guest->top_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(fd);
    uint32_t count = 0;
    struct dirent *entry;

    MUST(dir);
    while ((entry = readdir(dir)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir);
    return count;
}

/* ---- life ---- */

static void fill(struct guest *guest, const char *dir)
{
    char path[64];

    outside_dir(guest, dir);
    (void)snprintf(path, sizeof(path), "%s/file", dir);
    outside_file(guest, path, "inside");
    (void)snprintf(path, sizeof(path), "%s/dir", dir);
    outside_dir(guest, path);
    (void)snprintf(path, sizeof(path), "%s/dir/deep", dir);
    outside_file(guest, path, "inside");
}

void guest_prepare(struct guest *guest)
{
    int ro_fd;

    memset(guest, 0, sizeof(*guest));
    (void)snprintf(guest->top, sizeof(guest->top), "/tmp/nacre-test-XXXXXX");
    MUST(mkdtemp(guest->top));
    guest->top_fd = open(guest->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fill(guest, "in");
    fill(guest, "ro");
    outside_dir(guest, "out");
    outside_file(guest, "out/canary", "outside");
    outside_dir(guest, "scratch");
    guest->in_fd = openat(guest->top_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ro_fd = openat(guest->top_fd, "ro", O_PATH | O_DIRECTORY | O_CLOEXEC);
    guest->scratch_fd =
        openat(guest->top_fd, "scratch", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(guest->in_fd >= 0 && ro_fd >= 0 && guest->scratch_fd >= 0);
    guest->mounts[0] =
        (struct nacre_wasi_mount){ .guest = "/in", .fd = guest->in_fd, .writable = true };
    guest->mounts[1] = (struct nacre_wasi_mount){ .guest = "/ro", .fd = ro_fd };
    guest->mounts[2] =
        (struct nacre_wasi_mount){ .guest = "/own", .fd = -1, .writable = true };
    guest->config = (struct nacre_wasi_config){
        .mounts = guest->mounts,
        .mount_count = NACRE_COUNT(guest->mounts),
        .scratch_fd = guest->scratch_fd,
        .open_files_max = 16,
        .scratch_bytes_max = 10000,
        .scratch_files_max = 100,
    };
    guest->memory = (struct nacre_wasi_memory){ malloc(GUEST_MEMORY), GUEST_MEMORY };
    MUST(guest->memory.base);
    memset(guest->memory.base, 0xAA, GUEST_MEMORY);
    guest->call = (struct nacre_wasi_call){
        .input_fd = -1,
        .deadline_ns = nacre_clock_ns() + 600 * NACRE_NS_PER_S,
        .memory = &guest->memory,
        .record = &guest->record,
        .output = { guest->output[0], guest->output[1] },
        .output_bytes_max = GUEST_OUTPUT,
    };
}

void guest_start(struct guest *guest)
{
    struct nacre_error err;

    MUST(nacre_wasi_new(&guest->config, &guest->wasi, &err) == NACRE_OK);
    MUST(nacre_wasi_begin(guest->wasi, &guest->call, &err) == NACRE_OK);
}

void guest_restart(struct guest *guest)
{
    struct nacre_error err;

    MUST(nacre_wasi_end(guest->wasi, &err) == NACRE_OK);
    memset(&guest->record, 0, sizeof(guest->record));
    MUST(nacre_wasi_begin(guest->wasi, &guest->call, &err) == NACRE_OK);
}

void guest_finish(struct guest *guest)
{
    struct nacre_error err;

    MUST(nacre_wasi_end(guest->wasi, &err) == NACRE_OK);
    nacre_wasi_free(guest->wasi);
    MUST(outside_count(guest, "scratch") == 0);
    (void)close(guest->in_fd);
    (void)close(guest->mounts[1].fd);
    (void)close(guest->scratch_fd);
    (void)close(guest->top_fd);
    MUST(nacre_tree_remove(AT_FDCWD, guest->top, &err) == NACRE_OK);
    free(guest->memory.base);
}

/* ---- calls ---- */

int guest_call(struct guest *guest, const char *name, const int64_t *numbers)
{
    union nacre_wasi_cell cells[16];
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);

    /* What lies above an i32 in its cell is not the guest's argument. */
    memset(cells, 0xFF, sizeof(cells));
    for (uint32_t i = 0; i < count; i++) {
        const char *letter = functions[i].signature;

        if (strcmp(functions[i].name, name) != 0)
            continue;
        for (int at = 0; letter[at] != ':'; at++) {
            if (letter[at] == 'I')
                cells[at].i64 = numbers[at];
            else
                cells[at].i32 = (int32_t)numbers[at];
        }
        return nacre_wasi_enter(guest->wasi, &functions[i], cells);
    }
    dprintf(2, "no function is called %s\n", name);
    abort();
}

uint32_t guest_text(struct guest *guest, uint32_t address, const char *text)
{
    MUST(address + strlen(text) <= guest->memory.size);
    memcpy(guest->memory.base + address, text, strlen(text));
    return (uint32_t)strlen(text);
}

uint32_t guest_u32(const struct guest *guest, uint32_t address)
{
    uint32_t value;

    memcpy(&value, guest->memory.base + address, sizeof(value));
    return value;
}

uint64_t guest_u64(const struct guest *guest, uint32_t address)
{
    uint64_t value;

    memcpy(&value, guest->memory.base + address, sizeof(value));
    return value;
}

int guest_open(struct guest *guest, uint32_t dir, const char *path, uint32_t lookup,
               uint32_t oflags, uint64_t rights, uint32_t *ret_number)
{
    uint32_t length = guest_text(guest, GUEST_TEXT, path);
    int error = CALL(guest, "path_open", dir, lookup, GUEST_TEXT, length, oflags,
                     (int64_t)rights, 0, 0, GUEST_RESULT);

    if (error == P1_SUCCESS)
        *ret_number = guest_u32(guest, GUEST_RESULT);
    return error;
}

int guest_close(struct guest *guest, uint32_t number)
{
    return CALL(guest, "fd_close", number);
}

int guest_stat(struct guest *guest, uint32_t dir, const char *path, uint32_t lookup)
{
    uint32_t length = guest_text(guest, GUEST_TEXT, path);

    return CALL(guest, "path_filestat_get", dir, lookup, GUEST_TEXT, length,
                GUEST_BUFFER);
}

static int by_path(struct guest *guest, const char *function, uint32_t dir,
                   const char *path)
{
    uint32_t length = guest_text(guest, GUEST_TEXT, path);

    return CALL(guest, function, dir, GUEST_TEXT, length);
}

int guest_mkdir(struct guest *guest, uint32_t dir, const char *path)
{
    return by_path(guest, "path_create_directory", dir, path);
}

int guest_rmdir(struct guest *guest, uint32_t dir, const char *path)
{
    return by_path(guest, "path_remove_directory", dir, path);
}

int guest_unlink(struct guest *guest, uint32_t dir, const char *path)
{
    return by_path(guest, "path_unlink_file", dir, path);
}

int guest_symlink(struct guest *guest, const char *target, uint32_t dir, const char *path)
{
    uint32_t target_length = guest_text(guest, GUEST_TEXT, target);
    uint32_t length = guest_text(guest, GUEST_TEXT2, path);

    return CALL(guest, "path_symlink", GUEST_TEXT, target_length, dir, GUEST_TEXT2,
                length);
}

int guest_link(struct guest *guest, uint32_t from_dir, const char *from, uint32_t to_dir,
               const char *to)
{
    uint32_t from_length = guest_text(guest, GUEST_TEXT, from);
    uint32_t to_length = guest_text(guest, GUEST_TEXT2, to);

    return CALL(guest, "path_link", from_dir, 0, GUEST_TEXT, from_length, to_dir,
                GUEST_TEXT2, to_length);
}

int guest_rename(struct guest *guest, uint32_t from_dir, const char *from,
                 uint32_t to_dir, const char *to)
{
    uint32_t from_length = guest_text(guest, GUEST_TEXT, from);
    uint32_t to_length = guest_text(guest, GUEST_TEXT2, to);

    return CALL(guest, "path_rename", from_dir, GUEST_TEXT, from_length, to_dir,
                GUEST_TEXT2, to_length);
}

int guest_readlink(struct guest *guest, uint32_t dir, const char *path)
{
    uint32_t length = guest_text(guest, GUEST_TEXT, path);

    return CALL(guest, "path_readlink", dir, GUEST_TEXT, length, GUEST_BUFFER, 256,
                GUEST_RESULT);
}

int guest_touch(struct guest *guest, uint32_t dir, const char *path)
{
    uint32_t length = guest_text(guest, GUEST_TEXT, path);

    return CALL(guest, "path_filestat_set_times", dir, 0, GUEST_TEXT, length, 0,
                1000000000, P1_FSTFLAG_MTIM);
}

static void put_iovec(struct guest *guest, uint32_t count)
{
    struct p1_iovec iovec = { GUEST_BUFFER, count };

    memcpy(guest->memory.base + 0x20, &iovec, sizeof(iovec));
}

int guest_write(struct guest *guest, uint32_t number, const char *text)
{
    put_iovec(guest, guest_text(guest, GUEST_BUFFER, text));
    return CALL(guest, "fd_write", number, 0x20, 1, GUEST_RESULT);
}

int guest_read(struct guest *guest, uint32_t number, uint32_t count)
{
    put_iovec(guest, count);
    return CALL(guest, "fd_read", number, 0x20, 1, GUEST_RESULT);
}

int guest_pwrite(struct guest *guest, uint32_t number, const char *text, uint64_t offset)
{
    put_iovec(guest, guest_text(guest, GUEST_BUFFER, text));
    return CALL(guest, "fd_pwrite", number, 0x20, 1, (int64_t)offset, GUEST_RESULT);
}

bool guest_reads(struct guest *guest, uint32_t dir, const char *path, const char *text)
{
    uint32_t number, length = (uint32_t)strlen(text);
    bool same;

    if (guest_open(guest, dir, path, P1_LOOKUP_FOLLOW, 0, READ, &number) != P1_SUCCESS)
        return false;
    same = guest_read(guest, number, length) == P1_SUCCESS &&
           guest_u32(guest, GUEST_RESULT) == length &&
           memcmp(guest->memory.base + GUEST_BUFFER, text, length) == 0;
    MUST(guest_close(guest, number) == P1_SUCCESS);
    return same;
}

uint32_t guest_denials(const struct guest *guest, const char *code)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < guest->record.denial_count; i++)
        count += strcmp(guest->record.denials[i].code, code) == 0;
    return count;
}
