/* Commands in a sandbox that stands: their words, whose turn it is, the door, the end. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dk_box_made.h"
#include "dk_gvisor.h"
#include "dk_machine.h"
#include "dk_thread.h"
#include "nt_door.h"
#include "nt_start.h"

#define DEFAULTS_MAX 256
/* What init has not ended by then it will hardly end; and to end the container takes as
 * long again, where thousands want the processor. */
#define GRACE_MS 800
#define HALT_MS 1000

static bool is_mounted(const struct nacre_plan *plan, const char *guest)
{
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (strcmp(plan->mounts[i].guest, guest) == 0)
            return true;
    return false;
}

/* Ours, then the policy's; the request's win over both. */
static enum nacre_status words_of(const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nt_words *ret_words, struct nacre_error *err)
{
    const char *defaults[DEFAULTS_MAX + NT_DOOR_VARIABLES + 1] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
        "TMPDIR=/tmp",
        "TERM=dumb",
        is_mounted(plan, "/workspace") ? "HOME=/workspace" : "HOME=/tmp",
    };
    char *const *more = plan->container.environment;
    size_t count = 5;

    for (size_t i = 0; more && more[i]; i++) {
        if (count == DEFAULTS_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d variables of the policy's",
                              DEFAULTS_MAX);
        defaults[count++] = more[i];
    }
    (void)nt_door_variables(plan, defaults, count);
    return nt_words_make(tool, request, defaults, ret_words, err);
}

/* It has not run at all. */
static void missed(const struct nt_wait *wait, const char *when,
                   struct nacre_result *result)
{
    int number = nt_cancelled_by(wait->cancelled, wait->run_cancelled);

    result->outcome = number ? NACRE_OUTCOME_KILLED : NACRE_OUTCOME_TIMED_OUT;
    result->signal = number;
    (void)snprintf(result->reason, sizeof(result->reason), "%s%s",
                   number ? "cancelled" : "its time ran out", when);
}

/* Over its memory gVisor ends as a whole, and the channel breaks; or the kernel takes one
 * of the processes that it works with. */
static enum nacre_status judge_death(const struct dk_box *box, uint64_t kills_before,
                                     enum nacre_status status,
                                     struct nacre_result *result)
{
    bool broke = status == NACRE_ERR_IO;
    bool killed = status == NACRE_OK && result->outcome == NACRE_OUTCOME_KILLED &&
                  result->signal == SIGKILL;

    if ((!broke && !killed) ||
        (!dk_group_ran_out(box->group, kills_before) &&
         !(broke && dk_gvisor_ran_out(box->parts.site->client, box->id, box->started_s))))
        return status;
    result->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
    result->signal = 0;
    result->usage.memory_refused = true;
    /* That is what it was killed at. */
    result->usage.memory_bytes_peak = box->parts.plan->limits.memory_bytes_max;
    (void)snprintf(result->reason, sizeof(result->reason),
                   "the kernel killed %s for memory",
                   broke ? "gVisor, and so the whole sandbox," : "it");
    return NACRE_OK;
}

/* Init that goes is the host's failure, but where somebody ended the sandbox; and gVisor
 * keeps nobody from killing pid 1 of its own user: then that was the guest's end. */
static enum nacre_status judge_init(struct dk_box *box, enum nacre_status status,
                                    struct nacre_result *result)
{
    bool ended = atomic_load(&box->ended);

    if (status != NACRE_ERR_IO ||
        (!ended && (!dk_box_is_gvisor(box) || !nt_box_died(dk_box_commands(box)))))
        return status;
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = SIGKILL;
    (void)snprintf(result->reason, sizeof(result->reason), "%s",
                   ended ? "its sandbox was ended, by nacre session end --force or nacre "
                           "stop"
                         : "init is gone, and with it the sandbox: in gVisor a command "
                           "can kill it");
    return NACRE_OK;
}

/* A machine that ends under a command: how, and whether it was for memory. */
static enum nacre_status judge_machine(const struct dk_box *box, enum nacre_status status,
                                       struct nacre_result *result,
                                       struct nacre_error *err)
{
    bool for_memory = false;

    if (!box->vm || status != NACRE_ERR_IO)
        return status;
    dk_vm_tell_end(box->vm, &for_memory, err);
    if (!for_memory)
        return status;
    result->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
    result->usage.memory_refused = true;
    (void)snprintf(result->reason, sizeof(result->reason),
                   "the kernel killed the whole machine for memory");
    return NACRE_OK;
}

