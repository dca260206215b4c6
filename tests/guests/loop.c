/* Says that it runs, then never ends by itself. */
#include <unistd.h>

int main(void)
{
    volatile unsigned long count = 0;

    (void)!write(1, "running\n", 8);
    for (;;)
        count++;
}
