#ifndef NACRE_TOOL_SDK_H
#define NACRE_TOOL_SDK_H

#include <stdnoreturn.h>

#include "nacre_json.h"

/*
 * What a tool in C is made with.  The contract needs none of it: the arguments are one
 * JSON object on stdin, the answer is one on stdout
 *
 *     {"content": [{"type": "text", "text": "..."}], "structuredContent": {...},
 *      "isError": false}
 *
 * and the host has checked the arguments against the tool's input_schema.
 *
 *     int main(void)
 *     {
 *         const struct nacre_json *args = nacre_tool_arguments();
 *         const char *path = nacre_tool_text(args, "path", NULL);
 *         ...
 *         nacre_tool_say("%zu lines", lines);
 *         nacre_tool_set("lines", nacre_json_number(lines));
 *         return nacre_tool_answer();
 *     }
 */

/* Reads stdin to its end; what is no object ends the tool with an error. */
const struct nacre_json *nacre_tool_arguments(void);

/* One argument, or `otherwise` where it is not given. */
const char *nacre_tool_text(const struct nacre_json *args, const char *key,
                            const char *otherwise);
int64_t nacre_tool_int(const struct nacre_json *args, const char *key, int64_t otherwise);
bool nacre_tool_flag(const struct nacre_json *args, const char *key, bool otherwise);

/* A path as an agent writes it: relative to /workspace (or to / where there is none),
 * "." and ".." resolved by their letters, at most 4096 bytes; else the tool ends with an
 * error. */
const char *nacre_tool_path(const char *path);

/* Adds to the answer's one text, and to its structured content. */
void nacre_tool_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct nacre_text *nacre_tool_content(void);
void nacre_tool_set(const char *key, struct nacre_json *value);
/* A content block behind the text, such as an image. */
void nacre_tool_block(struct nacre_json *block);

/* Writes the answer; main() returns it. */
int nacre_tool_answer(void);

/* Ends the tool with isError: what went wrong and what to do instead.  `code` is stable:
 * not-found, is-directory, denied, too-large, no-match, ... and is in the structured
 * content with whatever was set. */
noreturn void nacre_tool_fail(const char *code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same from errno: "reading /workspace/x: ..."; EACCES, EPERM and EROFS are `denied`
 * and say that the sandbox's policy decides that. */
noreturn void nacre_tool_fail_errno(const char *doing, const char *path);
/* The path whose name comes nearest to that of an absolute `path` which is not there;
 * NULL: none is like it. */
const char *nacre_tool_near(const char *path);

/* A regular file for reading; else the tool ends with an error. */
struct stat;
int nacre_tool_open_file(const char *path, struct stat *ret_info);
/* A whole file, at most `bytes_max` (else: fails with too-large). */
char *nacre_tool_read_file(const char *path, size_t bytes_max, size_t *ret_count);
/* False with errno, and some of it may be written. */
bool nacre_tool_write_all(int fd, const char *bytes, size_t count);
/* One rename after the other, of absolute paths, by a single call of the host's: no deadline
 * comes in between.  False with errno: *ret_done of them were made. */
struct nacre_tool_rename {
    const char *from, *to;
};
bool nacre_tool_rename_all(const struct nacre_tool_rename *renames, size_t count,
                           size_t *ret_done);
/* Replaces it as a whole or not at all: a new file beside it, then a rename; its parents
 * are made when `parents` says so.  Its mode is kept, in the sandbox by the host.  Links
 * at the end of the path are followed and stay.  False with errno, and nothing changed
 * (but a directory on the way to a denied path, once made, is one that the host lets
 * nobody remove). */
bool nacre_tool_replace_file(const char *path, const char *bytes, size_t count,
                             bool parents);

/* The unified diff of two texts with 3 lines around each change, to be read: at most
 * `lines_max` lines, each cut at 2000 bytes.  What it counts is all of it. */
struct nacre_changes {
    size_t added, removed;
};
struct nacre_changes nacre_tool_diff(struct nacre_text *out, const char *path,
                                     const char *before, size_t before_count,
                                     const char *after, size_t after_count,
                                     size_t lines_max);

/* What lies in a directory, by name, without "." and "..". */
enum nacre_entry_kind {
    NACRE_ENTRY_OTHER,
    NACRE_ENTRY_FILE,
    NACRE_ENTRY_DIRECTORY,
    NACRE_ENTRY_LINK,
};
struct nacre_entry {
    const char *name;
    enum nacre_entry_kind kind;
};
#define NACRE_ENTRIES_MAX ((size_t)1 << 20)
/* False with errno; EOVERFLOW: over NACRE_ENTRIES_MAX. */
bool nacre_tool_list(const char *path, struct nacre_entry **ret_entries,
                     size_t *ret_count);

#endif
