/*
 * What git starts: settings and options of it that name a command, and subcommands that
 * run one.  Trusts nothing: git takes a long option cut short, so a beginning of its
 * name is as good as the name; a word that is no option in its place is judged as one.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

/* ---- settings ---- */

#define OFF "false no off 0 true cat : /bin/cat /bin/true"
#define NO "false no off 0"

/* New ones that name programs come with every version, so only these may be set. */
static const struct {
    const char *names;  /* as patterns */
    const char *values; /* the only ones, and an empty one; NULL: any */
} settings[] = {
    { "user.name user.email author.name author.email committer.name committer.email "
      "user.useconfigonly advice.* color.* column.* i18n.* blame.* status.* feature.* "
      "init.defaultbranch safe.directory safe.barerepository",
      NULL },
    { "core.autocrlf core.eol core.safecrlf core.quotepath core.filemode core.ignorecase "
      "core.longpaths core.symlinks core.abbrev core.compression core.whitespace "
      "core.precomposeunicode core.preloadindex core.untrackedcache core.commentchar "
      "core.logallrefupdates core.bigfilethreshold core.checkstat core.trustctime "
      "core.protectntfs core.protecthfs core.fscache core.sparsecheckout "
      "core.sparsecheckoutcone core.looseCompression core.multipackindex "
      "core.commitgraph core.deltabasecachelimit core.packedgitlimit",
      NULL },
    { "commit.verbose commit.cleanup commit.status branch.autosetupmerge branch.sort "
      "branch.autosetuprebase tag.sort versionsort.suffix log.date log.decorate "
      "log.abbrevcommit log.follow log.showroot diff.renames diff.algorithm diff.context "
      "diff.noprefix diff.mnemonicprefix diff.submodule diff.colormoved* "
      "diff.renamelimit diff.ignoresubmodules diff.indentheuristic diff.statgraphwidth diff.orderfile "
      "diff.wserrorhighlight diff.interhunkcontext grep.linenumber grep.patterntype "
      "grep.column grep.fullname grep.extendedregexp",
      NULL },
    { "pull.rebase pull.ff pull.octopus merge.ff merge.conflictstyle merge.renames "
      "merge.renamelimit merge.log merge.stat merge.directoryrenames rebase.autosquash "
      "rebase.autostash rebase.stat rebase.updaterefs rebase.abbreviatecommands "
      "rebase.missingcommitscheck rebase.backend rerere.enabled rerere.autoupdate "
      "push.default push.autosetupremote push.followtags fetch.prune fetch.prunetags "
      "fetch.parallel fetch.recursesubmodules fetch.fsckobjects fetch.writecommitgraph "
      "transfer.fsckobjects transfer.hiderefs submodule.recurse submodule.fetchjobs "
      "clone.defaultremotename clone.rejectshallow checkout.workers "
      "checkout.defaultremote worktree.guessremote",
      NULL },
    { "gc.auto gc.autodetach gc.pruneexpire gc.autopacklimit maintenance.auto "
      "index.version index.threads pack.threads pack.windowmemory pack.packsizelimit "
      "pack.window pack.depth pack.compression remote.*.fetch remote.*.push "
      "remote.*.prune remote.*.tagopt filter.*.required credential.usehttppath "
      "credential.interactive",
      NULL },
    { "http.sslverify http.*.sslverify http.extraheader http.*.extraheader http.version "
      "http.postbuffer http.lowspeedlimit http.lowspeedtime http.followredirects "
      "http.sslcainfo http.*.sslcainfo http.proxy http.*.proxy http.useragent "
      "http.maxrequests http.sslversion http.emptyauth",
      NULL },
    { "protocol.version protocol.file.allow protocol.https.allow protocol.http.allow "
      "protocol.ssh.allow protocol.git.allow url.*.insteadof url.*.pushinsteadof",
      NULL }, /* protocol.ext runs what an address says */
    { "commit.gpgsign tag.gpgsign push.gpgsign tag.forcesignannotated rebase.gpgsign "
      "log.showsignature core.fsmonitor rebase.instructionformat gpg.format",
      NO },
    { "core.pager pager.* core.editor sequence.editor core.askpass filter.*.clean "
      "filter.*.smudge filter.*.process",
      OFF },
    { "core.hookspath core.attributesfile core.excludesfile", "/dev/null" },
    { "credential.helper credential.*.helper diff.external core.sshcommand", "" },
};

