#!/usr/bin/env bash
# nacre secret: values in, never out; and the runs that may use them.
source "$(dirname "$0")/lib.sh"

value=correct-horse-battery-staple
state=$HOME/.local/state/nacre
keys=$HOME/.config/nacre/keys

# ---- the vault ----

run secret
expect_status 0
expect_out "no secrets; nacre secret set NAME stores one"
[[ ! -e $state/vault ]] || fail "a list made a vault"
printf '%s\n' "$value" >value.txt
input=value.txt
run secret set github --host api.github.com --grant policy:tested
expect_status 0
expect_out "stored github"
input=/dev/null
run secret set npm --file value.txt
expect_status 0
run secret list
expect_status 0
expect_out_has "github  version 1, changed 20"
expect_out_has "  hosts:   api.github.com"
expect_out_has "  granted: policy:tested"
expect_out_has "npm  version 1, changed 20"
expect_out_has "  hosts:   none: it can be sent nowhere"
expect_out_has "  granted: to nobody"
run secret list --json
expect_json
expect_out_has '{"name":"github","version":1,"changed":"20'
expect_out_has '"hosts":["api.github.com"],"grants":["policy:tested"]}'
expect_out_lacks "$value"

printf 12345 >short.txt
run secret set short --file short.txt
expect_status 0
expect_err_has "note: a value of less than 6 bytes is not looked for"
run secret rm short
printf 123456 >short.txt
run secret set short --file short.txt
expect_err ""
run secret rm short

run secret set "$value"
expect_status 125
expect_err_has "the value of $value is empty"
run secret set
expect_status 125
expect_err "nacre: secret set expects NAME"
run secret set a b
expect_status 125
run secret lst
expect_status 125
expect_err "nacre: secret does not know 'lst'; did you mean 'list'?"
run secret list --host x.example
expect_status 125
expect_err "nacre: secret list has no option --host"
run secret grant github
expect_status 125
run secret grant github --host 'http://x'
expect_status 125
expect_err_has "'http://x' is no host for a secret: "
run secret set other --file value.txt --grant everybody
expect_status 125
run secret rm other
expect_status 127
run secret grant github --to everybody
expect_status 125
run secret grant nobody --to any
expect_status 127
run secret rm nobody
expect_status 127
head -c 65537 /dev/zero >big
run secret set big --file big
expect_status 125
expect_err "nacre: a secret has at most 65536 bytes"
run secret set big --file no-such
expect_status 125

run secret grant npm --host '*.npmjs.org' --to agent:a --to tool:cat
expect_status 0
run secret grant npm --to tool:cat --replace --json
expect_status 0
expect_json
expect_out '{"action":"granted","name":"npm"}'
run secret list
expect_out_lacks agent:a
expect_out_lacks npmjs
run secret rotate
expect_status 0
expect_out "rotated"
run secret rm npm
expect_status 0
run secret list
expect_out_lacks npm

# Rolled back: refused by everything, until a person says that it was meant.
cp -p "$state/vault" older
run secret grant github --host github.com
expect_status 0
cp -p older "$state/vault"
run secret list
expect_status 125
expect_err_has "the vault was rolled back: it is of generation "
run secret accept
expect_status 0
run secret list
expect_status 0
expect_out_lacks ' github.com'
chmod 644 "$state/vault"
run secret list
expect_status 125
expect_err_has "vault is open to other users (mode 0644)"
chmod 600 "$state/vault"

# On a disk that can't be written to it is read; what fails names the place, and changed
# nothing.
if unshare -rm true 2>/dev/null; then
  # read_only DIR WORD...: nacre, with DIR so.
  read_only() {
    NACRE=$scratch/read-only run "$@"
  }
  cat >"$scratch/read-only" <<EOF
#!/bin/sh
exec unshare -rm sh -c 'mount --bind "\$0" "\$0" && mount -o remount,bind,ro "\$0" &&
  exec "$NACRE" "\$@"' "\$@"
