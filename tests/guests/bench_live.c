/* Says that it lives, then does nothing for a long time. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    printf("alive\n");
    fflush(stdout);
    sleep(600);
    return 0;
}
