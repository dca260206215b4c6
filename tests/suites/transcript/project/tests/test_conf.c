#include <stdio.h>
#include <string.h>

#include "conf.h"

static int failed;

static void expect(const char *lines, const char *key, const char *value)
{
    char found[64] = "nothing";

    if (conf_get(lines, key, found, sizeof(found)) && strcmp(found, value) == 0)
        return;
    printf("FAILED: %s: expected '%s', found '%s'\n", key, value, found);
    failed = 1;
}

int main(void)
{
    expect("host = example.org\n", "host", "example.org");
    expect("a=1\nport =  8080  \n", "port", "8080");
    expect("name = shell # of a nut\n", "name", "shell");
    if (!failed)
        puts("all tests passed");
    return failed;
}
