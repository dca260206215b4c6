/* write: a whole file, new or in the place of another, at once or not at all. */
#include <string.h>
#include <sys/stat.h>

#include "nacre_tool.h"

static size_t lines_in(const char *bytes, size_t count)
{
    const char *end = bytes + count;
    size_t lines = 0;

    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));

        lines++;
        bytes = newline ? newline + 1 : end;
    }
    return lines;
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *written = nacre_tool_text(args, "path", "");
    const char *path = nacre_tool_path(written);
    const struct nacre_json *content = nacre_json_get(args, "content");
    struct stat info;
    bool there;
    size_t lines;

    if (!content || content->kind != NACRE_JSON_STRING)
        nacre_tool_fail("bad-arguments", "content has to be the file's text.");
    if (written[strlen(written) - 1] == '/')
        nacre_tool_fail("bad-path", "%s names a directory: write makes files, and the "
                        "directories that lead to them.", written);
    there = stat(path, &info) == 0;
    if (!nacre_tool_replace_file(path, content->text, content->length, true))
        nacre_tool_fail_errno("Writing", path);
    lines = lines_in(content->text, content->length);
    nacre_tool_say("%s ", there ? "Replaced" : "Created");
    nacre_text_add_shown(nacre_tool_content(), path, strlen(path));
    nacre_tool_say(": %zu bytes, %zu line%s", content->length, lines,
                   lines == 1 ? "" : "s");
    if (there)
        nacre_tool_say(" (%llu bytes before)", (unsigned long long)info.st_size);
    nacre_tool_say(".");
    nacre_tool_set("path", nacre_json_text(path));
    nacre_tool_set("created", nacre_json_bool(!there));
    nacre_tool_set("bytes", nacre_json_number((int64_t)content->length));
    nacre_tool_set("lines", nacre_json_number((int64_t)lines));
    return nacre_tool_answer();
}
