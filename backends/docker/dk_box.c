#include "dk_box_made.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dk_gvisor.h"
#include "dk_machine.h"
#include "dk_readback.h"
#include "dk_report.h"
#include "nt_door.h"
#include "seccomp_program.h"

/* Every call to the engine has its deadline. */
#define LOOK_MS 10000
#define CREATE_MS 60000
#define START_MS 60000
#define GVISOR_START_MS 15000 /* on a platform that does not work it may spin for ever */
#define REPORT_MS 20000
#define BOOT_MS 60000 /* of a machine; an emulated one takes ten seconds */
#define END_MS 30000
#define HURRIED_MS 2000 /* the same, when nobody waits for it any more: see dk_late.h */
#define STRIKE_MS 1000
#define UNMADE_MS 200 /* in which an engine that was left while it creates is done */

#define BEAT_MS_MAX 5000
#define COMMANDS_MAX 64
#define NAME_TRIES 3

static struct nt_wait within(const struct dk_box *box, const struct dk_caller *caller,
                             uint32_t ms)
{
    return dk_site_within(box->parts.site, caller, ms);
}

/* To take it away, whatever becomes of the run. */
static struct nt_wait surely(const struct dk_box *box, uint32_t ms)
{
    return dk_site_surely(box->parts.site, ms);
}

/* ---- making it ---- */

static ssize_t stream_read(void *stream, void *bytes, size_t count)
{
    return dk_stream_read(stream, bytes, count);
}

static ssize_t stream_write(void *stream, const void *bytes, size_t count)
{
    return dk_stream_write(stream, bytes, count);
}

static int stream_fd(void *stream)
{
    return dk_stream_fd(stream);
}

static void stream_close(void *stream)
{
    dk_stream_free(stream);
}

static const struct nt_stream_ops stream_ops = {
    .read = stream_read,
    .write = stream_write,
    .poll_fd = stream_fd,
    .close = stream_close,
};

/* Attached before the start, so that nothing that init says is missed. */
static enum nacre_status start(struct dk_box *box, const struct dk_caller *caller,
                               struct nt_stream *ret_stream, struct nacre_error *err)
{
    struct dk_client *client = box->parts.site->client;
    uint32_t within_ms = dk_box_is_gvisor(box) ? GVISOR_START_MS : START_MS;
    struct dk_stream *stream = NULL;
    enum nacre_status status = dk_attach(client, box->id, within(box, caller, START_MS),
                                         &stream, err);

    if (status != NACRE_OK)
        return status;
    box->started_s = nacre_clock_wall_ms() / 1000;
    status = dk_container_start(client, box->id, within(box, caller, within_ms), err);
    if (status == NACRE_OK && dk_box_is_gvisor(box))
        status = dk_group_open(client, box->id, box->parts.site->is_cgroup2,
                               within(box, caller, LOOK_MS), &box->group, err);
    if (status != NACRE_OK) {
        dk_stream_free(stream);
        return status;
    }
    *ret_stream = (struct nt_stream){ &stream_ops, stream };
    return NACRE_OK;
}

/* A name that was given may be taken; who has it is asked, and one of ours that is left
 * over makes room. */
static enum nacre_status create_named(struct dk_box *box, const json_t *body,
                                      const struct dk_box_order *asked,
                                      struct dk_created *ret_created,
                                      struct nacre_error *err)
{
    struct dk_site *site = box->parts.site;
    enum nacre_status status;

    for (int i = 0;; i++) {
        status = dk_container_create(site->client, box->name, body,
                                     within(box, &asked->caller, CREATE_MS), ret_created,
                                     err);
        if (status != NACRE_ERR_USAGE || !asked->name || i == NAME_TRIES)
            return status;
        status = dk_owner_clear_name(site->owner, site->client, box->name,
                                     asked->scope_key ? asked->scope_key : "",
                                     within(box, &asked->caller, END_MS), err);
        if (status != NACRE_OK)
            return status;
    }
}

/* The one thing of nacre's own that every sandbox is given, and the covers: no workspace
 * that somebody has removed meanwhile. */
static bool names_ours(const struct dk_site *site, const char *text)
{
    return strstr(text, site->init_path) || strstr(text, site->covers.file_path) ||
           strstr(text, site->covers.dir_path);
}

/* Creating it was given up, and it may be there all the same, or soon: an engine knows of
 * it only when it is done.  One with a name that was given makes room for the next. */
