#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __wasi__
#include <wasi/api.h>
#else
#include <dirent.h>
#endif

#include "nacre_tool.h"

struct list {
    struct nacre_entry *entries;
    size_t count, room;
};

static bool add(struct list *list, const char *name, size_t length,
                enum nacre_entry_kind kind)
{
    char *copy;

    if ((length == 1 && name[0] == '.') ||
        (length == 2 && name[0] == '.' && name[1] == '.'))
        return true;
    if (list->count == NACRE_ENTRIES_MAX) {
        errno = EOVERFLOW;
        return false;
    }
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;

        list->entries = nacre_arena_grow(list->entries,
                                         list->room * sizeof *list->entries,
                                         room * sizeof *list->entries);
        list->room = room;
    }
    copy = nacre_arena(length + 1);
    memcpy(copy, name, length);
    copy[length] = '\0';
    list->entries[list->count].name = copy;
    list->entries[list->count].kind = kind;
    list->count++;
    return true;
}

#ifdef __wasi__
static enum nacre_entry_kind kind_of(__wasi_filetype_t type)
{
    return type == __WASI_FILETYPE_REGULAR_FILE    ? NACRE_ENTRY_FILE
           : type == __WASI_FILETYPE_DIRECTORY     ? NACRE_ENTRY_DIRECTORY
           : type == __WASI_FILETYPE_SYMBOLIC_LINK ? NACRE_ENTRY_LINK
                                                   : NACRE_ENTRY_OTHER;
}

/* wasi-libc's readdir() asks for 4 KiB at a time, and for each inode that is not told. */
static bool fill(int fd, struct list *list)
{
    static uint8_t bytes[65536];
    __wasi_dircookie_t cookie = __WASI_DIRCOOKIE_START;
    __wasi_size_t used = sizeof bytes;

    while (used == sizeof bytes) {
        __wasi_errno_t error = __wasi_fd_readdir(fd, bytes, sizeof bytes, cookie, &used);
        size_t at = 0;

        if (error != 0) {
            errno = error;
            return false;
        }
        /* What was cut off at the end of the buffer comes again. */
        while (used - at > sizeof(__wasi_dirent_t)) {
            __wasi_dirent_t entry;

            memcpy(&entry, bytes + at, sizeof entry);
            if (used - at - sizeof entry < entry.d_namlen)
                break;
            if (!add(list, (const char *)bytes + at + sizeof entry, entry.d_namlen,
                     kind_of(entry.d_type)))
                return false;
            cookie = entry.d_next;
            at += sizeof entry + entry.d_namlen;
        }
    }
    return true;
}
#else
static bool fill(int fd, struct list *list)
{
    DIR *directory = fdopendir(dup(fd));
    struct dirent *entry;
    bool good = directory;

    while (good && (errno = 0, entry = readdir(directory)))
        good = add(list, entry->d_name, strlen(entry->d_name),
                   entry->d_type == DT_REG   ? NACRE_ENTRY_FILE
                   : entry->d_type == DT_DIR ? NACRE_ENTRY_DIRECTORY
                   : entry->d_type == DT_LNK ? NACRE_ENTRY_LINK
                                             : NACRE_ENTRY_OTHER);
    good = good && errno == 0;
    if (directory)
        closedir(directory);
    return good;
}
#endif

static int by_name(const void *left, const void *right)
{
    const struct nacre_entry *a = left, *b = right;

    return strcmp(a->name, b->name);
}

bool nacre_tool_list(const char *path, struct nacre_entry **ret_entries,
                     size_t *ret_count)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK), number;
    struct list list = { 0 };
    bool good = fd >= 0 && fill(fd, &list);

    number = errno;
    if (fd >= 0)
        close(fd);
    errno = number;
    if (!good)
        return false;
    /* Not of NULL, even for nothing. */
    if (list.count > 1)
        qsort(list.entries, list.count, sizeof *list.entries, by_name);
    *ret_entries = list.entries;
    *ret_count = list.count;
    return true;
}
