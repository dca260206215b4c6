/*
 * Whose sandbox is it, what was it made by, when was it used.  The files lie in a
 * directory of ours alone, and one that is not exactly what is written here is broken:
 * nothing is removed on its word.  When it was used last is the file's own time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/buf.h"
#include "nacre/clock.h"
#include "nacre/hash.h"
#include "nacre/key.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "session_store.h"

#define RECORD_KIND "json"
#define FRESH_NAME "fresh"
#define WRITE_LOCK "records"
#define BYTES_MAX ((size_t)64 << 10)
#define RECORDS_MAX 65536
#define HEX "0123456789abcdef"

static void json_guard(json_t **json)
{
    json_decref(*json);
}

/* ---- names ---- */

static void take_id(struct nacre_hasher *hasher, char ret_id[SESSION_ID])
{
    struct nacre_digest digest = nacre_hash_end(hasher);
    char hex[NACRE_HEX];

    (void)snprintf(ret_id, SESSION_ID, "%.32s", nacre_digest_hex(&digest, hex));
}

void session_turn_id(const char *agent, const char *key, char ret_id[SESSION_ID])
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "turn");
    nacre_hash_add_text(&hasher, agent);
    nacre_hash_add_text(&hasher, key);
    take_id(&hasher, ret_id);
}

void session_box_id(const char *root, enum nacre_scope scope, const char *scope_key,
                    char ret_id[SESSION_ID])
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "box");
    nacre_hash_add_text(&hasher, root);
    nacre_hash_add_u64(&hasher, scope);
    nacre_hash_add_text(&hasher, scope_key);
    take_id(&hasher, ret_id);
}

static void name_of(char ret_name[SESSION_FILE], const char *id)
{
    (void)snprintf(ret_name, SESSION_FILE, "%s." RECORD_KIND, id);
}

enum nacre_status session_store_open(const char *state_dir, int *ret_fd,
                                     struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/sessions", state_dir) >= (int)sizeof(path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    return nacre_private_dir_open(path, ret_fd, err);
}

/* ---- one record ---- */

void session_record_clear(struct session_record *record)
{
    free(record->scope_key);
    free(record->agent);
    free(record->config);
    free(record->root);
    free(record->workspace);
    free(record->box_name);
    *record = (struct session_record){ 0 };
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *record_json(const struct session_record *record)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:b}",
                     "version", 1, "scope", nacre_scope_name(record->scope), "scope_key",
                     text_or_null(record->scope_key), "agent",
                     text_or_null(record->agent), "config", text_or_null(record->config),
                     "root", text_or_null(record->root), "workspace",
                     text_or_null(record->workspace), "box_name",
                     text_or_null(record->box_name), "created_ms",
                     (json_int_t)record->created_ms, "idle_ms",
                     (json_int_t)record->idle_ms, "age_ms", (json_int_t)record->age_ms,
                     "daily", record->daily);
}

static bool read_scope(const char *name, enum nacre_scope *ret_scope)
{
    for (enum nacre_scope scope = 1; scope < NACRE_SCOPE_COUNT; scope++)
        if (strcmp(name, nacre_scope_name(scope)) == 0) {
            *ret_scope = scope;
            return true;
        }
    return false;
}

static bool is_name(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strlen(name) < NAME_MAX / 2;
}

/* A record that was changed would have another directory removed: its name is made of
 * root, scope and key, and the workspace's of the key. */
static bool is_its_own(const char *id, const struct session_record *record)
{
    char made[SESSION_ID], slug[NACRE_SLUG];

    session_box_id(record->root, record->scope, record->scope_key, made);
    nacre_session_slug(record->scope_key, slug);
    return strcmp(made, id) == 0 &&
           (!record->workspace || strcmp(record->workspace, slug) == 0);
}

/* NULL stays NULL. */
static bool keep_text(const char *text, char **ret_copy)
{
    *ret_copy = text ? strdup(text) : NULL;
    return *ret_copy || !text;
}

