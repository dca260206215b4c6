/*
 * without CALL[,CALL...]=ERRNO COMMAND...: runs the command where these system calls
 * fail so.  A call that this machine's libseccomp does not know is an error.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = { { "ENOSYS", ENOSYS }, { "EPERM", EPERM }, { "ENOMEM", ENOMEM },
                   { "EMFILE", EMFILE }, { "EIO", EIO }, { "ENOSPC", ENOSPC },
                   { "EINVAL", EINVAL }, { "EACCES", EACCES }, { "EAGAIN", EAGAIN } };

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    return 0;
}

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    char *equals = argc > 2 ? strchr(argv[1], '=') : NULL;
    int number = equals ? number_of(equals + 1) : 0;

    if (!filter || number == 0) {
        (void)fprintf(stderr, "usage: without CALL[,CALL...]=ERRNO COMMAND...\n");
        return 2;
    }
    *equals = '\0';
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ",")) {
        int call = seccomp_syscall_resolve_name(name);

        if (call == __NR_SCMP_ERROR ||
            seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)number), call, 0) != 0) {
            (void)fprintf(stderr, "without: no such system call: %s\n", name);
            return 2;
        }
    }
    if (seccomp_load(filter) != 0) {
        (void)fprintf(stderr, "without: the filter was not accepted\n");
        return 2;
    }
    seccomp_release(filter);
    (void)execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
