#ifndef NACRE_TEST_INIT_OWNER_H
#define NACRE_TEST_INIT_OWNER_H

#include <sys/types.h>

#include "config.h"

/*
 * The real nacre-init and a plain owner of it, who says exactly what the test wants.
 * Every wait has an end, at which the test fails.
 */
enum owner_place {
    OWNER_CHILD, /* an ordinary process with the walls of a container's */
    OWNER_NONE,  /* level none */
    OWNER_PID1,  /* pid 1 of a pid, mount and user namespace, as an ordinary user */
    OWNER_SETUP, /* an ordinary process, for a setup command */
};

/* A loop over the places that a container and a process have. */
#define OWNER_BOTH(place)                                                            \
    for (enum owner_place place = OWNER_CHILD; place <= OWNER_PID1;                   \
         place += OWNER_PID1 - OWNER_CHILD)

#define OWNER_OUTPUT ((size_t)64 << 10) /* kept of each lane; the rest is counted */
#define OWNER_COMMANDS 70

struct owned {
    bool is_used, is_started, is_refused, is_ended;
    uint64_t refusal, error; /* REFUSED */
    char text[4097];
    struct init_exit exit; /* EXIT */
    bool lane_ended[2];
    bool keep_credit; /* give none */
    uint64_t count[2];
    char output[2][OWNER_OUTPUT + 1]; /* terminated */
    uint64_t input_credit;
};

struct owner {
    int fd;
    pid_t pid;      /* of init or of its parent; it leaves with init's status */
    pid_t init_pid; /* as this process sees it */
    struct frame_reader reader;
    bool is_sending;
    size_t out_used;
    uint8_t out[1 << 20];
    bool is_at_end;    /* of the channel */
    bool has_failed;   /* FAILED came */
    char failure[4097];
    uint8_t *report;
    size_t report_used;
    bool is_reported;
    struct owned commands[OWNER_COMMANDS];
    /* Gets every frame first; true: it was one of a connection, and is done with. */
    bool (*carried)(struct owner *owner, const struct frame *frame);
};

/* A configuration that asks for nothing: long beats, 64 commands, no Landlock. */
struct init_config owner_config_plain(void);
/* A command of /bin/sh in "/", with a minute.  Good until the fourth one after it. */
struct init_start owner_shell(const char *script);

struct owner *owner_open(enum owner_place place);
/* The same, configured: its report has come. */
struct owner *owner_ready(enum owner_place place);
void owner_configure(struct owner *owner, const struct init_config *config);
/* Closes the channel, waits for init's end and frees.  Returns its wait status. */
int owner_close(struct owner *owner);
/* Waits for init's end with the channel still open. */
int owner_wait(struct owner *owner);

/* A frame of command `number` (0: of the sandbox); whole messages are sent in parts. */
void owner_send(struct owner *owner, enum frame_type type, uint8_t lane, size_t number,
                const void *payload, size_t size);
void owner_send_raw(struct owner *owner, const void *bytes, size_t count);
void owner_send_number(struct owner *owner, enum frame_type type, uint8_t lane,
                       size_t number, uint64_t value);
void owner_start(struct owner *owner, size_t number, const struct init_start *start);

/* Takes in what comes for at most so long; false: nothing came, or the channel ended. */
bool owner_pump(struct owner *owner, int wait_ms);
/* Until the command has ended or was refused, or the channel is at its end. */
struct owned *owner_finish(struct owner *owner, size_t number);
struct owned *owner_run(struct owner *owner, size_t number,
                        const struct init_start *start);
void owner_assert_exit(const struct owned *command, enum init_how how, unsigned status);
/* Until the command's stdout holds `text`. */
void owner_await(struct owner *owner, size_t number, const char *text);

/* The report's answer, to be freed; fails the test when there is none. */
char *owner_answer(const struct owner *owner, const char *question, size_t *ret_count);

#endif
