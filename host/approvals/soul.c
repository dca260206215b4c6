/* Blocks of SOUL.md.  Pure.  The text is the operator's, and people slip: a block that is
 * not exactly one is told, and then none counts. */
#include "soul.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nacre/own.h"
#include "nacre/text.h"

#define FENCE "```"
#define OPENING "```nacre-approve"
#define LINE_MAX_BYTES 512

struct block {
    int line; /* of its fence */
    char tool[128], arguments[128], expires[64];
};

struct reader {
    const char *source, *at, *end;
    int line;
    bool indented; /* this line, by four or more: no fence, as CommonMark has it */
    struct nacre_error *err;
};

/* The next line without blanks at its ends; false at the end of the text. */
static bool next_line(struct reader *reader, char ret_line[LINE_MAX_BYTES])
{
    const char *stop, *last;
    size_t length;

    if (reader->at >= reader->end)
        return false;
    stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    last = stop ? stop : reader->end;
    reader->indented = last - reader->at >= 4 && strncmp(reader->at, "    ", 4) == 0;
    while (reader->at < last && strchr(" \t\r", *reader->at)) {
        reader->indented |= *reader->at == '\t';
        reader->at++;
    }
    while (last > reader->at && strchr(" \t\r", last[-1]))
        last--;
    length = (size_t)(last - reader->at);
    /* Prose may be longer than any line of a block: cut, it is still prose. */
    if (length >= LINE_MAX_BYTES)
        length = LINE_MAX_BYTES - 1;
    memcpy(ret_line, reader->at, length);
    ret_line[length] = '\0';
    reader->at = stop ? stop + 1 : reader->end;
    reader->line++;
    return true;
}

static enum nacre_status fail(const struct reader *reader, const char *what)
{
    return nacre_fail_at(reader->err, NACRE_ERR_PARSE, reader->source, reader->line, 1,
                         "%s; a block has the lines tool:, arguments: (sha256:HEX or *) "
                         "and expires: (as 2026-12-31T00:00:00Z)", what);
}

static enum nacre_status read_key(const struct reader *reader, char *line,
                                  struct block *block)
{
    const struct {
        const char *key;
        char *value;
        size_t size;
    } keys[] = {
        { "tool", block->tool, sizeof(block->tool) },
        { "arguments", block->arguments, sizeof(block->arguments) },
        { "expires", block->expires, sizeof(block->expires) },
    };
    char *colon = strchr(line, ':'), *value;

    if (!colon)
        return fail(reader, "this line has no key");
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    for (size_t i = 0; i < NACRE_COUNT(keys); i++) {
        if (strcmp(line, keys[i].key) != 0)
            continue;
        if (keys[i].value[0])
            return fail(reader, "this key came before");
        if (!value[0] || strlen(value) >= keys[i].size)
            return fail(reader, "this value is empty or too long");
        memcpy(keys[i].value, value, strlen(value) + 1);
        return NACRE_OK;
    }
    return fail(reader, "this key is not known");
}

static enum nacre_status read_block(struct reader *reader, struct block *ret_block)
{
    struct block block = { .line = reader->line };
    char line[LINE_MAX_BYTES];

    while (next_line(reader, line)) {
        enum nacre_status status;

        if (strcmp(line, FENCE) == 0) {
            if (!block.tool[0] || !block.arguments[0] || !block.expires[0])
                return fail(reader, "this block is not complete");
            *ret_block = block;
            return NACRE_OK;
        }
        if (line[0] == '\0')
            continue;
        status = read_key(reader, line, &block);
        if (status != NACRE_OK)
            return status;
    }
    return fail(reader, "the last block has no end");
}

/* RFC 3339 in UTC, to the second. */
static bool read_time(const char *text, uint64_t *ret_ms)
{
    struct tm time = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &time);
    int day = time.tm_mday;
    time_t seconds;

    if (!end || *end || strlen(text) != strlen("2026-12-31T00:00:00Z"))
        return false;
    seconds = timegm(&time);
    if (seconds < 0 || time.tm_mday != day) /* 31 February would be 3 March */
        return false;
    *ret_ms = (uint64_t)seconds * 1000;
    return true;
}

static enum nacre_status judge_block(const struct reader *reader,
                                     const struct block *block, const char *tool,
                                     const struct nacre_digest *arguments,
                                     uint64_t now_ms, bool *approved)
{
    static const char scheme[] = "sha256:";
    bool any = strcmp(block->arguments, "*") == 0;
    struct nacre_digest bound;
    uint64_t expires_ms;

    if (!any && (strncmp(block->arguments, scheme, strlen(scheme)) != 0 ||
                 !nacre_digest_from_hex(block->arguments + strlen(scheme), &bound)))
        return fail(reader, "these arguments are neither a digest nor *");
    if (!read_time(block->expires, &expires_ms))
        return fail(reader, "this is no time");
    if (strcmp(block->tool, tool) == 0 && now_ms < expires_ms &&
        (any || nacre_digest_equal(&bound, arguments)))
        *approved = true;
    return NACRE_OK;
}

/* A fence of whatever kind: what it is made of, how many, and if anything follows. */
struct fence {
    char mark;
    size_t count;
    bool bare;
};

static struct fence fence_of(const struct reader *reader, const char *line)
{
    struct fence fence = { .mark = line[0] };
    const char marks[] = { line[0], '\0' };

    fence.count = fence.mark == '`' || fence.mark == '~' ? strspn(line, marks) : 0;
    if (reader->indented || fence.count < strlen(FENCE))
        return (struct fence){ .count = 0 };
    fence.bare = line[fence.count] == '\0';
    return fence;
}

enum nacre_status soul_judge(const char *source, const char *bytes, size_t count,
                             const char *tool, const struct nacre_digest *arguments,
                             uint64_t now_ms, bool *ret_approved, struct nacre_error *err)
{
    struct reader reader = { .source = source, .at = bytes, .end = bytes + count,
                             .err = err };
    struct fence open = { .count = 0 };
    bool approved = false;
    char line[LINE_MAX_BYTES];

    while (next_line(&reader, line)) {
        struct fence fence = fence_of(&reader, line);
        struct block block;
        enum nacre_status status;

        /* A block that is shown inside another fence is an example, not a word. */
        if (open.count > 0) {
            if (fence.bare && fence.mark == open.mark && fence.count >= open.count)
                open.count = 0;
            continue;
        }
        if (fence.count == 0 || strcmp(line, OPENING) != 0) {
            open = fence;
            continue;
        }
        status = read_block(&reader, &block);
        if (status == NACRE_OK)
            status = judge_block(&reader, &block, tool, arguments, now_ms, &approved);
        if (status != NACRE_OK)
            return status;
    }
    *ret_approved = approved;
    return NACRE_OK;
}
