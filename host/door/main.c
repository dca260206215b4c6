/* nacre-door: started by nacre, with its control socket as fd 3; see nacre/door.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "control.h"
#include "nacre/door_control.h"
#include "nacre/trust.h"

static int usage(void)
{
    (void)fprintf(stderr, "nacre-door: part of nacre, which starts it by itself\n");
    return 2;
}

static bool is_control(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
    struct door door = { 0 };
    struct nacre_error err;
    enum nacre_status status;

    /* That it got this far shows that its libraries are all there. */
    if (argc == 2 && strcmp(argv[1], "--check") == 0)
        return nacre_trust_bundle() ? 0 : NACRE_DOOR_EXIT_NO_BUNDLE;
    if (argc != 1 || !is_control(NACRE_DOOR_CONTROL_FD))
        return usage();
    (void)signal(SIGPIPE, SIG_IGN);
    status = door_cage_begin(&err);
    if (status == NACRE_OK)
        status = door_loop_new(&door.loop, &err);
    if (status == NACRE_OK && !door_control_watch(&door, NACRE_DOOR_CONTROL_FD))
        status = nacre_fail(&err, NACRE_ERR_IO, "epoll");
    if (status != NACRE_OK) {
        (void)fprintf(stderr, "nacre-door: %s\n", err.text);
        return 1;
    }
    for (;;)
        door_loop_turn(door.loop);
}
