/* What a guest is told: its arguments and its environment, one a line. */
#include <stdio.h>

extern char **environ;

int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("argv[%d]=%s\n", i, argv[i]);
    for (char **entry = environ; *entry != NULL; entry++)
        printf("env %s\n", *entry);
    return 0;
}
