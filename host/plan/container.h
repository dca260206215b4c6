#ifndef NACRE_PLAN_CONTAINER_H
#define NACRE_PLAN_CONTAINER_H

#include <stdbool.h>

/* How the texts of a container's settings are spelt.  Private to host/plan.  NULL is
 * none of them. */
bool nacre_container_is_image(const char *text);
bool nacre_container_is_user(const char *text);
bool nacre_container_is_place(const char *text);   /* a directory to start or mount in */
bool nacre_container_is_profile(const char *text); /* of an LSM, and one that confines */
bool nacre_container_is_cpuset(const char *text);

/* One kind of list: each entry is read into the form that the plan keeps. */
#define NACRE_CONTAINER_TEXT 512
struct nacre_container_list {
    const char *rule;
    const char *wall;
    const char *fix; /* for an entry that is refused */
    /* What is wrong with `text`, for a sentence; NULL when `ret_text` holds it. */
    const char *(*read)(const char *text, char ret_text[NACRE_CONTAINER_TEXT]);
};
extern const struct nacre_container_list nacre_container_tmpfs;
extern const struct nacre_container_list nacre_container_capabilities;
extern const struct nacre_container_list nacre_container_syscalls;
extern const struct nacre_container_list nacre_container_environment;
extern const struct nacre_container_list nacre_container_ulimits;

#define NACRE_ENGINE_MEMORY_MIN (6 << 20) /* an engine takes no smaller limit */
#define NACRE_ENGINE_CPUS_NANO_MIN 10000000
#define NACRE_CONTAINER_TMPFS_SIZE "size=67108864" /* where an entry names none */

#endif