static void remove_unmade(const struct dk_box *box, const struct dk_box_order *asked)
{
    const struct timespec pause = { .tv_nsec = 20 * (long)NACRE_NS_PER_MS };
    const struct nt_wait wait = surely(box, UNMADE_MS);
    struct dk_site *site = box->parts.site;
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    struct nacre_error ignored;

    while (dk_container_inspect(site->client, box->name, wait, &inspect, &ignored) ==
           NACRE_ERR_NOT_FOUND)
        (void)nanosleep(&pause, NULL);
    if (asked->name) /* it may be another's */
        (void)!dk_owner_clear_name(site->owner, site->client, box->name,
                                   asked->scope_key ? asked->scope_key : "",
                                   surely(box, HURRIED_MS), &ignored);
    else if (dk_container_remove(site->client, box->name, surely(box, HURRIED_MS),
                                 &ignored) != NACRE_OK || !inspect)
        dk_late_add(&site->late, box->name);
}

static enum nacre_status create(struct dk_box *box, const json_t *body,
                                const struct dk_box_order *asked, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    struct dk_client *client = box->parts.site->client;
    struct dk_created created;
    enum nacre_status status = create_named(box, body, asked, &created, err);

    if (status == NACRE_ERR_TIMEOUT || status == NACRE_ERR_IO)
        remove_unmade(box, asked);
    if (status != NACRE_OK && strstr(err->text, "bind source path does not exist")) {
        if (names_ours(box->parts.site, err->text))
            atomic_store(&box->parts.site->is_far, true);
        return nacre_fail_context(err, DK_ELSEWHERE);
    }
    if (status != NACRE_OK)
        return status;
    memcpy(box->id, created.id, sizeof(box->id));
    if (created.warnings[0])
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the engine can't make the container as planned: %.400s",
                          created.warnings);
    status = dk_container_inspect(client, box->id, within(box, &asked->caller, LOOK_MS),
                                  &inspect, err);
    return status == NACRE_OK ? dk_readback(body, inspect, err) : status;
}

/* What init is told, and the filter and the masks that it points to. */
struct told {
    struct init_config config;
    struct nacre_seccomp_program *filter;
    struct init_mask *masks;
    struct nt_door_names names;
};

static void told_clear(struct told *told)
{
    free(told->filter);
    free(told->masks);
    nt_door_names_clear(&told->names);
}

/* Where the kernel of these parts counts kills for memory, and forks that it refused. */
static void set_counters(const struct dk_parts *parts, struct init_config *config)
{
    bool is_v2 = parts->site->is_cgroup2;

    switch (parts->kernel) {
    case DK_KERNEL_GVISOR:
        config->oom_file = config->forks_file = "";
        return;
    case DK_KERNEL_MACHINE:
        config->oom_file = MACHINE_OOM_FILE;
        config->forks_file = MACHINE_FORKS_FILE;
        return;
    case DK_KERNEL_HOSTS:
    case DK_KERNEL_KATA:
        break;
    }
    config->oom_file = is_v2 ? "/sys/fs/cgroup/memory.events"
                             : "/sys/fs/cgroup/memory/memory.oom_control";
    config->forks_file = is_v2 ? "/sys/fs/cgroup/pids.events"
                               : "/sys/fs/cgroup/pids/pids.events";
}

static enum nacre_status tell(const struct dk_parts *parts, const struct dk_report *report,
                              struct told *told, struct nacre_error *err)
{
    const struct dk_binds *binds = &parts->binds;
    char *const *blocked = parts->plan->container.blocked_syscalls;
    bool gvisor = parts->kernel == DK_KERNEL_GVISOR;
    bool once = dk_create_is_once(parts->plan);
    size_t blocked_count = 0;
    enum nacre_status status = NACRE_OK;

    while (blocked && blocked[blocked_count])
        blocked_count++;
    told->filter = calloc(1, sizeof(*told->filter));
    told->masks = calloc(binds->covered_count + 1, sizeof(*told->masks));
    if (!told->filter || !told->masks)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container's configuration");
    if (blocked_count > 0)
        status = nacre_seccomp_blocklist_build((const char *const *)blocked,
                                               blocked_count, told->filter, err);
    for (size_t i = 0; i < binds->covered_count; i++)
        told->masks[i].path = binds->covered[i];
    if (status == NACRE_OK)
        status = nt_door_names_make(parts->plan, &told->names, err);
    told->config = (struct init_config){
        .beat_ms_max = BEAT_MS_MAX,
        .once = once,
        .commands_max = gvisor || once ? 1 : COMMANDS_MAX, /* see run() in dk_box_run.c */
        .capabilities_kept = dk_parts_capabilities(parts),
        .weighed_apart = dk_site_says(parts->site, "CPUShares"),
        .landlock_none = true,
        .filter = told->filter->code,
        .filter_bytes = told->filter->count * sizeof(told->filter->code[0]),
        .masks = told->masks,
        .mask_count = binds->covered_count,
        .carries = nt_door_is_planned(parts->plan),
        .names = (const char *const *)told->names.names,
        .name_count = told->names.count,
        .questions = report->questions,
        .question_count = report->question_count,
    };
    set_counters(parts, &told->config);
    return status;
}

