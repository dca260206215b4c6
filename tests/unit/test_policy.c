/*
 * The policy reader where a file of a suite can't show it: limits on size, references,
 * tables, what a failure leaves behind, allocation failures.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "ckp.h"
#include "config_draft.h"
#include "fail_alloc.h"
#include "nacre/buf.h"
#include "nacre/path.h"
#include "nacre/policy.h"

#define HEAD "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: t\n"
#define SPEC HEAD "spec:\n  level: wasm\n"

static void add(struct nacre_buf *buf, const char *text)
{
    struct nacre_error err;

    assert_int_equal(nacre_buf_add(buf, text, strlen(text), &err), NACRE_OK);
}

static enum nacre_status parse(const struct nacre_buf *buf, struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    enum nacre_status status =
        nacre_policy_parse("p.yaml", buf->bytes, buf->size, &policy, err);

    assert_int_equal(policy != NULL, status == NACRE_OK);
    return status;
}

/* ---- limits of the reader ---- */

/* `count` annotations on top of SPEC: 2 nodes each. */
static enum nacre_status parse_with_annotations(size_t count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    char line[32];

    add(&buf, HEAD "  annotations:\n");
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(line, sizeof(line), "    a%zu: x\n", i);
        add(&buf, line);
    }
    add(&buf, "spec:\n  level: wasm\n");
    return parse(&buf, err);
}

static void the_number_of_nodes_is_limited(void **state)
{
    /* The root; claw, kind and name with their values; annotations, metadata, spec and
     * level with theirs. */
    size_t others = 1 + 6 + 8;
    size_t most = (NACRE_DOCUMENT_NODES_MAX - others) / 2;
    struct nacre_error err;

    (void)state;
    assert_int_equal(parse_with_annotations(most, &err), NACRE_OK);
    assert_int_equal(parse_with_annotations(most + 1, &err), NACRE_ERR_PARSE);
    assert_string_equal(err.text, "the document has more than 10000 keys and values");
}

static void the_length_of_a_text_is_limited(void **state)
{
    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
        struct nacre_error err = { .status = NACRE_OK };

        add(&buf, HEAD "  annotations:\n    a: ");
        for (size_t i = 0; i < NACRE_DOCUMENT_SCALAR_BYTES_MAX + over; i++)
            add(&buf, "x");
        add(&buf, "\nspec:\n  level: wasm\n");
        assert_int_equal(parse(&buf, &err), over ? NACRE_ERR_PARSE : NACRE_OK);
        if (over) {
            assert_string_equal(
                err.text, "a text may have at most 65536 bytes, this one has 65537");
            assert_int_equal(err.line, 6);
            assert_int_equal(err.column, 8);
        }
    }
}

static void the_size_of_a_document_is_limited(void **state)
{
    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf =
            NACRE_BUF(2 * NACRE_DOCUMENT_BYTES_MAX);
        struct nacre_error err = { .status = NACRE_OK };

        add(&buf, SPEC);
        while (buf.size < NACRE_DOCUMENT_BYTES_MAX + over)
            add(&buf, "#");
        assert_int_equal(parse(&buf, &err), over ? NACRE_ERR_TOO_BIG : NACRE_OK);
        if (over)
            assert_string_equal(err.text, "the document is larger than 1048576 bytes");
    }
}

static void the_length_of_a_list_is_limited(void **state)
{
    (void)state;
    for (size_t over = 0; over <= 1; over++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
        struct nacre_error err = { .status = NACRE_OK };

        add(&buf, SPEC "  capabilities:\n    filesystem:\n      denied_paths:\n");
        for (size_t i = 0; i < NACRE_LIST_MAX + over; i++)
            add(&buf, "        - /a\n");
        assert_int_equal(parse(&buf, &err), over ? NACRE_ERR_PARSE : NACRE_OK);
        if (over) {
            assert_string_equal(
                err.text, "spec.capabilities.filesystem.denied_paths: a list may have at "
                          "most 1000 entries, this one has 1001");
            assert_int_equal(err.line, 9);
            assert_int_equal(err.column, 7);
        }
    }
}

