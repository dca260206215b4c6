/* What clients ask about jobs.  They are of our own user; a job is told to its owner. */
#include "jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "job.h"
#include "job_info.h"
#include "nacre/base64.h"
#include "nacre/clock.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/text.h"

struct jobs {
    pthread_mutex_t lock; /* over the list and every job's `users` */
    struct job *first;
    uint32_t count;
    bool closed; /* the keeper leaves */
    char *program;
};

/* ---- the list ---- */

struct jobs *jobs_new(const char *program)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));

    if (!jobs)
        return NULL;
    (void)pthread_mutex_init(&jobs->lock, NULL);
    jobs->program = strdup(program ? program : "/proc/self/exe");
    if (jobs->program)
        return jobs;
    jobs_free(jobs);
    return NULL;
}

/* Off the list, whose lock is held; freed by whoever lets go of it last. */
static void drop(struct jobs *jobs, struct job *job)
{
    for (struct job **at = &jobs->first; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            jobs->count--;
            break;
        }
    job->dropped = true;
    if (job->users == 0)
        job_free(job);
}

static void let_go(struct jobs *jobs, struct job *job)
{
    (void)pthread_mutex_lock(&jobs->lock);
    job->users--;
    if (job->dropped && job->users == 0)
        job_free(job);
    (void)pthread_mutex_unlock(&jobs->lock);
}

static bool is_over(struct job *job, uint64_t now_ms)
{
    bool over;

    (void)pthread_mutex_lock(&job->lock);
    over = job->ended && now_ms > job->ended_ms &&
           now_ms - job->ended_ms > NACRE_JOB_KEPT_MS;
    (void)pthread_mutex_unlock(&job->lock);
    return over;
}

bool jobs_are_there(struct jobs *jobs)
{
    uint64_t now_ms = nacre_clock_wall_ms();
    bool any;

    (void)pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->first, *next; job; job = next) {
        next = job->next;
        if (is_over(job, now_ms))
            drop(jobs, job);
    }
    any = jobs->first != NULL;
    (void)pthread_mutex_unlock(&jobs->lock);
    return any;
}

/* The first that `session` (NULL: any) owns, held for the caller; NULL: none. */
static struct job *hold_any(struct jobs *jobs, const char *session)
{
    struct job *job;

    (void)pthread_mutex_lock(&jobs->lock);
    for (job = jobs->first; job; job = job->next)
        if (!session || strcmp(job->session, session) == 0)
            break;
    if (job)
        job->users++;
    (void)pthread_mutex_unlock(&jobs->lock);
    return job;
}

static uint32_t end_all(struct jobs *jobs, const char *session)
{
    struct job *job;
    uint32_t ended = 0;

    while ((job = hold_any(jobs, session))) {
        job_end(job);
        (void)pthread_mutex_lock(&jobs->lock);
        if (!job->dropped) {
            drop(jobs, job); /* held, so that it is still there */
            ended++;
        }
        (void)pthread_mutex_unlock(&jobs->lock);
        let_go(jobs, job);
    }
    return ended;
}

void jobs_close(struct jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->lock);
    jobs->closed = true;
    (void)pthread_mutex_unlock(&jobs->lock);
    (void)end_all(jobs, NULL);
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    jobs_close(jobs);
    (void)pthread_mutex_destroy(&jobs->lock);
    free(jobs->program);
    free(jobs);
}

/* ---- questions ---- */

struct question {
    char *op, *session, *agent, *id;
};

static const struct field question_fields[] = {
    FIELD(question, op, TEXT),
    FIELD(question, session, TEXT),
    FIELD(question, agent, TEXT),
    FIELD(question, id, TEXT),
};

static void question_clear(struct question *question)
{
    fields_clear(question, question_fields, NACRE_COUNT(question_fields));
}

static enum nacre_status hold(struct jobs *jobs, const struct question *question,
                              struct job **ret_job, struct nacre_error *err)
{
    struct job *job;

    (void)pthread_mutex_lock(&jobs->lock);
    for (job = jobs->first; job; job = job->next)
        if (strcmp(job->id, question->id) == 0 &&
            strcmp(job->session, question->session) == 0 &&
            strcmp(job->agent, question->agent) == 0)
            break;
    if (job)
        job->users++;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (!job)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "this session has no background command %.40s; list shows "
                          "those that it has", question->id);
    *ret_job = job;
    return NACRE_OK;
}

static json_t *info_of(struct job *job)
{
    struct nacre_job_info info = { 0 };

    (void)pthread_mutex_lock(&job->lock);
    memcpy(info.id, job->id, sizeof(info.id));
    (void)nacre_text_show(info.title, sizeof(info.title), job->title,
                          strlen(job->title));
    info.running = !job->ended;
    info.exit_status = job->exit_status;
    info.input_open = job->input_fd >= 0;
    info.started_ms = job->started_ms;
    info.ended_ms = job->ended_ms;
    info.bytes_kept_from = job_kept_from(job);
    info.bytes_written = job->written;
    (void)pthread_mutex_unlock(&job->lock);
    return job_info_write(&info);
}

