/* Any bytes at all, as they are and behind a module's header: the reader says what
 * they are or why not, and what it says can be printed. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/module.h"
#include "nacre/text.h"
#include "nacre_wasi.h"
#include "wt_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct nacre_wasi_function *nacre_wasi_functions(uint32_t *ret_count)
{
    static const struct nacre_wasi_function rows[] = {
        { NACRE_WASI_MODULE, "fd_write", "iiii:i", NACRE_CAPABILITY_OUTPUT, NULL },
        { NACRE_WASI_MODULE, "proc_exit", "i:", NACRE_CAPABILITY_PROCESS, NULL },
    };

    *ret_count = NACRE_COUNT(rows);
    return rows;
}

static void check_printable(const char *text)
{
    assert(nacre_text_is_utf8(text, strlen(text)));
    for (; *text; text++)
        assert((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void read_one(const unsigned char *bytes, size_t count)
{
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    struct nacre_tool tool = { .name = (char *)(uintptr_t)"fuzz", .bytes = bytes,
                               .count = count };
    struct nacre_error err = { .status = NACRE_OK };
    struct wt_module_tables tables;
    enum nacre_status status = nacre_module_read(&tool, &info, &err);

    assert(status == err.status);
    assert((status == NACRE_OK) == (info != NULL));
    assert(status == NACRE_OK || status == NACRE_ERR_NOT_RUNNABLE);
    if (status != NACRE_OK) {
        check_printable(err.text);
        return;
    }
    for (uint32_t i = 0; i < info->import_count; i++) {
        check_printable(info->imports[i].module);
        check_printable(info->imports[i].name);
        check_printable(info->imports[i].signature);
    }
    for (uint32_t i = 0; i < info->export_count; i++) {
        check_printable(info->exports[i].name);
        check_printable(info->exports[i].signature);
    }
    check_printable(info->refused);
    status = wt_module_tables(&tool, &tables, &err);
    assert(status == NACRE_OK);
    assert(info->has_memory == (tables.memories > 0));
    assert(tables.elements_min <= tables.elements_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char header[8] = { 0, 'a', 's', 'm', 1, 0, 0, 0 };
    unsigned char *module = malloc(sizeof(header) + size);

    read_one(data, size);
    if (!module)
        return 0;
    memcpy(module, header, sizeof(header));
    if (size > 0)
        memcpy(module + sizeof(header), data, size);
    read_one(module, sizeof(header) + size);
    free(module);
    return 0;
}
