/*
 * The executors of containers and machines as a client of the keeper.  What comes back is believed as far
 * as an executor's own result is: the keeper is nacre, of the same user.
 */
#include <assert.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask.h"
#include "engine.h"
#include "feed.h"
#include "message.h"
#include "nacre/clock.h"
#include "nacre/keeper.h"
#include "private.h"
#include "socket.h"
#include "start.h"
#include "wire.h"

#define SLICE_MS 100
#define ANSWER_MS 60000  /* the engine may have to be reached first */
#define MESSAGE_MS 10000 /* for the rest of a message that has begun */
#define CANCEL_MS 20000  /* from a CANCEL to the command's end */

struct executor {
    struct nacre_executor base;
    struct nacre_executor_options options;
    pthread_mutex_t probing;
    _Atomic int cancelled;
};

static struct executor *executor_of(struct nacre_executor *base)
{
    return (struct executor *)base;
}

static struct keeper_configured configured(const struct executor *executor)
{
    return (struct keeper_configured){ executor->options.engine_host,
                                       executor->options.engine_certificates };
}

static enum nacre_status receive(int socket, uint64_t deadline_ns,
                                 enum message_kind *ret_kind, struct nacre_buf *bytes,
                                 struct nacre_error *err)
{
    enum nacre_status status =
        message_receive(socket, deadline_ns, ret_kind, bytes, NULL, err);

    return status == NACRE_ERR_NOT_FOUND
               ? nacre_fail(err, NACRE_ERR_BACKEND,
                            "the keeper is gone, killed or by a failure that keeper.log "
                            "in nacre's state directory names; run it again: a new one "
                            "is started")
               : status;
}

static enum nacre_status read_failure(const json_t *json, struct nacre_error *err)
{
    struct nacre_error failure;
    enum nacre_status status = nacre_wire_read_error(json, &failure, err);

    if (status != NACRE_OK)
        return status;
    *err = failure;
    return failure.status;
}

/* Until it speaks, or until it could be waited for no longer. */
static enum nacre_status await(int socket, uint64_t deadline_ns,
                               const _Atomic int *cancelled, struct nacre_error *err)
{
    struct pollfd ready = { .fd = socket, .events = POLLIN };

    while (nacre_clock_ns() < deadline_ns && poll(&ready, 1, SLICE_MS) <= 0)
        if (cancelled && atomic_load(cancelled))
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "cancelled while the keeper looked for the engine");
    return NACRE_OK;
}

enum nacre_status keeper_ask(int socket, enum message_kind kind, json_t *question,
                             const _Atomic int *cancelled, json_t **ret_answer,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
    NACRE_AUTO(message_json_guard) json_t *json = NULL;
    enum message_kind answered = MESSAGE_NONE;
    uint64_t deadline_ns = message_within_ms(ANSWER_MS);
    enum nacre_status status = message_send_json(socket, kind, question, -1,
                                                 message_within_ms(MESSAGE_MS), err);

    if (status == NACRE_OK)
        status = await(socket, deadline_ns, cancelled, err);
    if (status == NACRE_OK)
        status = receive(socket, deadline_ns, &answered, &bytes, err);
    if (status == NACRE_OK)
        status = message_parse(&bytes, &json, err);
    if (status == NACRE_OK && answered == MESSAGE_FAILURE)
        status = read_failure(json, err);
    else if (status == NACRE_OK && answered != MESSAGE_ANSWER)
        status = nacre_fail(err, NACRE_ERR_PARSE, "the keeper answers something else");
    if (status != NACRE_OK)
        return status;
    *ret_answer = json_incref(json);
    return NACRE_OK;
}

/* ---- what it can enforce ---- */

static enum nacre_status learn(struct executor *executor, int socket,
                               struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    struct nacre_mechanism walls[NACRE_MECHANISMS_MAX];
    struct keeper_configured ours = configured(executor);
    json_int_t features = 0;
    json_t *list = NULL;
    enum nacre_status status = keeper_ask(socket, MESSAGE_PROBE,
                                          json_pack("{s:o, s:s}", "engine",
                                                    keeper_engine(&ours), "level",
                                                    executor->base.ops->name),
                                          &executor->cancelled, &answer, err);

    if (status == NACRE_OK &&
        (json_unpack(answer, "{s:I, s:o !}", "features", &features, "mechanisms",
                     &list) != 0 ||
         json_array_size(list) > NACRE_MECHANISMS_MAX))
        status = nacre_fail(err, NACRE_ERR_PARSE, "the keeper's answer makes no sense");
    for (size_t i = 0; status == NACRE_OK && i < json_array_size(list); i++)
        status = nacre_wire_read_mechanism(json_array_get(list, i), &walls[i], err);
    /* What a keeper without an engine says is kept until one is there, and only once. */
    if (status != NACRE_OK || (features == 0 && executor->base.mechanism_count > 0))
        return status;
    for (size_t i = 0; i < json_array_size(list); i++)
        nacre_mechanism_add(&executor->base, walls[i].name, walls[i].present, "%s",
                            walls[i].detail);
    atomic_fetch_or(&executor->base.features, (uint64_t)features);
    return NACRE_OK;
}

