#include <assert.h>
#include <inttypes.h>

#include "draft.h"

#define MIB ((uint64_t)1 << 20)
#define SCRATCH_BYTES_MAX (256 * MIB)
#define SCRATCH_FILES_MAX 16384

/* Bulk operations burn about 8 G a second (measured), so that an honest tool meets
 * its deadline first. */
#define FUEL_PER_SECOND UINT64_C(20000000000)

static void cpu_shares(struct draft *draft)
{
    const struct nacre_limit *shares = &draft->policy->limits.cpu_shares;
    bool low = draft->walls->features & NACRE_FEATURE_CPU_SHARES_LOW;
    struct nacre_decision decision = {
        .rule = "resource_limits.cpu_shares",
        .place = shares->place,
        .verdict = NACRE_VERDICT_LIMIT,
    };

    if (shares->place.line == 0) {
        decision.verdict = NACRE_VERDICT_NOTE;
        WHAT(&decision, "not set: an ordinary share");
        nacre_draft_add(draft, &decision);
        return;
    }
    draft->plan->limits.cpu_shares = shares->value;
    /* nice, which the wasm level has, only lowers: more takes a cgroup. */
    draft->plan->required |= low && shares->value <= 1024 ? NACRE_FEATURE_CPU_SHARES_LOW
                                                          : NACRE_FEATURE_CPU_SHARES_ANY;
    WALL(&decision, shares->value > 1024 ? draft->walls->cpu_more : draft->walls->cpu);
    WHAT(&decision, "%" PRIu64 " where 1024 is an ordinary share", shares->value);
    nacre_draft_add(draft, &decision);
}

static void timeout(struct draft *draft)
{
    const struct nacre_limit *limit = &draft->policy->limits.timeout_ms;
    uint64_t asked = draft->request->timeout_ms;
    struct nacre_decision decision = {
        .rule = "resource_limits.timeout_ms",
        .place = limit->place,
        .verdict = NACRE_VERDICT_LIMIT,
    };

    WALL(&decision, draft->walls->time);
    draft->plan->limits.wall_ms_max = limit->value;
    /* Deny rather than clamp: a tool given less than it asked for fails later and
     * elsewhere, where nobody can tell why. */
    if (asked > limit->value) {
        (void)snprintf(decision.what, sizeof(decision.what),
                       "the request asks for a timeout of %" PRIu64 " ms, the %s allows "
                       "%" PRIu64 " ms", asked, limit->place.line ? "policy" : "default",
                       limit->value);
        if (limit->place.line)
            (void)snprintf(decision.fix, sizeof(decision.fix),
                           "change '%" PRIu64 "' to '%" PRIu64 "', or ask for less",
                           limit->value, asked);
        else
            (void)snprintf(decision.fix, sizeof(decision.fix),
                           "add under spec.resource_limits: timeout_ms: %" PRIu64
                           ", or ask for less", asked);
        nacre_draft_refuse(draft, CODE_OVER_LIMIT, &decision);
        return;
    }
    if (asked > 0) {
        draft->plan->limits.wall_ms_max = asked;
        (void)snprintf(decision.what, sizeof(decision.what),
                       "%" PRIu64 " ms of wall time, as asked for, of %" PRIu64, asked,
                       limit->value);
    } else {
        WHAT(&decision, "%" PRIu64 " %s", limit->value, draft->walls->time_unit);
    }
    nacre_draft_add(draft, &decision);
}

static void fuel(struct draft *draft)
{
    struct nacre_limits *limits = &draft->plan->limits;
    uint64_t seconds = limits->wall_ms_max / 1000 + (limits->wall_ms_max % 1000 != 0);
    struct nacre_decision decision = {
        .rule = "fuel",
        .verdict = NACRE_VERDICT_LIMIT,
        .mechanism = "counted by the engine at every block of code",
    };

    limits->fuel_exact = draft->request->fuel > 0;
    if (limits->fuel_exact)
        nacre_rule_name(decision.rule, "request.fuel", 0);
    limits->fuel_max = limits->fuel_exact ? draft->request->fuel
                                          : FUEL_PER_SECOND * seconds;
    (void)snprintf(decision.what, sizeof(decision.what), "%" PRIu64 " units, %s",
                   limits->fuel_max,
                   limits->fuel_exact ? "the request's own budget"
                                      : "so many that the timeout comes first");
    nacre_draft_add(draft, &decision);
}

