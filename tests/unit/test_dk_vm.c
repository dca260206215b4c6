/* Machines as their owner sees them: which runtime is taken for one and which proof holds,
 * and how it ends.  The inits are played by a script; no engine, no QEMU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "dk_kata.h"
#include "dk_thread.h"
#include "dk_vm.h"
#include "fake_init.h"

#define RUNC "\"runc\":{\"path\":\"runc\"}"
#define SOON_MS 5000

/* ---- which runtime ---- */

static const struct {
    const char *runtimes;
    const char *kata, *firecracker; /* NULL: none */
} rows[] = {
    { "{}", NULL, NULL },
    { "null", NULL, NULL },
    { "{" RUNC "}", NULL, NULL },
    { "{" RUNC ",\"runsc\":{\"path\":\"/usr/bin/runsc\"}}", NULL, NULL },
    { "{" RUNC ",\"katana\":{\"path\":\"/usr/bin/katana\"}}", NULL, NULL },
    { "{" RUNC ",\"mine\":{\"path\":\"/opt/kata/runc\"}}", NULL, NULL },
    { "{" RUNC ",\"kata\":{\"path\":\"/opt/wrapper\"}}", "kata", NULL },
    { "{" RUNC ",\"mine\":{\"path\":\"/opt/kata/bin/kata-runtime\"}}", "mine", NULL },
    { "{\"mine\":{\"path\":\"/opt/bin/containerd-shim-kata-v2\"}}", "mine", NULL },
    { "{\"mine\":{\"runtimeType\":\"io.containerd.kata.v2\"}}", "mine", NULL },
    { "{\"a\":{\"runtimeType\":\"io.containerd.kata-fc.v2\"}}", "a", "a" },
    { "{\"kata-fc\":{\"path\":\"runc\"}}", "kata-fc", "kata-fc" },
    { "{\"kata-qemu\":{\"path\":\"x\"},\"kata-fc\":{\"path\":\"x\"}}", "kata-fc",
      "kata-fc" },
    { "{\"kata\":{\"path\":\"x\"},\"kata-clh\":{\"path\":\"/bin/kata-runtime\"}}",
      "kata-clh", NULL },
};

static void is_taken(const char *runtimes, const char *taken, const char *wanted)
{
    if (wanted ? !taken || strcmp(taken, wanted) != 0 : taken != NULL)
        fail_msg("%s: %s was taken", runtimes, taken ? taken : "none");
}

static void the_runtime_that_is_most_like_kata_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(dk_json_guard) json_t *info = json_object();
        json_t *runtimes = json_loads(rows[i].runtimes, JSON_DECODE_ANY, NULL);

        assert_non_null(runtimes);
        assert_int_equal(json_object_set_new(info, "Runtimes", runtimes), 0);
        is_taken(rows[i].runtimes, dk_kata_runtime(info), rows[i].kata);
        is_taken(rows[i].runtimes, dk_kata_firecracker(info), rows[i].firecracker);
    }
}

/* ---- what proves it ---- */

static void answer(struct fake_init *fake)
{
    (void)fake_init_report(fake);
    fake_init_idle(fake);
}

static const struct init_config asks = { .beat_ms_max = 5000, .commands_max = 1,
                                         .oom_file = "",
                                         .questions = dk_kata_questions,
                                         .question_count = 4 };

#define BOOT_ID "file /proc/sys/kernel/random/boot_id"
#define SENTRY "file /proc/sentry-meminfo"
#define VERSION "file /proc/version"
#define VIRTIO "stat /sys/bus/virtio/devices/virtio0"
#define NONE "error ENOENT"
#define THERE "1 2 40755 0 0 sysfs 0 0 0"

static const struct {
    struct fake_answer answers[5];
    const char *says; /* NULL: it is a machine */
} proofs[] = {
    { { { BOOT_ID, "other" }, { SENTRY, NONE }, { VERSION, "v" }, { VIRTIO, THERE } },
      NULL },
    { { { BOOT_ID, "ours\n" }, { SENTRY, NONE }, { VERSION, "v" }, { VIRTIO, THERE } },
      "'kata' is not a machine's: the kernel inside is this machine's own" },
    { { { BOOT_ID, "other" }, { SENTRY, "x" }, { VERSION, "v" }, { VIRTIO, THERE } },
      "is gVisor's sentry" },
    { { { BOOT_ID, "other" }, { SENTRY, NONE }, { VERSION, "v" }, { VIRTIO, NONE } },
      "has no virtio bus" },
    { { { BOOT_ID, NONE }, { SENTRY, NONE }, { VERSION, "v" }, { VIRTIO, THERE } },
      "has no virtio bus" },
};

