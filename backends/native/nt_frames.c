/*
 * What comes from init, judged.  Whoever sends may be a guest that has taken init over:
 * a frame counts only if an honest init could have sent it just now.  After the first
 * one that does not, nothing that comes is believed.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"
#include "nt_doorway.h"
#include "nt_private.h"

static struct unpack payload_of(const struct frame *frame)
{
    return (struct unpack){ .bytes = frame->payload, .size = frame->size };
}

/* Everything that spends the box names the frame first. */
static void wrong(struct nt_box *box, const struct frame *frame, const char *why)
{
    nt_box_break(box, "init sent a frame that makes no sense: %s (lane %u, %u bytes) %s",
                 frame_type_name(frame->type), frame->lane, frame->size, why);
}

/* ---- about the sandbox as a whole ---- */

static void take_failed(struct nt_box *box, const struct frame *frame)
{
    struct unpack unpack = payload_of(frame);
    const char *text = unpack_text(&unpack);
    char shown[300];

    if (!unpack_whole(&unpack)) {
        wrong(box, frame, "without a text");
        return;
    }
    (void)nacre_text_show(shown, sizeof(shown), text, strlen(text));
    box->failed = true;
    nt_box_break(box, "init can't go on: %s", shown);
}

static void take_report(struct nt_box *box, const struct frame *frame)
{
    struct nacre_error err;

    if (box->reported)
        wrong(box, frame, "after the report was whole");
    else if (frame->lane > 1)
        wrong(box, frame, "on a lane that no report has");
    else if (nacre_buf_add(&box->report, frame->payload, frame->size, &err) != NACRE_OK)
        nt_box_break(box, "init's report: %.200s", err.text);
    else
        box->reported = frame->lane == 1;
}

/* ---- about a command ---- */

static void changed(const struct nt_box *box, struct nt_run *run)
{
    if (run != box->leader)
        nt_run_poke(run);
}

/* Its stream has ended: what else comes for this id is for nobody. */
static void over(struct nt_box *box, struct nt_run *run)
{
    struct nt_run **at = &box->runs;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run->over = true;
    changed(box, run);
}

static void take_refused(struct nt_box *box, struct nt_run *run,
                         const struct frame *frame)
{
    struct unpack unpack = payload_of(frame);
    uint64_t refusal = unpack_u64(&unpack), number = unpack_u64(&unpack);
    const char *text = unpack_text(&unpack);

    if (run->started || run->wrote) {
        wrong(box, frame, "for a command that had started");
        return;
    }
    if (!unpack_whole(&unpack) || frame->lane != 0) {
        wrong(box, frame, "with a reason that is none");
        return;
    }
    run->refused = true;
    run->refusal = refusal;
    run->refusal_errno = number;
    (void)nacre_text_show(run->refusal_text, sizeof(run->refusal_text), text,
                          strlen(text));
    over(box, run);
}

static void take_exit(struct nt_box *box, struct nt_run *run, const struct frame *frame)
{
    struct unpack unpack = payload_of(frame);

    if (!run->started) {
        wrong(box, frame, "for a command that had not started");
    } else if (frame->lane != 0 || !init_exit_unpack(&unpack, &run->exit) ||
               (run->exit.how == INIT_HOW_SIGNALLED &&
                (run->exit.status < 1 || run->exit.status > 64))) {
        wrong(box, frame, "with an end that is none");
    } else {
        over(box, run);
    }
}

static void take_data(struct nt_box *box, struct nt_run *run, const struct frame *frame)
{
    struct nt_chunk head = { frame->lane, 0 };
    struct nacre_error err;

    if (frame->lane == 0 || run->ended[frame->lane]) {
        wrong(box, frame, frame->lane == 0 ? "on the lane that is ours"
                                           : "on a lane that had ended");
        return;
    }
    if (frame->size == 0) {
        wrong(box, frame, "with nothing in it");
        return;
    }
    if (frame->size > run->window[frame->lane]) {
        wrong(box, frame, "beyond the credit that it has");
        return;
    }
    run->window[frame->lane] -= frame->size;
    run->wrote = true; /* which may be told before STARTED */
    if (run->pending_last != NT_NO_CHUNK) {
        struct nt_chunk last;

        memcpy(&last, run->pending.bytes + run->pending_last, sizeof(last));
        if (last.lane == head.lane)
            head = last;
        else
            run->pending_last = NT_NO_CHUNK;
    }
    if (run->pending_last == NT_NO_CHUNK) {
        run->pending_last = run->pending.size;
        if (nacre_buf_add(&run->pending, &head, sizeof(head), &err) != NACRE_OK)
            goto full;
    }
    if (nacre_buf_add(&run->pending, frame->payload, frame->size, &err) != NACRE_OK)
        goto full;
    head.size += frame->size;
    memcpy(run->pending.bytes + run->pending_last, &head, sizeof(head));
    changed(box, run);
    return;
full:
    nt_box_break(box, "a command's output: %.200s", err.text);
}

static void take_end(struct nt_box *box, struct nt_run *run, const struct frame *frame)
{
    if (frame->size > 0 || frame->lane == 0 || run->ended[frame->lane]) {
        wrong(box, frame, frame->lane == 0 ? "of the lane that is ours"
                                           : "of a lane that had ended");
        return;
    }
    run->ended[frame->lane] = true;
}

static void take_credit(struct nt_box *box, struct nt_run *run, const struct frame *frame)
{
    struct unpack unpack = payload_of(frame);
    uint64_t more = unpack_u64(&unpack);

    if (!unpack_whole(&unpack) || frame->lane != 0) {
        wrong(box, frame, "for a lane that is not ours");
    } else if (more == 0 || more > FRAME_WINDOW - run->window[0]) {
        wrong(box, frame, more == 0 ? "of nothing" : "of more than was sent");
    } else {
        run->window[0] += more;
        changed(box, run);
    }
}

static void take_started(struct nt_box *box, struct nt_run *run,
                         const struct frame *frame)
{
    if (run->started || frame->size > 0 || frame->lane != 0) {
        wrong(box, frame, run->started ? "for the second time" : "with something in it");
        return;
    }
    run->started = true;
    changed(box, run);
}

static void take_for_run(struct nt_box *box, struct nt_run *run,
                         const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_STARTED:
        take_started(box, run, frame);
        break;
    case FRAME_REFUSED:
        take_refused(box, run, frame);
        break;
    case FRAME_EXIT:
        take_exit(box, run, frame);
        break;
    case FRAME_DATA:
        take_data(box, run, frame);
        break;
    case FRAME_END:
        take_end(box, run, frame);
        break;
    case FRAME_CREDIT:
        take_credit(box, run, frame);
        break;
    default:
        wrong(box, frame, "for a command");
    }
}

void nt_frames_take(struct nt_box *box, const struct frame *frame)
{
    static const uint8_t whole[FRAME_ID];
    struct nt_run *run = box->runs;
    const char *why;

    if (memcmp(frame->id, whole, FRAME_ID) == 0) {
        if (frame->type == FRAME_FAILED)
            take_failed(box, frame);
        else if (frame->type == FRAME_REPORT)
            take_report(box, frame);
        else
            wrong(box, frame, "for no command");
        return;
    }
    while (run && memcmp(frame->id, run->id, FRAME_ID) != 0)
        run = run->next;
    if (run) {
        take_for_run(box, run, frame);
        return;
    }
    why = nt_doorway_take(box, frame);
    if (why)
        wrong(box, frame, why);
}
