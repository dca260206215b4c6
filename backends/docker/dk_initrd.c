#include "dk_initrd.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init_image.h"
#include "machine.h"

/* "newc": thirteen numbers of eight hexadecimal digits behind a magic number, the name
 * with its terminator, the bytes; both are filled up to a multiple of four. */
#define HEAD 110
#define ALIGNED 4
#define NAME_MAX_BYTES 64
#define LAST "TRAILER!!!"
#define MODE_PROGRAM 0100755u

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t done = write(fd, at, count);

        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            at += done;
            count -= (size_t)done;
        }
    }
    return true;
}

static bool fill_up(int fd, size_t written)
{
    static const char zeros[ALIGNED];

    return write_all(fd, zeros, (ALIGNED - written % ALIGNED) % ALIGNED);
}

static bool write_entry(int fd, unsigned number, const char *name, unsigned mode,
                        const void *bytes, size_t count)
{
    size_t name_bytes = strlen(name) + 1;
    char head[HEAD + NAME_MAX_BYTES];

    assert(name_bytes <= NAME_MAX_BYTES && count <= UINT32_MAX);
    (void)snprintf(head, sizeof(head),
                   "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", number,
                   mode, 0u, 0u, 1u, 0u, (unsigned)count, 0u, 0u, 0u, 0u,
                   (unsigned)name_bytes, 0u);
    memcpy(head + HEAD, name, name_bytes);
    return write_all(fd, head, HEAD + name_bytes) && fill_up(fd, HEAD + name_bytes) &&
           write_all(fd, bytes, count) && fill_up(fd, count);
}

static enum nacre_status copy(int from_fd, int to_fd, struct nacre_error *err)
{
    char bytes[65536];
    uint64_t total = 0;
    ssize_t count;

    while ((count = read(from_fd, bytes, sizeof(bytes))) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return nacre_fail(err, NACRE_ERR_IO, "the machine's modules can't be read");
        total += (uint64_t)count;
        if (total > DK_INITRD_MODULES_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "the machine's modules");
        if (!write_all(to_fd, bytes, (size_t)count))
            return nacre_fail(err, NACRE_ERR_IO, "the machine's initial file system "
                                                 "can't be written");
    }
    return total > 0 ? NACRE_OK
                     : nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                                  "the machine's archive of modules is empty");
}

enum nacre_status dk_initrd_write(int modules_fd, int out_fd, struct nacre_error *err)
{
    if (!write_entry(out_fd, 1, &MACHINE_INIT[1], MODE_PROGRAM, nacre_init_image,
                     nacre_init_image_size) ||
        !write_entry(out_fd, 2, LAST, 0, "", 0))
        return nacre_fail(err, NACRE_ERR_IO, "the machine's initial file system can't be "
                                             "written");
    return modules_fd < 0 ? NACRE_OK : copy(modules_fd, out_fd, err);
}
