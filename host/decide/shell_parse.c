/*
 * A shell text from its beginning to its end: lists and pipelines of what
 * shell_compound.c and shell_simple.c read.  Trusts nothing.
 */
#include "shell_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell_lex.h"

/* ---- memory and problems ---- */

#define CHUNK_BYTES ((size_t)16 << 10)

struct sh_chunk {
    struct sh_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

void *nacre_sh_alloc(struct sh_parse *parse, size_t size)
{
    size_t rounded = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    struct sh_chunk *chunk = parse->chunks;
    void *memory;

    if (!chunk || chunk->size - chunk->used < rounded) {
        size_t room = rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES;

        chunk = calloc(1, sizeof(*chunk) + room);
        if (!chunk) {
            parse->no_memory = true;
            return NULL;
        }
        chunk->size = room;
        chunk->next = parse->chunks;
        parse->chunks = chunk;
    }
    memory = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return memory;
}

void nacre_sh_parse_clear(struct sh_parse *parse)
{
    while (parse->chunks) {
        struct sh_chunk *chunk = parse->chunks;

        parse->chunks = chunk->next;
        free(chunk);
    }
}

bool nacre_sh_problem(struct sh_parse *parse, size_t at, const char *format, ...)
{
    va_list args;

    if (parse->no_memory || parse->problem[0])
        return false;
    va_start(args, format);
    (void)vsnprintf(parse->problem, sizeof(parse->problem), format, args);
    va_end(args);
    parse->problem_at = at;
    return false;
}

/* ---- what was found ---- */

struct sh_command *nacre_sh_command_add(struct sh_parse *parse,
                                        const struct sh_word *const *words, size_t count,
                                        const struct sh_where *where)
{
    struct sh_command *command = nacre_sh_alloc(parse, sizeof(*command));

    if (!command)
        return NULL;
    *command = (struct sh_command){ .words = words,
                                    .count = count,
                                    .at = where->at,
                                    .number = ++parse->command_count,
                                    .depth = where->depth,
                                    .bash = where->bash };
    if (parse->last_command)
        parse->last_command->next = command;
    else
        parse->commands = command;
    parse->last_command = command;
    return command;
}

/* ---- the grammar ---- */

static bool read_pipeline(struct sh_cursor *cursor)
{
    struct sh_stage *stages = NULL, **end = &stages;
    struct sh_parse *parse = cursor->parse;
    struct sh_token *token;

    for (;;) {
        struct sh_command *before = parse->last_command;

        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (nacre_sh_token_is_word(token, "!")) {
            nacre_sh_token_take(cursor);
            continue;
        }
        if (!nacre_sh_read_command(cursor) ||
            !nacre_sh_stage_add(parse, &end, nacre_sh_range_add(parse, before)) ||
            !nacre_sh_token_peek(cursor, &token))
            return false;
        if (!nacre_sh_token_is(token, "|") && !nacre_sh_token_is(token, "|&"))
            break;
        nacre_sh_token_take(cursor);
        if (!nacre_sh_skip_newlines(cursor, &token))
            return false;
    }
    return nacre_sh_pipeline_add(parse, stages);
}

static bool ends_list(const struct sh_token *token)
{
    static const char *const closers[] = { "}", "then", "elif", "else", "fi",
                                           "do", "done", "esac" };

    if (token->kind == SH_TOKEN_END || nacre_sh_token_is(token, ")") ||
        (token->kind == SH_TOKEN_OPERATOR && token->operator[0] == ';' &&
         token->operator[1]))
        return true;
    for (size_t i = 0; i < NACRE_COUNT(closers); i++)
        if (nacre_sh_token_is_word(token, closers[i]))
            return true;
    return false;
}

/* Pipelines joined by && and ||. */
static bool read_and_or(struct sh_cursor *cursor)
{
    struct sh_token *token;

    for (;;) {
        if (!read_pipeline(cursor) || !nacre_sh_token_peek(cursor, &token))
            return false;
        if (!nacre_sh_token_is(token, "&&") && !nacre_sh_token_is(token, "||"))
            return true;
        nacre_sh_token_take(cursor);
        if (!nacre_sh_skip_newlines(cursor, &token))
            return false;
    }
}

bool nacre_sh_read_list(struct sh_cursor *cursor, bool *ret_some)
{
    struct sh_token *token;

    *ret_some = false;
    for (;;) {
        if (!nacre_sh_skip_newlines(cursor, &token))
            return false;
        if (ends_list(token))
            return true;
        if (!read_and_or(cursor) || !nacre_sh_token_peek(cursor, &token))
            return false;
        *ret_some = true;
        if (nacre_sh_token_is(token, ";") || nacre_sh_token_is(token, "&") ||
            token->kind == SH_TOKEN_NEWLINE)
            nacre_sh_token_take(cursor);
        else if (ends_list(token))
            return true;
        else
            return nacre_sh_unexpected(cursor, token);
    }
}

bool nacre_sh_parse_text(struct sh_parse *parse, const char *text,
                         const struct sh_where *where)
{
    struct sh_cursor cursor = {
        .parse = parse,
        .text = text,
        .size = strlen(text),
        .where = *where,
    };
    struct sh_source *source = nacre_sh_alloc(parse, sizeof(*source));
    struct sh_token *token;
    bool some;

    if (!source)
        return false;
    source->text = text;
    source->next = parse->sources;
    parse->sources = source;
    parse->work += cursor.size;
    if (where->depth > SH_DEPTH_MAX || parse->work > SH_WORK_MAX)
        return nacre_sh_problem(parse, where->at, "it is nested too deeply");
    if (!nacre_sh_read_list(&cursor, &some) || !nacre_sh_token_peek(&cursor, &token))
        return false;
    if (token->kind != SH_TOKEN_END)
        return nacre_sh_unexpected(&cursor, token);
    return true;
}
