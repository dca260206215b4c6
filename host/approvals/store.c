/*
 * The directory is ours alone and opened as such; what lies in it may have been changed
 * by another program of the same user, so that everything is read within limits and an
 * answer counts only with its seal.
 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "nacre/ancestry.h"
#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define REQUEST_BYTES_MAX ((size_t)1 << 20)
#define REQUEST ".request"
#define ANSWER ".answer"
#define KEPT_MS UINT64_C(3600000) /* behind its expiry, for who looks back */
#define FILE_NAME (NACRE_APPROVAL_ID + 16)

enum nacre_status approval_dir_open(const char *state_dir, int *ret_fd,
                                    struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];

    if ((size_t)snprintf(path, sizeof(path), "%s/approvals", state_dir) >= sizeof(path))
        return nacre_fail(err, NACRE_ERR_USAGE, "the state directory's name is too long");
    return nacre_private_dir_open(path, ret_fd, err);
}

static bool is_id(const char *text, size_t length)
{
    return length == NACRE_APPROVAL_ID - 1 &&
           strspn(text, "0123456789abcdef") >= length;
}

static void file_name(char ret_name[FILE_NAME], const char *id, const char *end)
{
    (void)snprintf(ret_name, FILE_NAME, "%s%s", id, end);
}

/* Whole under its name, or not there: NACRE_ERR_USAGE when the name is taken. */
static enum nacre_status write_file(int dir_fd, const char *name, const char *bytes,
                                    size_t count, struct nacre_error *err)
{
    char made[FILE_NAME + 16];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool whole;
    int taken;

    (void)snprintf(made, sizeof(made), ".%s.%d", name, (int)getpid());
    (void)unlinkat(dir_fd, made, 0);
    fd = openat(dir_fd, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    whole = fd >= 0 && write(fd, bytes, count) == (ssize_t)count && fsync(fd) == 0;
    taken = whole ? linkat(dir_fd, made, dir_fd, name, 0) : -1;
    if (taken < 0 && !(whole && errno == EEXIST)) {
        (void)nacre_fail(err, NACRE_ERR_IO, "writing %s in the approvals' directory",
                         name);
        (void)unlinkat(dir_fd, made, 0);
        return err->status;
    }
    (void)unlinkat(dir_fd, made, 0);
    return taken == 0 ? NACRE_OK
                      : nacre_fail(err, NACRE_ERR_USAGE, "%s is there already", name);
}

static enum nacre_status read_file(int dir_fd, const char *name, struct nacre_buf *buf,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;

    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no %s", name);
    if (fd < 0 || fstat(fd, &info) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "reading %s", name);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is not a plain file of this user",
                          name);
    return nacre_buf_read(buf, fd, err);
}

/* ---- a request as JSON ---- */

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *request_json(const struct nacre_approval_ask *ask, uint64_t expires_ms)
{
    struct nacre_digest call = approval_call(ask);
    char digest[NACRE_HEX], bound[NACRE_HEX];

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:I, s:I}", "call",
        nacre_digest_hex(&call, bound), "tool", ask->tool, "arguments", ask->arguments,
        "directory", ask->directory, "digest", nacre_digest_hex(&ask->digest, digest),
        "unsandboxed", (int)ask->unsandboxed, "reason", ask->reason, "session", text_or_null(ask->session), "agent",
        text_or_null(ask->agent), "caller", text_or_null(ask->caller), "asked_ms",
        (json_int_t)nacre_clock_wall_ms(), "expires_ms", (json_int_t)expires_ms);
}

/* A request as it was read; `json` owns the texts. */
struct request {
    json_t *json;
    struct nacre_approval_ask ask;
    struct nacre_digest call;
    uint64_t asked_ms, expires_ms;
};

static void request_clear(struct request *request)
{
    json_decref(request->json);
}

static const char *own(const char *text)
{
    return text && text[0] ? text : NULL;
}

static enum nacre_status read_request(int dir_fd, const char *id,
                                      struct request *ret_request,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(REQUEST_BYTES_MAX);
    struct request found = { 0 };
    const char *call, *digest;
    json_int_t asked_ms, expires_ms;
    json_t *session, *agent, *caller;
    int unsandboxed;
    char name[FILE_NAME];
    enum nacre_status status;

    file_name(name, id, REQUEST);
    status = read_file(dir_fd, name, &buf, err);
    if (status != NACRE_OK)
        return status;
    found.json = json_loadb(buf.bytes ? buf.bytes : "", buf.size, JSON_REJECT_DUPLICATES,
                            NULL);
    if (!found.json ||
        json_unpack_ex(found.json, NULL, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:o, s:o, s:o, s:I, s:I}",
                       "call", &call, "tool", &found.ask.tool, "arguments",
                       &found.ask.arguments, "directory", &found.ask.directory, "digest",
                       &digest, "unsandboxed", &unsandboxed, "reason", &found.ask.reason,
                       "session", &session, "agent", &agent, "caller", &caller,
                       "asked_ms", &asked_ms, "expires_ms", &expires_ms) != 0 ||
        !nacre_digest_from_hex(digest, &found.ask.digest) ||
        !nacre_digest_from_hex(call, &found.call)) {
        json_decref(found.json);
        return nacre_fail(err, NACRE_ERR_PARSE, "%s is not a request for an approval",
                          name);
    }
    found.ask.unsandboxed = unsandboxed;
    found.ask.session = own(json_string_value(session));
    found.ask.agent = own(json_string_value(agent));
    found.ask.caller = own(json_string_value(caller));
    found.asked_ms = (uint64_t)asked_ms;
    found.expires_ms = (uint64_t)expires_ms;
    /* What a person reads is what the answer will bind: never the digest beside it. */
    found.call = approval_call(&found.ask);
    *ret_request = found;
    return NACRE_OK;
}

