/*
 * A policy as a CKP document.  Texts in it may come from a stranger's file: each is
 * quoted so that YAML reads exactly it, and a comment can't be left by what it names.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ckp.h"
#include "ckp_losses.h"
#include "model.h"
#include "nacre/input.h"
#include "nacre/text.h"
#include "yaml_text.h"

#define SECTIONS_MAX 8

/* The headings above the line that is written; one is written before its first line. */
struct section {
    const char *name;
    bool written;
};

struct writer {
    const struct nacre_policy *policy, *defaults;
    struct nacre_buf *out;
    struct section sections[SECTIONS_MAX];
    size_t depth;
    char source[96];          /* for comments: printable ASCII only */
    enum nacre_status status; /* of the first failure; nothing is written after it */
    struct nacre_error *err;
};

static const struct nacre_place nowhere = { 0, 0 };

/* ---- lines ---- */

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
                                                      const char *format, ...)
{
    char line[256];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    assert(length >= 0 && (size_t)length < sizeof(line));
    if (writer->status == NACRE_OK)
        writer->status = nacre_buf_add(writer->out, line, (size_t)length, writer->err);
}

static void put_text(struct writer *writer, const char *text)
{
    if (writer->status == NACRE_OK)
        writer->status = nacre_yaml_text_add(writer->out, text, writer->err);
}

static void put_end(struct writer *writer, struct nacre_place place)
{
    if (place.line > 0)
        put(writer, " # %s:%d", writer->source, place.line);
    put(writer, "\n");
}

/* The headings that are due, then the line's start. */
static void put_start(struct writer *writer, const char *start)
{
    for (size_t i = 0; i < writer->depth; i++) {
        if (!writer->sections[i].written)
            put(writer, "%*s%s:\n", (int)(2 * i), "", writer->sections[i].name);
        writer->sections[i].written = true;
    }
    put(writer, "%*s%s", (int)(2 * writer->depth), "", start);
}

static void put_key(struct writer *writer, const char *key)
{
    put_start(writer, key);
    put(writer, ": ");
}

static void enter(struct writer *writer, const char *name)
{
    assert(writer->depth < SECTIONS_MAX);
    writer->sections[writer->depth++] = (struct section){ .name = name };
}

/* Nothing stood in it: with a place it is there all the same, empty. */
static void leave(struct writer *writer, struct nacre_place place)
{
    struct section section = writer->sections[--writer->depth];

    if (section.written || place.line == 0)
        return;
    put_key(writer, section.name);
    put(writer, "{}");
    put_end(writer, place);
}

/* ---- values: what was said, and what is not the default without being said ---- */

static void write_text(struct writer *writer, const char *key, const char *text,
                       struct nacre_place place)
{
    put_key(writer, key);
    put_text(writer, text);
    put_end(writer, place);
}

static void write_word(struct writer *writer, const char *key, const char *word,
                       bool is_default, struct nacre_place place)
{
    if (place.line > 0 || !is_default)
        write_text(writer, key, word, place);
}

static void write_flag(struct writer *writer, const char *key, struct nacre_flag flag,
                       struct nacre_flag standard)
{
    if (flag.place.line == 0 && flag.on == standard.on)
        return;
    put_key(writer, key);
    put(writer, "%s", flag.on ? "true" : "false");
    put_end(writer, flag.place);
}

static void write_limit(struct writer *writer, const char *key, struct nacre_limit limit,
                        struct nacre_limit standard)
{
    if (limit.place.line == 0 && limit.value == standard.value)
        return;
    put_key(writer, key);
    put(writer, "%ju", (uintmax_t)limit.value);
    put_end(writer, limit.place);
}

/* The key of a list; false when it is not there, or is empty and written so. */
static bool write_list(struct writer *writer, const char *key, size_t count,
                       struct nacre_place place)
{
    if (count == 0 && place.line == 0)
        return false;
    put_start(writer, key);
    put(writer, count == 0 ? ": []" : ":");
    put_end(writer, place);
    return count > 0;
}

static void write_entry(struct writer *writer, const char *text, struct nacre_place place)
{
    put_start(writer, "  - ");
    put_text(writer, text);
    put_end(writer, place);
}

static void write_rules(struct writer *writer, const char *key,
                        const struct nacre_rules *rules)
{
    if (write_list(writer, key, rules->count, rules->place))
        for (size_t i = 0; i < rules->count; i++)
            write_entry(writer, rules->items[i].text, rules->items[i].place);
}

