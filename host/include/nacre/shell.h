#ifndef NACRE_SHELL_H
#define NACRE_SHELL_H

#include "nacre/answer.h"

/* The lines of a policy that judge commands. */
#define NACRE_RULE_SHELL_MODE "capabilities.shell.mode"
#define NACRE_RULE_COMMANDS "capabilities.shell.blocked_commands"
#define NACRE_RULE_PATTERNS "capabilities.shell.blocked_patterns"

/* Exactly one: a text for /bin/sh -c, or words that are executed without a shell. */
struct nacre_command {
    const char *shell_text;
    const char *const *argv; /* NULL-terminated */
};

/*
 * May this native command run?  Pure.  A denial is an answer, not a failure; failures
 * are NACRE_ERR_USAGE for what is no command and NACRE_ERR_MEMORY.
 *
 * capabilities.shell.mode `deny` refuses every command, `full` allows every one and
 * applies no list, `restricted` allows what can be judged and no list blocks:
 *
 * blocked_commands   are compared with each simple command and each pipeline that the
 *                    text could run, words unquoted and one blank between, from a word's
 *                    start to a word's end.  A path counts as written, in its shortest
 *                    spelling and, of a program, by its last part.  A rule with an
 *                    operator other than | in it is compared with the whole text too.
 * expansions         ($x, $(...), globs, braces, ~) stand as their own text.  Where a
 *                    rule has begun to match and an expansion could complete it, the
 *                    command is denied: `rm -rf $x` under the rule `rm -rf /`.  In double
 *                    quotes an expansion is taken for one word without a blank.
 * blocked_patterns   are searched in the text as given; of argv, in its words with one
 *                    blank between, in single quotes where a shell would need them.
 *
 * What else `restricted` denies, by the line of the mode:
 *
 *   a text that can't be parsed, that shells read in different ways, that is not UTF-8,
 *   longer than 32 KiB or nested too deeply
 *   a program that is not literal: $x, `which y`, /bin/r?, ~/x, {rm,-rf}
 *   wrappers        the program they start is judged as well: env (and -S, -u, NAME=...),
 *                   xargs, find -exec, busybox, exec, command, nohup, nice, timeout,
 *                   sudo, chroot, unshare, ... ; an option of theirs that is not known
 *                   here is denied.  Of launchers with many options (npx, uv run, docker
 *                   exec) each word is judged that could be the program.  git's own
 *                   options are left out: `git -C x push` is `git push` to a rule
 *   find            an expansion in double quotes may be -exec, or the ; that ends one:
 *                   what stands behind it is judged as if it were, unless it is the value
 *                   of a test for sure (`-name "$x"`).  One that may be several words
 *                   could hold an -exec and its command, and is denied
 *   shells          sh -c TEXT, eval TEXT, trap TEXT, su -c TEXT, watch, ssh HOST TEXT:
 *                   TEXT is judged if it is literal, else denied.  A here-document or
 *                   here-string is judged alike.  `sh FILE`, `sh < FILE` and `. FILE` are
 *                   judged by these words alone, as any program in a file is.  A pipe or
 *                   the run's own input into a shell is denied: what it will read can't
 *                   be known.  So is a FILE that is a descriptor, however it is spelled:
 *                   what is in /proc or /dev, and wherever a cd went what is called
 *                   stdin, 5, tty or environ
 *   assignments     to what nacre_shell_environment_denied() names, also by export, read,
 *                   for, printf -v, wait -p, coproc, ${x=...} and arithmetic.  A variable
 *                   that names a program of a build (CC=gcc) is judged as that command
 *   aliases         and other ways to change what a later word means; the body of a
 *                   function is judged where it is defined
 *   text in quotes  that arithmetic, [[ ]] or a prompt would expand again ('$(...)'), or
 *                   by which arithmetic would set such a variable ('BASH_ENV=5'), where
 *                   it becomes a value: in assignments, behind sh -c TEXT and the name of
 *                   a function, in here-strings, and in here-documents of read and of
 *                   compound commands
 *
 * Not promised: what a program does by itself.  awk, python -c, make, git hooks and files
 * that a command has written are judged by the words on the command line alone, and a
 * program's own settings (a git alias, ~/.bashrc) are not seen.  Nor what arithmetic in
 * bash makes of a value that is computed while it runs: `x=$(date +%s); echo $((x))` is
 * daily work, and a command that prints 'a[$(...)]' instead has it run.  The sandbox is
 * the wall; these rules are what its owner does not want to be tried.
 */
NACRE_MUST_CHECK enum nacre_status nacre_shell_judge(const struct nacre_policy *policy,
                                                     const struct nacre_command *command,
                                                     struct nacre_answer *ret_answer,
                                                     struct nacre_error *err);

/*
 * Why the variable of "NAME=VALUE" or "NAME" is never passed to a native guest: the end
 * of a sentence that begins with its name ("PATH decides which program a name means").
 * NULL when nothing speaks against it, also because its value is known to be harmless
 * (PAGER=cat, CC=gcc, NODE_OPTIONS=--max-old-space-size=4096).
 */
const char *nacre_shell_environment_denied(const char *assignment);

#endif
