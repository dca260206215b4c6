#!/usr/bin/env bash
# A guest that tries to get at files it was not given.
source "$(dirname "$0")/lib.sh"

F01_dots_and_twins_never_leave_the_mount() {
  scoped p.yaml /workspace:rw
  mkdir -p work/in work-evil
  echo inside >work/in/file
  echo CANARY >work-evil/file
  probe --policy p.yaml --workspace work -- \
    read 3:in/file , read 3:in/../in/file , read 3:../canary/file , \
    read 3:in/../../canary/file , read 3:in/../../work/in/file , \
    read 3:../work-evil/file , read 3:-evil/file , read "3:$PWD/canary/file" , \
    read 3:/etc/passwd , read 3://etc/passwd , stat 3:.. , opendir 3:.. , opendir 3:in/../.. , \
    write 3:../canary/new x , mkdir 3:../canary/dir , unlink 3:../canary/file , \
    rename 3:in/file 3:../canary/moved , link 3:in/file 3:../canary/linked , \
    symlink to 3:../canary/link , rmdir 3:../canary , utimes 3:../canary/file , \
    read 3:../canary/file%00 , read 3:in/file%00/../../canary
  expect_status 0
  answer "read 3:in/file" "ok inside"
  answer "read 3:in/../in/file" "ok inside"
  expect_out_lacks CANARY
  for denied in "read 3:../canary/file" "read 3:in/../../canary/file" "opendir 3:.." \
    "read 3:in/../../work/in/file" "read 3:../work-evil/file" "read 3:/etc/passwd" \
    "read 3://etc/passwd" "stat 3:.." "opendir 3:in/../.." "write 3:../canary/new x" \
    "mkdir 3:../canary/dir" "unlink 3:../canary/file" "rmdir 3:../canary" \
    "rename 3:in/file 3:../canary/moved" "link 3:in/file 3:../canary/linked" \
    "symlink to 3:../canary/link" "utimes 3:../canary/file"; do
    answer "$denied" PERM
  done
  answer "read 3:-evil/file" NOENT
  answer "read 3:in/file%00/../../canary" INVAL
  # A read-only mount is resolved by the kernel instead of by us.
  scoped q.yaml /workspace:ro
  probe --policy q.yaml --workspace work -- read 3:in/../in/file , read 3:../canary/file , \
    read 3:in/../../canary/file , opendir 3:.. , stat 3:in/../../canary/file , \
    read 3:../work/in/file
  answer "read 3:in/../in/file" "ok inside"
  for denied in "read 3:../canary/file" "read 3:in/../../canary/file" "opendir 3:.." \
    "stat 3:in/../../canary/file" "read 3:../work/in/file"; do
    answer "$denied" PERM
  done
  # The same calls reach the same file when it is granted.
  probe --policy p.yaml --workspace . -- read 3:canary/file , read 3:work/../canary/file
  answer "read 3:canary/file" "ok CANARY"
  answer "read 3:work/../canary/file" "ok CANARY"
}

