#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "door_process.h"
#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/door.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

#define IDLE_MAX 8
#define OPEN_MS 15000
#define END_MS 3000
/* A door's life is the time of the run that it is made for, and this; the certificate of
 * its CA is valid for that long.  Another run has it when it would end within it. */
#define REUSE_MS_MAX (UINT64_C(600) * 1000)

struct nacre_door {
    struct nacre_door *next;  /* among the idle, the one used last first */
    struct nacre_digest key;  /* of the plan, the tool and the secrets it was made for */
    struct door_process process;
    uint64_t opened_ms;       /* of the wall clock, by which certificates end */
    uint64_t life_ms;
    _Atomic bool spoilt;      /* not for another run */
    _Atomic uint32_t runs;    /* begun and not ended */
    pthread_mutex_t ending;   /* whoever ends a run hears its answer */
    char *certificate;
};

struct nacre_doors {
    pthread_mutex_t lock;
    char *program;               /* whose neighbour nacre-door is; NULL: this one's */
    char *revoked;               /* the path of the list of revoked tokens; or NULL */
    char path[DOOR_PATH];        /* of nacre-door; "": nobody has needed it yet */
    bool checked;
    uint8_t secret_key[32];      /* so that no digest of a secret's value is ever kept */
    struct nacre_door *idle;
};

static void door_free(struct nacre_door *door)
{
    if (!door)
        return;
    door_process_end(&door->process);
    (void)pthread_mutex_destroy(&door->ending);
    free(door->certificate);
    free(door);
}

static void door_guard(struct nacre_door **door)
{
    door_free(*door);
}

/* ---- the engine's doors ---- */

static bool copy_options(struct nacre_doors *doors,
                         const struct nacre_doors_options *options)
{
    if (options && options->program && !(doors->program = strdup(options->program)))
        return false;
    return !options || !options->state_dir ||
           asprintf(&doors->revoked, "%s/" NACRE_TOKENS_REVOKED, options->state_dir) >= 0;
}

enum nacre_status nacre_doors_new(const struct nacre_doors_options *options,
                                  struct nacre_doors **ret_doors, struct nacre_error *err)
{
    struct nacre_doors *doors = calloc(1, sizeof(*doors));
    enum nacre_status status;

    if (!doors)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for doors");
    status = nacre_random(doors->secret_key, sizeof(doors->secret_key), err);
    if (status != NACRE_OK) {
        free(doors);
        return status;
    }
    if (!copy_options(doors, options)) {
        free(doors->program);
        free(doors);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for doors");
    }
    (void)pthread_mutex_init(&doors->lock, NULL);
    *ret_doors = doors;
    return NACRE_OK;
}

void nacre_doors_free(struct nacre_doors *doors)
{
    if (!doors)
        return;
    while (doors->idle) {
        struct nacre_door *door = doors->idle;

        doors->idle = door->next;
        door_free(door);
    }
    (void)pthread_mutex_destroy(&doors->lock);
    explicit_bzero(doors->secret_key, sizeof(doors->secret_key));
    free(doors->revoked);
    free(doors->program);
    free(doors);
}

/* Looked for when it is first needed: a run without a network pays nothing. */
static enum nacre_status find_locked(struct nacre_doors *doors, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (!doors->path[0])
        status = door_process_find(doors->program, doors->path, err);
    if (status != NACRE_OK)
        doors->path[0] = '\0';
    return status;
}

enum nacre_status nacre_doors_probe(struct nacre_doors *doors, struct nacre_error *err)
{
    enum nacre_status status;

    (void)pthread_mutex_lock(&doors->lock);
    status = find_locked(doors, err);
    if (status == NACRE_OK && !doors->checked)
        status = door_process_check(doors->path, err);
    doors->checked = status == NACRE_OK;
    (void)pthread_mutex_unlock(&doors->lock);
    return status;
}

