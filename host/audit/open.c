/*
 * Opens a log that a crash, another user or an attacker may have left in any state.
 * Trusts what the kernel says about an open fd, and of the content nothing that the
 * key does not vouch for: differences are told, never set right without a trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "log.h"
#include "nacre/path.h"
#include "tail.h"

/* Only when it is missing: a directory that is there already is the user's choice. */
static enum nacre_status make_directory(const char *path, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *slash = strrchr(path, '/');
    char directory[NACRE_PATH_MAX];
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (length == 0 || length >= sizeof(directory))
        return NACRE_OK;
    memcpy(directory, path, length);
    directory[length] = '\0';
    if (access(directory, F_OK) == 0 || errno != ENOENT)
        return NACRE_OK;
    return nacre_private_dir_open(directory, &fd, err);
}

static enum nacre_status file_open(const char *path, const char *shown, int *ret_fd,
                                   struct nacre_error *err)
{
    /* O_NONBLOCK: a FIFO planted under the name must not hold us up. */
    static const int flags =
        O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, flags, 0600);
    struct stat st;

    if (fd < 0 && errno == ELOOP)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s is a symbolic link: name the file that it points to",
                          shown);
    if (fd < 0 && (errno == EISDIR || errno == ENXIO))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is not a plain file", shown);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", shown);
    if (fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine %s", shown);
    if (!S_ISREG(st.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is not a plain file", shown);
    if (st.st_uid != geteuid())
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s belongs to user %u, not to user %u who runs nacre", shown,
                          st.st_uid, geteuid());
    if (st.st_mode & 022)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "others may write to %s (mode %04o), so it proves nothing; if "
                          "it is sound, run chmod 600 on it",
                          shown, st.st_mode & 07777);
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

static enum nacre_status secret_new(const char *key_dir, struct audit_secret **ret_secret,
                                    struct nacre_error *err)
{
    struct audit_secret *secret;
    enum nacre_status status;

    secret = mmap(NULL, sizeof(*secret), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (secret == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the audit key");
    *ret_secret = secret; /* the handle owns it from here on, success or not */
    if (madvise(secret, sizeof(*secret), MADV_WIPEONFORK) < 0 ||
        madvise(secret, sizeof(*secret), MADV_DONTDUMP) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot keep the audit key from workers");
    status = nacre_key_load(key_dir, "audit.key", secret->key, err);
    if (status != NACRE_OK)
        return status;
    secret->keyed = audit_record_hasher(secret->key);
    secret->present = true;
    return NACRE_OK;
}

/* What the last checkpoint says against what the log holds. */
static enum nacre_status compare(struct nacre_audit *audit, struct audit_damage *damage,
                                 bool *ret_fresh, struct nacre_error *err)
{
    struct audit_checkpoint last;
    enum nacre_status status;
    enum audit_last found;

    status = audit_checkpoint_last(audit->checkpoints_fd, audit->checkpoints_shown,
                                   audit->secret->key, &found, &last, err);
    if (status != NACRE_OK)
        return status;
    *ret_fresh = found == AUDIT_LAST_NONE && audit->head.bytes == 0;
    if (found != AUDIT_LAST_HOLDS) {
        damage->checkpoints_missing = !*ret_fresh;
        return NACRE_OK;
    }
    if (last.count > audit->head.count)
        damage->records_missing = last.count - audit->head.count;
    else if (last.count == audit->head.count &&
             (last.bytes != audit->head.bytes ||
              !nacre_digest_equal(&last.head, &audit->head.head)))
        damage->head_differs = true;
    audit->vouched_count = last.count - damage->records_missing;
    return NACRE_OK;
}

/*
 * The same for the newest checkpoint, which still knows what log and checkpoints said
 * when both were put back.  `*ret_newest` is what to write next; broken if the log does
 * not stand up to the one before, and then for good.
 */
static enum nacre_status compare_newest(struct nacre_audit *audit, bool fresh,
                                        struct audit_damage *damage,
                                        struct audit_newest *ret_newest, bool *ret_stands,
                                        struct nacre_error *err)
{
    enum audit_stand stand = AUDIT_STANDS;
    struct audit_newest newest;
    enum nacre_status status;
    enum audit_last found;

    status = audit_newest_read(audit->newest_path, audit->secret->key, &found, &newest,
                               err);
    if (status == NACRE_OK && found == AUDIT_LAST_HOLDS)
        status = audit_log_compare(audit, &newest.vouched, &stand, err);
    if (status != NACRE_OK)
        return status;
    damage->newest_missing =
        found == AUDIT_LAST_BROKEN || (found == AUDIT_LAST_NONE && !fresh);
    damage->rewritten = stand == AUDIT_DIFFERS && !damage->head_differs;
    if (newest.vouched.count > audit->head.count + damage->records_missing)
        damage->records_missing = newest.vouched.count - audit->head.count;
    *ret_stands = stand == AUDIT_STANDS && !damage->newest_missing;
    if (!*ret_stands) {
        newest.broken = true;
        newest.lost = newest.vouched;
        newest.quiet = false;
    }
    *ret_newest = newest;
    return NACRE_OK;
}

/* Runs of others may be under way.  Nobody else has the log open when the lock that
 * every handle shares can be had alone; then an unended run will never end. */
static enum nacre_status find_unended(struct nacre_audit *audit,
                                      const struct audit_newest *newest,
                                      struct audit_damage *damage,
                                      struct nacre_error *err)
{
    NACRE_AUTO(audit_runs_clear) struct audit_runs runs = { 0 };
    enum nacre_status status;

    damage->alone = flock(audit->checkpoints_fd, LOCK_EX | LOCK_NB) == 0;
    if (flock(audit->checkpoints_fd, LOCK_SH | LOCK_NB) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot lock %s", audit->checkpoints_shown);
    /* Where every run had ended, and nobody has been here since, there is nothing to look
     * for. */
    if (!damage->alone || (newest->quiet && newest->vouched.count == audit->head.count))
        return NACRE_OK;
    status = audit_tail_runs(audit->fd, audit->shown, audit->head.bytes, &runs, err);
    damage->unended = runs.count;
    audit_runs_copy(&runs, damage->unended_ids, NACRE_COUNT(damage->unended_ids));
    return status;
}

static __attribute__((format(printf, 3, 4))) void say(char *notice, size_t size,
                                                      const char *format, ...)
{
    size_t used = strlen(notice);
    va_list args;

    if (used + 2 >= size)
        return;
    if (used > 0)
        notice[used++] = ' ';
    va_start(args, format);
    (void)vsnprintf(notice + used, size - used, format, args);
    va_end(args);
}

static void tell(const struct nacre_audit *audit, const struct audit_damage *damage,
                 char *notice, size_t size)
{
    if (damage->torn_count > 0)
        say(notice, size,
            "The audit log %s ended in %llu torn bytes, as a crash leaves them; a "
            "\"recovered\" record tells of them.",
            audit->shown, (unsigned long long)damage->torn_count);
    if (damage->records_missing > 0)
        say(notice, size,
            "The last %llu records of the audit log %s are gone though a checkpoint "
            "vouches for them: a power cut, or someone cut it.",
            (unsigned long long)damage->records_missing, audit->shown);
    if (damage->head_differs)
        say(notice, size,
            "The last record of the audit log %s is not the one that its checkpoint "
            "vouches for: it was changed. Run `nacre audit verify`.",
            audit->shown);
    if (damage->checkpoints_missing)
        say(notice, size,
            "No checkpoint in %s vouches for the audit log: they were lost or changed, "
            "or the key is another one. Run `nacre audit verify`.",
            audit->checkpoints_shown);
    if (damage->rewritten)
        say(notice, size,
            "The audit log %s does not begin with the records that %s vouches for: log "
            "and checkpoints were rewritten or put back. Run `nacre audit verify`.",
            audit->shown, audit->newest_shown);
    if (damage->newest_missing)
        say(notice, size,
            "%s, which tells how far the audit log %s went, is missing or changed: what "
            "was cut off before now does not show. Run `nacre audit verify`.",
            audit->newest_shown, audit->shown);
    if (damage->unended > 0)
        say(notice, size,
            "The audit log %s has %llu run(s) that began and never ended, among them %s.",
            audit->shown, (unsigned long long)damage->unended, damage->unended_ids[0]);
}

static bool is_damaged(const struct audit_damage *damage)
{
    return damage->torn_count > 0 || damage->records_missing > 0 ||
           damage->head_differs || damage->checkpoints_missing || damage->rewritten ||
           damage->newest_missing || damage->unended > 0;
}

static enum nacre_status settle(struct nacre_audit *audit, char *notice,
                                size_t notice_size, struct nacre_error *err)
{
    const uint8_t *key = audit->secret->key;
    struct audit_damage damage = { 0 };
    struct audit_newest newest;
    bool fresh = false, stands = true;
    enum nacre_status status;

    status = audit_log_refresh(audit, &damage.torn_count, err);
    if (status == NACRE_OK)
        status = compare(audit, &damage, &fresh, err);
    if (status == NACRE_OK)
        status = compare_newest(audit, fresh, &damage, &newest, &stands, err);
    if (status == NACRE_OK)
        status = find_unended(audit, &newest, &damage, err);
    /* In this order: a crash in between leaves a log that is fresh still. */
    if (status == NACRE_OK && fresh && stands)
        status = audit_newest_write(audit->newest_path, key, &newest, err);
    if (status == NACRE_OK && fresh)
        status = audit_checkpoint_write(audit->checkpoints_fd, audit->checkpoints_shown,
                                        key, &audit->head, err);
    if (status == NACRE_OK && is_damaged(&damage))
        status = audit_log_recover(audit, &damage, err);
    audit->knows_all = damage.alone;
    if (status == NACRE_OK && !stands) {
        newest.vouched = audit->head;
        status = audit_newest_write(audit->newest_path, key, &newest, err);
    }
    if (status == NACRE_OK && notice && notice_size > 0) {
        notice[0] = '\0';
        tell(audit, &damage, notice, notice_size);
    }
    return status;
}

enum nacre_status nacre_audit_open(const char *path, const char *key_dir,
                                   struct nacre_audit **ret_audit, char *ret_notice,
                                   size_t notice_size, struct nacre_error *err)
{
    NACRE_AUTO(nacre_audit_guard) struct nacre_audit *audit = calloc(1, sizeof(*audit));
    char checkpoints[NACRE_PATH_MAX];
    enum nacre_status status;
    int length;

    if (!audit)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the audit log");
    audit->fd = audit->checkpoints_fd = -1;
    (void)pthread_mutex_init(&audit->mutex, NULL);
    length = snprintf(checkpoints, sizeof(checkpoints), "%s%s", path,
                      AUDIT_CHECKPOINT_SUFFIX);
    if (length < 0 || (size_t)length >= sizeof(checkpoints))
        return nacre_fail(err, NACRE_ERR_USAGE, "the path of the audit log is too long");
    (void)nacre_text_shown(audit->shown, path);
    (void)nacre_text_shown(audit->checkpoints_shown, checkpoints);

    status = make_directory(path, err);
    if (status == NACRE_OK)
        status = secret_new(key_dir, &audit->secret, err);
    if (status == NACRE_OK)
        status = file_open(path, audit->shown, &audit->fd, err);
    if (status == NACRE_OK)
        status = file_open(checkpoints, audit->checkpoints_shown, &audit->checkpoints_fd,
                           err);
    if (status == NACRE_OK)
        status = audit_newest_path(path, key_dir, audit->newest_path, err);
    (void)nacre_text_shown(audit->newest_shown, audit->newest_path);
    if (status == NACRE_OK)
        status = audit_file_lock(audit->fd, LOCK_EX, AUDIT_LOCK_MS, audit->shown, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "audit");
    status = settle(audit, ret_notice, notice_size, err);
    audit_file_unlock(audit->fd);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "audit");
    *ret_audit = nacre_audit_take(&audit);
    return NACRE_OK;
}

/* Best effort: what it can't vouch for now, the next checkpoint will. */
static void checkpoint_at_end(struct nacre_audit *audit)
{
    struct nacre_error err;
    uint64_t torn_count;

    if (audit_file_lock(audit->fd, LOCK_EX, 1000, audit->shown, &err) != NACRE_OK)
        return;
    if (audit_log_refresh(audit, &torn_count, &err) == NACRE_OK)
        (void)!audit_log_checkpoint(audit, &err);
    audit_file_unlock(audit->fd);
}

void nacre_audit_free(struct nacre_audit *audit)
{
    if (!audit)
        return;
    if (audit->secret && audit->secret->present &&
        audit->head.count > audit->vouched_count)
        checkpoint_at_end(audit);
    if (audit->secret) {
        explicit_bzero(audit->secret, sizeof(*audit->secret));
        (void)munmap(audit->secret, sizeof(*audit->secret));
    }
    nacre_fd_guard(&audit->fd);
    nacre_fd_guard(&audit->checkpoints_fd);
    (void)pthread_mutex_destroy(&audit->mutex);
    free(audit);
}
