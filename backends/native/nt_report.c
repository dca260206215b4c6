/*
 * Trusts neither the answers' length nor their form: each is a text that a hostile init
 * may have made up.  What can't be read exactly is not as planned.
 */
#include "nt_report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "nacre/text.h"

#define ERROR_PREFIX "error "
#define VALUE_MAX 512   /* of what is compared as one text */
#define STACKED_MAX 16  /* mounts on one path */
#define FIELDS_MAX 24   /* of a line; the kernel's have fewer */

/* A piece of an answer. */
struct span {
    const char *at;
    size_t count;
};

static struct span span_of(const char *text)
{
    return (struct span){ text, strlen(text) };
}

static bool span_is(struct span span, const char *text)
{
    return span.count == strlen(text) && memcmp(span.at, text, span.count) == 0;
}

/* Cuts the part before `end` off; what is left has neither it nor the mark. */
static struct span span_cut(struct span *rest, char end)
{
    const char *mark = memchr(rest->at, end, rest->count);
    struct span part = { rest->at, mark ? (size_t)(mark - rest->at) : rest->count };
    size_t gone = mark ? part.count + 1 : part.count;

    rest->at += gone;
    rest->count -= gone;
    return part;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The line's fields; false when there are more than anybody writes. */
static bool split(struct span line, struct span ret_fields[FIELDS_MAX], size_t *ret_count)
{
    size_t count = 0;

    for (size_t i = 0; i < line.count;) {
        size_t start = i;

        while (i < line.count && !is_blank(line.at[i]))
            i++;
        if (i > start) {
            if (count == FIELDS_MAX)
                return false;
            ret_fields[count++] = (struct span){ line.at + start, i - start };
        }
        while (i < line.count && is_blank(line.at[i]))
            i++;
    }
    *ret_count = count;
    return true;
}

/* The rest of the one line that begins with `key` and `mark`; none when there are two. */
static bool find_line(struct span text, const char *key, char mark, struct span *ret_rest)
{
    size_t length = strlen(key);
    bool found = false;

    while (text.count > 0) {
        struct span line = span_cut(&text, '\n');

        if (line.count <= length || memcmp(line.at, key, length) != 0 ||
            line.at[length] != mark)
            continue;
        if (found)
            return false;
        found = true;
        *ret_rest = (struct span){ line.at + length + 1, line.count - length - 1 };
    }
    return found;
}

/* Fields with one blank between them; false when that is too long to be judged. */
static bool join(const struct span *fields, size_t count, char ret_text[VALUE_MAX])
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (fields[i].count + 2 > VALUE_MAX - used)
            return false;
        if (i > 0)
            ret_text[used++] = ' ';
        memcpy(ret_text + used, fields[i].at, fields[i].count);
        used += fields[i].count;
        ret_text[used] = '\0';
    }
    return true;
}

static bool number_of(struct span span, uint64_t *ret_number)
{
    char digits[24];

    if (span.count >= sizeof(digits))
        return false;
    memcpy(digits, span.at, span.count);
    digits[span.count] = '\0';
    return nacre_text_u64(digits, UINT64_MAX, ret_number);
}

/* ---- words: what a mount or a file has ---- */

struct facts {
    bool ro, nosuid, nodev, noexec;
    struct span named[8]; /* by word_names */
};

static const char *const word_names[] = { "device", "inode", "mode", "uid", "gid",
                                          "type",   "bytes", "inodes" };
enum { WORD_TYPE = 5, WORD_BYTES, WORD_INODES, WORD_COUNT };
_Static_assert(NACRE_COUNT(word_names) == WORD_COUNT, "a word has a name");

static bool has_flag(const struct facts *facts, struct span word, bool *ret_known)
{
    const struct {
        const char *name;
        bool is;
    } flags[] = {
        { "ro", facts->ro },         { "rw", !facts->ro },
        { "nosuid", facts->nosuid }, { "nodev", facts->nodev },
        { "noexec", facts->noexec },
    };

    *ret_known = true;
    for (size_t i = 0; i < NACRE_COUNT(flags); i++)
        if (span_is(word, flags[i].name))
            return flags[i].is;
    *ret_known = false;
    return false;
}

