/*
 * The child that compiles one module and ends.  The module is hostile: compilers
 * have been made to ask for 13 GB by 0.7 MB of input and to run for minutes.  So
 * this process sees no mount, opens nothing, and has limits of its own; the
 * supervisor holds the deadline.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "nacre/own.h"
#include "capabilities.h"
#include "rlimits.h"
#include "seccomp.h"
#include "wt_engine.h"
#include "wt_zygote.h"

/* CPython as a module (26 MB) takes about 1.2 GB on two cores. */
#define COMPILE_BYTES_MAX ((uint64_t)4 << 30)
#define ARTIFACT_BYTES_MAX ((uint64_t)1 << 30)

static enum nacre_status compile(const unsigned char *bytes, size_t count,
                                 int artifact_fd, uint64_t *ret_size,
                                 struct nacre_error *err)
{
    wasm_engine_t *engine = wt_engine_new(true);
    wasmtime_module_t *module = NULL;
    wasm_byte_vec_t artifact;
    wasmtime_error_t *error;
    size_t written = 0;

    error = wasmtime_module_new(engine, bytes, count, &module);
    if (error)
        return wt_fail(err, NACRE_ERR_NOT_RUNNABLE, "not a valid module", error);
    error = wasmtime_module_serialize(module, &artifact);
    if (error)
        return wt_fail(err, NACRE_ERR_BACKEND, "serialize", error);
    while (written < artifact.size) {
        ssize_t done =
            write(artifact_fd, artifact.data + written, artifact.size - written);

        if (done <= 0)
            return nacre_fail(err, NACRE_ERR_IO, "can't write the compiled code");
        written += (size_t)done;
    }
    *ret_size = artifact.size;
    return NACRE_OK;
}

static enum nacre_status confine(struct nacre_error *err)
{
    const struct nacre_rlimits limits = { .memory_bytes_max = COMPILE_BYTES_MAX,
                                          .open_files_max = 64,
                                          .file_bytes_max = ARTIFACT_BYTES_MAX };
    enum nacre_status status = nacre_rlimits_worker(&limits, err);

    if (status == NACRE_OK)
        status = nacre_capabilities_drop(err);
    if (status != NACRE_OK)
        return status;
    return nacre_seccomp_install(nacre_seccomp_program(NACRE_SECCOMP_COMPILER), err);
}

_Noreturn void wt_compile_main(const int *fds, uint32_t fd_count)
{
    struct nacre_error err = { .status = NACRE_OK };
    struct stat info;
    struct wt_note *note;
    const unsigned char *bytes;

    if (fd_count != 3 || fstat(fds[0], &info) != 0)
        _exit(1);
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fds[0], 0);
    note = mmap(NULL, sizeof(*note), PROT_READ | PROT_WRITE, MAP_SHARED, fds[2], 0);
    if (bytes == MAP_FAILED || note == MAP_FAILED)
        _exit(1);
    if (confine(&err) == NACRE_OK)
        (void)!compile(bytes, (size_t)info.st_size, fds[1], &note->size, &err);
    note->status = err.status;
    (void)snprintf(note->text, sizeof(note->text), "%.479s", err.text);
    _exit(0);
}