static enum nacre_status prove(const struct dk_site *site,
                               const struct fake_answer *answers, struct nacre_error *err)
{
    struct fake_init fake = { .script = answer, .answers = answers };
    NACRE_AUTO(nt_box_guard) struct nt_box *box = NULL;
    struct nt_stream stream;
    enum nacre_status status;

    assert_int_equal(nt_stream_fd(fake_init_start(&fake), &stream, err), NACRE_OK);
    assert_int_equal(nt_box_open(&stream, &asks, dk_within_ms(SOON_MS), &box, err),
                     NACRE_OK);
    status = dk_kata_prove(site, box, "kata", err);
    nt_box_free(nt_box_take(&box));
    fake_init_join(&fake);
    return status;
}

/* What an engine on this machine says. */
static json_t *info_of_ours(void)
{
    struct utsname ours;

    assert_int_equal(uname(&ours), 0);
    return json_pack("{s:s}", "KernelVersion", ours.release);
}

static void a_machine_is_proved_from_inside(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *info = info_of_ours();
    const struct dk_site site = { .boot_id = "ours", .info = info };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(proofs); i++) {
        struct nacre_error err;
        enum nacre_status status = prove(&site, proofs[i].answers, &err);

        assert_int_equal(status, proofs[i].says ? NACRE_ERR_UNAVAILABLE : NACRE_OK);
        if (proofs[i].says && !strstr(err.text, proofs[i].says))
            fail_msg("proof %zu: %s", i, err.text);
    }
}

/* There an alias of runc has another boot id than ours, and often a virtio bus. */
static void of_an_engine_elsewhere_nothing_is_proved(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *ours = info_of_ours();
    NACRE_AUTO(dk_json_guard) json_t *other = json_pack("{s:s}", "KernelVersion", "2.6");
    const struct dk_site sites[] = { { .boot_id = "ours", .info = other },
                                     { .boot_id = "ours" },
                                     { .boot_id = "", .info = ours } };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sites); i++) {
        struct nacre_error err;

        assert_int_equal(prove(&sites[i], proofs[0].answers, &err),
                         NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(err.text, "the engine is on another kernel"));
    }
}

/* ---- how it ends ---- */

static const struct init_config plain = { .beat_ms_max = 5000, .commands_max = 1,
                                          .oom_file = "" };

/* The init of the container; QEMU is what its script plays. */
static struct nt_box *around_of(struct fake_init *fake)
{
    struct nt_box *box = NULL;
    struct nt_stream stream;
    struct nacre_error err;