static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    struct executor *executor = executor_of(base);
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    struct nacre_error err;

    (void)wanted;
    (void)pthread_mutex_lock(&executor->probing);
    if (atomic_load(&base->features) == 0 &&
        (keeper_reach(executor->options.state_dir, executor->options.program,
                      executor->options.host_file, &socket,
                      &err) != NACRE_OK ||
         learn(executor, socket, &err) != NACRE_OK) &&
        atomic_load(&base->mechanism_count) == 0)
        nacre_mechanism_add(base, "keeper", false, "%.180s", err.text);
    (void)pthread_mutex_unlock(&executor->probing);
}

/* ---- running ---- */

struct run {
    struct executor *executor;
    const struct nacre_request *request;
    struct nacre_result *result;
    int socket;
    struct feed feed;
    int cancelled; /* the signal that the keeper knows of; 0: none */
    uint64_t cancelled_until_ns;
};

/* Tells the keeper, which answers with how the command ended. */
static enum nacre_status pass_cancel(struct run *run, struct nacre_error *err)
{
    int number = atomic_load(&run->executor->cancelled);
    char text[16];

    if (number == 0 && run->request->cancelled)
        number = atomic_load(run->request->cancelled);
    if (run->cancelled != 0 && nacre_clock_ns() > run->cancelled_until_ns)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "the keeper does not end the command: see `nacre ps`, and end "
                          "the keeper with `nacre keeper --quit`");
    if (number == 0 || number == run->cancelled)
        return NACRE_OK;
    if (run->cancelled == 0)
        run->cancelled_until_ns = message_within_ms(CANCEL_MS);
    run->cancelled = number;
    (void)snprintf(text, sizeof(text), "%d", number);
    return message_send(run->socket, MESSAGE_CANCEL, text, strlen(text), -1,
                        message_within_ms(MESSAGE_MS), err);
}

static enum nacre_status take_output(struct run *run, const struct nacre_buf *bytes,
                                     struct nacre_error *err)
{
    const struct nacre_request *request = run->request;
    int stream = bytes->size > 0 ? bytes->bytes[0] : 0;

    if (stream != 1 && stream != 2)
        return nacre_fail(err, NACRE_ERR_PARSE, "the keeper sends output of no stream");
    if (request->on_output)
        request->on_output(request->on_output_data, stream, bytes->bytes + 1,
                           bytes->size - 1);
    if (request->stream_only)
        return NACRE_OK;
    return nacre_buf_add(stream == 1 ? &run->result->output : &run->result->errors,
                         bytes->bytes + 1, bytes->size - 1, err);
}

static enum nacre_status take_message(struct run *run, bool *ret_over,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
    NACRE_AUTO(message_json_guard) json_t *json = NULL;
    enum message_kind kind = MESSAGE_NONE;
    enum nacre_status status =
        receive(run->socket, message_within_ms(MESSAGE_MS), &kind, &bytes, err);

    if (status == NACRE_OK && kind == MESSAGE_OUTPUT)
        return take_output(run, &bytes, err);
    *ret_over = true;
    if (status == NACRE_OK)
        status = message_parse(&bytes, &json, err);
    if (status == NACRE_OK && kind == MESSAGE_RESULT)
        return nacre_wire_read_result(json, run->result, err);
    if (status == NACRE_OK && kind == MESSAGE_FAILURE)
        return read_failure(json, err);
    return status == NACRE_OK
               ? nacre_fail(err, NACRE_ERR_PARSE, "the keeper answers something else")
               : status;
}

