/*
 * The verdict on a native command.  Trusts the policy; the command is anybody's.  What
 * can't be decided is denied.
 */
#include <string.h>

#include "command.h"
#include "nacre/buf.h"
#include "nacre/decide.h"
#include "nacre/path.h"
#include "nacre/shell.h"
#include "nacre/text.h"
#include "shell_parse.h"

#define OPERATORS "|;&<>(){}"

/* ---- rules against commands ---- */

/* Where the automaton is: before a part, within it, and after all its readings. */
enum { BEFORE, WITHIN, AFTER, WORD_BEFORE, WORD_WITHIN, WORD_AFTER, SET_COUNT };

struct matching {
    struct nacre_matcher matcher;
    struct nacre_match sets[SET_COUNT];
};

static bool matching_init(struct matching *matching, const char *rule)
{
    if (!nacre_matcher_init(&matching->matcher, rule))
        return false;
    for (int i = 0; i < SET_COUNT; i++)
        if (!nacre_match_init(&matching->sets[i], &matching->matcher))
            return false;
    return true;
}

static void matching_clear(struct matching *matching)
{
    for (int i = 0; i < SET_COUNT; i++)
        nacre_match_clear(&matching->sets[i]);
    nacre_matcher_clear(&matching->matcher);
}

static void feed(struct matching *matching, int set, const char *text)
{
    nacre_match_feed(&matching->sets[set], &matching->matcher, text, NULL, strlen(text));
}

/* One more reading of the word that begins at WORD_BEFORE. */
static void feed_reading(struct matching *matching, const char *text,
                         const unsigned char *marks, size_t size)
{
    nacre_match_copy(&matching->sets[WORD_WITHIN], &matching->sets[WORD_BEFORE]);
    nacre_match_feed(&matching->sets[WORD_WITHIN], &matching->matcher, text, marks, size);
    nacre_match_join(&matching->sets[WORD_AFTER], &matching->sets[WORD_WITHIN]);
}

/* In WITHIN: the word as it is, its path in the shortest spelling, its last part. */
static void feed_word(struct matching *matching, const struct sh_word *word, bool program)
{
    const char *slash = word->literal ? strrchr(word->text, '/') : NULL;
    char path[NACRE_PATH_MAX];

    nacre_match_copy(&matching->sets[WORD_BEFORE], &matching->sets[WITHIN]);
    nacre_match_none(&matching->sets[WORD_AFTER], &matching->matcher);
    feed_reading(matching, word->text, word->marks, word->size);
    if (slash && program)
        feed_reading(matching, slash + 1, NULL, strlen(slash + 1));
    if (slash && word->text[0] == '/' &&
        nacre_path_normalise(word->text, path, sizeof(path)))
        feed_reading(matching, path, NULL, strlen(path));
    nacre_match_copy(&matching->sets[WITHIN], &matching->sets[WORD_AFTER]);
}

/* The operator apart from its neighbours, as spread_out() has the rule. */
static void feed_redirect(struct matching *matching, const struct sh_redirect *redirect)
{
    for (const char *at = redirect->operator; *at; at++) {
        feed(matching, WITHIN, " ");
        feed(matching, WITHIN, (char[]){ *at, '\0' });
    }
    feed(matching, WITHIN, " ");
    feed_word(matching, redirect->target, false);
    feed(matching, WITHIN, " ");
}

/* From BEFORE, joined to AFTER: the form, without its redirections and with them. */
static void feed_form(struct matching *matching, const struct sh_command *command,
                      const struct sh_word *const *words, size_t count)
{
    nacre_match_copy(&matching->sets[WITHIN], &matching->sets[BEFORE]);
    feed(matching, WITHIN, " ");
    for (size_t i = 0; i < count; i++) {
        /* "$dir/curl" may be the /usr/bin/curl of a rule. */
        matching->matcher.begins = i == 0 && nacre_sh_program_name(words[i]);
        feed_word(matching, words[i], i == 0);
        matching->matcher.begins = false;
        feed(matching, WITHIN, " ");
    }
    nacre_match_join(&matching->sets[AFTER], &matching->sets[WITHIN]);
    if (!command->redirects)
        return;
    for (const struct sh_redirect *at = command->redirects; at; at = at->next)
        feed_redirect(matching, at);
    nacre_match_join(&matching->sets[AFTER], &matching->sets[WITHIN]);
}

static void feed_command(struct matching *matching, const struct sh_command *command)
{
    feed_form(matching, command, command->words, command->count);
    for (const struct sh_form *form = command->forms; form; form = form->next)
        if (form->words != command->words)
            feed_form(matching, command, form->words, form->count);
}

