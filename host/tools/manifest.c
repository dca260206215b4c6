/*
 * tool.yaml: CKP 0.3.0, kind Tool.  The document is a stranger's; it is read into a fresh
 * manifest that is handed over only when every line of it was understood.  What CKP has
 * and nacre does not do is refused by name: a retry or a policy that is written down and
 * not followed would be a promise broken.
 */
#include "nacre/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "catalogue.h"
#include "nacre/buf.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "pointer.h"
#include "json_schema.h"
#include "schema.h"

#define CKP_VERSION "0.3.0"
#define MANIFEST_BYTES_MAX ((size_t)1 << 20)
#define DESCRIPTION_BYTES_MAX 16384
#define FUEL_MAX INT64_MAX

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define DIGITS "0123456789"

#define TABLE(rows) { .keys = rows, .count = NACRE_COUNT(rows) }
#define TABLE_TEXT(key, setter) .name = key, .type = NACRE_SCHEMA_TEXT, .set = setter
#define TABLE_REQUIRED(words) .required = true, .example = words

/* ---- the head ---- */

static enum nacre_status set_claw(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    if (strcmp(node->text, CKP_VERSION) == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, node->place, err,
                              "claw: this nacre reads CKP \"%s\", found '%s'",
                              CKP_VERSION, nacre_text_shown(shown, node->text));
}

static enum nacre_status set_kind(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    if (strcmp(node->text, "Tool") == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, node->place, err, "kind: expected Tool, found '%s'",
                              nacre_text_shown(shown, node->text));
}

static enum nacre_status set_name(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    size_t length = strlen(node->text);
    char shown[NACRE_SHOWN];

    if (length < 1 || length > 63 || strspn(node->text, NAME_LETTERS) != length ||
        strchr("-_", node->text[0]))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "metadata.name: expected 1 to 63 small letters, digits,"
                                  " '-' and '_', first a letter or digit; found '%s'",
                                  nacre_text_shown(shown, node->text));
    manifest->name_place = node->place;
    return nacre_schema_copy(node->text, &manifest->name, err);
}

static bool is_version(const char *version)
{
    for (int part = 0; part < 3; part++) {
        size_t digits = strspn(version, DIGITS);

        if (digits == 0 || (part < 2 && version[digits] != '.'))
            return false;
        version += digits + (part < 2);
    }
    return *version == '\0' || (*version == '-' && version[1] != '\0');
}

static enum nacre_status set_version(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (!is_version(node->text) || strlen(node->text) > 63)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "metadata.version: expected MAJOR.MINOR.PATCH, like 1.0.0 or 1.0.0-rc.1; "
            "found '%s'",
            nacre_text_shown(shown, node->text));
    return nacre_schema_copy(node->text, &manifest->version, err);
}

static enum nacre_status set_labels(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    (void)target;
    for (const struct nacre_node *label = node->first; label && status == NACRE_OK;
         label = label->next)
        status = nacre_schema_want_text(at, label, err);
    return status;
}

/* ---- annotations of ours ---- */

static enum nacre_status set_fuel(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (!nacre_text_u64(node->text, FUEL_MAX, &manifest->fuel.value) ||
        manifest->fuel.value == 0)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected a whole number above 0, found '%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    manifest->fuel.place = node->place;
    return NACRE_OK;
}

static enum nacre_status set_module(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (node->text[0] == '\0' || node->text[0] == '.' || strchr(node->text, '/') ||
        strlen(node->text) > 255)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected the name of a file in the tool's own "
                                  "folder, found '%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    return nacre_schema_copy(node->text, &manifest->module, err);
}

static enum nacre_status set_digest(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (strspn(node->text, DIGITS "abcdef") != NACRE_HEX - 1 ||
        !nacre_digest_from_hex(node->text, &manifest->digest))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected a SHA-256 in 64 small hex digits, found "
                                  "'%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    manifest->has_digest = true;
    manifest->digest_place = node->place;
    return NACRE_OK;
}

