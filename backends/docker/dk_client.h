#ifndef DK_CLIENT_H
#define DK_CLIENT_H

#include <pthread.h>

#include "dk_api.h"
#include "dk_curl.h"
#include "nacre/buf.h"

/* How the calls of dk_api.h are made.  Private to this folder. */

#define DK_IDLE_MAX 4 /* connections kept; more are opened at need and closed after use */
#define DK_PATH_MAX ((size_t)32 << 10) /* of a request, with its query */

/* A transfer of libcurl's, and what keeps its connection for the next one. */
struct dk_handle {
    CURL *easy;
    CURLM *multi;
};

struct dk_client {
    const struct dk_curl *curl;
    struct dk_endpoint endpoint;
    struct dk_engine engine;
    char base[sizeof(((struct dk_endpoint *)0)->host) + 32]; /* "http://localhost" */
    char prefix[24]; /* of every path: "/v1.41"; "" until the version is settled */
    pthread_mutex_t lock; /* over what follows */
    struct dk_handle idle[DK_IDLE_MAX];
    size_t idle_count;
};

struct dk_request {
    const char *doing;  /* "starting the container", for messages */
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* what follows the version: "/containers/json?all=1" */
    const char *body;   /* JSON; NULL: none */
    const int *body_fd; /* a tar to send instead; NULL: none */
    struct nt_wait wait;
    enum nacre_status conflict; /* what a 409 is; NACRE_OK: a NACRE_ERR_BACKEND */
    /* Where a 2xx answer's bytes go as they come, instead of the answer; NULL: nowhere.
     * Not NACRE_OK ends the call, which then fails with just that. */
    enum nacre_status (*sink)(void *data, const char *bytes, size_t count,
                              struct nacre_error *err);
    void *sink_data;
};

struct dk_answer {
    long http_status;
    struct nacre_buf body;
};

#define DK_ANSWER { .body = NACRE_BUF(DK_ANSWER_MAX) }

static inline void dk_answer_guard(struct dk_answer *answer)
{
    nacre_buf_clear(&answer->body);
}

/* NACRE_OK for whatever the engine answers; `answer` is to be fresh. */
NACRE_MUST_CHECK enum nacre_status dk_send(struct dk_client *client,
                                           const struct dk_request *request,
                                           struct dk_answer *answer,
                                           struct nacre_error *err);

/* NACRE_OK for a 2xx; else what the engine says, as dk_api.h tells. */
NACRE_MUST_CHECK enum nacre_status dk_judge(const struct dk_request *request,
                                            const struct dk_answer *answer,
                                            struct nacre_error *err);

/* Send, judge, and read the answer as JSON of `type`. */
NACRE_MUST_CHECK enum nacre_status dk_call_json(struct dk_client *client,
                                                const struct dk_request *request,
                                                json_type type, json_t **ret_value,
                                                struct nacre_error *err);

/* Send and judge; `also_fine` is one more status that is no failure, or 0. */
NACRE_MUST_CHECK enum nacre_status dk_call(struct dk_client *client,
                                           const struct dk_request *request,
                                           long also_fine, struct nacre_error *err);

/* The same for an object whose Id is of 64 hex digits. */
NACRE_MUST_CHECK enum nacre_status dk_call_id(struct dk_client *client,
                                              const struct dk_request *request,
                                              json_t **ret_object,
                                              struct nacre_error *err);

/* The text of a body, to be freed. */
NACRE_MUST_CHECK enum nacre_status dk_body(const json_t *body, char **ret_text,
                                           struct nacre_error *err);

/* Can it be the name of a container, or its id? */
NACRE_MUST_CHECK enum nacre_status dk_check_container(const char *container,
                                                      struct nacre_error *err);

/* The answer is not what the API promises: `what` is. */
enum nacre_status dk_fail_shape(const struct dk_request *request, const char *what,
                                struct nacre_error *err);

/* Set all that holds for every request, and the URL of `path`.  `error_text` is
 * libcurl's, of CURL_ERROR_SIZE bytes, and outlives the use of the handle. */
NACRE_MUST_CHECK enum nacre_status
dk_prepare(const struct dk_client *client, CURL *handle, const char *path,
           char *error_text, struct nacre_error *err);

/* Neither is NULL, or both are: then memory is short. */
struct dk_handle dk_handle_new(const struct dk_curl *curl);
void dk_handle_free(const struct dk_curl *curl, struct dk_handle *handle);

/* curl_easy_perform() without its SIGPIPE, by a shorter patience, and its failure in our
 * words.  The transfer stays in the handle until that is freed or given back. */
NACRE_MUST_CHECK enum nacre_status
dk_perform(const struct dk_client *client, const struct dk_handle *handle,
           struct nt_wait wait, const char *doing, const char *error_text,
           struct nacre_error *err);

/* NACRE_ERR_TIMEOUT when the wait was over before anything was sent. */
NACRE_MUST_CHECK enum nacre_status dk_check_time(const struct dk_request *request,
                                                 struct nacre_error *err);

/* Until the deadline, for poll(): 1 at least, a day at most. */
int dk_left_ms(uint64_t deadline_ns);

#endif
