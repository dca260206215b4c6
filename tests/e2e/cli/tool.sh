#!/usr/bin/env bash
# nacre tool list, show and call; nacre check of a tool's folder; nacre explain --tool NAME.
# Expects PROBE, a module that does what it is told.
source "$(dirname "$0")/lib.sh"
: "${PROBE:?}"

export NACRE_TOOL_DIR=$scratch/tools
# put NAME ANNOTATION...: a folder with the probe; the annotations begin at line 7.
put() {
  local name=$1
  shift
  mkdir -p "$NACRE_TOOL_DIR/$name"
  cp "$PROBE" "$NACRE_TOOL_DIR/$name/$name.wasm"
  {
    printf 'claw: "0.3.0"\nkind: Tool\nmetadata:\n  name: %s\n  version: 1.2.3\n' "$name"
    printf '  annotations:\n'
    printf '    %s\n' "example.org/x: \"1\"" "$@"
    printf 'spec:\n  description: Do as told\n  input_schema:\n    type: object\n'
    printf '    properties: {do: {type: string}, path: {type: string}, text: {type: string}}\n'
    printf '    required: [do]\n    additionalProperties: false\n'
  } >"$NACRE_TOOL_DIR/$name/tool.yaml"
}
digest=$(sha256sum <"$PROBE" | cut -c1-64)
put probe "nacre/digest: \"$digest\""
put writer "nacre/access: write"
mkdir ws
echo content >ws/f

# ---- list and show ----

run tool list
expect_status 0
expect_out_has "probe            1.2.3      none      Do as told"
expect_out_has "exec "
run tool list --json
expect_json
expect_out_has '"inputSchema":{"type":"object"'
mkdir "$NACRE_TOOL_DIR/broken"
echo 'claw: 1' >"$NACRE_TOOL_DIR/broken/tool.yaml"
run tool list
expect_status 0
expect_out_has "probe"
expect_err_has "broken/tool.yaml:1:7: claw: expected a text"
rm -r "$NACRE_TOOL_DIR/broken"
run tool show probe
expect_status 0
expect_out_has "digest:      $digest"
run tool show prode
expect_status 127
expect_err "nacre: there is no tool 'prode'; did you mean 'probe'?"
run tool show probe --policy workspace
expect_status 125
expect_err "nacre: tool show has no --policy"
run tool call
expect_status 125
run tool frob
expect_status 125

# ---- call ----

call=(tool call probe --policy workspace --workspace ws --json-args)
run "${call[@]}" '{"do": "read", "path": "/workspace/f"}'
expect_status 0
expect_out content
expect_err ""
run "${call[@]}" '{"do": "read", "path": "/workspace/f"}' --json
expect_status 0
expect_json
expect_out_has '"level":"wasm"'
expect_out_has '"outcome":"exited"'
echo '{"do": "say", "text": "from a file"}' >args
run "${call[@]}" @args
expect_out "from a file"
input=args run "${call[@]}" -
expect_out "from a file"
run "${call[@]}" @none
expect_status 127
run "${call[@]}" '{"do": "fail"}'
expect_status 1
expect_out ""
expect_err "mend this"
run "${call[@]}" '{"do": "echo", "txt": "a"}'
expect_status 1
expect_err "the arguments do not fit probe: the whole: unknown property \"txt\"; did you mean \"text\"?"
run "${call[@]}" '{'
expect_status 1
expect_err_has "the arguments are not JSON"
run "${call[@]}" '{"do": "trap"}'
expect_status 1
expect_err_has "probe failed inside"
run tool call prode --policy workspace
expect_status 1
expect_err "there is no tool 'prode'; did you mean 'probe'?"
run tool call probe --policy nowhere --json-args '{"do": "echo"}'
expect_status 127
run tool call writer --policy read-only --workspace ws --json-args '{"do": "write", "path": "/workspace/n", "text": "x"}'
expect_status 126
expect_err_has "the policy read-only lets no tool write"
[[ ! -e ws/n ]] || fail "written"
run tool call writer --policy workspace --workspace ws --json-args '{"do": "write", "path": "/workspace/n", "text": "x"}'
expect_status 0
[[ $(cat ws/n) == x ]] || fail "not written"
run tool call exec --policy workspace --workspace ws --json-args '{"command": "touch ws/m"}'
expect_status 126
[[ ! -e ws/m ]] || fail "a command ran at level wasm"
run tool call probe --sender x:y
expect_status 125
expect_err "nacre: --sender needs --config"
run audit tail --json
expect_out_has '"tool":{"name":"writer.wasm"'
expect_out_has 'the policy read-only lets no tool write'