static enum nacre_status boot_words(const struct dk_box *box,
                                    struct dk_machine_words *ret_words,
                                    struct nacre_error *err)
{
    const struct dk_parts *inside = box->parts.inside;
    const struct dk_machine_boot boot = {
        .shares = &inside->binds,
        .ram_bytes = dk_machine_ram(inside->plan),
        .processors = dk_machine_processors(inside->plan, box->parts.kvm),
        .emulated = !box->parts.kvm,
        .processor_khz = dk_machine_khz(),
        .has_disk = true,
    };

    return dk_machine_words_make(&boot, ret_words, err);
}

/* The machine in the container that is there: its own init, its own report. */
static enum nacre_status boot(struct dk_box *box, const struct dk_caller *caller,
                              struct nacre_error *err)
{
    const struct dk_parts *inside = box->parts.inside;
    NACRE_AUTO(dk_report_clear) struct dk_report report = { 0 };
    NACRE_AUTO(told_clear) struct told told = { 0 };
    NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order machine = { 0 };
    NACRE_AUTO(dk_machine_words_clear) struct dk_machine_words words = { 0 };
    struct dk_vm_order order = { .around = box->box, .machine = &machine.machine,
                                 .config = &told.config };
    enum nacre_status status = dk_report_make(inside, &report, err);
    struct dk_caller paused;
    uint64_t since_ns;

    if (status == NACRE_OK)
        status = tell(inside, &report, &told, err);
    if (status == NACRE_OK)
        status = dk_machine_order_make(inside, &machine, err);
    if (status == NACRE_OK)
        status = boot_words(box, &words, err);
    if (status != NACRE_OK)
        return status;
    order.words = (const char *const *)words.items;
    paused = dk_caller_pause(caller, &since_ns);
    order.wait = within(box, &paused, BOOT_MS);
    status = dk_vm_open(&order, &box->vm, err);
    dk_caller_resume(caller, since_ns);
    return status == NACRE_OK
               ? dk_report_judge(&report, inside, NULL, dk_vm_box(box->vm), NULL, err)
               : nacre_fail_context(err, "the machine does not come up");
}

/* Without the engine, where it is on this machine; whether that is permitted is up to the
 * group: a user's containers run as that user. */
static bool may_strike(const struct dk_box *box)
{
    return box->parts.kernel == DK_KERNEL_HOSTS && !box->parts.far;
}

/* When a cover falls off there is no time to ask the engine who is to be killed.  Without
 * it init is asked to. */
static void prepare_end(struct dk_box *box, const struct dk_caller *caller)
{
    const struct dk_site *site = box->parts.site;
    struct nacre_error ignored;

    if (!may_strike(box) || nt_masks_fd(box->parts.binds.masks) <= 0 ||
        dk_group_open(site->client, box->id, site->is_cgroup2,
                      within(box, caller, LOOK_MS), &box->end_group,
                      &ignored) != NACRE_OK ||
        dk_group_may_kill(box->end_group))
        return;
    dk_group_free(box->end_group);
    box->end_group = NULL;
}

/* *ret_again: what init said about the image asks for another container. */
static enum nacre_status meet(struct dk_box *box, const struct dk_caller *caller,
                              bool *ret_again, struct nacre_error *err)
{
    NACRE_AUTO(dk_report_clear) struct dk_report report = { 0 };
    NACRE_AUTO(told_clear) struct told told = { 0 };
    const struct nt_wait run = dk_caller_wait(caller);
    struct nt_stream stream;
    enum nacre_status status = dk_report_make(&box->parts, &report, err);

    if (status == NACRE_OK)
        status = tell(&box->parts, &report, &told, err);
    if (status == NACRE_OK)
        status = start(box, caller, &stream, err);
    if (status == NACRE_OK)
        status = nt_box_open(&stream, &told.config, within(box, caller, REPORT_MS),
                             &box->box, err);
    if (status != NACRE_OK && dk_box_is_gvisor(box))
        status = dk_gvisor_give_up(box->parts.site->client, box->id, box->started_s,
                                   status, err);
    if (status == NACRE_OK)
        status = dk_report_judge(&report, &box->parts, box->id, box->box, box->group,
                                 err);
    if (status == NACRE_OK)
        status = dk_report_learn(&box->parts, box->box, ret_again, err);
    if (status == NACRE_OK) {
        prepare_end(box, caller);
        /* Else one might be kept that lacks it for nothing but the time. */
        if (nt_wait_is_over(&run))
            status = nacre_fail(err, NACRE_ERR_TIMEOUT, "no time was left for a command");
    }
    if (status == NACRE_OK && box->parts.inside)
        status = boot(box, caller, err);
    return status;
}

