/* Any bytes as a container's stream, in two ways of arriving: what comes out lies within
 * what went in, is the same both times, and a break is final. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dk_demux.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    unsigned char *bytes[3]; /* by output */
    size_t counts[3];
    bool broken, between;
};

/* What is there to be taken, `take` bytes at a time; false when the stream is broken. */
static bool drain(struct dk_demux *demux, struct outcome *outcome, size_t size,
                  size_t take)
{
    unsigned char chunk[64];
    enum dk_output output = DK_OUTPUT_NONE;
    ssize_t got;

    while ((got = dk_demux_take(demux, chunk, take, &output)) > 0) {
        assert(output == DK_OUTPUT_STDOUT || output == DK_OUTPUT_STDERR);
        assert((size_t)got <= take && (size_t)got <= size - outcome->counts[output]);
        memcpy(outcome->bytes[output] + outcome->counts[output], chunk, (size_t)got);
        outcome->counts[output] += (size_t)got;
    }
    if (got < 0)
        assert(dk_demux_take(demux, chunk, take, &output) < 0);
    return got == 0;
}

static void feed(const uint8_t *data, size_t size, size_t piece, size_t take,
                 struct outcome *outcome)
{
    struct dk_demux *demux = calloc(1, sizeof(*demux));

    assert(demux);
    for (size_t at = 0; at < size && !outcome->broken;) {
        size_t room;
        unsigned char *into = dk_demux_room(demux, &room);
        size_t count = size - at < piece ? size - at : piece;

        assert(room > 0);
        count = count < room ? count : room;
        memcpy(into, data + at, count);
        dk_demux_added(demux, count);
        at += count;
        outcome->broken = !drain(demux, outcome, size, take);
    }
    outcome->between = dk_demux_is_between(demux);
    free(demux);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome outcomes[2] = { 0 };

    if (size < 2)
        return 0;
    for (int i = 0; i < 2; i++) {
        for (int output = 1; output < 3; output++) {
            outcomes[i].bytes[output] = malloc(size);
            assert(outcomes[i].bytes[output]);
        }
        feed(data + 2, size - 2, i == 0 ? SIZE_MAX : 1u + data[0], 1u + data[i] % 64,
             &outcomes[i]);
    }
    assert(outcomes[0].broken == outcomes[1].broken);
    assert(outcomes[0].broken || outcomes[0].between == outcomes[1].between);
    for (int output = 1; output < 3; output++) {
        assert(outcomes[0].counts[output] == outcomes[1].counts[output]);
        assert(memcmp(outcomes[0].bytes[output], outcomes[1].bytes[output],
                      outcomes[0].counts[output]) == 0);
        free(outcomes[0].bytes[output]);
        free(outcomes[1].bytes[output]);
    }
    return 0;
}