static bool has_word(const struct facts *facts, struct span word)
{
    struct span value = word, name;
    bool known, is = has_flag(facts, word, &known);

    if (known)
        return is;
    name = span_cut(&value, '=');
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (span_is(name, word_names[i]))
            return facts->named[i].count > 0 && facts->named[i].count == value.count &&
                   memcmp(facts->named[i].at, value.at, value.count) == 0;
    return false;
}

static bool has_words(const struct facts *facts, const char *planned)
{
    struct span rest = span_of(planned);

    while (rest.count > 0)
        if (!has_word(facts, span_cut(&rest, ' ')))
            return false;
    return true;
}

static bool stat_facts(struct span answer, struct facts *ret_facts)
{
    /* Where config.h has them: the flags stand between type and bytes. */
    static const uint8_t places[WORD_COUNT] = { 0, 1, 2, 3, 4, 5, 7, 8 };
    struct span fields[FIELDS_MAX];
    uint64_t flags;
    size_t count;

    if (!split(answer, fields, &count) || count != 9 || !number_of(fields[6], &flags))
        return false;
    *ret_facts = (struct facts){ .ro = flags & ST_RDONLY,
                                 .nosuid = flags & ST_NOSUID,
                                 .nodev = flags & ST_NODEV,
                                 .noexec = flags & ST_NOEXEC };
    for (size_t i = 0; i < WORD_COUNT; i++)
        ret_facts->named[i] = fields[places[i]];
    return true;
}

/* ---- mountinfo ---- */

struct mount_line {
    struct span line, id, parent, point, options, type, super;
};

static bool read_mount(struct span line, struct mount_line *ret_mount)
{
    struct span fields[FIELDS_MAX];
    size_t count, dash = 6;

    if (!split(line, fields, &count))
        return false;
    while (dash < count && !span_is(fields[dash], "-"))
        dash++;
    /* Type, source and options follow; a source may be empty. */
    if (count != dash + 4 && count != dash + 3)
        return false;
    *ret_mount = (struct mount_line){
        line, fields[0], fields[1], fields[4], fields[5], fields[dash + 1],
        fields[count - 1],
    };
    return true;
}

/* The kernel writes blank, tab, end of line and backslash as \ooo. */
static bool is_escaped(struct span escaped, const char *path)
{
    size_t i = 0;

    for (; i < escaped.count && *path; path++) {
        unsigned char c = (unsigned char)escaped.at[i++];

        if (c == '\\') {
            unsigned value = 0;

            if (escaped.count - i < 3)
                return false;
            for (unsigned k = 0; k < 3; k++, i++) {
                if (escaped.at[i] < '0' || escaped.at[i] > '7')
                    return false;
                value = 8 * value + (unsigned)(escaped.at[i] - '0');
            }
            c = (unsigned char)value;
        }
        if (c != (unsigned char)*path)
            return false;
    }
    return i == escaped.count && !*path;
}

static bool same(struct span a, struct span b)
{
    return a.count == b.count && memcmp(a.at, b.at, a.count) == 0;
}

/* Of those on one path the one that no other is mounted on. */
static bool find_mount(struct span text, const char *path, struct mount_line *ret_mount)
{
    struct mount_line stacked[STACKED_MAX];
    size_t count = 0;

    while (text.count > 0) {
        struct mount_line mount;

        if (!read_mount(span_cut(&text, '\n'), &mount))
            return false;
        if (!is_escaped(mount.point, path))
            continue;
        if (count == STACKED_MAX)
            return false;
        stacked[count++] = mount;
    }
    for (size_t i = 0; i < count; i++) {
        bool covered = false;

        for (size_t k = 0; k < count; k++)
            covered |= k != i && same(stacked[k].parent, stacked[i].id);
        if (!covered) {
            *ret_mount = stacked[i];
            return true;
        }
    }
    return false;
}