/* What a container is known by, to people and to whoever cleans up.  Never a secret. */
static enum nacre_status label(json_t *body, const struct dk_box *box,
                               const char *scope_key, struct nacre_error *err)
{
    json_t *labels = json_object_get(body, "Labels");
    char hex[NACRE_HEX], uid[16], created[24];
    const struct {
        const char *key, *value;
    } rows[] = {
        { DK_OWNER_LABEL, uid },
        { DK_TOKEN_LABEL, dk_owner_token(box->parts.site->owner) },
        { DK_SCOPE_LABEL, scope_key ? scope_key : "" },
        { DK_IMAGE_LABEL, dk_parts_inner(&box->parts)->plan->container.image },
        { DK_CONFIG_LABEL, nacre_digest_hex(&box->made_of, hex) },
        { DK_CREATED_LABEL, created },
    };

    (void)snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
    (void)snprintf(created, sizeof(created), "%" PRIu64, nacre_clock_wall_ms());
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (json_object_set_new(labels, rows[i].key, json_string(rows[i].value)) != 0)
            return nacre_fail(err, NACRE_ERR_MEMORY, "a container's labels");
    return NACRE_OK;
}

static enum nacre_status make(struct dk_box *box, const struct dk_box_order *asked,
                              bool *ret_again, struct nacre_error *err)
{
    struct dk_order order = dk_parts_order(&box->parts, NULL);
    NACRE_AUTO(dk_json_guard) json_t *body = dk_create_body(&order);
    enum nacre_status status;

    if (!body)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container");
    status = dk_create_digest(&order, body, &box->made_of, err);
    if (status == NACRE_OK)
        status = label(body, box, asked->scope_key, err);
    if (status != NACRE_OK)
        return status;
    if (asked->name)
        (void)snprintf(box->name, sizeof(box->name), "%s", asked->name);
    else
        dk_owner_name(box->parts.site->owner, box->name);
    status = create(box, body, asked, err);
    return status == NACRE_OK ? meet(box, &asked->caller, ret_again, err) : status;
}

/* If it fails, the engine does it. */
static void strike(const struct dk_box *box)
{
    NACRE_AUTO(dk_group_guard) struct dk_group *group = NULL;
    const struct dk_site *site = box->parts.site;
    const struct nt_wait wait = surely(box, STRIKE_MS);
    struct nacre_error ignored;

    if (!may_strike(box) ||
        dk_group_open(site->client, box->id, site->is_cgroup2, wait, &group,
                      &ignored) != NACRE_OK || !dk_group_may_kill(group))
        return;
    /* A bomb fills up what is killed of it as fast as it is. */
    if (!dk_group_stop_forks(group))
        (void)!dk_container_stop_forks(site->client, box->id, wait, &ignored);
    (void)dk_group_kill(group, box->id, wait);
}

/* The channels first, then the container: a stream that nobody reads blocks the engine. */
static void end(struct dk_box *box)
{
    bool resists = box->id[0] && box->box && nt_box_is_spent(box->box);
    uint32_t ms = atomic_load(&box->hurried) ? HURRIED_MS : END_MS;
    struct dk_site *site = box->parts.site;
    struct nacre_error ignored;

    dk_vm_free(box->vm);
    box->vm = NULL;
    nt_box_free(box->box);
    box->box = NULL;
    dk_group_free(box->group);
    dk_group_free(box->end_group);
    box->group = box->end_group = NULL;
    if (resists)
        strike(box);
    if (box->id[0] && dk_container_remove(site->client, box->id, surely(box, ms),
                                          &ignored) != NACRE_OK)
        dk_late_add(&site->late, box->id);
    box->id[0] = '\0';
}

static enum nacre_status try(struct dk_site *site, const struct dk_box_order *order,
                             struct dk_box *box, struct nacre_error *err)
{
    const struct dk_parts_input input = { .site = site, .plan = order->plan,
                                          .extra = order->extra,
                                          .extra_count = order->extra_count,
                                          .kvm = order->kvm,
                                          .setup = order->setup,
                                          .caller = order->caller };
    enum nacre_status status = dk_parts_open(&input, &box->parts, err);
    struct nt_wait run;
    bool again = false;

