/*
 * What one command writes and another reads, beside the pipes that are written as such:
 * <(...) and >(...), coprocesses, and the commands that a command starts.  Trusts
 * nothing: where it can't be told which command a descriptor leads to, it leads to all.
 */
#include <string.h>

#include "shell_lex.h"
#include "shell_wrappers.h"

/* ---- ranges and pipelines ---- */

static struct sh_range *range_of(struct sh_parse *parse, struct sh_command *before,
                                 struct sh_command *last, struct sh_range *next)
{
    struct sh_range *range = nacre_sh_alloc(parse, sizeof(*range));

    if (range)
        *range = (struct sh_range){ .before = before, .last = last, .next = next };
    return range;
}

struct sh_range *nacre_sh_range_add(struct sh_parse *parse, struct sh_command *before)
{
    return range_of(parse, before, parse->last_command, NULL);
}

bool nacre_sh_stage_add(struct sh_parse *parse, struct sh_stage ***end,
                        struct sh_range *ranges)
{
    struct sh_stage *stage = ranges ? nacre_sh_alloc(parse, sizeof(*stage)) : NULL;

    if (!stage)
        return false;
    stage->ranges = ranges;
    **end = stage;
    *end = &stage->next;
    return true;
}

bool nacre_sh_pipeline_add(struct sh_parse *parse, struct sh_stage *stages)
{
    struct sh_pipeline *pipeline;

    if (!stages->next)
        return true;
    pipeline = nacre_sh_alloc(parse, sizeof(*pipeline));
    if (!pipeline)
        return false;
    *pipeline = (struct sh_pipeline){ .stages = stages, .next = parse->pipelines };
    parse->pipelines = pipeline;
    return true;
}

/* `from` | `through` | `to`; the first and the last may be missing. */
static bool join(struct sh_parse *parse, struct sh_range *from, struct sh_range *through,
                 struct sh_range *to)
{
    struct sh_stage *stages = NULL, **end = &stages;

    return (!from || nacre_sh_stage_add(parse, &end, from)) &&
           nacre_sh_stage_add(parse, &end, through) &&
           (!to || nacre_sh_stage_add(parse, &end, to)) &&
           nacre_sh_pipeline_add(parse, stages);
}

/* A copy of the range in a list of its own. */
static bool range_push(struct sh_parse *parse, struct sh_range **list,
                       const struct sh_range *range)
{
    struct sh_range *kept = range_of(parse, range->before, range->last, *list);

    if (kept)
        *list = kept;
    return kept != NULL;
}

/* ---- <(...) and >(...) ---- */

bool nacre_sh_process_add(struct sh_cursor *cursor, size_t at, bool writes,
                          struct sh_command *before)
{
    struct sh_process *process = nacre_sh_alloc(cursor->parse, sizeof(*process));
    struct sh_range *range = nacre_sh_range_add(cursor->parse, before);

    if (!process || !range)
        return false;
    *process = (struct sh_process){ .range = range,
                                    .at = at,
                                    .writes = writes,
                                    .next = cursor->processes };
    cursor->processes = process;
    return range_push(cursor->parse,
                      writes ? &cursor->parse->readers : &cursor->parse->writers, range);
}

static size_t number_of(const struct sh_command *command)
{
    return command ? command->number : 0;
}

/* The commands behind `before` up to `last` become a part of *ranges, if there are. */
static bool add_part(struct sh_parse *parse, struct sh_range **ranges,
                     struct sh_command *before, struct sh_command *last)
{
    const struct sh_range part = { .before = before, .last = last };

    return number_of(before) >= number_of(last) || range_push(parse, ranges, &part);
}

/* The command is what is left without its processes, which are the last ones first. */
bool nacre_sh_processes_join(struct sh_cursor *cursor, size_t at,
                             struct sh_command *before)
{
    struct sh_parse *parse = cursor->parse;
    struct sh_command *last = parse->last_command;
    struct sh_range *from = NULL, *through = NULL, *to = NULL;

    if (!cursor->processes || cursor->processes->at < at)
        return true;
    while (cursor->processes && cursor->processes->at >= at) {
        const struct sh_process *process = cursor->processes;

        if (!range_push(parse, process->writes ? &to : &from, process->range) ||
            !add_part(parse, &through, process->range->last, last))
            return false;
        last = process->range->before;
        cursor->processes = process->next;
    }
    if (!add_part(parse, &through, before, last))
        return false;
    return !through || join(parse, from, through, to);
}

/* ---- functions ---- */

struct sh_function *nacre_sh_function_find(const struct sh_parse *parse,
                                           const struct sh_word *name)
{
    for (struct sh_function *at = parse->functions; at; at = at->next)
        if (nacre_sh_word_is(name, at->name))
            return at;
    return NULL;
}

bool nacre_sh_function_add(struct sh_parse *parse, const struct sh_word *name,
                           struct sh_command *before)
{
    struct sh_function *function = nacre_sh_function_find(parse, name);
    const struct sh_range body = { .before = before, .last = parse->last_command };

