/*
 * Every call of a guest, a JSON line each, for who wrote the guest.  What stands in the
 * guest's memory is anybody's: it is read within its bounds and escaped.  Contents of
 * files never appear, only how much of them.
 */
#include "trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "functions.h"
#include "guest_memory.h"
#include "nacre/text.h"

/* More than a line is worth reading for; a run that writes more goes on untraced. */
#define TRACE_BYTES_MAX ((uint64_t)64 << 20)
#define TEXT_SHOWN_MAX 256

/*
 * How each call's cells read, a word a cell or two:
 *   name    a number          #name  flags, in hex      -name  not shown
 *   *name   a text: address and length
 *   ~name   vectors: address and count, shown as their bytes
 *   >name   where a 32-bit result goes, shown when it went well; >>name 64 bits
 */
static const struct {
    const char *call, *words;
} forms[] = {
    { "args_get", "-argv -buffer" },
    { "args_sizes_get", ">count >bytes" },
    { "environ_get", "-environ -buffer" },
    { "environ_sizes_get", ">count >bytes" },
    { "clock_res_get", "clock >>time" },
    { "clock_time_get", "clock -precision >>time" },
    { "fd_advise", "fd offset length advice" },
    { "fd_allocate", "fd offset length" },
    { "fd_close", "fd" },
    { "fd_datasync", "fd" },
    { "fd_fdstat_get", "fd -out" },
    { "fd_fdstat_set_flags", "fd #flags" },
    { "fd_fdstat_set_rights", "fd #rights #inheriting" },
    { "fd_filestat_get", "fd -out" },
    { "fd_filestat_set_size", "fd size" },
    { "fd_filestat_set_times", "fd -atim -mtim #flags" },
    { "fd_pread", "fd ~room offset >bytes" },
    { "fd_prestat_get", "fd -out" },
    { "fd_prestat_dir_name", "fd *name" },
    { "fd_pwrite", "fd ~given offset >bytes" },
    { "fd_read", "fd ~room >bytes" },
    { "fd_readdir", "fd -buffer room cookie >bytes" },
    { "fd_renumber", "fd to" },
    { "fd_seek", "fd offset whence >>position" },
    { "fd_sync", "fd" },
    { "fd_tell", "fd >>position" },
    { "fd_write", "fd ~given >bytes" },
    { "path_create_directory", "fd *path" },
    { "path_filestat_get", "fd #flags *path -out" },
    { "path_filestat_set_times", "fd #flags *path -atim -mtim #times" },
    { "path_link", "fd #flags *path to_fd *to" },
    { "path_open", "fd #dirflags *path #oflags #rights #inheriting #fdflags >opened" },
    { "path_readlink", "fd *path -buffer room >bytes" },
    { "path_remove_directory", "fd *path" },
    { "path_rename", "fd *path to_fd *to" },
    { "path_symlink", "*target fd *path" },
    { "path_unlink_file", "fd *path" },
    { "poll_oneoff", "-in -out count >events" },
    { "proc_exit", "status" },
    { "proc_raise", "signal" },
    { "random_get", "-buffer bytes" },
    { "sched_yield", "" },
    { "sock_accept", "fd #flags >opened" },
    { "sock_recv", "fd ~room #flags >bytes -out" },
    { "sock_send", "fd ~given #flags >bytes" },
    { "sock_shutdown", "fd #how" },
    { "rename_all", "-renames count >done" },
    { "http_request", "-request -out" },
    { "http_headers", "handle -buffer room >bytes" },
    { "http_read", "handle -buffer room >bytes" },
    { "http_error", "-buffer room >bytes" },
    { "http_close", "handle" },
};

struct line {
    char text[2048];
    size_t used;
};

static void add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...)
{
    va_list values;
    int length;

    va_start(values, format);
    length = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format,
                       values);
    va_end(values);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= sizeof(line->text))
        line->used = sizeof(line->text) - 1;
}

static void add_text(struct line *line, const char *bytes, size_t count)
{
    bool cut = count > TEXT_SHOWN_MAX, is_utf8;

    if (cut)
        for (count = TEXT_SHOWN_MAX; count > 0 && ((unsigned char)bytes[count] & 0xc0) ==
                                                      0x80;)
            count--;
    is_utf8 = nacre_text_is_utf8(bytes, count);
    add(line, "\"");
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || (c >= 0x80 && !is_utf8))
            add(line, "\\u%04x", c);
        else
            add(line, "%c", c);
    }
    add(line, cut ? "...\"" : "\"");
}

