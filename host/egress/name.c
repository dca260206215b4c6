/* Trusts nobody: a host comes from a policy, a guest, a redirect or a TLS hello. */
#include <string.h>

#include "idna.h"
#include "nacre/text.h"
#include "nacre/url.h"

#define LABEL_MAX_LENGTH 63

static bool is_letter_or_digit(char character)
{
    return (character >= 'a' && character <= 'z') ||
           (character >= '0' && character <= '9');
}

static bool is_label(const char *label, size_t length)
{
    if (length == 0 || length > LABEL_MAX_LENGTH || label[0] == '-' ||
        label[length - 1] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_letter_or_digit(label[i]) && label[i] != '-' && label[i] != '_')
            return false;
    return true;
}

/* Of lower-case letters; ret_is_coded: some label is an xn-- one. */
static bool is_name(const char *name, bool *ret_is_coded)
{
    *ret_is_coded = false;
    for (;;) {
        size_t length = strcspn(name, ".");

        if (!is_label(name, length))
            return false;
        *ret_is_coded |= length >= 4 && memcmp(name, "xn--", 4) == 0;
        if (name[length] == '\0')
            return true;
        name += length + 1;
    }
}

static const char *fault_of_bytes(const char *text, size_t length)
{
    if (length == 0)
        return "a host must not be empty";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte <= ' ' || byte == 0x7f)
            return "a host has no blank and no control character";
        if (byte == '%')
            return "a host has no percent sign";
    }
    return nacre_text_is_utf8(text, length) ? NULL : "the host is not UTF-8";
}

/* What has a colon is an IPv6 address, with or without its brackets. */
static enum nacre_status normalise_v6(const char *text, size_t length,
                                      char ret_name[NACRE_NAME_SIZE],
                                      struct nacre_error *err)
{
    struct nacre_address address;

    if (text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (!nacre_address_parse(text, length, &address) || !address.is_v6)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "not an IPv6 address, which is all that may have a ':' or '['");
    (void)nacre_address_text(&address, ret_name);
    return NACRE_OK;
}

static enum nacre_status normalise_ascii(char *name, struct nacre_error *err)
{
    struct nacre_address address;
    bool is_coded;

    for (char *at = name; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    if (!is_name(name, &is_coded))
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "not a host name; expected a name like api.example.com");
    if (nacre_address_is_numeric(name, strlen(name)) &&
        !nacre_address_parse(name, strlen(name), &address))
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "an address is written as four decimal numbers without leading "
                          "zeros, like 192.0.2.1");
    return is_coded ? nacre_idna_check(name, err) : NACRE_OK;
}

enum nacre_status nacre_name_normalise(const char *text, size_t length,
                                       char ret_name[NACRE_NAME_SIZE],
                                       struct nacre_error *err)
{
    const char *fault = fault_of_bytes(text, length);
    char copy[4 * NACRE_NAME_SIZE], name[NACRE_NAME_SIZE];
    enum nacre_status status = NACRE_OK;
    bool is_ascii = true;

    if (fault)
        return nacre_fail(err, NACRE_ERR_PARSE, "%s", fault);
    if (text[0] == '[' || memchr(text, ':', length))
        return normalise_v6(text, length, ret_name, err);
    if (length >= sizeof(copy))
        return nacre_fail(err, NACRE_ERR_PARSE, "the name is too long");
    memcpy(copy, text, length);
    copy[length] = '\0';
    /* The root's dot; 127.0.0.1. is no spelling of an address. */
    if (copy[length - 1] == '.' && !nacre_address_is_numeric(copy, length))
        copy[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        is_ascii &= (unsigned char)copy[i] < 0x80;
    if (!is_ascii)
        status = nacre_idna_to_ascii(copy, name, err);
    else if (length >= sizeof(name))
        status = nacre_fail(err, NACRE_ERR_PARSE, "the name is too long");
    else
        memcpy(name, copy, length + 1);
    if (status == NACRE_OK)
        status = normalise_ascii(name, err);
    if (status == NACRE_OK)
        memcpy(ret_name, name, strlen(name) + 1);
    return status;
}
