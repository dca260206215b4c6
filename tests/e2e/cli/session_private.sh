#!/usr/bin/env bash
# /workspace and /tmp that nobody names: with a scope they are its own, the same
# directories at level wasm, process, container and vm, until it is ended or pruned.
source "$(dirname "$0")/lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER NACRE_TOOL_DIR=$TOOLS
state=$HOME/.local/state/nacre
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

# policy LEVEL [DENIED]: LEVEL.yaml
policy() {
  local shell=full
  [[ $1 != wasm ]] || shell=deny
  cat >"$1.yaml" <<EOF2
claw: "0.3.0"
kind: Sandbox
metadata: {name: $1}
spec:
  level: $1
  capabilities:
    network: {mode: deny}
    filesystem:
      mode: scoped
      mount_paths:
        - {path: /workspace, permissions: rw}
        - {path: /tmp, permissions: rw}
      denied_paths: [${2:-/workspace/way/to/key}]
    shell: {mode: $shell}
EOF2
}
policy wasm
policy process
policy container
image=(--image nacre-test-busybox)

kept() { find "$state/private" -mindepth 2 -maxdepth 2 2>/dev/null | wc -l; }
expect_kept() {
  checks=$((checks + 1))
  [[ $(kept) == "$1" ]] || fail "expected $1 kept, not $(kept)"
}
# reads PATH TEXT SCOPE...: the tool at level wasm does.
reads() {
  run tool call read --policy wasm.yaml "${@:3}" --json-args "{\"path\": \"$1\"}"
  expect_status 0
  expect_out_has "$2"
}

# ---- without a scope a run's are its own, as ever ----

run exec --policy process.yaml --session one 'echo lost >/workspace/f; ls /workspace'
expect_status 0
run exec --policy process.yaml --session one 'cat /workspace/f'
expect_status 1
run tool call write --policy wasm.yaml --session one \
  --json-args '{"path": "/workspace/f", "content": "lost"}'
expect_status 0
run tool call read --policy wasm.yaml --session one --json-args '{"path": "/workspace/f"}'
expect_status 1
expect_kept 0

# ---- with one they are the same at every level ----

one=(--scope session --session one)
run exec --policy process.yaml "${one[@]}" 'echo by process >/workspace/p; echo t >/tmp/p'
expect_status 0
expect_kept 1
reads /workspace/p "by process" "${one[@]}"
reads /tmp/p t "${one[@]}"
run tool call write --policy wasm.yaml "${one[@]}" \
  --json-args '{"path": "/workspace/w", "content": "by wasm\n"}'
expect_status 0
run exec --policy process.yaml "${one[@]}" 'cat /workspace/w'
expect_status 0
expect_out "by wasm"
# For root, too, what a tool wrote is the session's.
run tool call write --policy wasm.yaml "${one[@]}" \
  --json-args '{"path": "/workspace/new/both", "content": "1\n"}'
run exec --policy process.yaml "${one[@]}" 'echo 2 >>/workspace/new/both && echo 3 >/workspace/new/own'
expect_status 0
reads /workspace/new/both 2 "${one[@]}"
reads /workspace/new/own 3 "${one[@]}"
run tool call edit --policy wasm.yaml "${one[@]}" \
  --json-args '{"path": "/workspace/new/own", "old_text": "3", "new_text": "4"}'
expect_status 0
run exec --policy container.yaml "${image[@]}" "${one[@]}" \
  'cat /workspace/p /workspace/w /tmp/p; echo by container >/workspace/c; echo u >/tmp/c'
expect_status 0
expect_out "by process
by wasm
t"
reads /workspace/c "by container" "${one[@]}"
run exec --policy process.yaml "${one[@]}" 'cat /workspace/c /tmp/c'
expect_status 0
expect_out "by container
u"
# In a warm container, too, what others write is seen.
run exec --policy process.yaml "${one[@]}" 'echo later >/workspace/l'
run exec --policy container.yaml "${image[@]}" "${one[@]}" 'cat /workspace/l'
expect_out later
run run --policy process.yaml "${one[@]}" -- /bin/sh -c 'cd /workspace && mkdir .git && ls -a'
expect_status 0
expect_out_has .git
expect_kept 1

# ---- a denied name is one at every level, and the way to it can be written ----

for level in process "container ${image[*]}"; do
  read -ra words <<<"${level/ /.yaml }"
  [[ $level != process ]] || words=(process.yaml)
  run exec --policy "${words[@]}" "${one[@]}" \
    "echo $level >/workspace/way/to/other; cat /workspace/way/to/key"
  expect_status 1
  run exec --policy "${words[@]}" "${one[@]}" 'cat /workspace/way/to/other'
  expect_out "$level"
done
run tool call write --policy wasm.yaml "${one[@]}" \
  --json-args '{"path": "/workspace/way/to/key", "content": "x"}'
expect_status 1
# The warm container holds that name by an empty file.
[[ ! $(cat "$state"/private/session/one-*/workspace/way/to/key) ]] || fail "a denied name was written"
# A link in that way leads nowhere outside.
mkdir outside
run exec --policy process.yaml "${one[@]}" \
  "rm -rf /workspace/way && ln -s $PWD/outside /workspace/way; ls -ld /workspace/way"
