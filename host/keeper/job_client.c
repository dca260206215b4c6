/* The client's side of jobs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "fields.h"
#include "job_info.h"
#include "nacre/base64.h"
#include "nacre/jobs.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "socket.h"
#include "start.h"

extern char **environ;

/* Asks the keeper, which is started only where `start` says so.  Takes `question`. */
static enum nacre_status ask(const struct nacre_keeper_at *at, bool start,
                             json_t *question, json_t **ret_answer,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int socket = -1;
    char version[KEEPER_VERSION];
    enum nacre_status status =
        start ? keeper_reach(at->state_dir, at->program, NULL, &socket, err)
              : keeper_connect(at->state_dir, version, &socket, err);

    if (status == NACRE_OK && !start && !keeper_is_same(version))
        status = nacre_fail(err, NACRE_ERR_NOT_FOUND, "the keeper is another version's");
    if (status != NACRE_OK) {
        json_decref(question);
        return status;
    }
    return keeper_ask(socket, MESSAGE_JOB, question, NULL, ret_answer, err);
}

static json_t *question(const char *op, const struct nacre_job_owner *owner,
                        const char *id)
{
    return json_pack("{s:s, s:s, s:s, s:s?}", "op", op, "session", owner->session,
                     "agent", owner->agent, "id", id);
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return object && json_object_set_new(object, key, value) == 0;
}