static enum nacre_status answer(json_t *json, json_t **ret_answer,
                                struct nacre_error *err)
{
    *ret_answer = json;
    return json ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "an answer about jobs");
}

/* ---- starting ---- */

static char **copy_list(const json_t *list)
{
    size_t count = json_array_size(list);
    char **texts = calloc(count + 1, sizeof(*texts));

    for (size_t i = 0; texts && i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        texts[i] = text ? strdup(text) : NULL;
        if (!texts[i]) {
            for (size_t k = 0; k < i; k++)
                free(texts[k]);
            free(texts);
            return NULL;
        }
    }
    return texts;
}

static struct job *job_new(const struct jobs *jobs, const struct question *question,
                           const json_t *json)
{
    const char *directory = json_string_value(json_object_get(json, "directory"));
    const char *title = json_string_value(json_object_get(json, "title"));
    pthread_condattr_t attributes;
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    (void)pthread_mutex_init(&job->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&job->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    job->pid = job->input_fd = -1;
    job->program = jobs->program;
    job->session = strdup(question->session);
    job->agent = strdup(question->agent);
    job->title = strdup(title ? title : "");
    job->directory = strdup(directory && directory[0] == '/' ? directory : "/");
    job->words = copy_list(json_object_get(json, "words"));
    job->environment = copy_list(json_object_get(json, "environment"));
    job->kept = malloc(NACRE_JOB_BYTES_MAX);
    if (job->session && job->agent && job->title && job->directory && job->words &&
        job->environment && job->kept)
        return job;
    job_free(job);
    return NULL;
}

static enum nacre_status check_room(struct jobs *jobs, const char *session,
                                    struct nacre_error *err)
{
    uint32_t own = 0;

    if (jobs->closed)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "the keeper is about to leave");
    for (const struct job *job = jobs->first; job; job = job->next)
        own += strcmp(job->session, session) == 0;
    if (own >= NACRE_JOBS_PER_SESSION_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "a session may have %d background commands, those that ended "
                          "and were not removed among them: kill one",
                          NACRE_JOBS_PER_SESSION_MAX);
    if (jobs->count >= NACRE_JOBS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "%d background commands are there already", NACRE_JOBS_MAX);
    return NACRE_OK;
}

static enum nacre_status serve_start(struct jobs *jobs, const struct question *question,
                                     const json_t *json, json_t **ret_answer,
                                     struct nacre_error *err)
{
    uint64_t random;
    struct job *job;
    enum nacre_status status = nacre_random(&random, sizeof(random), err);

    if (status != NACRE_OK)
        return status;
    job = job_new(jobs, question, json);
    if (!job)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a job");
    (void)snprintf(job->id, sizeof(job->id), "%016" PRIx64, random);
    (void)pthread_mutex_lock(&jobs->lock);
    status = check_room(jobs, question->session, err);
    if (status == NACRE_OK)
        status = job_begin(job, err);
    if (status == NACRE_OK) {
        job->next = jobs->first;
        jobs->first = job;
        jobs->count++;
        status = answer(json_pack("{s:s}", "id", job->id), ret_answer, err);
    } else {
        job_free(job);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return status;
}

/* ---- reading ---- */

/* Until there is something behind `offset`, it has ended, or the time is over. */
static void wait_for_news(struct job *job, uint64_t offset, uint64_t wait_ms)
{
    uint64_t until_ns = nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS;
    struct timespec until = { (time_t)(until_ns / NACRE_NS_PER_S),
                              (long)(until_ns % NACRE_NS_PER_S) };

    while (job->written <= offset && !job->ended &&
           pthread_cond_timedwait(&job->changed, &job->lock, &until) != ETIMEDOUT)
        ;
}

static json_t *encoded(const char *bytes, size_t count)
{
    char *text = malloc(NACRE_BASE64_SIZE(count));
    json_t *json = NULL;

    if (text)
        json = json_stringn(text, nacre_base64_write(NACRE_BASE64_PLAIN, bytes, count,
                                                     text));
    free(text);
    return json;
}

static enum nacre_status serve_read(struct job *job, const json_t *json,
                                    json_t **ret_answer, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(NACRE_JOB_BYTES_MAX);
    json_int_t offset = -1, most = -1, wait_ms = -1;
    uint64_t from;
    size_t count;

    if (json_unpack((json_t *)json, "{s:I, s:I, s:I}", "offset", &offset, "bytes_max",
                    &most, "wait_ms", &wait_ms) != 0 ||
        offset < 0 || most < 0 || wait_ms < 0)
        return fields_wrong("offset", err);
    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "what a job wrote");
    (void)pthread_mutex_lock(&job->lock);
    wait_for_news(job, (uint64_t)offset,
                  (uint64_t)wait_ms < NACRE_JOB_WAIT_MS_MAX ? (uint64_t)wait_ms
                                                            : NACRE_JOB_WAIT_MS_MAX);
    from = (uint64_t)offset > job->written ? job->written : (uint64_t)offset;
    if (from < job_kept_from(job))
        from = job_kept_from(job);
    count = job_copy(job, from, bytes,
                     (uint64_t)most < NACRE_JOB_BYTES_MAX ? (size_t)most
                                                          : NACRE_JOB_BYTES_MAX);
    (void)pthread_mutex_unlock(&job->lock);
    return answer(json_pack("{s:o, s:o, s:I}", "info", info_of(job), "output",
                            encoded(bytes, count), "next",
                            (json_int_t)(from + count)),
                  ret_answer, err);
}