/* A megabyte of whatever makes a reader work hardest must still be refused; that it is
 * quick shows in the test's own time limit, which is far below what these would take. */
static void a_megabyte_of_poison_is_refused(void **state)
{
    static const char *const poisons[] = {
        "[",     "{",   "- ",  "? ",  "a: ",   "&a [*a,",          "\"",
        "'",     "|\n", "!a ", "&a ", "---\n", "a: &a {<<: *a}\n", "[[],",
        "{a: {", "%",   "\t",  "\n",  "\\",    "- - ? - ",         "#\n",
        "a:\n ",
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(poisons); i++) {
        NACRE_AUTO(nacre_buf_clear)
        struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
        struct nacre_error err = { .status = NACRE_OK };

        while (buf.size + strlen(poisons[i]) <= NACRE_DOCUMENT_BYTES_MAX)
            add(&buf, poisons[i]);
        assert_int_equal(parse(&buf, &err), NACRE_ERR_PARSE);
    }
}

/* ---- the tables ---- */

static void check_schema(const struct nacre_schema *schema, int depth)
{
    assert_true(depth < 8);
    assert_true(schema->count > 0);
    for (size_t i = 0; i < schema->count; i++) {
        const struct nacre_schema_key *key = &schema->keys[i];

        assert_non_null(key->name);
        print_message("%*s%s\n", 2 * depth, "", key->name);
        assert_int_equal(key->required || key->type == NACRE_SCHEMA_AMOUNT,
                         key->example != NULL);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(key->name, schema->keys[k].name);
        switch (key->type) {
        case NACRE_SCHEMA_SECTION:
            assert_non_null(key->section);
            check_schema(key->section, depth + 1);
            break;
        case NACRE_SCHEMA_WORD:
            assert_true(key->offset > 0 && key->place_offset > 0 && key->word_count > 1);
            for (size_t k = 0; k < key->word_count; k++)
                assert_true(key->words[k][0] != '\0');
            break;
        case NACRE_SCHEMA_FLAG:
            assert_true(key->offset > 0);
            break;
        case NACRE_SCHEMA_LIMIT:
            assert_true(key->offset > 0 && key->min < key->max);
            break;
        case NACRE_SCHEMA_TEXT:
        case NACRE_SCHEMA_LIST:
        case NACRE_SCHEMA_OPEN:
        case NACRE_SCHEMA_ANY:
            assert_non_null(key->set);
            break;
        case NACRE_SCHEMA_RULE:
        case NACRE_SCHEMA_RULES:
            assert_true(key->offset > 0);
            assert_non_null(key->entry);
            break;
        case NACRE_SCHEMA_AMOUNT:
            assert_true(key->offset > 0 && key->min < key->max);
            assert_non_null(key->unit);
            break;
        case NACRE_SCHEMA_NONE:
            fail_msg("%s has no type", key->name);
        }
    }
}

static void no_row_of_the_schema_is_incomplete(void **state)
{
    (void)state;
    check_schema(&nacre_ckp_schema, 0);
    check_schema(&nacre_ckp_mount_schema, 0);
    check_schema(&nacre_openclaw_schema, 0);
    check_schema(&nacre_openclaw_agent_schema, 0);
    check_schema(&nacre_clawdis_schema, 0);
    check_schema(&nacre_config_yml_schema, 0);
    check_schema(&nacre_clawpy_schema, 0);
}

/* ---- what a result owns ---- */

static void a_refusal_hands_nothing_over(void **state)
{
    static const char broken[] =
        SPEC "  capabilities:\n    filesystem:\n      mode: full\n"
             "    shell:\n      blocked_patterns: ['a', 'b(']\n";
    struct nacre_policy *canary = (struct nacre_policy *)(void *)&canary;
    struct nacre_policy *policy = canary;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_parse("p", broken, strlen(broken), &policy, &err),
                     NACRE_ERR_PARSE);
    assert_ptr_equal(policy, canary);
    assert_int_equal(nacre_policy_load("claw://nowhere", NULL, &policy, &err),
                     NACRE_ERR_USAGE);
    assert_ptr_equal(policy, canary);
}

