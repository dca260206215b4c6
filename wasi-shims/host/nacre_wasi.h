#ifndef NACRE_WASI_H
#define NACRE_WASI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/module.h"
#include "nacre/plan.h"
#include "nacre/result.h"

/*
 * WASI preview1 and nacre's own calls for one sandbox.  Nothing here knows the engine (link.c alone does)
 * and nothing is global: one struct nacre_wasi serves one guest at a time.
 *
 * It trusts its configuration and nothing that comes from the guest: every pointer
 * and length is checked against the memory as it is at that moment.
 */
struct nacre_wasi;

/* The guest's memory.  Whoever owns it keeps both current; the base never moves
 * while a guest runs, the size may grow inside any call. */
struct nacre_wasi_memory {
    unsigned char *base;
    size_t size;
};

struct nacre_wasi_mount {
    const char *guest; /* the preopen's name */
    int fd;            /* the directory, borrowed; -1: private, made at first use */
    bool writable;
    bool is_root;      /* mode full: absolute links and ".." resolve against it */
    const char *const *denied; /* normalised, relative to the mount; "" is all of it */
    uint32_t denied_count;
    const char *const *covered; /* the same for names that another mount holds */
    uint32_t covered_count;
};

struct nacre_wasi_config {
    const struct nacre_wasi_mount *mounts; /* borrowed for the life of the wasi */
    uint32_t mount_count;
    int scratch_fd;            /* where private directories are made; -1: none are */
    uint64_t open_files_max;   /* beyond stdio and preopens */
    uint64_t scratch_bytes_max, scratch_files_max;
    bool has_door;             /* false: every request is answered DENIED */
    int door_fd;               /* a stream socket to the guest's door (nacre/door_wire.h),
                                  borrowed */
    bool without_openat2;      /* tests only: take the fallback walk */
};

enum nacre_wasi_ending {
    NACRE_WASI_RUNNING,
    NACRE_WASI_EXITED,       /* proc_exit: exit_status holds */
    NACRE_WASI_TIMED_OUT,    /* a call saw the deadline pass */
    NACRE_WASI_OUTPUT_LIMIT, /* a write did not fit */
};

struct nacre_wasi_denial {
    uint32_t mount;    /* index; the mounts' count: the directory of secrets; UINT32_MAX
                          when no mount was concerned */
    char code[24];     /* denied-path, covered-path, read-only, escape, special-file,
                          kernel-filesystem, open-files, scratch-full, no-network */
    char path[228];    /* or the host that was asked for; as far as it fits, made fit to
                          print */
};

/* What has happened so far.  Lives in memory that outlives the process that runs
 * the guest, so that a kill loses nothing; zeroed by whoever starts a run. */
struct nacre_wasi_record {
    _Atomic uint32_t ending; /* enum nacre_wasi_ending */
    uint32_t exit_status;
    _Atomic uint64_t output_used[2]; /* bytes in the two streams' buffers */
    uint64_t bytes_read, bytes_written, files_opened;
    uint64_t denials_seen;
    uint32_t denial_count;
    struct nacre_wasi_denial denials[NACRE_DENIALS_MAX];
};

/* One run.  Everything is borrowed until nacre_wasi_end(). */
struct nacre_wasi_call {
    const char *const *arguments;   /* with the program's name first */
    uint32_t argument_count;
    const char *const *environment; /* "K=V" */
    uint32_t environment_count;
    int input_fd;                   /* stdin, or -1 for an empty one */
    const unsigned char *input;     /* stdin's bytes, in place of input_fd; or NULL */
    size_t input_bytes;
    uint32_t terminals;             /* bits 0, 1, 2: the stream is a terminal */
    const struct nacre_secret_file *secret_files; /* read-only below NACRE_SECRET_DIR; */
    uint32_t secret_file_count;                   /* 0: there is no such directory */
    uint64_t deadline_ns;           /* in nacre_clock_ns() */
    struct nacre_wasi_memory *memory;
    struct nacre_wasi_record *record;
    unsigned char *output[2];       /* each with room for output_bytes_max */
    uint64_t output_bytes_max;      /* for both streams together */
    int trace_fd;                   /* receives a JSON line for each call; 0: none */
    void (*on_output)(void *data);  /* after each write; may be NULL */
    void *on_output_data;
};

NACRE_MUST_CHECK enum nacre_status nacre_wasi_new(const struct nacre_wasi_config *config,
                                                  struct nacre_wasi **ret_wasi,
                                                  struct nacre_error *err);
void nacre_wasi_free(struct nacre_wasi *wasi); /* accepts NULL */
NACRE_OWNED(nacre_wasi)

/* A fresh fd table: 0, 1, 2, then a preopen for each mount, and one for the secrets if
 * there are any.  Nothing of an earlier run is left.  end() closes what the guest opened
 * and removes what it made in private directories; its failure (they could not be
 * emptied, or the line to the door was left in the middle of a message) means that this
 * wasi may not be used again. */
NACRE_MUST_CHECK enum nacre_status nacre_wasi_begin(struct nacre_wasi *wasi,
                                                    const struct nacre_wasi_call *call,
                                                    struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_wasi_end(struct nacre_wasi *wasi,
                                                  struct nacre_error *err);

/* ---- the functions ---- */

/* How an argument or result looks to the engine: one cell each. */
union nacre_wasi_cell {
    int32_t i32;
    int64_t i64;
    unsigned char raw[16];
};

#define NACRE_WASI_UNWIND (-1) /* leave the guest now: record->ending says why */

struct nacre_wasi_function {
    const char *module;    /* NACRE_WASI_MODULE or NACRE_WASI_OWN_MODULE */
    const char *name;      /* path_open */
    const char *signature; /* one letter a parameter, i = i32, I = i64, then ':' and the
                              results: "iiiiiIIii:i" */
    enum nacre_capability capability;
    /* The WASI errno (in our own module: enum nacre_http_code), or NACRE_WASI_UNWIND.
     * The caller stores it as the result. */
    int (*call)(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells);
};

#define NACRE_WASI_MODULE "wasi_snapshot_preview1"
#define NACRE_WASI_OWN_MODULE "nacre"

/* The whole of preview1 and of our own module, one row a function. */
const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count);

/* Calls it and, where the run is traced, writes the line. */
int nacre_wasi_enter(struct nacre_wasi *wasi, const struct nacre_wasi_function *function,
                     const union nacre_wasi_cell *cells);

/* Register every row with a wasmtime linker (link.c).  The store's data must be the
 * struct nacre_wasi of the run. */
struct wasmtime_linker;
NACRE_MUST_CHECK enum nacre_status nacre_wasi_link(struct wasmtime_linker *linker,
                                                   struct nacre_error *err);

#endif
