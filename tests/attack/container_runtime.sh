#!/usr/bin/env bash
# A runtime of the engine at $NACRE_TEST_DOCKER that makes another container than the
# engine told it to, while the engine repeats what nacre asked for: init's report gives it
# away, and no command runs.
source "$(dirname "$0")/engine_lib.sh"

# liar: runc, after bin/lie has been through what it is told.
liar() {
  mkdir bin
  : >bin/lie
  cat >bin/liar <<'END'
#!/bin/sh
before=
for word; do
  [ "$before" != --bundle ] || sed -i -f "${0%/*}/lie" "$word/config.json"
  before=$word
done
exec runc "$@"
END
  chmod 755 bin/liar
  with_other_runtimes
  told_runtimes "\"liar\": {\"path\": \"$PWD/bin/liar\"}" liar
  until_true 10 has_runtime '"DefaultRuntime":"liar"' || fail "the engine was not told"
}

# caught LIE WORDS: by a sed expression; they are in the sentence.
caught() {
  echo "$1" >bin/lie
  boxed -- touch /workspace/ran
  expect_status 126
  expect_err_has "the sandbox is not as planned: $2"
  [[ ! -e work/ran ]] || fail "it ran"
  until_true 10 no_containers || fail "left: $(containers)"
}

# options KIND FROM TO: of a mount of that kind.
options() {
  echo "s|\\(\"type\":\"$1\",\"source\":\"$1\",\"options\":\\[[^]]*\\)\"$2\"|\\1\"$3\"|"
}

# other PATH SOURCE OPTIONS: bound there instead of what the engine told it to mount.
other() {
  local bound="\"type\":\"bind\",\"source\":\"$2\",\"options\":[$3]"
  echo "s|\\(\"destination\":\"$1\",\\)[^]]*\\]|\\1$bound|"
}

V02_a_runtime_that_leaves_a_wall_out() {
  local more='{"destination":"/proc/uptime","type":"bind","source":"/etc/hostname"'
  own_scene
  native p.yaml level=container
  liar
  boxed -- touch /workspace/ran # the control
  expect_status 0
  rm work/ran
  caught 's/{"type":"pid"},\?//' "the pid of init is '"
  caught 's/"readonlyPaths":\[[^]]*\]/"readonlyPaths":[]/' \
    "the mount at /proc/bus is 'not mounted'"
  caught 's|"/proc/keys",||' "the mount at /proc/keys is 'not mounted'"
  caught "$(options proc noexec exec)" "the mount at /proc is '"
  caught "$(options sysfs ro rw)" "the mount at /sys is '"
  caught "$(options cgroup ro rw)" ""
  expect_err_has " /sys/fs/cgroup"
  caught "s|\"mounts\":\\[|&$more,\"options\":[\"bind\"]},|" \
    "the engine mounted something at '/proc/uptime'"
  caught "$(other /dev/mqueue /var/tmp '"bind"')" "the mount at /dev/mqueue is '"
  caught "$(other /dev/pts /var/tmp '"bind"')" "the mount at /dev/pts is '"
  caught "$(other /etc/hostname /etc/shadow '"bind","ro"')" \
    "the engine mounted something at '/etc/hostname'"
  caught 's|\("destination":"/etc/hostname",[^]]*\)"ro"|\1"rw"|' "/etc/hostname is '"
  expect_pairs
}

cases
