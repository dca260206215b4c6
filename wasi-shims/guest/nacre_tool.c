/*
 * Arguments in, one answer out.  The host has checked the arguments; a tool that is run
 * by hand has nobody who did, so what is wrong about one ends in a sentence here too.
 */
#include "nacre_tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __wasi__
#include <wasi/libc-find-relpath.h>
#endif

#define ARGUMENT_BYTES_MAX ((size_t)64 << 20)
#define PATH_BYTES_MAX 4096

static struct {
    struct nacre_text text;
    struct nacre_json *structured, *blocks;
} answer;

static char *input_read(size_t *ret_count)
{
    size_t room = 16384, count = 0;
    char *bytes = nacre_arena(room);
    ssize_t got;

    while ((got = read(0, bytes + count, room - count)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            nacre_tool_fail_errno("reading the arguments from", "stdin");
        count += (size_t)got;
        if (count > ARGUMENT_BYTES_MAX)
            nacre_tool_fail("too-large", "The arguments are over %zu bytes.",
                            ARGUMENT_BYTES_MAX);
        if (count == room) {
            bytes = nacre_arena_grow(bytes, room, room * 2);
            room *= 2;
        }
    }
    *ret_count = count;
    return bytes;
}

const struct nacre_json *nacre_tool_arguments(void)
{
    const char *fault;
    size_t count, offset;
    const char *bytes = input_read(&count);
    const struct nacre_json *args = nacre_json_read(bytes, count, &fault, &offset);

    if (!args)
        nacre_tool_fail("bad-arguments", "The arguments are no JSON: %s, at byte %zu.",
                        fault, offset);
    if (args->kind != NACRE_JSON_OBJECT)
        nacre_tool_fail("bad-arguments", "The arguments have to be one JSON object.");
    return args;
}

const char *nacre_tool_text(const struct nacre_json *args, const char *key,
                            const char *otherwise)
{
    const struct nacre_json *value = nacre_json_get(args, key);

    if (!value)
        return otherwise;
    if (value->kind != NACRE_JSON_STRING)
        nacre_tool_fail("bad-arguments", "Argument %s has to be a string.", key);
    if (memchr(value->text, '\0', value->length))
        nacre_tool_fail("bad-arguments", "Argument %s must not hold a NUL.", key);
    return value->text;
}

int64_t nacre_tool_int(const struct nacre_json *args, const char *key, int64_t otherwise)
{
    const struct nacre_json *value = nacre_json_get(args, key);

    if (!value)
        return otherwise;
    /* Only what is no whole number answers both questions with what was asked. */
    if (nacre_json_int(value, 0) == 0 && nacre_json_int(value, 1) == 1)
        nacre_tool_fail("bad-arguments", "Argument %s has to be a whole number.", key);
    return nacre_json_int(value, 0);
}

bool nacre_tool_flag(const struct nacre_json *args, const char *key, bool otherwise)
{
    const struct nacre_json *value = nacre_json_get(args, key);

    if (!value)
        return otherwise;
    if (value->kind != NACRE_JSON_TRUE && value->kind != NACRE_JSON_FALSE)
        nacre_tool_fail("bad-arguments", "Argument %s has to be true or false.", key);
    return value->kind == NACRE_JSON_TRUE;
}

static bool has_workspace(void)
{
    struct stat info;
#ifdef __wasi__
    const char *prefix;
    char relative[64], *at = relative;

    /* A mount of that very name needs no question to the host. */
    if (__wasilibc_find_relpath("/workspace", &prefix, &at, sizeof relative) >= 0 &&
        strcmp(prefix, "workspace") == 0)
        return true;
#endif
    return stat("/workspace", &info) == 0;
}

const char *nacre_tool_path(const char *path)
{
    size_t length = strlen(path), count = 0;
    char *out = nacre_arena(PATH_BYTES_MAX + sizeof "/workspace/");
    const char *at = path;

    if (length == 0)
        nacre_tool_fail("bad-path", "The path is empty: \".\" is the workspace itself.");
    if (length > PATH_BYTES_MAX)
        nacre_tool_fail("bad-path", "The path is longer than %d bytes.", PATH_BYTES_MAX);
    if (path[0] != '/' && has_workspace()) {
        count = strlen("/workspace");
        memcpy(out, "/workspace", count);
    }
    while (*at) {
        size_t part = strcspn(at, "/");

        if (part == 2 && at[0] == '.' && at[1] == '.') {
            while (count > 0 && out[--count] != '/')
                ;
        } else if (part > 1 || (part == 1 && at[0] != '.')) {
            out[count++] = '/';
            memcpy(out + count, at, part);
            count += part;
        }
        at += part;
        at += *at == '/';
    }
    if (count == 0)
        out[count++] = '/';
    out[count] = '\0';
    return out;
}

void nacre_tool_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nacre_text_addv(&answer.text, format, args);
    va_end(args);
}

struct nacre_text *nacre_tool_content(void)
{
    return &answer.text;
}