/* False: it is not one of ours, or memory is short. */
static bool parse(const json_t *json, struct session_record *record)
{
    const char *scope, *key, *agent, *config, *root, *workspace, *box_name;
    const json_t *place;
    json_int_t created, idle, age;
    int version, daily;

    if (json_unpack_ex((json_t *)json, NULL, JSON_STRICT,
                       "{s:i, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:b}",
                       "version", &version, "scope", &scope, "scope_key", &key, "agent",
                       &agent, "config", &config, "root", &root, "workspace", &place,
                       "box_name", &box_name, "created_ms", &created, "idle_ms", &idle,
                       "age_ms", &age, "daily", &daily) != 0 ||
        version != 1 || created < 0 || idle < 0 || age < 0 || root[0] != '/')
        return false;
    workspace = json_string_value(place);
    if ((!workspace && !json_is_null(place)) || (workspace && !is_name(workspace)) ||
        !read_scope(scope, &record->scope))
        return false;
    record->created_ms = (uint64_t)created;
    record->idle_ms = (uint64_t)idle;
    record->age_ms = (uint64_t)age;
    record->daily = daily;
    return keep_text(key, &record->scope_key) && keep_text(agent, &record->agent) &&
           keep_text(config, &record->config) && keep_text(root, &record->root) &&
           keep_text(workspace, &record->workspace) &&
           keep_text(box_name, &record->box_name);
}

enum nacre_status session_record_read(int dir_fd, const char *id,
                                      struct session_record *ret_record,
                                      struct nacre_error *err)
{
    NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(json_guard) json_t *json = NULL;
    char name[SESSION_FILE];
    enum nacre_status status;
    struct stat st;

