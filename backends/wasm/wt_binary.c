/*
 * What a file is that someone gave as a tool.  Trusts nothing in it: only core
 * modules go on to a reader, and compiled code never does, because the engine would
 * run it unread.
 */
#include "wt_module.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"
#include "wasmtime_api.h"

#define ELFOSABI_WASMTIME 200 /* in e_ident of all that wasmtime compiles */

static const unsigned char wasm_magic[4] = { 0, 'a', 's', 'm' };

static bool starts_with(const struct nacre_tool *tool, const void *bytes, size_t count)
{
    return tool->count >= count && memcmp(tool->bytes, bytes, count) == 0;
}

static bool is_one_of(unsigned char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte) != NULL;
}

/* Behind blanks, ";; ..." and "(; ... ;)", which nest. */
static size_t skip_blanks(const unsigned char *text, size_t count)
{
    size_t at = 0, depth = 0;

    while (at < count) {
        bool two = count - at >= 2;

        if (two && text[at] == '(' && text[at + 1] == ';') {
            depth++;
            at += 2;
        } else if (two && depth > 0 && text[at] == ';' && text[at + 1] == ')') {
            depth--;
            at += 2;
        } else if (depth > 0) {
            at++;
        } else if (two && text[at] == ';' && text[at + 1] == ';') {
            while (at < count && text[at] != '\n')
                at++;
        } else if (is_one_of(text[at], " \t\r\n")) {
            at++;
        } else {
            break;
        }
    }
    return at;
}

/* Does the text format's `word` open the file: "(module"? */
static bool opens_with(const struct nacre_tool *tool, const char *word)
{
    size_t length = strlen(word), at;

    at = skip_blanks(tool->bytes, tool->count);
    if (at == tool->count || tool->bytes[at] != '(')
        return false;
    at++;
    at += skip_blanks(tool->bytes + at, tool->count - at);
    return tool->count - at >= length && memcmp(tool->bytes + at, word, length) == 0 &&
           (tool->count - at == length ||
            is_one_of(tool->bytes[at + length], " \t\r\n();$"));
}

/* The engine words a mistake in several lines: what, then "--> <anon>:LINE:COLUMN". */
static enum nacre_status fail_text(const struct nacre_tool *tool, wasmtime_error_t *error,
                                   struct nacre_error *err)
{
    char plain[1024], shown[256], name[NACRE_SHOWN];
    int line = 1, column = 1;
    wasm_byte_vec_t message;
    const char *place;
    size_t count;

    wasmtime_error_message(error, &message);
    count = message.size < sizeof(plain) ? message.size : sizeof(plain) - 1;
    memcpy(plain, message.data, count);
    plain[count] = '\0';
    wasm_byte_vec_delete(&message);
    wasmtime_error_delete(error);

    place = strstr(plain, "--> <anon>:");
    if (place && sscanf(place, "--> <anon>:%d:%d", &line, &column) != 2)
        line = column = 1;
    (void)nacre_text_show(shown, sizeof(shown), plain, strcspn(plain, "\n"));
    return nacre_fail_at(err, NACRE_ERR_NOT_RUNNABLE, nacre_text_shown(name, tool->name),
                         line, column, "not valid WebAssembly text: %s", shown);
}

static enum nacre_status convert(const struct nacre_tool *tool, size_t *ret_count,
                                 unsigned char **ret_owned, struct nacre_error *err)
{
    enum nacre_status status = nacre_wasmtime_load(err);
    wasm_byte_vec_t binary;
    wasmtime_error_t *error;
    unsigned char *copy;

    if (status != NACRE_OK)
        return status;
    error = wasmtime_wat2wasm((const char *)tool->bytes, tool->count, &binary);
    if (error)
        return fail_text(tool, error, err);
    copy = malloc(binary.size);
    if (copy) {
        memcpy(copy, binary.data, binary.size);
        *ret_count = binary.size;
        *ret_owned = copy;
    }
    wasm_byte_vec_delete(&binary);
    return copy ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a module");
}

