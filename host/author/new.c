#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/author.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/session.h"
#include "nacre/text.h"
#include "nacre/tree.h"
#include "templates.h"

#define NAME_LENGTH_MAX 63

static enum nacre_status check_name(const char *name, struct nacre_error *err)
{
    size_t length = strlen(name);
    char canonical[NACRE_TOOL_NAME], shown[NACRE_SHOWN];

    if (length == 0 || length > NAME_LENGTH_MAX || name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != length)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a tool's name is a small letter, then small letters, digits, "
                          "'_' and '-', 63 at most; found '%s'",
                          nacre_text_shown(shown, name));
    if (!nacre_tool_canonical(name, canonical) || strcmp(canonical, name) != 0 ||
        strcmp(name, "exec") == 0 || strcmp(name, "process") == 0)
        return nacre_fail(err, NACRE_ERR_USAGE, "'%s' is a name of nacre's own tools",
                          name);
    return NACRE_OK;
}

/* The template with the names put in. */
static enum nacre_status fill(const char *text, const char *name, const char *language,
                              struct nacre_buf *out, struct nacre_error *err)
{
    const struct {
        const char *mark, *value;
    } marks[] = { { "__NAME__", name }, { "__LANGUAGE__", language } };
    enum nacre_status status = NACRE_OK;

    while (*text && status == NACRE_OK) {
        size_t i = 0;

        while (i < NACRE_COUNT(marks) &&
               strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
            i++;
        if (i < NACRE_COUNT(marks)) {
            status = nacre_buf_add(out, marks[i].value, strlen(marks[i].value), err);
            text += strlen(marks[i].mark);
        } else {
            status = nacre_buf_add(out, text, 1, err);
            text++;
        }
    }
    return status;
}

static enum nacre_status write_file(int dir_fd, const struct author_template *template,
                                    const char *name, const char *language,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF((size_t)1 << 20);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char parent[64];
    const char *slash = strrchr(template->path, '/');
    enum nacre_status status = fill(template->text, name, language, &text, err);

    if (status != NACRE_OK)
        return status;
    if (slash) {
        (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - template->path),
                       template->path);
        if (mkdirat(dir_fd, parent, 0755) != 0 && errno != EEXIST)
            return nacre_fail(err, NACRE_ERR_IO, "making %s", parent);
    }
    fd = openat(dir_fd, template->path,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text.bytes, text.size) != (ssize_t)text.size)
        return nacre_fail(err, NACRE_ERR_IO, "writing %s", template->path);
    return NACRE_OK;
}

static enum nacre_status write_all(int dir_fd, enum nacre_language language,
                                   const char *name, struct nacre_error *err)
{
    const char *wanted = nacre_language_name(language);
    enum nacre_status status = NACRE_OK;

    for (const struct author_template *at = author_templates;
         at->text && status == NACRE_OK; at++)
        if (strcmp(at->language, "all") == 0 || strcmp(at->language, wanted) == 0)
            status = write_file(dir_fd, at, name, wanted, err);
    return status;
}

enum nacre_status nacre_author_new(enum nacre_language language, const char *name,
                                   const char *directory, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    char shown[NACRE_SHOWN];
    struct nacre_error ignored;
    enum nacre_status status = check_name(name, err);

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, directory);
    if (mkdir(directory, 0755) != 0)
        return errno == EEXIST ? nacre_fail(err, NACRE_ERR_USAGE,
                                            "%s is there already: nothing was changed",
                                            shown)
                               : nacre_fail(err, NACRE_ERR_IO, "making %s", shown);
    dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    status = dir_fd < 0 ? nacre_fail(err, NACRE_ERR_IO, "opening %s", shown)
                        : write_all(dir_fd, language, name, err);
    if (status != NACRE_OK && dir_fd >= 0) { /* all or nothing */
        (void)!nacre_tree_empty(dir_fd, &ignored);
        (void)rmdir(directory);
    }
    return status;
}
