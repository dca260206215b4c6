/*
 * Trusts the request no further than its pointers: names are cut and escaped, and
 * of arguments and environment only a keyed digest leaves this file.  A run without a
 * sandbox is told of in full, by a text that was cleaned of secrets before it came here.
 */
#include "record.h"

#include <assert.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/secrets.h"
#include "parse.h"

#define NAME_BYTES_MAX 256
#define BARE_COMMAND_BYTES_MAX 16384 /* each byte may take six in JSON */
#define BARE_PATH_BYTES_MAX 4096
#define BARE_NAMES_MAX 64

/* From the contract's lists and not by its name functions: those belong to layers
 * that this one does not stand on. */
static const char *const levels[] = {
#define X(id, name) [NACRE_LEVEL_##id] = name,
    NACRE_LEVEL_MAP(X)
#undef X
};
static const char *const outcomes[] = {
#define X(id, exit_status, name) [NACRE_OUTCOME_##id] = name,
    NACRE_OUTCOME_MAP(X)
#undef X
};

static const char *const kinds[] = {
    [NACRE_TOOL_MODULE] = "module",
    [NACRE_TOOL_COMMAND] = "command",
    [NACRE_TOOL_SHELL] = "shell",
};
static const struct {
    uint64_t feature;
    const char *name;
} waivers[] = {
#define X(id, name) { NACRE_FEATURE_##id, name },
    NACRE_WAIVER_MAP(X)
#undef X
};

static void add_list(struct nacre_hasher *hasher, const char *const *list)
{
    uint64_t count = 0;

    while (list && list[count])
        count++;
    nacre_hash_add_u64(hasher, count);
    for (uint64_t i = 0; i < count; i++)
        nacre_hash_add_text(hasher, list[i]);
}

/*
 * A secret prefix and not HMAC, for a third of the time: that one who knows a digest
 * could compute that of a longer list is no harm, since nothing is proved by it.
 * The prefix fills SHA-256's first block, which is so paid for once.
 */
struct nacre_hasher audit_record_hasher(const uint8_t key[NACRE_KEY_BYTES])
{
    static const char purpose[] = "nacre audit arguments 1";
    struct nacre_hasher hasher;
    struct nacre_digest secret;

    secret = nacre_hmac(key, NACRE_KEY_BYTES, purpose, sizeof(purpose));
    nacre_hash_init(&hasher);
    nacre_hash_add(&hasher, secret.bytes, sizeof(secret.bytes));
    nacre_hash_add(&hasher, (const uint8_t[32]){ 0 }, 32);
    explicit_bzero(&secret, sizeof(secret));
    return hasher;
}

/* The words of a command are arguments too: a plain digest of them would give away what
 * this one keeps. */
static struct nacre_digest arguments_digest(const struct nacre_hasher *keyed,
                                            const struct nacre_request *request,
                                            const struct nacre_tool *tool)
{
    struct nacre_hasher hasher = *keyed;

    nacre_hash_add_text(&hasher, request->invoke);
    add_list(&hasher, request->arguments);
    add_list(&hasher, request->environment);
    if (tool && tool->argv)
        add_list(&hasher, (const char *const *)tool->argv);
    if (request->input_digest)
        nacre_hash_add(&hasher, request->input_digest, sizeof(*request->input_digest));
    return nacre_hash_end(&hasher);
}

/* As nacre_clock_timestamp() has it, but the calendar is asked once a second only: it
 * takes longer than the rest of a field. */
static void add_time(struct audit_line *line)
{
    static _Thread_local struct {
        time_t second;
        char text[NACRE_SECOND]; /* up to and with the point */
    } last;
    char micros[] = "000000Z";
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (last.text[0] == '\0' || last.second != now.tv_sec) {
        (void)nacre_clock_second(last.text, (uint64_t)now.tv_sec);
        last.text[NACRE_SECOND - 2] = '.';
        last.second = now.tv_sec;
    }
    now.tv_nsec /= 1000;
    for (size_t i = 6; i-- > 0; now.tv_nsec /= 10)
        micros[i] = (char)('0' + now.tv_nsec % 10);
    audit_line_put(line, last.text, 20);
    audit_line_put(line, micros, sizeof(micros) - 1);
}

/* Inlined, so that the length of a key costs nothing, as in line.h. */
#define INLINED static inline __attribute__((always_inline))

INLINED void add_name(struct audit_line *line, const char *key, const char *text)
{
    audit_line_add(line, key);
    audit_line_text(line, text, NAME_BYTES_MAX);
}

/* A word of ours, in which nothing is to be escaped. */
INLINED void add_word(struct audit_line *line, const char *key, const char *word)
{
    audit_line_add(line, key);
    audit_line_add(line, word ? "\"" : "null");
    if (!word)
        return;
    audit_line_add(line, word);
    audit_line_add(line, "\"");
}