/* ---- all of them ---- */

/* What a process that died left half written. */
static void sweep_torn(int dir_fd, const char *name)
{
    struct stat info;

    if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) &&
        (uint64_t)info.st_mtime * 1000 + KEPT_MS < nacre_clock_wall_ms())
        (void)unlinkat(dir_fd, name, 0);
}

/* Calls `each` with the id of every request, until it returns false. */
static enum nacre_status each_id(int dir_fd, bool (*each)(void *data, const char *id),
                                 void *data, struct nacre_error *err)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    bool more = true;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return nacre_fail(err, NACRE_ERR_IO, "reading the approvals' directory");
    }
    for (struct dirent *entry = readdir(dir); entry && more; entry = readdir(dir)) {
        const char *dot = strchr(entry->d_name, '.');
        char id[NACRE_APPROVAL_ID] = "";

        if (dot == entry->d_name)
            sweep_torn(dir_fd, entry->d_name);
        if (!dot || strcmp(dot, REQUEST) != 0 ||
            !is_id(entry->d_name, (size_t)(dot - entry->d_name)))
            continue;
        memcpy(id, entry->d_name, NACRE_APPROVAL_ID - 1);
        more = each(data, id);
    }
    (void)closedir(dir);
    return NACRE_OK;
}

struct sweep {
    int dir_fd;
    const struct nacre_digest *call; /* looked for; or NULL */
    char *found;
    size_t waiting;
    uint64_t now_ms;
};

static bool sweep_one(void *data, const char *id)
{
    struct sweep *sweep = data;
    NACRE_AUTO(request_clear) struct request request = { 0 };
    struct nacre_error err;

    if (read_request(sweep->dir_fd, id, &request, &err) != NACRE_OK)
        return true;
    if (request.expires_ms < sweep->now_ms) {
        if (sweep->now_ms - request.expires_ms > KEPT_MS)
            approval_remove(sweep->dir_fd, id);
        return true;
    }
    sweep->waiting++;
    if (sweep->call && nacre_digest_equal(&request.call, sweep->call))
        memcpy(sweep->found, id, NACRE_APPROVAL_ID);
    return true;
}

enum nacre_status approval_find(int dir_fd, const struct nacre_digest *call,
                                char ret_id[NACRE_APPROVAL_ID], struct nacre_error *err)
{
    struct sweep sweep = { .dir_fd = dir_fd, .call = call, .found = ret_id,
                           .now_ms = nacre_clock_wall_ms() };

    ret_id[0] = '\0';
    return each_id(dir_fd, sweep_one, &sweep, err);
}

enum nacre_status approval_write(int dir_fd, const struct nacre_approval_ask *ask,
                                 uint64_t expires_ms, char ret_id[NACRE_APPROVAL_ID],
                                 struct nacre_error *err)
{
    struct sweep sweep = { .dir_fd = dir_fd, .now_ms = nacre_clock_wall_ms() };
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    char name[FILE_NAME], id[NACRE_APPROVAL_ID];
    uint64_t random;
    json_t *json;
    enum nacre_status status = each_id(dir_fd, sweep_one, &sweep, err);

