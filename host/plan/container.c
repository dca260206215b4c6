/*
 * What only a container or a machine has.  The policy is trusted to be what its author
 * wrote, not to be wise: what would open the sandbox is refused by name.  The request
 * names an image.
 */
#include <inttypes.h>
#include <string.h>

#include "container.h"
#include "draft.h"
#include "nacre/text.h"

/* A text of the policy with its rule. */
struct line {
    const char *rule;
    const struct nacre_rule *said;
};

static void refuse(struct draft *draft, const char *rule, size_t item,
                   struct nacre_place place, const char *what, const char *fix)
{
    struct nacre_decision decision = { .place = place };

    nacre_rule_name(decision.rule, rule, item);
    WHAT(&decision, "%s", what);
    FIX(&decision, "%s", fix);
    nacre_draft_refuse(draft, CODE_BAD_CONTAINER, &decision);
}

static void say(struct draft *draft, const char *rule, size_t item,
                struct nacre_place place, const char *what, const char *wall)
{
    struct nacre_decision decision = { .place = place, .verdict = NACRE_VERDICT_GRANT };

    nacre_rule_name(decision.rule, rule, item);
    WHAT(&decision, "%s", what);
    WALL(&decision, wall);
    nacre_draft_add(draft, &decision);
}

/* ---- what can't be kept here ---- */

/* Why a line would be taken and not kept, or NULL; `text` is an entry's. */
static const char *unkept(const struct walls *walls, const char *rule, const char *text)
{
    for (size_t i = 0; i < walls->unkept_count; i++) {
        const struct unkept *row = &walls->unkept[i];

        if (strcmp(row->rule, rule) == 0 &&
            strncmp(text, row->begins, strlen(row->begins)) == 0)
            return row->why;
    }
    return NULL;
}

/* True: it was refused. */
static bool refuse_unkept(struct draft *draft, const char *rule, size_t item,
                          struct nacre_place place, const char *text)
{
    struct nacre_decision decision = { .place = place };
    const char *why = unkept(draft->walls, rule, text);

    if (!why)
        return false;
    nacre_rule_name(decision.rule, rule, item);
    WHAT(&decision, "%s", why);
    FIX(&decision, "%s", draft->walls->unkept_fix);
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
    return true;
}

/* ---- lines with one text ---- */

static void image(struct draft *draft)
{
    const struct nacre_rule *said = &draft->policy->container.image;
    const char *asked = draft->request->image;
    const char *name = asked ? asked : said->text ? said->text : NACRE_DEFAULT_IMAGE;
    char what[256], shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, name);
    if (!nacre_container_is_image(name)) {
        (void)snprintf(what, sizeof(what), "'%s' is not the name of an image", shown);
        refuse(draft, asked ? "request.image" : "container.image", 0,
               asked ? (struct nacre_place){ 0 } : said->place, what,
               "give one like " NACRE_DEFAULT_IMAGE);
        return;
    }
    if (asked && said->text && strcmp(asked, said->text) != 0) {
        (void)snprintf(what, sizeof(what),
                       "the request asks for the image '%s', the policy names another",
                       shown);
        refuse(draft, "container.image", 0, said->place, what,
               "leave --image out, or change the policy's");
        return;
    }
    draft->plan->container.image = nacre_draft_copy(draft, name);
    (void)snprintf(what, sizeof(what), "%s", shown);
    say(draft, asked ? "request.image" : "container.image", 0,
        asked ? (struct nacre_place){ 0 } : said->place, what,
        "by the engine's id; never pulled");
}

/* `feature` is what it takes; 0: the engine always has it. */
static void text_line(struct draft *draft, struct line line, bool good,
                      const char *expected, uint64_t feature, const char *wall,
                      char **ret_text)
{
    char what[256], shown[NACRE_SHOWN];

    if (!line.said->text)
        return;
    (void)nacre_text_shown(shown, line.said->text);
    if (!good) {
        (void)snprintf(what, sizeof(what), "'%s' is refused in any policy", shown);
        refuse(draft, line.rule, 0, line.said->place, what, expected);
        return;
    }
    if (refuse_unkept(draft, line.rule, 0, line.said->place, line.said->text))
        return;
    *ret_text = nacre_draft_copy(draft, line.said->text);
    draft->plan->required |= feature;
    say(draft, line.rule, 0, line.said->place, shown, wall);
}