/* Every command of a stage counts as one that feeds the next stage. */
static bool pipeline_matches(struct matching *matching, struct sh_parse *parse,
                             const struct sh_pipeline *pipeline)
{
    nacre_match_start(&matching->sets[BEFORE], &matching->matcher);
    for (const struct sh_stage *stage = pipeline->stages; stage; stage = stage->next) {
        const struct sh_command *at = nacre_sh_stage_commands(parse, stage);

        if (!at)
            continue; /* an arithmetic command or a function */
        nacre_match_none(&matching->sets[AFTER], &matching->matcher);
        for (; at; at = at->queued)
            feed_command(matching, at);
        nacre_match_copy(&matching->sets[BEFORE], &matching->sets[AFTER]);
        feed(matching, BEFORE, "|");
    }
    return nacre_match_found(&matching->sets[BEFORE], &matching->matcher);
}

static bool any_matches(struct matching *matching, struct sh_parse *parse)
{
    for (const struct sh_command *at = parse->commands; at; at = at->next) {
        nacre_match_start(&matching->sets[BEFORE], &matching->matcher);
        nacre_match_none(&matching->sets[AFTER], &matching->matcher);
        feed_command(matching, at);
        if (nacre_match_found(&matching->sets[AFTER], &matching->matcher))
            return true;
    }
    for (const struct sh_pipeline *at = parse->pipelines; at; at = at->next)
        if (pipeline_matches(matching, parse, at))
            return true;
    return false;
}

/* Every operator with a blank on both sides; "|&" is "|". */
static bool spread_out(const char *text, struct nacre_buf *ret_text)
{
    struct nacre_error err;

    for (; *text; text++) {
        bool operator = strchr(OPERATORS, *text) != NULL;
        const char spread[] = { ' ', *text, ' ', '\0' };

        if (nacre_buf_add(ret_text, operator ? spread : text, operator ? 3 : 1, &err) !=
            NACRE_OK)
            return false;
        if (text[0] == '|' && text[1] == '&')
            text++;
    }
    return true;
}

static bool whole_text_matches(const char *spread_rule, const struct sh_parse *parse)
{
    for (const struct sh_source *at = parse->sources; at; at = at->next) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf text = NACRE_BUF(4 * SH_BYTES_MAX);

        if (!spread_out(at->text, &text) ||
            (text.size > 0 && nacre_command_matches(spread_rule, text.bytes)))
            return true;
    }
    return false;
}

enum blocking { BLOCKS_NOT, BLOCKS, MAY_BLOCK };

static enum blocking rule_blocks(const char *rule, struct sh_parse *parse)
{
    NACRE_AUTO(matching_clear) struct matching matching = { 0 };

    if (!matching_init(&matching, rule) || any_matches(&matching, parse))
        return BLOCKS; /* in doubt, deny */
    matching.matcher.guess = true;
    return any_matches(&matching, parse) ? MAY_BLOCK : BLOCKS_NOT;
}

static enum blocking rule_blocks_spread(const char *rule, struct sh_parse *parse)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf spread = NACRE_BUF(NACRE_BUF_LIMIT_MAX);
    enum blocking blocking = rule_blocks(rule, parse);

    if (blocking != BLOCKS_NOT || !strpbrk(rule, OPERATORS))
        return blocking;
    if (!spread_out(rule, &spread))
        return BLOCKS;
    blocking = rule_blocks(spread.bytes, parse);
    if (blocking == BLOCKS_NOT && strpbrk(rule, &OPERATORS[1]) &&
        whole_text_matches(spread.bytes, parse))
        return BLOCKS;
    return blocking;
}

/* ---- the verdict ---- */

struct verdict {
    const struct nacre_policy *policy;
    const char *text; /* the command as one string */
    char shown[NACRE_SHOWN];
    bool quiet;       /* the mode has spoken already; only fixes are wanted */
    bool blocked;
    struct nacre_answer *answer;
};

static void judge_commands(struct verdict *verdict, struct sh_parse *parse)
{
    const struct nacre_rules *rules = &verdict->policy->shell.blocked_commands;

    for (size_t i = 0; i < rules->count; i++) {
        enum blocking blocking = rule_blocks_spread(rules->items[i].text, parse);
        char rule[NACRE_SHOWN];

        if (blocking == BLOCKS_NOT)
            continue;
        (void)nacre_text_shown(rule, rules->items[i].text);
        if (!verdict->blocked && !verdict->quiet)
            nacre_answer_say(
                verdict->answer, NACRE_RULE_COMMANDS, i + 1, rules->items[i].place,
                blocking == BLOCKS
                    ? "'%s' is denied: it holds the blocked command '%s'"
                    : "'%s' is denied: an expansion in it may make it the blocked "
                      "command '%s'; write out what it stands for",
                verdict->shown, rule);
        nacre_answer_fix(verdict->answer, "remove '%s' from blocked_commands (line %d)",
                         rule, rules->items[i].place.line);
        verdict->blocked = true;
    }
}

