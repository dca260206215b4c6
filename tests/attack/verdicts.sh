#!/usr/bin/env bash
# What is said of a host before and after: explain's word is what a run meets, hosts that
# are denied are so under every name, and a refusal has its line.  As egress.sh otherwise.
source "$(dirname "$0")/egress_lib.sh"

N07_a_denied_host_by_every_name() {
  denied='API.example.com., *.Wild.example.com, 93.184.216.34:8080' both allow-all
  each_level stays_in http://api.example.com/ https://api.EXAMPLE.com/ \
    http://a.wild.example.com/ http://a.b.wild.example.com./ http://93.184.216.34:8080/
  is "queries" "$(count_queries)" 0
  each_level arrives http://other.example.org/
  # An address denies every name that leads to it, by itself or with others.
  denied=93.184.216.34 both allowlist '*.example.com' other.example.org
  each_level stays_in http://api.example.com/ http://alias.example.com/ \
    http://a.wild.example.com/ https://four.example.com/
  each_level arrives http://other.example.org/ http://six.example.com/
  denied='[2606:2800:220:1:248:1893:25c8:1946]' both allowlist '*.example.com'
  each_level stays_in http://api.example.com/ http://six.example.com/
  each_level arrives http://four.example.com/
  # A denied name below an allowed star, and what looks like it.
  denied='*.wild.example.com, six.example.com' both allowlist '*.example.com'
  each_level stays_in http://a.wild.example.com/ http://a.b.wild.example.com/ \
    http://six.example.com/
  each_level arrives http://wild.example.com/ http://four.example.com/
  # A redirect to one.
  denied=other.example.org both allow-all
  ask wasm 'http://api.example.com/redirect?to=http://other.example.org/x' \
    $(by_module wasm || echo -L)
  [[ $status != 0 ]] || fail "redirected to a denied host"
  is "requests at the denied end" "$(count_requests other.example.org)" 0
}