static void texts(struct draft *draft)
{
    const struct nacre_container_rules *rules = &draft->policy->container;
    struct nacre_container *plan = &draft->plan->container;

    text_line(draft, (struct line){ "container.workdir", &rules->workdir },
              nacre_container_is_place(rules->workdir.text),
              "give an absolute path outside /proc, /sys and /dev", 0,
              "where commands start", &plan->workdir);
    text_line(draft, (struct line){ "container.user", &rules->user },
              nacre_container_is_user(rules->user.text),
              "give UID:GID in digits, as 1000:1000: what a name means, only the image "
              "says",
              0, "read back from inside", &plan->user);
    text_line(draft,
              (struct line){ "container.seccomp_profile", &rules->seccomp_profile },
              nacre_container_is_profile(rules->seccomp_profile.text),
              "remove it: nacre's own is sent; or say docker-default",
              rules->seccomp_profile.text &&
                      strcmp(rules->seccomp_profile.text, "docker-default") == 0
                  ? 0
                  : NACRE_FEATURE_SECCOMP_PROFILE,
              "the engine's profile; nacre's own is installed by init",
              &plan->seccomp_profile);
    text_line(draft,
              (struct line){ "container.apparmor_profile", &rules->apparmor_profile },
              nacre_container_is_profile(rules->apparmor_profile.text),
              "name a profile that confines, or remove the line", NACRE_FEATURE_APPARMOR,
              "AppArmor; label read back from inside", &plan->apparmor_profile);
    text_line(draft, (struct line){ "container.selinux_label", &rules->selinux_label },
              nacre_container_is_profile(rules->selinux_label.text),
              "name a label that confines, or remove the line", NACRE_FEATURE_SELINUX,
              "SELinux; label read back from inside", &plan->selinux_label);
    text_line(draft, (struct line){ "container.setup_command", &rules->setup_command },
              rules->setup_command.text && rules->setup_command.text[0],
              "give a command, or remove the line", 0,
              "once, as root in a container of its own, without workspace and secrets, "
              "with the commands' network; kept as an image",
              &plan->setup_command);
    text_line(draft, (struct line){ "container.cpuset", &rules->cpuset },
              nacre_container_is_cpuset(rules->cpuset.text), "give a list like 0-1,3",
              NACRE_FEATURE_CPUSET, draft->walls->cpuset, &plan->cpuset);
}

/* ---- lines with a number ---- */

static void number_line(struct draft *draft, const char *rule,
                        const struct nacre_limit *limit, uint64_t least, const char *unit,
                        uint64_t feature, const char *wall, uint64_t *ret_number)
{
    struct nacre_decision decision = { .place = limit->place,
                                       .verdict = NACRE_VERDICT_LIMIT };

    if (limit->place.line == 0 || refuse_unkept(draft, rule, 0, limit->place, ""))
        return;
    nacre_rule_name(decision.rule, rule, 0);
    WHAT(&decision, "%" PRIu64 " %s", limit->value, unit);
    WALL(&decision, wall);
    if (limit->value == 0) {
        /* To the engine 0 means "unlimited". */
        refuse(draft, rule, 0, limit->place, "0 would be no limit at all",
               "give a number above 0, or remove the line");
        return;
    }
    if (nacre_draft_refuse_below(draft, rule, limit, least, unit))
        return;
    *ret_number = limit->value;
    draft->plan->required |= feature;
    nacre_draft_add(draft, &decision);
}

/* What has to be bounded where `disk` is: all that a guest can fill, tmpfs aside, which
 * have sizes of their own. */
static uint64_t disk_of(const struct draft *draft)
{
    const struct nacre_request *request = draft->request;
    uint64_t features =
        draft->plan->container.read_only_root ? 0 : NACRE_FEATURE_DISK_OF_ROOT;

    for (uint32_t i = 0; i < draft->plan->mount_count; i++) {
        const struct nacre_mount *mount = &draft->plan->mounts[i];

        if (!mount->host || !mount->writable)
            continue;
        features |= request->workspace_is_own &&
                            strcmp(mount->host, request->workspace) == 0
                        ? NACRE_FEATURE_DISK_OF_SESSION
                        : NACRE_FEATURE_DISK_OF_HOST;
    }
    return features;
}

/* Memory is bounded only where what is swapped out is: whoever asks for the one asks for
 * the other.  A default is enforced where that can be done.  A machine has no swap. */
