#ifndef NACRE_TEST_BOX_H
#define NACRE_TEST_BOX_H

/*
 * A pool of groups for each test, children that go into a group, and what they do there.
 * After <cmocka.h>.
 */

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "box_group.h"
#include "in_child.h"
#include "nacre/clock.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND NACRE_NS_PER_S

static struct nacre_box_cgroups *cgroups;
static const struct nacre_box_limits no_limits;

static inline int open_all(void **state)
{
    struct nacre_error err;

    (void)state;
    if (nacre_box_cgroups_open(&cgroups, &err) == NACRE_OK)
        return 0;
    print_message("%s\n", err.text);
    return -1;
}

static inline int free_all(void **state)
{
    (void)state;
    nacre_box_cgroups_free(cgroups);
    cgroups = NULL;
    return 0;
}

/* Root on a machine with cgroups has no excuse. */
#define NEEDS(feature)                                                       \
    do {                                                                     \
        if (!nacre_box_cgroups_has(cgroups, feature)) {                      \
            assert_true(geteuid() != 0 ||                                    \
                        strstr(nacre_box_cgroups_text(cgroups, feature),     \
                               "no cgroup above") != NULL);                  \
            skip();                                                          \
        }                                                                    \
    } while (0)

static inline struct nacre_box_group *take(struct nacre_box_limits limits)
{
    struct nacre_box_group *group = NULL;
    struct nacre_error err;

    if (nacre_box_group_take(cgroups, &limits, &group, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return group;
}

static inline bool enter(const struct nacre_box_group *group)
{
    int fds[NACRE_BOX_HIERARCHIES_MAX];
    size_t count = nacre_box_group_procs(group, fds);

    for (size_t i = 0; i < count; i++) {
        if (write(fds[i], "0", 1) != 1)
            return false;
    }
    return true;
}

/* A child in the group, which runs `body`; not waited for. */
static inline pid_t start(const struct nacre_box_group *group, int (*body)(void *data),
                          void *data)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(enter(group) ? body(data) : CHILD_CHECK_FAILED);
    }
    assert_true(pid > 0);
    return pid;
}

static inline int wait_for(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline int touch_memory(void *data)
{
    size_t size = *(size_t *)data;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    CHILD_CHECK(bytes != MAP_FAILED);
    memset(bytes, 1, size);
    return 0;
}

static inline int count_up(void *data)
{
    while (++*(volatile uint64_t *)data)
        ;
    return 0;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_all, free_all)

#endif