static enum nacre_status run_now(struct dk_box *box, struct nt_door *door,
                                 struct nt_command *command, bool by_turns,
                                 struct nacre_result *result, struct nacre_error *err)
{
    uint64_t kills = box->group ? dk_group_begin(box->group) : 0;
    enum nacre_status status =
        by_turns ? nt_door_run(door, dk_box_commands(box), command, result, result, err)
                 : nt_box_run(dk_box_commands(box), command, result, err);

    status = judge_machine(box, status, result, err);
    if (box->group)
        status = judge_death(box, kills, status, result);
    return judge_init(box, status, result);
}

/*
 * `door` is closed where the plan lets nothing out.
 *
 * Whose a connection is can't be told where two commands run in one network: what one may
 * send is a matter of its own secrets, and what it sent is told with its own result.  So
 * those with a door, or that are dialled, run by turns.  In gVisor all do: what one leaves
 * behind could not be told from another's.
 */
static enum nacre_status run(struct dk_box *box, const struct nacre_plan *plan,
                             const struct dk_caller *caller, struct nt_door *door,
                             struct nt_command *command, struct nacre_result *result,
                             struct nacre_error *err)
{
    const struct nt_wait wait = dk_caller_wait(caller);
    bool by_turns = nt_door_is_planned(plan) || dk_box_is_gvisor(box) ||
                    command->request->dial_fd > 0;
    enum nacre_status status = NACRE_OK;
    uint64_t now;

    if (by_turns && !dk_thread_lock(&box->turn, &wait)) {
        missed(&wait, " while another command of this sandbox had its turn", result);
        return NACRE_OK;
    }
    now = nacre_clock_ns();
    if (now < wait.deadline_ns) {
        command->start.wall_ms_max = (wait.deadline_ns - now) / NACRE_NS_PER_MS + 1;
        status = run_now(box, door, command, by_turns, result, err);
    } else {
        missed(&wait, " before it began", result);
    }
    if (by_turns)
        (void)pthread_mutex_unlock(&box->turn);
    atomic_store(&box->hurried, nt_wait_is_over(&wait));
    return status;
}

/* The group goes when gVisor dies: what it says is looked at while it is there. */
static bool is_disturbed(void *data, char *reason, size_t size)
{
    struct dk_box *box = data;
    bool changed;

    if (box->group)
        dk_group_look(box->group);
    changed = nt_masks_changed(box->parts.binds.masks, reason, size);
    if (changed && box->vm)
        dk_machine_drop_lead(reason);
    return changed;
}

/* Init is in there too, and the rest is killed for it: there is no need to freeze it. */
static void halt(void *data)
{
    const struct dk_box *box = data;

    if (box->end_group)
        (void)dk_group_kill(box->end_group, box->id, dk_within_ms(HALT_MS));
}

enum nacre_status dk_box_run(struct dk_box *box, const struct nacre_plan *plan,
                             const struct nacre_tool *tool,
                             const struct nacre_request *request,
                             const struct dk_caller *caller, struct nacre_result *result,
                             struct nacre_error *err)
{
    NACRE_AUTO(nt_words_clear) struct nt_words words = { 0 };
    NACRE_AUTO(nt_door_close) struct nt_door door = { 0 };
    struct nt_command command = {
        .start = { .directory = plan->directory ? plan->directory : "/",
                   .open_files_max = plan->limits.open_files_max,
                   .processes_max =
                       dk_box_is_gvisor(box) ? plan->limits.processes_max : 0 },
        .grace_ms = box->parts.kernel == DK_KERNEL_HOSTS && !box->vm ? GRACE_MS : 0,
        .output_bytes_max = plan->limits.output_bytes_max,
        .request = request,
        .cancelled = caller->cancelled,
        .disturbed = is_disturbed,
        .disturbed_fd = nt_masks_fd(box->parts.binds.masks),
        .disturbed_data = box,
        .halt = halt,
    };
    enum nacre_status status = words_of(plan, tool, request, &words, err);

    if (status == NACRE_OK)
        status = nt_door_open(box->parts.site->options->doors, plan, tool, request, &door,
                              err);
    if (status != NACRE_OK)
        return status;
    command.start.arguments = words.arguments;
    command.start.environment = words.environment;
    return run(box, plan, caller, &door, &command, result, err);
}