static void judge_patterns(struct verdict *verdict)
{
    const struct nacre_policy *policy = verdict->policy;
    size_t size = strlen(verdict->text);

    /* What no pattern can be searched in is denied by the mode. */
    if (size > SH_BYTES_MAX || !nacre_text_is_utf8(verdict->text, size))
        return;
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++) {
        const struct nacre_pattern_rule *line = &policy->shell.blocked_patterns.items[i];
        char rule[NACRE_SHOWN];

        if (!nacre_pattern_matches(line->compiled, verdict->text, size))
            continue;
        (void)nacre_text_shown(rule, line->text);
        if (!verdict->blocked && !verdict->quiet)
            nacre_answer_say(verdict->answer, NACRE_RULE_PATTERNS, i + 1, line->place,
                             "'%s' is denied: the blocked pattern '%s' matches it",
                             verdict->shown, rule);
        nacre_answer_fix(verdict->answer, "remove '%s' from blocked_patterns (line %d)",
                         rule, line->place.line);
        verdict->blocked = true;
    }
}

static bool parse_argv(struct sh_parse *parse, const char *const *argv)
{
    const struct sh_where where = { .inside = true };
    const struct sh_word **words;
    size_t count = 0;

    while (argv[count])
        count++;
    words = nacre_sh_alloc(parse, count * sizeof(*words));
    if (!words)
        return false;
    for (size_t i = 0; i < count; i++) {
        words[i] = nacre_sh_word_literal(parse, argv[i], strlen(argv[i]), 0);
        if (!words[i])
            return false;
    }
    return nacre_sh_command_add(parse, words, count, &where) != NULL;
}

/* Fills `parse`.  False when it can't be judged or memory is short. */
static bool understand(struct sh_parse *parse, const struct nacre_command *command,
                       const char *text)
{
    const struct sh_where where = { .at = 0 };

    if (strlen(text) > SH_BYTES_MAX)
        return nacre_sh_problem(parse, 0, "it is longer than %zu bytes", SH_BYTES_MAX);
    if (!nacre_text_is_utf8(text, strlen(text)))
        return nacre_sh_problem(parse, 0, "it is not UTF-8");
    if (command->argv ? !parse_argv(parse, command->argv)
                      : !nacre_sh_parse_text(parse, text, &where))
        return false;
    /* The list grows while it is walked: by the texts that shells are given. */
    for (struct sh_command *at = parse->commands; at; at = at->next)
        if (!nacre_sh_effects(parse, at))
            return false;
    return nacre_sh_check_calls(parse) && nacre_sh_flows_finish(parse);
}

static void fix_mode(const struct verdict *verdict, const char *mode)
{
    const struct nacre_policy *policy = verdict->policy;

    if (policy->shell.mode_place.line > 0)
        nacre_answer_change(verdict->answer, policy, policy->shell.mode_place,
                            nacre_shell_mode_name(policy->shell.mode), mode);
    else
        nacre_answer_fix(verdict->answer, "add under spec.capabilities.shell: mode: %s",
                         mode);
}

/* The first program's command line, as a rule that would block it. */
static void fix_allowed(const struct verdict *verdict, const struct sh_parse *parse)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf rule = NACRE_BUF(4 * SH_BYTES_MAX);
    const struct sh_command *command = parse->commands;
    struct nacre_error err;

    while (command && command->count == 0)
        command = command->next;
    for (size_t i = 0; command && i < command->count; i++)
        if (nacre_buf_addf(&rule, &err, "%s%s", i > 0 ? " " : "",
                           command->words[i]->text) != NACRE_OK)
            return;
    if (rule.size > 0 && rule.bytes[strspn(rule.bytes, " \t\n\v\f\r")])
        nacre_answer_add(verdict->answer, verdict->policy->shell.blocked_commands.place,
                         "capabilities.shell", "blocked_commands", rule.bytes);
    else
        fix_mode(verdict, "deny");
}

/*
 * A pattern is searched in the text as it is written, so one that names a path does not
 * see a path of which a part is written as an expansion.
 */
static bool any_pattern_names_path(const struct nacre_policy *policy)
{
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++) {
        const char *text = policy->shell.blocked_patterns.items[i].text;

        for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/'))
            if (at[1] && strchr(SH_NAME, at[1]))
                return true;
    }
    return false;
}

/* Mode restricted, or what would be left to change if it were. */
static enum nacre_status judge_restricted(struct verdict *verdict,
                                          const struct nacre_command *command,
                                          struct nacre_error *err)
{
    const struct nacre_policy *policy = verdict->policy;
    NACRE_AUTO(nacre_sh_parse_clear)
    struct sh_parse parse = { .programs_written_out = any_pattern_names_path(policy) };
    bool understood = understand(&parse, command, verdict->text);

