#ifndef NACRE_OWN_H
#define NACRE_OWN_H

#include <stdlib.h>
#include <unistd.h>

/*
 * Ownership of locals.  A variable that owns something is declared with
 * NACRE_AUTO, is initialised in the same statement, and gives its content away
 * only through a *_take() call.  A plain pointer never owns.
 */
#define NACRE_AUTO(guard) __attribute__((cleanup(guard)))

/* For a type with T_free(): its scope guard, and the only way to hand it over. */
#define NACRE_OWNED(T)                                           \
    static inline void T##_guard(struct T **owned)               \
    {                                                            \
        T##_free(*owned);                                        \
    }                                                            \
    static inline struct T *T##_take(struct T **owned)           \
    {                                                            \
        struct T *taken = *owned;                                \
        *owned = NULL;                                           \
        return taken;                                            \
    }

static inline void nacre_fd_guard(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline int nacre_fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* For plain malloc'ed text and arrays: NACRE_AUTO(nacre_heap_guard) char *text = ...; */
static inline void nacre_heap_guard(void *owned)
{
    free(*(void **)owned);
}

/* Hands over a local guarded by nacre_heap_guard. */
#define NACRE_HEAP_TAKE(pointer)             \
    ({                                       \
        __typeof__(pointer) taken_ = pointer; \
        (pointer) = NULL;                    \
        taken_;                              \
    })

#define NACRE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
