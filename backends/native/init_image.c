#include "init_image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "nacre/own.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

/* The linker's path to the program is given by CMake. */
__asm__(".pushsection .rodata, \"a\"\n"
        ".balign 16\n"
        ".globl nacre_init_image\n"
        ".type nacre_init_image, %object\n"
        "nacre_init_image:\n"
        ".incbin \"" NACRE_INIT_FILE "\"\n"
        ".Lnacre_init_image_end:\n"
        ".size nacre_init_image, .Lnacre_init_image_end - nacre_init_image\n"
        ".balign 8\n"
        ".globl nacre_init_image_size\n"
        ".type nacre_init_image_size, %object\n"
        "nacre_init_image_size:\n"
        ".quad .Lnacre_init_image_end - nacre_init_image\n"
        ".size nacre_init_image_size, 8\n"
        ".popsection\n");
_Static_assert(sizeof(size_t) == 8, ".quad is a size_t");

enum nacre_status nacre_init_fd(int *ret_fd, struct nacre_error *err)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-init", flags | MFD_EXEC);
    size_t done = 0;

    /* A kernel that does not know the flag makes every memfd executable. */
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("nacre-init", flags);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "init: no memfd for it");
    while (done < nacre_init_image_size) {
        ssize_t count = write(fd, nacre_init_image + done, nacre_init_image_size - done);

        if (count < 0)
            return nacre_fail(err, NACRE_ERR_IO, "init: its memfd can't be written");
        done += (size_t)count;
    }
    if (fcntl(fd, F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "init: its memfd can't be sealed");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}
