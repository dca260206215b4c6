#include "wasmtime_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "nacre/own.h"

#define WHY_BYTES 300

static const char *const names[] = {
#define X(name) #name,
    NACRE_WASMTIME_MAP(X)
#undef X
};

_Static_assert(sizeof(struct nacre_wasmtime) == sizeof(names), "pointers, one a name");

_Alignas(NACRE_WASMTIME_PAGE) union nacre_wasmtime_page nacre_wasmtime_page;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

/*
 * By its place from the program: in the build directory and where both are installed.  A
 * path in the program itself, which linking would use, would be searched for every other
 * library at each start.  An embedder has such a path, or the system knows the place.
 */
static void *open_library(char ret_why[WHY_BYTES])
{
    static const char *const places[] = { "$ORIGIN/" NACRE_WASMTIME_BUILT,
                                          "$ORIGIN/" NACRE_WASMTIME_INSTALLED,
                                          "libwasmtime.so" };

    for (size_t i = 0; i < NACRE_COUNT(places); i++) {
        void *library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);

        if (library)
            return library;
        (void)snprintf(ret_why, WHY_BYTES, "%s", dlerror());
        /* One that is there and broken is not passed over. */
        if (!strstr(ret_why, "No such file"))
            break;
    }
    return NULL;
}

static enum nacre_status load(struct nacre_error *err)
{
    char why[WHY_BYTES];
    void *library = open_library(why);
    void *symbols[NACRE_COUNT(names)];

    if (!library)
        return nacre_fail(err, NACRE_ERR_BACKEND, "wasmtime can't be loaded: %s", why);
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        symbols[i] = dlsym(library, names[i]);
        if (!symbols[i]) {
            (void)dlclose(library);
            return nacre_fail(err, NACRE_ERR_BACKEND,
                              "this libwasmtime.so is not wasmtime " WASMTIME_VERSION
                              ": it has no %s",
                              names[i]);
        }
    }
    memcpy(nacre_wasmtime_page.bytes, symbols, sizeof(symbols));
    /* As the linker's own table would be.  Where pages are larger it stays open. */
    (void)mprotect(&nacre_wasmtime_page, sizeof(nacre_wasmtime_page), PROT_READ);
    return NACRE_OK;
}

enum nacre_status nacre_wasmtime_load(struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&lock);
    if (!is_loaded)
        status = load(err);
    is_loaded = status == NACRE_OK;
    (void)pthread_mutex_unlock(&lock);
    return status;
}