/* A door has read once who the name servers are: when they change it is for nobody. */
static void add_resolvers(struct nacre_hasher *hasher)
{
    struct stat info = { 0 };

    if (stat("/etc/resolv.conf", &info) != 0)
        return;
    nacre_hash_add_u64(hasher, info.st_ino);
    nacre_hash_add_u64(hasher, (uint64_t)info.st_mtim.tv_sec);
    nacre_hash_add_u64(hasher, (uint64_t)info.st_mtim.tv_nsec);
}

/* Two runs share a door when they may send the same things as the same tool. */
static struct nacre_digest key_of(const struct nacre_doors *doors,
                                  const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_secret_set *granted)
{
    struct nacre_hasher hasher;
    struct nacre_digest digest;

    nacre_hash_init(&hasher);
    nacre_hash_add(&hasher, plan->digest.bytes, sizeof(plan->digest.bytes));
    nacre_hash_add(&hasher, tool->digest.bytes, sizeof(tool->digest.bytes));
    add_resolvers(&hasher);
    for (uint32_t i = 0; granted && i < granted->count; i++) {
        const struct nacre_secret *secret = &granted->items[i];

        nacre_hash_add_text(&hasher, secret->name);
        nacre_hash_add_u64(&hasher, secret->by_token);
        if (!secret->value)
            continue;
        digest = nacre_hmac(doors->secret_key, sizeof(doors->secret_key), secret->value,
                            secret->count);
        nacre_hash_add(&hasher, digest.bytes, sizeof(digest.bytes));
    }
    return nacre_hash_end(&hasher);
}

static struct nacre_door *take_idle(struct nacre_doors *doors,
                                    const struct nacre_digest *key)
{
    struct nacre_door *taken = NULL;

    (void)pthread_mutex_lock(&doors->lock);
    for (struct nacre_door **at = &doors->idle; *at; at = &(*at)->next) {
        if (nacre_digest_equal(&(*at)->key, key)) {
            taken = *at;
            *at = taken->next;
            taken->next = NULL;
            break;
        }
    }
    (void)pthread_mutex_unlock(&doors->lock);
    return taken;
}

/* One from the future was opened before the clock was set back: its age is unknown. */
static bool is_fresh(const struct nacre_door *door, const struct nacre_plan *plan)
{
    uint64_t now_ms = nacre_clock_wall_ms();

    return now_ms >= door->opened_ms &&
           now_ms - door->opened_ms + plan->limits.wall_ms_max <= door->life_ms;
}

/* ---- opening one ---- */

static enum nacre_status tell(const struct nacre_door *door, enum nacre_door_order order,
                              uint32_t number, const void *bytes, size_t count,
                              struct nacre_error *err)
{
    struct nacre_door_control head = { .order = order, .number = number };

    return door_process_tell(&door->process, &head, bytes, count, -1, err);
}

static enum nacre_status tell_egress(const struct nacre_door *door,
                                     const struct nacre_egress *egress,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf json = NACRE_BUF(NACRE_DOOR_EGRESS_MAX);
    enum nacre_status status = nacre_egress_write(egress, &json, err);

    for (size_t at = 0; status == NACRE_OK && at < json.size;) {
        size_t left = json.size - at;
        bool last = left <= NACRE_DOOR_PACKET_MAX;
        size_t count = last ? left : NACRE_DOOR_PACKET_MAX;

        status = tell(door, NACRE_DOOR_EGRESS, last, json.bytes + at, count, err);
        at += count;
    }
    return status;
}

/* Where the plan has the secret; UINT32_MAX: nowhere, and the door needs not know it. */
static uint32_t place_of(const struct nacre_egress *egress, const char *name)
{
    for (uint32_t i = 0; i < egress->secret_count; i++) {
        if (strcmp(egress->secrets[i].name, name) == 0)
            return i;
    }
    return UINT32_MAX;
}

