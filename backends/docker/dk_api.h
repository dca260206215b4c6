#ifndef DK_API_H
#define DK_API_H

/*
 * The Docker Engine API over libcurl: where the engine is, a client, the calls that
 * nacre makes, and the hijacked stream of a container.  The engine is taken for broken
 * or hostile: what it answers is bounded in size, in time and in shape, and its words
 * are escaped and cut before they stand in a message.
 *
 * Every call takes `wait`; one that is over, by its time or because it was cancelled, is
 * NACRE_ERR_TIMEOUT, and what the engine did of the call is then unknown.  The other
 * failures that a caller can tell apart, unless a call says otherwise:
 *
 *   NACRE_ERR_NOT_FOUND    the engine knows no such container, image or exec (404)
 *   NACRE_ERR_USAGE        a name that was given can't be a name; nothing was sent
 *   NACRE_ERR_UNAVAILABLE  the engine can't be reached, or is none that we speak to
 *   NACRE_ERR_BACKEND      the engine refused; the text has its own words
 *   NACRE_ERR_PARSE        its answer is not what the API promises
 *   NACRE_ERR_TOO_BIG      its answer is larger than DK_ANSWER_MAX
 *   NACRE_ERR_IO           the connection broke
 *
 * The archive (cp) calls are not here on purpose: they follow links inside a container.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nacre/clock.h"
#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nt_wait.h"

/* For a call that nobody cancels. */
static inline struct nt_wait dk_within_ms(uint32_t ms)
{
    return (struct nt_wait){ .deadline_ns = nacre_clock_ns() + ms * NACRE_NS_PER_MS };
}

static inline void dk_json_guard(json_t **owned)
{
    json_decref(*owned);
}

#define DK_ANSWER_MAX ((size_t)8 << 20)

/* ---- where the engine is ---- */

enum dk_transport {
    DK_TRANSPORT_NONE,
    DK_TRANSPORT_UNIX,
    DK_TRANSPORT_TCP, /* plain; only ever to a loopback address */
    DK_TRANSPORT_TLS, /* both sides proven by certificates */
};

struct dk_endpoint {
    enum dk_transport transport;
    char path[108];  /* UNIX: the socket */
    char host[256];  /* TCP, TLS: a name or an address, IPv6 in brackets */
    uint16_t port;
    char ca[NACRE_PATH_MAX], cert[NACRE_PATH_MAX], key[NACRE_PATH_MAX]; /* TLS */
    char origin[NACRE_PATH_MAX]; /* what named it, for messages: "DOCKER_HOST", ... */
};

/* Where an endpoint may be named; each may be NULL, and "" counts as NULL.  Borrowed. */
struct dk_places {
    const char *docker_host;       /* $DOCKER_HOST */
    const char *docker_context;    /* $DOCKER_CONTEXT */
    const char *docker_tls_verify; /* $DOCKER_TLS_VERIFY: anything means yes */
    const char *docker_cert_path;  /* $DOCKER_CERT_PATH */
    const char *docker_config;     /* $DOCKER_CONFIG; NULL: ~/.docker */
    const char *home;              /* $HOME */
    const char *configured;        /* of nacre's own configuration */
    const char *configured_certificates; /* NULL: as for $DOCKER_HOST */
    const char *configured_origin;       /* where that stands */
};

#define DK_DEFAULT_SOCKET "/var/run/docker.sock"

/* Everything but what is configured from the environment. */
struct dk_places dk_places_environment(void);

/*
 * The first that is there: $DOCKER_HOST, the docker context ($DOCKER_CONTEXT or the one
 * in config.json), the configuration, unix:///var/run/docker.sock.  One that is there
 * and can't be used is an error, never a reason to take the next: NACRE_ERR_UNAVAILABLE
 * for a way that is not spoken (ssh, npipe, plain TCP to another machine),
 * NACRE_ERR_PARSE for one that is misspelt, NACRE_ERR_NOT_FOUND for a context that does
 * not exist.  Nothing is connected.
 */
NACRE_MUST_CHECK enum nacre_status dk_endpoint_find(const struct dk_places *places,
                                                    struct dk_endpoint *ret_endpoint,
                                                    struct nacre_error *err);

/* "unix:///run/docker.sock", "tcp://build:2376"; escaped and cut. */
#define DK_ENDPOINT_TEXT 320
const char *dk_endpoint_text(const struct dk_endpoint *endpoint,
                             char ret_text[DK_ENDPOINT_TEXT]);

/* ---- the client ---- */

/*
 * Safe to use from several threads at once; each call takes a connection of its own
 * while it lasts, and connections are kept for later calls.  Not to be used in a forked
 * child: make another there.
 *
 * The connections are closed on exec.  A pair of sockets that libcurl 7 makes for each of
 * them, to wake itself up, is not: who starts programs closes what is not theirs.
 */
struct dk_client;