static void without_a_policy_nothing_is_granted(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
    assert_string_equal(policy->source, "(no policy)");
    assert_int_equal(policy->level, NACRE_LEVEL_WASM);
    assert_int_equal(policy->runtime, NACRE_RUNTIME_WASMTIME);
    assert_int_equal(policy->network.mode, NACRE_NETWORK_DENY);
    assert_int_equal(policy->filesystem.mode, NACRE_FILESYSTEM_DENY);
    assert_int_equal(policy->shell.mode, NACRE_SHELL_DENY);
    assert_int_equal(policy->secrets.place.line, 0);
    assert_true(policy->network.ssrf_enabled.on && policy->network.block_private_ips.on);
    assert_int_equal(policy->limits.memory_mb.value, NACRE_DEFAULT_MEMORY_MB);
    assert_int_equal(policy->limits.timeout_ms.value, NACRE_DEFAULT_TIMEOUT_MS);
    assert_int_equal(policy->level_place.line, 0);
}

static void names_are_those_of_the_document(void **state)
{
    (void)state;
    assert_string_equal(nacre_level_name(NACRE_LEVEL_WASM), "wasm");
    assert_string_equal(nacre_level_name(NACRE_LEVEL_UNSET), "unset");
    assert_string_equal(nacre_runtime_name(NACRE_RUNTIME_FIRECRACKER), "firecracker");
    assert_string_equal(nacre_network_mode_name(NACRE_NETWORK_ALLOW_ALL), "allow-all");
    assert_string_equal(nacre_filesystem_mode_name(NACRE_FILESYSTEM_FULL), "full");
    assert_string_equal(nacre_shell_mode_name(NACRE_SHELL_RESTRICTED), "restricted");
    assert_string_equal(nacre_injection_name(NACRE_INJECTION_FILE_MOUNT), "file-mount");
}

/* Returns how many allocations it took. */
static int fail_each_allocation(const char *bytes, size_t size)
{
    struct nacre_error err;
    bool fired = true;
    int n = 0;

    for (; fired; n++) {
        struct nacre_policy *policy = NULL;
        enum nacre_status status;

        assert_true(n < 5000);
        err = (struct nacre_error){ .status = NACRE_OK };
        fail_alloc_after(n);
        status = nacre_policy_parse("p", bytes, size, &policy, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(err.status, status);
        assert_int_equal(policy == NULL, fired);
        nacre_policy_free(policy);
    }
    return n;
}

static void parsing_survives_every_allocation_failure(void **state)
{
    static const char annotated[] =
        HEAD "  annotations: {nacre/denied-hosts: \"a.example, *.b.example\"}\n"
             "spec:\n  level: wasm\n";
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(NACRE_POLICIES_DIR "/standard.yaml", O_RDONLY | O_CLOEXEC);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(65536);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_buf_read(&buf, fd, &err), NACRE_OK);
    assert_true(fail_each_allocation(buf.bytes, buf.size) > 100);
    assert_true(fail_each_allocation(annotated, sizeof(annotated) - 1) > 20);
}

static void most_restrictive_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_policy *policy = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 20);
        fail_alloc_after(n);
        status = nacre_policy_most_restrictive(&policy, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(policy == NULL, fired);
        nacre_policy_free(policy);
    }
}

/* ---- references ---- */

struct place {
    char top[64];
    char first[96], second[96];
    const char *dirs[3];
};

static void write_policy(const char *directory, const char *file, const char *name,
                         const char *version)
{
    char path[256];
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, file);
    out = fopen(path, "we");
    assert_non_null(out);
    (void)fprintf(out, "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: %s\n", name);
    if (version)
        (void)fprintf(out, "  version: %s\n", version);
    (void)fprintf(out, "spec:\n  level: wasm\n");
    assert_int_equal(fclose(out), 0);
}

