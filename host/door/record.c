/* What a run asked of the door, until the host takes it: bounded, and never a value. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "door.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define MINUTE_NS (60 * NACRE_NS_PER_S)

const char *door_code_name(enum nacre_http_code code)
{
    static const char *const names[] = {
#define X(id, value, name) [value] = name,
        NACRE_HTTP_CODE_MAP(X)
#undef X
    };

    assert((size_t)code < sizeof(names) / sizeof(names[0]));
    return names[code];
}

/* A server may have put a value where it is told from: into a host, into a Location. */
void door_scrub_text(const struct door *door, char *text, size_t size)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf clean = NACRE_BUF((size_t)64 << 10);
    struct nacre_leak_counts counts = { 0 };
    struct nacre_error err;

    if (!door->scrub || !text[0])
        return;
    if (nacre_leaks_redact(door->scrub, text, strlen(text), &clean, &counts, &err) !=
        NACRE_OK)
        text[0] = '\0'; /* rather nothing than what was not looked at */
    else
        (void)snprintf(text, size, "%s", clean.bytes ? clean.bytes : "");
}

void door_record(struct door *door, const struct nacre_egress_record *record)
{
    struct nacre_result *done = door->done;
    struct nacre_egress_record *kept = &done->egress[done->egress_count];

    done->egress_seen++;
    if (done->egress_count == NACRE_EGRESS_RECORDS_MAX)
        return;
    *kept = *record;
    door_scrub_text(door, kept->host, sizeof(kept->host));
    done->egress_count++;
}

void door_denied(struct door *door, const struct nacre_egress_verdict *verdict,
                 const char *host)
{
    struct nacre_denial denial = { .place = verdict->place };

    (void)snprintf(denial.code, sizeof(denial.code), "%s", verdict->code);
    (void)snprintf(denial.rule, sizeof(denial.rule), "%s", verdict->rule);
    (void)snprintf(denial.path, sizeof(denial.path), "%s", host);
    (void)snprintf(denial.text, sizeof(denial.text), "%s", verdict->text);
    door_scrub_text(door, denial.path, sizeof(denial.path));
    door_scrub_text(door, denial.text, sizeof(denial.text));
    nacre_result_deny(door->done, &denial);
}

/* The one that is requests_per_minute_max ago has to be a minute old. */
static bool within_rate(struct door *door)
{
    uint64_t most = door->egress.limits.requests_per_minute_max;
    uint64_t now_ns = nacre_clock_ns();
    uint64_t *slot;

    if (most == 0)
        return false;
    slot = &door->minute_ns[door->minute_next % most];
    if (*slot != 0 && now_ns - *slot < MINUTE_NS)
        return false;
    *slot = now_ns;
    door->minute_next++;
    return true;
}

bool door_admit(struct door *door, char *ret_text, size_t size)
{
    const struct nacre_egress_limits *limits = &door->egress.limits;

    if (!door->running)
        door_control_drain(door);
    if (!door->running || nacre_clock_ns() >= door->deadline_ns) {
        (void)snprintf(ret_text, size, "The run is over: nothing is sent any more.");
        return false;
    }
    if (door->requests >= limits->requests_max) {
        (void)snprintf(ret_text, size,
                       "This run has made all of its %u requests. Work with what you "
                       "have; a further run may make as many again.",
                       limits->requests_max);
        return false;
    }
    if (!within_rate(door)) {
        (void)snprintf(ret_text, size,
                       "More than %u requests within a minute. Wait a while, then try "
                       "again.",
                       limits->requests_per_minute_max);
        return false;
    }
    door->requests++;
    return true;
}

bool door_leaked(struct door *door, const struct nacre_leak_counts *counts,
                 enum nacre_leak_class worst)
{
    struct nacre_leak_tally *tally = &door->done->leaks;

    tally->values += counts->values;
    tally->blocked += counts->blocked;
    tally->redacted += counts->redacted;
    tally->warned += counts->warned;
    if (worst >= NACRE_LEAK_BLOCK)
        door->done->leak = true;
    return worst >= NACRE_LEAK_REDACT;
}
