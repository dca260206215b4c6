/*
 * What a client of the keeper asks, and the answers.  Clients are of our own user, but
 * one that is broken, slow or gone must hold up nobody but itself: its command waits for
 * it, or ends.
 */
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine.h"
#include "message.h"
#include "nacre/clock.h"
#include "nacre/sessions.h"
#include "nacre/text.h"
#include "private.h"
#include "serve.h"
#include "wire.h"

#define ASK_MS 30000     /* for a client to say what it wants */
#define ANSWER_MS 10000  /* to take an answer, or to finish a message */
#define OUTPUT_MS 600000 /* to take a piece of output: somebody may have stopped it */
#define SIGNAL_MAX 64
#define SCOPE_KEY_MAX (sizeof(((struct nacre_box_info *)0)->scope_key) - 1)

static enum nacre_status send_answer(const struct client *client, json_t *json,
                                     struct nacre_error *err)
{
    return message_send_json(client->socket, MESSAGE_ANSWER, json, -1,
                             message_within_ms(ANSWER_MS), err);
}

static enum nacre_status send_failure(const struct client *client,
                                      const struct nacre_error *failure,
                                      struct nacre_error *err)
{
    return message_send_json(client->socket, MESSAGE_FAILURE, nacre_wire_error(failure),
                             -1, message_within_ms(ANSWER_MS), err);
}

/* ---- a run ---- */

struct run {
    int socket;
    int done_fd; /* an eventfd: the command has ended */
    _Atomic int cancelled;
};

static int signal_of(const struct nacre_buf *bytes)
{
    uint64_t number;

    return nacre_text_u64(bytes->bytes, SIGNAL_MAX, &number) && number > 0 ? (int)number
                                                                           : SIGKILL;
}

/* While a command runs: whatever comes but a CANCEL is its client's end. */
static void *listen_to_client(void *data)
{
    struct run *run = data;
    struct pollfd fds[] = { { .fd = run->socket, .events = POLLIN },
                            { .fd = run->done_fd, .events = POLLIN } };

    for (;;) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(16);
        enum message_kind kind = MESSAGE_NONE;
        struct nacre_error err;
        bool is_cancel;

        if (poll(fds, NACRE_COUNT(fds), -1) < 0)
            continue;
        if (fds[1].revents)
            return NULL;
        is_cancel = message_receive(run->socket, message_within_ms(ANSWER_MS), &kind,
                                    &bytes, NULL, &err) == NACRE_OK &&
                    kind == MESSAGE_CANCEL;
        atomic_store(&run->cancelled, is_cancel ? signal_of(&bytes) : SIGKILL);
        if (!is_cancel)
            return NULL;
    }
}

static void pass_on(void *data, int stream, const char *bytes, size_t count)
{
    struct run *run = data;
    char part[MESSAGE_OUTPUT_MAX];
    struct nacre_error err;

    while (count > 0) {
        size_t some = count < sizeof(part) - 1 ? count : sizeof(part) - 1;

        part[0] = (char)stream;
        memcpy(part + 1, bytes, some);
        if (message_send(run->socket, MESSAGE_OUTPUT, part, some + 1, -1,
                         message_within_ms(OUTPUT_MS), &err) != NACRE_OK) {
            atomic_store(&run->cancelled, SIGKILL);
            return;
        }
        bytes += some;
        count -= some;
    }
}

struct order {
    struct nacre_plan *plan;
    struct nacre_tool *tool;
    struct nacre_request request;
    const char *run_id; /* the JSON's */
};

static void order_clear(struct order *order)
{
    nacre_plan_free(order->plan);
    nacre_tool_free(order->tool);
    nacre_wire_request_clear(&order->request);
}

/* NULL: none that the keeper has. */
static struct nacre_executor *executor_for(const struct nacre_keeper_options *options,
                                           const char *level)
{
    struct nacre_executor *const all[] = { options->executor, options->machines };

    for (size_t i = 0; i < NACRE_COUNT(all); i++)
        if (all[i] && strcmp(all[i]->ops->name, level) == 0)
            return all[i];
    return NULL;
}

static enum nacre_status judge_order(const struct nacre_keeper_options *options,
                                     const struct order *order, const json_t *json,
                                     struct nacre_error *err)
{
    size_t id_length = strlen(order->run_id ? order->run_id : "");

    if (id_length == 0 || id_length >= NACRE_RUN_ID || json_object_size(json) != 5)
        return nacre_fail(err, NACRE_ERR_PARSE, "this is no run for a keeper");
    if (!executor_for(options, nacre_level_name(order->plan->level)) ||
        !order->plan->scope_key)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the keeper runs what stays warm, and nothing else");
    if (strlen(order->plan->scope_key) > SCOPE_KEY_MAX)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the name of a session or agent whose sandbox stays warm may "
                          "have %zu bytes at most",
                          SCOPE_KEY_MAX - strlen("session:"));
    return NACRE_OK;
}

