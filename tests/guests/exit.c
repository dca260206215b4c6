/* exit N: leaves with status N, from below main(). */
#include <stdlib.h>

int main(int argc, char **argv)
{
    exit(argc > 1 ? atoi(argv[1]) : 0);
}