/* ---- sections ---- */

/* An annotation is a text, and so is a list in it. */
static void write_denied_hosts(struct writer *writer)
{
    const struct nacre_rules *denied = &writer->policy->network.denied_hosts;
    struct nacre_buf text = NACRE_BUF(NACRE_CKP_BYTES_MAX);

    if (denied->count == 0)
        return;
    for (size_t i = 0; i < denied->count && writer->status == NACRE_OK; i++)
        writer->status = nacre_buf_addf(&text, writer->err, "%s%s", i > 0 ? ", " : "",
                                        denied->items[i].text);
    if (writer->status == NACRE_OK)
        write_text(writer, NACRE_ANNOTATION_DENIED, text.bytes, denied->place);
    nacre_buf_clear(&text);
}

static void write_annotations(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy;

    enter(writer, "annotations");
    write_word(writer, NACRE_ANNOTATION_SCAN, nacre_input_mode_name(policy->input.mode),
               policy->input.mode == NACRE_INPUT_UNSET, policy->input.mode_place);
    write_word(writer, NACRE_ANNOTATION_SUSPECT,
               nacre_input_action_name(policy->input.suspect),
               policy->input.suspect == NACRE_ON_INPUT_UNSET,
               policy->input.suspect_place);
    write_word(writer, NACRE_ANNOTATION_ATTACK,
               nacre_input_action_name(policy->input.attack),
               policy->input.attack == NACRE_ON_INPUT_UNSET, policy->input.attack_place);
    write_word(writer, NACRE_ANNOTATION_INTENT,
               nacre_intent_need_name(policy->input.intent),
               policy->input.intent == NACRE_INTENT_NEED_UNSET,
               policy->input.intent_place);
    write_denied_hosts(writer);
    leave(writer, nowhere);
}

/* Names of sandboxes have more characters than CKP's. */
static void write_name(struct writer *writer)
{
    char name[64] = "";
    size_t used = 0;

    for (const char *at = writer->policy->name; *at && used + 1 < sizeof(name); at++) {
        bool fits = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                    (*at >= 'A' && *at <= 'Z') || *at == '-';

        if (used > 0 || (fits && *at != '-'))
            name[used++] = fits ? *at : '-';
    }
    if (used == 0)
        memcpy(name, "converted", sizeof("converted"));
    assert(nacre_policy_is_name(name));
    write_text(writer, "name", name, writer->policy->name_place);
}

static void write_network(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy, *defaults = writer->defaults;

    enter(writer, "network");
    write_word(writer, "mode", nacre_network_mode_name(policy->network.mode),
               policy->network.mode == defaults->network.mode,
               policy->network.mode_place);
    write_rules(writer, "allowed_hosts", &policy->network.allowed_hosts);
    enter(writer, "ssrf_protection");
    write_flag(writer, "enabled", policy->network.ssrf_enabled,
               defaults->network.ssrf_enabled);
    write_flag(writer, "block_private_ips", policy->network.block_private_ips,
               defaults->network.block_private_ips);
    write_flag(writer, "dns_pinning", policy->network.dns_pinning,
               defaults->network.dns_pinning);
    leave(writer, nowhere);
    leave(writer, nowhere);
}

static void write_filesystem(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy;
    const struct nacre_mount_rules *mounts = &policy->filesystem.mounts;

    enter(writer, "filesystem");
    write_word(writer, "mode", nacre_filesystem_mode_name(policy->filesystem.mode),
               policy->filesystem.mode == writer->defaults->filesystem.mode,
               policy->filesystem.mode_place);
    if (write_list(writer, "mount_paths", mounts->count, mounts->place))
        for (size_t i = 0; i < mounts->count; i++) {
            put_start(writer, "  - path: ");
            put_text(writer, mounts->items[i].path);
            put_end(writer, mounts->items[i].place);
            put_key(writer, "    permissions");
            put(writer, "%s", mounts->items[i].writable ? "rw" : "ro");
            put_end(writer, mounts->items[i].permissions_place);
        }
    write_rules(writer, "denied_paths", &policy->filesystem.denied_paths);
    leave(writer, nowhere);
}