static void no_swap(struct draft *draft, uint64_t memory)
{
    const struct nacre_limit *asked = &draft->policy->limits.memory_mb;
    struct nacre_decision decision = { .rule = "container.memory_swap",
                                       .place = asked->place,
                                       .verdict = NACRE_VERDICT_LIMIT };

    draft->plan->container.memory_swap_bytes = memory;
    if (!(draft->walls->features & NACRE_FEATURE_SWAP_LIMIT))
        return;
    if (asked->place.line > 0)
        draft->plan->required |= NACRE_FEATURE_SWAP_LIMIT;
    WHAT(&decision, "no swap beyond the memory%s",
         asked->place.line > 0 ? "" : ", where the engine's kernel counts it");
    WALL(&decision, draft->walls->memory);
    nacre_draft_add(draft, &decision);
}

static void numbers(struct draft *draft)
{
    const struct nacre_container_rules *rules = &draft->policy->container;
    struct nacre_container *plan = &draft->plan->container;
    uint64_t memory = draft->policy->limits.memory_mb.value << 20;
    uint64_t disk;

    number_line(draft, "container.memory_swap", &rules->memory_swap, 0,
                "bytes of memory and swap together", NACRE_FEATURE_SWAP_LIMIT,
                draft->walls->memory, &plan->memory_swap_bytes);
    if (rules->memory_swap.place.line == 0)
        no_swap(draft, memory);
    else if (plan->memory_swap_bytes > 0 && plan->memory_swap_bytes < memory)
        refuse(draft, "container.memory_swap", 0, rules->memory_swap.place,
               "memory and swap together are less than the memory",
               "raise it, or remove the line: then there is no swap");
    number_line(draft, "container.memory_reservation", &rules->memory_reservation,
                NACRE_ENGINE_MEMORY_MIN, "bytes of memory reserved",
                NACRE_FEATURE_MEMORY_RESERVATION, draft->walls->memory,
                &plan->memory_reservation_bytes);
    if (plan->memory_reservation_bytes > memory)
        refuse(draft, "container.memory_reservation", 0, rules->memory_reservation.place,
               "more is reserved than there may be", "lower it below memory_mb");
    number_line(draft, "container.cpus", &rules->cpus_nano,
                NACRE_ENGINE_CPUS_NANO_MIN, "billionths of a processor",
                NACRE_FEATURE_CPUS, draft->walls->cpu, &plan->cpus_nano);
    disk = disk_of(draft);
    number_line(draft, "container.disk", &rules->disk_bytes, 0, "bytes on disk", disk,
                disk & NACRE_FEATURE_DISK_OF_SESSION ? draft->walls->disk_of_session
                                                     : draft->walls->disk,
                &plan->disk_bytes);
    number_line(draft, "container.disk_iops", &rules->disk_iops, 0, "disk operations/s",
                NACRE_FEATURE_DISK_IOPS,
                "io.max of the container's cgroup, for reads and for writes of each "
                "disk; read back", &plan->disk_iops);
    number_line(draft, "container.disk_io_weight", &rules->disk_io_weight, 0,
                "of disk weight", NACRE_FEATURE_DISK_IO_WEIGHT,
                "io.bfq.weight of the container's cgroup; read back",
                &plan->disk_io_weight);
}

/* ---- lists ---- */

static void list(struct draft *draft, const struct nacre_container_list *kind,
                 const struct nacre_rules *rules, char ***ret_texts)
{
    size_t used = 0;

    *ret_texts = calloc(rules->count + 1, sizeof(**ret_texts));
    if (!*ret_texts) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan");
        return;
    }
    for (size_t i = 0; i < rules->count && draft->status == NACRE_OK; i++) {
        char text[NACRE_CONTAINER_TEXT], what[256], shown[NACRE_SHOWN];
        const char *wrong = kind->read(rules->items[i].text, text);

        (void)nacre_text_shown(shown, rules->items[i].text);
        if (wrong) {
            (void)snprintf(what, sizeof(what), "'%s' %s", shown, wrong);
            refuse(draft, kind->rule, i + 1, rules->items[i].place, what, kind->fix);
            continue;
        }
        if (refuse_unkept(draft, kind->rule, i + 1, rules->items[i].place,
                          rules->items[i].text))
            continue;
        (*ret_texts)[used++] = nacre_draft_copy(draft, text);
        say(draft, kind->rule, i + 1, rules->items[i].place,
            nacre_text_shown(shown, text), kind->wall);
    }
}

