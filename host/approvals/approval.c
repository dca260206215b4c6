/*
 * A call that waits for somebody's word.  The call comes from a model; whoever says yes
 * holds the key, and what they said yes to is compared here, in memory.
 */
#include "nacre/approval.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "approver.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/seal.h"
#include "nacre/text.h"
#include "soul.h"
#include "store.h"

/* inotify tells at once; a file system that does not is asked so often. */
#define LOOK_MS 500

struct asking {
    const struct nacre_approval_options *options;
    const struct nacre_approval_ask *ask;
    struct nacre_digest call;
    uint64_t deadline_ns;
    uint8_t key[NACRE_KEY_BYTES];
    int dir_fd;
};

static void asking_clear(struct asking *asking)
{
    explicit_bzero(asking->key, sizeof(asking->key));
    nacre_fd_guard(&asking->dir_fd);
}

static void say(struct nacre_approval *approval, enum nacre_approval_verdict verdict,
                const char *approver, const char *text)
{
    approval->verdict = verdict;
    (void)snprintf(approval->approver, sizeof(approval->approver), "%s", approver);
    (void)snprintf(approval->text, sizeof(approval->text), "%s", text);
}

/* Is this yes for this call, now, and for the first time? */
static enum nacre_status take(const struct asking *asking,
                              const struct approval_answer *answer, const char *approver,
                              struct nacre_approval *ret_approval,
                              struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];
    bool first = false;
    enum nacre_status status;

    if (!nacre_digest_equal(&answer->call, &asking->call)) {
        say(ret_approval, NACRE_APPROVAL_CHANGED, approver,
            "the approval is for another call: tool, arguments, directory, module, "
            "session and whether there is a sandbox have to be the same; ask again for "
            "this one");
        return NACRE_OK;
    }
    if (answer->expires_ms <= nacre_clock_wall_ms()) {
        say(ret_approval, NACRE_APPROVAL_EXPIRED, approver,
            "the approval has expired: ask again");
        return NACRE_OK;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/approvals-used",
                         asking->options->state_dir) >= sizeof(path))
        return nacre_fail(err, NACRE_ERR_USAGE, "the state directory's name is too long");
    status = nacre_once(path, answer->nonce, answer->expires_ms, &first, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the approval");
    if (first)
        say(ret_approval, NACRE_APPROVAL_APPROVED, approver, "approved");
    else
        say(ret_approval, NACRE_APPROVAL_REPLAYED, approver,
            "the approval was used before: it is good for one call; ask again");
    return NACRE_OK;
}

static enum nacre_status by_token(const struct asking *asking,
                                  struct nacre_approval *ret_approval,
                                  struct nacre_error *err)
{
    struct approval_answer answer;

    if (approval_answer_open(asking->key, APPROVAL_PURPOSE_TOKEN, asking->ask->token,
                             &answer) &&
        answer.approve)
        return take(asking, &answer, "token", ret_approval, err);
    say(ret_approval, NACRE_APPROVAL_DENIED, "token",
        "the token is not one that was issued here, or it was altered");
    return NACRE_OK;
}

static enum nacre_status by_soul(const struct asking *asking,
                                 struct nacre_approval *ret_approval,
                                 struct nacre_error *err)
{
    char why[256] = "";
    bool approved = false;
    enum nacre_status status = soul_ask(asking->options, asking->ask->tool,
                                        asking->ask->arguments, &approved, why,
                                        sizeof(why), err);

    if (status != NACRE_OK)
        return status;
    if (approved) {
        say(ret_approval, NACRE_APPROVAL_APPROVED, "soul", "approved");
        return NACRE_OK;
    }
    ret_approval->verdict = NACRE_APPROVAL_NOT_IN_SOUL;
    (void)snprintf(ret_approval->approver, sizeof(ret_approval->approver), "soul");
    (void)snprintf(ret_approval->text, sizeof(ret_approval->text), "%s", why);
    return NACRE_OK;
}

static enum nacre_status by_command(const struct asking *asking,
                                    struct nacre_approval *ret_approval,
                                    struct nacre_error *err)
{
    enum nacre_approval_verdict verdict = NACRE_APPROVAL_NONE;
    enum nacre_status status = approver_ask(asking->options->command, asking->ask,
                                            asking->deadline_ns, &verdict, err);

    if (status != NACRE_OK)
        return status;
    say(ret_approval, verdict, "command",
        verdict == NACRE_APPROVAL_APPROVED  ? "approved"
        : verdict == NACRE_APPROVAL_DENIED ? "the approver command said no"
                                           : "the approver command gave no answer in time");
    return NACRE_OK;
}

/* ---- by a person ---- */