    /* A word of which only the last part is known must be a program. */
    if (strchr(name->text, '/'))
        return nacre_sh_problem(parse, name->at, "a function's name holds a /");
    if (nacre_sh_word_is_listed(name,
                                "command_not_found_handle command_not_found_handler"))
        return nacre_sh_problem(parse, name->at, "%s runs in place of any program",
                                name->text);
    if (!function) {
        function = nacre_sh_alloc(parse, sizeof(*function));
        if (!function)
            return false;
        *function = (struct sh_function){ .name = name->text, .next = parse->functions };
        parse->functions = function;
    }
    return range_push(parse, &function->bodies, &body);
}

bool nacre_sh_started_add(struct sh_parse *parse, struct sh_command *command,
                          struct sh_range *ranges)
{
    struct sh_started *started = nacre_sh_alloc(parse, sizeof(*started));

    if (!started || !ranges)
        return false;
    *started = (struct sh_started){ .ranges = ranges, .next = command->started };
    command->started = started;
    return true;
}

/* ---- the commands of a stage ---- */

/* Appends to the queue behind *end what this visit has not met yet. */
static void queue_ranges(struct sh_parse *parse, struct sh_range *range,
                         struct sh_command ***end)
{
    if (range->visit == parse->visits)
        return; /* a list is always walked whole, or many calls would walk it for long */
    range->visit = parse->visits;
    for (; range; range = range->next) {
        struct sh_command *at = range->before ? range->before->next : parse->commands;
        struct sh_command *stop = range->last ? range->last->next : parse->commands;

        for (; at != stop; at = at->next) {
            if (at->visit == parse->visits)
                continue;
            at->visit = parse->visits;
            at->queued = NULL;
            **end = at;
            *end = &at->queued;
        }
    }
}

struct sh_command *nacre_sh_stage_commands(struct sh_parse *parse,
                                           const struct sh_stage *stage)
{
    struct sh_command *queue = NULL, **end = &queue;

    parse->visits++;
    queue_ranges(parse, stage->ranges, &end);
    for (const struct sh_command *at = queue; at; at = at->queued)
        for (const struct sh_started *it = at->started; it; it = it->next)
            queue_ranges(parse, it->ranges, &end);
    return queue;
}

static size_t weight_of(const struct sh_command *command)
{
    size_t weight = 1, redirects = 0;

    for (const struct sh_redirect *at = command->redirects; at; at = at->next)
        redirects += at->target->size + 1;
    for (const struct sh_form *form = command->forms; form; form = form->next) {
        weight += redirects;
        for (size_t i = 0; i < form->count; i++)
            weight += form->words[i]->size + 1;
    }
    return weight;
}

bool nacre_sh_flows_fit(struct sh_parse *parse)
{
    size_t work = 0;

    for (const struct sh_pipeline *at = parse->pipelines; at; at = at->next)
        for (const struct sh_stage *stage = at->stages; stage; stage = stage->next) {
            const struct sh_command *it = nacre_sh_stage_commands(parse, stage);

            for (; it; it = it->queued)
                work += weight_of(it);
            if (work <= SH_FLOW_MAX)
                continue;
            parse->pipelines = NULL;
            return nacre_sh_problem(parse, 0, "its pipelines call functions and shells "
                                              "too often");
        }
    return true;
}

/* ---- what stays open ---- */

bool nacre_sh_coproc_add(struct sh_parse *parse, struct sh_command *before)
{
    const struct sh_range range = { .before = before, .last = parse->last_command };

    return range_push(parse, &parse->coprocs, &range);
}

static bool starts(const struct sh_command *command, const char *name)
{
    for (const struct sh_form *form = command->forms; form; form = form->next)
        if (nacre_sh_word_is(form->words[0], name))
            return true;
    return false;
}

/* exec >&3: a descriptor that was opened for one command serves others later. */
static bool keeps_descriptor(const struct sh_command *command)
{
    if (!starts(command, "exec"))
        return false;
    for (const struct sh_redirect *at = command->redirects; at; at = at->next)
        if (strchr(at->operator, '&') || !at->target->literal ||
            nacre_sh_is_descriptor(at->target->text))
            return true;
    return false;
}

/* trap ... DEBUG: what it runs may run between any two commands, with their input. */
static bool runs_between(const struct sh_command *command)
{
    if (!starts(command, "trap"))
        return false;
    for (size_t i = 1; i < command->count; i++)
        if (!command->words[i]->literal ||
            nacre_sh_word_is_listed(command->words[i],
                                    "DEBUG ERR RETURN debug err return"))
            return true;
    return false;
}

bool nacre_sh_flows_finish(struct sh_parse *parse)
{
    struct sh_range *all, *from = NULL, *to = NULL;
    struct sh_command *before = NULL;
    bool kept = false;

    for (struct sh_command *at = parse->commands; at; before = at, at = at->next) {
        const struct sh_range alone = { .before = before, .last = at };

        kept |= keeps_descriptor(at);
        if ((starts(at, "coproc") || runs_between(at)) &&
            !range_push(parse, &parse->coprocs, &alone))
            return false;
    }
    for (const struct sh_range *at = parse->coprocs; at; at = at->next)
        if (!range_push(parse, &from, at) || !range_push(parse, &to, at))
            return false;
    for (const struct sh_range *at = parse->writers; kept && at; at = at->next)
        if (!range_push(parse, &from, at))
            return false;
    for (const struct sh_range *at = parse->readers; kept && at; at = at->next)
        if (!range_push(parse, &to, at))
            return false;
    all = range_of(parse, NULL, parse->last_command, NULL);
    return all && join(parse, from, all, to);
}
