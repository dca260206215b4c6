#!/usr/bin/env bash
# A person's word: asked for, given, refused, given in advance, and by SOUL.md.
source "$(dirname "$0")/lib.sh"

config=$HOME/.config/nacre
mkdir -p "$config" work
chmod 700 "$config"
echo text >work/a.txt
call=(tool call ls --policy "$POLICIES/workspace.yaml" --workspace "$PWD/work")
approve=(tool approve ls --policy "$POLICIES/workspace.yaml" --workspace "$PWD/work")

# The control: nobody has to be asked.
run "${call[@]}"
expect_status 0
expect_out_has a.txt
run approvals
expect_out "nothing waits for an answer"

printf 'approvals: {require: [ls], wait_ms: 200}\n' >"$config/host.yaml"
run "${call[@]}"
expect_status 126
expect_err_has "ls waits for a person's word: host.yaml marks it. See nacre approvals, then nacre approve "
expect_err_has "nobody answered request"
run approvals
expect_status 0
expect_out_has "waiting, for "
expect_out_has "tool       ls"
id=$(cut -d' ' -f1 "$scratch/out" | head -n 1)
run approvals --json
expect_json
expect_out_has '"reason":"operator"'
run approve "$id"
expect_status 0
run approve "$id"
expect_status 125
expect_err_has "has its answer already"
# Once: the same call goes through, and then it is asked about again.
run "${call[@]}"
expect_status 0
expect_out_has a.txt
run "${call[@]}"
expect_status 126
id=$("$NACRE" approvals | cut -d' ' -f1 | head -n 1)
run deny "$id"
expect_status 0
run "${call[@]}"
expect_status 126
expect_err_has "a person said no"
run approve 0123456789abcdef
expect_status 127
run approve ../../x
expect_status 125

# While it waits.
printf 'approvals: {require: [ls], wait_ms: 20000}\n' >"$config/host.yaml"
"$NACRE" "${call[@]}" >waited 2>waited.err &
waiter=$!
for _ in $(seq 200); do
  id=$("$NACRE" approvals | sed -n 's/^\([0-9a-f]\{16\}\)  waiting.*/\1/p' | head -n 1)
  [[ $id ]] && break
  sleep 0.05
done
run approve "$id"
expect_status 0
wait $waiter || fail "the call that waited left with $?: $(cat waited.err)"
grep -q a.txt waited || fail "it did not run"

# No longer than its caller gives it, however long the operator would wait.
printf 'approvals: {require: [ls, exec], wait_ms: 3000000}\n' >"$config/host.yaml"
for waits in "${call[*]} --timeout-ms 300" "exec --config clawpy:agent --timeout-ms 300 true"; do
  status=0
  timeout 120 "$NACRE" $waits >waited 2>waited.err || status=$?
  [[ $status == 126 ]] || fail "$waits: left with $status: $(cat waited.err)"
  grep -q "nobody answered request" waited.err || fail "$waits: $(cat waited.err)"
  run deny "$("$NACRE" approvals | sed -n 's/^\([0-9a-f]\{16\}\)  waiting.*/\1/p')"
  expect_status 0
  run $waits
  expect_err_has "a person said no"
done

# In advance: for exactly this call, once.
run "${approve[@]}"
expect_status 0
token=$(cat "$scratch/out")
printf 'approvals: {require: [ls], wait_ms: 200}\n' >"$config/host.yaml"
run "${call[@]}" --approval "$token" --json-args '{"all": true}'
expect_status 126
expect_err_has "the approval is for another call"
run "${call[@]}" --approval "$token"
expect_status 0
run "${call[@]}" --approval "$token"
expect_status 126
expect_err_has "was used before"

# For a sandbox is not for the host: the same command, elevated, is another call.
cat >c.json5 <<EOF2
{ agents: { defaults: { sandbox: { mode: "all", workspaceRoot: "$PWD/boxes" } } },
  tools: { elevated: { enabled: true, allowFrom: { phone: ["1"] } } } }
