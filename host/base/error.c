#include "nacre/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct nacre_error *err, enum nacre_status status, const char *format,
                 va_list args) __attribute__((format(printf, 3, 0)));

static void fill(struct nacre_error *err, enum nacre_status status, const char *format,
                 va_list args)
{
    int sys_errno = errno;
    size_t used;

    assert(status != NACRE_OK);
    assert(status < NACRE_STATUS_COUNT);

    *err = (struct nacre_error){
        .status = status,
        .sys_errno = status == NACRE_ERR_IO ? sys_errno : 0,
    };
    (void)vsnprintf(err->text, sizeof(err->text), format, args);
    used = strlen(err->text);
    if (status == NACRE_ERR_IO && sys_errno != 0)
        (void)snprintf(err->text + used, sizeof(err->text) - used, ": %s",
                       strerrordesc_np(sys_errno));
}

enum nacre_status nacre_fail(struct nacre_error *err, enum nacre_status status,
                             const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    return status;
}

enum nacre_status nacre_fail_at(struct nacre_error *err, enum nacre_status status,
                                const char *file, int line, int column,
                                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, status, format, args);
    va_end(args);
    err->line = line;
    err->column = column;
    (void)snprintf(err->file, sizeof(err->file), "%s", file);
    return status;
}

enum nacre_status nacre_fail_context(struct nacre_error *err, const char *context)
{
    char inner[sizeof(err->text)];

    assert(err->status != NACRE_OK);

    memcpy(inner, err->text, sizeof(inner));
    (void)snprintf(err->text, sizeof(err->text), "%.120s: %.380s", context, inner);
    return err->status;
}

enum nacre_status nacre_fail_blame(struct nacre_error *err, const char *rule,
                                   const char *path, const char *fix)
{
    assert(err->status != NACRE_OK);
    assert(rule[0] && strlen(rule) < sizeof(err->rule));

    (void)snprintf(err->rule, sizeof(err->rule), "%s", rule);
    (void)snprintf(err->path, sizeof(err->path), "%s", path);
    (void)snprintf(err->fix, sizeof(err->fix), "%s", fix);
    return err->status;
}

void nacre_error_print(const struct nacre_error *err, char *ret_text, size_t size)
{
    if (err->file[0] && err->line > 0)
        (void)snprintf(ret_text, size, "%s:%d:%d: %s", err->file, err->line, err->column,
                       err->text);
    else if (err->file[0])
        (void)snprintf(ret_text, size, "%s: %s", err->file, err->text);
    else
        (void)snprintf(ret_text, size, "%s", err->text);
}

const char *nacre_status_name(enum nacre_status status)
{
    static const char *const names[] = {
#define X(id, exit_status, name) [NACRE_##id] = name,
        NACRE_STATUS_MAP(X)
#undef X
    };

    assert(status < NACRE_STATUS_COUNT);
    return names[status];
}

int nacre_status_exit(enum nacre_status status)
{
    static const int exits[] = {
#define X(id, exit_status, name) [NACRE_##id] = exit_status,
        NACRE_STATUS_MAP(X)
#undef X
    };

    assert(status < NACRE_STATUS_COUNT);
    return exits[status];
}
