/* Scripts for three shells, made from the tables that the parser reads. */
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

static const char *const words[] = { "bash", "zsh", "fish" };

typedef void option_writer(FILE *out, const struct cli_verb *verb,
                           const struct cli_option *option);

static void each_option(FILE *out, const struct cli_verb *verb, option_writer *write)
{
    size_t count;
    const struct cli_option *common = cli_args_common(&count);

    for (size_t i = 0; i < verb->option_count; i++)
        write(out, verb, &verb->options[i]);
    for (size_t i = 0; i < count; i++)
        write(out, verb, &common[i]);
}

/* ' ends a quoted word in every one of the three shells; zsh reads [ ] : as its own. */
static void put_quoted(FILE *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            (void)fputs("'\\'", out);
        else if (strchr(escaped, *text))
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
}

/* Where policies are looked up by name, for any shell that reads POSIX; fish has its own
 * words for it. */
static const char policies_function[] =
    "_nacre_policies() {\n"
    "  local bin dir file\n"
    "  bin=$(dirname -- \"$(command -v nacre)\")\n"
    "  for dir in \"$NACRE_POLICY_DIR\" \\\n"
    "    \"${XDG_CONFIG_HOME:-$HOME/.config}/nacre/policies\" \\\n"
    "    \"$bin/../policies\" \"$bin/../share/nacre/policies\"; do\n"
    "    [ -n \"$dir\" ] && [ -d \"$dir\" ] || continue\n"
    "    find \"$dir/\" -maxdepth 1 -name '*.yaml' -exec basename -s .yaml {} +\n"
    "  done 2>/dev/null\n"
    "}\n";

/* ---- bash ---- */

static void bash_name(FILE *out, const struct cli_verb *verb,
                      const struct cli_option *option)
{
    (void)verb;
    if (option->letter)
        (void)fprintf(out, " -%c", option->letter);
    (void)fprintf(out, " %s", option->name);
}

static const char *bash_offer(enum cli_offer offer)
{
    switch (offer) {
    case CLI_OFFER_FILES:
        return "COMPREPLY=($(compgen -f -- \"$word\"))";
    case CLI_OFFER_DIRECTORIES:
        return "COMPREPLY=($(compgen -d -- \"$word\"))";
    case CLI_OFFER_POLICIES:
        return "COMPREPLY=($(compgen -W \"$(_nacre_policies)\" -- \"$word\")"
               " $(compgen -f -- \"$word\"))";
    case CLI_OFFER_NOTHING:
        break;
    }
    return ":";
}

static void bash_value(FILE *out, const struct cli_verb *verb,
                       const struct cli_option *option)
{
    if (option->kind != CLI_FLAG)
        (void)fprintf(out, "    %s:%s) %s; return ;;\n", verb->name, option->name,
                      bash_offer(option->offer));
}

static void bash_takes(FILE *out, const struct cli_verb *verb,
                       const struct cli_option *option)
{
    if (option->kind != CLI_FLAG)
        (void)fprintf(out, "%s:%s|", verb->name, option->name);
}

/* Leaves the function with files alone where a guest's own words have begun. */
static void bash_guest(FILE *out, const struct cli_verb *verb)
{
    if (!verb->ends_at_operand)
        return;
    (void)fprintf(out,
                  "  if [[ $verb == %s ]]; then\n"
                  "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                  "      case $verb:${COMP_WORDS[i]} in\n"
                  "        ",
                  verb->name);
    each_option(out, verb, bash_takes);
    (void)fprintf(out,
                  "%s:--=) ((i++)) ;;\n"
                  "        %s:--|%s:[!-]*) %s; return ;;\n"
                  "      esac\n    done\n  fi\n",
                  verb->name, verb->name, verb->name, bash_offer(verb->operand_offer));
}

static void write_bash(FILE *out)
{
    size_t count;
    const struct cli_verb *const *verbs = cli_verbs(&count);

    (void)fputs(policies_function, out);
    (void)fputs(
        "_nacre() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local verb=${COMP_WORDS[1]} i\n"
        "  COMPREPLY=()\n"
        "  if ((COMP_CWORD == 1)); then\n"
        "    COMPREPLY=($(compgen -W 'help",
        out);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, " %s", verbs[i]->name);
    (void)fputs("' -- \"$word\"))\n    return\n  fi\n", out);
    for (size_t i = 0; i < count; i++)
        bash_guest(out, verbs[i]);
    (void)fputs("  case $verb:$before in\n", out);
    for (size_t i = 0; i < count; i++)
        each_option(out, verbs[i], bash_value);
    (void)fputs("  esac\n  case $verb:$word in\n", out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "    %s:-*) COMPREPLY=($(compgen -W '", verbs[i]->name);
        each_option(out, verbs[i], bash_name);
        (void)fputs("' -- \"$word\")) ;;\n", out);
        (void)fprintf(out, "    %s:*) %s", verbs[i]->name,
                      bash_offer(verbs[i]->operand_offer));
        if (verbs[i]->words) {
            (void)fputs("; ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W '", out);
            for (size_t k = 0; k < verbs[i]->word_count; k++)
                (void)fprintf(out, " %s", verbs[i]->words[k]);
            (void)fputs("' -- \"$word\"))", out);
        }
        (void)fputs(" ;;\n", out);
    }
    (void)fputs("  esac\n}\ncomplete -F _nacre nacre\n", out);
}

/* ---- zsh ---- */