# The record tells one call from another, and the same call again.
digest_of() { # JSON
  run tool call probe --policy workspace --json-args "$1"
  run audit tail --json
  tail -1 "$scratch/out" | grep -o '"arguments_digest":"[0-9a-f]*"'
}
one=$(digest_of '{"do": "say", "text": "a"}')
other=$(digest_of '{"do": "say", "text": "b"}')
[[ $one && $one != "$other" ]] || fail "two calls have one digest"
[[ $one == "$(digest_of '{"do": "say", "text": "a"}')" ]] || fail "one call has two digests"
refused=$(digest_of '{"say": 1}')
[[ $refused != "$(digest_of '{"say": 2}')" ]] || fail "two refusals have one digest"

# A module runs at level wasm with the files of a policy whose commands run elsewhere.
for ready in shell build container; do
  run tool call probe --policy $ready --workspace ws --json \
    --json-args '{"do": "read", "path": "/workspace/f"}'
  expect_status 0
  expect_out_has '"level":"wasm"'
done

# What a module asks of the host is shown behind its answer; the walls are the same.
run "${call[@]}" '{"do": "read", "path": "/workspace/f"}' --trace
expect_status 0
expect_out content
expect_err_has "path=f"
expect_err_has "= SUCCESS, "
run "${call[@]}" '{"do": "read", "path": "/workspace/f"}' --trace --json
expect_json
expect_err_has '{"call":"path_open"'
expect_err_lacks content
run tool call exec --policy shell --json-args '{"command": "true"}' --trace
expect_status 125
expect_err "nacre: --trace shows a module's host calls, and exec has no module"
run tool list --trace
expect_status 125

# ---- with a configuration ----

config() { # ACCESS
  printf '{agents: {defaults: {workspace: "%s/ws", sandbox: {mode: "all",' "$PWD"
  printf ' workspaceAccess: "%s"}}},' "$1"
  printf ' tools: {sandbox: {tools: {allow: ["probe", "writer"]}}}}\n'
}
config rw >claw.json
configured=(tool call probe --config claw.json --json-args)
run "${configured[@]}" '{"do": "read", "path": "/workspace/f"}'
expect_status 0
expect_out content
run tool call exec --config claw.json --json-args '{"command": "id"}'
expect_status 126
expect_err_has "is denied"
run tool call probe --config claw.json --policy workspace
expect_status 125
config ro >claw.json
run tool call writer --config claw.json --json-args '{"do": "write", "path": "/workspace/o", "text": "x"}'
expect_status 126
expect_err_has "the workspace of this session is read-only"
[[ ! -e ws/o ]] || fail "written"
config none >claw.json
run "${configured[@]}" '{"do": "read", "path": "/workspace/f"}'
expect_status 1
expect_err "no such file"
run tool call writer --config claw.json --json-args '{"do": "write", "path": "/workspace/o", "text": "own"}'
expect_status 0
run "${configured[@]}" '{"do": "read", "path": "/workspace/o"}'
expect_out own
run "${configured[@]}" '{"do": "read", "path": "/workspace/o"}' --session other
expect_err "no such file"
run explain --config claw.json --tool probe
expect_status 0
expect_out_has "probe would run at level wasm: it is a module"

# ---- an intent is for these arguments, byte by byte ----

