/*
 * ssh and the programs that start it.  Trusts nothing: a setting of ssh may be a command
 * that runs here, and the words behind the host are one that runs there.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

/* ---- settings of ssh ---- */

/* Those that name no command, no library and no file of settings. */
static const char settings[] =
    "AddKeysToAgent AddressFamily BatchMode BindAddress BindInterface "
    "CASignatureAlgorithms CertificateFile ChallengeResponseAuthentication CheckHostIP "
    "Cipher Ciphers ClearAllForwardings Compression ConnectTimeout ConnectionAttempts "
    "ControlMaster ControlPath ControlPersist DynamicForward EscapeChar "
    "ExitOnForwardFailure FingerprintHash ForwardAgent ForwardX11 ForwardX11Timeout "
    "ForwardX11Trusted GSSAPIAuthentication GSSAPIDelegateCredentials GatewayPorts "
    "GlobalKnownHostsFile HashKnownHosts HostKeyAlgorithms HostKeyAlias HostName "
    "HostbasedAuthentication IPQoS IdentitiesOnly IdentityAgent IdentityFile "
    "KbdInteractiveAuthentication KexAlgorithms LocalForward LogLevel LogVerbose MACs "
    "NoHostAuthenticationForLocalhost NumberOfPasswordPrompts PasswordAuthentication "
    "Port PreferredAuthentications ProxyJump PubkeyAcceptedAlgorithms "
    "PubkeyAcceptedKeyTypes PubkeyAuthentication RekeyLimit RemoteForward RequestTTY "
    "RequiredRSASize SendEnv ServerAliveCountMax ServerAliveInterval SessionType SetEnv "
    "StdinNull StreamLocalBindMask StreamLocalBindUnlink StrictHostKeyChecking "
    "TCPKeepAlive UpdateHostKeys User UserKnownHostsFile VerifyHostKeyDNS VisualHostKey";

static bool is_setting(const char *name, size_t size)
{
    for (const char *at = settings; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");

        if (length == size && strncasecmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

/* -o NAME=VALUE or -o "NAME VALUE" */
static bool check_setting(const struct sh_effect *effect, const struct sh_word *word)
{
    size_t size = strcspn(word->text, " \t=");

    for (size_t i = 0; i < size; i++)
        if (word->marks[i] >= NACRE_MARK_ANY)
            return SH_CANT(effect, word, "what %s sets by '%.40s' only the shell knows",
                           effect->words[0]->text, word->text);
    if (is_setting(word->text, size) && !strpbrk(word->text + size, "`;|&<>(){}\"'\\\n"))
        return true;
    return SH_CANT(effect, word, "'%.40s' may make %s run something, and what that is "
                                 "can't be told",
                   word->text, effect->words[0]->text);
}

/* A program that gets words which come later. */
static bool run_program(const struct sh_effect *effect, const struct sh_word *program)
{
    const struct sh_word **words = nacre_sh_alloc(effect->parse, 2 * sizeof(*words));

    if (!words)
        return false;
    words[0] = program;
    words[1] = nacre_sh_word_unknown(effect->parse, "...", NACRE_MARK_ANY, program->at);
    return words[1] && nacre_sh_run_words(effect, words, 2);
}

bool nacre_sh_ssh_option(const struct sh_effect *effect, char letter,
                         const struct sh_word *value)
{
    return letter != 'o' || check_setting(effect, value);
}

bool nacre_sh_scp_option(const struct sh_effect *effect, char letter,
                         const struct sh_word *value)
{
    switch (letter) {
    case 'o':
        return check_setting(effect, value);
    case 'S':
        return run_program(effect, value);
    case 'D':
    case 's':
        return nacre_sh_run_text(effect, value, false);
    default:
        return true;
    }
}

/* Options may stand behind the host as well. */
bool nacre_sh_run_ssh(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan first, second;
    struct sh_effect behind = *effect;
    const struct sh_word *host;

    if (!nacre_sh_scan(effect, wrapper, &first))
        return false;
    if (first.operand >= effect->count)
        return first.seen['V'] || first.seen['Q'] || nacre_sh_starts_shell(effect);
    host = effect->words[first.operand];
    if (host->size > 0 && host->marks[0] >= NACRE_MARK_ANY)
        return SH_CANT(effect, host, "'%.40s' may be an option of ssh; write user@ "
                                     "before it",
                       host->text);
    behind.words += first.operand;
    behind.count -= first.operand;
    if (!nacre_sh_scan(&behind, wrapper, &second))
        return false;
    if (second.operand < behind.count)
        return nacre_sh_run_joined(effect, first.operand + second.operand, false);
    return first.seen['N'] || second.seen['N'] || nacre_sh_starts_shell(effect);
}

/* ---- rsync ---- */

/* The words of a remote shell, which gets a host and a command. */
static bool run_remote(const struct sh_effect *effect, const struct sh_word *value)
{
    static const char later[] = " host rsync --server";
    size_t size = value->size + sizeof(later);
    struct sh_word *command;
    char *text;

    if (!value->literal)
        return nacre_sh_run_text(effect, value, false);
    text = nacre_sh_alloc(effect->parse, size);
    if (!text)
        return false;
    (void)snprintf(text, size, "%s%s", value->text, later);
    command = nacre_sh_word_literal(effect->parse, text, size - 1, value->at);
    return command && nacre_sh_run_text(effect, command, false);
}

/* What the option at `at` is given, if it is --NAME; *ret_value is NULL if not. */
static bool long_value(const struct sh_effect *effect, size_t at, const char *name,
                       const struct sh_word **ret_value)
{
    const struct sh_word *word = effect->words[at];
    size_t size = strlen(name);

    *ret_value = NULL;
    if (nacre_sh_word_is(word, name) && at + 1 < effect->count)
        *ret_value = effect->words[at + 1];
    if (strncmp(word->text, name, size) != 0 || word->text[size] != '=')
        return true;
    *ret_value = nacre_sh_word_rest(effect->parse, word, size + 1);
    return *ret_value != NULL;
}

/* -e COMMAND, perhaps behind other letters. */
static bool short_value(const struct sh_effect *effect, size_t at,
                        const struct sh_word **ret_value)
{
    const struct sh_word *word = effect->words[at];

    *ret_value = NULL;
    if (word->text[0] != '-' || word->text[1] == '-')
        return true;
    for (size_t i = 1; i < word->size && !strchr("BfMT@", word->text[i]); i++) {
        if (word->text[i] != 'e' || word->marks[i] >= NACRE_MARK_ANY)
            continue;
        if (i + 1 == word->size) {
            *ret_value = at + 1 < effect->count ? effect->words[at + 1] : NULL;
            return true;
        }
        *ret_value = nacre_sh_word_rest(effect->parse, word, i + 1);
        return *ret_value != NULL;
    }
    return true;
}

bool nacre_sh_run_rsync(const struct sh_effect *effect)
{
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *shell, *letter, *path;

        if (!long_value(effect, i, "--rsh", &shell) ||
            !long_value(effect, i, "--rsync-path", &path) ||
            !short_value(effect, i, &letter) ||
            (shell && !run_remote(effect, shell)) ||
            (letter && !run_remote(effect, letter)) ||
            (path && !nacre_sh_run_text(effect, path, false)))
            return false;
    }
    return true;
}