static const char *words_of(const char *call)
{
    for (size_t i = 0; i < NACRE_COUNT(forms); i++)
        if (strcmp(forms[i].call, call) == 0)
            return forms[i].words;
    return "";
}

static uint64_t bytes_in(const struct nacre_wasi *wasi, uint32_t address, uint32_t count)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < count && i < 1024; i++) {
        uint32_t vector[2];

        if (ws_guest_get(wasi, address + (uint64_t)8 * i, vector, sizeof(vector)) !=
            P1_SUCCESS)
            break;
        total += vector[1];
    }
    return total;
}

static void add_text_at(struct line *line, const struct nacre_wasi *wasi,
                        uint32_t address, uint32_t count)
{
    const char *bytes = ws_guest(wasi, address, count);

    if (bytes)
        add_text(line, bytes, count);
    else
        add(line, "null");
}

static void add_result(struct line *line, const struct nacre_wasi *wasi, const char *name,
                       uint32_t address, bool wide)
{
    uint64_t value = 0;

    if (ws_guest_get(wasi, address, &value, wide ? 8 : 4) == P1_SUCCESS)
        add(line, ",\"%s\":%" PRIu64, name, value);
}

/* One word; returns how many cells it took. */
static size_t add_word(struct line *line, const struct nacre_wasi *wasi, const char *word,
                       char type, const union nacre_wasi_cell *cells, bool went_well)
{
    uint64_t number = type == 'I' ? ws_u64(cells) : ws_u32(cells);

    switch (word[0]) {
    case '-':
        return 1;
    case '#':
        add(line, ",\"%s\":\"0x%" PRIx64 "\"", word + 1, number);
        return 1;
    case '*':
        add(line, ",\"%s\":", word + 1);
        add_text_at(line, wasi, ws_u32(cells), ws_u32(cells + 1));
        return 2;
    case '~':
        add(line, ",\"%s\":%" PRIu64, word + 1,
            bytes_in(wasi, ws_u32(cells), ws_u32(cells + 1)));
        return 2;
    case '>':
        if (went_well)
            add_result(line, wasi, word + (word[1] == '>' ? 2 : 1), ws_u32(cells),
                       word[1] == '>');
        return 1;
    default:
        add(line, ",\"%s\":%" PRId64, word,
            type == 'I' ? (int64_t)number : (int64_t)(int32_t)number);
        return 1;
    }
}

static const char *result_name(const char *module, int result, char room[16])
{
    static const char *const names[] = {
#define X(id) #id,
        P1_ERRNO_MAP(X)
#undef X
    };

    if (result == NACRE_WASI_UNWIND)
        return "ends";
    if (strcmp(module, NACRE_WASI_MODULE) == 0 && (size_t)result < NACRE_COUNT(names))
        return names[result];
    (void)snprintf(room, 16, "%d", result);
    return room;
}

void ws_trace(struct nacre_wasi *wasi, const struct nacre_wasi_function *function,
              const union nacre_wasi_cell *cells, int result, uint64_t spent_ns)
{
    struct line line = { .used = 0 };
    const char *words = words_of(function->name);
    char room[16];
    size_t cell = 0;

    if (wasi->traced_bytes > TRACE_BYTES_MAX)
        return;
    add(&line, "{\"call\":\"%s\"", function->name);
    while (*words) {
        char word[32];
        size_t length = strcspn(words, " ");

        (void)snprintf(word, sizeof(word), "%.*s", (int)length, words);
        cell += add_word(&line, wasi, word, function->signature[cell], cells + cell,
                         result == P1_SUCCESS);
        words += length + strspn(words + length, " ");
    }
    assert(function->signature[cell] == ':'); /* its words are all of its cells */
    add(&line, ",\"result\":\"%s\",\"ns\":%" PRIu64 "}",
        result_name(function->module, result, room), spent_ns);
    line.text[line.used++] = '\n';
    wasi->traced_bytes += line.used;
    (void)!write(wasi->call.trace_fd, line.text, line.used);
}