/* Who answers.  Texts are escaped and cut: for people and for comparisons only. */
struct dk_engine {
    char version[64]; /* "20.10.24" */
    char api[16];     /* spoken with it from now on: "1.41" */
    char os[32], arch[32], kernel[96];
};

/*
 * Loads libcurl at first use (NACRE_ERR_UNAVAILABLE names the package when it is not
 * there), asks the engine who it is and settles the API version, 1.41 at least.
 * Podman is refused by name.  The endpoint is copied.
 */
NACRE_MUST_CHECK enum nacre_status dk_client_open(const struct dk_endpoint *endpoint,
                                                  struct nt_wait wait,
                                                  struct dk_client **ret_client,
                                                  struct nacre_error *err);
/* Accepts NULL.  No call may be under way; streams of it may live on. */
void dk_client_free(struct dk_client *client);
NACRE_OWNED(dk_client)

const struct dk_engine *dk_client_engine(const struct dk_client *client);
const struct dk_endpoint *dk_client_endpoint(const struct dk_client *client);

/* GET /info as it is: an object. */
NACRE_MUST_CHECK enum nacre_status dk_info(struct dk_client *client, struct nt_wait wait,
                                           json_t **ret_info, struct nacre_error *err);

/* ---- containers ---- */

/* `container` below is an id, or a name of [a-zA-Z0-9][a-zA-Z0-9_.-]*. */

#define DK_ID 65 /* 64 lower-case hex digits */

struct dk_created {
    char id[DK_ID];
    char warnings[512]; /* "" when there are none; escaped, "; " between them, cut */
};

/*
 * `body` as the API takes it (Image, Cmd, HostConfig, ...).  NACRE_ERR_NOT_FOUND: there
 * is no such image, or a part of it that the body names.  NACRE_ERR_USAGE also when the
 * name is taken.  A container with warnings exists: the caller decides.  After a TIMEOUT
 * or IO failure it may exist too: remove it by its name.
 */
NACRE_MUST_CHECK enum nacre_status
dk_container_create(struct dk_client *client, const char *name, const json_t *body,
                    struct nt_wait wait, struct dk_created *ret_created,
                    struct nacre_error *err);

/* GET /containers/ID/json: an object, whose Id is 64 hex digits. */
NACRE_MUST_CHECK enum nacre_status dk_container_inspect(struct dk_client *client,
                                                        const char *container,
                                                        struct nt_wait wait,
                                                        json_t **ret_container,
                                                        struct nacre_error *err);

/* One that runs already is no failure. */
NACRE_MUST_CHECK enum nacre_status dk_container_start(struct dk_client *client,
                                                      const char *container,
                                                      struct nt_wait wait,
                                                      struct nacre_error *err);

/*
 * `signal` as "KILL" or "9".  One that does not run is no failure.  Close every stream
 * of the container first: one that nobody reads blocks kill, inspect and remove.
 */
NACRE_MUST_CHECK enum nacre_status dk_container_kill(struct dk_client *client,
                                                     const char *container,
                                                     const char *signal,
                                                     struct nt_wait wait,
                                                     struct nacre_error *err);

/* From now on no process in it can make another. */
NACRE_MUST_CHECK enum nacre_status dk_container_stop_forks(struct dk_client *client,
                                                           const char *container,
                                                           struct nt_wait wait,
                                                           struct nacre_error *err);

/*
 * Killed if need be, and gone with its anonymous volumes when this returns NACRE_OK;
 * also when it was gone before, or when somebody else is removing it.
 */
NACRE_MUST_CHECK enum nacre_status dk_container_remove(struct dk_client *client,
                                                       const char *container,
                                                       struct nt_wait wait,
                                                       struct nacre_error *err);

/*
 * Its file system as a tar, to `fd` (a pipe or a file) as it comes, without what is
 * mounted.  Ask it of a container that never ran: then nothing in it can have moved meanwhile.
 */
NACRE_MUST_CHECK enum nacre_status dk_container_export(struct dk_client *client,
                                                       const char *container, int fd,
                                                       struct nt_wait wait,
                                                       struct nacre_error *err);

/* All that carry `label` ("key" or "key=value"), running or not: an array of objects,
 * each with Id (64 hex digits), Labels, State, Created, ... */
NACRE_MUST_CHECK enum nacre_status dk_container_list(struct dk_client *client,
                                                     const char *label,
                                                     struct nt_wait wait,
                                                     json_t **ret_list,
                                                     struct nacre_error *err);

/* Has the engine seen the kernel kill in the container for memory?  Also of one that is
 * gone; `since_s` is a time before its start, in seconds since 1970. */
NACRE_MUST_CHECK enum nacre_status dk_container_ran_out(struct dk_client *client,
                                                        const char *id, uint64_t since_s,
                                                        struct nt_wait wait,
                                                        bool *ret_ran_out,
                                                        struct nacre_error *err);

/* ---- images ---- */

/* `image` is a reference: name[:tag][@digest] with an optional registry, or an id. */