INLINED void add_digest(struct audit_line *line, const char *key,
                       const struct nacre_digest *digest)
{
    audit_line_add(line, key);
    if (digest)
        audit_line_digest(line, digest);
    else
        audit_line_add(line, "null");
}

INLINED void add_count(struct audit_line *line, const char *key, uint64_t number)
{
    audit_line_add(line, key);
    audit_line_number(line, number);
}

INLINED void add_flag(struct audit_line *line, const char *key, bool on)
{
    audit_line_add(line, key);
    if (on)
        audit_line_add(line, "true");
    else
        audit_line_add(line, "false");
}

INLINED void add_type(struct audit_line *line, const char *type)
{
    audit_line_add(line, ",\"time\":\"");
    add_time(line);
    add_word(line, "\",\"type\":", type);
}

INLINED void add_id(struct audit_line *line, const char *run_id)
{
    assert(audit_run_id_is_valid(run_id));
    add_word(line, ",\"run\":", run_id);
}

/* Which secrets a run could use, by name; a run without any has no such list. */
static void add_secrets(struct audit_line *line, const struct nacre_secret_set *granted)
{
    if (!granted || granted->count == 0)
        return;
    audit_line_add(line, ",\"secrets\":[");
    for (uint32_t i = 0; i < granted->count; i++) {
        audit_line_add(line, i > 0 ? "," : "");
        audit_line_text(line, granted->items[i].name, NAME_BYTES_MAX);
    }
    audit_line_add(line, "]");
}

/* What both records of a run say of it. */
static void add_about(struct audit_line *line, const struct nacre_hasher *keyed,
                      const struct nacre_audit_run *run)
{
    const struct nacre_policy *policy = run->policy;
    enum nacre_level level = run->plan ? run->plan->level
                             : policy  ? policy->level
                                       : NACRE_LEVEL_UNSET;
    const struct nacre_request *request = run->request;
    const char *tool = run->tool_name || !run->tool ? run->tool_name : run->tool->name;
    struct nacre_digest arguments =
        arguments_digest(keyed, run->asked ? run->asked : request, run->tool);

    assert(level < NACRE_LEVEL_COUNT);

    add_name(line, ",\"session\":", request->session);
    add_name(line, ",\"agent\":", request->agent);
    add_name(line, ",\"caller\":", request->caller);
    add_name(line, ",\"tool\":{\"name\":", tool);
    add_digest(line, ",\"digest\":",
               run->tool && !run->tool->argv ? &run->tool->digest : NULL);
    add_word(line, ",\"kind\":", run->tool ? kinds[run->tool->kind] : NULL);
    add_digest(line, "},\"arguments_digest\":", &arguments);
    add_name(line, ",\"policy\":{\"name\":", policy ? policy->name : NULL);
    add_digest(line, ",\"digest\":", policy ? &policy->digest : NULL);
    add_name(line, ",\"source\":", policy ? policy->source : NULL);
    add_word(line, "},\"level\":", levels[level]);
    add_name(line, ",\"executor\":", run->executor);
    add_flag(line, ",\"unsandboxed\":", run->executor && level == NACRE_LEVEL_NONE);
    add_secrets(line, request->granted);
}

/* Names alone: a value may be a secret. */
static void add_names(struct audit_line *line, const char *const *environment)
{
    audit_line_add(line, ",\"environment\":[");
    for (size_t i = 0; environment && environment[i] && i < BARE_NAMES_MAX; i++) {
        size_t length = strcspn(environment[i], "=");

        audit_line_add(line, i > 0 ? "," : "");
        audit_line_bytes(line, environment[i], length, NAME_BYTES_MAX);
    }
    audit_line_add(line, "]");
}

static void add_bare(struct audit_line *line, const struct nacre_audit_run *run)
{
    if (!run->bare)
        return;
    audit_line_add(line, ",\"bare\":{\"command\":");
    audit_line_text(line, run->bare->command, BARE_COMMAND_BYTES_MAX);
    audit_line_add(line, ",\"directory\":");
    audit_line_text(line, run->plan ? run->plan->directory : NULL, BARE_PATH_BYTES_MAX);
    add_names(line, run->request->environment);
    add_name(line, ",\"approver\":", run->bare->approver);
    audit_line_add(line, "}");
}

void audit_record_begin(struct audit_line *line, const struct nacre_hasher *keyed,
                        struct nacre_audit_run *run)
{
    size_t start, count;

    add_type(line, "begin");
    add_id(line, run->run_id);
    start = line->size;
    add_about(line, keyed, run);
    count = line->size - start;
    run->about_count = line->failed || count > sizeof(run->about) ? 0 : count;
    memcpy(run->about, line->bytes + start, run->about_count);
    add_bare(line, run);
}