static bool is_listed(const char *name, const char *patterns)
{
    char pattern[64];

    for (; *patterns; patterns += strspn(patterns, " ")) {
        size_t size = strcspn(patterns, " ");

        (void)snprintf(pattern, sizeof(pattern), "%.*s", (int)size, patterns);
        if (fnmatch(pattern, name, FNM_CASEFOLD) == 0)
            return true;
        patterns += size;
    }
    return false;
}

/* NAME=VALUE, or NAME, which is true. */
static bool check_setting(const struct sh_effect *effect, const struct sh_word *word)
{
    size_t size = strcspn(word->text, "=");
    const char *value = word->text[size] ? word->text + size + 1 : "true";
    char name[256];

    for (size_t i = 0; i < size; i++)
        if (word->marks[i] >= NACRE_MARK_ANY)
            return SH_CANT(effect, word, "what git sets by '%.40s' only the shell knows",
                           word->text);
    (void)snprintf(name, sizeof(name), "%.*s", (int)size, word->text);
    for (size_t i = 0; size < sizeof(name) && i < NACRE_COUNT(settings); i++) {
        if (!is_listed(name, settings[i].names))
            continue;
        if (!settings[i].values || (word->literal && *value == '\0') ||
            (word->literal && is_listed(value, settings[i].values)))
            return true;
    }
    return SH_CANT(effect, word, "git's setting '%.40s' may name a program, and which "
                                 "can't be told; leave it out",
                   word->text);
}

/* -c NAME=VALUE before the subcommand, of which there may be several. */
static bool check_settings(const struct sh_effect *effect, size_t end)
{
    for (size_t i = 1; i < end; i++) {
        const struct sh_word *word = effect->words[i];
        const struct sh_word *setting;

        if (strncmp(word->text, "--config-env", 12) == 0)
            return SH_CANT(effect, word, "what git sets by it only the shell knows");
        if (nacre_sh_word_is_listed(word, "-C --git-dir --work-tree --namespace "
                                          "--super-prefix --attr-source")) {
            i++;
            continue;
        }
        if (strncmp(word->text, "-c", 2) != 0)
            continue;
        setting = word->size > 2 ? nacre_sh_word_rest(effect->parse, word, 2)
                  : i + 1 < end  ? effect->words[++i]
                                 : NULL;
        if (!setting)
            return !effect->parse->no_memory;
        if (!check_setting(effect, setting))
            return false;
    }
    return true;
}

/* ---- options ---- */

static const struct option {
    const char *subcommands; /* NULL: any */
    const char *name;
    char letter;
    const char *before; /* letters that take the rest of a word, so it is none there */
    bool attached;      /* its value is in the same word, or there is none */
    bool setting;       /* else a shell text */
} options[] = {
    { NULL, "exec" },
    { NULL, "upload-pack" },
    { NULL, "receive-pack" },
    { "rebase", NULL, 'x', "sXCS" },
    { "clone", NULL, 'u', "bojc" },
    { "clone", "config", 'c', "boju", .setting = true },
    { "difftool", "extcmd", 'x', "tUSGOlMCBX" },
    { "grep", "open-files-in-pager", 'O', "eABCfm", .attached = true },
    { "filter-branch", "env-filter" },
    { "filter-branch", "tree-filter" },
    { "filter-branch", "index-filter" },
    { "filter-branch", "parent-filter" },
    { "filter-branch", "msg-filter" },
    { "filter-branch", "commit-filter" },
    { "filter-branch", "tag-name-filter" },
    { "filter-branch", "setup" },
    { "send-email", "sendmail-cmd" },
    { "send-email", "to-cmd" },
    { "send-email", "cc-cmd" },
    { "send-email", "header-cmd" },
    { "daemon", "access-hook" },
    { "svn", "authors-prog" },
};

/* `word` as the option's name: how much of it that is, with the "="; 0: it is not. */
static size_t long_size(const struct sh_word *word, const struct option *option)
{
    size_t size = strcspn(word->text, "="), known = 2;

    if (!option->name || size < 3 || strncmp(word->text, "--", 2) != 0)
        return 0;
    while (known < size && word->marks[known] < NACRE_MARK_ANY)
        known++;
    if (strncmp(word->text + 2, option->name, known - 2) != 0)
        return 0;
    return word->text[size] ? size + 1 : size;
}

/* The same for its letter, which may stand behind others. */
static size_t short_size(const struct sh_word *word, const struct option *option)
{
    if (!option->letter || word->size < 2 || word->text[0] != '-' || word->text[1] == '-')
        return 0;
    for (size_t i = 1; i < word->size && word->marks[i] < NACRE_MARK_ANY; i++) {
        if (word->text[i] == option->letter)
            return i + 1;
        if (strchr(option->before, word->text[i]))
            return 0;
    }
    return 0;
}