static enum nacre_status tell_secrets(const struct nacre_door *door,
                                      const struct nacre_egress *egress,
                                      const struct nacre_secret_set *granted,
                                      struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; granted && i < granted->count && status == NACRE_OK; i++) {
        const struct nacre_secret *secret = &granted->items[i];
        uint32_t place = place_of(egress, secret->name);

        if (place != UINT32_MAX && secret->value)
            status = tell(door,
                          secret->by_token ? NACRE_DOOR_TOKEN_SECRET : NACRE_DOOR_SECRET,
                          place, secret->value, secret->count, err);
    }
    return status;
}

/* Whoever has tokens is told where their end is. */
static enum nacre_status tell_revoked(const struct nacre_doors *doors,
                                      const struct nacre_door *door,
                                      struct nacre_error *err)
{
    struct nacre_door_control head = { .order = NACRE_DOOR_REVOKED };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    if (!doors->revoked)
        return NACRE_OK;
    fd = open(doors->revoked, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0600);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", doors->revoked);
    return door_process_tell(&door->process, &head, NULL, 0, fd, err);
}

/* Those of this run, instead of those of the last. */
static enum nacre_status tell_tokens(const struct nacre_doors *doors,
                                     const struct nacre_door *door,
                                     const struct nacre_egress *egress,
                                     const struct nacre_secret_set *granted,
                                     struct nacre_error *err)
{
    enum { MANY = 1024 };
    NACRE_AUTO(nacre_heap_guard) struct nacre_door_token *tokens =
        calloc(MANY, sizeof(*tokens));
    uint32_t count = 0, told = 0;
    enum nacre_status status = NACRE_OK;

    static_assert(MANY * sizeof(struct nacre_door_token) <= NACRE_DOOR_PACKET_MAX,
                  "as many as fit");
    if (!tokens)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a door's tokens");
    if (granted && granted->token_count > 0)
        status = tell_revoked(doors, door, err);
    for (uint32_t i = 0; granted && i < granted->token_count && status == NACRE_OK; i++) {
        const struct nacre_secret_token *token = &granted->tokens[i];
        uint32_t place = token->secret < granted->count
                             ? place_of(egress, granted->items[token->secret].name)
                             : UINT32_MAX;

        if (place == UINT32_MAX)
            continue;
        tokens[count++] = (struct nacre_door_token){ .digest = token->digest,
                                                     .secret = place,
                                                     .expires_ms = token->expires_ms };
        if (count == MANY) {
            status = tell(door, NACRE_DOOR_TOKENS, told++, tokens,
                          count * sizeof(*tokens), err);
            count = 0;
        }
    }
    if (status == NACRE_OK)
        status = tell(door, NACRE_DOOR_TOKENS, told, tokens, count * sizeof(*tokens),
                      err);
    return status;
}

static enum nacre_status tell_open(const struct nacre_door *door, struct nacre_error *err)
{
    const struct nacre_door_control head = { .order = NACRE_DOOR_OPEN,
                                             .number = NACRE_DOOR_BUILD,
                                             .at_ns = door->life_ms * NACRE_NS_PER_MS };

    return door_process_tell(&door->process, &head, NULL, 0, -1, err);
}

static enum nacre_status hear_opened(struct nacre_door *door, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(NACRE_DOOR_PACKET_MAX + 1);
    struct nacre_door_control head;
    enum nacre_status status;
    size_t count;

    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a door's answer");
    status = door_process_hear(&door->process, OPEN_MS, &head, bytes,
                               NACRE_DOOR_PACKET_MAX, &count, err);
    if (status != NACRE_OK)
        return status;
    bytes[count] = '\0';
    if (head.order == NACRE_DOOR_FAILED)
        return nacre_fail(err, NACRE_ERR_BACKEND, "%.400s", bytes);
    if (head.order != NACRE_DOOR_OPENED)
        return nacre_fail(err, NACRE_ERR_BACKEND, "what the door says makes no sense");
    door->certificate = NACRE_HEAP_TAKE(bytes);
    return NACRE_OK;
}

