#!/usr/bin/env bash
# nacre convert, and nacre check for configurations.
source "$(dirname "$0")/lib.sh"

cat >openclaw.json <<'EOF'
{
  agents: { defaults: { workspace: "/srv/agent", sandbox: {
    mode: "non-main",
    docker: { image: "node", memory: "1g", env: { MY_TOKEN: "hunter2" },
      binds: ["/srv/data:/data:rw"] },
  } } },
  tools: { sandbox: { tools: { allow: ["exec", "browser"], deny: [] } } },
}
EOF

run convert --to ckp openclaw.json --session chat
expect_status 0
expect_out_has "# From openclaw.json (openclaw): session chat of agent main."
expect_out_has "  level: container # openclaw.json:3"
expect_out_has "    memory_mb: 1024 # openclaw.json:4"
expect_out_has "        - path: /data # openclaw.json:5"
expect_err_has "nacre: openclaw.json:4:22: CKP can't say container.image: 'node'"
expect_err_has "nacre: openclaw.json:5:15: CKP can't say binds[0]: '/srv/data'"
expect_err_has "tools.sandbox.tools.allow"
expect_err_has "container.environment"
expect_err_lacks "hunter2"
expect_out_lacks "hunter2"
cp "$scratch/out" chat.yaml

# What was written is a policy, and means the same when it is explained.
run check chat.yaml
expect_status 0
expect_out_has "chat.yaml: ok: policy chat-"

# The main session of mode non-main has no sandbox.
run convert --to ckp openclaw.json
expect_status 0
expect_out_has "  level: none"

run convert --to ckp --json openclaw.json --session chat
expect_status 0
expect_json
expect_err ""
expect_out_has '{"dialect":"openclaw","session":"chat","agent":"main","sandboxed":true,"ckp":"# From'
expect_out_has '{"key":"container.image","place":"openclaw.json:4:22","line":4,"column":22,"text":"'"'node'"

run convert --to ckp clawpy:heartbeat
expect_status 0
expect_out_has "    memory_mb: 256"

# Refusals say why, and write nothing.
run convert openclaw.json
expect_status 125
expect_out ""
expect_err "nacre: convert expects --to ckp"
run convert --to yaml openclaw.json
expect_status 125
expect_err "nacre: --to expects ckp, not 'yaml'"
run convert --to ckp "$POLICIES/workspace.yaml"
expect_status 125
expect_out ""
expect_err_has "this is a CKP policy"
run convert --to ckp no-such.json
expect_status 127
sed 's/memory:/memroy:/' openclaw.json >bad.json
run convert --to ckp bad.json
expect_status 125
expect_out ""
expect_err_has "nacre: bad.json:4:30: "
expect_err_has "did you mean 'memory'?"

# ---- check ----

run check openclaw.json
expect_status 0
expect_out_has "openclaw.json: ok: configuration, dialect openclaw"
expect_out_has "openclaw.json:4:22: warning: the image 'node' has no tag"
expect_out_has "openclaw.json:4:61: warning: MY_TOKEN looks like a secret"
expect_out_has "openclaw.json:5:15: warning: '/srv/data' is outside the workspace"
expect_out_has "openclaw.json:7:48: warning: browser is allowed"
expect_out_has "openclaw.json: note: the scope is session"
expect_out_lacks "hunter2"
expect_err ""

run check --json openclaw.json bad.json
expect_status 125
expect_json
expect_out_has '{"path":"openclaw.json","kind":"configuration","ok":true,"dialect":"openclaw"'
expect_out_has '"line":4,"column":22,"unwise":true,"text":"the image'
expect_out_has '{"path":"bad.json","kind":"configuration","ok":false,"error":{"status":"parse"'

# Each dialect by its content, whatever it is called.
echo '{agent: {sandbox: {mode: "all"}}}' >one
printf 'sandbox:\n  enabled: true\n' >two
printf 'memory: 512m\nnetwork: none\n' >three
cp "$POLICIES/workspace.yaml" four.yaml
run check one two three clawpy:agent four.yaml
expect_status 0
expect_out_has "one: ok: configuration, dialect clawdis"
expect_out_has "two: ok: configuration, dialect config.yml"
expect_out_has "three: ok: configuration, dialect clawpy"
expect_out_has "clawpy:agent: ok: configuration, dialect clawpy"
expect_out_has "four.yaml: ok: policy workspace"

# A policy in flow style is no JSON5, and is still a policy.
echo '{claw: "0.3.0", kind: Sandbox, metadata: {name: flow}, spec: {level: wasm}}' >flow.yaml
run check flow.yaml
expect_status 0
expect_out_has "flow.yaml: ok: policy flow"

# What is neither.
echo '{agents: {defaults: }}' >broken.json
run check broken.json
expect_status 125
expect_err_has "broken.json:1:21: not valid JSON5: expected a value, found '}'"
echo '{zoo: 1}' >zoo.json
run check zoo.json
expect_status 125
expect_err_has "no dialect that is known"
echo 'zoo: 1' >zoo.yaml
run check zoo.yaml
expect_status 125
expect_err_has "zoo.yaml:1:1: unknown key 'zoo'"

[[ ! -e $HOME/.local/state/nacre/audit.jsonl ]] || fail "something left an audit record"
passed
