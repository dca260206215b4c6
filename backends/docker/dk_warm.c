#include "dk_warm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dk_thread.h"
#include "nacre/text.h"

#define BEAT_NS NACRE_NS_PER_S
#define WRITE_NS (5 * NACRE_NS_PER_S) /* how stale "last used" may be in the registry */

/*
 * Who may free one: a thread that finds it idle, under the lock, and takes it off the
 * list.  Idle means that no command runs in it and nobody looks at it without the lock.
 */
struct kept {
    struct kept *next;
    struct dk_box *box; /* NULL while it is being made */
    char *scope_key;    /* whole; info has what fits */
    struct nacre_box_info info;
    uint32_t holders; /* threads that look at it without the lock */
    bool stopped;     /* by force: it serves nobody any more */
};

struct dk_warm {
    struct dk_site *site;
    pthread_mutex_t lock;   /* over what follows */
    pthread_cond_t changed; /* a box was made, given back or removed */
    pthread_cond_t tick;    /* for the thread of beats: the list is another, or we end */
    struct kept *first;
    pthread_t beats;
    bool has_beats, ending;
    bool listed;  /* the registry has the list as it is */
    bool touched; /* but for when they were used last */
    uint64_t written_ns;
    uint64_t late_ns; /* when to look next for what is late */
};

enum nacre_status dk_warm_new(struct dk_site *site, struct dk_warm **ret_warm,
                              struct nacre_error *err)
{
    struct dk_warm *warm = calloc(1, sizeof(*warm));
    pthread_condattr_t attributes;