    if (status == NACRE_OK && sweep.waiting >= APPROVALS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "%d requests wait for an answer already: see nacre approvals",
                          APPROVALS_MAX);
    if (status == NACRE_OK)
        status = nacre_random(&random, sizeof(random), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(id, sizeof(id), "%016" PRIx64, random);
    json = request_json(ask, expires_ms);
    text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a request for an approval");
    if (strlen(text) > REQUEST_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the arguments are too long for a person to approve");
    file_name(name, id, REQUEST);
    status = write_file(dir_fd, name, text, strlen(text), err);
    if (status == NACRE_OK)
        memcpy(ret_id, id, sizeof(id));
    return status;
}

void approval_remove(int dir_fd, const char *id)
{
    char name[FILE_NAME];

    file_name(name, id, REQUEST);
    (void)unlinkat(dir_fd, name, 0);
    file_name(name, id, ANSWER);
    (void)unlinkat(dir_fd, name, 0);
}

enum nacre_status approval_read_answer(int dir_fd, const uint8_t key[NACRE_KEY_BYTES],
                                       const char *id, struct approval_answer *ret_answer,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(NACRE_APPROVAL_TOKEN);
    struct approval_answer answer = { 0 };
    char name[FILE_NAME];
    enum nacre_status status;

    file_name(name, id, ANSWER);
    status = read_file(dir_fd, name, &buf, err);
    if (status == NACRE_ERR_NOT_FOUND || status == NACRE_ERR_MEMORY)
        return status;
    if (status != NACRE_OK || !buf.bytes ||
        !approval_answer_open(key, APPROVAL_PURPOSE_ANSWER, buf.bytes, &answer))
        answer = (struct approval_answer){ .approve = false };
    *ret_answer = answer;
    return NACRE_OK;
}

/* ---- for the person ---- */

struct listing {
    int dir_fd;
    bool (*each)(void *data, const struct nacre_approval_info *info);
    void *data;
};

static const char *state_of(const struct request *request, int dir_fd, const char *id)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(NACRE_APPROVAL_TOKEN);
    char name[FILE_NAME];
    struct nacre_error err;

    file_name(name, id, ANSWER);
    if (request->expires_ms < nacre_clock_wall_ms())
        return "expired";
    return read_file(dir_fd, name, &buf, &err) == NACRE_OK ? "answered" : "waiting";
}

static bool list_one(void *data, const char *id)
{
    const struct listing *listing = data;
    NACRE_AUTO(request_clear) struct request request = { 0 };
    struct nacre_approval_info info = { 0 };
    struct nacre_error err;

    if (read_request(listing->dir_fd, id, &request, &err) != NACRE_OK)
        return true;
    memcpy(info.id, id, NACRE_APPROVAL_ID);
    info.tool = request.ask.tool;
    info.arguments = request.ask.arguments;
    info.directory = request.ask.directory;
    info.unsandboxed = request.ask.unsandboxed;
    info.reason = request.ask.reason;
    info.session = request.ask.session;
    info.agent = request.ask.agent;
    info.caller = request.ask.caller;
    (void)nacre_digest_hex(&request.ask.digest, info.digest);
    info.asked_ms = request.asked_ms;
    info.expires_ms = request.expires_ms;
    (void)snprintf(info.state, sizeof(info.state), "%s",
                   state_of(&request, listing->dir_fd, id));
    return listing->each(listing->data, &info);
}

enum nacre_status nacre_approvals_each(const char *state_dir,
                                       bool (*each)(void *data,
                                                    const struct nacre_approval_info *info),
                                       void *data, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    struct listing listing = { .each = each, .data = data };
    enum nacre_status status = approval_dir_open(state_dir, &dir_fd, err);

    if (status != NACRE_OK)
        return status;
    listing.dir_fd = dir_fd;
    return each_id(dir_fd, list_one, &listing, err);
}

enum nacre_status nacre_approval_answer(const char *state_dir, const char *key_dir,
                                        const char *id, bool approve,
                                        struct nacre_error *err)
{
    NACRE_AUTO(request_clear) struct request request = { 0 };
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    struct approval_answer answer = { .approve = approve, .uid = (uint32_t)getuid() };
    char name[FILE_NAME], token[NACRE_APPROVAL_TOKEN], shown[NACRE_SHOWN];
    uint8_t key[NACRE_KEY_BYTES];
    enum nacre_status status;

    if (nacre_is_inside())
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "a command that nacre runs can't answer for a person");
    if (!is_id(id, strlen(id)))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "'%s' is not the id of a request: see nacre approvals",
                          nacre_text_shown(shown, id));
    status = approval_dir_open(state_dir, &dir_fd, err);
    if (status == NACRE_OK)
        status = read_request(dir_fd, id, &request, err);
    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail(err, status, "no request %s waits: see nacre approvals", id);
    if (status != NACRE_OK)
        return status;
    if (request.expires_ms < nacre_clock_wall_ms())
        return nacre_fail(err, NACRE_ERR_USAGE, "request %s has expired", id);
    status = nacre_random(answer.nonce, sizeof(answer.nonce), err);
    if (status == NACRE_OK)
        status = nacre_key_load(key_dir, APPROVAL_KEY, key, err);
    if (status != NACRE_OK)
        return status;
    answer.call = request.call;
    answer.expires_ms = request.expires_ms;
    approval_answer_seal(key, APPROVAL_PURPOSE_ANSWER, &answer, token);
    explicit_bzero(key, sizeof(key));
    file_name(name, id, ANSWER);
    status = write_file(dir_fd, name, token, strlen(token), err);
    if (status == NACRE_ERR_USAGE)
        return nacre_fail(err, status, "request %s has its answer already", id);
    return status;
}
