#ifndef NACRE_GREP_SEARCH_H
#define NACRE_GREP_SEARCH_H

#include "nacre_tool.h"
#include "regex.h"

/* One file after another through one buffer. */

enum search_mode { SEARCH_CONTENT, SEARCH_FILES, SEARCH_COUNT };

struct search {
    struct nacre_regex *regex;
    enum search_mode mode;
    size_t before, behind; /* lines around a match */
    bool line_numbers;
    size_t matches_left;   /* until the limit; lines, or files where they are asked for */
    size_t text_bytes_max;
    const char *prefix;    /* before every path */

    /* what came of it */
    size_t matches, files, searched, bytes, binary, unread, long_lines;
    const char *unread_path;
    int unread_errno;
    bool is_cut; /* a limit was reached */
    struct nacre_json *counts; /* an array: path and matches of each file */

    char *buffer;
    size_t room;
    bool any_shown;
};

/* Searches what is open and closes it. */
void search_open_file(struct search *search, int fd, const char *path, size_t path_count);
/* Opens it, too. */
void search_file(struct search *search, int dir_fd, const char *name, const char *path,
                 size_t path_count);

#endif
