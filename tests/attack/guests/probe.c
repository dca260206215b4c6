/*
 * probe OP ARG... [, OP ARG...]...: tries one thing after another and says of each how
 * it went: "OP ARG: ok", or the name of the error.  A path is FD:PATH, where %XX is a
 * byte; what is opened stays open, its number is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"

struct path {
    uint32_t fd, length;
    char text[8192];
};

static char **words;

static const char *const error_names[77] = {
    [0] = "ok",       [2] = "ACCES",    [6] = "AGAIN",     [8] = "BADF",
    [10] = "BUSY",    [20] = "EXIST",   [21] = "FAULT",    [22] = "FBIG",
    [28] = "INVAL",   [29] = "IO",      [31] = "ISDIR",    [32] = "LOOP",
    [33] = "MFILE",   [37] = "NAMETOOLONG", [44] = "NOENT", [51] = "NOSPC",
    [52] = "NOSYS",   [54] = "NOTDIR",  [55] = "NOTEMPTY", [57] = "NOTSOCK",
    [58] = "NOTSUP",  [61] = "OVERFLOW", [63] = "PERM",    [69] = "ROFS",
    [70] = "SPIPE",   [75] = "XDEV",    [76] = "NOTCAPABLE",
};

static const char *word(void)
{
    return *words && strcmp(*words, ",") != 0 ? *words++ : "";
}

static uint64_t number(void)
{
    return strtoull(word(), NULL, 0);
}

static struct path *path_of(struct path *path)
{
    char *at;
    const char *text = word();

    path->fd = (uint32_t)strtoul(text, &at, 10);
    path->length = 0;
    text = *at == ':' ? at + 1 : at;
    for (; *text && path->length < sizeof path->text; text++) {
        char hex[3] = { 0 };

        if (*text == '%' && text[1] && text[2]) {
            memcpy(hex, text + 1, 2);
            path->text[path->length++] = (char)strtoul(hex, NULL, 16);
            text += 2;
        } else {
            path->text[path->length++] = *text;
        }
    }
    return path;
}

static void told(uint32_t error, const char *more)
{
    const char *name = error < 77 ? error_names[error] : NULL;

    if (name)
        printf(": %s", name);
    else
        printf(": error %u", error);
    printf("%s%s\n", *more ? " " : "", more);
    fflush(stdout);
}

static uint32_t open_path(uint32_t lookup, uint32_t oflags, uint64_t rights,
                          uint32_t *ret_fd)
{
    static struct path path;

    path_of(&path);
    return raw_open(path.fd, path.text, path.length, lookup, oflags, rights, ret_fd);
}

static void do_read(uint32_t lookup)
{
    static char text[201];
    struct raw_iovec iov = { AT(text), 200 };
    uint32_t fd, count = 0;
    uint32_t error = open_path(lookup, 0, RIGHT_READ, &fd);

    if (error == 0) {
        error = raw_fd_read(fd, AT(&iov), 1, AT(&count));
        (void)raw_fd_close(fd);
    }
    text[count] = '\0';
    text[strcspn(text, "\n")] = '\0';
    told(error, text);
}

static void do_write(uint32_t oflags)
{
    uint32_t fd, count;
    uint32_t error = open_path(FOLLOW, oflags, RIGHT_WRITE, &fd);
    const char *text = word();
    struct raw_iovec iov = { AT(text), (uint32_t)strlen(text) };

    if (error == 0) {
        error = raw_fd_write(fd, AT(&iov), 1, AT(&count));
        (void)raw_fd_close(fd);
    }
    told(error, "");
}

static void do_open(uint32_t lookup, uint32_t oflags, uint64_t rights)
{
    char text[16] = "";
    uint32_t fd;
    uint32_t error = open_path(lookup, oflags, rights, &fd);

    if (error == 0)
        snprintf(text, sizeof text, "%u", fd);
    told(error, text);
}

static void do_stat(uint32_t lookup)
{
    struct path path;
    unsigned char stat[64];
    char text[48] = "";
    uint64_t size;
    uint32_t error;

    path_of(&path);
    error = raw_path_filestat_get(path.fd, lookup, AT(path.text), path.length, AT(stat));
    memcpy(&size, stat + 32, sizeof size);
    if (error == 0)
        snprintf(text, sizeof text, "type %d size %llu", stat[16],
                 (unsigned long long)size);
    told(error, text);
}

static void do_readlink(void)
{
    struct path path;
    char text[256];
    uint32_t count = 0, error;

    path_of(&path);
    error = raw_path_readlink(path.fd, AT(path.text), path.length, AT(text), 255,
                              AT(&count));
    text[count] = '\0';
    told(error, text);
}

static void do_list(void)
{
    static unsigned char buf[65536];
    static char text[65536];
    uint32_t used = 0, fd = (uint32_t)number();
    uint32_t error = raw_fd_readdir(fd, AT(buf), sizeof buf, 0, AT(&used));

    text[0] = '\0';
    for (uint32_t at = 0; error == 0 && at + 24 <= used;) {
        uint32_t length;

        memcpy(&length, buf + at + 16, 4);
        if (at + 24 + length > used)
            break;
        strncat(text, (const char *)buf + at + 24, length);
        strcat(text, " ");
        at += 24 + length;
    }
    told(error, text);
}

static void do_two(const char *op)
{
    static struct path from, to;

    path_of(&from);
    path_of(&to);
    if (strcmp(op, "rename") == 0)
        told(raw_path_rename(from.fd, AT(from.text), from.length, to.fd, AT(to.text),
                             to.length), "");
    else if (strcmp(op, "link") == 0)
        told(raw_path_link(from.fd, 0, AT(from.text), from.length, to.fd, AT(to.text),
                           to.length), "");
    else
        told(raw_path_symlink(AT(from.text), from.length, to.fd, AT(to.text), to.length),
             "");
}

static void do_one(const char *op)
{
    static struct path path;

    path_of(&path);
    if (strcmp(op, "mkdir") == 0)
        told(raw_path_create_directory(path.fd, AT(path.text), path.length), "");
    else if (strcmp(op, "rmdir") == 0)
        told(raw_path_remove_directory(path.fd, AT(path.text), path.length), "");
    else if (strcmp(op, "unlink") == 0)
        told(raw_path_unlink_file(path.fd, AT(path.text), path.length), "");
    else
        told(raw_path_filestat_set_times(path.fd, FOLLOW, AT(path.text), path.length, 1,
                                         1, 5), "");
}

/* On a number of the fd table, and a second number where there is one. */
static int do_number(const char *op)
{
    uint32_t fd = (uint32_t)number(), count;
    uint64_t value = number();
    char byte = 'x';
    struct raw_iovec iov = { AT(&byte), 1 };

    if (strcmp(op, "setsize") == 0)
        told(raw_fd_filestat_set_size(fd, value), "");
    else if (strcmp(op, "allocate") == 0)
        told(raw_fd_allocate(fd, 0, value), "");
    else if (strcmp(op, "pwrite") == 0)
        told(raw_fd_pwrite(fd, AT(&iov), 1, value, AT(&count)), "");
    else if (strcmp(op, "futimes") == 0)
        told(raw_fd_filestat_set_times(fd, 1, 1, 5), "");
    else if (strcmp(op, "setflags") == 0)
        told(raw_fd_fdstat_set_flags(fd, (uint32_t)value), "");
    else if (strcmp(op, "setrights") == 0)
        told(raw_fd_fdstat_set_rights(fd, RIGHTS_ALL, RIGHTS_ALL), "");
    else if (strcmp(op, "renumber") == 0)
        told(raw_fd_renumber(fd, (uint32_t)value), "");
    else if (strcmp(op, "close") == 0)
        told(raw_fd_close(fd), "");
    else
        return 0;
    return 1;
}

