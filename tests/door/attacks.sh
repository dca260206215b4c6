#!/bin/bash
# attacks.sh DOOR_ASK PROGRAM [--inside]: the N and S cases of ATTACKS.md that a door must
# withstand, in the test network.  Each refusal counts when nothing arrived, and the same
# call passes where it is permitted.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
ask=$1 program=$2
failures=0

# A hostile environment for the host: none of it is the door's.
export http_proxy=http://10.9.9.9:8080 https_proxy=http://10.9.9.9:8080 \
    ALL_PROXY=http://10.9.9.9:8080 HTTPS_PROXY=http://10.9.9.9:8080 \
    SSL_CERT_FILE=/dev/null SSLKEYLOGFILE=$NACRE_NET_FILES/keys LOCALDOMAIN=example.com \
    HOSTALIASES=$NACRE_NET_FILES/aliases HOME=$NACRE_NET_FILES
echo 'machine api.example.com login netrc password netrc-password' >"$HOME/.netrc"
echo 'alias-of-host inside.example.com' >"$HOSTALIASES"

wrong() {
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
is() { [[ $2 == "$3" ]] || wrong "$@"; }
has() { [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

ask() { net_reset && said=$("$ask" "$program" "$@" 2>&1) || said="failed: $said"; }
code() { echo "${said%% *}"; }
kept() { awk -v kind="$1" '$1 == kind' <<<"$said"; }

# passes WHAT WORD…: the positive control; denied CODE WHAT WORD…: nothing arrived at all.
passes() {
    local what=$1
    shift
    ask "$@"
    is "$what" "$(code)" ok
}
denied() {
    local wanted=$1 what=$2
    shift 2
    ask "$@"
    has "$what" "$said" "$wanted"
    lacks "$what" "$(code)" ok
    is "$what: connections" "$(count_connections)" 0
}
allowed=(--allow api.example.com --allow '*.wild.example.com')

# ---- N01 to N06: spellings and answers that lead inside ----
passes "N01 control" --all --quiet GET http://93.184.216.34/
is "N01 control: arrived" "$(count_connections 93.184.216.34 80)" 1
for host in 2130706433 0x7f000001 0177.0.0.1 017700000001 127.1 127.0.1 0x7f.1 0 0.0.0.0 \
    127.0.0.1 '[::]' '[::1]' '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' '[::127.0.0.1]' \
    '[64:ff9b::7f00:1]' '[2002:7f00:1::]' '[2001:0:4136:e378:8000:63bf:3fff:fdd2]' \
    '[fe80::5efe:7f00:1]' 169.254.169.254 '[fd00:ec2::254]' 168.63.129.16 100.100.100.200 \
    10.0.0.5 172.16.0.1 192.168.1.1 100.64.0.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 \
    255.255.255.255 192.0.2.1 '[ff02::1]' '[2001:db8::1]' localhost localhost. \
    foo.localhost LOCALHOST '127。0。0。1' '①②⑦.0.0.1'; do
    denied "" "N01-06 $host" --all GET "http://$host/"
done
for name in inside loop loop6 zero metadata metadata6 azure mapped nat64 six-to-four teredo \
    alias-inside; do
    denied address- "answer $name" --all GET "http://$name.example.com/"
    denied address- "answer $name, private" --all GET "https://$name.example.com/"
done
passes "private by leave" --all --private --quiet GET http://inside.example.com/
for name in loop metadata metadata6 mapped zero; do
    denied address- "never, even by leave: $name" --all --private GET "http://$name.example.com/"
done

# ---- N07, N15, N16, N17, N21, N22, N25: names, rules, schemes, ports ----
for host in api.example.com API.Example.COM api.example.com.; do
    passes "N07 $host" "${allowed[@]}" --quiet GET "https://$host/"
    is "N07 Host" "$(count_events event=request header:host=api.example.com sni=api.example.com)" 1
done
passes "N16 control" --allow xn--bcher-kva.example.com --quiet GET https://bücher.example.com/
is "N16 one form" "$(count_events event=request host=xn--bcher-kva.example.com)" 1
passes "N17 below" "${allowed[@]}" --quiet GET https://a.b.wild.example.com/
denied host-not-allowed "N17 apex" "${allowed[@]}" GET https://wild.example.com/
denied host-not-allowed "N17 twin" "${allowed[@]}" GET https://evilwild.example.com/
is "N24 no query for it" "$(count_queries)" 0
denied host-denied "deny wins" --deny api.example.com "${allowed[@]}" GET https://api.example.com/
denied address-denied "a denied address denies names" --deny 93.184.216.34 --all GET http://four.example.com/
denied host-not-allowed "another's list" --allow other.example.org GET https://api.example.com/
is "N24 no query" "$(count_queries)" 0
for url in 'https://user@api.example.com/' 'https://u:p@api.example.com/' 'http:///x' \
    'https://api.example.com\@evil.example.org/' 'https://api.example.com#@other.example.org/' \
    'https://api.example.com%00.evil/' 'https://api.example.com%2eevil/' \
    'file:///etc/passwd' 'gopher://api.example.com/' 'ftp://api.example.com/' \
    'dict://api.example.com/' '//api.example.com/' 'api.example.com' 'https:api.example.com' \
    'https://api.example.com:0443/' 'https://api.example.com:/' 'https://' \
    $'https://api.exa\tmple.com/' $'https://api.example.com/\r\nX: y' 'https://аpi.example.com/'; do
    denied "" "N15 $url" "${allowed[@]}" GET "$url"
    is "N15 $url: queries" "$(count_queries)" 0
done
for port in 22 8080 8443; do
    denied port-not-allowed "N22 $port" "${allowed[@]}" GET "http://api.example.com:$port/"
done
passes "N22 control" --allow api.example.com:8080 --quiet GET http://api.example.com:8080/

# ---- N09, N10, N24: one lookup a hop, pinned ----
passes "N09 first" --all --quiet GET http://rebind.example.com/
is "N09 one question of each" "$(count_queries rebind.example.com A)$(count_queries rebind.example.com AAAA)" 11
denied address- "N09 rebound" --all GET http://rebind.example.com/
cp "$here/../net/dns.json" "$NACRE_NET_DNS"
for name in mixed mixed6; do
    denied address- "N10 $name" --all GET "http://$name.example.com/"
done
for name in broken silent empty nowhere forged; do
    denied "" "no answer: $name" --all --most ms=8000 GET "http://$name.example.com/"
done
passes "over TCP" --all --quiet GET http://big.example.com/
denied name-not-found "no alias, no search domain" --all GET http://alias-of-host/

# ---- N11, N13, N14: redirects ----
to() { echo "https://api.example.com/redirect?code=$1&to=$2"; }
hosts=(--allow api.example.com --allow other.example.org --allow inside.example.com)
for status in 301 302 303 307 308; do
    passes "N11 control $status" "${hosts[@]}" --quiet GET "$(to $status https://other.example.org/)"
    has "N11 hops" "$(kept record)" "200 hops 1"
    ask "${hosts[@]}" GET "$(to $status https://inside.example.com/)"
    has "N11 $status" "$said" address-private
    is "N11 $status arrived inside" "$(count_connections 10.0.0.5)" 0
    ask "${hosts[@]}" GET "$(to $status https://169.254.169.254/)"
    has "N11 $status by address" "$said" host-not-allowed
    ask "${hosts[@]}" GET "$(to $status http://other.example.org/)"
    has "N13 $status" "$said" https-to-http
    is "N13 $status arrived" "$(count_connections 151.101.1.69)$(count_connections 2a04:4e42::133)" 00
done
ask "${hosts[@]}" GET "$(to 302 file:///etc/passwd)"
is "N11 to a file" "$(code)" protocol
ask "${hosts[@]}" --most redirects=3 GET https://api.example.com/loop?n=4
is "N11 too many" "$(code)" too-many
passes "as many as may be" "${hosts[@]}" --most redirects=4 --quiet GET https://api.example.com/loop?n=4
passes "POST becomes GET" "${hosts[@]}" --quiet --body text POST "$(to 302 /echo)" 'Content-Type: text/plain'
is "its body is dropped" "$(count_events event=request path=/echo method=GET body=)" 1
is "and what tells of it" "$(count_events event=request path=/echo header:content-type=*)" 0
passes "POST stays POST" "${hosts[@]}" --quiet --body text POST "$(to 307 /echo)"
is "with its body" "$(count_events event=request path=/echo method=POST body=text)" 1

secret=(--secret 'KEY=value-of-the-key@api.example.com')
guest=('X-Api-Key: mine' 'Authorization: Bearer {{secret:KEY}}' 'X-Other: {{secret:KEY}}'
    'Cookie: mine' 'X-Plain: stays')
passes "N14" "${hosts[@]}" "${secret[@]}" --quiet GET "$(to 302 https://other.example.org/echo)" "${guest[@]}"
is "N14 first host" "$(count_events event=request host=api.example.com \
    'header:authorization=Bearer value-of-the-key' header:x-other=value-of-the-key)" 1
is "N14 second host" "$(count_events event=request host=other.example.org header:x-plain=stays)" 1
for name in authorization x-other x-api-key cookie; do
    is "N14 $name" "$(count_events event=request host=other.example.org "header:$name=*")" 0
done
passes "N14 same host" "${hosts[@]}" "${secret[@]}" --quiet GET "$(to 302 /echo)" "${guest[@]}"
is "N14 same host keeps it" "$(count_events event=request path=/echo \
    'header:authorization=Bearer value-of-the-key')" 1
# A server that leads where the guest wants, with what it was given.
for text in '{{secret:KEY}}' '%7B%7Bsecret:KEY%7D%7D' 'x%26y={{secret:KEY}}'; do
    ask "${hosts[@]}" "${secret[@]}" GET "$(to 302 "https://other.example.org/?k=$text")"
    is "N14 onward by the server: $text" "$(code)" leak
    is "N14 $text: the first host" "$(count_events event=request path=/redirect)" 1
    is "N14 $text: and no other" "$(count_events event=request host=other.example.org)" 0
done
passes "N14 onward at the same host" "${hosts[@]}" "${secret[@]}" --quiet GET \
    "$(to 302 '/echo?k={{secret:KEY}}')"

# ---- N18, N30: nothing of the host's, nothing remembered ----
passes N18 "${hosts[@]}" --quiet GET https://api.example.com/auth-required
has "N18 no netrc" "$said" "ok 401"
is "N18 no proxy" "$(count_connections 10.9.9.9)" 0
is "N18 no key log" "$(ls "$NACRE_NET_FILES" | grep -c keys)" 0
passes "N30 cookies" "${hosts[@]}" --quiet --times 2 GET https://api.example.com/set-cookie
is "N30 none comes back" "$(count_events event=request header:cookie=*)" 0
is "a connection is used again" "$(count_connections)" 1
passes "N30 another door" "${hosts[@]}" --quiet GET https://api.example.com/
is "N30 another connection" "$(count_connections)" 1

# ---- N08, N19: header smuggling ----
for raw in 'X: a\r\nInjected: b\n' 'X: a\rb\n' 'X : a\n' ': a\n' 'X\n' 'X: a\n folded\n' \
    'X: a\0b\n' 'X: no end' 'X(: a\n' '\n'; do
    denied bad-request "N08 $raw" "${hosts[@]}" --raw-header "$raw" GET https://api.example.com/
done
for method in CONNECT TRACE TRACK get 'GET /' $'GET\r' ''; do
    denied bad-request "method $method" "${hosts[@]}" "$method" https://api.example.com/
done
passes N19 "${hosts[@]}" --quiet --body 0123456789 POST https://api.example.com/echo \
    'Host: inside.example.com' 'Content-Length: 3' 'Transfer-Encoding: chunked' \
    'Connection: X-Plain' 'TE: trailers' 'Upgrade: h2c' 'Expect: 100-continue' \
    'Proxy-Authorization: x' 'Proxy-Connection: keep-alive' 'Keep-Alive: 1' 'X-Empty:'
is "N19 arrived" "$(count_events event=request host=api.example.com sni=api.example.com \
    header:content-length=10 body=0123456789 header:x-empty=)" 1
for name in transfer-encoding te upgrade expect proxy-authorization proxy-connection keep-alive; do
    is "N19 $name" "$(count_events event=request "header:$name=*")" 0
done

# ---- N26: limits ----
passes "large enough" "${hosts[@]}" --quiet GET 'https://api.example.com/huge?n=8000000'
has "all of it" "$said" "ok 200 8000000"
passes "HEAD of something large" "${hosts[@]}" --quiet HEAD 'https://api.example.com/huge?n=9000000'
for path in 'huge?n=9000000' 'gzip-bomb?n=300000000' 'deflate-bomb?n=300000000'; do
    ask "${hosts[@]}" --quiet GET "https://api.example.com/$path"
    is "N26 $path" "$(code)" too-large
done
passes "decoded" "${hosts[@]}" --quiet GET 'https://api.example.com/gzip-bomb?n=8000000'
has "decoded, all of it" "$said" "ok 200 8000000"
ask "${hosts[@]}" GET 'https://api.example.com/big-headers?n=262144'
is "N26 headers" "$(code)" too-large
for path in stall slow 'drip?n=1000&ms=100'; do
    begun=${EPOCHREALTIME/./}
    ask "${hosts[@]}" --most ms=700 GET "https://api.example.com/$path"
    is "N26 $path" "$(code)" timed-out
    is "N26 $path within its time" "$((${EPOCHREALTIME/./} - begun < 1500000))" 1
done
ask "${hosts[@]}" GET https://api.example.com/close-midway
is "half a body" "$(code)" protocol
denied too-large "a body too large" "${hosts[@]}" --most body=1000 --body-bytes 1001 POST https://api.example.com/
ask "${hosts[@]}" --quiet --most requests=2 --times 3 GET https://api.example.com/
is "requests of a run" "$(grep -c '^ok' <<<"$said") $(grep -c '^too-many' <<<"$said")" "2 1"
ask "${hosts[@]}" --quiet --most minute=3 --times 2 --twice GET https://api.example.com/
is "requests of a minute" "$(grep -c '^ok' <<<"$said") $(grep -c '^too-many' <<<"$said")" "3 1"
for name in untrusted expired misnamed; do
    ask --all GET "https://$name.example.com/"
    is "TLS: $name" "$(code)" tls
    is "TLS: $name: requests" "$(count_requests)" 0
done
raw() { echo "http://api.example.com/raw?base64=$(printf "$1" | base64 -w0)"; }
for answer in 'HTTP/0.9 what' 'nonsense' 'HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n' \
    'HTTP/1.1 200 OK\r\nNo colon\r\n\r\n' 'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n' \
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n' \
    'HTTP/1.1 200 OK\r\nContent-Encoding: unknown\r\n\r\nbody' \
    'HTTP/1.1 302 OK\r\nLocation: /a\r\nLocation: /b\r\n\r\n'; do
    ask "${hosts[@]}" GET "$(raw "$answer")"
    is "an answer that makes no sense: $answer" "$(code)" protocol
done

# ---- secrets: S07, S10, and where they go ----
passes "in the query" "${hosts[@]}" "${secret[@]}" --quiet GET 'https://api.example.com/echo?k={{secret:KEY}}&l=%7b%7Bsecret%3aKEY%7d%7D'
is "in the query: arrived" "$(count_events event=request 'target=/echo?k=value-of-the-key&l=value-of-the-key')" 1
passes "in basic" "${hosts[@]}" "${secret[@]}" --quiet GET https://api.example.com/ "Authorization: Basic $(printf 'user:{{secret:KEY}}' | base64)"
is "in basic: arrived" "$(count_events event=request "header:authorization=Basic $(printf 'user:value-of-the-key' | base64)")" 1
for echoed in 'reflect?header=X-Key' echo; do
    passes "S07 $echoed" "${hosts[@]}" "${secret[@]}" GET "https://api.example.com/$echoed" 'X-Key: {{secret:KEY}}'
    lacks "S07 $echoed" "$said" value-of-the-key
    has "S07 $echoed" "$said" '[redacted:KEY]'
done
told=$(raw 'HTTP/1.1 302 F\r\nLocation: gopher://x/value-of-the-key\r\nContent-Length: 0\r\n\r\n')
ask "${hosts[@]}" "${secret[@]}" GET "${told/http:/https:}"
is "S07 in a sentence" "$(code)" protocol
lacks "S07 in a sentence" "$said" value-of-the-key
told=$(raw 'HTTP/1.1 302 F\r\nLocation: https://value-of-the-key.example.org/\r\nContent-Length: 0\r\n\r\n')
ask "${hosts[@]}" "${secret[@]}" GET "${told/http:/https:}"
is "S07 in a denial" "$(code)" denied
has "S07 in a denial" "$said" '[redacted:KEY]'
lacks "S07 in a denial" "$said" value-of-the-key
denied secret-in-clear "over http" "${hosts[@]}" "${secret[@]}" GET http://api.example.com/ 'X-Key: {{secret:KEY}}'
denied secret-not-bound "another host" "${hosts[@]}" "${secret[@]}" GET https://other.example.org/ 'X-Key: {{secret:KEY}}'
denied secret-unknown "unknown" "${hosts[@]}" "${secret[@]}" GET https://api.example.com/ 'X-Key: {{secret:KEX}}'
denied secret-malformed "malformed" "${hosts[@]}" "${secret[@]}" GET https://api.example.com/ 'X-Key: {{secret:KEY'
denied secret-in-path "in the path" "${hosts[@]}" "${secret[@]}" GET 'https://api.example.com/{{secret:KEY}}'
denied secret-not-for-header "a line end in it" "${hosts[@]}" --secret $'KEY=value\nX: y@api.example.com' GET https://api.example.com/ 'X-Key: {{secret:KEY}}'
named=$(raw 'HTTP/1.1 302 F\r\nLocation: https://api.example.com/echo?k={{secret:KEY}}\r\nContent-Length: 0\r\n\r\n')
passes "a server names none" "${hosts[@]}" "${secret[@]}" --quiet GET "${named/http:/https:}"
is "a server names none: arrived" "$(count_events event=request 'target=/echo?k={{secret:KEY}}')" 1
token=nct_$(printf 'a%.0s' {1..43})
live=(--token "KEY=$token@60000")
passes "a token" "${hosts[@]}" "${secret[@]}" "${live[@]}" --quiet GET https://api.example.com/ "Authorization: Bearer $token"
is "a token: arrived" "$(count_events event=request 'header:authorization=Bearer value-of-the-key')" 1
denied token-expired "S10" "${hosts[@]}" "${secret[@]}" --token "KEY=$token@-1" GET https://api.example.com/ "Authorization: Bearer $token"
denied token-unknown "another's token" "${hosts[@]}" "${secret[@]}" "${live[@]}" GET https://api.example.com/ "Authorization: Bearer ${token%a}b"

# ---- the leak scan of what goes out ----
key=AKIA$(printf 'IOSFODNN7EXAMPL2')
for where in "GET https://api.example.com/?k=value-of-the-key" \
    "GET https://api.example.com/?k=%76alue-of-the-key" \
    "GET https://api.example.com/$key" \
    "GET https://api.example.com/?k=%41${key#A}"; do
    # shellcheck disable=SC2086 # a method and a URL
    denied leak "leak: $where" "${hosts[@]}" "${secret[@]}" --scan $where
    is "leak: no query" "$(count_queries)" 0
done
denied leak "leak in a header" "${hosts[@]}" "${secret[@]}" --scan GET https://api.example.com/ 'X: value-of-the-key'
denied leak "leak in basic" "${hosts[@]}" "${secret[@]}" --scan GET https://api.example.com/ "Authorization: Basic $(printf "u:$key" | base64)"
denied leak "leak in a body" "${hosts[@]}" "${secret[@]}" --scan --body "$(printf value-of-the-key | base64)" POST https://api.example.com/
has "leak is told" "$(kept leaks)" " leak"
denied leak "leak in a form" "${hosts[@]}" --scan --body "k=%41${key#A}" POST https://api.example.com/
passes "a form" "${hosts[@]}" --scan --quiet --body "k=%41b" POST https://api.example.com/
denied bad-request "encoded body" "${hosts[@]}" --scan --body x POST https://api.example.com/ 'Content-Encoding: gzip'
denied leak "leak in a name" --all "${secret[@]}" --scan GET https://value-of-the-key.example.com/
is "leak in a name: no query" "$(count_queries)" 0
ask "${hosts[@]}" --scan --quiet GET "https://api.example.com/a%20b" "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345"
is "a warning is sent and counted" "$(code) $(kept leaks)" "ok leaks 0 0 0 1"
passes "no leak" "${hosts[@]}" "${secret[@]}" --scan --quiet --body innocent POST https://api.example.com/ 'X-Key: {{secret:KEY}}'
ask "${hosts[@]}" "${secret[@]}" --scan GET "$(to 302 'https://other.example.org/?k=')value-of-the-key"
is "asked for as it is" "$(code)" leak
ask "${hosts[@]}" "${secret[@]}" --scan GET 'https://api.example.com/redirect?to=https://other.example.org/%3Fk={{secret:KEY}}'
is "a server that passes it on" "$(code)" leak
is "a server that passes it on: arrived" "$(count_requests other.example.org)" 0

((failures == 0)) || { echo "$failures failed"; exit 1; }
echo "the door withstands"
