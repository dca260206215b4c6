/* The child that compiles: what comes out of it, and what it says when nothing does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "in_child.h"
#include "nacre/own.h"
#include "wt_engine.h"
#include "wt_zygote.h"

/* As the zygote has it, before it forks. */
static int load_engine(void **state)
{
    struct nacre_error err;

    (void)state;
    return nacre_wasmtime_load(&err) == NACRE_OK ? 0 : -1;
}

struct job {
    int module_fd, code_fd, note_fd;
    uint32_t fd_count;
    struct wt_note *note;
};

static void job_clear(struct job *job)
{
    (void)close(job->module_fd);
    (void)close(job->code_fd);
    (void)close(job->note_fd);
    (void)munmap(job->note, sizeof(*job->note));
}

static void job_make(struct job *job, const void *bytes, size_t count)
{
    *job = (struct job){ .module_fd = memfd_create("module", MFD_CLOEXEC),
                         .code_fd = memfd_create("code", MFD_CLOEXEC),
                         .note_fd = memfd_create("note", MFD_CLOEXEC),
                         .fd_count = 3 };
    assert_true(job->module_fd >= 0 && job->code_fd >= 0 && job->note_fd >= 0);
    assert_int_equal(write(job->module_fd, bytes, count), count);
    assert_int_equal(ftruncate(job->note_fd, sizeof(*job->note)), 0);
    job->note = mmap(NULL, sizeof(*job->note), PROT_READ | PROT_WRITE, MAP_SHARED,
                     job->note_fd, 0);
    assert_ptr_not_equal(job->note, MAP_FAILED);
    job->note->status = UINT32_MAX;
}

static void job_make_wat(struct job *job, const char *wat)
{
    wasm_byte_vec_t binary;

    if (wasmtime_wat2wasm(wat, strlen(wat), &binary))
        fail_msg("not a module: %s", wat);
    job_make(job, binary.data, binary.size);
    wasm_byte_vec_delete(&binary);
}

static int compile(void *data)
{
    const struct job *job = data;

    wt_compile_main((int[]){ job->module_fd, job->code_fd, job->note_fd }, job->fd_count);
}

/* In a process of its own, so that this one never has an engine before it forks. */
static int load_code(void *data)
{
    const struct job *job = data;
    wasm_engine_t *engine = wt_engine_new(false);
    wasmtime_module_t *module = NULL;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", job->code_fd);
    CHILD_CHECK(!wasmtime_module_deserialize_file(engine, path, &module));
    CHILD_CHECK(module);
    return 0;
}

static void a_module_becomes_code_that_the_engine_loads(void **state)
{
    NACRE_AUTO(job_clear) struct job job;

    (void)state;
    job_make_wat(&job, "(module (func (export \"_start\")))");
    assert_exited(in_child(compile, &job), 0);
    assert_int_equal(job.note->status, NACRE_OK);
    assert_string_equal(job.note->text, "");
    assert_true(job.note->size > 0);
    assert_int_equal(lseek(job.code_fd, 0, SEEK_END), job.note->size);
    assert_exited(in_child(load_code, &job), 0);
    /* The control: what is not that code is not loaded. */
    assert_int_equal(ftruncate(job.code_fd, 100), 0);
    assert_exited(in_child(load_code, &job), CHILD_CHECK_FAILED);
}

static void assert_refused(struct job *job, const char *what)
{
    assert_exited(in_child(compile, job), 0);
    if (job->note->status != NACRE_ERR_NOT_RUNNABLE ||
        strncmp(job->note->text, "not a valid module: ", 20) != 0)
        fail_msg("%s: %u: %s", what, job->note->status, job->note->text);
    assert_true(memchr(job->note->text, '\0', sizeof(job->note->text)) != NULL);
    assert_int_equal(lseek(job->code_fd, 0, SEEK_END), 0);
    assert_int_equal(job->note->size, 0);
}

static void what_is_no_module_is_told_and_leaves_no_code(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
    } cases[] = {
        { "x", 1 },
        { "\0asm", 4 },
        { "\0asm\1\0\0\0\x0a", 9 },              /* a section that ends too early */
        { "\0asm\1\0\0\0\xff\0", 10 },           /* one that there is not */
        { "\0asm\2\0\0\0", 8 },                  /* a version that there is not */
        { "\0asm\x0d\0\1\0", 8 },                /* a component */
        { "\0asm\1\0\0\0\3\2\1\0", 12 },         /* a function of no type */
        { "\177ELF\2\1\1", 7 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        NACRE_AUTO(job_clear) struct job job;

        job_make(&job, cases[i].bytes, cases[i].count);
        assert_refused(&job, cases[i].bytes);
    }
}

/* Whatever was looked at before: here nothing of these is compiled. */
static void proposals_that_are_off_are_refused_here_too(void **state)
{
    static const char *const modules[] = {
        "(module (memory i64 1))",
        "(module (memory 1) (memory 1))",
        "(module (memory 1 1 shared))",
        "(module (tag (param i32)))",
        "(module (type (struct)))",
        "(module (memory 1 (pagesize 1)))",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(modules); i++) {
        NACRE_AUTO(job_clear) struct job job;

        job_make_wat(&job, modules[i]);
        assert_refused(&job, modules[i]);
    }
}

static void code_that_can_not_be_written_is_the_hosts_failure(void **state)
{
    NACRE_AUTO(job_clear) struct job job;

    (void)state;
    job_make_wat(&job, "(module)");
    (void)close(job.code_fd);
    job.code_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_exited(in_child(compile, &job), 0);
    assert_int_equal(job.note->status, NACRE_ERR_IO);
    assert_non_null(strstr(job.note->text, "can't write the compiled code"));
}

static void orders_that_make_no_sense_end_without_a_word(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        NACRE_AUTO(job_clear) struct job job;

        job_make_wat(&job, "(module)");
        if (i < 2)
            job.fd_count = i == 0 ? 2 : 4;
        else
            assert_int_equal(ftruncate(job.module_fd, 0), 0);
        assert_exited(in_child(compile, &job), 1);
        assert_int_equal(job.note->status, UINT32_MAX);
        assert_int_equal(lseek(job.code_fd, 0, SEEK_END), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_becomes_code_that_the_engine_loads),
        cmocka_unit_test(what_is_no_module_is_told_and_leaves_no_code),
        cmocka_unit_test(proposals_that_are_off_are_refused_here_too),
        cmocka_unit_test(code_that_can_not_be_written_is_the_hosts_failure),
        cmocka_unit_test(orders_that_make_no_sense_end_without_a_word),
    };

    return cmocka_run_group_tests_name("wt_compile", tests, load_engine, NULL);
}
