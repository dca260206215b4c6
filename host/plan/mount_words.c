/* What a person reads about each fate of a mount. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "mounts.h"
#include "nacre/path.h"
#include "nacre/text.h"

void nacre_mount_fix(const struct nacre_policy *policy, const char *path, bool writable,
                     char *ret_fix, size_t size)
{
    char word[NACRE_YAML_WORD];
    const char *permissions = writable ? "rw" : "ro";

    if (policy->filesystem.mounts.place.line > 0)
        (void)snprintf(ret_fix, size,
                       "add under spec." RULE_MOUNTS ": - {path: %s, permissions: %s}",
                       nacre_yaml_word(word, path), permissions);
    else
        (void)snprintf(ret_fix, size,
                       "add under spec.capabilities.filesystem: mount_paths: [{path: %s, "
                       "permissions: %s}]",
                       nacre_yaml_word(word, path), permissions);
}

static void say_mount(const struct nacre_policy *policy,
                      const struct candidate *candidate, struct nacre_decision *decision)
{
    bool narrowed = policy->filesystem.mode == NACRE_FILESYSTEM_READ_ONLY &&
                    candidate->item > 0 &&
                    policy->filesystem.mounts.items[candidate->item - 1].writable;
    const char *access = candidate->writable ? "read-write" : "read-only";
    char guest[NACRE_SHOWN], host[NACRE_SHOWN];

    decision->verdict = NACRE_VERDICT_GRANT;
    (void)nacre_text_shown(guest, candidate->guest);
    if (candidate->fate == FATE_TREE)
        WHAT(decision, "%s %s as a part of the whole tree", guest, access);
    else if (candidate->own)
        WHAT(decision, "%s %s, private to the scope: the same at every level, kept until "
                       "its end, of no fixed size%s", guest, access,
             narrowed ? " (mode is read-only)" : "");
    else if (candidate->host)
        WHAT(decision, "%s %s from %s%s", guest, access,
             nacre_text_shown(host, candidate->host),
             narrowed ? " (mode is read-only)" : "");
    else
        WHAT(decision, "%s %s, private: new with the sandbox, gone with it%s", guest,
             access, narrowed ? " (mode is read-only)" : "");
}

static const char *say_mode_denies(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN], add[192] = "";

    decision->verdict = NACRE_VERDICT_DENY;
    if (candidate->item == 0)
        nacre_mount_fix(policy, candidate->guest, candidate->mode == 'w', add,
                        sizeof(add));
    (void)nacre_text_shown(guest, candidate->guest);
    WHAT(decision, "%s%s: not granted: mode is deny",
         candidate->asked ? "mount request " : "", guest);
    if (policy->filesystem.mode_place.line > 0)
        FIX(decision, "line %d: change 'deny' to 'scoped'%s%s",
            policy->filesystem.mode_place.line, add[0] ? "; " : "", add);
    else
        FIX(decision, "add under spec.capabilities.filesystem: mode: scoped%s%s",
            add[0] ? "; " : "", add);
    if (!candidate->asked)
        return NULL;
    nacre_rule_name(decision->rule, RULE_FS_MODE, 0);
    decision->place = policy->filesystem.mode_place;
    return CODE_NOT_COVERED;
}

static const char *say_denied_path(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *decision)
{
    const struct nacre_rule *denied =
        &policy->filesystem.denied_paths.items[candidate->denied_by - 1];
    char guest[NACRE_SHOWN], path[NACRE_SHOWN];

    decision->verdict = NACRE_VERDICT_DENY;
    (void)nacre_text_shown(guest, candidate->guest);
    (void)nacre_text_shown(path, denied->text);
    WHAT(decision, "%s%s: %s at or below the denied path %s",
         candidate->asked ? "mount request " : "", guest,
         nacre_path_is_below(candidate->guest, denied->text, NULL) ? "it is"
                                                                   : "its directory is",
         path);
    FIX(decision, "remove '%s' from denied_paths (line %d)", path, denied->place.line);
    if (!candidate->asked)
        return NULL;
    nacre_rule_name(decision->rule, RULE_DENIED, candidate->denied_by);
    decision->place = denied->place;
    return CODE_DENIED_PATH;
}

static const char *say_over_grant(const struct nacre_policy *policy,
                                  const struct candidate *candidate,
                                  struct nacre_decision *decision)
{
    const struct nacre_mount_rule *rule =
        candidate->item > 0 ? &policy->filesystem.mounts.items[candidate->item - 1]
                            : NULL;
    char guest[NACRE_SHOWN];
    char more[192] = "";

    (void)nacre_text_shown(guest, candidate->guest);
    if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_SCOPED) {
        decision->place = rule->permissions_place;
        WHAT(decision, "mount request %s asks for writing, the policy grants ro", guest);
        FIX(decision, "change 'ro' to 'rw'");
        return CODE_OVER_GRANT;
    }
    nacre_rule_name(decision->rule, RULE_FS_MODE, 0);
    decision->place = policy->filesystem.mode_place;
    if (!rule)
        nacre_mount_fix(policy, candidate->guest, true, more, sizeof(more));
    else if (!rule->writable)
        (void)snprintf(more, sizeof(more), "line %d: change 'ro' to 'rw'",
                       rule->permissions_place.line);
    WHAT(decision, "mount request %s asks for writing, mode read-only grants none",
         guest);
    FIX(decision, "change 'read-only' to 'scoped'%s%s", more[0] ? "; " : "", more);
    return CODE_OVER_GRANT;
}

static const char *say_not_covered(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN];

    nacre_rule_name(decision->rule, RULE_MOUNTS, 0);
    decision->place = policy->filesystem.mounts.place.line > 0
                          ? policy->filesystem.mounts.place
                          : policy->filesystem.mode_place;
    WHAT(decision, "mount request %s: no line of mount_paths is at or above it",
         nacre_text_shown(guest, candidate->guest));
    nacre_mount_fix(policy, candidate->guest, candidate->mode == 'w', decision->fix,
                    sizeof(decision->fix));
    return CODE_NOT_COVERED;
}

static const char *say_bad_request(const struct candidate *candidate,
                                   struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN], host[NACRE_SHOWN];

    nacre_rule_name(decision->rule, RULE_ASKED_MOUNTS, 0);
    decision->place = (struct nacre_place){ 0 };
    (void)nacre_text_shown(guest, candidate->guest);
    (void)nacre_text_shown(host, candidate->host);
    if (candidate->fate == FATE_DUPLICATE) {
        WHAT(decision, "mount request %s comes twice", guest);
        FIX(decision, "keep one of the two");
        return CODE_DUPLICATE;
    }
    if (candidate->host[0] != '/') {
        WHAT(decision, "mount request %s from '%s': not an absolute path on the host",
             guest, host);
        FIX(decision, "give its whole path, from / on");
    } else {
        WHAT(decision, "mount request '%s' from '%s': empty, too long or climbing",
             guest, host);
        FIX(decision, "give a name that stays below where it starts");
    }
    return CODE_BAD_MOUNT;
}

static const char *say_contradicts(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN];

    decision->place =
        policy->filesystem.mounts.items[candidate->item - 1].permissions_place;
    WHAT(decision,
         "%s read-only in mode full: the whole tree is writable, the line would not hold",
         nacre_text_shown(guest, candidate->guest));
    FIX(decision, "change 'ro' to 'rw', or the mode 'full' to 'scoped'");
    return CODE_NOT_ENFORCEABLE;
}

static const char *say_unmapped(const struct candidate *candidate,
                                struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN];

    (void)nacre_text_shown(guest, candidate->guest);
    WHAT(decision, "%s is relative and no mount request says where it lies", guest);
    FIX(decision, "ask for a mount: --mount %s=DIR", guest);
    return CODE_UNMAPPED;
}

static const char *say_relative(const struct nacre_policy *policy,
                                const struct candidate *candidate,
                                struct nacre_decision *decision)
{
    char guest[NACRE_SHOWN];

    if (candidate->asked && candidate->item == 0) {
        nacre_rule_name(decision->rule, RULE_ASKED_MOUNTS, 0);
        decision->place = (struct nacre_place){ 0 };
    }
    (void)nacre_text_shown(guest, candidate->guest);
    WHAT(decision, "%s is relative, and at level %s there is no place for it", guest,
         nacre_level_name(policy->level));
    FIX(decision, "give it as an absolute path: /workspace/%s", guest);
    return CODE_BAD_MOUNT;
}

static const char *say_bad_bind(const struct candidate *candidate,
                                struct nacre_decision *decision)
{
    const struct nacre_bind_refusal *refusal = &candidate->refusal;
    char guest[NACRE_SHOWN], host[NACRE_SHOWN];

    (void)nacre_text_shown(guest, candidate->guest);
    if (candidate->fate == FATE_BAD_TARGET) {
        WHAT(decision, "%s: nothing is mounted over %s: %s", guest, refusal->what,
             refusal->why);
        FIX(decision, "mount it elsewhere, as /workspace or /data");
        return CODE_BAD_BIND;
    }
    (void)nacre_text_shown(host, candidate->host);
    WHAT(decision, "%s from %s: it %s %s: %s", guest, host,
         refusal->is_above ? "would bring along" : "is, or lies in,", refusal->what,
         refusal->why);
    FIX(decision, "mount a directory that holds only what the tool needs");
    return CODE_BAD_BIND;
}

const char *nacre_candidate_decide(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *ret_decision)
{
    struct nacre_decision *decision = ret_decision;

    *decision = (struct nacre_decision){
        .verdict = NACRE_VERDICT_REFUSE,
        .place = candidate->item > 0
                     ? policy->filesystem.mounts.items[candidate->item - 1].place
                     : policy->filesystem.mode_place,
    };
    nacre_rule_name(decision->rule, candidate->item > 0 ? RULE_MOUNTS : RULE_FS_MODE,
                    candidate->item);
    switch (candidate->fate) {
    case FATE_MOUNT:
    case FATE_TREE:
        say_mount(policy, candidate, decision);
        return NULL;
    case FATE_MODE_DENIES:
        return say_mode_denies(policy, candidate, decision);
    case FATE_DENIED_PATH:
        return say_denied_path(policy, candidate, decision);
    case FATE_CONTRADICTS:
        return say_contradicts(policy, candidate, decision);
    case FATE_UNMAPPED:
        return say_unmapped(candidate, decision);
    case FATE_NOT_COVERED:
        return say_not_covered(policy, candidate, decision);
    case FATE_OVER_GRANT:
        return say_over_grant(policy, candidate, decision);
    case FATE_DUPLICATE:
    case FATE_BAD_MOUNT:
        return say_bad_request(candidate, decision);
    case FATE_RELATIVE:
        return say_relative(policy, candidate, decision);
    case FATE_BAD_BIND:
    case FATE_BAD_TARGET:
        return say_bad_bind(candidate, decision);
    case FATE_NONE:
        break;
    }
    assert(false && "every candidate has a fate");
    return NULL;
}