static void add_usage(struct audit_line *line, const struct nacre_usage *usage)
{
    add_count(line, ",\"usage\":{\"fuel\":", usage->fuel);
    add_flag(line, ",\"fuel_exact\":", usage->fuel_exact);
    add_count(line, ",\"memory_bytes_peak\":", usage->memory_bytes_peak);
    add_flag(line, ",\"memory_refused\":", usage->memory_refused);
    add_flag(line, ",\"processes_refused\":", usage->processes_refused);
    add_count(line, ",\"wall_ns\":", usage->wall_ns);
    add_count(line, ",\"compile_ns\":", usage->compile_ns);
    add_count(line, ",\"cpu_ns\":", usage->cpu_ns);
    add_count(line, ",\"bytes_read\":", usage->bytes_read);
    add_count(line, ",\"bytes_written\":", usage->bytes_written);
    add_count(line, ",\"files_opened\":", usage->files_opened);
    audit_line_add(line, "}");
}

static void add_denial(struct audit_line *line, const struct nacre_denial *denial)
{
    audit_line_add(line, "{\"code\":");
    audit_line_text(line, denial->code, sizeof(denial->code) - 1);
    audit_line_add(line, ",\"rule\":");
    audit_line_text(line, denial->rule, sizeof(denial->rule) - 1);
    audit_line_add(line, ",\"line\":");
    audit_line_signed(line, denial->place.line);
    audit_line_add(line, ",\"column\":");
    audit_line_signed(line, denial->place.column);
    audit_line_add(line, ",\"text\":");
    audit_line_text(line, denial->text, sizeof(denial->text) - 1);
    audit_line_add(line, "}");
}

/* What the policy asked for and the caller let go. */
static void add_waived(struct audit_line *line, uint64_t waived)
{
    const char *comma = "";

    add_flag(line, ",\"degraded\":", waived != 0);
    audit_line_add(line, ",\"waived\":[");
    for (size_t i = 0; i < NACRE_COUNT(waivers); i++) {
        if (!(waived & waivers[i].feature))
            continue;
        audit_line_add(line, comma);
        audit_line_text(line, waivers[i].name, NAME_BYTES_MAX);
        comma = ",";
    }
    audit_line_add(line, "]");
}

static void add_egress(struct audit_line *line, const struct nacre_result *result)
{
    assert(result->egress_count <= NACRE_EGRESS_RECORDS_MAX);
    audit_line_add(line, ",\"egress\":[");
    for (uint32_t i = 0; i < result->egress_count; i++) {
        const struct nacre_egress_record *record = &result->egress[i];

        add_name(line, i > 0 ? ",{\"method\":" : "{\"method\":", record->method);
        add_name(line, ",\"host\":", record->host);
        add_count(line, ",\"port\":", record->port);
        add_flag(line, ",\"sent\":", record->sent);
        add_name(line, ",\"code\":", record->code);
        add_count(line, ",\"status\":", record->status);
        add_count(line, ",\"hops\":", record->hops);
        add_count(line, ",\"bytes_sent\":", record->bytes_sent);
        add_count(line, ",\"bytes_received\":", record->bytes_received);
        audit_line_add(line, "}");
    }
    add_count(line, "],\"egress_seen\":", result->egress_seen);
}

/* How often, never what. */
static void add_leaks(struct audit_line *line, const struct nacre_result *result)
{
    add_flag(line, ",\"leak\":", result->leak);
    add_count(line, ",\"leaks\":{\"values\":", result->leaks.values);
    add_count(line, ",\"blocked\":", result->leaks.blocked);
    add_count(line, ",\"redacted\":", result->leaks.redacted);
    add_count(line, ",\"warned\":", result->leaks.warned);
    audit_line_add(line, "}");
}

static const char *const input_classes[] = {
#define X(id, name) [NACRE_INPUT_CLASS_##id] = name,
    NACRE_INPUT_CLASS_MAP(X)
#undef X
};

/* Rules have names of ours: nothing of what was scanned is told. */
static void add_input(struct audit_line *line, const struct nacre_input_tally *input)
{
    assert(input->class < NACRE_INPUT_CLASS_COUNT);
    if (input->class == NACRE_INPUT_CLASS_NONE) {
        audit_line_add(line, ",\"input\":null");
        return;
    }
    add_name(line, ",\"input\":{\"class\":", input_classes[input->class]);
    add_count(line, ",\"score\":", input->score);
    add_count(line, ",\"hits\":", input->hits);
    add_flag(line, ",\"warned\":", input->warned);
    add_name(line, ",\"rule\":", input->rule);
    add_name(line, ",\"where\":", input->where);
    add_flag(line, ",\"stdin_unscanned\":", input->stdin_unscanned);
    audit_line_add(line, "}");
}