F03_links_lead_nowhere_outside() {
  scoped p.yaml /workspace:rw
  mkdir -p work/in
  echo inside >work/in/file
  ln -s ../canary/file work/relative
  ln -s "$PWD/canary/file" work/absolute
  ln -s ../canary work/dir
  ln -s dir work/dir2
  ln -s in work/good
  ln -s loop work/loop
  probe --policy p.yaml --workspace work -- \
    read 3:good/file , read 3:good/../good/file , read 3:relative , read 3:absolute , \
    read 3:dir/file , read 3:dir2/file , read 3:dir/ , opendir 3:dir/ , opendir 3:dir/. , \
    stat 3:dir/ , stat 3:relative/ , overwrite 3:relative x , write 3:absolute x , \
    trunc 3:relative , utimes 3:relative , create 3:dir/new , mkdir 3:dir/new , \
    rename 3:in/file 3:dir/new , unlink 3:dir/file , rmdir 3:dir/ , read 3:loop , \
    readnofollow 3:relative , symlink /etc/passwd 3:abs , symlink ../canary/file 3:rel , \
    read 3:rel , read 3:good/../../canary/file
  expect_status 0
  answer "read 3:good/file" "ok inside"
  answer "read 3:good/../good/file" "ok inside"
  expect_out_lacks CANARY
  for denied in "read 3:relative" "read 3:absolute" "read 3:dir/file" "read 3:dir2/file" \
    "read 3:dir/" "opendir 3:dir/" "opendir 3:dir/." "stat 3:dir/" "stat 3:relative/" \
    "overwrite 3:relative x" "write 3:absolute x" "trunc 3:relative" "utimes 3:relative" \
    "create 3:dir/new" "mkdir 3:dir/new" "rename 3:in/file 3:dir/new" \
    "unlink 3:dir/file" "symlink /etc/passwd 3:abs" "read 3:rel" \
    "read 3:good/../../canary/file"; do
    answer "$denied" PERM
  done
  answer "rmdir 3:dir/" PERM NOTDIR
  answer "read 3:loop" LOOP
  answer "readnofollow 3:relative" LOOP
  [[ ! -e work/abs && ! -L work/abs ]] || fail "an absolute link was made"
  scoped q.yaml /workspace:ro
  probe --policy q.yaml --workspace work -- read 3:good/file , read 3:relative , \
    read 3:absolute , read 3:dir/file , read 3:dir2/file , opendir 3:dir/ , stat 3:dir/file , \
    read 3:good/../../canary/file , readlink 3:relative
  answer "read 3:good/file" "ok inside"
  answer "readlink 3:relative" "ok ../canary/file"
  for denied in "read 3:relative" "read 3:absolute" "read 3:dir/file" "read 3:dir2/file" \
    "opendir 3:dir/" "stat 3:dir/file" "read 3:good/../../canary/file"; do
    answer "$denied" PERM
  done
  probe --policy p.yaml --workspace . -- read 3:work/relative , read 3:work/dir2/file
  answer "read 3:work/relative" "ok CANARY"
  answer "read 3:work/dir2/file" "ok CANARY"
}