void nacre_tool_set(const char *key, struct nacre_json *value)
{
    if (!answer.structured)
        answer.structured = nacre_json_new(NACRE_JSON_OBJECT);
    nacre_json_set(answer.structured, key, value);
}

void nacre_tool_block(struct nacre_json *block)
{
    if (!answer.blocks)
        answer.blocks = nacre_json_new(NACRE_JSON_ARRAY);
    nacre_json_append(answer.blocks, block);
}

static void send(bool is_error)
{
    struct nacre_json *whole = nacre_json_new(NACRE_JSON_OBJECT);
    struct nacre_json *content = nacre_json_new(NACRE_JSON_ARRAY);
    struct nacre_json *block = nacre_json_new(NACRE_JSON_OBJECT);
    struct nacre_json *text = nacre_json_new(NACRE_JSON_STRING);
    size_t count;
    char *bytes;

    /* Without a copy: it may be most of what the tool holds. */
    text->text = answer.text.bytes ? answer.text.bytes : "";
    text->length = answer.text.count;
    nacre_json_set(block, "type", nacre_json_text("text"));
    nacre_json_set(block, "text", text);
    nacre_json_append(content, block);
    if (answer.blocks && !is_error) {
        content->last->next = answer.blocks->first;
        content->last = answer.blocks->last;
        content->count += answer.blocks->count;
    }
    nacre_json_set(whole, "content", content);
    if (answer.structured)
        nacre_json_set(whole, "structuredContent", answer.structured);
    nacre_json_set(whole, "isError", nacre_json_bool(is_error));
    bytes = nacre_json_write(whole, 0, &count);
    for (size_t done = 0; done < count;) {
        ssize_t written = write(1, bytes + done, count - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            _Exit(1);
        done += (size_t)written;
    }
}

int nacre_tool_answer(void)
{
    send(false);
    return 0;
}

noreturn static void fail_as_said(const char *code)
{
    nacre_tool_set("code", nacre_json_text(code));
    send(true);
    _Exit(0);
}

void nacre_tool_fail(const char *code, const char *format, ...)
{
    va_list args;

    answer.text.count = 0;
    va_start(args, format);
    nacre_text_addv(&answer.text, format, args);
    va_end(args);
    fail_as_said(code);
}

static const struct {
    int number;
    const char *code, *words;
} faults[] = {
    { ENOENT, "not-found", "there is no such file or directory; ls shows what is there" },
    { EISDIR, "is-directory", "it is a directory: ls lists it; or name a file in it" },
    { ENOTDIR, "not-directory", "a part of the path is no directory" },
    { EACCES, "denied", NULL },
    { EPERM, "denied", NULL },
    { EROFS, "denied", NULL },
#ifdef ENOTCAPABLE
    { ENOTCAPABLE, "denied", NULL },
#endif
    { EXDEV, "denied", NULL },
    { ELOOP, "link-loop", "its symbolic links lead in a circle" },
    { ENOSPC, "no-space", "the sandbox has no space left for it" },
    { EDQUOT, "no-space", "the sandbox's limit on written bytes is reached" },
    { EFBIG, "too-large", "it would be larger than a file may be" },
    { EEXIST, "exists", "something is there already" },
    { ENOTEMPTY, "not-empty", "the directory is not empty" },
    { ENAMETOOLONG, "bad-path", "a name in the path is too long" },
    { EILSEQ, "bad-path", "the path is not UTF-8" },
    { EBUSY, "denied", NULL },
    { EINVAL, "not-a-file", "it is neither a file nor a directory" },
    { EOVERFLOW, "too-large", "there is more in it than a tool can hold" },
    { EMFILE, "too-many", "too many files are open at once" },
    { ENFILE, "too-many", "too many files are open at once" },
};

/* wasi-libc says "not found" of what no mount covers, and never asks the host. */
static bool outside(const char *path)
{
#ifdef __wasi__
    const char *prefix, *relative;

    return path[0] == '/' && __wasilibc_find_abspath(path, &prefix, &relative) < 0;
#else
    (void)path;
    return false;
#endif
}

static const char *code_of(int number, const char **ret_words)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (faults[i].number != number)
            continue;
        *ret_words = faults[i].words
                         ? faults[i].words
                         : "refused by the sandbox's policy, which decides what may be "
                           "reached; use a path inside the workspace, or ask for the "
                           "right";
        return faults[i].code;
    }
    *ret_words = strerror(number);
    return "io";
}

void nacre_tool_fail_errno(const char *doing, const char *path)
{
    int number = errno == ENOENT && outside(path) ? EACCES : errno;
    const char *words, *code = code_of(number, &words);
    const char *near = number == ENOENT && path[0] == '/' ? nacre_tool_near(path) : NULL;

    answer.text.count = 0;
    nacre_text_addf(&answer.text, "%s ", doing);
    nacre_text_add_shown(&answer.text, path, strlen(path));
    nacre_text_addf(&answer.text, ": %s.", words);
    if (near) {
        nacre_text_addf(&answer.text, " Did you mean ");
        nacre_text_add_shown(&answer.text, near, strlen(near));
        nacre_text_addf(&answer.text, "?");
    }
    fail_as_said(code);
}