static enum nacre_status attend(struct run *run, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    bool over = false;

    while (status == NACRE_OK && !over) {
        struct pollfd fds[] = { { .fd = run->socket, .events = POLLIN },
                                feed_poll(&run->feed) };

        status = pass_cancel(run, err);
        if (status != NACRE_OK || poll(fds, NACRE_COUNT(fds), SLICE_MS) <= 0)
            continue;
        if (fds[1].revents)
            feed_move(&run->feed);
        if (fds[0].revents)
            status = take_message(run, &over, err);
    }
    return status;
}

static char *absolute(const char *path)
{
    char here[PATH_MAX];
    char *whole;

    if (path[0] == '/')
        return strdup(path);
    return getcwd(here, sizeof(here)) && asprintf(&whole, "%s/%s", here, path) >= 0
               ? whole
               : NULL;
}

/*
 * What this engine protects from guests travels with the plan: the keeper knows its own
 * directories, but not where, say, this client's audit log lies.  A sandbox that does not
 * protect them is another one, so that the digest tells them apart.
 */
static enum nacre_status protect(const struct nacre_plan *plan,
                                 const char *const *protected_paths,
                                 struct nacre_plan **ret_plan, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *copy = NULL;
    struct nacre_hasher hasher;
    uint32_t count = 0;
    char **grown;
    enum nacre_status status = nacre_plan_copy(plan, &copy, err);

    if (status != NACRE_OK)
        return status;
    while (protected_paths && protected_paths[count])
        count++;
    grown = realloc(copy->denied_host_paths,
                    (copy->denied_host_count + count + 1u) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
    copy->denied_host_paths = grown;
    nacre_hash_init(&hasher);
    nacre_hash_add(&hasher, &plan->digest, sizeof(plan->digest));
    for (uint32_t i = 0; i < count; i++) {
        grown[copy->denied_host_count] = absolute(protected_paths[i]);
        if (!grown[copy->denied_host_count])
            return nacre_fail(err, NACRE_ERR_MEMORY, "a plan");
        nacre_hash_add_text(&hasher, grown[copy->denied_host_count]);
        grown[++copy->denied_host_count] = NULL;
    }
    copy->digest = nacre_hash_end(&hasher);
    *ret_plan = nacre_plan_take(&copy);
    return NACRE_OK;
}

/* Ahead of the run that it belongs to. */
static enum nacre_status send_private(const struct run *run, struct nacre_error *err)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    enum nacre_status status = keeper_private_write(run->request, &bytes, &count, err);

    if (status == NACRE_OK)
        status = message_send(run->socket, MESSAGE_PRIVATE, bytes, count, -1,
                              message_within_ms(MESSAGE_MS), err);
    keeper_private_wipe(bytes, count);
    return status;
}

static enum nacre_status order(struct run *run, const struct nacre_plan *plan,
                               const struct nacre_tool *tool, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *whole = NULL;
    struct keeper_configured ours = configured(run->executor);
    enum nacre_status status = NACRE_OK;
    int input_fd = run->request->input_fd;

    if (run->request->dial_fd > 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "connections into a sandbox need one of this process's own, and "
                          "not the keeper's");
    status = protect(plan, run->executor->options.protected_paths, &whole, err);
    if (status == NACRE_OK && input_fd >= 0)
        status = feed_open(&run->feed, &input_fd, err);
    if (status == NACRE_OK && keeper_private_is_needed(run->request))
        status = send_private(run, err);
    if (status == NACRE_OK)
        status = message_send_json(
            run->socket, MESSAGE_RUN,
            json_pack("{s:o, s:o, s:o, s:o, s:s}", "engine", keeper_engine(&ours), "plan",
                      nacre_wire_plan(whole), "tool", nacre_wire_tool(tool), "request",
                      nacre_wire_request(run->request), "run_id", run->result->run_id),
            input_fd, message_within_ms(MESSAGE_MS), err);
    feed_handed_over(&run->feed);
    return status;
}

static enum nacre_status executor_run(struct nacre_executor *base,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    struct run run = { .executor = executor_of(base), .request = request,
                       .result = result, .feed = FEED_NONE };
    const struct nacre_executor_options *options = &run.executor->options;
    uint64_t output_max = plan->limits.output_bytes_max;
    enum nacre_status status =
        keeper_reach(options->state_dir, options->program, options->host_file, &socket,
                     err);

    if (status != NACRE_OK)
        return status;
    run.socket = socket;
    result->output.size_max = output_max < NACRE_BUF_LIMIT_MAX ? (size_t)output_max
                                                               : NACRE_BUF_LIMIT_MAX;
    result->errors.size_max = result->output.size_max;
    status = order(&run, plan, tool, err);
    if (status == NACRE_OK)
        status = attend(&run, err);
    feed_close(&run.feed);
    return status;
}