static void write_secrets(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy, *defaults = writer->defaults;

    enter(writer, "secrets");
    write_word(writer, "injection", nacre_injection_name(policy->secrets.injection),
               policy->secrets.injection == NACRE_INJECTION_UNSET,
               policy->secrets.injection_place);
    write_word(writer, "encryption", "aes-256-gcm", true,
               policy->secrets.encryption_place);
    enter(writer, "leak_detection");
    write_flag(writer, "enabled", policy->secrets.leak_detection,
               defaults->secrets.leak_detection);
    write_limit(writer, "patterns", policy->secrets.leak_patterns,
                defaults->secrets.leak_patterns);
    leave(writer, nowhere);
    leave(writer, policy->secrets.place);
}

static void write_shell(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy;

    enter(writer, "shell");
    write_word(writer, "mode", nacre_shell_mode_name(policy->shell.mode),
               policy->shell.mode == writer->defaults->shell.mode,
               policy->shell.mode_place);
    write_rules(writer, "blocked_commands", &policy->shell.blocked_commands);
    if (write_list(writer, "blocked_patterns", policy->shell.blocked_patterns.count,
                   policy->shell.blocked_patterns.place))
        for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
            write_entry(writer, policy->shell.blocked_patterns.items[i].text,
                        policy->shell.blocked_patterns.items[i].place);
    leave(writer, nowhere);
}

static void write_limits(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy, *defaults = writer->defaults;

    enter(writer, "resource_limits");
#define LIMIT(name) \
    write_limit(writer, #name, policy->limits.name, defaults->limits.name)
    LIMIT(memory_mb);
    LIMIT(cpu_shares);
    LIMIT(max_processes);
    LIMIT(max_open_files);
    LIMIT(timeout_ms);
    LIMIT(max_output_bytes);
#undef LIMIT
    leave(writer, nowhere);
}

static void write_document(struct writer *writer)
{
    const struct nacre_policy *policy = writer->policy;

    put(writer, "claw: \"" NACRE_CKP_VERSION "\"\nkind: Sandbox\n");
    enter(writer, "metadata");
    write_name(writer);
    if (policy->version)
        write_text(writer, "version", policy->version, policy->version_place);
    write_annotations(writer);
    leave(writer, nowhere);
    enter(writer, "spec");
    write_word(writer, "level", nacre_level_name(policy->level), false,
               policy->level_place);
    write_word(writer, "runtime", nacre_runtime_name(policy->runtime),
               policy->runtime == nacre_ckp_runtime(policy->level),
               policy->runtime_place);
    enter(writer, "capabilities");
    write_network(writer);
    write_filesystem(writer);
    write_secrets(writer);
    write_shell(writer);
    leave(writer, nowhere);
    write_limits(writer);
    leave(writer, nowhere);
}

/* What a stranger named his file must not end a comment. */
static void set_comment(char *ret_text, size_t size, const char *text)
{
    (void)nacre_text_show(ret_text, size, text, strlen(text));
    for (; *ret_text; ret_text++)
        if ((unsigned char)*ret_text >= 0x7f)
            *ret_text = '?';
}

/* Whoever has the document must be able to load it: a value that CKP has no room for is
 * found here. */
static enum nacre_status read_back(const struct nacre_buf *out, size_t start,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *again = NULL;
    enum nacre_status status = nacre_policy_parse("(converted)", out->bytes + start,
                                                  out->size - start, &again, err);

    if (status == NACRE_OK)
        return NACRE_OK;
    return nacre_fail_context(err, "CKP has no room for this policy");
}

enum nacre_status nacre_ckp_write(const struct nacre_policy *policy, const char *about,
                                  struct nacre_buf *out, struct nacre_losses *losses,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *defaults = NULL;
    struct writer writer = { .policy = policy, .out = out, .err = err };
    size_t start = out->size;
    char comment[200];

    writer.status = nacre_policy_new("(defaults)", &defaults, err);
    if (writer.status != NACRE_OK)
        return writer.status;
    writer.defaults = defaults;
    set_comment(writer.source, sizeof(writer.source), policy->source);
    if (about) {
        set_comment(comment, sizeof(comment), about);
        put(&writer, "# %s\n", comment);
    }
    write_document(&writer);
    if (writer.status == NACRE_OK)
        writer.status = read_back(out, start, err);
    if (writer.status == NACRE_OK)
        writer.status = nacre_losses_of_policy(policy, losses, err);
    return writer.status;
}
