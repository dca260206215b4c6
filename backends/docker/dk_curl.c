#include "dk_curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "nacre/own.h"

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define X(type, name, parameters) { "curl_" #name, offsetof(struct dk_curl, name) },
    DK_CURL_MAP(X)
#undef X
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dk_curl loaded;
static bool is_loaded;

static enum nacre_status load(struct dk_curl *ret_curl, struct nacre_error *err)
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    struct dk_curl curl;

    if (!library)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "containers need libcurl, which can't be loaded: install the "
                          "package libcurl4 (%s)", dlerror());
    for (size_t i = 0; i < NACRE_COUNT(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (!symbol) {
            (void)dlclose(library);
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "containers need a newer libcurl: this one has no %s; "
                              "install the package libcurl4", symbols[i].name);
        }
        memcpy((char *)&curl + symbols[i].offset, &symbol, sizeof(symbol));
    }
    if (curl.global_init(CURL_GLOBAL_ALL) != CURLE_OK)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "libcurl can't be initialised");
    *ret_curl = curl;
    return NACRE_OK;
}

enum nacre_status dk_curl_load(const struct dk_curl **ret_curl, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&lock);
    if (!is_loaded)
        status = load(&loaded, err);
    is_loaded = status == NACRE_OK;
    (void)pthread_mutex_unlock(&lock);
    if (status == NACRE_OK)
        *ret_curl = &loaded;
    return status;
}

static void only_sigpipe(sigset_t *ret_set)
{
    (void)sigemptyset(ret_set);
    (void)sigaddset(ret_set, SIGPIPE);
}

void dk_quiet_begin(struct dk_quiet *quiet)
{
    sigset_t set, pending;

    only_sigpipe(&set);
    (void)sigpending(&pending);
    quiet->was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
}

void dk_quiet_end(const struct dk_quiet *quiet)
{
    const struct timespec now = { 0 };
    sigset_t set, pending;

    only_sigpipe(&set);
    (void)sigpending(&pending);
    if (!quiet->was_pending && sigismember(&pending, SIGPIPE) == 1)
        (void)sigtimedwait(&set, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}
