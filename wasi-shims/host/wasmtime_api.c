#include "wasmtime_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "nacre/own.h"

static const char *const names[] = {
#define X(name) #name,
    NACRE_WASMTIME_MAP(X)
#undef X
};

_Static_assert(sizeof(struct nacre_wasmtime) == sizeof(names), "pointers, one a name");

_Alignas(NACRE_WASMTIME_PAGE) union nacre_wasmtime_page nacre_wasmtime_page;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static enum nacre_status load(struct nacre_error *err)
{
    /* By the name and along the path that linking would use. */
    void *library = dlopen("libwasmtime.so", RTLD_NOW | RTLD_LOCAL);
    void *symbols[NACRE_COUNT(names)];

    if (!library)
        return nacre_fail(err, NACRE_ERR_BACKEND, "wasmtime can't be loaded: %.300s",
                          dlerror());
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
