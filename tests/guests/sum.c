/* A reactor: no main(), exports to be invoked one by one. */
#include <stdint.h>

static int32_t ready;

__attribute__((constructor)) static void prepare(void)
{
    ready = 1;
}

__attribute__((export_name("sum"))) int32_t sum(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

__attribute__((export_name("half"))) double half(double value)
{
    return value / 2;
}

/* 1 when _initialize ran first. */
__attribute__((export_name("is_ready"))) int32_t is_ready(void)
{
    return ready;
}
