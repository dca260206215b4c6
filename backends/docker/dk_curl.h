#ifndef DK_CURL_H
#define DK_CURL_H

#define CURL_DISABLE_TYPECHECK /* its macros want the functions by their own names */
#include <curl/curl.h>
#include <signal.h>
#include <stdbool.h>

#include "nacre/error.h"

/*
 * libcurl without linking it: it and what it brings take several times as long to load
 * as the rest of the program, and only containers need it.
 */
#define DK_CURL_MAP(X)                                                     \
    X(CURLcode, global_init, (long flags))                                 \
    X(CURL *, easy_init, (void))                                           \
    X(void, easy_cleanup, (CURL *handle))                                  \
    X(void, easy_reset, (CURL *handle))                                    \
    X(CURLcode, easy_setopt, (CURL *handle, CURLoption option, ...))       \
    X(CURLcode, easy_getinfo, (CURL *handle, CURLINFO info, ...))          \
    X(CURLcode, easy_recv, (CURL *handle, void *bytes, size_t count, size_t *ret_count)) \
    X(CURLcode, easy_send,                                                 \
      (CURL *handle, const void *bytes, size_t count, size_t *ret_count))  \
    X(const char *, easy_strerror, (CURLcode code))                        \
    X(CURLM *, multi_init, (void))                                         \
    X(CURLMcode, multi_cleanup, (CURLM *multi))                            \
    X(CURLMcode, multi_add_handle, (CURLM *multi, CURL *handle))           \
    X(CURLMcode, multi_remove_handle, (CURLM *multi, CURL *handle))        \
    X(CURLMcode, multi_perform, (CURLM *multi, int *ret_running))          \
    X(CURLMcode, multi_poll, (CURLM *multi, struct curl_waitfd *extra,     \
                              unsigned extra_count, int wait_ms, int *ret_count))        \
    X(CURLMsg *, multi_info_read, (CURLM *multi, int *ret_left))           \
    X(struct curl_slist *, slist_append, (struct curl_slist *list, const char *text))    \
    X(void, slist_free_all, (struct curl_slist *list))

struct dk_curl {
#define X(type, name, parameters) type(*name) parameters;
    DK_CURL_MAP(X)
#undef X
};

/*
 * Loaded and initialised at the first call that succeeds, for the life of the process;
 * from any thread.  NACRE_ERR_UNAVAILABLE says what to install.
 */
NACRE_MUST_CHECK enum nacre_status dk_curl_load(const struct dk_curl **ret_curl,
                                                struct nacre_error *err);

/*
 * Around calls that may write to a socket by way of a TLS library, which knows nothing
 * of MSG_NOSIGNAL: a SIGPIPE that comes between the two is swallowed, for this thread
 * alone.  libcurl's own way would change the disposition of the whole process.
 */
struct dk_quiet {
    sigset_t before;
    bool was_pending;
};

void dk_quiet_begin(struct dk_quiet *quiet);
void dk_quiet_end(const struct dk_quiet *quiet);

#endif