static void add_result(struct audit_line *line, const struct nacre_result *result)
{
    const char *comma = "";

    assert(result->outcome < NACRE_OUTCOME_COUNT);
    assert(result->mechanism_count <= NACRE_MECHANISMS_MAX);
    assert(result->denial_count <= NACRE_DENIALS_MAX);

    audit_line_add(line, ",\"mechanisms\":[");
    for (uint32_t i = 0; i < result->mechanism_count; i++) {
        if (!result->mechanisms[i].present)
            continue;
        audit_line_add(line, comma);
        audit_line_text(line, result->mechanisms[i].name,
                        sizeof(result->mechanisms[i].name) - 1);
        comma = ",";
    }
    add_word(line, "],\"outcome\":", outcomes[result->outcome]);
    audit_line_add(line, ",\"exit_status\":");
    if (result->outcome == NACRE_OUTCOME_EXITED)
        audit_line_signed(line, result->exit_status);
    else
        audit_line_add(line, "null");
    audit_line_add(line, ",\"signal\":");
    if (result->outcome == NACRE_OUTCOME_KILLED)
        audit_line_signed(line, result->signal);
    else
        audit_line_add(line, "null");
    add_flag(line, ",\"output_cut\":", result->output_cut);
    add_leaks(line, result);
    add_waived(line, result->waived);
    add_usage(line, &result->usage);
    audit_line_add(line, ",\"denials\":[");
    for (uint32_t i = 0; i < result->denial_count; i++) {
        if (i > 0)
            audit_line_add(line, ",");
        add_denial(line, &result->denials[i]);
    }
    add_count(line, "],\"denials_seen\":", result->denials_seen);
    add_egress(line, result);
    add_input(line, &result->input);
}

static void add_no_result(struct audit_line *line, enum nacre_outcome outcome,
                          const char *status, const char *text)
{
    audit_line_add(line, ",\"mechanisms\":null");
    add_word(line, ",\"outcome\":",
             outcome == NACRE_OUTCOME_NONE ? NULL : outcomes[outcome]);
    audit_line_add(line, ",\"exit_status\":null,"
                         "\"signal\":null,\"output_cut\":null,\"leak\":null,"
                         "\"leaks\":null,\"degraded\":null,"
                         "\"waived\":null,\"usage\":null,"
                         "\"denials\":null,\"denials_seen\":null,\"egress\":null,"
                         "\"egress_seen\":null,\"input\":null");
    add_name(line, ",\"error\":{\"status\":", status);
    audit_line_add(line, ",\"text\":");
    audit_line_text(line, text, strlen(text));
    audit_line_add(line, "}");
}

void audit_record_end(struct audit_line *line, const struct nacre_hasher *keyed,
                      const struct nacre_audit_run *run,
                      const struct nacre_result *result,
                      const struct nacre_error *failure)
{
    char text[sizeof(failure->file) + sizeof(failure->text) + 32];

    assert(!result != !failure);

    add_type(line, "end");
    add_id(line, run->run_id);
    if (run->about_count > 0)
        audit_line_put(line, run->about, run->about_count);
    else
        add_about(line, keyed, run);
    if (result) {
        add_result(line, result);
        audit_line_add(line, ",\"error\":null");
        return;
    }
    nacre_error_print(failure, text, sizeof(text));
    add_no_result(line, NACRE_OUTCOME_NONE, nacre_status_name(failure->status), text);
}

void audit_record_lost(struct audit_line *line, const char *run_id)
{
    add_type(line, "end");
    add_id(line, run_id);
    add_no_result(line, NACRE_OUTCOME_KILLED, "lost",
                  "the process that ran it was killed, and its sandbox with it; what is "
                  "known of it is in its begin record");
}

void audit_record_recovered(struct audit_line *line, const struct audit_damage *damage,
                            const char *torn)
{
    add_type(line, "recovered");
    /* First, and only where it is known: a reader sees by it that all runs before
     * this line are accounted for. */
    if (damage->alone) {
        audit_line_add(line, ",\"unended\":[");
        for (uint64_t i = 0; i < damage->unended && i < NACRE_COUNT(damage->unended_ids);
             i++) {
            audit_line_add(line, i > 0 ? "," : "");
            audit_line_text(line, damage->unended_ids[i], NACRE_RUN_ID - 1);
        }
        add_count(line, "],\"unended_count\":", damage->unended);
    }
    add_count(line, ",\"torn_bytes\":", damage->torn_count);
    audit_line_add(line, ",\"torn\":");
    audit_line_bytes(line, torn, damage->torn_count, AUDIT_TORN_MAX);
    add_count(line, ",\"records_missing\":", damage->records_missing);
    add_flag(line, ",\"checkpoints_missing\":", damage->checkpoints_missing);
    add_flag(line, ",\"head_differs\":", damage->head_differs);
    add_flag(line, ",\"rewritten\":", damage->rewritten);
    add_flag(line, ",\"newest_missing\":", damage->newest_missing);
}