static enum nacre_status start(const struct nacre_doors *doors,
                               const struct nacre_plan *plan,
                               const struct nacre_secret_set *granted,
                               struct nacre_door **ret_door, struct nacre_error *err)
{
    NACRE_AUTO(door_guard) struct nacre_door *door = calloc(1, sizeof(*door));
    enum nacre_status status;

    if (!door)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a door");
    door->process = (struct door_process){ -1, -1, -1 };
    door->opened_ms = nacre_clock_wall_ms();
    door->life_ms = plan->limits.wall_ms_max + REUSE_MS_MAX;
    (void)pthread_mutex_init(&door->ending, NULL);
    status = door_process_start(doors->path, &door->process, err);
    if (status == NACRE_OK)
        status = tell_egress(door, &plan->egress, err);
    if (status == NACRE_OK)
        status = tell_secrets(door, &plan->egress, granted, err);
    if (status == NACRE_OK)
        status = tell_tokens(doors, door, &plan->egress, granted, err);
    if (status == NACRE_OK)
        status = tell_open(door, err);
    if (status == NACRE_OK || status == NACRE_ERR_IO)
        status = hear_opened(door, err); /* one that has gone may have said why */
    if (status != NACRE_OK)
        return nacre_fail_context(err, "opening the door of a sandbox");
    *ret_door = door;
    door = NULL;
    return NACRE_OK;
}

enum nacre_status nacre_doors_get(struct nacre_doors *doors,
                                  const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_door **ret_door, struct nacre_error *err)
{
    struct nacre_digest key = key_of(doors, plan, tool, request->granted);
    enum nacre_status status;
    struct nacre_door *door;

    assert(nacre_egress_is_open(&plan->egress));
    (void)pthread_mutex_lock(&doors->lock);
    status = find_locked(doors, err);
    (void)pthread_mutex_unlock(&doors->lock);
    if (status != NACRE_OK)
        return status;
    while ((door = take_idle(doors, &key))) {
        struct nacre_error gone;

        if (is_fresh(door, plan) && door_process_lives(&door->process) &&
            tell_tokens(doors, door, &plan->egress, request->granted, &gone) ==
                NACRE_OK)
            break;
        door_free(door);
    }
    if (!door)
        status = start(doors, plan, request->granted, &door, err);
    if (status != NACRE_OK)
        return status;
    door->key = key;
    *ret_door = door;
    return NACRE_OK;
}

void nacre_doors_put(struct nacre_doors *doors, struct nacre_door *door)
{
    struct nacre_door *over = NULL;
    uint32_t kept = 0;

    if (!door)
        return;
    if (door->spoilt || door->runs > 0) {
        door_free(door);
        return;
    }
    (void)pthread_mutex_lock(&doors->lock);
    door->next = doors->idle;
    doors->idle = door;
    for (struct nacre_door **at = &doors->idle; *at; at = &(*at)->next) {
        if (++kept > IDLE_MAX) {
            over = *at;
            *at = NULL;
            break;
        }
    }
    (void)pthread_mutex_unlock(&doors->lock);
    door_free(over);
}

/* ---- using one ---- */

enum nacre_status nacre_door_serve(struct nacre_door *door, int kind, int fd,
                                   struct nacre_error *err)
{
    struct nacre_door_control head = { .order = NACRE_DOOR_SERVE,
                                       .number = (uint32_t)kind };
    enum nacre_status status;

    /* It listens in a sandbox's own network: no other sandbox may get this door. */
    if (kind & NACRE_DOOR_LISTEN)
        door->spoilt = true;
    status = door_process_tell(&door->process, &head, NULL, 0, fd, err);
    (void)close(fd);
    return status;
}

enum nacre_status nacre_door_begin(struct nacre_door *door, const char *run_id,
                                   uint64_t deadline_ns, struct nacre_error *err)
{
    struct nacre_door_control head = { .order = NACRE_DOOR_BEGIN, .at_ns = deadline_ns };
    enum nacre_status status = door_process_tell(&door->process, &head, run_id,
                                                 strnlen(run_id, NACRE_RUN_ID), -1, err);

    if (status == NACRE_OK)
        door->runs++;
    else
        door->spoilt = true;
    return status;
}