static bool has_option(struct span options, const char *name, struct span *ret_value)
{
    while (options.count > 0) {
        struct span value = span_cut(&options, ',');
        struct span word = span_cut(&value, '=');

        if (span_is(word, name)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* Sizes of a tmpfs are told in units of 1024 bytes: "size=65536k". */
static struct span tmpfs_bytes(struct span options, char ret_text[24])
{
    struct span value;
    uint64_t kib;

    if (!has_option(options, "size", &value) || value.count < 2 ||
        value.at[value.count - 1] != 'k')
        return (struct span){ "", 0 };
    value.count--;
    if (!number_of(value, &kib) || kib > UINT64_MAX / 1024)
        return (struct span){ "", 0 };
    (void)snprintf(ret_text, 24, "%ju", (uintmax_t)(kib * 1024));
    return span_of(ret_text);
}

static bool has_mount_words(const struct mount_line *mount, const char *planned)
{
    char bytes[24];
    struct facts facts = { 0 };
    struct span value = { "", 0 };

    facts.ro = has_option(mount->options, "ro", &value) ||
               has_option(mount->super, "ro", &value);
    facts.nosuid = has_option(mount->options, "nosuid", &value);
    facts.nodev = has_option(mount->options, "nodev", &value);
    facts.noexec = has_option(mount->options, "noexec", &value);
    facts.named[WORD_TYPE] = mount->type;
    facts.named[WORD_BYTES] = tmpfs_bytes(mount->super, bytes);
    if (has_option(mount->super, "nr_inodes", &value))
        facts.named[WORD_INODES] = value;
    return has_words(&facts, planned);
}

/* ---- the checks ---- */

/* What is there, for the message, and whether that is what was planned. */
struct finding {
    struct span is;
    bool as_planned;
};

static struct finding check_status(const struct nt_expect *row, struct span text,
                                   char room[VALUE_MAX])
{
    struct span rest, fields[FIELDS_MAX];
    size_t count;

    if (!find_line(text, row->key, ':', &rest))
        return (struct finding){ span_of("missing"), false };
    if (!split(rest, fields, &count) || !join(fields, count, room))
        return (struct finding){ rest, false };
    return (struct finding){ span_of(room), strcmp(room, row->planned) == 0 };
}

static struct finding check_limit(const struct nt_expect *row, struct span text,
                                  char room[VALUE_MAX])
{
    struct span rest, fields[FIELDS_MAX];
    size_t count;

    if (!find_line(text, row->key, ' ', &rest) || !split(rest, fields, &count) ||
        count < 2 || !join(fields, 2, room))
        return (struct finding){ span_of("missing"), false };
    return (struct finding){ span_of(room), strcmp(room, row->planned) == 0 };
}

static struct finding check_mount(const struct nt_expect *row, struct span text)
{
    struct mount_line mount;

    if (!find_mount(text, row->key, &mount))
        return (struct finding){ span_of("not mounted"), false };
    return (struct finding){ mount.line, has_mount_words(&mount, row->planned) };
}

static struct finding check_stat(const struct nt_expect *row, struct span text)
{
    struct facts facts;

    return (struct finding){ text, stat_facts(text, &facts) &&
                                       has_words(&facts, row->planned) };
}

/* Two lines of headings, then one for each device: "    lo: ...". */
static struct finding check_loopback(struct span text)
{
    static const struct span alone = { "lo alone", 8 };
    struct span name = { "no device", 9 };
    bool found = false;

    for (size_t i = 0; i < 2; i++) {
        struct span heading = span_cut(&text, '\n');

        if (!memchr(heading.at, '|', heading.count))
            return (struct finding){ heading, false };
    }
    while (text.count > 0) {
        struct span line = span_cut(&text, '\n');

        name = span_cut(&line, ':');
        while (name.count > 0 && is_blank(name.at[0])) {
            name.at++;
            name.count--;
        }
        if (!span_is(name, "lo") || found)
            return (struct finding){ name, false };
        found = true;
    }
    return (struct finding){ found ? alone : name, found };
}

static struct span without_end(struct span text)
{
    if (text.count > 0 &&
        (text.at[text.count - 1] == '\n' || text.at[text.count - 1] == '\0'))
        text.count--;
    return text;
}

static struct finding check_text(const struct nt_expect *row, struct span text)
{
    text = without_end(text);
    return (struct finding){ text, span_is(text, row->planned) };
}

static bool span_equals(struct span a, struct span b)
{
    return a.count == b.count && memcmp(a.at, b.at, a.count) == 0;
}

static bool is_among(struct span list, char separator, struct span item)
{
    while (list.count > 0)
        if (span_equals(span_cut(&list, separator), item))
            return true;
    return false;
}

static struct finding check_one_of(const struct nt_expect *row, struct span text)
{
    text = without_end(text);
    return (struct finding){ text, is_among(span_of(row->planned), ' ', text) };
}

/* As many, each of them planned, and each planned one there: a line that comes twice
 * leaves no room for another. */
static struct finding check_lines(const struct nt_expect *row, struct span text)
{
    struct span all = without_end(text), left = all, wanted = span_of(row->planned);
    size_t there = 0, planned = 0;

    while (left.count > 0) {
        struct span line = span_cut(&left, '\n');

        if (!is_among(span_of(row->planned), '\n', line))
            return (struct finding){ line, false };
        there++;
    }
    while (wanted.count > 0) {
        if (!is_among(all, '\n', span_cut(&wanted, '\n')))
            return (struct finding){ all, false };
        planned++;
    }
    return (struct finding){ all, there == planned };
}

static bool is_error(struct span text)
{
    return text.count > strlen(ERROR_PREFIX) &&
           memcmp(text.at, ERROR_PREFIX, strlen(ERROR_PREFIX)) == 0;
}

static struct finding check_error(const struct nt_expect *row, struct span text)
{
    struct span error = text;

    if (!is_error(text))
        return (struct finding){ text, false };
    (void)span_cut(&error, ' ');
    return (struct finding){ error, span_is(error, row->planned) };
}

static struct finding check(const struct nt_expect *row, struct span text,
                            char room[VALUE_MAX])
{
    assert(row->check != NT_CHECK_NONE);
    if (text.count >= ANSWER_BYTES_MAX)
        return (struct finding){ span_of("cut"), false };
    if (row->check == NT_CHECK_ERROR)
        return check_error(row, text);
    if (is_error(text))
        return (struct finding){ text, false };
    switch (row->check) {
    case NT_CHECK_STATUS:
        return check_status(row, text, room);
    case NT_CHECK_LIMIT:
        return check_limit(row, text, room);
    case NT_CHECK_MOUNT:
        return check_mount(row, text);
    case NT_CHECK_STAT:
        return check_stat(row, text);
    case NT_CHECK_LOOPBACK:
        return check_loopback(text);
    case NT_CHECK_TEXT:
        return check_text(row, text);
    case NT_CHECK_ONE_OF:
        return check_one_of(row, text);
    case NT_CHECK_LINES:
        return check_lines(row, text);
    case NT_CHECK_ERROR:
    case NT_CHECK_NONE:
        break;
    }
    return (struct finding){ text, false };
}

enum nacre_status nt_report_check(const struct nt_expect *row, const char *answer,
                                  size_t count, struct nacre_error *err)
{
    struct finding finding = { span_of("unknown: init has not answered"), false };
    char room[VALUE_MAX], is[160];

    if (answer)
        finding = check(row, (struct span){ answer, count }, room);
    if (finding.as_planned)
        return NACRE_OK;
    return nacre_fail(
        err, NACRE_ERR_UNAVAILABLE,
        "the sandbox is not as planned: %.100s is '%s', planned '%.120s'", row->what,
        nacre_text_show(is, sizeof(is), finding.is.at, finding.is.count),
        row->check == NT_CHECK_LOOPBACK ? "lo alone" : row->planned);
}

enum nacre_status nt_report_judge(const struct nt_box *box, const struct nt_expect *rows,
                                  size_t count, struct nacre_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        const char *answer = nt_box_answer(box, rows[i].question, &bytes);
        enum nacre_status status = nt_report_check(&rows[i], answer, bytes, err);

        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

enum nacre_status nt_report_identity(int fd, char ret_words[NT_IDENTITY],
                                     struct nacre_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't tell what a bind is");
    (void)snprintf(ret_words, NT_IDENTITY, "device=%ju inode=%ju",
                   (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
    return NACRE_OK;
}