static const char *zsh_offer(enum cli_offer offer)
{
    switch (offer) {
    case CLI_OFFER_FILES:
        return "_files";
    case CLI_OFFER_DIRECTORIES:
        return "_files -/";
    case CLI_OFFER_POLICIES:
        return "{compadd -- $(_nacre_policies); _files}";
    case CLI_OFFER_NOTHING:
        break;
    }
    return " ";
}

static void zsh_option(FILE *out, const struct cli_verb *verb,
                       const struct cli_option *option)
{
    (void)verb;
    (void)fprintf(out, " \\\n        '%s%s[", option->kind == CLI_LIST ? "*" : "",
                  option->name);
    put_quoted(out, option->help, "[]:");
    (void)fputc(']', out);
    if (option->kind != CLI_FLAG) {
        (void)fputc(':', out);
        put_quoted(out, option->value, "[]:");
        (void)fprintf(out, ":%s", zsh_offer(option->offer));
    }
    (void)fputc('\'', out);
}

static void write_zsh(FILE *out)
{
    size_t count;
    const struct cli_verb *const *verbs = cli_verbs(&count);

    (void)fputs("#compdef nacre\n", out);
    (void)fputs(policies_function, out);
    (void)fputs("_nacre() {\n  local -a verbs\n  verbs=(\n", out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "    '%s:", verbs[i]->name);
        put_quoted(out, verbs[i]->summary, ":");
        (void)fputs("'\n", out);
    }
    (void)fputs(
        "  )\n  if ((CURRENT == 2)); then\n    _describe verb verbs\n    return\n  fi\n"
        "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n",
        out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "    %s)\n      _arguments%s", verbs[i]->name,
                      verbs[i]->ends_at_operand ? " -A '-*'" : "");
        each_option(out, verbs[i], zsh_option);
        if (verbs[i]->words) {
            (void)fputs(" \\\n        '1:what:(", out);
            for (size_t k = 0; k < verbs[i]->word_count; k++)
                (void)fprintf(out, "%s%s", k ? " " : "", verbs[i]->words[k]);
            (void)fputs(")'", out);
        }
        (void)fprintf(out, " \\\n        '*::operand:%s' ;;\n",
                      zsh_offer(verbs[i]->operand_offer));
    }
    (void)fputs("  esac\n}\n_nacre \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const struct cli_verb *verb,
                        const struct cli_option *option)
{
    (void)fprintf(out, "complete -c nacre -n '__fish_seen_subcommand_from %s%s' -l %s",
                  verb->name, verb->ends_at_operand ? "; and not __nacre_guest" : "",
                  option->name + 2);
    if (option->letter)
        (void)fprintf(out, " -s %c", option->letter);
    if (option->kind != CLI_FLAG)
        (void)fputs(option->offer == CLI_OFFER_NOTHING ? " -x" : " -r -F", out);
    if (option->offer == CLI_OFFER_POLICIES)
        (void)fputs(" -a '(__nacre_policies)'", out);
    (void)fputs(" -d '", out);
    put_quoted(out, option->help, "");
    (void)fputs("'\n", out);
}

static void write_fish(FILE *out)
{
    size_t count;
    const struct cli_verb *const *verbs = cli_verbs(&count);

    (void)fputs(
        "function __nacre_policies\n"
        "  set -l bin (dirname (command -v nacre))\n"
        "  set -q XDG_CONFIG_HOME; and set -l config $XDG_CONFIG_HOME; or set -l config "
        "~/.config\n"
        "  for dir in $NACRE_POLICY_DIR $config/nacre/policies $bin/../policies "
        "$bin/../share/nacre/policies\n"
        "    for file in $dir/*.yaml; basename -s .yaml $file; end\n"
        "  end\n"
        "end\n"
        "function __nacre_guest\n"
        "  set -l words (commandline -opc)\n"
        "  for word in $words[3..]\n"
        "    string match -qr '\\.(wasm|wat)$|^--$' -- $word; and return 0\n"
        "  end\n"
        "  return 1\n"
        "end\n"
        "complete -c nacre -f\n",
        out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "complete -c nacre -n __fish_use_subcommand -a %s -d '",
                      verbs[i]->name);
        put_quoted(out, verbs[i]->summary, "");
        (void)fputs("'\n", out);
        each_option(out, verbs[i], fish_option);
        for (size_t k = 0; k < verbs[i]->word_count; k++)
            (void)fprintf(out,
                          "complete -c nacre -n '__fish_seen_subcommand_from %s' -a %s\n",
                          verbs[i]->name, verbs[i]->words[k]);
        if (verbs[i]->operand_offer != CLI_OFFER_NOTHING)
            (void)fprintf(out,
                          "complete -c nacre -n '__fish_seen_subcommand_from %s' -F\n",
                          verbs[i]->name);
    }
}

static void write_script(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        write_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        write_zsh(out);
    else
        write_fish(out);
}

static int run(const struct cli_args *args)
{
    const char *shell = args->operands[0];
    NACRE_AUTO(nacre_heap_guard) char *script = NULL;
    size_t size = 0;
    FILE *memory;

    if (!args->json) {
        write_script(stdout, shell);
        return 0;
    }
    memory = open_memstream(&script, &size);
    if (memory) {
        write_script(memory, shell);
        (void)fclose(memory);
    }
    return cli_json_print(json_pack("{s:s, s:s}", "shell", shell, "script", script))
               ? 0
               : nacre_status_exit(NACRE_ERR_MEMORY);
}

const struct cli_verb cli_verb_completion = {
    .name = "completion",
    .summary = "print a completion script: bash, zsh, fish",
    .operands = "bash | zsh | fish",
    .about = "",
    .example = "  source <(nacre completion bash)",
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