F05_the_kernel_shows_nothing_of_itself() {
  mode=full scoped p.yaml
  ln -s /proc/self/root/etc link-root
  ln -s /proc/self/mem link-mem
  local here=${PWD#/}
  probe --policy p.yaml -- read "3:$here/canary/file" , \
    read 3:proc/self/mem , read 3:proc/self/maps , read 3:proc/self/environ , \
    read 3:proc/version , read 3:proc/1/cmdline , opendir 3:proc , opendir 3:proc/self/fd , \
    read 3:proc/self/root/etc/passwd , read 3:proc/self/cwd/etc/passwd , \
    read 3:proc/thread-self/root/etc/passwd , readlink 3:proc/self/exe , \
    read 3:sys/kernel/uevent_seqnum , opendir 3:sys , read 3:dev/null , read 3:dev/mem , \
    opendir 3:dev , stat 3:dev/null , opendir 3:dev/pts , opendir 3:sys/fs/cgroup , \
    read "3:$here/link-root/passwd" , read "3:$here/link-mem" , \
    write 3:proc/self/mem x , write 3:proc/sys/kernel/core_pattern x , \
    write 3:sys/kernel/uevent_helper x , write 3:proc/self/oom_score_adj 0
  expect_status 0
  answer "read 3:$here/canary/file" "ok CANARY"
  local line
  while read -r line; do
    [[ $line == "read 3:$here/canary"* ]] && continue
    checks=$((checks + 1))
    [[ $line == *": ACCES" || $line == *": PERM" || $line == *": NOENT" ||
      $line == *": NOTDIR" ]] || fail "it was let in: $line"
  done <"$scratch/out"
  # And not as a mount of its own.
  scoped q.yaml /workspace:rw
  for dir in /proc /proc/self/fd /proc/self/root/proc /sys /dev/pts; do
    probe --policy q.yaml --workspace "$dir" -- ls 3
    expect_status 126
    expect_out ""
  done
}

F06_a_dangling_link_creates_nothing() {
  scoped p.yaml /workspace:rw
  mkdir -p work/in
  ln -s ../canary/new work/dangling
  ln -s in/new work/good
  probe --policy p.yaml --workspace work -- \
    write 3:good made , write 3:dangling x , create 3:dangling , trunc 3:dangling , \
    openrw 3:dangling , mkdir 3:dangling , symlink ../canary/two 3:two , write 3:two x , \
    rename 3:two 3:three , write 3:three x , link 3:dangling 3:hard , write 3:hard x
  expect_status 0
  answer "write 3:good made" ok
  [[ $(cat work/in/new) == made ]] || fail "the positive control wrote nothing"
  answer "write 3:dangling x" PERM
  answer "create 3:dangling" EXIST
  answer "openrw 3:dangling" PERM
  answer "write 3:two x" PERM
  answer "write 3:three x" PERM
  answer "write 3:hard x" PERM
}

F07_links_planted_where_nacre_stages_are_not_followed() {
  scoped p.yaml /workspace:rw
  export HOME=$PWD
  local cache=$HOME/.cache/nacre name entry
  wat_say 1 hello hello.wat
  run run --policy p.yaml hello.wat
  expect_status 0
  entry=$(echo "$cache"/*.code)
  [[ -f $entry ]] || fail "no entry in the cache to replace"
  name=${entry##*/}
  # Where the entry will be written, a link to the canary.
  rm "$entry"
  ln -s "$PWD/canary/file" "$entry"
  run run --policy p.yaml hello.wat
  expect_status 0
  expect_out hello
  [[ ! -L $cache/$name ]] || fail "the planted link is still in the cache"
  # A FIFO does not hold it up, a directory is not taken for an entry.
  rm -f "$cache/$name" && mkfifo "$cache/$name"
  bounded 20 "$NACRE" run --policy p.yaml hello.wat
  expect_status 0
  expect_out hello
  # The private directories' base: other people's names there are not entered.
  local base=/dev/shm
  [[ -w $base ]] || base=/tmp
  local planted
  planted=$base/nacre-$(id -u)-planted$$
  ln -s "$PWD/canary" "$planted"
  probe --policy p.yaml -- write 3:file x , read 3:file
  rm "$planted"
  expect_status 0
  answer "read 3:file" "ok x"
}

F10_read_only_stays_as_it_was() {
  scoped p.yaml /workspace:ro
  mkdir -p work/dir
  echo original >work/file
  chmod 666 work/file
  touch -d 2001-01-01 work/file work/dir work
  local before after
  before=$(stat -c '%n %i %s %Y %Z %a %h' work work/* && sha256sum work/file)
  attempts() {
    probe "$@" -- write 3:file x , overwrite 3:file x , trunc 3:file , utimes 3:file , \
      create 3:new , mkdir 3:new , rmdir 3:dir , unlink 3:file , rename 3:file 3:moved , \
      link 3:file 3:second , symlink file 3:link , openrw 3:file , open 3:file , \
      setsize 4 0 , allocate 4 100 , pwrite 4 0 , futimes 4 , setrights 4 , pwrite 4 0 , \
      setflags 4 1 , pwrite 4 0 , futimes 3 , read 3:file
    expect_status 0
  }
  attempts --policy p.yaml --workspace work
  answer "read 3:file" "ok original"
  [[ $(grep -c ': ok' "$scratch/out") -le 3 ]] || fail "something was changed"
  for denied in "write 3:file x" "overwrite 3:file x" "trunc 3:file" "utimes 3:file" \
    "create 3:new" "mkdir 3:new" "rmdir 3:dir" "unlink 3:file" "rename 3:file 3:moved" \
    "link 3:file 3:second" "symlink file 3:link" "futimes 4" "futimes 3"; do
    answer "$denied" PERM
  done
  answer "pwrite 4 0" BADF
  answer "setsize 4 0" INVAL BADF PERM
  after=$(stat -c '%n %i %s %Y %Z %a %h' work work/* && sha256sum work/file)
  [[ $after == "$before" ]] || fail "a read-only mount changed: $after"
  # Mode read-only wins over rw in the list; so does :ro in the request.
  mode=read-only scoped q.yaml /workspace:rw
  attempts --policy q.yaml --workspace work
  scoped r.yaml /workspace:rw
  attempts --policy r.yaml --mount /workspace="$PWD/work:ro"
  after=$(stat -c '%n %i %s %Y %Z %a %h' work work/* && sha256sum work/file)
  [[ $after == "$before" ]] || fail "a read-only mount changed: $after"
  attempts --policy r.yaml --workspace work
  answer "write 3:file x" ok
  [[ $(stat -c '%n %i %s %Y %Z %a %h' work work/*) != "$before" ]] ||
    fail "the positive control changed nothing"
}

F10_read_only_without_a_list_is_the_workspace_alone() {
  mode=read-only scoped p.yaml
  mkdir work
  echo original >work/file
  probe --policy p.yaml --workspace work -- read 3:file , write 3:file x , create 3:new , \
    unlink 3:file , rename 3:file 3:moved , mkdir 3:dir , read 4:file
  expect_status 0
  answer "read 3:file" "ok original"
  for denied in "write 3:file x" "create 3:new" "unlink 3:file" "rename 3:file 3:moved" \
    "mkdir 3:dir"; do
    answer "$denied" PERM
  done
  answer "read 4:file" BADF
  [[ $(ls work) == file && $(cat work/file) == original ]] || fail "the workspace changed"
  probe --policy p.yaml --workspace canary -- read 3:file , write 3:file x
  answer "read 3:file" "ok CANARY"
  answer "write 3:file x" PERM
  scoped q.yaml /workspace:rw
  probe --policy q.yaml --workspace work -- write 3:file changed
  answer "write 3:file changed" ok
  [[ $(cat work/file) == changed ]] || fail "the positive control wrote nothing"
}

F11_nothing_moves_from_writable_to_read_only() {
  scoped p.yaml /workspace:rw /config:ro /other:rw
  mkdir work config other
  echo mine >work/file
  echo theirs >config/file
  probe --policy p.yaml --workspace work --mount /config="$PWD/config" \
    --mount /other="$PWD/other" -- \
    link 3:file 4:new , rename 3:file 4:new , rename 4:file 3:stolen , link 4:file 3:alias , \
    symlink ../config/file 3:side , overwrite 3:side x , link 3:file 5:new , \
    rename 3:file 5:new , rename 3:file 3:renamed , link 3:renamed 3:second
  expect_status 0
  for denied in "link 3:file 4:new" "rename 3:file 4:new" "rename 4:file 3:stolen" \
    "link 4:file 3:alias" "overwrite 3:side x"; do
    answer "$denied" PERM XDEV ACCES
  done
  answer "link 3:file 5:new" XDEV
  answer "rename 3:file 5:new" XDEV
  answer "rename 3:file 3:renamed" ok
  answer "link 3:renamed 3:second" ok
  [[ $(cat config/file) == theirs && $(ls config) == file ]] || fail "config changed"
}

F13_denied_paths_win_however_they_are_spelt() {
  scoped p.yaml /workspace:rw /other:rw '!/workspace/secret' '!/workspace/later/hidden' \
    '!/workspace/one.txt'
  mkdir -p work/secret/deep work/open
  echo SECRET >work/secret/key
  echo SECRET >work/secret/deep/key
  echo SECRET >work/one.txt
  echo fine >work/open/file
  ln -s secret work/link
  ln -s ../secret/key work/open/link
  ln work/one.txt work/second # another name of a denied file, by the host
  local options=(--policy p.yaml --workspace work --mount /other="$PWD/work")
  probe "${options[@]}" -- read 3:open/file , read 3:secret/key , read 3:./secret/key , \
    read 3:secret//key , read 3:open/../secret/key , read 3:secret/deep/../key , \
    read 3:link/key , read 3:open/link , read 3:second , write 3:second x , \
    rename 3:second 3:taken , link 3:second 3:taken , opendir 3:secret , opendir 3:secret/ , \
    opendir 3:link/ , stat 3:secret/key , readlink 3:secret/key , read 3:one.txt , \
    write 3:one.txt x , write 3:secret/new x , mkdir 3:secret/new , unlink 3:secret/key , \
    rename 3:secret/key 3:taken , link 3:secret/key 3:taken , link 3:one.txt 3:taken , \
    rename 3:open/file 3:secret/key , rename 3:one.txt 3:taken , symlink secret 3:new , \
    read 3:new/key , symlink secret/key 3:new2 , read 3:new2 , read 4:secret/key , \
    read 4:one.txt , link 4:one.txt 4:taken , mkdir 3:later , write 3:later/hidden x , \
    mkdir 3:later/hidden , symlink ../open/file 3:later/hidden , \
    rename 3:open/file 3:later/hidden , link 3:open/file 3:later/hidden , utimes 3:one.txt , \
    unlink 3:one.txt
  expect_status 0
  answer "read 3:open/file" "ok fine"
  expect_out_lacks SECRET
  [[ $(grep -c ': ok' "$scratch/out") == 4 ]] || fail "more than the four allowed went through"
  [[ ! -e work/later/hidden && ! -e work/taken ]] || fail "a denied name was made"
  [[ $(cat work/one.txt) == SECRET ]] || fail "a denied file changed"
  # Without the line the same guest reads it, so the line is what stopped it.
  scoped q.yaml /workspace:rw
  probe --policy q.yaml --workspace work -- read 3:secret/key , read 3:open/link , \
    read 3:one.txt
  answer "read 3:secret/key" "ok SECRET"
  answer "read 3:open/link" "ok SECRET"
  answer "read 3:one.txt" "ok SECRET"
  # Denied by its name on the host, mounted under another, or as the mount itself.
  scoped r.yaml /workspace:rw "!$PWD/work/secret"
  probe --policy r.yaml --workspace work -- read 3:secret/key , read 3:open/link
  answer "read 3:secret/key" ACCES
  answer "read 3:open/link" ACCES
  for dir in work/secret work/secret/deep work/link; do
    probe --policy r.yaml --workspace "$dir" -- read 3:key
    expect_status 126
    expect_out ""
  done
  mode=full scoped s.yaml "!$PWD/work/secret"
  local here=${PWD#/}
  probe --policy s.yaml -- read "3:$here/work/secret/key" , read "3:$here/work/link/key" , \
    read "3:$here/work/open/file"
  answer "read 3:$here/work/secret/key" ACCES
  answer "read 3:$here/work/link/key" ACCES
  answer "read 3:$here/work/open/file" "ok fine"
}

F13_the_whole_tree_is_writable_but_for_what_is_denied() {
  mode=full scoped p.yaml "!$PWD/canary"
  mkdir work
  echo old >work/gone
  local here=${PWD#/} word
  probe --policy p.yaml -- write "3:$here/work/file" text , mkdir "3:$here/work/dir" , \
    rename "3:$here/work/file" "3:$here/work/dir/moved" , unlink "3:$here/work/gone" , \
    read "3:$here/canary/file" , write "3:$here/canary/file" x , \
    mkdir "3:$here/canary/dir" , unlink "3:$here/canary/file" , \
    rename "3:$here/canary/file" "3:$here/work/taken" , \
    rename "3:$here/work/dir/moved" "3:$here/canary/file"
  expect_status 0
  for word in "write 3:$here/work/file text" "mkdir 3:$here/work/dir" \
    "rename 3:$here/work/file 3:$here/work/dir/moved" "unlink 3:$here/work/gone"; do
    answer "$word" ok
  done
  for word in "read 3:$here/canary/file" "write 3:$here/canary/file x" \
    "mkdir 3:$here/canary/dir" "unlink 3:$here/canary/file" \
    "rename 3:$here/canary/file 3:$here/work/taken" \
    "rename 3:$here/work/dir/moved 3:$here/canary/file"; do
    answer "$word" ACCES
  done
  [[ $(ls work) == dir && $(cat work/dir/moved) == text ]] || fail "work holds: $(ls work)"
}

F14_what_lies_above_a_denied_path_cannot_be_moved() {
  scoped p.yaml /workspace:rw '!/workspace/a/b/secret' '!/workspace/x/y'
  mkdir -p work/a/b/secret work/free
  echo SECRET >work/a/b/secret/key
  probe --policy p.yaml --workspace work -- \
    rename 3:a 3:moved , rename 3:a/b 3:moved , rename 3:a/./b/ 3:moved , \
    rename 3:free 3:a , rename 3:free 3:a/b , rmdir 3:a , symlink free 3:x , \
    rename 3:free 3:x , link 3:a/b/secret/key 3:k , mkdir 3:x , mkdir 3:x/y , \
    opendir 3:a/b , read 5:secret/key , read 5:../b/secret/key , rename 3:free 3:gone , \
    rename 3:gone 3:x
  expect_status 0
  for denied in "rename 3:a 3:moved" "rename 3:a/b 3:moved" "rename 3:a/./b/ 3:moved" \
    "rename 3:free 3:a" "rename 3:free 3:a/b" "rmdir 3:a" "symlink free 3:x" \
    "rename 3:free 3:x" "rename 3:gone 3:x"; do
    answer "$denied" BUSY
  done
  answer "mkdir 3:x" ok
  answer "mkdir 3:x/y" ACCES
  answer "rename 3:free 3:gone" ok
  [[ -f work/a/b/secret/key && ! -e work/moved && ! -L work/x ]] || fail "something moved"
  expect_out_lacks SECRET
}

F16_other_spellings_are_other_names() {
  scoped p.yaml /workspace:rw '!/workspace/Secret' $'!"/workspace/caf\\u00e9"'
  mkdir -p work/Secret $'work/caf\u00e9'
  echo SECRET >work/Secret/key
  echo SECRET >$'work/caf\u00e9/key'
  probe --policy p.yaml --workspace work -- read 3:Secret/key , read 3:secret/key , \
    read 3:SECRET/key , read 3:Secret%20/key , read 3:Secret./key , read '3:Secret\key' , \
    read 3:CON , read 3:aux.txt , read 3:caf%c3%a9/key , read 3:cafe%cc%81/key , \
    read 3:Secret%2fkey , read 3:%ff%fe , read 3:Secret::data , write 3:CON fine
  expect_status 0
  answer "read 3:Secret/key" ACCES
  answer "read 3:caf%c3%a9/key" ACCES
  expect_out_lacks "ok SECRET"
  answer "read 3:secret/key" NOENT ACCES
  answer "read 3:cafe%cc%81/key" NOENT ACCES
  answer "write 3:CON fine" ok
}

F17_fifos_devices_and_sockets_are_not_opened() {
  scoped p.yaml /workspace:rw -- "timeout_ms: 5000"
  mkdir work
  mkfifo work/fifo
  echo regular >work/file
  local node=file
  if mknod work/null c 1 3 2>/dev/null; then node=null; fi
  probe --policy p.yaml --workspace work -- open 3:fifo , overwrite 3:fifo x , \
    trunc 3:fifo , openrw 3:fifo , read "3:$node" , read 3:file , stat 3:fifo
  expect_status 0
  for denied in "open 3:fifo" "overwrite 3:fifo x" "trunc 3:fifo" "openrw 3:fifo"; do
    answer "$denied" ACCES
  done
  [[ $node == file ]] || answer "read 3:null" ACCES
  answer "read 3:file" "ok regular"
}

F18_a_request_brings_no_rights_of_its_own() {
  scoped p.yaml /workspace:ro
  mkdir work
  wat_say 1 ran hello.wat
  for words in "--mount /=/" "--mount /etc=/etc" "--mount /workspace/..=$PWD" \
    "--mount /workspace/../canary=$PWD/canary" "--mount /workspace=$PWD/canary:rw" \
    "--mount workspace=$PWD/canary:rw" "--mount //workspace=$PWD/canary:rw" \
    "--mount /work=$PWD/canary"; do
    # shellcheck disable=SC2086
    run run --policy p.yaml $words hello.wat
    [[ $status == 126 || $status == 125 ]] || fail "it ran"
    expect_out ""
  done
  run run --workspace . hello.wat
  expect_status 126
  # The environment names no directory that counts.
  probe --policy p.yaml --workspace work --env PWD=/ --env HOME="$PWD" --env ROOT=/ -- \
    read 3:../canary/file , read 3:canary/file , ls 3
  answer "read 3:../canary/file" PERM
  answer "read 3:canary/file" NOENT
  run run --policy p.yaml --workspace work hello.wat
  expect_status 0
  expect_out ran
}

F20_private_directories_have_a_quota() {
  scoped p.yaml /workspace:rw -- "timeout_ms: 60000"
  local how before after base=/dev/shm
  [[ -w $base ]] || base=/tmp
  before=$(df --output=used -k "$base" | tail -n 1)
  for how in bytes:256 files:16384 links:16383; do
    run run --policy p.yaml "$GUESTS/attack_fill.wasm" "${how%:*}" 3
    expect_status 0
    expect_out "${how%:*} ${how#*:}, then error 51"
  done
  probe --policy p.yaml -- openrw 3:file , setsize 4 1099511627776 , \
    allocate 4 1099511627776 , pwrite 4 1099511627776 , setsize 4 1000 , pwrite 4 2000
  expect_status 0
  answer "setsize 4 1099511627776" NOSPC
  answer "allocate 4 1099511627776" NOSPC NOTSUP
  answer "pwrite 4 1099511627776" NOSPC
  answer "setsize 4 1000" ok
  answer "pwrite 4 2000" ok
  # In a directory of the caller's own, no file grows without end.
  mkdir work
  probe --policy p.yaml --workspace work -- openrw 3:file , setsize 4 1099511627776 , \
    allocate 4 1099511627776 , pwrite 4 1099511627776 , pwrite 4 2000
  answer "setsize 4 1099511627776" FBIG
  answer "allocate 4 1099511627776" FBIG NOTSUP
  answer "pwrite 4 1099511627776" FBIG
  answer "pwrite 4 2000" ok
  (($(stat -c %b work/file) < 100)) || fail "it takes $(stat -c %b work/file) blocks"
  after=$(df --output=used -k "$base" | tail -n 1)
  ((after - before < 100 * 1024)) || fail "$((after - before)) KiB are still used in $base"
}

F23_clean_up_removes_only_what_the_guest_made() {
  scoped p.yaml /workspace:rw /tmp:rw -- "timeout_ms: 60000"
  mkdir work
  echo keep >work/keep
  # Directories in one another, deeper than fds or names go.
  run run --policy p.yaml --workspace work "$GUESTS/attack_fill.wasm" deep 4
  expect_status 0
  expect_out_has "deep "
  # Links out of the private directory, and a swapped tree.
  probe --policy p.yaml --workspace work -- mkdir 4:d , mkdir 4:d/e , \
    symlink ../../../../../../../../../../../../../.."$PWD/canary" 4:d/out , \
    symlink .. 4:d/e/up , symlink ../../.. 4:up , write 4:d/e/f x , link 4:d/e/f 4:hard
  expect_status 0
  answer "mkdir 4:d/e" ok
  local base=/dev/shm left
  [[ -w $base ]] || base=/tmp
  left=$(find "$base" -maxdepth 1 -name "nacre-$(id -u)-*" -newer p.yaml)
  [[ -z $left || $(pgrep -x nacre) ]] || fail "left behind: $left"
  [[ $(cat work/keep) == keep ]] || fail "something of the caller's was removed"
}

cases