# foretold LEVEL HOST|URL...: what explain says of each is what happens to it; a host alone
# is called as http.
foretold() {
  local level=$1 asked url word
  shift
  for asked in "$@"; do
    url=$asked
    [[ $url == *://* ]] || url=http://$url/
    run explain --policy "$level.yaml" "${options[@]}" --host "$asked"
    expect_status 0
    word=$(head -n 1 "$scratch/out" | cut -d' ' -f1)
    said+="$word "
    ask "$level" "$url"
    if [[ $word == allowed ]]; then
      is "$asked at $level, allowed by explain: requests" "$(count_requests)" 1
    else
      is "$asked at $level, denied by explain: its word" "$word" denied
      is "$asked at $level, denied by explain: connections" "$(count_connections)" 0
      [[ $status != 0 ]] || fail "$asked at $level, denied by explain: it was let out"
    fi
  done
}

# says LEVEL WORDS URL...: and these are the words.
says() {
  local level=$1 words=$2
  shift 2
  [[ $level != wasm ]] || asks_modules || return 0 # what is called is seen inside of TLS
  said=
  foretold "$level" "$@"
  is "the words for $* at $level" "$said" "$words "
}

N35_explain_says_beforehand_what_happens() {
  local level
  both allowlist api.example.com '*.wild.example.com' other.example.org:8080 10.0.0.5
  for level in "${levels[@]}"; do
    foretold "$level" api.example.com a.wild.example.com wild.example.com \
      other.example.org other.example.org:8080 api.example.com:8080 10.0.0.5 127.0.0.1 \
      six.example.com https://api.example.com/x https://a.wild.example.com/ \
      https://wild.example.com/ http://other.example.org/ http://other.example.org:8080/
  done
  # Where only the address tells, it says so.
  run explain --policy wasm.yaml --host api.example.com
  expect_out_has "each address it leads to is judged then"
  run explain --policy wasm.yaml --host 10.0.0.5
  expect_out_lacks "is judged then"
}

N35_of_one_port_and_of_all() {
  local level
  local http=http://api.example.com/ https=https://api.example.com/
  both allowlist api.example.com:443
  for level in "${levels[@]}"; do says "$level" "denied allowed" "$http" "$https"; done
  # Of a name alone both are told.
  run explain --policy native.yaml --host api.example.com
  expect_out_has "this is of port 443, http (port 80) is denied"
  both allowlist api.example.com:80
  for level in "${levels[@]}"; do says "$level" "allowed denied" "$http" "$https"; done
  run explain --policy native.yaml --host api.example.com
  expect_out_has "this is of port 443, http (port 80) is allowed"
  run explain --policy native.yaml --host api.example.com:443
  expect_out_lacks "port 80) is"
  both allow-all
  for level in "${levels[@]}"; do
    says "$level" "allowed allowed allowed denied denied denied denied" "$http" "$https" \
      http://93.184.216.34/ http://api.example.com:22/ http://10.0.0.5/ \
      https://127.0.0.1/ http://localhost/
  done
  # Of an address a client's hello has no name.
  says native denied https://93.184.216.34/
}

N35_where_the_scan_looks_into_what_is_sent() {
  local http=http://api.example.com/ https=https://api.example.com/
  local secrets='leak_detection: {enabled: true}'
  both allowlist api.example.com
  says wasm "allowed allowed" "$http" "$https"
  says native "allowed denied allowed" "$http" "$https" api.example.com
  is "by TLS" "$(count_events event=request tls=true)" 1
  run explain --policy native.yaml --host "$https"
  expect_out_has "call http://api.example.com/ instead"
  expect_out_has "(native.yaml:11:"
  options=(--intercept api.example.com)
  says native "allowed allowed" "$http" "$https"
  options=(--waive tunnel-scan)
  says native "allowed allowed" "$http" "$https"
  options=()
  both allowlist api.example.com:443
  says wasm "denied allowed" "$http" "$https"
  says native "allowed denied" "$http" "$https"
  both allowlist api.example.com:80
  says native "allowed denied" "$http" "$https"
  both allow-all
  says wasm "allowed allowed" "$http" "$https"
  says native "allowed denied denied" "$http" "$https" https://93.184.216.34/
}

N35_where_a_token_is_held() {
  local http=http://api.example.com/ https=https://api.example.com/
  secrets='injection: host-boundary' both allowlist api.example.com
  printf 'value-of-the-key' >value
  run secret set KEY --file value --host api.example.com --grant any
  expect_status 0
  says native "allowed allowed" "$http" "$https"
  options=(--secret KEY)
  says native "allowed denied" "$http" "$https"
  run secret token KEY --scope session:s1
  expect_status 0
  run secret token KEY --scope agent:a1
  expect_status 0
  options=(--session s1)
  says native "allowed denied" "$http" "$https"
  options=(--agent a1)
  says native "allowed denied" "$http" "$https"
  options=(--session s2 --agent a2)
  says native "allowed allowed" "$http" "$https"
  options=(--session s1)
  says wasm "allowed allowed" "$http" "$https"
  options=()
}

# What is refused as a whole reaches nothing, whatever its list of hosts says.
N35_where_nothing_runs() {
  local level url=http://api.example.com/
  ssrf='dns_pinning: false' both allowlist api.example.com
  for level in "${levels[@]}"; do says "$level" denied "$url"; done
  run explain --policy native.yaml --host "$url"
  expect_out_has "nothing runs: dns_pinning: false with mode allowlist"
  expect_out_has "ssrf_protection.dns_pinning (native.yaml:11:"
  expect_out_has "flip  set it to true"
  secrets='injection: host-boundary' both allowlist api.example.com
  options=(--waive nonsense)
  says native denied "$url"
  options=()
  # Granted to no policy or agent; to which tool is not asked.
  printf 'value-of-the-key' >value
  run secret set LONELY --file value --host api.example.com
  expect_status 0
  run explain --policy native.yaml --secret LONELY --host "$url"
  expect_out_has "; but the secret LONELY is not granted to this run"
}

# denial KEY...: of the run's first denial.
denial() {
  python3 -c '
import json, sys
first = json.load(sys.stdin)["denials"][0]
print(*(first[key] for key in sys.argv[1:]), sep="|")' "$@" <"$scratch/out"
}

N36_a_refused_address_has_its_line() {
  local level
  for level in "${levels[@]}"; do
    ssrf='block_private_ips: true' denied=93.184.216.34 \
      network "$level" "$level.yaml" allowlist '*.example.com'
    options=(--json)
    ask "$level" http://inside.example.com/
    is "private" "$(denial code line fix)" \
      "address-private|11|$level.yaml:11:44: change 'true' to 'false'"
    ask "$level" http://four.example.com/
    is "denied" "$(denial code line fix)" \
      "address-denied|3|remove the entry from denied_hosts (line 3)"
    ask "$level" http://loop.example.com/
    is "never" "$(denial code line fix)" "address-never|0|no change opens it"
    network "$level" "$level.yaml" allowlist inside.example.com:8080
    ask "$level" http://inside.example.com:8080/
    is "by default" "$(denial code line fix)" "address-private|0|add under \
spec.capabilities.network.ssrf_protection: block_private_ips: false"
    options=()
  done
}

cases