static enum nacre_status check_engine(const struct nacre_keeper_options *options,
                                      const json_t *json, struct nacre_error *err)
{
    const struct keeper_configured ours = { options->engine_host,
                                            options->engine_certificates };

    return keeper_engine_check(json_object_get(json, "engine"), &ours, err);
}

static enum nacre_status read_order(const struct nacre_keeper_options *options,
                                    const json_t *json, struct order *order,
                                    struct nacre_error *err)
{
    enum nacre_status status = check_engine(options, json, err);

    if (status == NACRE_OK)
        status = nacre_wire_read_request(json_object_get(json, "request"),
                                         &order->request, err);
    if (status == NACRE_OK)
        status = nacre_wire_read_plan(json_object_get(json, "plan"), &order->plan, err);
    if (status == NACRE_OK)
        status = nacre_wire_read_tool(json_object_get(json, "tool"), &order->tool, err);
    order->run_id = json_string_value(json_object_get(json, "run_id"));
    return status == NACRE_OK ? judge_order(options, order, json, err) : status;
}

/* Select has done this in the client; but features are this process's.  What the client
 * waived is not in the plan any more, and what it takes for enforced can't be waived
 * here: its result would not say so. */
static enum nacre_status check_features(struct nacre_executor *executor,
                                        const struct nacre_plan *plan,
                                        struct nacre_error *err)
{
    executor->ops->probe(executor, plan->required);
    if (plan->required & ~atomic_load(&executor->features))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine can't be reached, or can't enforce any more what "
                          "it could: see nacre backends");
    return NACRE_OK;
}