EOF
  chmod +x "$scratch/read-only"
  for place in "$state" "$keys"; do
    read_only "$place" secret set new --file value.txt
    expect_status 125
    expect_err_has "nacre: $place: cannot "
    expect_err_has "Read-only file system"
    read_only "$place" secret list
    expect_status 0
    expect_out_has github
    expect_out_lacks new
    run secret list
    expect_out_lacks new
  done
  read_only "$state" secret token github --scope session:s
  expect_status 125
  expect_err_has "nacre: $state: cannot "
fi

# ---- runs ----

policy() { # INJECTION [LEVEL]
  cat >"tested-$1.yaml" <<EOF
claw: "0.3.0"
kind: Sandbox
metadata:
  name: tested
spec:
  level: ${2:-process}
  capabilities:
    shell:
      mode: restricted
    secrets:
      injection: $1
EOF
}
policy environment
policy host-boundary
policy file-mount

# Only its length, as the value itself is redacted.
run run --policy ./tested-environment.yaml --secret github=KEY -- sh -c 'echo ${#KEY}'
expect_status 0
expect_out "${#value}"
run run --policy ./tested-environment.yaml --secret github -- sh -c 'echo $GITHUB'
expect_status 0
expect_out_lacks "$value"
run run --policy ./tested-file-mount.yaml --secret github -- \
  sh -c 'wc -c </run/secrets/github; echo "${GITHUB-none}"'
expect_status 0
expect_out_has "${#value}"
expect_out_has none
run run --policy ./tested-host-boundary.yaml --secret github -- \
  sh -c 'ls /run/secrets 2>/dev/null; env'
expect_status 0
expect_out_lacks "$value"
expect_out_lacks GITHUB
run run --policy ./tested-environment.yaml --token github -- \
  sh -c 'case $GITHUB in nct_*) echo ${#GITHUB};; esac'
expect_status 0
expect_out 47

run run --policy ./tested-environment.yaml --secret nobody -- true
expect_status 127
expect_err "nacre: there is no secret nobody; nacre secret set nobody makes one"
sed -i 's/name: tested/name: other/' tested-environment.yaml
run run --policy ./tested-environment.yaml --secret github -- true
expect_status 126
expect_err_has "tested-environment.yaml:10:5: the secret github is not granted to this run: neither \
to its policy other, nor to its agent or its tool true"
expect_err_has "fix: nacre secret grant github --to 'policy:other'"
run run --json --policy ./tested-environment.yaml --token github -- true
expect_status 126
expect_json
expect_out_has '"code":"secret-denied"'
run explain --policy ./tested-environment.yaml --secret github --secret nobody
expect_status 0
expect_out_has "the secret github is not granted to this run"
expect_out_has "there is no secret nobody"
sed -i 's/name: other/name: tested/' tested-environment.yaml
run explain --policy ./tested-environment.yaml --secret github
expect_status 0
expect_out_has "github, by environment"
expect_out_lacks "refuse  request"
run run --policy ./tested-environment.yaml --secret github=PATH -- true
expect_status 126
expect_err_has "PATH is not passed to a native command"
run run --policy ./tested-environment.yaml --secret github=A --env A=b -- true
expect_status 125
expect_err_has "the variable A is given twice"
run run --policy shell --secret github -- true
expect_status 126
expect_err_has "the policy has no secrets section"
printf abc >short.txt
run secret set short --file short.txt --grant any
run run --policy ./tested-environment.yaml --secret short -- true
expect_status 0
expect_err_has "the secret short has fewer than 6 bytes"
run explain --policy ./tested-environment.yaml --secret short
expect_out_has "warning: under 6 bytes"

# ---- tokens ----

