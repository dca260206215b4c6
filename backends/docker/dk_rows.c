#include "dk_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dk_report_clear(struct dk_report *report)
{
    for (size_t i = 0; i < report->text_count; i++)
        free(report->texts[i]);
    free(report->texts);
    for (size_t i = 0; i < report->nonce_count; i++)
        nt_nonce_free(report->nonces[i]);
    free(report->nonces);
    free(report->rows);
    free(report->questions);
    *report = (struct dk_report){ 0 };
}

const char *dk_text(struct dk_making *making, const char *format, ...)
{
    struct dk_report *report = making->report;
    char *made = NULL;
    va_list args;

    if (report->text_count == report->text_room) {
        size_t room = 2 * report->text_room + 64;
        char **grown = realloc(report->texts, room * sizeof(*grown));

        if (grown) {
            report->texts = grown;
            report->text_room = room;
        }
    }
    va_start(args, format);
    if (report->text_count == report->text_room || vasprintf(&made, format, args) < 0)
        making->failed = true;
    else
        report->texts[report->text_count++] = made;
    va_end(args);
    return making->failed ? "" : made;
}

void dk_expect(struct dk_making *making, struct nt_expect row)
{
    struct dk_report *report = making->report;

    if (report->count == report->room) {
        size_t room = 2 * report->room + 32;
        struct nt_expect *grown = realloc(report->rows, room * sizeof(*grown));

        if (grown) {
            report->rows = grown;
            report->room = room;
        }
    }
    if (report->count == report->room)
        making->failed = true;
    else
        report->rows[report->count++] = row;
}

void dk_expect_mount(struct dk_making *making, const char *target, const char *planned)
{
    dk_expect(making, (struct nt_expect){ dk_text(making, "the mount at %s", target),
                                          NT_CHECK_MOUNT, DK_MOUNTS, target, planned });
}

bool dk_is_listed(const char *const *paths, const char *path)
{
    while (paths && *paths && strcmp(*paths, path) != 0)
        paths++;
    return paths && *paths;
}