static void person(uint32_t uid, char ret_name[64])
{
    struct passwd entry, *found = NULL;
    char room[1024];

    if (getpwuid_r(uid, &entry, room, sizeof(room), &found) == 0 && found)
        (void)snprintf(ret_name, 64, "person:%.48s", found->pw_name);
    else
        (void)snprintf(ret_name, 64, "person:%u", uid);
}

static enum nacre_status judge_answer(const struct asking *asking, const char *id,
                                      const struct approval_answer *answer,
                                      struct nacre_approval *ret_approval,
                                      struct nacre_error *err)
{
    char name[64];
    enum nacre_status status = NACRE_OK;

    person(answer->uid, name);
    if (answer->approve)
        status = take(asking, answer, name, ret_approval, err);
    else
        say(ret_approval, NACRE_APPROVAL_DENIED, name, "a person said no");
    if (status == NACRE_OK)
        approval_remove(asking->dir_fd, id);
    return status;
}

/* Until something happens in the directory, or it is time to look anyway. */
static void wait_for_change(int watch_fd, uint64_t deadline_ns)
{
    struct pollfd watched = { .fd = watch_fd, .events = POLLIN };
    uint64_t look_ns = nacre_clock_ns() + LOOK_MS * NACRE_NS_PER_MS;
    struct timespec left =
        nacre_clock_until(look_ns < deadline_ns ? look_ns : deadline_ns);
    char events[4096];

    if (ppoll(&watched, watch_fd >= 0 ? 1 : 0, &left, NULL) > 0)
        (void)!read(watch_fd, events, sizeof(events));
}

static void tell_timeout(const char *id, struct nacre_approval *ret_approval)
{
    ret_approval->verdict = NACRE_APPROVAL_TIMED_OUT;
    (void)snprintf(ret_approval->approver, sizeof(ret_approval->approver), "person");
    (void)snprintf(ret_approval->text, sizeof(ret_approval->text),
                   "nobody answered request %s in time; once a person has run nacre "
                   "approve %s, the same call goes through",
                   id, id);
}

static enum nacre_status by_person(const struct asking *asking,
                                   struct nacre_approval *ret_approval,
                                   struct nacre_error *err)
{
    const struct nacre_approval_options *options = asking->options;
    NACRE_AUTO(nacre_fd_guard) int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char path[NACRE_PATH_MAX], *id = ret_approval->id;
    enum nacre_status status = approval_find(asking->dir_fd, &asking->call, id, err);

    if (status == NACRE_OK && !id[0])
        status = approval_write(asking->dir_fd, asking->ask,
                                nacre_clock_wall_ms() + NACRE_APPROVAL_TTL_MS, id, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "%s/approvals", options->state_dir);
    (void)inotify_add_watch(watch_fd, path, IN_CREATE | IN_MOVED_TO | IN_DELETE);
    for (bool told = false;; told = true) {
        struct approval_answer answer;

        status = approval_read_answer(asking->dir_fd, asking->key, id, &answer, err);
        if (status == NACRE_OK)
            return judge_answer(asking, id, &answer, ret_approval, err);
        if (status != NACRE_ERR_NOT_FOUND)
            return status;
        if (nacre_clock_ns() >= asking->deadline_ns) {
            tell_timeout(id, ret_approval);
            return NACRE_OK;
        }
        if (!told && options->on_wait)
            options->on_wait(options->on_wait_data, id, asking->ask->tool);
        wait_for_change(watch_fd, asking->deadline_ns);
    }
}

enum nacre_status nacre_approval_get(const struct nacre_approval_options *options,
                                     const struct nacre_approval_ask *ask,
                                     uint64_t deadline_ns,
                                     struct nacre_approval *ret_approval,
                                     struct nacre_error *err)
{
    NACRE_AUTO(asking_clear)
    struct asking asking = { .options = options, .ask = ask, .dir_fd = -1 };
    struct nacre_approval approval = { .verdict = NACRE_APPROVAL_DENIED };
    uint64_t wait_ms = options->wait_ms > 0 ? options->wait_ms : NACRE_APPROVAL_WAIT_MS;
    uint64_t end_ns = nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS;
    enum nacre_status status =
        nacre_key_load(options->key_dir, APPROVAL_KEY, asking.key, err);

    if (status == NACRE_OK)
        status = approval_dir_open(options->state_dir, &asking.dir_fd, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "nobody can be asked");
    asking.call = approval_call(ask);
    asking.deadline_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
    if (options->soul)
        status = by_soul(&asking, &approval, err);
    else if (ask->token)
        status = by_token(&asking, &approval, err);
    else if (options->command)
        status = by_command(&asking, &approval, err);
    else
        status = by_person(&asking, &approval, err);
    if (status == NACRE_OK)
        *ret_approval = approval;
    return status;
}
