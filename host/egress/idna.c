/*
 * Reads names that anybody wrote.  IDNA 2008 without the mappings of UTS 46: what would
 * be mapped (full-width digits, soft hyphens, other dots) is refused, so that one name
 * has one spelling.  Only the case of letters is folded, as for ASCII.
 */
#include "idna.h"

#include <dlfcn.h>
#include <idn2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"

struct idn {
    __typeof__(idn2_lookup_u8) *lookup;
    __typeof__(idn2_to_unicode_8z8z) *to_unicode;
    __typeof__(idn2_strerror) *words;
    __typeof__(idn2_free) *release;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct idn loaded;

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static enum nacre_status idn_load(struct idn *ret_idn, struct nacre_error *err)
{
    (void)pthread_mutex_lock(&lock);
    if (!loaded.lookup) {
        void *library = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL);
        struct idn idn = {
            .lookup = symbol(library, "idn2_lookup_u8"),
            .to_unicode = symbol(library, "idn2_to_unicode_8z8z"),
            .words = symbol(library, "idn2_strerror"),
            .release = symbol(library, "idn2_free"),
        };

        if (idn.lookup && idn.to_unicode && idn.words && idn.release)
            loaded = idn;
        else if (library)
            (void)dlclose(library);
    }
    *ret_idn = loaded;
    (void)pthread_mutex_unlock(&lock);
    if (ret_idn->lookup)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "international names need libidn2, which can't be loaded: install "
                      "the package libidn2-0");
}

/* ---- case ---- */

/* All of these have as many bytes in UTF-8 as what they come from. */
static size_t encode(uint32_t point, char *ret_bytes)
{
    if (point < 0x80) {
        ret_bytes[0] = (char)point;
        return 1;
    }
    ret_bytes[0] = (char)(0xc0 | point >> 6);
    ret_bytes[1] = (char)(0x80 | (point & 0x3f));
    return 2;
}

static bool is_between(uint32_t point, uint32_t first, uint32_t last)
{
    return point >= first && point <= last;
}

/* Latin, Greek and Cyrillic; capitals of other scripts are for IDNA to refuse. */
static uint32_t lower(uint32_t point)
{
    if (is_between(point, 'A', 'Z') || (is_between(point, 0xc0, 0xde) && point != 0xd7) ||
        is_between(point, 0x391, 0x3a1) || is_between(point, 0x3a3, 0x3a9) ||
        is_between(point, 0x410, 0x42f))
        return point + 0x20;
    if (is_between(point, 0x400, 0x40f))
        return point + 0x50;
    if (point == 0x178)
        return 0xff;
    /* Pairs, the capital first; U+0130 has no single small letter. */
    if (((is_between(point, 0x100, 0x136) && point != 0x130) ||
         is_between(point, 0x14a, 0x176)) &&
        point % 2 == 0)
        return point + 1;
    if ((is_between(point, 0x139, 0x147) || is_between(point, 0x179, 0x17d)) &&
        point % 2 == 1)
        return point + 1;
    return point;
}

static void fold(char *text)
{
    for (const char *at = text; *at;) {
        char *start = text + (at - text);
        uint32_t point = nacre_idna_point(&at);

        if (lower(point) != point)
            (void)encode(lower(point), start);
    }
}

/* ---- whole names ---- */

static const char *fault_of_scripts(const char *name)
{
    const char *fault = NULL;

    for (size_t length; *name && !fault; name += length + (name[length] == '.')) {
        length = strcspn(name, ".");
        fault = nacre_script_fault(name, length);
    }
    return fault;
}

/* A label of letters that came out as plain ASCII was ASCII in disguise. */
static bool labels_keep_their_kind(const char *text, const char *name)
{
    while (*text || *name) {
        size_t length = strcspn(text, "."), made = strcspn(name, ".");
        bool plain = true;

        for (size_t i = 0; i < length; i++)
            plain &= (unsigned char)text[i] < 0x80;
        if (!plain && (made < 4 || memcmp(name, "xn--", 4) != 0))
            return false;
        text += length + (text[length] == '.');
        name += made + (name[made] == '.');
        if ((*text == '\0') != (*name == '\0'))
            return false;
    }
    return true;
}

enum nacre_status nacre_idna_to_ascii(const char *text, char ret_name[NACRE_NAME_SIZE],
                                      struct nacre_error *err)
{
    char folded[4 * NACRE_NAME_SIZE];
    uint8_t *made = NULL;
    struct idn idn;
    enum nacre_status status = idn_load(&idn, err);
    const char *fault;
    int code;

    if (status != NACRE_OK)
        return status;
    if ((size_t)snprintf(folded, sizeof(folded), "%s", text) >= sizeof(folded))
        return nacre_fail(err, NACRE_ERR_PARSE, "the name is too long");
    fold(folded);
    fault = fault_of_scripts(folded);
    if (fault)
        return nacre_fail(err, NACRE_ERR_PARSE, "%s", fault);
    code = idn.lookup((const uint8_t *)folded, &made, IDN2_NFC_INPUT | IDN2_NO_TR46);
    if (code == IDN2_MALLOC)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a name");
    if (code != IDN2_OK)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the name is not one that IDNA allows: %s", idn.words(code));
    if (strlen((const char *)made) >= NACRE_NAME_SIZE ||
        !labels_keep_their_kind(folded, (const char *)made))
        status = nacre_fail(err, NACRE_ERR_PARSE,
                            "the name has letters that stand for others");
    else
        memcpy(ret_name, made, strlen((const char *)made) + 1);
    idn.release(made);
    return status;
}

enum nacre_status nacre_idna_check(const char *name, struct nacre_error *err)
{
    char again[NACRE_NAME_SIZE];
    char *decoded = NULL;
    struct idn idn;
    enum nacre_status status = idn_load(&idn, err);
    int code;

    if (status != NACRE_OK)
        return status;
    code = idn.to_unicode(name, &decoded, IDN2_NO_TR46);
    if (code == IDN2_MALLOC)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a name");
    if (code != IDN2_OK)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the name has an xn-- label that is none: %s",
                          idn.words(code));
    status = nacre_idna_to_ascii(decoded, again, err);
    idn.release(decoded);
    if (status == NACRE_OK && strcmp(name, again) != 0)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the name has an xn-- label that decodes to something with "
                          "another form");
    return status;
}