static enum nacre_status fail_component(const char *name, struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                      "%s is a WebAssembly component (preview 2); nacre runs core "
                      "modules (preview 1) for now: build for wasm32-wasip1",
                      name);
}

/* It starts with "\0asm": a core module of version 1, or why not. */
static enum nacre_status judge_binary(const struct nacre_tool *tool, const char *name,
                                      struct nacre_error *err)
{
    const unsigned char *version = tool->bytes + sizeof(wasm_magic);

    if (tool->count < 8)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is a damaged WebAssembly module: it ends after %zu bytes; "
                          "build or fetch it again",
                          name, tool->count);
    if (version[2] == 1 && version[3] == 0)
        return fail_component(name, err);
    if (memcmp(version, "\1\0\0\0", 4) != 0)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is WebAssembly of version 0x%02x%02x%02x%02x; nacre runs "
                          "version 1",
                          name, version[3], version[2], version[1], version[0]);
    return NACRE_OK;
}

static enum nacre_status fail_foreign(const struct nacre_tool *tool, const char *name,
                                      struct nacre_error *err)
{
    const char *text = (const char *)tool->bytes;
    size_t line = 0; /* how long the first one is, as far as it is shown */
    char shown[64];

    while (line < tool->count && line < sizeof(shown) &&
           !is_one_of(tool->bytes[line], "\r\n"))
        line++;
    if (tool->count == 0)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is empty, not a WebAssembly module", name);
    if (starts_with(tool, ELFMAG, SELFMAG) && tool->count > EI_OSABI &&
        tool->bytes[EI_OSABI] == ELFOSABI_WASMTIME)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is code compiled by wasmtime, not a module; give the .wasm "
                          "it was made from",
                          name);
    if (starts_with(tool, ELFMAG, SELFMAG))
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is a native Linux program, not a WebAssembly module: run it "
                          "as a command, nacre run -- COMMAND, under a policy of a native "
                          "level, or build it for wasm32-wasip1",
                          name);
    if (starts_with(tool, "#!", 2))
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%s is a script (%s), not a WebAssembly module: run it as a "
                          "command, nacre run -- COMMAND, under a policy of a native level, "
                          "or pass it to its interpreter, built as a module",
                          name,
                          nacre_text_show(shown, sizeof(shown), text, line));
    return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                      "%s is not WebAssembly: it starts with \"%s\", and a module with "
                      "\"\\x00asm\"",
                      name,
                      nacre_text_show(shown, sizeof(shown), text,
                                      tool->count < 12 ? tool->count : 12));
}

enum nacre_status wt_module_binary(const struct nacre_tool *tool,
                                   const unsigned char **ret_bytes, size_t *ret_count,
                                   unsigned char **ret_owned, struct nacre_error *err)
{
    unsigned char *owned = NULL;
    size_t count = tool->count;
    char name[NACRE_SHOWN];
    enum nacre_status status;

    (void)nacre_text_shown(name, tool->name);
    if (starts_with(tool, wasm_magic, sizeof(wasm_magic)))
        status = judge_binary(tool, name, err);
    else if (opens_with(tool, "component"))
        status = fail_component(name, err);
    else if (!opens_with(tool, "module"))
        status = fail_foreign(tool, name, err);
    else if (tool->count > WT_MODULE_TEXT_BYTES_MAX)
        status = nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                            "%s is WebAssembly text of %zu bytes; nacre converts up to "
                            "%zu: make it binary, for example with wat2wasm",
                            name, tool->count, WT_MODULE_TEXT_BYTES_MAX);
    else
        status = convert(tool, &count, &owned, err);
    if (status != NACRE_OK)
        return status;
    *ret_bytes = owned ? owned : tool->bytes;
    *ret_count = count;
    *ret_owned = owned;
    return NACRE_OK;
}
