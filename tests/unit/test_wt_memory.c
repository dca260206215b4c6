/* Guests' memory: bounded to the byte, zeros for everyone, and a trap above its size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "in_child.h"
#include "nacre/own.h"
#include "wt_engine.h"
#include "wt_memory.h"

#define PAGE ((uint64_t)65536)

static wasm_engine_t *engine;

static int make_engine(void **state)
{
    struct nacre_error err;

    (void)state;
    if (nacre_wasmtime_load(&err) != NACRE_OK)
        return -1;
    engine = wt_engine_new(false);
    return 0;
}

static int drop_engine(void **state)
{
    (void)state;
    wasm_engine_delete(engine);
    return 0;
}

/* One instance of a module with a memory of `pages` that may grow to `pages_max`. */
struct guest {
    struct wt_account account;
    wasmtime_store_t *store;
    wasmtime_memory_t memory;
    bool lives;
};

static void guest_start(struct guest *guest, unsigned pages, unsigned pages_max,
                        uint64_t limit)
{
    char text[128];
    wasm_byte_vec_t binary;
    wasmtime_module_t *module;
    wasmtime_instance_t instance;
    wasmtime_extern_t item;
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *error;

    *guest = (struct guest){ .account = { .bytes_max = limit } };
    (void)snprintf(text, sizeof(text), "(module (memory (export \"memory\") %u %u))",
                   pages,
                   pages_max);
    assert_null(wasmtime_wat2wasm(text, strlen(text), &binary));
    assert_null(wasmtime_module_new(engine, (uint8_t *)binary.data, binary.size,
                                    &module));
    wasm_byte_vec_delete(&binary);
    guest->store = wasmtime_store_new(engine, NULL, NULL);
    wt_account_enter(&guest->account);
    error = wasmtime_instance_new(wasmtime_store_context(guest->store), module, NULL, 0,
                                  &instance, &trap);
    guest->lives = !error && !trap;
    if (error)
        wasmtime_error_delete(error);
    wasmtime_module_delete(module);
    if (guest->lives) {
        assert_true(wasmtime_instance_export_get(wasmtime_store_context(guest->store),
                                                 &instance,
                                                 "memory", 6, &item));
        guest->memory = item.of.memory;
    }
}

static bool guest_grow(struct guest *guest, uint64_t pages)
{
    uint64_t before;
    wasmtime_error_t *error = wasmtime_memory_grow(wasmtime_store_context(guest->store),
                                                   &guest->memory, pages, &before);

    if (error)
        wasmtime_error_delete(error);
    return !error;
}

static void guest_end(struct guest *guest)
{
    wasmtime_store_delete(guest->store);
    wt_account_enter(NULL);
}

static void a_memory_is_refused_one_byte_short(void **state)
{
    static const struct {
        unsigned pages;
        uint64_t limit;
        bool fits;
    } cases[] = {
        { 0, 0, true },
        { 1, PAGE, true },
        { 1, PAGE - 1, false },
        { 1, 0, false },
        { 16, 16 * PAGE, true },
        { 16, 16 * PAGE - 1, false },
        { 65536, 65536 * PAGE - 1, false },
        { 65536, 1, false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        struct guest guest;

        guest_start(&guest, cases[i].pages, 65536, cases[i].limit);
        assert_int_equal(guest.lives, cases[i].fits);
        assert_int_equal(guest.account.refused, !cases[i].fits);
        assert_int_equal(guest.account.bytes_peak,
                         cases[i].fits ? cases[i].pages * PAGE : 0);
        guest_end(&guest);
        assert_int_equal(guest.account.bytes_now, 0);
        assert_null(guest.account.memory.base);
    }
}

static void growth_is_charged_exactly_and_its_refusal_remembered(void **state)
{
    struct guest guest;

    (void)state;
    guest_start(&guest, 1, 65536, 4 * PAGE + PAGE - 1);
    assert_true(guest_grow(&guest, 3));
    assert_int_equal(guest.account.bytes_now, 4 * PAGE);
    assert_int_equal(guest.account.memory.size, 4 * PAGE);
    assert_false(guest.account.refused);
    assert_false(guest_grow(&guest, 1)); /* a byte short */
    assert_true(guest.account.refused);
    assert_int_equal(guest.account.bytes_now, 4 * PAGE);
    assert_int_equal(guest.account.memory.size, 4 * PAGE);
    assert_true(guest_grow(&guest, 0));
    guest_end(&guest);
    assert_int_equal(guest.account.bytes_peak, 4 * PAGE);
}

static void tables_come_out_of_the_same_account(void **state)
{
    struct wt_account account = { .bytes_max = 100 };

    (void)state;
    assert_true(wt_account_charge(&account, 60));
    assert_false(wt_account_charge(&account, 41));
    assert_true(account.refused);
    assert_false(wt_account_charge(&account, UINT64_MAX));
    assert_false(wt_account_charge(&account, UINT64_MAX - 59)); /* 60 + this is 0 */
    assert_int_equal(account.bytes_now, 60);
    assert_true(wt_account_charge(&account, 40));
    assert_false(wt_account_charge(&account, 1));
    assert_true(wt_account_charge(&account, 0));
    assert_int_equal(account.bytes_peak, 100);
}

static bool is_zero(const struct wt_account *account)
{
    for (size_t i = 0; i < account->memory.size; i++)
        if (account->memory.base[i])
            return false;
    return true;
}

static void what_a_run_wrote_is_gone_for_the_next(void **state)
{
    /* On both sides of what is cleared by hand. */
    static const unsigned pages[] = { 3, 1, 4, 5, 20, 2, 40 };
    unsigned char *kept = NULL;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(pages); i++) {
        struct guest guest;

        guest_start(&guest, pages[i], 64, 64 * PAGE);
        assert_true(guest.lives);
        assert_true(is_zero(&guest.account));
        /* The control: it is the very memory that the run before has written. */
        assert_true(!kept || guest.account.memory.base == kept);
        kept = guest.account.memory.base;
        assert_true(guest_grow(&guest, 3));
        assert_true(is_zero(&guest.account));
        memset(kept, 0xff, guest.account.memory.size);
        guest_end(&guest);
    }
}