static enum nacre_status set_approval(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (strcmp(node->text, "required") != 0)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected \"required\", found '%s'; leave it out "
                                  "where nobody is to be asked",
                                  at->where, nacre_text_shown(shown, node->text));
    manifest->needs_approval = true;
    manifest->approval_place = node->place;
    return NACRE_OK;
}

static enum nacre_status set_language(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    size_t length = strlen(node->text);
    char shown[NACRE_SHOWN];

    if (length < 1 || length > 31 || strspn(node->text, NAME_LETTERS "+") != length)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected a language's name, like c, zig or rust; "
                                  "found '%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    return nacre_schema_copy(node->text, &manifest->language, err);
}

static const char *const access_words[] = { "read", "write" };
_Static_assert(NACRE_TOOL_ACCESS_READ == 1 && NACRE_TOOL_ACCESS_WRITE == 2,
               "a word is stored by its number, from 1");

static const struct nacre_schema_key annotation_keys[] = {
    { TABLE_TEXT("nacre/fuel", set_fuel) },
    { TABLE_TEXT("nacre/module", set_module) },
    { TABLE_TEXT("nacre/digest", set_digest) },
    { .name = "nacre/access", .type = NACRE_SCHEMA_WORD,
      .offset = offsetof(struct nacre_manifest, access),
      .place_offset = offsetof(struct nacre_manifest, access_place),
      .words = access_words, .word_count = NACRE_COUNT(access_words) },
    { TABLE_TEXT("nacre/approval", set_approval) },
    { TABLE_TEXT("nacre/language", set_language) },
};
static const struct nacre_schema annotation_schema = TABLE(annotation_keys);

/* Those of others are theirs; ours are read strictly, see host/policy/annotations.c. */
static enum nacre_status set_annotations(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    struct nacre_node ours[NACRE_COUNT(annotation_keys) + 1];
    struct nacre_node all = *node;
    size_t count = 0;

    for (const struct nacre_node *child = node->first; child; child = child->next)
        if (strncmp(child->key, "nacre/", 6) == 0 && count < NACRE_COUNT(ours))
            ours[count++] = *child;
    for (size_t i = 0; i < count; i++)
        ours[i].next = i + 1 < count ? &ours[i + 1] : NULL;
    all.first = count > 0 ? ours : NULL;
    all.count = count;
    return nacre_schema_read(&annotation_schema, at, &all, target, err);
}

/* ---- the spec ---- */

static enum nacre_status set_description(const struct nacre_reading *at,
                                         const struct nacre_node *node, void *target,
                                         struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    size_t length = strlen(node->text);

    if (length == 0 || length > DESCRIPTION_BYTES_MAX)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected 1 to %d bytes, found %zu; an agent "
                                  "chooses a tool by it",
                                  at->where, DESCRIPTION_BYTES_MAX, length);
    return nacre_schema_copy(node->text, &manifest->description, err);
}

/* A name, never a path: what a manifest may pick is what the operator has installed. */
static enum nacre_status set_sandbox(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    char shown[NACRE_SHOWN];

    if (node->text[0] == '\0' ||
        (strncmp(node->text, "claw://", 7) != 0 && strpbrk(node->text, "/.")))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: expected claw://local/sandbox/NAME or a name, "
                                  "found '%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    manifest->sandbox_place = node->place;
    return nacre_schema_copy(node->text, &manifest->sandbox_ref, err);
}

static enum nacre_status read_json_schema(const struct nacre_reading *at,
                                          const struct nacre_node *node,
                                          json_t **ret_document,
                                          struct nacre_json_schema **ret_schema,
                                          struct nacre_error *err)
{
    char pointer[NACRE_SCHEMA_POINTER], shown[160], words[256];
    struct nacre_place place;
    enum nacre_status status = nacre_node_json(at->source, node, ret_document, err);

    if (status == NACRE_OK)
        status = nacre_json_schema_compile(*ret_document, ret_schema, pointer, err);
    if (status != NACRE_ERR_PARSE || err->line > 0)
        return status;
    place = node_pointer_place(node, pointer);
    (void)snprintf(words, sizeof(words), "%.255s", err->text);
    return NACRE_READING_FAIL(at, place, err, "%s%s: %s", at->where,
                              nacre_text_show(shown, sizeof(shown), pointer,
                                              strlen(pointer)),
                              words);
}

