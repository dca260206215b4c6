#include <errno.h>
#include <stdio.h>
#include <string.h>

static int file_read(const char *path)
{
    char chunk[4096];
    size_t count;
    FILE *file = fopen(path, "r");

    if (file == NULL) {
        fprintf(stderr, "hello: cannot read %s: %s\n", path, strerror(errno));
        return 1;
    }
    printf("%s says:\n", path);
    while ((count = fread(chunk, 1, sizeof chunk, file)) > 0)
        fwrite(chunk, 1, count, stdout);
    if (ferror(file)) {
        fprintf(stderr, "hello: cannot read %s: %s\n", path, strerror(errno));
        fclose(file);
        return 1;
    }
    fclose(file);
    return 0;
}

static int file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    /* The text reaches the file in fclose() at the latest, so its answer counts too. */
    if (file == NULL || fprintf(file, "%s\n", text) < 0 || fclose(file) != 0) {
        fprintf(stderr, "hello: cannot write %s: %s\n", path, strerror(errno));
        return 1;
    }
    printf("wrote %s\n", path);
    return 0;
}

int main(int argc, char **argv)
{
    printf("Hello from inside nacre.\n");
    if (argc == 3 && strcmp(argv[1], "--read") == 0)
        return file_read(argv[2]);
    if (argc == 4 && strcmp(argv[1], "--write") == 0)
        return file_write(argv[2], argv[3]);
    for (int i = 1; i < argc; i++)
        printf("argument %d: %s\n", i, argv[i]);
    return 0;
}
