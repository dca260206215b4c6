/* trap [HOW]: a trap three calls deep, for the names in its backtrace.  HOW is one of
 * unreachable (the default), divide, bounds, stack. */
#include <stdio.h>
#include <string.h>

static volatile int zero;

/* Reading a volatile after the call keeps the compiler from making it a loop. */
__attribute__((noinline)) static int dig(int depth)
{
    return depth < 0 ? 0 : dig(depth + 1) + zero;
}

__attribute__((noinline)) static int innermost(const char *how)
{
    if (strcmp(how, "divide") == 0)
        return 7 / zero;
    if (strcmp(how, "bounds") == 0)
        return *(volatile int *)0xfffffff0;
    if (strcmp(how, "stack") == 0)
        return dig(0);
    __builtin_trap();
}

__attribute__((noinline)) static int middle(const char *how)
{
    return innermost(how) + zero;
}

__attribute__((noinline)) static int outermost(const char *how)
{
    return middle(how) + zero;
}

int main(int argc, char **argv)
{
    printf("before the trap\n");
    fflush(stdout);
    return outermost(argc > 1 ? argv[1] : "unreachable");
}