static enum nacre_status execute(struct nacre_executor *executor,
                                 const struct order *order, struct run *run,
                                 struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int done_fd = eventfd(0, EFD_CLOEXEC);
    enum nacre_status status = check_features(executor, order->plan, err);
    pthread_t listener;

    if (status != NACRE_OK)
        return status;
    run->done_fd = done_fd;
    if (done_fd < 0 || pthread_create(&listener, NULL, listen_to_client, run) != 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread for a client");
    status = nacre_executor_run(executor, order->plan, order->tool, &order->request,
                                result, err);
    (void)eventfd_write(done_fd, 1);
    (void)pthread_join(listener, NULL);
    return status;
}

static void count_running(struct keeper *keeper, bool more)
{
    (void)pthread_mutex_lock(&keeper->lock);
    if (more)
        keeper->running++;
    else
        keeper->running--;
    (void)pthread_mutex_unlock(&keeper->lock);
}

static enum nacre_status serve_run(const struct client *client, const json_t *json,
                                   const struct keeper_private *private, int input_fd,
                                   struct nacre_error *err)
{
    const struct nacre_keeper_options *options = client->keeper->options;
    NACRE_AUTO(order_clear) struct order order = { .request.input_fd = -1 };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct run run = { .socket = client->socket };
    struct nacre_error failure;
    enum nacre_status status = nacre_result_new(&result, &failure);

    if (status == NACRE_OK)
        status = read_order(options, json, &order, &failure);
    if (status == NACRE_OK) {
        if (private)
            keeper_private_lend(private, &order.request);
        order.request.input_fd = input_fd;
        order.request.on_output = pass_on;
        order.request.on_output_data = &run;
        order.request.stream_only = true;
        order.request.cancelled = &run.cancelled;
        (void)snprintf(result->run_id, sizeof(result->run_id), "%s", order.run_id);
        count_running(client->keeper, true);
        status = execute(executor_for(options, nacre_level_name(order.plan->level)),
                         &order, &run, result, &failure);
        count_running(client->keeper, false);
    }
    if (status != NACRE_OK)
        return send_failure(client, &failure, err);
    return message_send_json(client->socket, MESSAGE_RESULT, nacre_wire_result(result),
                             -1, message_within_ms(ANSWER_MS), err);
}

/* ---- the smaller questions ---- */

static json_t *mechanisms_of(const struct nacre_executor *executor)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < atomic_load(&executor->mechanism_count); i++)
        if (json_array_append_new(array,
                                  nacre_wire_mechanism(&executor->mechanisms[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static enum nacre_status serve_probe(const struct client *client, const json_t *json,
                                     struct nacre_error *err)
{
    const char *level = json_string_value(json_object_get(json, "level"));
    struct nacre_executor *executor =
        executor_for(client->keeper->options, level ? level : "container");
    struct nacre_error failure;

    if (!executor)
        (void)nacre_fail(&failure, NACRE_ERR_PARSE, "the keeper has no such level");
    if (!executor || check_engine(client->keeper->options, json, &failure) != NACRE_OK)
        return send_failure(client, &failure, err);
    executor->ops->probe(executor, ~UINT32_C(0));
    return send_answer(client,
                       json_pack("{s:I, s:o}", "features",
                                 (json_int_t)atomic_load(&executor->features),
                                 "mechanisms", mechanisms_of(executor)),
                       err);
}

static bool list_one(void *data, const struct nacre_box_info *info)
{
    return json_array_append_new(data, nacre_wire_box(info)) == 0;
}

static enum nacre_status serve_list(const struct client *client, struct nacre_error *err)
{
    const struct nacre_keeper_options *options = client->keeper->options;
    json_t *array = json_array();

    if (array)
        options->list(options->executor, list_one, array);
    return send_answer(client, array, err);
}

/* ---- ending them ---- */

uint32_t keeper_end_chosen(const struct keeper *keeper,
                           const struct nacre_keeper_choice *choice, uint32_t *ret_left)
{
    const struct nacre_keeper_options *options = keeper->options;
    const struct nacre_boxes_of boxes = { options->state_dir, options->executor,
                                          options->list, options->end };

    return nacre_boxes_end_chosen(&boxes, choice, nacre_clock_wall_ms(), ret_left);
}

static enum nacre_status serve_end(const struct client *client, const json_t *json,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_wire_choice_clear) struct nacre_keeper_choice choice = { 0 };
    struct nacre_error failure;
    uint32_t ended, left;

    if (nacre_wire_read_choice(json, &choice, &failure) != NACRE_OK)
        return send_failure(client, &failure, err);
    ended = keeper_end_chosen(client->keeper, &choice, &left);
    return send_answer(client,
                       json_pack("{s:I, s:I}", "ended", (json_int_t)ended, "left",
                                 (json_int_t)left),
                       err);
}

static enum nacre_status serve_job(const struct client *client, const json_t *json,
                                   struct nacre_error *err)
{
    struct nacre_error failure;
    json_t *answer = NULL;

    if (jobs_serve(client->keeper->jobs, json, &answer, &failure) != NACRE_OK)
        return send_failure(client, &failure, err);
    return send_answer(client, answer, err);
}

static enum nacre_status serve_quit(const struct client *client,
                                    const struct nacre_buf *bytes,
                                    struct nacre_error *err)
{
    struct keeper *keeper = client->keeper;
    const char *answer;

    (void)pthread_mutex_lock(&keeper->lock);
    keeper->quitting |= strcmp(bytes->bytes, MESSAGE_NOW) == 0 || keeper->running == 0;
    answer = keeper->quitting ? MESSAGE_LEAVING : MESSAGE_BUSY;
    (void)pthread_mutex_unlock(&keeper->lock);
    (void)eventfd_write(keeper->wake_fd, 1);
    return message_send(client->socket, MESSAGE_ANSWER, answer, strlen(answer), -1,
                        message_within_ms(ANSWER_MS), err);
}

/* ---- whatever it is ---- */

static enum nacre_status dispatch(const struct client *client, enum message_kind kind,
                                  const struct nacre_buf *bytes,
                                  const struct keeper_private *private, int fd,
                                  struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *json = NULL;
    enum nacre_status status;

    if (kind == MESSAGE_CANCEL) /* the run had just ended */
        return NACRE_OK;
    if (kind == MESSAGE_QUIT)
        return serve_quit(client, bytes, err);
    status = message_parse(bytes, &json, err);
    if (status != NACRE_OK)
        return status;
    if (private && kind != MESSAGE_RUN)
        return nacre_fail(err, NACRE_ERR_PARSE, "this is no question to a keeper");
    switch ((int)kind) {
    case MESSAGE_PROBE:
        return serve_probe(client, json, err);
    case MESSAGE_RUN:
        return serve_run(client, json, private, fd, err);
    case MESSAGE_LIST:
        return serve_list(client, err);
    case MESSAGE_END:
        return serve_end(client, json, err);
    case MESSAGE_JOB:
        return serve_job(client, json, err);
    default:
        return nacre_fail(err, NACRE_ERR_PARSE, "this is no question to a keeper");
    }
}

/* It is read and wiped before anything else is asked. */
static enum nacre_status take_private(const struct client *client,
                                      struct keeper_private **ret_private,
                                      enum message_kind *kind, struct nacre_buf *bytes,
                                      int *fd, struct nacre_error *err)
{
    enum nacre_status status = *fd >= 0 ? nacre_fail(err, NACRE_ERR_PARSE,
                                                     "a file came with secrets")
                                        : keeper_private_read(bytes->bytes, bytes->size,
                                                              ret_private, err);

    explicit_bzero(bytes->bytes, bytes->size);
    nacre_buf_clear(bytes);
    if (status == NACRE_OK)
        status = message_receive(client->socket, message_within_ms(ASK_MS), kind, bytes,
                                 fd, err);
    return status;
}

enum nacre_status client_serve(const struct client *client, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
    NACRE_AUTO(keeper_private_guard) struct keeper_private *private = NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_error ignored;
    enum message_kind kind;
    enum nacre_status status = message_receive(client->socket, message_within_ms(ASK_MS),
                                               &kind, &bytes, &fd, err);

    if (status == NACRE_OK && kind == MESSAGE_PRIVATE)
        status = take_private(client, &private, &kind, &bytes, &fd, err);
    if (status == NACRE_OK)
        status = dispatch(client, kind, &bytes, private, fd, err);
    if (status == NACRE_ERR_PARSE)
        (void)!send_failure(client, err, &ignored);
    return status;
}