EOF2
elevated=(--sender phone:1 --elevated)
printf 'approvals: {require: [exec], wait_ms: 200}\n' >"$config/host.yaml"
run exec --config c.json5 --session s 'echo on the host'
expect_status 126
expect_err_has "host.yaml marks it"
inside=$(sed -n 's/.*nobody answered request \([0-9a-f]*\).*/\1/p' "$scratch/err")
run approvals
expect_out_has "runs       in a sandbox"
run approve "$inside"
expect_status 0
run exec --config c.json5 --session s "${elevated[@]}" 'echo on the host'
expect_status 126
expect_err_has "it would run outside its sandbox"
expect_out ""
outside=$(sed -n 's/.*nobody answered request \([0-9a-f]*\).*/\1/p' "$scratch/err")
run approvals --json
expect_out_has '"unsandboxed":true'
run approve "$outside"
expect_status 0
run exec --config c.json5 --session s "${elevated[@]}" 'echo on the host'
expect_status 0
expect_out "on the host"
run tool approve exec --config c.json5 --session s --json-args '{"command": "echo x"}'
expect_status 0
token=$(cat "$scratch/out")
run tool call exec --config c.json5 --session s "${elevated[@]}" --approval "$token" --json-args '{"command": "echo x"}'
expect_status 126
expect_err_has "the approval is for another call"
run tool approve exec --config c.json5 --session s "${elevated[@]}" --json-args '{"command": "echo x"}'
token=$(cat "$scratch/out")
run tool call exec --config c.json5 --session s "${elevated[@]}" --approval "$token" --json-args '{"command": "echo x"}'
expect_status 0

# A command of the operator's.
printf 'approvals: {require: [ls], command: [/bin/grep, -q, \047"tool":"ls"\047]}\n' \
  >"$config/host.yaml"
run "${call[@]}"
expect_status 0
printf 'approvals: {require: [ls], command: [/bin/false]}\n' >"$config/host.yaml"
run "${call[@]}"
expect_status 126
expect_err_has "the approver command said no"

# SOUL.md: nothing but what it names, and only as it was trusted.
printf 'approvals: {require: [ls], soul: %s/SOUL.md}\n' "$PWD" >"$config/host.yaml"
run "${call[@]}"
expect_status 126
expect_err_has "SOUL.md approves nothing"
printf '# Me\n```nacre-approve\ntool: ls\narguments: *\nexpires: 2099-01-01T00:00:00Z\n```\n' \
  >SOUL.md
chmod 600 SOUL.md
run "${call[@]}"
expect_status 126
expect_err_has "it is not the one that was trusted"
run approvals trust
expect_status 0
run "${call[@]}"
expect_status 0
echo changed >>SOUL.md
run "${call[@]}"
expect_status 126
run approvals trust
mv SOUL.md work/
printf 'approvals: {require: [ls], soul: %s/work/SOUL.md}\n' "$PWD" >"$config/host.yaml"
run approvals trust
run "${call[@]}"
expect_status 126
expect_err_has "it lies in a directory that a guest sees"

# What serves a browser asks as well as what starts it, and has the word from there: no
# engine is needed to be refused.
cat >browser.json5 <<JSON5
{ agents: { defaults: { workspace: "$PWD/agent", sandbox: {
  mode: "all", workspaceRoot: "$PWD/boxes", browser: { enabled: true } } } },
  tools: { sandbox: { tools: { allow: ["browser"], deny: [] } } } }
JSON5
export DOCKER_HOST=unix://$PWD/no-engine
printf 'approvals: {require: [browser], wait_ms: 200}\n' >"$config/host.yaml"
run browser serve --config browser.json5
expect_status 126
expect_err_has "browser waits for a person's word"
expect_err_has "nobody answered request"
printf 'approvals: {require: [browser], command: [/bin/sh, -c, "echo >>%s/asked"]}\n' \
  "$PWD" >"$config/host.yaml"
run browser start --config browser.json5
expect_status 126
expect_err_has "no Docker engine answers"
[[ $(wc -l <asked) == 1 ]] || fail "asked $(wc -l <asked) times"
"$NACRE" keeper --quit >/dev/null
unset DOCKER_HOST
# The host's own browser is not started, and asked about all the same.
sed -i 's/enabled: true/&, allowHostControl: true/' browser.json5
printf 'approvals: {require: [browser], wait_ms: 200}\n' >"$config/host.yaml"
run browser screenshot --config browser.json5 --target host http://a.example/ shot.png
expect_status 126
expect_err_has "nobody answered request"
run approvals
expect_out_has '"screenshot","http://127.0.0.1:9222","http://a.example/"'
rm "$config/host.yaml"
run browser url --config browser.json5 --target host
expect_status 0
expect_out http://127.0.0.1:9222

# A misspelt guard is told; nothing runs.
printf 'approvals: {requires: [ls]}\n' >"$config/host.yaml"
run "${call[@]}"
expect_status 125
expect_err_has "host.yaml:1:13: unknown key 'requires' in approvals; did you mean 'require'?"

# Who runs beneath nacre answers for nobody.
rm "$config/host.yaml"
cat >none.yaml <<'YAML'
claw: "0.3.0"
kind: Sandbox
metadata: {name: none}
spec: {level: none, capabilities: {shell: {mode: full}}}
YAML
run exec --policy none.yaml --unsandboxed "HOME=$HOME $NACRE approve 0123456789abcdef"
expect_err_has "a command that nacre runs can't answer for a person"
passed