    if (!warm)
        return nacre_fail(err, NACRE_ERR_MEMORY, "warm containers");
    warm->site = site;
    warm->listed = true;
    (void)pthread_mutex_init(&warm->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&warm->changed, &attributes);
    (void)pthread_cond_init(&warm->tick, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *ret_warm = warm;
    return NACRE_OK;
}

/* ---- the list; the lock is held ---- */

static struct kept *find(struct dk_warm *warm, const char *scope_key)
{
    for (struct kept *kept = warm->first; kept; kept = kept->next)
        if (strcmp(kept->scope_key, scope_key) == 0)
            return kept;
    return NULL;
}

static void unlink_kept(struct dk_warm *warm, const struct kept *gone)
{
    for (struct kept **at = &warm->first; *at; at = &(*at)->next)
        if (*at == gone) {
            *at = gone->next;
            return;
        }
}

static void wait_for(struct dk_warm *warm, pthread_cond_t *what, uint64_t until_ns)
{
    const struct timespec until = dk_thread_moment(until_ns);

    (void)pthread_cond_timedwait(what, &warm->lock, &until);
}

static void list_changed(struct dk_warm *warm)
{
    warm->listed = false;
    (void)pthread_cond_broadcast(&warm->changed);
    (void)pthread_cond_signal(&warm->tick);
}

static bool is_idle(const struct kept *kept)
{
    return kept->box && kept->info.commands == 0 && kept->holders == 0;
}

static bool is_spent(struct kept *kept)
{
    return kept->stopped || dk_box_is_spent(kept->box);
}

/* Takes it off the list and ends it without the lock, since that takes its time. */
static void end_kept(struct dk_warm *warm, struct kept *kept)
{
    unlink_kept(warm, kept);
    (void)pthread_mutex_unlock(&warm->lock);
    dk_box_free(kept->box);
    free(kept->scope_key);
    free(kept);
    (void)pthread_mutex_lock(&warm->lock);
    list_changed(warm);
}

/* ---- the owner's beat, and the registry ---- */

/* Beats for all, also for one with commands: whoever runs those may be held up by a
 * caller that does not take its output.  Returns the first that is idle and can't serve
 * any more. */
static struct kept *find_spent(struct dk_warm *warm)
{
    for (struct kept *kept = warm->first; kept; kept = kept->next) {
        bool alive = kept->box && dk_box_beat(kept->box);

        if (is_idle(kept) && (!alive || is_spent(kept)))
            return kept;
    }
    return NULL;
}

/* For people who look later; that it can't be written harms nobody else. */
static void write_registry(struct dk_warm *warm)
{
    NACRE_AUTO(nacre_heap_guard) struct nacre_box_info *infos = NULL;
    struct nacre_error ignored;
    size_t count = 0, room = 0;
    bool written;

    for (struct kept *kept = warm->first; kept; kept = kept->next)
        room += kept->box != NULL;
    infos = calloc(room + 1, sizeof(*infos));
    for (struct kept *kept = warm->first; kept && infos; kept = kept->next)
        if (kept->box)
            infos[count++] = kept->info;
    warm->listed = true;
    warm->touched = false;
    warm->written_ns = nacre_clock_ns();
    (void)pthread_mutex_unlock(&warm->lock);
    written = infos &&
              dk_registry_write(warm->site, infos, count, &ignored) == NACRE_OK;
    (void)pthread_mutex_lock(&warm->lock);
    warm->touched |= !written; /* again after a while */
}

static bool must_write(const struct dk_warm *warm)
{
    return !warm->listed ||
           (warm->touched && nacre_clock_ns() - warm->written_ns > WRITE_NS);
}

/* Without the lock, since an engine takes its time. */
static void remove_late(struct dk_warm *warm)
{
    const struct dk_caller nobody = { 0 };

    (void)pthread_mutex_unlock(&warm->lock);
    dk_site_remove_late(warm->site, &nobody);
    (void)pthread_mutex_lock(&warm->lock);
    warm->late_ns = nacre_clock_ns() + BEAT_NS;
}

static void *beat(void *data)
{
    struct dk_warm *warm = data;

    (void)pthread_mutex_lock(&warm->lock);
    while (!warm->ending) {
        struct kept *spent = find_spent(warm);

        if (spent)
            end_kept(warm, spent);
        else if (must_write(warm))
            write_registry(warm);
        else if (nacre_clock_ns() >= warm->late_ns)
            remove_late(warm);
        else
            wait_for(warm, &warm->tick, nacre_clock_ns() + BEAT_NS);
    }
    (void)pthread_mutex_unlock(&warm->lock);
    return NULL;
}

static bool start_beats(struct dk_warm *warm)
{
    if (!warm->has_beats)
        warm->has_beats = dk_thread_start(&warm->beats, beat, warm);
    return warm->has_beats;
}

void dk_warm_watch(struct dk_warm *warm)
{
    if (!dk_late_any(&warm->site->late))
        return;
    (void)pthread_mutex_lock(&warm->lock);
    (void)start_beats(warm); /* if that fails, the next run looks */
    (void)pthread_mutex_unlock(&warm->lock);
}

void dk_warm_free(struct dk_warm *warm)
{
    if (!warm)
        return;
    (void)pthread_mutex_lock(&warm->lock);
    warm->ending = true;
    (void)pthread_cond_signal(&warm->tick);
    (void)pthread_mutex_unlock(&warm->lock);
    if (warm->has_beats)
        (void)pthread_join(warm->beats, NULL);
    (void)pthread_mutex_lock(&warm->lock);
    while (warm->first)
        end_kept(warm, warm->first);
    if (!warm->listed)
        write_registry(warm);
    (void)pthread_mutex_unlock(&warm->lock);
    (void)pthread_cond_destroy(&warm->changed);
    (void)pthread_cond_destroy(&warm->tick);
    (void)pthread_mutex_destroy(&warm->lock);
    free(warm);
}

/* ---- taking and giving back ---- */

static struct kept *new_kept(const struct nacre_plan *plan)
{
    struct kept *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return NULL;
    kept->scope_key = strdup(plan->scope_key);
    if (!kept->scope_key) {
        free(kept);
        return NULL;
    }
    (void)snprintf(kept->info.scope_key, sizeof(kept->info.scope_key), "%s",
                   plan->scope_key);
    (void)snprintf(kept->info.image, sizeof(kept->info.image), "%s",
                   plan->container.image);
    kept->info.created_ms = kept->info.used_ms = nacre_clock_wall_ms();
    kept->info.owner_pid = getpid();
    kept->info.commands = 1; /* ours, already while it is made */
    return kept;
}

static enum nacre_status make(struct dk_warm *warm, const struct nacre_plan *plan,
                              const char *name, const struct dk_caller *caller,
                              struct dk_box **ret_box, struct nacre_error *err)
{
    const struct dk_box_order order = { .plan = plan, .scope_key = plan->scope_key,
                                        .name = name, .caller = *caller };
    struct kept *kept = new_kept(plan);
    struct dk_box *box = NULL;
    enum nacre_status status;

    if (!kept)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a warm container");
    kept->next = warm->first;
    warm->first = kept;
    (void)pthread_mutex_unlock(&warm->lock);
    status = dk_box_open(warm->site, &order, &box, err);
    (void)pthread_mutex_lock(&warm->lock);
    kept->box = box;
    if (status == NACRE_OK && !start_beats(warm))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "a thread for warm containers");
    if (status != NACRE_OK) {
        end_kept(warm, kept);
        return status;
    }
    (void)snprintf(kept->info.id, sizeof(kept->info.id), "%.12s", dk_box_id(box));
    (void)snprintf(kept->info.name, sizeof(kept->info.name), "%s", dk_box_name(box));
    (void)nacre_digest_hex(dk_box_made_of(box), kept->info.digest);
    list_changed(warm);
    *ret_box = box;
    return NACRE_OK;
}

/*
 * Is it made of what the plan asks for?  The same plan with the same directories is, and
 * that is known at once.  Another plan may still amount to the same container: then all
 * is looked up anew, without the lock.
 */
static enum nacre_status serves(struct dk_warm *warm, struct kept *kept,
                                const struct nacre_plan *plan, const char *name,
                                const struct dk_caller *caller, bool *ret_serves,
                                struct nacre_error *err)
{
    struct nacre_digest wanted;
    enum nacre_status status;