issue() { # NAME JSON
  run intent issue --tool "$1" --json-args "$2"
  expect_status 0
  token=$(cat "$scratch/out")
}
with_intent() { # NAME POLICY JSON
  run tool call "$1" --policy "$2" --intent "$token" --json-args "$3"
}
issue probe '{"do": "echo"}'
with_intent probe workspace '{"do": "echo", "text": "more"}'
expect_status 126
expect_err_has "the intent was issued for another call: the arguments are not the same"
with_intent writer workspace '{"do": "echo"}' # of the same bytes: the same module
expect_status 0
with_intent probe workspace '{"do": "echo"}'
expect_status 126
expect_err_has "the intent was used before"
run run --policy workspace --intent "$token" "$PROBE"
expect_status 126
issue exec '{"command": "echo hi"}'
with_intent exec shell '{"command": "echo hi", "environment": {"A": "b"}}'
expect_status 126
with_intent exec shell '{"command": "echo hi"}'
expect_status 0
expect_out hi
run intent issue --tool prode --json-args '{}'
expect_status 127
run intent issue --tool exec --json-args '{}'
expect_status 125
run intent issue --tool probe --json-args '{}' -- word
expect_status 125
expect_err "nacre: --json-args goes with --tool NAME and no other argument"
run intent issue --json-args '{}'
expect_status 125

# ---- an intent for what changes something, and for nothing else ----

put reader "nacre/access: read"
sed 's/^metadata:.*/&\n  annotations: {nacre\/require-intent: changes}/' \
  "$NACRE_POLICY_DIR/workspace.yaml" >changes.yaml
grep -q require-intent changes.yaml
careful=(--policy "$PWD/changes.yaml" --workspace "$PWD/ws")
run tool call reader "${careful[@]}" --json-args '{"do": "read", "path": "/workspace/f"}'
expect_status 0
expect_out content
run tool call reader "${careful[@]}" --json-args '{"do": "write", "path": "/workspace/careful", "text": "x"}'
[[ ! -e ws/careful ]] || fail "what says that it reads has written"
run tool call writer "${careful[@]}" --json-args '{"do": "write", "path": "/workspace/careful", "text": "x"}'
expect_status 126
expect_err_has "does not let this run without an intent"
[[ ! -e ws/careful ]] || fail "written without an intent"
issue writer '{"do": "write", "path": "/workspace/careful", "text": "x"}'
run tool call writer "${careful[@]}" --intent "$token" --json-args '{"do": "write", "path": "/workspace/careful", "text": "x"}'
expect_status 0
[[ -e ws/careful ]] || fail "not written with an intent"
run run "${careful[@]}" "$PROBE"
expect_status 126
expect_err_has "does not let this run without an intent"
place=$(grep -n require-intent changes.yaml | cut -d: -f1)
run explain --tool writer "${careful[@]}"
expect_out_has "it needs an intent"
expect_out_has "decided by metadata.annotations.nacre/require-intent at $PWD/changes.yaml:$place:"
run explain --tool reader "${careful[@]}" --json
expect_json
expect_out_has '"intent":{"required":false'
run explain --tool "$PROBE" "${careful[@]}"
expect_out_has "it needs an intent"

# ---- check and explain ----

run check "$NACRE_TOOL_DIR/probe"
expect_status 0
expect_out_has "ok: tool probe 1.2.3, command,"
run check "$NACRE_TOOL_DIR/writer"
expect_out_has "tool writer 1.2.3 (its module is not sealed by a digest)"
echo x >>"$NACRE_TOOL_DIR/probe/probe.wasm"
run "${call[@]}" '{"do": "echo"}'
expect_status 126
expect_err_has "nacre/digest is $digest, the module's is"
run check "$NACRE_TOOL_DIR/probe" --json
expect_json
expect_out_has '"ok":false'
rm "$NACRE_TOOL_DIR/probe/probe.wasm"
run check "$NACRE_TOOL_DIR/probe"
expect_status 127
run check "$scratch"
expect_status 127
expect_err_has "tool.yaml: no such file"

