#ifndef NACRE_CHANNEL_FRAME_H
#define NACRE_CHANNEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What pid 1 of a native sandbox (backends/init) and the owner of the sandbox
 * (backends/native) say to each other, over any stream of bytes: a socketpair for a
 * process, the engine's attach stream for a container.  Both sides compile this file;
 * it uses the C library and nothing else, and allocates nothing.
 *
 * A frame is a header of FRAME_HEADER bytes and a payload of at most
 * FRAME_PAYLOAD_MAX.  Integers are little-endian.  A stream of frames has a random
 * 128-bit id, which its opener draws: one for each command, zero for what concerns the
 * sandbox as a whole.  A guest that could write into the channel would have to guess it.
 *
 * A connection (doorway.h) is a stream that init opens, with a window of its own size:
 * lane 0 to who connected, lane 1 from there.  Init's CLOSE is its last frame, and always
 * comes; the owner's asks for it.  The owner opens one the other way by DIAL, with an id
 * that it draws: the same lanes, the same end; what can't be reached is closed at once.
 *
 * A command has three lanes of bytes: 0 to its stdin, 1 and 2 from its stdout and
 * stderr.  Each lane has a credit window of its own: a sender sends no more than the
 * receiver has given credit for, so that none stalls another and every buffer has its
 * ceiling.  More than that is a broken peer.
 */
#define FRAME_VERSION 1
#define FRAME_HEADER 24
#define FRAME_PAYLOAD_MAX 65536
#define FRAME_ID 16
#define FRAME_WINDOW 262144 /* credit of each lane at its beginning */
#define FRAME_LANES 3

/* Payloads are packed with pack.h, in the order of the comments. */
#define FRAME_TYPE_MAP(X)                                                              \
    /* owner to init */                                                                \
    X(CONFIG, 1)    /* a part of the configuration (config.h); the last one has lane 1 */ \
    X(START, 2)     /* a command (config.h), whole in one frame or several as above */ \
    X(SIGNAL, 3)    /* u64 number: to the command's process group */                   \
    X(KILL, 4)      /* end the command and all it started, now */                      \
    X(BEAT, 5)      /* the owner lives */                                              \
    X(SHUTDOWN, 6)  /* end every command, then leave */                                \
    X(MACHINE, 7)   /* a part of what a machine is made of (machine.h); as CONFIG */   \
    X(DIAL, 8)      /* a connection to a port in the sandbox: u64 port of 127.0.0.1 */ \
    /* init to owner */                                                                \
    X(REPORT, 32)   /* a part of the answers (config.h); the last one has lane 1 */    \
    X(STARTED, 33)  /* the command was executed */                                     \
    X(REFUSED, 34)  /* it was not: u64 enum init_refusal, u64 errno, text */           \
    X(EXIT, 35)     /* its end (config.h); the last frame of its stream */             \
    X(FAILED, 36)   /* init itself can't go on: text; the last frame of all */         \
    X(OPEN, 37)     /* a connection: u64 enum doorway_kind */                          \
    /* either way */                                                                   \
    X(DATA, 64)     /* bytes of a lane */                                              \
    X(END, 65)      /* the lane carries nothing more */                                \
    X(CREDIT, 66)   /* u64: so many bytes more may be sent on this lane */             \
    X(CLOSE, 67)    /* of a connection, whatever is still on its way */

enum frame_type {
    FRAME_NONE,
#define X(id, value) FRAME_##id = value,
    FRAME_TYPE_MAP(X)
#undef X
};
const char *frame_type_name(uint8_t type); /* NULL when there is no such type */

struct frame {
    uint8_t type;
    uint8_t lane;
    uint8_t id[FRAME_ID];
    uint32_t size;
    const uint8_t *payload; /* lies in the reader */
};

/* Writes a header for `frame` (its payload follows it on the wire). */
void frame_header(uint8_t ret_bytes[FRAME_HEADER], const struct frame *frame);

/* Cuts a stream of bytes into frames.  Large: one for each channel. */
struct frame_reader {
    size_t used, taken;
    bool broken;
    uint8_t bytes[4 * (FRAME_HEADER + FRAME_PAYLOAD_MAX)];
};
void frame_reader_init(struct frame_reader *reader);

/* Where the next bytes from the stream go, and how many there is room for; after
 * reading, frame_reader_filled() tells how many came.  Never no room once next() has
 * returned 0. */
uint8_t *frame_reader_room(struct frame_reader *reader, size_t *ret_room);
void frame_reader_filled(struct frame_reader *reader, size_t count);

/* 1: *ret_frame is the next frame, its payload valid until the next call that takes the
 * reader; 0: more bytes are needed; -1: what came is no frame (wrong size, type, padding),
 * and never will be again. */
int frame_reader_next(struct frame_reader *reader, struct frame *ret_frame);

/* How many bytes at least are missing for next() to return a frame: a reader that takes
 * no more of them leaves the next frame in the stream. */
size_t frame_reader_missing(const struct frame_reader *reader);

/* Overwrites the payload of the frame that came last: the reader keeps no other copy. */
void frame_reader_wipe(struct frame_reader *reader, const struct frame *frame);

#endif
