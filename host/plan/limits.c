#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

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
    struct nacre_decision decision = {
        .rule = "resource_limits.cpu_shares",
        .place = shares->place,
        .verdict = NACRE_VERDICT_LIMIT,
        .mechanism = "cgroup weight, or nice",
    };

    if (shares->place.line == 0) {
        decision.verdict = NACRE_VERDICT_NOTE;
        decision.mechanism[0] = '\0';
        (void)snprintf(decision.what, sizeof(decision.what),
                       "not set: an ordinary share");
        nacre_draft_add(draft, &decision);
        return;
    }
    draft->plan->limits.cpu_shares = shares->value;
    draft->plan->required |= shares->value <= 1024 ? NACRE_FEATURE_CPU_SHARES_LOW
                                                   : NACRE_FEATURE_CPU_SHARES_ANY;
    /* nice only lowers: more than the ordinary share takes a cgroup. */
    if (shares->value > 1024)
        (void)snprintf(decision.mechanism, sizeof(decision.mechanism), "cgroup weight");
    (void)snprintf(decision.what, sizeof(decision.what),
                   "%" PRIu64 " where 1024 is an ordinary share", shares->value);
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
        .mechanism = "supervisor's deadline: epoch interrupt, SIGKILL at +150 ms",
    };

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
        (void)snprintf(decision.what, sizeof(decision.what),
                       "%" PRIu64 " ms of wall time, compilation included", limit->value);
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
    static const struct nacre_decision decision = {
        .rule = "scratch",
        .verdict = NACRE_VERDICT_LIMIT,
        .what = "256 MiB and 16384 files in private directories together",
        .mechanism = "counted in the shim",
    };
    bool private = false;

    draft->plan->limits.scratch_bytes_max = SCRATCH_BYTES_MAX;
    draft->plan->limits.scratch_files_max = SCRATCH_FILES_MAX;
    for (uint32_t i = 0; i < draft->plan->mount_count; i++)
        private |= !draft->plan->mounts[i].host;
    if (private)
        nacre_draft_add(draft, &decision);
}

static void plain_limit(struct draft *draft, const char *key,
                        const struct nacre_limit *limit, const char *unit,
                        const char *mechanism)
{
    struct nacre_decision decision = { .place = limit->place,
                                       .verdict = NACRE_VERDICT_LIMIT };

    assert(limit->value > 0);
    nacre_rule_name(decision.rule, key, 0);
    (void)snprintf(decision.what, sizeof(decision.what), "%" PRIu64 " %s", limit->value,
                   unit);
    (void)snprintf(decision.mechanism, sizeof(decision.mechanism), "%s", mechanism);
    nacre_draft_add(draft, &decision);
}

void nacre_draft_limits(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    struct nacre_limits *limits = &draft->plan->limits;

    limits->memory_bytes_max = policy->limits.memory_mb.value * MIB;
    limits->processes_max = policy->limits.max_processes.value;
    limits->open_files_max = policy->limits.max_open_files.value;
    limits->output_bytes_max = policy->limits.max_output_bytes.value;

    plain_limit(draft, "resource_limits.memory_mb", &policy->limits.memory_mb,
                "MiB of memory and tables together",
                "the engine's memory comes from nacre's own allocator: exact sum; "
                "RLIMIT_DATA beneath");
    cpu_shares(draft);
    plain_limit(draft, "resource_limits.max_processes", &policy->limits.max_processes,
                policy->level == NACRE_LEVEL_WASM
                    ? "processes: a wasm guest can start none"
                    : "processes",
                "holds by nature; seccomp refuses fork and exec");
    plain_limit(draft, "resource_limits.max_open_files", &policy->limits.max_open_files,
                "open files beyond stdio and mounts", "counted in the shim's fd table");
    timeout(draft);
    plain_limit(draft, "resource_limits.max_output_bytes",
                &policy->limits.max_output_bytes, "bytes of stdout and stderr together",
                "counted in the shim, cut at the byte");
    fuel(draft);
    scratch(draft);
}