static bool run_option(const struct sh_effect *effect, size_t at,
                       const struct option *option)
{
    const struct sh_word *word = effect->words[at], *value;
    size_t size = long_size(word, option);

    if (size == 0)
        size = short_size(word, option);
    if (size == 0)
        return true;
    for (size_t i = 0; i < size; i++)
        if (word->marks[i] >= NACRE_MARK_ANY)
            return SH_CANT(effect, word, "which option '%.40s' is only the shell knows",
                           word->text);
    if (size < word->size)
        value = nacre_sh_word_rest(effect->parse, word, size);
    else if (!option->attached && at + 1 < effect->count && word->text[size - 1] != '=')
        value = effect->words[at + 1];
    else
        return true;
    if (!value)
        return false;
    return option->setting ? check_setting(effect, value)
                           : nacre_sh_run_text(effect, value, false);
}

/* ---- subcommands ---- */

/* Where the words behind options begin. */
static size_t behind_options(const struct sh_effect *effect, size_t from)
{
    while (from < effect->count && effect->words[from]->text[0] == '-')
        from++;
    return from;
}

/* One word is a text; of several git runs the first by a shell if it is no plain name. */
static bool run_foreach(const struct sh_effect *effect, size_t from)
{
    static const char special[] = "|&;<>()$`\\\"' \t\n*?[#~=%";

    from = behind_options(effect, from);
    if (from >= effect->count)
        return true;
    if ((from + 1 == effect->count || strpbrk(effect->words[from]->text, special)) &&
        !nacre_sh_run_text(effect, effect->words[from], false))
        return false;
    return from + 1 == effect->count ||
           nacre_sh_run_words(effect, effect->words + from, effect->count - from);
}

static bool run_rest(const struct sh_effect *effect, size_t from)
{
    return from >= effect->count ||
           nacre_sh_run_words(effect, effect->words + from, effect->count - from);
}

/* `git SUBCOMMAND ...` */
static bool run_subcommand(const struct sh_effect *effect)
{
    const struct sh_word *name = effect->words[1];
    size_t next = behind_options(effect, 2);

    if (!name->literal)
        return SH_CANT(effect, name, "which command of git '%.40s' is only the shell "
                                     "knows; write it out",
                       name->text);
    for (size_t i = 0; i < NACRE_COUNT(options); i++) {
        if (options[i].subcommands &&
            !nacre_sh_word_is_listed(name, options[i].subcommands))
            continue;
        for (size_t k = 2; k < effect->count; k++)
            if (!run_option(effect, k, &options[i]))
                return false;
    }
    if (nacre_sh_word_is_listed(name, "for-each-repo remote-ext"))
        return SH_CANT(effect, name, "what git %s starts can't be told; give the command "
                                     "by itself, which can be judged",
                       name->text);
    if (nacre_sh_word_is(name, "merge-index"))
        return run_rest(effect, next);
    if (next >= effect->count)
        return true;
    if (nacre_sh_word_is(name, "bisect") && nacre_sh_word_is(effect->words[next], "run"))
        return run_rest(effect, next + 1);
    if (nacre_sh_word_is(name, "submodule") &&
        nacre_sh_word_is(effect->words[next], "foreach"))
        return run_foreach(effect, next + 1);
    return true;
}

/* `git -C x push` and `git-push` are `git push` to a rule. */
bool nacre_sh_run_git(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    const char *slash = strrchr(effect->words[0]->text, '/');
    const char *name = slash ? slash + 1 : effect->words[0]->text;
    bool dashed = strncmp(name, "git-", 4) == 0;
    const struct sh_word **words;
    struct sh_scan scan = { .operand = 1 };
    size_t count = 0;

    if (!dashed && !nacre_sh_scan(effect, wrapper, &scan))
        return false;
    if (!dashed && scan.operand == 1)
        return effect->count < 2 || run_subcommand(effect);
    words = nacre_sh_alloc(effect->parse, (effect->count + 2) * sizeof(*words));
    if (!words)
        return false;
    words[count++] = nacre_sh_word_literal(effect->parse, "git", 3, effect->words[0]->at);
    if (dashed)
        words[count++] = nacre_sh_word_literal(effect->parse, name + 4, strlen(name + 4),
                                               effect->words[0]->at);
    if (!words[0] || !words[count - 1])
        return false;
    for (size_t i = scan.operand; i < effect->count; i++)
        words[count++] = effect->words[i];
    /* First the words, so that a rule for them is named before a setting. */
    return nacre_sh_run_words(effect, words, count) &&
           (dashed || check_settings(effect, scan.operand));
}
