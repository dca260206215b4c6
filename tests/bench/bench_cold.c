/*
 * bench_cold COUNT ROW PROGRAM [ARGUMENT...] [+ ROW PROGRAM [ARGUMENT...]]...: how long
 * each program takes from its start to its end, one of each by turns.
 */
#include "measure.h"

#define COMMANDS_MAX 16

int main(int argc, char **argv)
{
    struct measure_variant variants[COMMANDS_MAX];
    size_t count = argc > 2 ? measure_programs(argv + 2, variants, COMMANDS_MAX) : 0;

    if (count == 0)
        measure_die("COUNT ROW PROGRAM [ARGUMENT...] [+ ROW PROGRAM [ARGUMENT...]]...");
    measure_by_turns(variants, count, measure_count(argv[1]));
    return 0;
}
