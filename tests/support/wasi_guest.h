#ifndef NACRE_TEST_WASI_GUEST_H
#define NACRE_TEST_WASI_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre_wasi.h"
#include "preview1.h"

/*
 * A guest without an engine: a memory, a tree of files and the shims called as the
 * engine would.  The tree is fresh for each guest:
 *
 *   in/    the first mount, "/in", read-write: a file "file" with "inside" in it and
 *          a directory "dir" with a file "deep"
 *   ro/    the second mount, "/ro", read-only, with the same
 *   out/   no mount: a file "canary" with "outside" in it
 *
 * and "/own", the third mount, is private.  Numbers: 3, 4 and 5.
 */
#define GUEST_IN 3
#define GUEST_RO 4
#define GUEST_OWN 5
#define GUEST_MEMORY 65536
#define GUEST_OUTPUT 4096

struct guest {
    char top[64];
    int top_fd, in_fd, scratch_fd;
    struct nacre_wasi *wasi;
    struct nacre_wasi_memory memory; /* exactly as large as said: a sanitizer guards it */
    struct nacre_wasi_mount mounts[3];
    struct nacre_wasi_config config;
    struct nacre_wasi_record record;
    struct nacre_wasi_call call;
    unsigned char output[2][GUEST_OUTPUT];
};

/* Make the tree and the configuration; change the latter, then start. */
void guest_prepare(struct guest *guest);
void guest_start(struct guest *guest);
/* End the run and begin another with the same configuration. */
void guest_restart(struct guest *guest);
void guest_finish(struct guest *guest);

/* The engine's way in.  Numbers are taken by the function's signature. */
int guest_call(struct guest *guest, const char *name, const int64_t *numbers);
#define CALL(guest, name, ...) guest_call(guest, name, (const int64_t[]){ __VA_ARGS__ })

/* Fixed addresses of the guest, far enough apart for paths. */
#define GUEST_TEXT 0x100
#define GUEST_TEXT2 0x1200
#define GUEST_RESULT 0x10  /* where the helpers below let results be put */
#define GUEST_BUFFER 0x4000
uint32_t guest_text(struct guest *guest, uint32_t address, const char *text);
uint32_t guest_u32(const struct guest *guest, uint32_t address);
uint64_t guest_u64(const struct guest *guest, uint32_t address);

/* Each returns the function's errno. */
#define READ P1_RIGHT_FD_READ
#define WRITE P1_RIGHT_FD_WRITE
int guest_open(struct guest *guest, uint32_t dir, const char *path, uint32_t lookup,
               uint32_t oflags, uint64_t rights, uint32_t *ret_number);
int guest_close(struct guest *guest, uint32_t number);
int guest_stat(struct guest *guest, uint32_t dir, const char *path, uint32_t lookup);
int guest_mkdir(struct guest *guest, uint32_t dir, const char *path);
int guest_rmdir(struct guest *guest, uint32_t dir, const char *path);
int guest_unlink(struct guest *guest, uint32_t dir, const char *path);
int guest_symlink(struct guest *guest, const char *target, uint32_t dir,
                  const char *path);
int guest_link(struct guest *guest, uint32_t from_dir, const char *from, uint32_t to_dir,
               const char *to);
int guest_rename(struct guest *guest, uint32_t from_dir, const char *from,
                 uint32_t to_dir, const char *to);
int guest_readlink(struct guest *guest, uint32_t dir, const char *path);
int guest_touch(struct guest *guest, uint32_t dir, const char *path);
int guest_write(struct guest *guest, uint32_t number, const char *text);
/* What was read lies at GUEST_BUFFER, its count at GUEST_RESULT. */
int guest_read(struct guest *guest, uint32_t number, uint32_t count);
int guest_pwrite(struct guest *guest, uint32_t number, const char *text, uint64_t offset);

/* Open, read, close: is `text` what the file begins with?  For positive controls. */
bool guest_reads(struct guest *guest, uint32_t dir, const char *path, const char *text);

/* How many refusals with this code are on record. */
uint32_t guest_denials(const struct guest *guest, const char *code);

/* ---- the observer outside ---- */

/* Paths are relative to the top.  False when there is no such file. */
bool outside_holds(const struct guest *guest, const char *path, const char *text);
void outside_file(const struct guest *guest, const char *path, const char *text);
void outside_dir(const struct guest *guest, const char *path);
void outside_link(const struct guest *guest, const char *target, const char *path);
bool outside_exists(const struct guest *guest, const char *path);
/* How many names are in a directory. */
uint32_t outside_count(const struct guest *guest, const char *path);

#endif