static int make_place(void **state)
{
    static struct place place;
    char path[160];

    (void)snprintf(place.top, sizeof(place.top), "nacre-policy-XXXXXX");
    if (!mkdtemp(place.top))
        return -1;
    (void)snprintf(place.first, sizeof(place.first), "%s/first", place.top);
    (void)snprintf(place.second, sizeof(place.second), "%s/second", place.top);
    assert_int_equal(mkdir(place.first, 0700), 0);
    assert_int_equal(mkdir(place.second, 0700), 0);
    place.dirs[0] = place.first;
    place.dirs[1] = place.second;
    write_policy(place.first, "both.yaml", "both", "1.0.0");
    write_policy(place.second, "both.yaml", "both", "2.0.0");
    write_policy(place.second, "later.yaml", "later", NULL);
    write_policy(place.first, "liar.yaml", "both", NULL);
    write_policy(place.first, "other.yml", "any-name", NULL);
    (void)snprintf(path, sizeof(path), "%s/pipe.yaml", place.first);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof(path), "%s/linked.yaml", place.first);
    assert_int_equal(symlink("../second/later.yaml", path), 0);
    (void)snprintf(path, sizeof(path), "%s/dir.yaml", place.first);
    assert_int_equal(mkdir(path, 0700), 0);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    static const char *const names[] = {
        "first/both.yaml",  "second/both.yaml", "second/later.yaml", "first/liar.yaml",
        "first/other.yml",  "first/pipe.yaml",  "first/linked.yaml", "first/large.yaml",
    };
    static const char *const directories[] = { "first/dir.yaml", "first", "second", "." };
    struct place *place = *state;
    char path[160];

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", place->top, names[i]);
        (void)unlink(path);
    }
    for (size_t i = 0; i + 1 < NACRE_COUNT(directories); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", place->top, directories[i]);
        if (rmdir(path) < 0)
            return -1;
    }
    return rmdir(place->top);
}

/* %1 stands for the first directory, %2 for the second. */
static void expand(const struct place *place, const char *text, char *ret_text,
                   size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (; *text; text++) {
        const char *piece = NULL;

        if (text[0] == '%' && (text[1] == '1' || text[1] == '2'))
            piece = *++text == '1' ? place->first : place->second;
        used += (size_t)snprintf(ret_text + used, size - used, "%.*s",
                                 piece ? (int)strlen(piece) : 1, piece ? piece : text);
        assert_true(used < size);
    }
}

