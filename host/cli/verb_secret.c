/* Values come from stdin or a file, never from argv; none is ever printed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "boxes.h"
#include "nacre/clock.h"
#include "nacre/leak.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum {
    OPT_FILE, OPT_HOST, OPT_GRANT, OPT_TO, OPT_REPLACE, OPT_SCOPE, OPT_TTL, OPT_COUNT
};

#define TTL_MS 3600000

static const struct cli_option options[OPT_COUNT] = {
    [OPT_FILE] = { "--file", .kind = CLI_TEXT, .value = "FILE", .offer = CLI_OFFER_FILES,
                   .help = "for set: read the value from here (default: stdin)" },
    [OPT_HOST] = { "--host", .kind = CLI_LIST, .value = "HOST",
                   .help = "for set, grant: where it may be sent, as in allowed_hosts" },
    [OPT_GRANT] = { "--grant", .kind = CLI_LIST, .value = "WHO",
                    .help = "for set: policy:NAME, agent:ID, tool:NAME or any may use "
                            "it" },
    [OPT_TO] = { "--to", .kind = CLI_LIST, .value = "WHO",
                 .help = "for grant: the same" },
    [OPT_REPLACE] = { "--replace", .kind = CLI_FLAG,
                      .help = "for grant: instead of the hosts and grants it has" },
    [OPT_SCOPE] = { "--scope", .kind = CLI_TEXT, .value = "SCOPE",
                    .help = "for token: session:KEY or agent:ID" },
    [OPT_TTL] = { "--ttl-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                  .max = NACRE_TOKEN_MS_MAX, .help = "for token: its life (3600000)" },
};

/* ---- the value ---- */

/* One byte more to see that it is too much, and one for a newline. */
static unsigned char value[NACRE_SECRET_BYTES_MAX + 2];
#define STEP ((size_t)4096)

/* As getpass() does it: no echo, and ^C is no signal that would leave it so. */
static bool hide_typing(int fd, struct termios *ret_before)
{
    struct termios hidden;

    if (!isatty(fd) || tcgetattr(fd, ret_before) < 0)
        return false;
    hidden = *ret_before;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    (void)fputs("value, then Enter and ^D (it is not shown): ", stderr);
    return tcsetattr(fd, TCSAFLUSH, &hidden) == 0;
}

static enum nacre_status read_all(int fd, size_t *ret_count, struct nacre_error *err)
{
    size_t count = 0;
    ssize_t got;

    do {
        size_t room = sizeof(value) - count < STEP ? sizeof(value) - count : STEP;

        /* As much as it needs: what may be locked is little on some machines. */
        if (mlock(value + count, room) < 0)
            return nacre_fail(err, NACRE_ERR_IO, "memory for the value can't be locked "
                                                 "(see ulimit -l)");
        got = read(fd, value + count, room);
        if (got < 0 && errno != EINTR)
            return nacre_fail(err, NACRE_ERR_IO, "cannot read the value");
        count += got > 0 ? (size_t)got : 0;
    } while (got != 0 && count < sizeof(value));
    if (count > 0 && value[count - 1] == '\n')
        count--;
    *ret_count = count;
    return NACRE_OK;
}

static enum nacre_status read_value(const struct cli_value *file, size_t *ret_count,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int opened =
        file->given ? open(file->text, O_RDONLY | O_CLOEXEC) : -1;
    int fd = file->given ? opened : STDIN_FILENO;
    struct termios before;
    char shown[NACRE_SHOWN];
    enum nacre_status status;
    bool hidden;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s",
                          nacre_text_shown(shown, file->text));
    hidden = hide_typing(fd, &before);
    status = read_all(fd, ret_count, err);
    if (hidden) {
        (void)tcsetattr(fd, TCSAFLUSH, &before);
        (void)fputc('\n', stderr);
    }
    return status;
}

/* ---- answers ---- */