/* NULL where something was missing: the caller's ask() tells. */
static json_t *whole(json_t *object, bool all)
{
    if (all)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- starting ---- */

/* What the program finds its places and its engine by, and nothing else of ours. */
static bool is_passed_on(const char *entry)
{
    static const char *const names[] = { "HOME=", "PATH=", "XDG_", "NACRE_", "DOCKER_",
                                         "LANG=", "LC_", "TZ=", "USER=", "LOGNAME=",
                                         "TMPDIR=" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static json_t *environment(void)
{
    json_t *list = json_array();
    int failed = list ? 0 : -1;

    for (char **entry = environ; entry && *entry && !failed; entry++)
        if (is_passed_on(*entry) && nacre_text_is_utf8(*entry, strlen(*entry)))
            failed = json_array_append_new(list, json_string(*entry));
    return whole(list, !failed);
}

/* Takes `list`, which may be NULL. */
static json_t *with_texts(json_t *list, const char *const *texts)
{
    int failed = list ? 0 : -1;

    for (size_t i = 0; texts && texts[i] && !failed; i++)
        failed = json_array_append_new(list, json_string(texts[i]));
    return whole(list, !failed);
}

static bool is_too_large(const char *const *texts)
{
    size_t bytes = 0;

    for (size_t i = 0; texts && texts[i]; i++)
        bytes += strlen(texts[i]) + 1;
    return bytes > NACRE_JOB_WORD_BYTES_MAX;
}

enum nacre_status nacre_job_start(const struct nacre_keeper_at *at,
                                  const struct nacre_job_owner *owner,
                                  const struct nacre_job_start *start,
                                  char ret_id[NACRE_JOB_ID], struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    json_t *asked;
    const char *id;
    enum nacre_status status;

    if (is_too_large(start->words))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a command and its variables are over %zu bytes",
                          NACRE_JOB_WORD_BYTES_MAX);
    asked = question("start", owner, NULL);
    asked = whole(asked, put(asked, "words", with_texts(json_array(), start->words)) &&
                             put(asked, "environment", environment()) &&
                             put(asked, "directory", json_string(start->directory)) &&
                             put(asked, "title", json_string(start->title)));
    status = ask(at, true, asked, &answer, err);
    if (status != NACRE_OK)
        return status;
    id = json_string_value(json_object_get(answer, "id"));
    if (!id || strlen(id) != NACRE_JOB_ID - 1)
        return fields_wrong("id", err);
    memcpy(ret_id, id, NACRE_JOB_ID);
    return NACRE_OK;
}

/* ---- the others ---- */

static enum nacre_status read_output(const json_t *json, struct nacre_buf *ret_output,
                                     struct nacre_error *err)
{
    size_t length = json_string_length(json), count = 0;
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(length + 1);

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "what a job wrote");
    if (!json_is_string(json) ||
        !nacre_base64_read(NACRE_BASE64_PLAIN, json_string_value(json), length, bytes,
                           length, &count))
        return fields_wrong("output", err);
    return count > 0 ? nacre_buf_add(ret_output, bytes, count, err) : NACRE_OK;
}

enum nacre_status nacre_job_read(const struct nacre_keeper_at *at,
                                 const struct nacre_job_owner *owner, const char *id,
                                 uint64_t offset, size_t bytes_max, uint64_t wait_ms,
                                 struct nacre_buf *ret_output, uint64_t *ret_next,
                                 struct nacre_job_info *ret_info, struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    json_t *asked = question("read", owner, id);
    json_int_t next = 0;
    enum nacre_status status;

    asked = whole(asked, put(asked, "offset", json_integer((json_int_t)offset)) &&
                             put(asked, "bytes_max",
                                 json_integer((json_int_t)bytes_max)) &&
                             put(asked, "wait_ms", json_integer((json_int_t)wait_ms)));
    status = ask(at, false, asked, &answer, err);
    if (status != NACRE_OK)
        return status;
    next = json_integer_value(json_object_get(answer, "next"));
    status = job_info_read(json_object_get(answer, "info"), ret_info, err);
    if (status == NACRE_OK)
        status = read_output(json_object_get(answer, "output"), ret_output, err);
    if (status == NACRE_OK)
        *ret_next = (uint64_t)next;
    return status;
}

enum nacre_status nacre_job_write(const struct nacre_keeper_at *at,
                                  const struct nacre_job_owner *owner, const char *id,
                                  const char *bytes, size_t count, bool end,
                                  struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    NACRE_AUTO(nacre_heap_guard) char *text = malloc(NACRE_BASE64_SIZE(count));
    json_t *asked;

    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a job's input");
    (void)nacre_base64_write(NACRE_BASE64_PLAIN, bytes, count, text);
    asked = question("write", owner, id);
    asked = whole(asked, put(asked, "bytes", json_string(text)) &&
                             put(asked, "end", json_boolean(end)));
    return ask(at, false, asked, &answer, err);
}

enum nacre_status nacre_job_kill(const struct nacre_keeper_at *at,
                                 const struct nacre_job_owner *owner, const char *id,
                                 struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;

    return ask(at, false, question("kill", owner, id), &answer, err);
}

enum nacre_status nacre_job_list(const struct nacre_keeper_at *at,
                                 const struct nacre_job_owner *owner,
                                 bool (*each)(void *data,
                                              const struct nacre_job_info *info),
                                 void *data, struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    enum nacre_status status = ask(at, false, question("list", owner, NULL), &answer, err);

    if (status == NACRE_ERR_NOT_FOUND) /* without a keeper there is none */
        return NACRE_OK;
    for (size_t i = 0; status == NACRE_OK && i < json_array_size(answer); i++) {
        struct nacre_job_info info;

        status = job_info_read(json_array_get(answer, i), &info, err);
        if (status == NACRE_OK && !each(data, &info))
            break;
    }
    return status;
}

enum nacre_status nacre_jobs_end(const struct nacre_keeper_at *at, const char *session,
                                 uint32_t *ret_ended, struct nacre_error *err)
{
    NACRE_AUTO(message_json_guard) json_t *answer = NULL;
    const struct nacre_job_owner owner = { session, "" };
    enum nacre_status status = ask(at, false, question("end", &owner, NULL), &answer, err);

    *ret_ended = 0;
    if (status == NACRE_ERR_NOT_FOUND)
        return NACRE_OK;
    if (status == NACRE_OK)
        *ret_ended =
            (uint32_t)json_integer_value(json_object_get(answer, "ended"));
    return status;
}