static enum nacre_status serve_write(struct job *job, const json_t *json,
                                     json_t **ret_answer, struct nacre_error *err)
{
    const json_t *given = json_object_get(json, "bytes");
    size_t length = json_string_length(given), count = 0;
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(length + 1);
    enum nacre_status status;

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a job's input");
    if (!json_is_string(given) ||
        !nacre_base64_read(NACRE_BASE64_PLAIN, json_string_value(given), length, bytes,
                           length, &count))
        return fields_wrong("bytes", err);
    status = job_write(job, bytes, count, json_is_true(json_object_get(json, "end")),
                       err);
    return status == NACRE_OK ? answer(info_of(job), ret_answer, err) : status;
}

/* Kills one that runs; one that has ended is forgotten. */
static enum nacre_status serve_kill(struct jobs *jobs, struct job *job,
                                    json_t **ret_answer, struct nacre_error *err)
{
    enum nacre_status status;

    job_end(job);
    status = answer(info_of(job), ret_answer, err);
    (void)pthread_mutex_lock(&jobs->lock);
    if (!job->dropped)
        drop(jobs, job); /* held, so that it is still there */
    (void)pthread_mutex_unlock(&jobs->lock);
    return status;
}

static enum nacre_status serve_list(struct jobs *jobs, const struct question *question,
                                    json_t **ret_answer, struct nacre_error *err)
{
    json_t *list = json_array();
    int failed = list ? 0 : -1;

    (void)pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->first; job; job = job->next)
        if (strcmp(job->session, question->session) == 0 &&
            strcmp(job->agent, question->agent) == 0)
            failed |= json_array_append_new(list, info_of(job));
    (void)pthread_mutex_unlock(&jobs->lock);
    if (failed) {
        json_decref(list);
        list = NULL;
    }
    return answer(list, ret_answer, err);
}

static enum nacre_status serve_one(struct jobs *jobs, const struct question *question,
                                   const json_t *json, json_t **ret_answer,
                                   struct nacre_error *err)
{
    struct job *job = NULL;
    enum nacre_status status = hold(jobs, question, &job, err);

    if (status != NACRE_OK)
        return status;
    if (strcmp(question->op, "read") == 0)
        status = serve_read(job, json, ret_answer, err);
    else if (strcmp(question->op, "write") == 0)
        status = serve_write(job, json, ret_answer, err);
    else if (strcmp(question->op, "kill") == 0)
        status = serve_kill(jobs, job, ret_answer, err);
    else
        status = fields_wrong("op", err);
    let_go(jobs, job);
    return status;
}

enum nacre_status jobs_serve(struct jobs *jobs, const json_t *json, json_t **ret_answer,
                             struct nacre_error *err)
{
    NACRE_AUTO(question_clear) struct question question = { 0 };
    enum nacre_status status =
        fields_read(json, &question, question_fields, NACRE_COUNT(question_fields),
                    json_object_size(json) - NACRE_COUNT(question_fields), err);

    if (status == NACRE_OK && (!question.op || !question.session || !question.agent))
        status = fields_wrong("op", err);
    if (status != NACRE_OK)
        return status;
    if (strcmp(question.op, "start") == 0)
        return serve_start(jobs, &question, json, ret_answer, err);
    if (strcmp(question.op, "list") == 0)
        return serve_list(jobs, &question, ret_answer, err);
    if (strcmp(question.op, "end") == 0)
        return answer(json_pack("{s:I}", "ended",
                                (json_int_t)end_all(jobs, question.session)),
                      ret_answer, err);
    return question.id ? serve_one(jobs, &question, json, ret_answer, err)
                       : fields_wrong("id", err);
}
