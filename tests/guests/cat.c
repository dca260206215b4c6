/* Standard input, or each named file, to standard output; 1 when any can't be read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int copy(int fd, const char *name)
{
    static char chunk[65536];
    ssize_t count;

    while ((count = read(fd, chunk, sizeof chunk)) > 0) {
        for (ssize_t done = 0; done < count;) {
            ssize_t written = write(1, chunk + done, (size_t)(count - done));
            if (written < 0)
                return 1;
            done += written;
        }
    }
    if (count < 0)
        fprintf(stderr, "cat: %s: %s\n", name, strerror(errno));
    return count < 0;
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc == 1)
        return copy(0, "standard input");
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY);
        if (fd < 0) {
            fprintf(stderr, "cat: %s: %s\n", argv[i], strerror(errno));
            failed = 1;
            continue;
        }
        failed |= copy(fd, argv[i]);
        close(fd);
    }
    return failed;
}