static void scratch(struct draft *draft)
{
    const struct walls *walls = draft->walls;
    struct nacre_decision decision = { .rule = "scratch",
                                       .verdict = NACRE_VERDICT_LIMIT };
    /* At level process /dev/shm lies in the same tmpfs as any other. */
    bool shares = draft->policy->level == NACRE_LEVEL_PROCESS &&
                  draft->plan->shared_memory;
    uint64_t count = nacre_plan_private_count(draft->plan) + shares;
    uint64_t parts = walls->scratch_in_parts && count > 0 ? count : 1;
    char files[64];

    if (!walls->scratch)
        return;
    draft->plan->limits.scratch_bytes_max = SCRATCH_BYTES_MAX;
    draft->plan->limits.scratch_files_max = SCRATCH_FILES_MAX;
    (void)snprintf(files, sizeof(files), " and %" PRIu64 " files",
                   SCRATCH_FILES_MAX / parts);
    WHAT(&decision, "%" PRIu64 " MiB%s in %s%s", SCRATCH_BYTES_MAX / MIB / parts,
         walls->scratch_files_uncounted ? "" : files,
         parts > 1 ? "each private directory" : "private directories together",
         walls->scratch_files_uncounted ? "; gVisor counts no files" : "");
    WALL(&decision, walls->scratch);
    if (count > 0)
        nacre_draft_add(draft, &decision);
}

/* `feature` is what it takes where the policy asks for it; 0: every plan of the level
 * requires it.  Below `least` it is refused. */
static void plain_limit(struct draft *draft, const char *key,
                        const struct nacre_limit *limit, uint64_t least, const char *unit,
                        const char *wall, uint64_t feature)
{
    struct nacre_decision decision = { .place = limit->place,
                                       .verdict = NACRE_VERDICT_LIMIT };

    assert(limit->value > 0);
    if (nacre_draft_refuse_below(draft, key, limit, least, unit))
        return;
    nacre_rule_name(decision.rule, key, 0);
    WHAT(&decision, "%" PRIu64 " %s", limit->value, unit);
    WALL(&decision, wall);
    if (limit->place.line > 0) {
        draft->plan->required |= feature;
    } else if (!wall[0]) {
        decision.verdict = NACRE_VERDICT_NOTE;
        WHAT(&decision, "not enforced at level %s",
             nacre_level_name(draft->policy->level));
    }
    nacre_draft_add(draft, &decision);
}

void nacre_draft_limits(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct walls *walls = draft->walls;
    struct nacre_limits *limits = &draft->plan->limits;

    limits->memory_bytes_max = policy->limits.memory_mb.value * MIB;
    limits->memory_asked = policy->limits.memory_mb.place.line > 0;
    limits->processes_max = policy->limits.max_processes.value;
    limits->processes_asked = policy->limits.max_processes.place.line > 0;
    limits->open_files_max = policy->limits.max_open_files.value;
    limits->output_bytes_max = policy->limits.max_output_bytes.value;

    plain_limit(draft, "resource_limits.memory_mb", &policy->limits.memory_mb,
                walls->memory_mb_min,
                limits->memory_asked || !walls->memory_default_unit
                    ? walls->memory_unit
                    : walls->memory_default_unit,
                limits->memory_asked ? walls->memory : walls->memory_default,
                NACRE_FEATURE_MEMORY_LIMIT);
    cpu_shares(draft);
    plain_limit(draft, "resource_limits.max_processes", &policy->limits.max_processes,
                0, walls->processes_unit, walls->processes, NACRE_FEATURE_PROCESSES);
    plain_limit(draft, "resource_limits.max_open_files", &policy->limits.max_open_files,
                walls->open_files_min, walls->open_files_unit, walls->open_files, 0);
    timeout(draft);
    plain_limit(draft, "resource_limits.max_output_bytes",
                &policy->limits.max_output_bytes, 0, "bytes of stdout and stderr together",
                walls->output, 0);
    if (!nacre_level_is_native(policy->level))
        fuel(draft);
    scratch(draft);
}
