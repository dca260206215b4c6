#ifndef NACRE_TEST_ENGINE_WORLD_H
#define NACRE_TEST_ENGINE_WORLD_H

/*
 * Containers of a real engine, at $NACRE_TEST_DOCKER: a jail_world whose executor is the
 * container's, and a client of the test's own that looks on.  After <cmocka.h>.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dk_api.h"
#include "dk_endpoint.h"
#include "dk_owner.h"
#include "jail_world.h"

#define ENGINE_IMAGE "nacre-test-busybox:latest"
#define SOON dk_within_ms(20000)

static struct dk_client *observer; /* NULL: there is no engine */
static struct jail jail;

static char *engine_none[] = { NULL };
static char *engine_tmpfs[] = { (char[]){ "/tmp:size=16m,mode=1777" }, NULL };

static inline int engine_setup(void **state)
{
    const char *where = getenv("NACRE_TEST_DOCKER");
    struct dk_endpoint endpoint;
    struct nacre_error err = { .text = "NACRE_TEST_DOCKER is not set" };

    (void)state;
    if (!where || dk_endpoint_parse(where, "NACRE_TEST_DOCKER", NULL, &endpoint, &err) !=
                      NACRE_OK ||
        dk_client_open(&endpoint, SOON, &observer, &err) != NACRE_OK) {
        print_message("no engine: %s\n", err.text);
        return 0;
    }
    return setenv("DOCKER_HOST", where, 1);
}

static inline int engine_teardown(void **state)
{
    (void)state;
    dk_client_free(observer);
    return 0;
}

#define NEEDS_ENGINE()  \
    do {                \
        (void)state;    \
        if (!observer)  \
            skip();     \
    } while (0)

/* A plan as planning makes it for level container, with mounts to come. */
static inline void engine_plan(struct nacre_plan *plan)
{
    static char image[] = ENGINE_IMAGE;

    plan->level = NACRE_LEVEL_CONTAINER;
    plan->container = (struct nacre_container){
        .image = image,
        .tmpfs = engine_tmpfs,
        .keep_capabilities = engine_none,
        .blocked_syscalls = engine_none,
        .environment = engine_none,
        .ulimits = engine_none,
        .read_only_root = true,
    };
    plan->limits.memory_bytes_max = UINT64_C(64) << 20;
    plan->limits.memory_asked = true;
    plan->limits.processes_max = 16;
}

static inline int engine_enter(void **state)
{
    (void)state;
    if (!observer)
        return 0;
    jail_prepare(&jail, &nacre_container_executor);
    engine_plan(&jail.plan);
    return 0;
}

/* How many containers there are of owners in this test's state directory. */
static inline size_t engine_containers(void)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    struct nacre_error err;
    size_t count = 0, i;
    const json_t *container;
    char label[32];

    (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
    if (dk_container_list(observer, label, SOON, &list, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    json_array_foreach(list, i, container) {
        const json_t *mounts = json_object_get(container, "Mounts"), *mount;
        bool ours = false;
        size_t k;

        json_array_foreach(mounts, k, mount) {
            const char *source = json_string_value(json_object_get(mount, "Source"));

            ours |= source && strncmp(source, jail.top, strlen(jail.top)) == 0;
        }
        count += ours;
    }
    return count;
}

/* The same, until there are `count` or 5 s have passed. */
static inline bool engine_has(size_t count)
{
    const struct timespec pause = { .tv_nsec = 20000000 };

    for (int i = 0; i < 250; i++) {
        if (engine_containers() == count)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    print_message("%zu containers, expected %zu\n", engine_containers(), count);
    return false;
}

static inline int engine_leave(void **state)
{
    (void)state;
    if (!observer)
        return 0;
    jail.ops->free(jail.executor);
    jail.executor = NULL;
    if (!engine_has(0))
        return -1;
    jail_finish(&jail);
    return 0;
}

#define IN_ENGINE(test) cmocka_unit_test_setup_teardown(test, engine_enter, engine_leave)

#endif