static const struct {
    const char *reference;
    enum nacre_status status;
    const char *said; /* the source of what was loaded, or the error */
} references[] = {
    { "both", NACRE_OK, "%1/both.yaml" },
    { "later", NACRE_OK, "%2/later.yaml" },
    { "%2/both.yaml", NACRE_OK, "%2/both.yaml" },
    { "%1/other.yml", NACRE_OK, "%1/other.yml" },
    { "%1/liar.yaml", NACRE_OK, "%1/liar.yaml" },
    { "%1/linked.yaml", NACRE_OK, "%1/linked.yaml" },
    { "claw://local/sandbox/both", NACRE_OK, "%1/both.yaml" },
    { "claw://sandbox/later", NACRE_OK, "%2/later.yaml" },
    { "claw://local/sandbox/both@1.0.0", NACRE_OK, "%1/both.yaml" },
    { "claw://local/sandbox/both@2.0.0", NACRE_ERR_PARSE,
      "%1/both.yaml:5:12: version 2.0.0 was asked for, but metadata.version is '1.0.0'" },
    { "claw://local/sandbox/later@1.0.0", NACRE_ERR_PARSE,
      "%2/later.yaml:4:9: version 1.0.0 was asked for, but metadata.version is missing" },
    { "liar", NACRE_ERR_PARSE,
      "%1/liar.yaml:4:9: metadata.name is 'both', but the file was found by the name "
      "'liar'; they must be equal" },
    { "linked", NACRE_ERR_PARSE,
      "%1/linked.yaml:4:9: metadata.name is 'later', but the file was found by the name "
      "'linked'; they must be equal" },
    { "nowhere", NACRE_ERR_NOT_FOUND, "policy 'nowhere': no nowhere.yaml in %1, %2" },
    { "other", NACRE_ERR_NOT_FOUND, "policy 'other': no other.yaml in %1, %2" },
    { "claw://sandbox/nowhere", NACRE_ERR_NOT_FOUND,
      "policy 'nowhere': no nowhere.yaml in %1, %2" },
    { "./nowhere.yaml", NACRE_ERR_NOT_FOUND, "policy './nowhere.yaml': no such file" },
    { "nowhere.yaml", NACRE_ERR_NOT_FOUND, "policy 'nowhere.yaml': no such file" },
    { "%1/both.yaml/x", NACRE_ERR_NOT_FOUND, "policy '%1/both.yaml/x': no such file" },
    { "pipe", NACRE_ERR_USAGE,
      "policy '%1/pipe.yaml': not a regular file; a policy is a YAML file" },
    { "%1/pipe.yaml", NACRE_ERR_USAGE,
      "policy '%1/pipe.yaml': not a regular file; a policy is a YAML file" },
    { "dir", NACRE_ERR_USAGE,
      "policy '%1/dir.yaml': not a regular file; a policy is a YAML file" },
    { "/dev/zero", NACRE_ERR_USAGE,
      "policy '/dev/zero': not a regular file; a policy is a YAML file" },
    { "", NACRE_ERR_USAGE,
      "policy '': a name is 1 to 63 letters, digits and hyphens; a file is given with a "
      "'/' or ends in .yaml" },
    { "a\nb", NACRE_ERR_USAGE,
      "policy 'a\\x0ab': a name is 1 to 63 letters, digits and hyphens; a file is given "
      "with a '/' or ends in .yaml" },
    { "..", NACRE_ERR_USAGE,
      "policy '..': a name is 1 to 63 letters, digits and hyphens; a file is given with "
      "a '/' or ends in .yaml" },
    { "https://x.example/p.yaml", NACRE_ERR_USAGE,
      "policy 'https://x.example/p.yaml': only claw:// URIs, names and files are "
      "policies; expected claw://local/sandbox/NAME" },
    { "claw://", NACRE_ERR_USAGE,
      "policy 'claw://': expected claw://local/sandbox/NAME[@VERSION] or "
      "claw://sandbox/NAME" },
    { "claw://both", NACRE_ERR_USAGE,
      "policy 'claw://both': expected claw://local/sandbox/NAME[@VERSION] or "
      "claw://sandbox/NAME" },
    { "claw://local/tool/both", NACRE_ERR_USAGE,
      "policy 'claw://local/tool/both': not a sandbox; expected "
      "claw://local/sandbox/NAME" },
    { "claw://policy/both", NACRE_ERR_USAGE,
      "policy 'claw://policy/both': not a sandbox; expected claw://local/sandbox/NAME" },
    { "claw://elsewhere/sandbox/both", NACRE_ERR_USAGE,
      "policy 'claw://elsewhere/sandbox/both': unknown authority; the only one is local: "
      "claw://local/sandbox/NAME" },
    { "claw://registry/ns/both@1.0.0", NACRE_ERR_USAGE,
      "policy 'claw://registry/ns/both@1.0.0': no registry is known here; copy the "
      "policy into a policy directory" },
    { "claw://local/sandbox/", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/': a name is made of letters, digits and hyphens" },
    { "claw://local/sandbox/..", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/..': a name is made of letters, digits and hyphens" },
    { "claw://local/sandbox/../first/both", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/../first/both': a name is made of letters, digits "
      "and hyphens" },
    { "claw://local/sandbox/both?x=1", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/both?x=1': a name is made of letters, digits and "
      "hyphens" },
    { "claw://local/sandbox/b%6fth", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/b%6fth': a claw URI has no percent escapes" },
    { "claw://sandbox/both@1.0.0", NACRE_ERR_USAGE,
      "policy 'claw://sandbox/both@1.0.0': the short form has no version; write "
      "claw://local/sandbox/NAME@VERSION" },
    { "claw://local/sandbox/both@", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/both@': the version must be like 1.0.0 or "
      "1.0.0-rc.1" },
    { "claw://local/sandbox/both@1.0.0@1.0.0", NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/both@1.0.0@1.0.0': the version must be like 1.0.0 or "
      "1.0.0-rc.1" },
    { "claw://local/sandbox/"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      NACRE_ERR_USAGE,
      "policy 'claw://local/sandbox/"
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': a name has "
      "at most 63 characters" },
};

static void a_reference_leads_to_one_policy_or_says_why_not(void **state)
{
    const struct place *place = *state;

    for (size_t i = 0; i < NACRE_COUNT(references); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        struct nacre_error err = { .status = NACRE_OK };
        char reference[256], said[512], found[1024];
        enum nacre_status status;

        expand(place, references[i].reference, reference, sizeof(reference));
        expand(place, references[i].said, said, sizeof(said));
        status = nacre_policy_load(reference, place->dirs, &policy, &err);
        nacre_error_print(&err, found, sizeof(found));
        if (status != references[i].status)
            fail_msg("%s: %s %s", reference, nacre_status_name(status), found);
        assert_int_equal(err.status, status);
        assert_string_equal(policy ? policy->source : found, said);
    }
}

static void without_directories_a_name_is_not_found(void **state)
{
    static const char *const none[] = { NULL };
    const char *const *const lists[] = { none, NULL };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(lists); i++) {
        struct nacre_policy *policy = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_policy_load("both", lists[i], &policy, &err),
                         NACRE_ERR_NOT_FOUND);
        assert_string_equal(err.text,
                            "policy 'both': there is no policy directory to search; "
                            "give a file, like ./both.yaml");
    }
}

static void a_large_file_is_not_read_to_its_end(void **state)
{
    const struct place *place = *state;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_policy *policy = NULL;
    struct nacre_error err;
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/large.yaml", place->first);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    assert_int_equal(nacre_policy_load("large", place->dirs, &policy, &err),
                     NACRE_ERR_TOO_BIG);
    assert_string_equal(err.text, "the document is larger than 1048576 bytes");
    assert_string_equal(err.file, path);
}