    name_of(name, id);
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no such session");
    if (fd < 0 || fstat(fd, &st) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the record of a session");
    status = nacre_buf_read(&text, fd, err);
    if (status != NACRE_OK)
        return status;
    if (text.size > 0)
        json = json_loadb(text.bytes, text.size, JSON_REJECT_DUPLICATES, NULL);
    if (!parse(json, &record) || !is_its_own(id, &record))
        return nacre_fail(err, NACRE_ERR_PARSE, "sessions/%s is broken: the next run of "
                          "its session writes it anew", name);
    (void)snprintf(record.id, sizeof(record.id), "%s", id);
    record.used_ms = (uint64_t)st.st_mtim.tv_sec * 1000 +
                     (uint64_t)st.st_mtim.tv_nsec / 1000000;
    *ret_record = record;
    record = (struct session_record){ 0 };
    return NACRE_OK;
}

void session_record_touch(int dir_fd, const char *id)
{
    char name[SESSION_FILE];

    name_of(name, id);
    (void)utimensat(dir_fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

void session_record_remove(int dir_fd, const char *id)
{
    char name[SESSION_FILE];

    name_of(name, id);
    (void)unlinkat(dir_fd, name, 0);
}

/* ---- writing ---- */

/* What is borrowed here is never cleared. */
static struct session_record record_of(const struct nacre_session *session)
{
    const struct nacre_config *config = session->config;
    const char *slash = strrchr(session->box_workspace, '/');

    return (struct session_record){
        .scope = session->scope,
        .scope_key = session->scope_key,
        .agent = session->agent,
        .config = config->file ? config->file : config->source,
        .root = session->workspace_root,
        .workspace = session->access != NACRE_ACCESS_RW && slash &&
                             strcmp(session->box_workspace, session->workspace_root) != 0
                         ? (char *)slash + 1
                         : NULL,
        .box_name = (char *)session->box_name,
        .created_ms = nacre_clock_wall_ms(),
        .idle_ms = session->prune_idle_ms,
        .age_ms = session->prune_age_ms,
        .daily = config->dialect == NACRE_DIALECT_CLAWPY,
    };
}

static enum nacre_status replace(int dir_fd, const char *id,
                                 const struct session_record *record,
                                 const struct session_steps *steps,
                                 struct nacre_error *err)
{
    NACRE_AUTO(json_guard) json_t *json = record_json(record);
    NACRE_AUTO(nacre_heap_guard) char *text = json ? json_dumps(json, JSON_INDENT(1))
                                                   : NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char name[SESSION_FILE];
    size_t count = text ? strlen(text) : 0;

    if (!text)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a session's key, agent or path is not UTF-8, or memory is "
                          "short");
    if (count > BYTES_MAX) /* nobody could read it again */
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a session's key, agent and paths are over %zu bytes together",
                          BYTES_MAX);
    name_of(name, id);
    (void)unlinkat(dir_fd, FRESH_NAME, 0);
    session_step(steps, "write a record aside");
    fd = openat(dir_fd, FRESH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0 || write(fd, text, count) != (ssize_t)count)
        return nacre_fail(err, NACRE_ERR_IO, "the record of a session can't be written");
    session_step(steps, "put a record in its place");
    if (renameat(dir_fd, FRESH_NAME, dir_fd, name) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the record of a session can't be written");
    return NACRE_OK;
}

static bool is_same(const struct session_record *record, const json_t *wanted)
{
    NACRE_AUTO(json_guard) json_t *is = record_json(record);

    return is && json_equal(is, (json_t *)wanted);
}

/* Names are short, and eight digits of a hash are soon met by whoever tries keys. */
static bool is_taken_by(const struct session_record *other,
                        const struct session_record *record)
{
    bool is_same_key = other->scope == record->scope &&
                       strcmp(other->scope_key, record->scope_key) == 0;
    bool is_same_place = other->workspace && record->workspace &&
                         strcmp(other->workspace, record->workspace) == 0 &&
                         strcmp(other->root, record->root) == 0;

    return is_same_place || (!is_same_key && record->box_name[0] &&
                             strcmp(other->box_name, record->box_name) == 0);
}

static enum nacre_status check_names(int dir_fd, const struct session_record *record,
                                     struct nacre_error *err)
{
    NACRE_AUTO(session_ids_guard) char **ids = NULL;
    enum nacre_status status = session_record_ids(dir_fd, &ids, err);

    for (size_t i = 0; status == NACRE_OK && ids[i]; i++) {
        NACRE_AUTO(session_record_clear) struct session_record other = { 0 };
        struct nacre_error ignored;

        /* Whose it is is not for the agent: a key may be somebody's number. */
        if (session_record_read(dir_fd, ids[i], &other, &ignored) == NACRE_OK &&
            is_taken_by(&other, record))
            return nacre_fail(err, NACRE_ERR_DENIED,
                              "the sandbox's name %.80s is another session's already: "
                              "use another key, or end that one (nacre session list)",
                              record->box_name[0] ? record->box_name
                                                  : record->workspace);
    }
    return status;
}

enum nacre_status session_record_keep(int dir_fd, const char *id,
                                      const struct nacre_session *session,
                                      const struct session_wait *wait,
                                      const struct session_steps *steps,
                                      struct nacre_error *err)
{
    NACRE_AUTO(session_record_clear) struct session_record old = { 0 };
    struct session_record record = record_of(session);
    NACRE_AUTO(nacre_fd_guard) int lock_fd = -1;
    NACRE_AUTO(json_guard) json_t *wanted = NULL;
    struct nacre_error ignored;
    enum nacre_status status =
        session_lock(dir_fd, WRITE_LOCK, "lock", true, wait, &lock_fd, NULL, err);

    if (status != NACRE_OK)
        return nacre_fail_context(err, "the records of sessions");
    if (session_record_read(dir_fd, id, &old, &ignored) == NACRE_OK)
        record.created_ms = old.created_ms;
    wanted = record_json(&record);
    if (old.scope_key && wanted && is_same(&old, wanted)) {
        session_record_touch(dir_fd, id);
        return NACRE_OK;
    }
    if (!old.scope_key)
        status = check_names(dir_fd, &record, err);
    return status == NACRE_OK ? replace(dir_fd, id, &record, steps, err) : status;
}

/* ---- all of them ---- */

static bool is_record(const char *name)
{
    return strspn(name, HEX) == SESSION_ID - 1 &&
           strcmp(name + SESSION_ID - 1, "." RECORD_KIND) == 0;
}

static bool add_id(char ***ids, size_t *count, const char *name)
{
    char **grown = realloc(*ids, (*count + 2) * sizeof(*grown));

    if (!grown)
        return false;
    *ids = grown;
    grown[*count] = strndup(name, SESSION_ID - 1);
    grown[*count + 1] = NULL;
    return grown[(*count)++] != NULL;
}

enum nacre_status session_record_ids(int dir_fd, char ***ret_ids, struct nacre_error *err)
{
    NACRE_AUTO(session_ids_guard) char **ids = calloc(1, sizeof(*ids));
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    bool good = ids != NULL;
    size_t count = 0;

    if (!dir) {
        nacre_fd_guard(&again);
        return nacre_fail(err, NACRE_ERR_IO, "the records of sessions");
    }
    while (good && count < RECORDS_MAX && (entry = readdir(dir)))
        if (is_record(entry->d_name))
            good = add_id(&ids, &count, entry->d_name);
    (void)closedir(dir);
    if (!good)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the records of sessions");
    *ret_ids = NACRE_HEAP_TAKE(ids);
    return NACRE_OK;
}
