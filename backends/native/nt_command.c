/* A command as init takes it: its words, its environment, the files that only it sees. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "nacre/text.h"
#include "nt_private.h"
#include "pack.h"

/* The request's files as init takes them. */
static enum nacre_status take_files(const struct nacre_request *request,
                                    struct init_file ret_files[START_FILES_MAX],
                                    size_t *ret_bytes, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (request->secret_file_count > START_FILES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d secret files",
                          START_FILES_MAX);
    *ret_bytes = 0;
    for (uint32_t i = 0; i < request->secret_file_count; i++) {
        const struct nacre_secret_file *file = &request->secret_files[i];

        if (!init_file_name_is_good(file->name))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "secret file '%s': no name for a file: letters, digits, "
                              "'_', '-' and '.', which it does not begin with",
                              nacre_text_shown(shown, file->name));
        if (file->count > START_BYTES_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "secret file '%s'", file->name);
        ret_files[i] = (struct init_file){ file->name, file->bytes, file->count };
        *ret_bytes += strlen(file->name) + 1 + file->count + 2 * sizeof(uint64_t);
    }
    return NACRE_OK;
}

bool nt_command_has_input(const struct nt_command *command)
{
    int fd = command->request->input_fd;
    struct stat info;

    return fd >= 0 && !(fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) &&
                        info.st_rdev == makedev(1, 3));
}

enum nacre_status nt_command_pack(const struct nt_command *command, uint8_t **ret_bytes,
                                  size_t *ret_count, struct nacre_error *err)
{
    struct init_start start = command->start;
    const char *const *const lists[] = { start.arguments, start.environment };
    const char *certificates = start.certificates ? start.certificates : "";
    size_t size = 16 * sizeof(uint64_t) + strlen(start.directory) + 1 +
                  strlen(certificates) + 1;
    size_t texts = 0, file_bytes = 0;
    struct init_file files[START_FILES_MAX];
    struct pack pack;
    enum nacre_status status = take_files(command->request, files, &file_bytes, err);

    if (status != NACRE_OK)
        return status;
    start.files = files;
    start.file_count = command->request->secret_file_count;
    size += file_bytes;
    assert(start.arguments && start.arguments[0]);
    for (size_t i = 0; i < NACRE_COUNT(lists); i++)
        for (size_t k = 0; lists[i] && lists[i][k]; k++, texts++)
            size += sizeof(uint64_t) + strlen(lists[i][k]) + 1;
    if (size > START_BYTES_MAX || texts > CONFIG_LIST_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "arguments, environment and files are over %zu bytes or %d "
                          "texts",
                          START_BYTES_MAX, CONFIG_LIST_MAX);
    pack = (struct pack){ .bytes = malloc(size), .size = size };
    if (!pack.bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a command of %zu bytes", size);
    start.input = nt_command_has_input(command);
    (void)init_start_pack(&pack, &start);
    assert(!pack.failed);
    *ret_bytes = pack.bytes;
    *ret_count = pack.used;
    return NACRE_OK;
}