/* ---- the rest of an executor ---- */

static enum nacre_status open_as(const struct nacre_executor_ops *ops,
                                 const struct nacre_executor_options *options,
                                 struct nacre_executor **ret_executor,
                                 struct nacre_error *err)
{
    struct executor *executor = calloc(1, sizeof(*executor));

    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the keeper's client");
    executor->base.ops = ops;
    executor->options = *options;
    (void)pthread_mutex_init(&executor->probing, NULL);
    *ret_executor = &executor->base;
    return NACRE_OK;
}

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    return open_as(&nacre_keeper_executor, options, ret_executor, err);
}

static enum nacre_status vm_open(const struct nacre_executor_options *options,
                                 struct nacre_executor **ret_executor,
                                 struct nacre_error *err)
{
    return open_as(&nacre_keeper_vm_executor, options, ret_executor, err);
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&executor_of(base)->cancelled, signal);
}

static void executor_free(struct nacre_executor *base)
{
    struct executor *executor = executor_of(base);

    if (!executor)
        return;
    (void)pthread_mutex_destroy(&executor->probing);
    free(executor);
}

const struct nacre_executor_ops nacre_keeper_executor = {
    .name = "container",
    .open = executor_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};

const struct nacre_executor_ops nacre_keeper_vm_executor = {
    .name = "vm",
    .open = vm_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};

/* ---- for the verbs ---- */

static enum nacre_status ask_keeper(const char *state_dir, enum message_kind kind,
                                    json_t *question, json_t **ret_answer,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    char version[KEEPER_VERSION];
    enum nacre_status status = keeper_connect(state_dir, version, &socket, err);

    if (status == NACRE_OK && !keeper_is_same(version))
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                            "the keeper that runs is of another version of nacre, %.60s: "
                            "end it with `nacre keeper --quit`",
                            version);
    if (status != NACRE_OK) {
        json_decref(question);
        return status;
    }
    return keeper_ask(socket, kind, question, NULL, ret_answer, err);
}

enum nacre_status nacre_keeper_list(const char *state_dir,
                                    bool (*each)(void *data,
                                                 const struct nacre_box_info *info),
                                    void *data, struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    enum nacre_status status =
        ask_keeper(state_dir, MESSAGE_LIST, json_object(), &answer, err);

    for (size_t i = 0; status == NACRE_OK && i < json_array_size(answer); i++) {
        struct nacre_box_info info;

        status = nacre_wire_read_box(json_array_get(answer, i), &info, err);
        if (status == NACRE_OK && !each(data, &info))
            break;
    }
    return status;
}

enum nacre_status nacre_keeper_end(const char *state_dir,
                                   const struct nacre_keeper_choice *choice,
                                   uint32_t *ret_ended, uint32_t *ret_left,
                                   struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    json_int_t ended, left;
    enum nacre_status status = ask_keeper(state_dir, MESSAGE_END,
                                          nacre_wire_choice(choice), &answer, err);

    if (status == NACRE_OK &&
        json_unpack(answer, "{s:I, s:I !}", "ended", &ended, "left", &left) != 0)
        status = nacre_fail(err, NACRE_ERR_PARSE, "the keeper's answer makes no sense");
    if (status != NACRE_OK)
        return status;
    *ret_ended = (uint32_t)ended;
    *ret_left = (uint32_t)left;
    return NACRE_OK;
}

enum nacre_status nacre_keeper_pid(const char *state_dir, int32_t *ret_pid,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    char version[KEEPER_VERSION];
    struct ucred peer;
    socklen_t size = sizeof(peer);
    enum nacre_status status = keeper_connect(state_dir, version, &socket, err);

    if (status != NACRE_OK)
        return status;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the keeper's socket");
    *ret_pid = peer.pid;
    return NACRE_OK;
}

enum nacre_status nacre_keeper_quit(const char *state_dir, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    char version[KEEPER_VERSION];
    bool leaving;
    enum nacre_status status = keeper_connect(state_dir, version, &socket, err);

    if (status == NACRE_OK)
        status = keeper_dismiss(socket, MESSAGE_NOW, &leaving, err);
    return status == NACRE_OK ? keeper_await_end(state_dir, err) : status;
}
