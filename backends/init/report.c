#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fds.h"
#include "probe.h"

/* This process is behind the walls itself: what it sees is what its commands will. */
static void answer_here(struct report *report, const struct init_config *config)
{
    report->is_asked = true;
    report->kind = PROBE_REPORT;
    report->wait_status =
        probe_answer(config, &report->here, &report->here_count) ? 0 : 1;
}

bool report_ask(struct report *report, const struct sandbox *sandbox)
{
    int ends[2];

    if (sandbox->walls.held && sandbox->walls.filter_count == 0) {
        answer_here(report, &sandbox->config);
        return true;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    report->probe = fork();
    if (report->probe == 0)
        probe_main(&sandbox->walls, &sandbox->config, ends[1]);
    fd_close(&ends[1]);
    report->fd = ends[0];
    report->is_asked = true;
    return report->probe > 0 && fd_nonblocking(report->fd);
}

/* As read() has it. */
static ssize_t more(struct report *report, void *bytes, size_t size)
{
    size_t count = report->here_count < size ? report->here_count : size;

    if (report->fd >= 0)
        return read(report->fd, bytes, size);
    memcpy(bytes, report->here, count);
    report->here += count;
    report->here_count -= count;
    return (ssize_t)count;
}

/* One read; false: no more for now. */
static bool take_some(struct report *report, struct sandbox *sandbox)
{
    ssize_t count;
    bool is_kind = report->kind == '\0';

    if (is_kind) {
        count = more(report, &report->kind, 1);
    } else {
        if (report->used == sizeof(report->bytes) && report->kind == PROBE_REPORT) {
            if (!outbox_takes_data(&sandbox->out))
                return false;
            outbox_add(&sandbox->out, FRAME_REPORT, 0, NULL, report->bytes, report->used);
            report->used = 0;
        }
        count = more(report, report->bytes + report->used,
                     sizeof(report->bytes) - report->used);
    }
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count <= 0) {
        fd_close(&report->fd);
        report->here = NULL;
        return false;
    }
    if (!is_kind)
        report->used += (size_t)count;
    return true;
}

const char *report_move(struct report *report, struct sandbox *sandbox)
{
    while ((report->fd >= 0 || report->here) && take_some(report, sandbox))
        ;
    if (report->fd >= 0 || report->here || report->probe > 0 || report->is_sent)
        return NULL;
    if (report->kind == PROBE_FAILED && report->used < sizeof(report->bytes)) {
        report->bytes[report->used] = '\0';
        return (const char *)report->bytes;
    }
    if (report->kind != PROBE_REPORT || report->wait_status != 0)
        return "the probe of the sandbox ended before its report, which may have been "
               "too long";
    outbox_add(&sandbox->out, FRAME_REPORT, 1, NULL, report->bytes, report->used);
    report->is_sent = true;
    return NULL;
}
