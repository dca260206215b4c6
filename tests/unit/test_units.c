/* Amounts: exact, read to their end, never wider than written, never no limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "units.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct row {
    const char *text;
    uint64_t amount; /* 0: refused */
};

static void check(nacre_unit_read *read, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t amount = 7;
        const char *wrong = read(rows[i].text, &amount);

        if ((wrong == NULL) != (rows[i].amount > 0))
            fail_msg("'%s': %s", rows[i].text, wrong ? wrong : "accepted");
        if (amount != (wrong ? 7 : rows[i].amount))
            fail_msg("'%s' is %ju", rows[i].text, (uintmax_t)amount);
    }
}

static void bytes_have_powers_of_1024(void **state)
{
    static const struct row rows[] = {
        { "1", 1 },
        { "512b", 512 },
        { "512m", 512 * MIB },
        { "512M", 512 * MIB },
        { "512mb", 512 * MIB },
        { "512MiB", 512 * MIB },
        { "2gb", 2 * GIB },
        { "2.5gb", 5 * GIB / 2 },
        { "2.50g", 5 * GIB / 2 },
        { ".5k", KIB / 2 },
        { "5.k", 5 * KIB },
        { "1t", KIB * GIB },
        { "1p", MIB * GIB },
        { "0.1k", 102 }, /* 102.4: cut, not rounded up */
        { "0.999999999k", 1023 },
        { "9223372036854775807", INT64_MAX },
        { "8191p", 8191 * (MIB * GIB) },
    };

    (void)state;
    check(nacre_unit_bytes, rows, NACRE_COUNT(rows));
}

static void bytes_that_are_none_are_refused(void **state)
{
    static const struct row rows[] = {
        { "" },      { "m" },      { "." },       { "0" },       { "0m" },
        { "0.0g" },  { "-1" },     { "-512m" },   { "+1" },      { " 1" },
        { "1 " },    { "1 m" },    { "1mm" },     { "1bb" },     { "1i" },
        { "1ib" },   { "1bm" },    { "1e3" },     { "0x10" },    { "010" },
        { "01m" },   { "1,5g" },   { "1.5.5g" },  { "1.5" },     { "1.0" },
        { "8192p" }, { "1e" },     { "1kk" },     { "1kbi" },    { "unlimited" },
        { "9223372036854775808" }, { "99999999999999999999" },   { "1.0000000001g" },
        { "NaN" },   { "Infinity" }, { "1\n" },   { "1m\xc2\xa0" }, { "0.0001k" },
    };

    (void)state;
    check(nacre_unit_bytes, rows, NACRE_COUNT(rows));
}

static void processors_are_billionths(void **state)
{
    static const struct row rows[] = {
        { "1", 1000000000 },   { "1.0", 1000000000 },  { "1.5", 1500000000 },
        { "0.5", 500000000 },  { ".25", 250000000 },   { "0.000000001", 1 },
        { "64", 64000000000 }, { "9223372036", 9223372036000000000 },
        { "0" },               { "0.0" },              { "-1" },
        { "1c" },              { "1,5" },              { "two" },
        { "" },                { "1e1" },              { "01" },
        { "1.0000000000" },    { "9223372037" },       { "1m" },
    };

    (void)state;
    check(nacre_unit_cpus, rows, NACRE_COUNT(rows));
}

static void times_are_milliseconds(void **state)
{
    static const struct row rows[] = {
        { "120", 120000 }, { "120s", 120000 }, { "2m", 120000 },   { "1h", 3600000 },
        { "1d", 86400000 }, { "500ms", 500 },  { "1.5s", 1500 },   { "0.001", 1 },
        { "1.9ms", 1 },    { "0" },            { "0s" },           { "0.0001s" },
        { "-1s" },         { "1S" },           { "1 s" },          { "1min" },
        { "1m30s" },       { "s" },            { "" },             { "1w" },
        { "99999999999999999999" },            { "9223372036854775807h" },
    };

    (void)state;
    check(nacre_unit_ms, rows, NACRE_COUNT(rows));
}

static void counts_are_whole(void **state)
{
    static const struct row rows[] = {
        { "1", 1 }, { "1024", 1024 }, { "9223372036854775807", INT64_MAX },
        { "0" },    { "-1" },         { "1.0" },  { "1k" }, { "" }, { "007" },
    };

    (void)state;
    check(nacre_unit_count, rows, NACRE_COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_powers_of_1024),
        cmocka_unit_test(bytes_that_are_none_are_refused),
        cmocka_unit_test(processors_are_billionths),
        cmocka_unit_test(times_are_milliseconds),
        cmocka_unit_test(counts_are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