static enum nacre_status set_input(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    const struct nacre_node *type = nacre_node_find(node, "type");

    manifest->schema_place = node->key_place;
    if (!type || type->kind != NACRE_NODE_TEXT || strcmp(type->text, "object") != 0)
        return NACRE_READING_FAIL(at, type ? type->place : node->key_place, err,
                                  "%s: arguments are an object: write type: object",
                                  at->where);
    return read_json_schema(at, node, &manifest->input_schema,
                            &manifest->schema, err);
}

static enum nacre_status set_output(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;

    return read_json_schema(at, node, &manifest->output_schema,
                            &manifest->output, err);
}

/* MCP's hints are a tool's own word, and nothing here is decided by them. */
static enum nacre_status set_hints(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    struct nacre_manifest *manifest = target;
    const struct nacre_node *title = nacre_node_find(node, "title");
    enum nacre_status status;

    if (!title)
        return NACRE_OK;
    status = nacre_schema_want_text(at, title, err);
    return status == NACRE_OK ? nacre_schema_copy(title->text, &manifest->title, err)
                              : status;
}

static enum nacre_status enter_spec(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    static const struct {
        const char *key, *words;
    } refused[] = {
        { "policy_ref", "is not followed here: a tool's rules are its sandbox's" },
        { "mcp_source", "is not served: nacre runs modules and calls no other server" },
        { "retry", "is not served: nacre does not repeat a call; leave it out" },
        { "composite", "is not served: a tool is one module; leave it out" },
        { "skill_ref", "is not served: a tool is one module; leave it out" },
    };

    (void)target;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        const struct nacre_node *found = nacre_node_find(node, refused[i].key);

        if (found)
            return NACRE_READING_FAIL(at, found->key_place, err, "%s.%s %s", at->where,
                                      refused[i].key, refused[i].words);
    }
    return NACRE_OK;
}

static const struct nacre_schema_key metadata_keys[] = {
    { TABLE_TEXT("name", set_name), TABLE_REQUIRED("name: NAME") },
    { TABLE_TEXT("version", set_version), TABLE_REQUIRED("version: 1.0.0") },
    { .name = "labels", .type = NACRE_SCHEMA_OPEN, .set = set_labels },
    { .name = "annotations", .type = NACRE_SCHEMA_OPEN, .set = set_annotations },
};
static const struct nacre_schema metadata_schema = TABLE(metadata_keys);

static const struct nacre_schema_key spec_keys[] = {
    { TABLE_TEXT("description", set_description),
      TABLE_REQUIRED("description: WHAT THE TOOL DOES") },
    { .name = "input_schema", .type = NACRE_SCHEMA_OPEN, .set = set_input,
      TABLE_REQUIRED("input_schema: {type: object}") },
    { .name = "output_schema", .type = NACRE_SCHEMA_OPEN, .set = set_output },
    { TABLE_TEXT("sandbox_ref", set_sandbox) },
    { .name = "timeout_ms", .type = NACRE_SCHEMA_LIMIT,
      .offset = offsetof(struct nacre_manifest, timeout_ms), .min = 1, .max = 604800000 },
    { .name = "annotations", .type = NACRE_SCHEMA_OPEN, .set = set_hints },
};
static const struct nacre_schema spec_schema = TABLE(spec_keys);

static const struct nacre_schema_key document_keys[] = {
    { TABLE_TEXT("claw", set_claw), TABLE_REQUIRED("claw: \"" CKP_VERSION "\"") },
    { TABLE_TEXT("kind", set_kind), TABLE_REQUIRED("kind: Tool") },
    { .name = "metadata", .type = NACRE_SCHEMA_SECTION, .section = &metadata_schema,
      TABLE_REQUIRED("metadata: {name: NAME, version: 1.0.0}") },
    { .name = "spec", .type = NACRE_SCHEMA_SECTION, .section = &spec_schema,
      .set = enter_spec,
      TABLE_REQUIRED("spec: {description: ..., input_schema: {type: object}}") },
};
static const struct nacre_schema document_schema = TABLE(document_keys);