run explain --tool writer --policy shell
expect_status 0
expect_out_has "writer would run at level wasm: it is a module"
run explain --tool exec --policy shell
expect_out_has "exec would run at level process"
# Where no command runs, a tool that runs commands does not either.
run explain --tool exec --policy workspace
expect_out_has "exec would not run: 'exec' is denied: mode is deny; no native command runs at level wasm"
expect_out_has "change 'wasm' to 'process'"
run tool call exec --policy workspace --json-args '{"command": "true"}'
expect_status 126
sed 's/mode: restricted/mode: deny/' "$POLICIES/shell.yaml" >mute.yaml
run explain --tool process --policy mute.yaml --json
expect_json
expect_out_has '"runs":false'
expect_out_has "change 'deny' to 'restricted'"
run explain --tool exec
expect_out_has "exec would not run"
run explain --tool writer --policy read-only --json
expect_json
expect_out_has '"runs":false'
# Nor does one whose policy the run would refuse, or this machine can't keep.
sed 's,- path: /tmp,- path: relative,' "$POLICIES/workspace.yaml" >relative.yaml
run explain --tool writer --policy relative.yaml --json
expect_json
expect_out_has '"runs":false'
expect_out_has "--mount relative=DIR"
run explain --tool writer --policy relative.yaml --mount relative=ws
expect_out_has "writer would run at level wasm"
DOCKER_HOST=unix:///no/such/engine run explain --tool exec --policy container
expect_out_has "exec would not run: level container can't be had here"
mkdir writer # as nacre new makes it: a folder is no module, and the name is the tool's
run explain --tool writer --policy shell
expect_out_has "writer would run at level wasm: it is a module"
rmdir writer
run explain --tool prode
expect_status 127

# ---- a mount inside the workspace is part of the tree ----

deep=held$(printf '/d%.0s' {1..40})
mkdir -p ws/inner "$deep/z"
echo needle >held/first
for at in "$deep/z" "$deep" held; do echo needle >"$at/last"; done
for tool in find grep; do
  NACRE_TOOL_DIR=${TOOLS:?} run tool call "$tool" --policy workspace --workspace "$PWD/ws" \
    --mount /workspace/inner="$PWD/held" --json-args '{"pattern": "'"$([[ $tool == find ]] && echo last || echo needle)"'"}'
  expect_status 0
  expect_out_has "inner${deep#held}/z/last"
  expect_out_has "inner${deep#held}/last"
  expect_out_has "inner/last"
  expect_out_lacks "could not be read"
done

# ---- a patch is made true by one call of the host's, which no deadline divides ----

: "${TOOLS:?}"
printf 'a\n' >ws/pa
printf 'b\n' >ws/pb
printf 'c\n' >ws/pc
NACRE_TOOL_DIR=$TOOLS run tool call apply_patch --policy workspace --workspace "$PWD/ws" --trace \
  --json-args '{"patch": "*** Begin Patch\n*** Update File: pa\n@@\n-a\n+A\n*** Delete File: pb\n*** Update File: pc\n*** Move to: deep/pd\n@@\n-c\n+C\n*** End Patch\n"}'
expect_status 0
expect_err_has "rename_all(count=4, done=4)"
grep -q path_rename "$scratch/err" && fail "a file was renamed apart from the others"
[[ $(cat ws/pa ws/deep/pd) == $'A\nC' && ! -e ws/pb && ! -e ws/pc ]] || fail "the patch"

# ---- a tool that would run on and on ----

# A thousand edits at the end of a large file: more than its manifest grants, and no word
# of it is written.
awk 'BEGIN { for (i = 0; i < 600000; i++) print "int x" i " = 1;" }' >ws/large.c
awk 'BEGIN { printf "{\"path\": \"large.c\", \"edits\": ["
  for (i = 0; i < 1000; i++)
    printf "%s{\"old_text\": \"int x%d = 1;\", \"new_text\": \"y\"}", i ? ", " : "", 599999 - i
  print "]}" }' >args
before=$(sha256sum <ws/large.c)
NACRE_TOOL_DIR=$TOOLS run tool call edit --policy workspace --workspace ws --json --json-args @args
expect_status 1
expect_out_has '"outcome":"out-of-fuel"'
expect_out_has "edit used up its budget of instructions and was stopped; ask for less at once"
[[ $before == "$(sha256sum <ws/large.c)" ]] || fail "the file was changed"
[[ -z $(find ws -name '.nacre-*') ]] || fail "a file was left behind"

passed
