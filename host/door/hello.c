/* Trusts nothing of what goes in: it comes from the sandbox. */
#include "hello.h"

#include <stdbool.h>
#include <string.h>

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define HANDSHAKE 22
#define HANDSHAKE_HEADER 4
#define CLIENT_HELLO 1
#define RANDOM 32

#define EXTENSION_SERVER_NAME 0
#define EXTENSION_ECH 0xfe0d
#define EXTENSION_ECH_OUTER 0xfd00
#define EXTENSION_ESNI 0xffce /* what came before ECH */
#define EXTENSIONS_MAX 96

/* What is left to read of a vector. */
struct part {
    const uint8_t *bytes;
    size_t count;
};

static bool take(struct part *from, size_t count, struct part *ret_part)
{
    if (count > from->count)
        return false;
    *ret_part = (struct part){ .bytes = from->bytes, .count = count };
    from->bytes += count;
    from->count -= count;
    return true;
}

static bool take_number(struct part *from, size_t width, size_t *ret_number)
{
    struct part part;
    size_t number = 0;

    if (!take(from, width, &part))
        return false;
    for (size_t i = 0; i < width; i++)
        number = number << 8 | part.bytes[i];
    *ret_number = number;
    return true;
}

/* A vector that is preceded by its length. */
static bool take_vector(struct part *from, size_t width, struct part *ret_part)
{
    size_t count;

    return take_number(from, width, &count) && take(from, count, ret_part);
}

static bool is_name_byte(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_';
}

/* Exactly one name and nothing besides: of two, we and the server might each take
 * another. */
static bool read_name(struct part extension, struct door_hello *hello)
{
    struct part list, name;
    size_t type;

    if (!take_vector(&extension, 2, &list) || extension.count != 0 ||
        !take_number(&list, 1, &type) || type != 0 || !take_vector(&list, 2, &name) ||
        list.count != 0 || name.count == 0 || name.count >= sizeof(hello->name))
        return false;
    for (size_t i = 0; i < name.count; i++) {
        if (!is_name_byte(name.bytes[i]))
            return false;
        hello->name[i] = (char)name.bytes[i];
    }
    hello->name[name.count] = '\0';
    return true;
}

/* Every type once: which one of two a server heeds is not for us to guess. */
static bool is_new(size_t types[EXTENSIONS_MAX], size_t *count, size_t type)
{
    for (size_t i = 0; i < *count; i++)
        if (types[i] == type)
            return false;
    if (*count == EXTENSIONS_MAX)
        return false;
    types[(*count)++] = type;
    return true;
}

static enum door_hello_is read_extensions(struct part list, struct door_hello *hello)
{
    size_t types[EXTENSIONS_MAX], count = 0, type;
    struct part extension;
    bool encrypted = false;

    while (list.count > 0) {
        if (!take_number(&list, 2, &type) || !take_vector(&list, 2, &extension) ||
            !is_new(types, &count, type))
            return DOOR_HELLO_BAD;
        if (type == EXTENSION_SERVER_NAME && !read_name(extension, hello))
            return DOOR_HELLO_BAD;
        if (type == EXTENSION_ECH || type == EXTENSION_ECH_OUTER ||
            type == EXTENSION_ESNI)
            encrypted = true;
    }
    if (encrypted)
        return DOOR_HELLO_ENCRYPTED;
    return hello->name[0] != '\0' ? DOOR_HELLO_WHOLE : DOOR_HELLO_NO_NAME;
}

static enum door_hello_is read_message(struct part message, struct door_hello *hello)
{
    struct part part, extensions;
    size_t version;

    if (!take_number(&message, 2, &version) || version >> 8 != 3 ||
        !take(&message, RANDOM, &part) ||
        !take_vector(&message, 1, &part) || part.count > 32 || /* session id */
        !take_vector(&message, 2, &part) || part.count < 2 || part.count % 2 != 0 ||
        !take_vector(&message, 1, &part) || part.count == 0) /* compression */
        return DOOR_HELLO_BAD;
    if (message.count == 0)
        return DOOR_HELLO_NO_NAME;
    if (!take_vector(&message, 2, &extensions) || message.count != 0)
        return DOOR_HELLO_BAD;
    return read_extensions(extensions, hello);
}

/* How long the message is, as far as its first bytes tell.  `promised` bytes are there or
 * in what is still to come of the same record. */
static enum door_hello_is judge_length(const uint8_t *message, size_t count,
                                       size_t promised, size_t *ret_length)
{
    if (count > 0 && message[0] != CLIENT_HELLO)
        return DOOR_HELLO_BAD;
    if (count < HANDSHAKE_HEADER)
        return DOOR_HELLO_MORE;
    *ret_length = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
    if (*ret_length > DOOR_HELLO_MESSAGE_MAX)
        return DOOR_HELLO_TOO_BIG;
    /* A client has nothing to add to its hello before the server has spoken. */
    if (promised > HANDSHAKE_HEADER + *ret_length)
        return DOOR_HELLO_BAD;
    return count == HANDSHAKE_HEADER + *ret_length ? DOOR_HELLO_WHOLE : DOOR_HELLO_MORE;
}

/* The first bytes of a record's header that are there, before its length is. */
static enum door_hello_is judge_record(const struct part *rest, bool is_first)
{
    if (rest->count > 0 && rest->bytes[0] != HANDSHAKE)
        return is_first ? DOOR_HELLO_NOT_TLS : DOOR_HELLO_BAD;
    if (rest->count > 1 && rest->bytes[1] != 3)
        return is_first ? DOOR_HELLO_NOT_TLS : DOOR_HELLO_BAD;
    return rest->count < RECORD_HEADER ? DOOR_HELLO_MORE : DOOR_HELLO_WHOLE;
}

enum door_hello_is door_hello_read(const uint8_t *bytes, size_t count,
                                   struct door_hello *ret_hello)
{
    uint8_t message[HANDSHAKE_HEADER + DOOR_HELLO_MESSAGE_MAX];
    struct part rest = { .bytes = bytes, .count = count }, header, record;
    struct door_hello hello = { .name = "" };
    size_t used = 0, length = 0, declared;
    enum door_hello_is is;

    do {
        if ((is = judge_record(&rest, used == 0)) != DOOR_HELLO_WHOLE)
            break;
        (void)take(&rest, RECORD_HEADER, &header);
        declared = (size_t)header.bytes[3] << 8 | header.bytes[4];
        if (declared == 0 || declared > RECORD_MAX)
            return DOOR_HELLO_BAD;
        (void)take(&rest, declared < rest.count ? declared : rest.count, &record);
        if (record.count > sizeof(message) - used)
            return DOOR_HELLO_BAD;
        memcpy(message + used, record.bytes, record.count);
        used += record.count;
        is = judge_length(message, used, used + declared - record.count, &length);
    } while (is == DOOR_HELLO_MORE && rest.count > 0);
    if (is == DOOR_HELLO_MORE)
        return count >= DOOR_HELLO_BYTES_MAX ? DOOR_HELLO_TOO_BIG : is;
    if (is != DOOR_HELLO_WHOLE)
        return is;
    is = read_message((struct part){ message + HANDSHAKE_HEADER, length }, &hello);
    if (is == DOOR_HELLO_WHOLE || is == DOOR_HELLO_ENCRYPTED)
        *ret_hello = hello;
    return is;
}