policy process /workspace/way/out/key
run exec --policy process.yaml "${one[@]}" true
[[ ! -e outside/out ]] || fail "a directory was made by a guest's link"
policy process

# ---- others have others ----

run exec --policy process.yaml --scope session --session two 'ls -a /workspace /tmp | wc -l'
expect_status 0
expect_out_lacks p
expect_kept 2
run exec --policy process.yaml --scope agent --agent ada 'echo ada >/workspace/a'
run exec --policy process.yaml --scope agent --agent ada --session x 'cat /workspace/a'
expect_out ada
run exec --policy process.yaml --scope agent --agent bob 'cat /workspace/a'
expect_status 1
run exec --policy process.yaml --scope shared 'echo all >/workspace/s'
run exec --policy process.yaml --scope shared --session y --agent bob 'cat /workspace/s'
expect_out all
# A session of that name is not everybody's.
run exec --policy process.yaml --scope session --session shared 'cat /workspace/s'
expect_status 1
expect_kept 6
# What is named is what it was.
mkdir named
chmod 777 named
run exec --policy process.yaml "${one[@]}" --workspace named '[ ! -e /workspace/p ] && cat /tmp/p'
expect_out t

# ---- nobody gets there by another way ----

cat >all.yaml <<EOF2
claw: "0.3.0"
kind: Sandbox
metadata: {name: all}
spec:
  level: wasm
  capabilities:
    filesystem:
      mode: scoped
      mount_paths: [{path: $scratch, permissions: rw}]
EOF2
run tool call ls --policy all.yaml --json-args "{\"path\": \"$state/private\"}"
expect_status 1
run tool call ls --policy all.yaml --json-args "{\"path\": \"$scratch\"}"
expect_status 0

# ---- what is said of it ----

run explain --policy process.yaml "${one[@]}"
expect_status 0
expect_out_has "/workspace read-write, private to the scope: the same at every level"
run explain --policy process.yaml --session one
expect_out_has "/workspace read-write, private: new with the sandbox, gone with it"
run explain --policy process.yaml "${one[@]}" --json
expect_json
expect_out_has '"own":true'
run session list
expect_status 0
expect_out_has one
run session list --json
expect_json
run exec --policy process.yaml --scope session true
expect_status 126
expect_err_has "scope session, and no session is named"
run tool call read --policy wasm.yaml --scope mine --json-args '{"path": "/tmp/x"}'
expect_status 125
expect_err "nacre: --scope expects run, session, agent or shared, not 'mine'"

# ---- their end ----

run ps
expect_out_has one
run session end one
expect_status 0
run ps
expect_out_lacks one
expect_kept 5
run exec --policy container.yaml "${image[@]}" "${one[@]}" 'ls -A /workspace'
expect_status 0
expect_out way
run session end two
expect_status 0
expect_kept 5
# An agent's and the shared ones: the like-named session's, and other agents', stay.
run session end --agent ada
expect_status 0
expect_out "ended 0 sandboxes, removed 1 workspace"
expect_kept 4
[[ $(ls "$state/private/agent") == agent-bob-???????? ]] || fail "not ada's alone went"
run session end --agent ada
expect_status 127
expect_err_has "agent 'ada' has neither a sandbox of its own"
run exec --policy process.yaml --scope agent --agent ada 'cat /workspace/a'
expect_status 1
run exec --policy container.yaml "${image[@]}" --scope agent --agent ada \
  'cat /workspace/a; echo warm'
expect_out warm
run session end --agent ada
expect_out "ended 1 sandbox, removed 1 workspace"
mkfifo busy
"$NACRE" exec --policy process.yaml --scope shared 'cat >/workspace/held' <busy &
exec {busy}>busy
until [[ -e $(compgen -G "$state/private/shared/*/workspace/held") ]]; do sleep 0.05; done
run session end --shared
expect_status 126
expect_err_has "the shared scope runs: wait for it"
exec {busy}>&-
wait $!
run session end --shared --json
expect_status 0
expect_json
expect_out_has '"workspaces":1'
expect_kept 3
[[ $(ls "$state/private/session") == *shared-* ]] || fail "the session of that name went"
# Ended while its warm container stays: that one is never used with what is gone.
run exec --policy container.yaml "${image[@]}" "${one[@]}" 'echo new >/workspace/n'
rm -rf "$state"/private/session/one-*
run exec --policy container.yaml "${image[@]}" "${one[@]}" 'cat /workspace/n'
expect_status 1
run exec --policy container.yaml "${image[@]}" "${one[@]}" 'echo again >/workspace/n'
expect_status 0
reads /workspace/n again "${one[@]}"
find "$state/sessions" -name '*.json' -exec touch -d '2 days ago' {} +
run prune
expect_status 0
expect_kept 0
run session list
expect_out "no session has a sandbox"

# What the plan refuses leaves nothing behind.
run exec --policy process.yaml "${one[@]}" --mount /etc=/etc true
expect_status 126
expect_kept 0
passed