/* Few pages are cleared in their place, many are given back; which it was nobody sees. */
static void pages_here_and_there_are_gone_as_well(void **state)
{
    static const struct {
        size_t first, step, count;
    } uses[] = { { 0, 1, 1 }, { 159, 1, 1 }, { 0, 159, 2 }, { 3, 5, 16 }, { 3, 5, 17 },
                 { 1, 2, 80 }, { 40, 1, 64 }, { 40, 1, 65 }, { 0, 1, 160 } };
    const size_t page = 4096;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(uses); i++) {
        struct guest guest;

        guest_start(&guest, 10, 64, 64 * PAGE);
        assert_true(guest.lives && is_zero(&guest.account));
        for (size_t j = 0; j < uses[i].count; j++) {
            size_t at = (uses[i].first + j * uses[i].step) * page;

            guest.account.memory.base[at + i] = 1;
            guest.account.memory.base[at + page - 1 - i] = 1;
        }
        guest_end(&guest);
        guest_start(&guest, 10, 64, 64 * PAGE);
        assert_true(is_zero(&guest.account));
        guest_end(&guest);
    }
}

static int read_at(void *data)
{
    /* The engine and the sanitizers have handlers of their own. */
    (void)signal(SIGSEGV, SIG_DFL);
    return *(volatile unsigned char *)data;
}

static void above_its_size_a_memory_traps_whatever_was_there(void **state)
{
    struct guest guest;

    (void)state;
    guest_start(&guest, 10, 64, 64 * PAGE);
    memset(guest.account.memory.base, 7, 10 * PAGE);
    assert_exited(in_child(read_at, guest.account.memory.base + 10 * PAGE - 1), 7);
    guest_end(&guest);
    guest_start(&guest, 1, 64, 64 * PAGE);
    assert_exited(in_child(read_at, guest.account.memory.base + PAGE - 1), 0);
    assert_killed(in_child(read_at, guest.account.memory.base + PAGE), SIGSEGV);
    assert_killed(in_child(read_at, guest.account.memory.base + 9 * PAGE), SIGSEGV);
    assert_killed(in_child(read_at, guest.account.memory.base + ((size_t)4 << 30)),
                  SIGSEGV);
    assert_killed(in_child(read_at, guest.account.memory.base + ((size_t)4 << 30) +
                                        ((size_t)32 << 20) - 1), SIGSEGV);
    assert_true(guest_grow(&guest, 1));
    assert_exited(in_child(read_at, guest.account.memory.base + PAGE), 0);
    guest_end(&guest);
}

static void *one_run(void *data)
{
    struct guest guest;

    guest_start(&guest, 1, 2, 2 * PAGE);
    *(bool *)data = guest.lives;
    guest_end(&guest);
    return NULL;
}

static unsigned long address_space_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    (void)fclose(file);
    return pages / 256;
}

static void threads_give_their_address_space_back(void **state)
{
    unsigned long before = 0;

    (void)state;
    for (int i = 0; i < 9; i++) {
        bool lived = false;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, one_run, &lived), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(lived);
        if (i == 0)
            before = address_space_mib();
    }
    assert_true(address_space_mib() < before + 4096); /* and not eight times that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_is_refused_one_byte_short),
        cmocka_unit_test(growth_is_charged_exactly_and_its_refusal_remembered),
        cmocka_unit_test(tables_come_out_of_the_same_account),
        cmocka_unit_test(what_a_run_wrote_is_gone_for_the_next),
        cmocka_unit_test(pages_here_and_there_are_gone_as_well),
        cmocka_unit_test(above_its_size_a_memory_traps_whatever_was_there),
        cmocka_unit_test(threads_give_their_address_space_back),
    };

    return cmocka_run_group_tests_name("wt_memory", tests, make_engine, drop_engine);
}