static json_t *texts_json(const char *const *texts)
{
    json_t *list = json_array();

    for (size_t i = 0; list && texts[i]; i++)
        if (json_array_append_new(list, cli_json_text(texts[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Adds to the list, which is gone (and so is the answer) when memory is. */
static void append(json_t **list, json_t *item)
{
    if (json_array_append_new(*list, item) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

static void add_secret(void *data, const struct nacre_secret_info *info)
{
    char changed[NACRE_SECOND];

    append(data, json_pack("{s:s, s:I, s:s, s:o, s:o}", "name", info->name, "version",
                           (json_int_t)info->version, "changed",
                           nacre_clock_second(changed, info->changed_ms / 1000),
                           "hosts", texts_json(info->hosts), "grants",
                           texts_json(info->grants)));
}

static void print_texts(const char *lead, const char *const *texts, const char *none)
{
    char shown[NACRE_SHOWN];

    (void)printf("  %s ", lead);
    for (size_t i = 0; texts[i]; i++)
        (void)printf("%s%s", i > 0 ? ", " : "", nacre_text_shown(shown, texts[i]));
    (void)puts(texts[0] ? "" : none);
}

static void print_secret(void *data, const struct nacre_secret_info *info)
{
    char changed[NACRE_SECOND];

    *(bool *)data = true;
    (void)printf("%s  version %" PRIu64 ", changed %s\n", info->name, info->version,
                 nacre_clock_second(changed, info->changed_ms / 1000));
    print_texts("hosts:  ", info->hosts, "none: it can be sent nowhere");
    print_texts("granted:", info->grants, "to nobody");
}

static void add_token(void *data, const struct nacre_token_info *info)
{
    char issued[NACRE_SECOND], expires[NACRE_SECOND];

    append(data, json_pack("{s:s, s:s, s:o, s:s, s:s}", "id", info->id, "secret",
                           info->secret, "scope", cli_json_text(info->scope), "issued",
                           nacre_clock_second(issued, info->issued_ms / 1000),
                           "expires",
                           nacre_clock_second(expires, info->expires_ms / 1000)));
}

static void print_token(void *data, const struct nacre_token_info *info)
{
    char shown[NACRE_SHOWN], expires[NACRE_SECOND];

    *(bool *)data = true;
    (void)printf("%s  %-24s %-24s until %s\n", info->id, info->secret,
                 nacre_text_shown(shown, info->scope),
                 nacre_clock_second(expires, info->expires_ms / 1000));
}

/* ---- the words ---- */

struct call {
    const struct cli_args *args;
    struct nacre_vault *vault;
    const char *name; /* the second operand, or NULL */
    json_t *answer;   /* with --json */
};

static enum nacre_status tell(struct call *call, const char *done,
                              struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!call->args->json) {
        (void)printf("%s%s%s\n", done, call->name ? " " : "",
                     call->name ? nacre_text_shown(shown, call->name) : "");
        return NACRE_OK;
    }
    call->answer = json_pack("{s:s, s:o}", "action", done, "name",
                             call->name ? cli_json_text(call->name) : json_null());
    return call->answer ? NACRE_OK
                        : nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the answer");
}

static const char *const *items_of(const struct cli_value *list)
{
    return list->given ? list->items : NULL;
}

static enum nacre_status set(struct call *call, struct nacre_error *err)
{
    const struct cli_value *values = call->args->values;
    size_t count = 0;
    enum nacre_status status = nacre_vault_check(items_of(&values[OPT_HOST]),
                                                 items_of(&values[OPT_GRANT]), err);

    if (status == NACRE_OK)
        status = read_value(&values[OPT_FILE], &count, err);
    if (status == NACRE_OK)
        status = nacre_vault_put(call->vault, call->name, value, count,
                                 items_of(&values[OPT_HOST]),
                                 items_of(&values[OPT_GRANT]), err);
    explicit_bzero(value, sizeof(value));
    if (status == NACRE_OK && count < NACRE_LEAK_VALUE_MIN)
        cli_say("note: a value of less than %d bytes is not looked for: it is not taken out "
                "of output, nor of what a server sends back",
                NACRE_LEAK_VALUE_MIN);
    return status == NACRE_OK ? tell(call, "stored", err) : status;
}

static enum nacre_status grant(struct call *call, struct nacre_error *err)
{
    const struct cli_value *values = call->args->values;
    bool replace = values[OPT_REPLACE].given;
    enum nacre_status status;

    if (!values[OPT_HOST].given && !values[OPT_TO].given && !replace)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "grant expects --host HOST, --to WHO or --replace");
    status = nacre_vault_grant(call->vault, call->name, items_of(&values[OPT_HOST]),
                               items_of(&values[OPT_TO]), replace, err);
    return status == NACRE_OK ? tell(call, "granted", err) : status;
}

static enum nacre_status list(struct call *call, struct nacre_error *err)
{
    json_t *secrets;
    bool any = false;
    enum nacre_status status;

    if (!call->args->json) {
        status = nacre_vault_list(call->vault, print_secret, &any, err);
        if (status == NACRE_OK && !any)
            (void)puts("no secrets; nacre secret set NAME stores one");
        return status;
    }
    secrets = json_array();
    status = nacre_vault_list(call->vault, add_secret, &secrets, err);
    call->answer = json_pack("{s:o}", "secrets", secrets);
    return status;
}

static enum nacre_status tokens(struct call *call, struct nacre_error *err)
{
    json_t *live;
    bool any = false;
    enum nacre_status status;

    if (!call->args->json) {
        status = nacre_token_list(call->vault, print_token, &any, err);
        if (status == NACRE_OK && !any)
            (void)puts("no tokens");
        return status;
    }
    live = json_array();
    status = nacre_token_list(call->vault, add_token, &live, err);
    call->answer = json_pack("{s:o}", "tokens", live);
    return status;
}

static enum nacre_status token(struct call *call, struct nacre_error *err)
{
    const struct cli_value *values = call->args->values;
    char text[NACRE_TOKEN_TEXT];
    enum nacre_status status;

    /* A run's ends with it: nacre run --token is who issues that. */
    if (!values[OPT_SCOPE].given || strncmp(values[OPT_SCOPE].text, "run:", 4) == 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "token expects --scope session:KEY or --scope agent:ID");
    status = nacre_token_issue(call->vault, call->name, values[OPT_SCOPE].text,
                               values[OPT_TTL].given ? values[OPT_TTL].number : TTL_MS,
                               text, err);
    if (status != NACRE_OK)
        return status;
    if (!call->args->json)
        (void)puts(text);
    else
        call->answer = json_pack("{s:s, s:s, s:o}", "token", text, "secret", call->name,
                                 "scope", cli_json_text(values[OPT_SCOPE].text));
    explicit_bzero(text, sizeof(text));
    return NACRE_OK;
}

static enum nacre_status end_tokens(struct call *call, struct nacre_error *err)
{
    uint64_t revoked = 0;
    enum nacre_status status = nacre_token_revoke(call->vault, call->name, &revoked, err);

    if (status == NACRE_OK && revoked == 0) /* what was given may be a token: not told */
        status = nacre_fail(err, NACRE_ERR_NOT_FOUND,
                            "no token is called so: give the token itself, or its scope "
                            "or id, as nacre secret tokens shows them");
    if (status != NACRE_OK)
        return status;
    if (call->args->json)
        call->answer = json_pack("{s:I}", "revoked", (json_int_t)revoked);
    else
        (void)printf("%" PRIu64 " token%s revoked\n", revoked, cli_plural(revoked));
    return NACRE_OK;
}

static enum nacre_status rm(struct call *call, struct nacre_error *err)
{
    enum nacre_status status = nacre_vault_remove(call->vault, call->name, err);

    return status == NACRE_OK ? tell(call, "removed", err) : status;
}

static enum nacre_status rotate(struct call *call, struct nacre_error *err)
{
    enum nacre_status status = nacre_vault_rotate(call->vault, err);

    return status == NACRE_OK ? tell(call, "rotated", err) : status;
}

static enum nacre_status accept(struct call *call, struct nacre_error *err)
{
    return tell(call, "accepted", err);
}

static const struct {
    const char *expects; /* as the second operand; NULL: nothing */
    enum nacre_status (*run)(struct call *call, struct nacre_error *err);
    uint32_t takes;      /* mask of the options that mean something to it */
} acts[] = {
    { "NAME", set, 1 << OPT_FILE | 1 << OPT_HOST | 1 << OPT_GRANT },
    { NULL, list, 0 },
    { "NAME", rm, 0 },
    { NULL, rotate, 0 },
    { "NAME", grant, 1 << OPT_HOST | 1 << OPT_TO | 1 << OPT_REPLACE },
    { NULL, tokens, 0 },
    { "NAME", token, 1 << OPT_SCOPE | 1 << OPT_TTL },
    { "SCOPE, ID or TOKEN", end_tokens, 0 },
    { NULL, accept, 0 },
};
static const char *const words[NACRE_COUNT(acts)] = {
    "set", "list", "rm", "rotate", "grant", "tokens", "token", "revoke", "accept",
};

/* The parser knows that the word is one of them. */
static size_t act_of(const char *word)
{
    size_t i = 0;

    while (strcmp(words[i], word) != 0)
        i++;
    return i;
}

static enum nacre_status check(const struct cli_args *args, size_t act,
                               struct nacre_error *err)
{
    const char *expects = acts[act].expects;

    if ((expects != NULL) != (args->operand_count == 2))
        return nacre_fail(err, NACRE_ERR_USAGE, "secret %s expects %s", words[act],
                          expects ? expects : "nothing after it");
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (args->values[i].given && !(acts[act].takes & 1u << i))
            return nacre_fail(err, NACRE_ERR_USAGE, "secret %s has no option %s",
                              words[act], options[i].name);
    return NACRE_OK;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    size_t act = act_of(args->operand_count > 0 ? args->operands[0] : "list");
    struct call call = { .args = args,
                         .name = args->operand_count > 1 ? args->operands[1] : NULL };
    struct nacre_error err;
    enum nacre_status status = check(args, act, &err);

    if (status == NACRE_OK)
        status = cli_boxes_engine(&engine, &err);
    if (status == NACRE_OK && acts[act].run == accept)
        status = nacre_vault_accept(nacre_engine_state_dir(engine),
                                    nacre_engine_key_dir(engine), &err);
    if (status == NACRE_OK)
        status = nacre_vault_open(nacre_engine_state_dir(engine),
                                  nacre_engine_key_dir(engine), &vault, &err);
    call.vault = vault;
    if (status == NACRE_OK)
        status = acts[act].run(&call, &err);
    if (status != NACRE_OK) {
        json_decref(call.answer);
        return cli_fail(args, &err);
    }
    if (!args->json)
        return 0;
    return cli_json_print(call.answer) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
}

const struct cli_verb cli_verb_secret = {
    .name = "secret",
    .summary = "keep secrets: set, list, rm, rotate, grant, tokens, token, revoke",
    .operands = "[list | set NAME | rm NAME | grant NAME | rotate | tokens |\n"
                "       token NAME | revoke SCOPE|ID|TOKEN | accept]",
    .about =
        "set reads the value from stdin or --file, less one newline at its end, and adds\n"
        "--host and --grant to what is there. A secret that is granted to nobody can't be\n"
        "used, one without hosts can't be sent. rotate takes a new key and seals all with\n"
        "it. token issues a stand-in that the door exchanges at its hosts, for a session\n"
        "or an agent; revoke ends it. A vault that was restored or moved is refused until\n"
        "accept. The key is a file beside the audit log's; or the key of the kernel's\n"
        "keyring that NACRE_VAULT_KEYRING names; or, for CI, 64 hex digits in\n"
        "NACRE_VAULT_KEY.",
    .example =
        "  nacre secret set github --host api.github.com --grant policy:ci <token.txt\n"
        "  nacre run --policy ci --secret github tool.wasm",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operand_offer = CLI_OFFER_NOTHING,
    .operands_max = 2,
    .run = run,
};