    if (status == NACRE_OK)
        status = make(box, order, &again, err);
    if (status == NACRE_OK && again) {
        end(box);
        status = dk_parts_rebind(&box->parts, &order->caller, err);
        if (status == NACRE_OK)
            status = make(box, order, &again, err);
        if (status == NACRE_OK && again)
            status = nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                                "what has to be covered in the sandbox changes while it "
                                "is made: try again");
    }
    run = dk_caller_wait(&order->caller);
    atomic_store(&box->hurried, nt_wait_is_over(&run));
    return status;
}

enum nacre_status dk_box_open(struct dk_site *site, const struct dk_box_order *order,
                              struct dk_box **ret_box, struct nacre_error *err)
{
    NACRE_AUTO(dk_box_guard) struct dk_box *box = calloc(1, sizeof(*box));
    enum nacre_status status;

    if (!box)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container");
    (void)pthread_mutex_init(&box->turn, NULL);
    dk_site_remove_late(site, &order->caller);
    status = try(site, order, box, err);
    /* It was taken for an engine that sees nacre's files, and that is known better now. */
    if (status != NACRE_OK && atomic_load(&site->is_far) && box->parts.site &&
        !box->parts.far && dk_parts_may_be_far(&box->parts)) {
        end(box);
        dk_parts_clear(&box->parts);
        status = try(site, order, box, err);
    }
    if (status != NACRE_OK)
        return status;
    *ret_box = dk_box_take(&box);
    return NACRE_OK;
}

enum nacre_status dk_box_digest(struct dk_site *site, const struct nacre_plan *plan,
                                const struct dk_caller *caller,
                                struct nacre_digest *ret_digest, struct nacre_error *err)
{
    NACRE_AUTO(dk_parts_clear) struct dk_parts parts = { 0 };
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;
    const struct dk_parts_input input = { .site = site, .plan = plan,
                                          .caller = *caller };
    enum nacre_status status = dk_parts_open(&input, &parts, err);
    struct dk_order order;

    if (status != NACRE_OK)
        return status;
    order = dk_parts_order(&parts, NULL);
    body = dk_create_body(&order);
    if (!body)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container");
    return dk_create_digest(&order, body, ret_digest, err);
}

void dk_box_free(struct dk_box *box)
{
    if (!box)
        return;
    end(box);
    dk_parts_clear(&box->parts);
    (void)pthread_mutex_destroy(&box->turn);
    free(box);
}

/* ---- using it ---- */

const char *dk_box_id(const struct dk_box *box)
{
    return box->id;
}

const char *dk_box_name(const struct dk_box *box)
{
    return box->name;
}

const struct nacre_digest *dk_box_made_of(const struct dk_box *box)
{
    return &box->made_of;
}

static bool is_same_place(const struct nacre_open_mount *open)
{
    struct stat held, named;

    return open->fd < 0 ||
           (fstat(open->fd, &held) == 0 && stat(open->mount->host, &named) == 0 &&
            held.st_dev == named.st_dev && held.st_ino == named.st_ino);
}

bool dk_box_is_of(const struct dk_box *box, const struct nacre_plan *plan)
{
    const struct nacre_open_mounts *mounts = box->parts.binds.mounts;

    if (memcmp(&box->parts.plan->digest, &plan->digest, sizeof(plan->digest)) != 0)
        return false;
    for (uint32_t i = 0; i < mounts->count; i++)
        if (!is_same_place(&mounts->items[i]))
            return false;
    return true;
}

void dk_box_kill(struct dk_box *box)
{
    struct nacre_error ignored;

    atomic_store(&box->ended, true);
    nt_box_shut(box->box);
    strike(box);
    /* If that fails, its commands end by their own deadlines. */
    (void)!dk_container_kill(box->parts.site->client, box->id, "KILL",
                             surely(box, END_MS), &ignored);
}

struct nt_box *dk_box_channel(struct dk_box *box)
{
    return box->box;
}

/* Around a machine, QEMU's own thread does it. */
bool dk_box_beat(struct dk_box *box)
{
    return nt_box_beat(dk_box_commands(box));
}

bool dk_box_is_spent(struct dk_box *box)
{
    char reason[128];

    return nt_box_is_spent(box->box) || nt_box_is_spent(dk_box_commands(box)) ||
           nt_masks_changed(box->parts.binds.masks, reason, sizeof(reason));
}