/* A directory that can't be searched must not hand the name to the next one. */
static void a_broken_entry_in_the_first_directory_stops_the_search(void **state)
{
    struct place *place = *state;
    const char *dirs[] = { place->first, place->second, NULL };
    struct nacre_policy *policy = NULL;
    struct nacre_error err;
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/large.yaml", place->first);
    (void)unlink(path);
    assert_int_equal(symlink("large.yaml", path), 0); /* ELOOP, for root too */
    assert_int_equal(nacre_policy_load("large", dirs, &policy, &err), NACRE_ERR_IO);
    assert_null(policy);
}

static void loading_survives_every_allocation_failure(void **state)
{
    const struct place *place = *state;
    bool fired = true;

    for (int n = 0; fired; n++) {
        struct nacre_policy *policy = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 500);
        fail_alloc_after(n);
        status = nacre_policy_load("both", place->dirs, &policy, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(policy == NULL, fired);
        nacre_policy_free(policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_nodes_is_limited),
        cmocka_unit_test(the_length_of_a_text_is_limited),
        cmocka_unit_test(the_size_of_a_document_is_limited),
        cmocka_unit_test(the_length_of_a_list_is_limited),
        cmocka_unit_test(a_megabyte_of_poison_is_refused),
        cmocka_unit_test(no_row_of_the_schema_is_incomplete),
        cmocka_unit_test(a_refusal_hands_nothing_over),
        cmocka_unit_test(without_a_policy_nothing_is_granted),
        cmocka_unit_test(names_are_those_of_the_document),
        cmocka_unit_test(parsing_survives_every_allocation_failure),
        cmocka_unit_test(most_restrictive_survives_every_allocation_failure),
        cmocka_unit_test(a_reference_leads_to_one_policy_or_says_why_not),
        cmocka_unit_test(without_directories_a_name_is_not_found),
        cmocka_unit_test(a_large_file_is_not_read_to_its_end),
        cmocka_unit_test(a_broken_entry_in_the_first_directory_stops_the_search),
        cmocka_unit_test(loading_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("policy", tests, make_place, remove_place);
}
