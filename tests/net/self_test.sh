#!/bin/bash
# self_test.sh [--inside]: the test network shows what it is there to show.  With ordinary
# clients: what they reach is what is written down.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${1:-} == --inside ]] || exec "$here/run" -- "$0" --inside
source "$here/lib.sh"
failures=0

is() { # WHAT GOT WANTED
    [[ $2 == "$3" ]] && return
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}

get() { curl -sS -m 10 --noproxy '*' "$@"; }

code() { # the status, or curl's own with a minus
    local text status=0
    text=$(get -o /dev/null -w '%{http_code}' "$@" 2>/dev/null) || status=$?
    ((status == 0)) && echo "$text" || echo "-$status"
}

body_bytes() { get "$@" 2>/dev/null | wc -c; }

resolve() { # NAME: all that getaddrinfo finds, sorted
    python3 -c '
import socket, sys
try:
    found = socket.getaddrinfo(sys.argv[1], 80, type=socket.SOCK_STREAM)
    print(*sorted({row[4][0] for row in found}))
except OSError as error:
    print("error")' "$1"
}

# Nothing but lo, and every address is on it.
is "links" "$(ip -o link | wc -l)" 1
for address in 93.184.216.34 8.8.8.8 10.1.2.3 127.0.0.1 169.254.169.254 \
    '[2606:2800:220:1:248:1893:25c8:1946]' '[fd00:ec2::254]' '[2a00:1450::1]' '[::1]'; do
    net_reset
    is "http://$address/" "$(code "http://$address/")" 200
    bare=${address#[}
    is "connections to $address" "$(count_connections "${bare%]}" 80)" 1
    is "connections in all" "$(count_connections)" 1
done

# Names by the script, and each question is counted.
net_reset
is api "$(resolve api.example.com)" "2606:2800:220:1:248:1893:25c8:1946 93.184.216.34"
is "queries for A" "$(count_queries api.example.com A)" 1
is "queries for AAAA" "$(count_queries api.example.com AAAA)" 1
is four "$(resolve four.example.com)" 93.184.216.34
is alias "$(resolve alias-inside.example.com)" 10.0.0.5
is big "$(resolve big.example.com)" 93.184.216.34
is "over TCP" "$(count_events event=query name=big.example.com over=tcp)" 2
for name in broken silent empty nowhere forged; do
    is "$name" "$(resolve $name.example.com)" error
done
is "rebinding, first" "$(resolve rebind.example.com)" 93.184.216.34
is "rebinding, second" "$(resolve rebind.example.com)" 127.0.0.1
echo '{"new.example.com": {"A": ["1.2.3.4"]}}' >"$NACRE_NET_DNS"
is "a changed script" "$(resolve new.example.com)" 1.2.3.4
is "its old names" "$(resolve api.example.com)" error
cp "$here/dns.json" "$NACRE_NET_DNS"
net_reset
python3 -c 'import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x" * 20, ("8.8.8.8", 53))'
sleep 0.2
is "a datagram to a stranger" "$(count_events event=datagram address=8.8.8.8 port=53)" 1

# TLS by the system's own certificates, which are ours here.
net_reset
is https "$(code https://api.example.com/)" 200
is sni "$(count_events event=tls sni=api.example.com)" 1
is "a request" "$(count_requests api.example.com /)" 1
is "another's request" "$(count_requests other.example.org)" 0
is "https by address" "$(code https://93.184.216.34/)" 200
for name in untrusted expired misnamed; do
    is "$name" "$(code https://$name.example.com/)" -60
done
is "requests to them" "$(count_requests untrusted.example.com)$(count_requests misnamed.example.com)" 00
is python "$(python3 -c '
import urllib.request
print(urllib.request.urlopen("https://api.example.com/status/200").status)')" 200

# Routes.
url=http://api.example.com
net_reset
is echo "$(get -H 'X-Mine: 1' -d body "$url/echo?q" | python3 -c '
import json, sys
told = json.load(sys.stdin)
print(told["method"], told["target"], told["headers"]["X-Mine"], told["body"])')" \
    "POST /echo?q 1 body"
is "a header, counted" "$(count_events event=request header:x-mine=1 body=body)" 1
is redirect "$(get -L "$url/redirect?to=http://other.example.org/&code=307")" \
    "nacre test server at 2a04:4e42::133"
is loop "$(code -L --max-redirs 3 "$url/loop?n=4")" -47
is "loop's end" "$(code -L "$url/loop?n=4")" 200
is status "$(code "$url/status/418")" 418
is slow "$(code -m 0.5 "$url/slow")" -28
is stall "$(code -m 0.5 "$url/stall")" -28
is drip "$(body_bytes -m 0.5 "$url/drip?n=1000&ms=20" | awk '{ print ($1 > 1 && $1 < 100) }')" 1
is huge "$(body_bytes "$url/huge?n=3000000")" 3000000
is chunked "$(body_bytes "$url/chunked?n=3")" 24
is "a bomb, packed" "$(body_bytes "$url/gzip-bomb?n=10000000" | awk '{ print ($1 < 20000) }')" 1
is "a bomb" "$(body_bytes --compressed "$url/gzip-bomb?n=10000000")" 10000000
is "another" "$(body_bytes --compressed "$url/deflate-bomb?n=10000000")" 10000000
is "headers" "$(get -D - -o /dev/null "$url/big-headers?n=100000" | wc -c |
    awk '{ print ($1 > 100000) }')" 1
is "half a body" "$(code "$url/close-midway")" -18
is cookie "$(get -D - "$url/set-cookie" | grep -c '^Set-Cookie: session=')" 1
is 401 "$(code "$url/auth-required")" 401
is "with a password" "$(code -u a:b "$url/auth-required")" 200
is reflect "$(get -H 'X-Key: k' "$url/reflect?header=X-Key")" k
is raw "$(get "$url/raw?base64=$(printf 'HTTP/1.1 200 OK\r\n\r\nraw' | base64 -w0)")" raw
mkdir "$NACRE_NET_FILES/dir" && echo content >"$NACRE_NET_FILES/dir/file"
is file "$(get "$url/files/dir/file")" content
is "no file" "$(code --path-as-is "$url/files/../log")" 404

((failures == 0)) || { echo "$failures failed"; exit 1; }
echo "the test network is what it says"