bool nacre_draft_has_own_tmp(const struct draft *draft)
{
    const struct nacre_rules *tmpfs = &draft->policy->container.tmpfs;

    if (!nacre_level_is_native(draft->policy->level) || draft->plan->full_tree)
        return false;
    for (size_t i = 0; i < tmpfs->count; i++)
        if (strcmp(tmpfs->items[i].text, "/tmp") == 0 ||
            strncmp(tmpfs->items[i].text, "/tmp:", 5) == 0)
            return false;
    for (uint32_t i = 0; i < draft->plan->mount_count; i++)
        if (strcmp(draft->plan->mounts[i].guest, "/tmp") == 0)
            return false;
    return true;
}

static void lists(struct draft *draft)
{
    const struct nacre_container_rules *rules = &draft->policy->container;
    struct nacre_container *plan = &draft->plan->container;
    struct nacre_decision note = { .rule = "container.keep_capabilities",
                                   .place = rules->keep_capabilities.place,
                                   .verdict = NACRE_VERDICT_NOTE };
    bool root = rules->user.text && strncmp(rules->user.text, "0", 1) == 0;

    list(draft, &nacre_container_tmpfs, &rules->tmpfs, &plan->tmpfs);
    list(draft, &nacre_container_capabilities, &rules->keep_capabilities,
         &plan->keep_capabilities);
    list(draft, &nacre_container_syscalls, &rules->blocked_syscalls,
         &plan->blocked_syscalls);
    list(draft, &nacre_container_environment, &rules->environment,
         &plan->environment);
    list(draft, &nacre_container_ulimits, &rules->ulimits, &plan->ulimits);
    if (rules->keep_capabilities.count == 0)
        return;
    WHAT(&note, "%s", root ? "for user 0: in force"
                           : "no effect for a user other than 0: the kernel drops them "
                             "at exec");
    nacre_draft_add(draft, &note);
}

static void root(struct draft *draft)
{
    const struct nacre_flag *said = &draft->policy->container.read_only_root;
    enum nacre_filesystem_mode mode = draft->policy->filesystem.mode;
    bool full = mode == NACRE_FILESYSTEM_FULL;
    bool writes = full || mode == NACRE_FILESYSTEM_SCOPED;

    draft->plan->container.read_only_root = said->place.line > 0 ? said->on : !full;
    if (said->place.line == 0)
        return;
    if (full && said->on) {
        refuse(draft, "container.read_only_root", 0, said->place,
               "a read-only root, and the mode of the files is full",
               "remove one of the two");
        return;
    }
    if (!said->on && !writes) {
        refuse(draft, "container.read_only_root", 0, said->place,
               "a writable root, and the mode of the files grants no writing",
               "remove this line, or change the mode to 'scoped'");
        return;
    }
    say(draft, "container.read_only_root", 0, said->place, said->on ? "true" : "false",
        "flags of the mount read back from inside");
}

/* No line of a policy says it, so that none is named. */
static void namespaces(struct draft *draft)
{
    if (!draft->policy->user_namespaces)
        return;
    draft->plan->container.user_namespaces = true;
    say(draft, "container.user_namespaces", 0, draft->policy->level_place,
        "a browser may make namespaces for its own sandbox",
        "the browser's seccomp table, by the engine and by init");
}

/* ---- at another level ---- */

static void refuse_here(struct draft *draft, const char *rule, struct nacre_place place)
{
    struct nacre_decision decision = { .place = place };

    nacre_rule_name(decision.rule, rule, 0);
    WHAT(&decision, "holds at levels container and vm alone, and this is level %s",
         nacre_level_name(draft->policy->level));
    FIX(&decision, "remove this line, or change the level to 'container'");
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
}

/* Not one of these lines could hold there, and none is passed over in silence. */
static void refuse_all(struct draft *draft)
{
    const struct nacre_container_rules *rules = &draft->policy->container;
    const struct {
        const char *rule;
        struct nacre_place place;
    } lines[] = {
        { "container.image", rules->image.place },
        { "container.workdir", rules->workdir.place },
        { "container.user", rules->user.place },
        { "container.seccomp_profile", rules->seccomp_profile.place },
        { "container.apparmor_profile", rules->apparmor_profile.place },
        { "container.selinux_label", rules->selinux_label.place },
        { "container.setup_command", rules->setup_command.place },
        { "container.cpuset", rules->cpuset.place },
        { "container.tmpfs", rules->tmpfs.place },
        { "container.keep_capabilities", rules->keep_capabilities.place },
        { "container.blocked_syscalls", rules->blocked_syscalls.place },
        { "container.environment", rules->environment.place },
        { "container.ulimits", rules->ulimits.place },
        { "container.read_only_root", rules->read_only_root.place },
        { "container.memory_swap", rules->memory_swap.place },
        { "container.memory_reservation", rules->memory_reservation.place },
        { "container.cpus", rules->cpus_nano.place },
        { "container.disk", rules->disk_bytes.place },
        { "container.disk_iops", rules->disk_iops.place },
        { "container.disk_io_weight", rules->disk_io_weight.place },
    };

    for (size_t i = 0; i < NACRE_COUNT(lines); i++)
        if (lines[i].place.line > 0)
            refuse_here(draft, lines[i].rule, lines[i].place);
    if (draft->policy->user_namespaces)
        refuse_here(draft, "container.user_namespaces", draft->policy->level_place);
}