static void try(const char *op)
{
    printf("%s", op);
    for (char **shown = words; *shown && strcmp(*shown, ",") != 0; shown++)
        printf(" %.60s", *shown);
    if (strcmp(op, "read") == 0)
        do_read(FOLLOW);
    else if (strcmp(op, "readnofollow") == 0)
        do_read(0);
    else if (strcmp(op, "write") == 0)
        do_write(CREAT | TRUNC);
    else if (strcmp(op, "overwrite") == 0)
        do_write(0);
    else if (strcmp(op, "open") == 0)
        do_open(FOLLOW, 0, RIGHT_READ);
    else if (strcmp(op, "openrw") == 0)
        do_open(FOLLOW, CREAT, RIGHTS_ALL);
    else if (strcmp(op, "opendir") == 0)
        do_open(FOLLOW, DIRECTORY, RIGHTS_OF_DIRECTORY);
    else if (strcmp(op, "trunc") == 0)
        do_open(FOLLOW, TRUNC, RIGHT_READ);
    else if (strcmp(op, "create") == 0)
        do_open(0, CREAT | EXCL, RIGHT_WRITE);
    else if (strcmp(op, "stat") == 0)
        do_stat(FOLLOW);
    else if (strcmp(op, "lstat") == 0)
        do_stat(0);
    else if (strcmp(op, "readlink") == 0)
        do_readlink();
    else if (strcmp(op, "ls") == 0)
        do_list();
    else if (strcmp(op, "rename") == 0 || strcmp(op, "link") == 0 ||
             strcmp(op, "symlink") == 0)
        do_two(op);
    else if (strcmp(op, "mkdir") == 0 || strcmp(op, "rmdir") == 0 ||
             strcmp(op, "unlink") == 0 || strcmp(op, "utimes") == 0)
        do_one(op);
    else if (!do_number(op))
        printf(": no such operation\n");
}

int main(int argc, char **argv)
{
    (void)argc;
    for (words = argv + 1; *words;) {
        const char *op = word();

        try(op);
        while (*words && strcmp(*words, ",") != 0)
            words++;
        if (*words)
            words++;
    }
    return 0;
}