    *ret_serves = false;
    if (name && strcmp(name, dk_box_name(kept->box)) != 0)
        return NACRE_OK;
    *ret_serves = dk_box_is_of(kept->box, plan);
    if (*ret_serves)
        return NACRE_OK;
    kept->holders++;
    (void)pthread_mutex_unlock(&warm->lock);
    status = dk_box_digest(warm->site, plan, caller, &wanted, err);
    if (status == NACRE_OK)
        *ret_serves = memcmp(&wanted, dk_box_made_of(kept->box), sizeof(wanted)) == 0;
    (void)pthread_mutex_lock(&warm->lock);
    kept->holders--;
    (void)pthread_cond_broadcast(&warm->changed);
    return status;
}

static enum nacre_status refuse_changed(const struct nacre_plan *plan,
                                        struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the sandbox of '%s' was made from another configuration and a "
                      "command still runs in it: wait for that, or end it with `nacre "
                      "stop`",
                      nacre_text_shown(shown, plan->scope_key));
}

/* The lock is held, and let go of in between: whoever comes back looks again. */
static enum nacre_status get(struct dk_warm *warm, const struct nacre_plan *plan,
                             const char *name, const struct dk_caller *caller,
                             struct dk_box **ret_box, struct nacre_error *err)
{
    for (;;) {
        struct kept *kept = find(warm, plan->scope_key);
        const struct nt_wait wait = dk_caller_wait(caller);
        enum nacre_status status;
        bool good = false;

        if (!kept)
            return make(warm, plan, name, caller, ret_box, err);
        if (nt_wait_is_over(&wait))
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "another call's sandbox of this scope was not ready, or "
                              "had not ended");
        if (!kept->box) { /* another call is making it */
            wait_for(warm, &warm->changed, nt_wait_next_ns(&wait));
            continue;
        }
        if (!is_spent(kept)) {
            status = serves(warm, kept, plan, name, caller, &good, err);
            if (status != NACRE_OK)
                return status;
            if (!good && kept->info.commands > 0 && !is_spent(kept))
                return refuse_changed(plan, err);
        }
        if (good && !is_spent(kept)) {
            kept->info.commands++;
            *ret_box = kept->box;
            return NACRE_OK;
        }
        if (is_idle(kept))
            end_kept(warm, kept);
        else /* its commands are about to end */
            wait_for(warm, &warm->changed, nt_wait_next_ns(&wait));
    }
}

enum nacre_status dk_warm_get(struct dk_warm *warm, const struct nacre_plan *plan,
                              const char *name, const struct dk_caller *caller,
                              struct dk_box **ret_box, struct nacre_error *err)
{
    enum nacre_status status;

    (void)pthread_mutex_lock(&warm->lock);
    status = get(warm, plan, name, caller, ret_box, err);
    (void)pthread_mutex_unlock(&warm->lock);
    return status;
}

void dk_warm_put(struct dk_warm *warm, struct dk_box *box)
{
    struct kept *kept;

    (void)pthread_mutex_lock(&warm->lock);
    for (kept = warm->first; kept && kept->box != box;)
        kept = kept->next;
    if (kept) {
        kept->info.commands--;
        kept->info.used_ms = nacre_clock_wall_ms();
        warm->touched = true;
        if (is_idle(kept) && is_spent(kept))
            end_kept(warm, kept);
    }
    (void)pthread_cond_broadcast(&warm->changed);
    (void)pthread_mutex_unlock(&warm->lock);
}

/* ---- for who looks after them ---- */

void dk_warm_each(struct dk_warm *warm,
                  bool (*each)(void *data, const struct nacre_box_info *info), void *data)
{
    (void)pthread_mutex_lock(&warm->lock);
    for (struct kept *kept = warm->first; kept; kept = kept->next)
        if (kept->box && !each(data, &kept->info))
            break;
    (void)pthread_mutex_unlock(&warm->lock);
}

/* The first that can be ended now: idle, or by force. */
static struct kept *find_wanted(struct dk_warm *warm, bool force,
                                bool (*wanted)(void *data,
                                               const struct nacre_box_info *info),
                                void *data)
{
    for (struct kept *kept = warm->first; kept; kept = kept->next)
        if (kept->box && !kept->stopped && (force || is_idle(kept)) &&
            wanted(data, &kept->info))
            return kept;
    return NULL;
}

uint32_t dk_warm_end(struct dk_warm *warm, bool force,
                     bool (*wanted)(void *data, const struct nacre_box_info *info),
                     void *data)
{
    struct kept *kept;
    uint32_t ended = 0;

    (void)pthread_mutex_lock(&warm->lock);
    while ((kept = find_wanted(warm, force, wanted, data))) {
        ended++;
        if (is_idle(kept)) {
            end_kept(warm, kept);
            continue;
        }
        /* It goes when its last command has noticed. */
        kept->stopped = true;
        kept->holders++;
        (void)pthread_mutex_unlock(&warm->lock);
        dk_box_kill(kept->box);
        (void)pthread_mutex_lock(&warm->lock);
        kept->holders--;
        (void)pthread_cond_broadcast(&warm->changed);
        (void)pthread_cond_signal(&warm->tick);
    }
    (void)pthread_mutex_unlock(&warm->lock);
    return ended;
}
