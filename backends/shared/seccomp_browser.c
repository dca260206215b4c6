/*
 * What a browser may call: the native table, and what Chromium builds its own sandbox of.
 * Its processes are where hostile pages run, and that sandbox is the wall between them;
 * without it Chromium would have to be told --no-sandbox.
 *
 * A user namespace gives a guest no right outside of it, but much more of the kernel to
 * attack.  So no other sandbox has this table, and here the namespaces that come with one
 * are those that Chromium makes: no mounts, no System V IPC, no host name, no cgroups.
 * And what the owner of a network namespace configures it by is not there: no netlink,
 * which is the kernel's queueing and its virtual devices, and no options of sockets that
 * are the packet filter's.  Chromium does without a list of interfaces.
 */
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "seccomp_rules.h"

#define LOW32 UINT64_C(0xffffffff)
#define NOT_MADE \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC))

/* Every filter's tables are options of IP from here on (ip_tables.h and its like). */
#define FILTER_OPTIONS UINT64_C(64)
#define NO_FILTERS (LOW32 & ~(FILTER_OPTIONS - 1))

#define OPTIONS(call)                                                      \
    { call, 0, { { 1, LOW32, SOL_SOCKET } }, 1 },                          \
    { call, 0, { { 1, LOW32, IPPROTO_TCP } }, 1 },                         \
    { call, 0, { { 1, LOW32, IPPROTO_UDP } }, 1 },                         \
    { call, 0, { { 1, LOW32, IPPROTO_IP }, { 2, NO_FILTERS, 0 } }, 2 },    \
    { call, 0, { { 1, LOW32, IPPROTO_IPV6 }, { 2, NO_FILTERS, 0 } }, 2 }

/* Its helper gives up the file system: it has no capability but in its own namespace. */
static const struct nacre_seccomp_row first = { .name = "chroot" };

static const struct nacre_seccomp_row further[] = {
    /* The zygote and its helpers: NEWUSER, NEWPID and NEWNET; every renderer: NEWPID. */
    { "clone", 0, { { 0, NOT_MADE, 0 } }, 1 },
    /* Alone: how it finds out whether a namespace gives capabilities here, and how a
     * process without threads gets one later. */
    { "unshare", 0, { { 0, LOW32, CLONE_NEWUSER } }, 1 },
    OPTIONS("getsockopt"),
    OPTIONS("setsockopt"),
};

/* Not as it is in the native table. */
static bool is_narrowed(const struct nacre_seccomp_row *row)
{
    return strcmp(row->name, "getsockopt") == 0 || strcmp(row->name, "setsockopt") == 0 ||
           (strcmp(row->name, "socket") == 0 && row->args[0].value == AF_NETLINK);
}

struct visitor {
    nacre_seccomp_visit *visit;
    void *data;
};

static enum nacre_status visit_native(void *data, const struct nacre_seccomp_row *row,
                                      struct nacre_error *err)
{
    const struct visitor *visitor = data;

    return is_narrowed(row) ? NACRE_OK : visitor->visit(visitor->data, row, err);
}

enum nacre_status nacre_seccomp_browser_rows(nacre_seccomp_visit *visit, void *data,
                                             struct nacre_error *err)
{
    struct visitor visitor = { visit, data };
    enum nacre_status status = visit(data, &first, err);

    if (status == NACRE_OK)
        status = nacre_seccomp_native_rows(visit_native, &visitor, err);
    for (size_t i = 0; i < NACRE_COUNT(further) && status == NACRE_OK; i++)
        status = visit(data, &further[i], err);
    return status;
}