#define DK_IMAGE_ID 72 /* "sha256:" and 64 lower-case hex digits */

/* What the engine says while it builds or imports; escaped.  `data` is the caller's. */
struct dk_progress {
    void (*said)(void *data, const char *text);
    void *data;
};

/* An object, whose Id is a DK_IMAGE_ID. */
NACRE_MUST_CHECK enum nacre_status dk_image_inspect(struct dk_client *client,
                                                    const char *image,
                                                    struct nt_wait wait,
                                                    json_t **ret_image,
                                                    struct nacre_error *err);

/*
 * A root filesystem as an image: `tar_fd` is read from where it stands to its end; it
 * may be a pipe.  `changes` are Dockerfile instructions ("ENV A=b"), NULL-terminated, or
 * NULL.
 */
NACRE_MUST_CHECK enum nacre_status
dk_image_import(struct dk_client *client, const char *repository, const char *tag,
                const char *const *changes, int tar_fd, struct nt_wait wait,
                char ret_id[DK_IMAGE_ID], struct nacre_error *err);

/* From a tar with a Dockerfile in it.  `progress` may be NULL. */
NACRE_MUST_CHECK enum nacre_status
dk_image_build(struct dk_client *client, const char *reference, int tar_fd,
               const struct dk_progress *progress, struct nt_wait wait,
               char ret_id[DK_IMAGE_ID], struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status
dk_image_tag(struct dk_client *client, const char *image, const char *repository,
             const char *tag, struct nt_wait wait, struct nacre_error *err);

/* The name; the image too when it was its last.  One that is gone is no failure. */
NACRE_MUST_CHECK enum nacre_status dk_image_remove(struct dk_client *client,
                                                   const char *image,
                                                   struct nt_wait wait,
                                                   struct nacre_error *err);

/* A container's root as an image, as it is now: nothing in it may write meanwhile.
 * `config` replaces its configuration; NULL keeps it. */
NACRE_MUST_CHECK enum nacre_status
dk_commit(struct dk_client *client, const char *container, const char *repository,
          const char *tag, const json_t *config, struct nt_wait wait,
          char ret_id[DK_IMAGE_ID], struct nacre_error *err);

/* ---- the stream of a container or of an exec ---- */

/*
 * A hijacked connection, non-blocking.  One thread may read while another writes; free
 * when neither does.
 *
 * To wait for input, poll dk_stream_fd() for POLLIN, but only after a read gave EAGAIN:
 * bytes may lie decrypted or unpacked in memory, where poll does not see them.
 */
struct dk_stream;

/* One that was opened with a terminal has no frames and is not for this. */
NACRE_MUST_CHECK enum nacre_status dk_attach(struct dk_client *client,
                                             const char *container, struct nt_wait wait,
                                             struct dk_stream **ret_stream,
                                             struct nacre_error *err);

/* Closes it.  Accepts NULL. */
void dk_stream_free(struct dk_stream *stream);
NACRE_OWNED(dk_stream)

int dk_stream_fd(const struct dk_stream *stream);

enum dk_output {
    DK_OUTPUT_NONE,
    DK_OUTPUT_STDOUT = 1, /* the numbers are the API's */
    DK_OUTPUT_STDERR = 2,
};

/*
 * At least one byte of one of the two outputs, up to `count`.  0: the stream ended
 * between two frames.  -1 with errno EAGAIN: nothing now; EPROTO: the engine sent
 * something that is no frame, or broke off inside one; else the connection's errno.
 * After 0 and after any errno but EAGAIN the stream gives the same answer for ever.
 */
ssize_t dk_stream_read_any(struct dk_stream *stream, void *bytes, size_t count,
                           enum dk_output *ret_output);

/*
 * The same for stdout alone.  Of stderr the first DK_STDERR_KEPT bytes are kept for
 * dk_stream_stderr() and the rest is dropped.  A flood of stderr does not hold the
 * caller: EAGAIN comes after about 64 KiB of it, and poll then tells of more.
 */
#define DK_STDERR_KEPT 4096
ssize_t dk_stream_read(struct dk_stream *stream, void *bytes, size_t count);

/* Of the reading thread; not terminated. */
const char *dk_stream_stderr(const struct dk_stream *stream, size_t *ret_count);

/* How many bytes were taken, at least 1 unless `count` is 0; -1 with errno EAGAIN when
 * none can be now: poll for POLLOUT, and come with the same bytes again, from wherever
 * they are then and with more behind them or not.  Raises no SIGPIPE. */
ssize_t dk_stream_write(struct dk_stream *stream, const void *bytes, size_t count);

/* No more input: the other side reads an end of file, and output still comes.
 * NACRE_ERR_UNAVAILABLE over TLS, where libcurl has no such thing. */
NACRE_MUST_CHECK enum nacre_status dk_stream_end_input(struct dk_stream *stream,
                                                       struct nacre_error *err);

#endif