    assert_int_equal(nt_stream_fd(fake_init_start(fake), &stream, &err), NACRE_OK);
    if (nt_box_open(&stream, &plain, dk_within_ms(SOON_MS), &box, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return box;
}

static enum nacre_status boot(struct fake_init *fake, uint32_t within_ms,
                              struct nacre_error *err)
{
    static const char *const words[] = { "qemu", NULL };
    const struct init_machine machine = { .hostname = "nacre" };
    NACRE_AUTO(nt_box_guard) struct nt_box *around = around_of(fake);
    struct dk_vm *vm = NULL;
    enum nacre_status status =
        dk_vm_open(&(struct dk_vm_order){ .around = around, .words = words,
                                          .machine = &machine, .config = &plain,
                                          .wait = dk_within_ms(within_ms) },
                   &vm, err);

    dk_vm_free(vm);
    nt_box_free(nt_box_take(&around));
    fake_init_join(fake);
    return status;
}

static bool begin(struct fake_init *fake, uint8_t ret_id[FRAME_ID])
{
    bool input = false;

    if (!fake_init_report(fake) || !fake_init_await_start(fake, ret_id, &input) || !input)
        return false;
    fake_init_send(fake, FRAME_STARTED, 0, ret_id, NULL, 0);
    return true;
}

static void end_with(struct fake_init *fake, uint64_t how, uint64_t status, uint64_t kills)
{
    uint8_t id[FRAME_ID];

    if (!begin(fake, id))
        return;
    fake_init_send(fake, FRAME_DATA, 2, id, "no \033 device\n", 12);
    fake_init_exit(fake, id, &(struct init_exit){ .how = how, .status = status,
                                                  .oom_kills = kills });
    fake_init_idle(fake);
}

static void exits(struct fake_init *fake)
{
    end_with(fake, INIT_HOW_EXITED, 1, 0);
}

static void is_killed(struct fake_init *fake)
{
    end_with(fake, INIT_HOW_SIGNALLED, 9, 0);
}

static void runs_out(struct fake_init *fake)
{
    end_with(fake, INIT_HOW_SIGNALLED, 9, 1);
}

static void hangs_up(struct fake_init *fake)
{
    uint8_t id[FRAME_ID];

    if (begin(fake, id))
        fake_init_hang_up(fake);
}

static void why_a_machine_did_not_come_up_is_told(void **state)
{
    static const struct {
        void (*script)(struct fake_init *fake);
        const char *says;
    } ends[] = {
        { exits, "QEMU ended with status 1, saying: no \\x1b device" },
        { is_killed, "QEMU was killed by signal 9" },
        { runs_out, "the kernel killed QEMU for memory" },
        { hangs_up, "the machine has ended: " },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(ends); i++) {
        struct fake_init fake = { .script = ends[i].script };
        struct nacre_error err;

        assert_int_equal(boot(&fake, SOON_MS, &err), NACRE_ERR_IO);
        if (!strstr(err.text, ends[i].says))
            fail_msg("end %zu: %s", i, err.text);
    }
}

static void stays_silent(struct fake_init *fake)
{
    uint8_t id[FRAME_ID];

    if (begin(fake, id) && fake_init_await_kill(fake))
        fake_init_exit(fake, id, &(struct init_exit){ .how = INIT_HOW_KILLED,
                                                      .status = 9 });
    fake_init_idle(fake);
}

static void one_that_says_nothing_is_waited_for_and_ended(void **state)
{
    struct fake_init fake = { .script = stays_silent };
    struct nacre_error err;

    (void)state;
    assert_int_equal(boot(&fake, 200, &err), NACRE_ERR_TIMEOUT);
    assert_true(fake.kills > 0);
}

/* What QEMU writes is the init inside, and comes as it is. */
static void says_that_it_can_not(struct fake_init *fake)
{
    uint8_t id[FRAME_ID], bytes[256];
    struct fake_init inner = { .script = NULL };
    int ends[2];
    ssize_t count;

    if (!begin(fake, id) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    inner.fd = ends[1];
    fake_init_fail(&inner, "there is no disk");
    count = read(ends[0], bytes, sizeof(bytes));
    (void)close(ends[0]);
    (void)close(ends[1]);
    fake_init_send(fake, FRAME_DATA, 1, id, bytes, (size_t)count);
    if (fake_init_await_kill(fake))
        fake_init_exit(fake, id, &(struct init_exit){ .how = INIT_HOW_KILLED,
                                                      .status = 9 });
    fake_init_idle(fake);
}

static void the_word_of_the_init_inside_comes_through(void **state)
{
    struct fake_init fake = { .script = says_that_it_can_not };
    struct nacre_error err;

    (void)state;
    assert_int_equal(boot(&fake, SOON_MS, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "there is no disk"));
}

/* ---- who looks after it ---- */

static void *see_signals(void *data)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, data);
    return NULL;
}

static void signals_are_for_the_threads_of_the_embedder(void **state)
{
    sigset_t theirs, ours;
    pthread_t thread;

    (void)state;
    (void)sigemptyset(&theirs);
    assert_true(dk_thread_start(&thread, see_signals, &theirs));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(sigismember(&theirs, SIGINT) && sigismember(&theirs, SIGTERM));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &ours), 0);
    assert_false(sigismember(&ours, SIGINT));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_runtime_that_is_most_like_kata_is_taken),
        cmocka_unit_test(a_machine_is_proved_from_inside),
        cmocka_unit_test(of_an_engine_elsewhere_nothing_is_proved),
        cmocka_unit_test(why_a_machine_did_not_come_up_is_told),
        cmocka_unit_test(one_that_says_nothing_is_waited_for_and_ended),
        cmocka_unit_test(the_word_of_the_init_inside_comes_through),
        cmocka_unit_test(signals_are_for_the_threads_of_the_embedder),
    };

    return cmocka_run_group_tests_name("dk_vm", tests, NULL, NULL);
}
