#!/usr/bin/env bash
# F19: a guest with a writable mount above nacre's own files, or above what the caller's
# other programs will run.
source "$(dirname "$0")/lib.sh"

own_home() {
  export HOME=$PWD/home
  mkdir -p "$HOME/.config/nacre/policies" "$HOME/project"
  scoped p.yaml /workspace:rw
  cp p.yaml "$HOME/.config/nacre/policies/mine.yaml"
  probe --policy p.yaml -- ls 3
  expect_status 0
}

F19_state_cache_and_keys_are_out_of_reach() {
  own_home
  local keys records
  keys=$(sha256sum "$HOME"/.config/nacre/keys/*.key)
  records=$(wc -l <"$HOME/.local/state/nacre/audit.jsonl")
  probe --policy p.yaml --workspace "$HOME" -- \
    read 3:.config/nacre/keys/audit.key , read 3:.config/nacre/keys/cache.key , \
    write 3:.config/nacre/keys/cache.key x , unlink 3:.config/nacre/keys/audit.key , \
    ls 3 , opendir 3:.config/nacre/keys , opendir 3:.cache/nacre , \
    opendir 3:.local/state/nacre , write 3:.cache/nacre/new.code x , \
    overwrite 3:.local/state/nacre/audit.jsonl x , unlink 3:.local/state/nacre/audit.jsonl , \
    unlink 3:.local/state/nacre/audit.jsonl.checkpoints , rename 3:.local 3:moved , \
    rename 3:.local/state/nacre 3:moved , rename 3:.config 3:moved , \
    rename 3:.cache 3:moved , symlink .config/nacre/keys 3:keys , \
    read 3:keys/audit.key , link 3:.config/nacre/keys/audit.key 3:key , \
    write 3:project/file fine
  expect_status 0
  answer "write 3:project/file fine" ok
  for denied in "read 3:.config/nacre/keys/audit.key" "read 3:.config/nacre/keys/cache.key" \
    "write 3:.config/nacre/keys/cache.key x" "unlink 3:.config/nacre/keys/audit.key" \
    "opendir 3:.config/nacre/keys" "opendir 3:.cache/nacre" "opendir 3:.local/state/nacre" \
    "write 3:.cache/nacre/new.code x" "overwrite 3:.local/state/nacre/audit.jsonl x" \
    "unlink 3:.local/state/nacre/audit.jsonl" "read 3:keys/audit.key" \
    "unlink 3:.local/state/nacre/audit.jsonl.checkpoints" \
    "link 3:.config/nacre/keys/audit.key 3:key"; do
    answer "$denied" ACCES
  done
  for denied in "rename 3:.local 3:moved" "rename 3:.config 3:moved" \
    "rename 3:.cache 3:moved"; do
    answer "$denied" BUSY
  done
  answer "rename 3:.local/state/nacre 3:moved" ACCES BUSY
  [[ $(sha256sum "$HOME"/.config/nacre/keys/*.key) == "$keys" ]] || fail "a key changed"
  run audit verify
  expect_status 0
  expect_out_has "$((records + 2)) records"
  # As the mount itself.
  for dir in .config/nacre/keys .cache/nacre .local/state/nacre; do
    probe --policy p.yaml --workspace "$HOME/$dir" -- ls 3
    expect_status 126
    expect_out ""
  done
}

F19_the_audit_log_and_its_checkpoints_in_a_mount() {
  own_home
  mkdir work
  probe --policy p.yaml --audit work/log.jsonl --workspace work -- ls 3
  expect_status 0
  local before
  before=$(cat work/log.jsonl.checkpoints)
  probe --policy p.yaml --audit work/log.jsonl --workspace work -- \
    overwrite 3:log.jsonl x , unlink 3:log.jsonl , rename 3:log.jsonl 3:moved , \
    overwrite 3:log.jsonl.checkpoints x , rename 3:log.jsonl.checkpoints 3:moved , \
    write 3:other fine
  expect_status 0
  answer "write 3:other fine" ok
  for denied in "overwrite 3:log.jsonl x" "unlink 3:log.jsonl" "rename 3:log.jsonl 3:moved" \
    "overwrite 3:log.jsonl.checkpoints x" "rename 3:log.jsonl.checkpoints 3:moved"; do
    answer "$denied" ACCES BUSY
  done
  [[ $(head -n 1 work/log.jsonl.checkpoints) == $(head -n 1 <<<"$before") ]] ||
    fail "the checkpoints changed"
  run audit verify --file work/log.jsonl
  expect_status 0
}

F19_policies_that_the_next_run_will_trust() {
  own_home
  cp p.yaml "$HOME/project/here.yaml"
  cd "$HOME/project"
  local before
  before=$(sha256sum here.yaml ../.config/nacre/policies/mine.yaml)
  probe --policy here.yaml --workspace "$HOME" -- \
    write 3:.config/nacre/policies/mine.yaml x , write 3:.config/nacre/policies/new.yaml x , \
    rename 3:.config/nacre 3:moved , write 3:project/here.yaml x , \
    unlink 3:project/here.yaml , rename 3:project 3:moved , write 3:project/file fine
  cd ../..
  expect_status 0
  answer "write 3:project/file fine" ok
  [[ $(cd home/project && sha256sum here.yaml ../.config/nacre/policies/mine.yaml) == "$before" ]] ||
    fail "a policy was changed by the guest it binds"
  [[ ! -e home/.config/nacre/policies/new.yaml ]] || fail "a policy was planted"
}

F19_hooks_that_the_callers_git_will_run() {
  own_home
  mkdir -p work/.git/hooks work/sub
  echo "#!/bin/sh" >work/.git/hooks/pre-commit
  probe --policy p.yaml --workspace work -- \
    write 3:.git/hooks/pre-commit x , write 3:.git/hooks/post-checkout x , \
    unlink 3:.git/hooks/pre-commit , rename 3:.git/hooks 3:.git/old , \
    rename 3:.git 3:old , symlink ../sub 3:.git/hooks/link , write 3:.git/note fine
  expect_status 0
  answer "write 3:.git/note fine" ok
  [[ $(cat work/.git/hooks/pre-commit) == "#!/bin/sh" ]] || fail "a hook was changed"
  [[ $(ls work/.git/hooks) == pre-commit ]] || fail "a hook was planted"
}

cases