/* Texts end where they should, whatever the door made of what a server told it. */
static void take_denials(struct nacre_result *result, const char *bytes, size_t count)
{
    for (size_t at = 0; at + sizeof(struct nacre_denial) <= count;
         at += sizeof(struct nacre_denial)) {
        struct nacre_denial denial;

        memcpy(&denial, bytes + at, sizeof(denial));
        denial.code[sizeof(denial.code) - 1] = '\0';
        denial.rule[sizeof(denial.rule) - 1] = '\0';
        denial.path[sizeof(denial.path) - 1] = '\0';
        denial.text[sizeof(denial.text) - 1] = '\0';
        denial.fix[sizeof(denial.fix) - 1] = '\0';
        nacre_result_deny(result, &denial);
    }
}

static void take_records(struct nacre_result *result, const char *bytes, size_t count)
{
    for (size_t at = 0; at + sizeof(struct nacre_egress_record) <= count &&
                        result->egress_count < NACRE_EGRESS_RECORDS_MAX;
         at += sizeof(struct nacre_egress_record)) {
        struct nacre_egress_record *record = &result->egress[result->egress_count++];

        memcpy(record, bytes + at, sizeof(*record));
        record->method[sizeof(record->method) - 1] = '\0';
        record->host[sizeof(record->host) - 1] = '\0';
        record->code[sizeof(record->code) - 1] = '\0';
    }
}

static void take_totals(struct nacre_result *result,
                        const struct nacre_door_totals *totals, uint64_t denials_taken)
{
    if (totals->denials_seen > denials_taken)
        result->denials_seen += totals->denials_seen - denials_taken;
    result->egress_seen += totals->egress_seen;
    result->leaks.values += totals->leaks.values;
    result->leaks.blocked += totals->leaks.blocked;
    result->leaks.redacted += totals->leaks.redacted;
    result->leaks.warned += totals->leaks.warned;
    result->leak = result->leak || totals->leak;
}

static enum nacre_status hear_end(struct nacre_door *door, struct nacre_result *result,
                                  char *bytes, struct nacre_error *err)
{
    uint64_t denials_before = result->denials_seen;

    for (;;) {
        struct nacre_door_control head;
        size_t count;
        enum nacre_status status = door_process_hear(&door->process, END_MS, &head, bytes,
                                                     NACRE_DOOR_PACKET_MAX, &count, err);

        if (status != NACRE_OK)
            return status;
        if (head.order == NACRE_DOOR_ENDED && count == sizeof(struct nacre_door_totals)) {
            struct nacre_door_totals totals;

            memcpy(&totals, bytes, sizeof(totals));
            take_totals(result, &totals, result->denials_seen - denials_before);
            return NACRE_OK;
        }
        if (head.order == NACRE_DOOR_DENIALS)
            take_denials(result, bytes, count);
        else if (head.order == NACRE_DOOR_RECORDS)
            take_records(result, bytes, count);
        else
            return nacre_fail(err, NACRE_ERR_BACKEND,
                              "what the door says makes no sense");
    }
}

enum nacre_status nacre_door_end(struct nacre_door *door, struct nacre_result *result,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(NACRE_DOOR_PACKET_MAX);
    enum nacre_status status = NACRE_OK;

    if (!bytes)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a door's answer");
    if (status == NACRE_OK) {
        (void)pthread_mutex_lock(&door->ending);
        status = tell(door, NACRE_DOOR_END, 0, NULL, 0, err);
        if (status == NACRE_OK)
            status = hear_end(door, result, bytes, err);
        (void)pthread_mutex_unlock(&door->ending);
    }
    if (status == NACRE_OK) {
        door->runs--;
        return NACRE_OK;
    }
    door->spoilt = true;
    return nacre_fail_context(err, "what this run sent is not known");
}

const char *nacre_door_certificate(const struct nacre_door *door)
{
    return door->certificate;
}