void nacre_draft_container(struct draft *draft)
{
    if (!nacre_level_has_image(draft->policy->level)) {
        refuse_all(draft);
        return;
    }
    image(draft);
    texts(draft);
    root(draft);
    namespaces(draft);
    numbers(draft);
    lists(draft);
}

/* ---- does it fit? ---- */

#define DISK_FEATURES                                            \
    (NACRE_FEATURE_DISK_OF_ROOT | NACRE_FEATURE_DISK_OF_SESSION | \
     NACRE_FEATURE_DISK_OF_HOST)

static bool is_private(const struct nacre_plan *plan, const char *path, size_t length)
{
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (!plan->mounts[i].host && strlen(plan->mounts[i].guest) == length &&
            strncmp(plan->mounts[i].guest, path, length) == 0)
            return true;
    return false;
}

/* Of the policy's tmpfs, shared memory and a run's own files, the sum; where a private
 * directory lies there is none. */
static uint64_t tmpfs_bytes(const struct nacre_plan *plan)
{
    uint64_t sum = plan->shared_memory ? nacre_plan_shared_bytes(plan) : 0;

    for (char *const *text = plan->container.tmpfs; *text; text++)
        if (!is_private(plan, *text, strcspn(*text, ":")))
            sum += nacre_tmpfs_bytes(*text);
    sum += plan->injection == NACRE_INJECTION_FILE_MOUNT ? NACRE_FILES_BYTES : 0;
    sum += nacre_egress_intercepts(&plan->egress) ? NACRE_FILES_BYTES : 0;
    return sum;
}

/* Each private directory has a page at least: 0 would be no limit. */
static bool is_overfull(const struct nacre_plan *plan, uint64_t tmpfs_sum)
{
    uint64_t disk = plan->container.disk_bytes;

    return tmpfs_sum > disk ||
           disk - tmpfs_sum < nacre_plan_private_count(plan) * NACRE_PAGE_BYTES;
}

static void refuse_disk(struct draft *draft, const struct nacre_rules *tmpfs,
                        uint64_t tmpfs_sum)
{
    uint64_t disk = draft->plan->container.disk_bytes;
    int line = tmpfs->count > 0 ? tmpfs->items[0].place.line : 0;
    struct nacre_decision decision = {
        .rule = "container.disk", .place = draft->policy->container.disk_bytes.place,
    };
    char where[32] = "";

    if (line > 0)
        (void)snprintf(where, sizeof(where), " (line %d)", line);
    if (is_overfull(draft->plan, tmpfs_sum)) {
        WHAT(&decision, "%" PRIu64 " bytes on disk, and the tmpfs%s take %" PRIu64
                        " with shared memory and a run's own files",
             disk, where, tmpfs_sum);
        FIX(&decision, "lower their sizes, or raise disk");
    } else {
        WHAT(&decision, "%" PRIu64 " bytes on disk: the root is writable, and workspace, "
                        "private directories and tmpfs%s take all of it", disk, where);
        FIX(&decision, "make the root read-only, remove it, or give --waive disk");
    }
    nacre_draft_refuse(draft, CODE_BAD_CONTAINER, &decision);
}

void nacre_draft_disk(struct draft *draft)
{
    const struct nacre_plan *plan = draft->plan;
    uint64_t disk = plan->container.disk_bytes, sum;
    bool has_own = false;

    if (disk == 0 || plan->waivable & DISK_FEATURES || !plan->container.tmpfs)
        return;
    sum = tmpfs_bytes(plan);
    for (uint32_t i = 0; i < plan->mount_count; i++)
        has_own |= plan->mounts[i].host && plan->mounts[i].writable;
    if (is_overfull(plan, sum) ||
        (!plan->container.read_only_root &&
         (has_own || sum == disk || (nacre_plan_private_count(plan) > 0 &&
                                     plan->limits.scratch_bytes_max >= disk - sum))))
        refuse_disk(draft, &draft->policy->container.tmpfs, sum);
}