/* ---- the whole ---- */

enum nacre_status nacre_manifest_parse(const char *source, const char *bytes,
                                       size_t count,
                                       struct nacre_manifest **ret_manifest,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    NACRE_AUTO(nacre_manifest_guard)
    struct nacre_manifest *manifest = calloc(1, sizeof(*manifest));
    struct nacre_reading at = { .source = source };
    enum nacre_status status;

    if (!manifest)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a manifest");
    status = nacre_yaml_read(source, bytes, count, &root, err);
    if (status == NACRE_OK)
        status = nacre_schema_copy(source, &manifest->source, err);
    if (status == NACRE_OK)
        status = nacre_schema_read(&document_schema, &at, root, manifest, err);
    if (status == NACRE_OK && !manifest->module &&
        asprintf(&manifest->module, "%s.wasm", manifest->name) < 0) {
        manifest->module = NULL;
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a manifest");
    }
    if (status == NACRE_OK)
        *ret_manifest = nacre_manifest_take(&manifest);
    return status;
}

static enum nacre_status read_bytes(const char *path, struct nacre_buf *buf,
                                    struct nacre_error *err)
{
    /* NONBLOCK: a FIFO in its place would hold us for ever. */
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char shown[NACRE_SHOWN];
    struct stat info;
    enum nacre_status status;

    (void)nacre_text_shown(shown, path);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s: no such file", shown);
    if (fd < 0 || fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s", shown);
    if (!S_ISREG(info.st_mode))
        return nacre_fail(err, NACRE_ERR_PARSE, "%s: not a regular file", shown);
    status = nacre_buf_read(buf, fd, err);
    if (status == NACRE_ERR_TOO_BIG)
        return nacre_fail_at(err, status, path, 1, 1,
                             "the document is larger than %zu bytes", MANIFEST_BYTES_MAX);
    return status == NACRE_OK ? status : nacre_fail_context(err, shown);
}

enum nacre_status nacre_manifest_load(const char *directory,
                                      struct nacre_manifest **ret_manifest,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(MANIFEST_BYTES_MAX);
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    NACRE_AUTO(nacre_heap_guard) char *real = realpath(directory, NULL);
    char path[NACRE_PATH_MAX];
    char *module;
    enum nacre_status status;

    if ((size_t)snprintf(path, sizeof(path), "%s/" TOOLS_MANIFEST, directory) >=
        sizeof(path))
        return nacre_fail(err, NACRE_ERR_USAGE, "a tool's folder has too long a path");
    status = read_bytes(path, &buf, err);
    if (status == NACRE_OK)
        status = nacre_manifest_parse(path, buf.bytes ? buf.bytes : "", buf.size,
                                      &manifest, err);
    if (status != NACRE_OK)
        return status;
    if (!real)
        return nacre_fail(err, NACRE_ERR_IO, "where a tool's folder lies can't be found");
    if (asprintf(&module, "%s/%s", real, manifest->module) < 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a manifest");
    free(manifest->module);
    manifest->module = module;
    manifest->directory = NACRE_HEAP_TAKE(real);
    *ret_manifest = nacre_manifest_take(&manifest);
    return NACRE_OK;
}

void nacre_manifest_free(struct nacre_manifest *manifest)
{
    if (!manifest)
        return;
    free(manifest->directory);
    free(manifest->source);
    free(manifest->name);
    free(manifest->version);
    free(manifest->title);
    free(manifest->description);
    free(manifest->sandbox_ref);
    free(manifest->module);
    free(manifest->language);
    json_decref(manifest->input_schema);
    json_decref(manifest->output_schema);
    nacre_json_schema_free(manifest->schema);
    nacre_json_schema_free(manifest->output);
    free(manifest);
}

enum nacre_status nacre_manifest_judge(const struct nacre_manifest *manifest,
                                       const struct json_t *arguments,
                                       struct nacre_error *err)
{
    return nacre_json_schema_judge(manifest->schema, arguments, err);
}