    understood &= nacre_sh_flows_fit(&parse);
    if (parse.no_memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to judge a command");
    judge_commands(verdict, &parse);
    judge_patterns(verdict);
    if (!understood) {
        char shown[sizeof(parse.problem)];

        (void)nacre_text_show(shown, sizeof(shown), parse.problem, strlen(parse.problem));
        if (!verdict->blocked && !verdict->quiet)
            nacre_answer_say(verdict->answer, NACRE_RULE_SHELL_MODE, 0,
                             policy->shell.mode_place,
                             "'%s' is denied: mode restricted runs only what can be "
                             "judged: %s (byte %zu)",
                             verdict->shown, shown, parse.problem_at + 1);
        verdict->answer->fix[0] = '\0'; /* no list holds in mode full */
        fix_mode(verdict, "full");
        verdict->blocked = true;
    } else if (!verdict->blocked && !verdict->quiet) {
        verdict->answer->allowed = true;
        nacre_answer_say(verdict->answer, NACRE_RULE_SHELL_MODE, 0,
                         policy->shell.mode_place,
                         "'%s' is allowed: mode is restricted and nothing blocks it",
                         verdict->shown);
        fix_allowed(verdict, &parse);
    }
    return NACRE_OK;
}

static enum nacre_status judge_denied(struct verdict *verdict,
                                      const struct nacre_command *command,
                                      struct nacre_error *err)
{
    const struct nacre_policy *policy = verdict->policy;

    nacre_answer_say(verdict->answer, NACRE_RULE_SHELL_MODE, 0, policy->shell.mode_place,
                     "'%s' is denied: mode is deny", verdict->shown);
    fix_mode(verdict, "restricted");
    verdict->quiet = true;
    return judge_restricted(verdict, command, err);
}

static void allow_full(struct verdict *verdict)
{
    const struct nacre_policy *policy = verdict->policy;
    bool lists = policy->shell.blocked_commands.count > 0 ||
                 policy->shell.blocked_patterns.count > 0;

    verdict->answer->allowed = true;
    nacre_answer_say(verdict->answer, NACRE_RULE_SHELL_MODE, 0, policy->shell.mode_place,
                     "'%s' is allowed: mode is full%s", verdict->shown,
                     lists ? "; blocked_commands and blocked_patterns hold in mode "
                             "restricted only"
                           : "");
    fix_mode(verdict, "deny");
}

/* A word as a shell would need it. */
static enum nacre_status add_quoted(struct nacre_buf *text, const char *word,
                                    struct nacre_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-+=:,@%";
    enum nacre_status status;

    if (*word && word[strspn(word, plain)] == '\0')
        return nacre_buf_add(text, word, strlen(word), err);
    status = nacre_buf_add(text, "'", 1, err);
    for (; *word && status == NACRE_OK; word++)
        status = *word == '\'' ? nacre_buf_add(text, "'\\''", 4, err)
                               : nacre_buf_add(text, word, 1, err);
    return status == NACRE_OK ? nacre_buf_add(text, "'", 1, err) : status;
}

static enum nacre_status command_text(const struct nacre_command *command,
                                      struct nacre_buf *text, struct nacre_error *err)
{
    const char *const *argv = command->argv;
    enum nacre_status status = NACRE_OK;

    if (command->shell_text)
        return nacre_buf_add(text, command->shell_text, strlen(command->shell_text), err);
    for (size_t i = 0; argv[i] && status == NACRE_OK; i++) {
        if (i > 0)
            status = nacre_buf_add(text, " ", 1, err);
        if (status == NACRE_OK)
            status = add_quoted(text, argv[i], err);
    }
    return status;
}

enum nacre_status nacre_shell_judge(const struct nacre_policy *policy,
                                    const struct nacre_command *command,
                                    struct nacre_answer *ret_answer,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(NACRE_BUF_LIMIT_MAX);
    struct nacre_answer answer = { 0 };
    struct verdict verdict = { .policy = policy, .answer = &answer };
    enum nacre_status status = NACRE_OK;

    if (!command->shell_text == !command->argv ||
        (command->argv && (!command->argv[0] || !command->argv[0][0])) ||
        (command->shell_text &&
         command->shell_text[strspn(command->shell_text, " \t\n")] == '\0'))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the command is empty; give it as one word");
    status = command_text(command, &text, err);
    if (status != NACRE_OK)
        return status;
    verdict.text = text.bytes;
    (void)nacre_text_shown(verdict.shown, text.bytes);
    if (policy->shell.mode == NACRE_SHELL_FULL)
        allow_full(&verdict);
    else if (policy->shell.mode == NACRE_SHELL_RESTRICTED)
        status = judge_restricted(&verdict, command, err);
    else
        status = judge_denied(&verdict, command, err);
    if (status == NACRE_OK)
        *ret_answer = answer;
    return status;
}