run secret token github --scope session:s --ttl-ms 60000
expect_status 0
token=$(cat "$scratch/out")
[[ $token =~ ^nct_[A-Za-z0-9_-]{43}$ ]] || fail "expected a token"
run secret tokens
expect_status 0
expect_out_has "github                   session:s                until 20"
run secret tokens --json
expect_json
expect_out_has '"secret":"github","scope":"session:s","issued":"20'
run secret revoke session:s
expect_out "1 token revoked"
run secret tokens
expect_out_lacks session:s
# By itself, too: it is what its holder has.  What ends nothing is told, without what was given.
run secret revoke "$token"
expect_status 127
expect_err "nacre: no token is called so: give the token itself, or its scope or id, as nacre secret tokens shows them"
run secret token github --scope session:s --ttl-ms 60000
token=$(cat "$scratch/out")
run secret token github --scope session:s --ttl-ms 60000
run secret revoke "$token"
expect_status 0
expect_out "1 token revoked"
id=$("$NACRE" secret tokens | grep session:s | cut -d' ' -f1)
run secret revoke "$id"
expect_out "1 token revoked"
run secret token github --scope run:x
expect_status 125
run secret token github --scope agent:a --ttl-ms 1
expect_status 0
sleep 0.1
run secret tokens
expect_out_lacks agent:a

# ---- nowhere ----

# A name that would be recorded is none.
for option in --session --agent; do
  run run --policy ./tested-environment.yaml --secret github "$option" "a-$value" -- true
  expect_status 126
  expect_err_has "request.${option#--}: it holds the value of the secret github"
  ! grep -qF "$value" "$scratch/err" || fail "a value in what is told"
done

# A command's is recorded without it.
run run --policy ./tested-environment.yaml --secret github -- "$value"
expect_status 127
expect_err_lacks "$value"
run audit tail --json -n 1
expect_out_has '"tool":{"name":"[redacted]"'

# A grant to a tool is to the name that an agent calls it by.
printf '%s' of-exec-alone >exec.txt
run secret set by_exec --file exec.txt --grant tool:exec
expect_status 0
run tool call exec --policy ./tested-environment.yaml --secret by_exec=MINE \
  --json-args '{"command": "printf %s ${#MINE}"}'
expect_status 0
expect_out_has 13
run exec --policy ./tested-environment.yaml --secret by_exec=MINE 'printf %s "${#MINE}"'
expect_status 126
expect_err_has "by_exec"
rm exec.txt

[[ $(grep -c '"secrets":\["github"\]' "$state/audit.jsonl") -ge 8 ]] ||
  fail "expected the names of secrets in the audit log"
run audit verify
expect_status 0
run run --policy ./tested-environment.yaml --secret github -- sh -c 'sleep 3' &
running=$!
found=
for _ in $(seq 50); do
  pids=$(pgrep -f 'tested-environment.yaml --secret github' || true)
  [[ $pids ]] && found=yes && break
  sleep 0.05
done
sleep 0.5
for pid in $pids; do
  ! grep -qaF "$value" "/proc/$pid/environ" "/proc/$pid/cmdline" 2>/dev/null ||
    fail "a value in the environment or the arguments of nacre itself"
done
[[ $found ]] || fail "expected to see the run"
ps -eo args >processes
! grep -qF "$value" processes || fail "a value in some process's arguments"
wait "$running"
rm value.txt
! grep -raqF "$value" "$HOME" || fail "a value in a file below HOME"
! grep -raqF "${token#nct_}" "$HOME" || fail "a token in a file below HOME"

# A vault's key from the environment, for CI.
rm -rf "$HOME/.local" "$HOME/.config"
NACRE_VAULT_KEY=$(printf '%064d' 7)
export NACRE_VAULT_KEY
run secret set ci --file short.txt
expect_status 0
! compgen -G "$keys/vault-*.key" >/dev/null || fail "expected no key file"
NACRE_VAULT_KEY=$(printf '%064d' 8)
run secret list
expect_status 125
expect_err_has "sealed with another key than that of \$NACRE_VAULT_KEY"

passed
