#!/bin/bash
# native.sh DOOR_NATIVE PROGRAM [--inside]: real clients of native levels and a real door, in
# the test network.  Each refusal counts when nothing arrived, and the same call passes
# where it is permitted.  The clients are .ci/setup's to install.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
native=$1 program=$2
failures=0
export DOOR_KEPT=$NACRE_NET_FILES/../kept HOME=$NACRE_NET_FILES/..
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_NOSYSTEM=1

wrong() {
    echo "$1: got '$2', wanted '$3'"
    failures=$((failures + 1))
}
is() { [[ $2 == "$3" ]] || wrong "$@"; }
has() { [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

# through WORD… -- COMMAND…: what it said is in $said, its status in $status.
through() {
    net_reset
    status=0
    said=$("$native" "$program" "$@" 2>&1) || status=$?
}
passes() { # WHAT WORD…
    local what=$1
    shift
    through "$@"
    is "$what" "$status" 0
}
# refused CODE WHAT WORD…: nothing arrived at all, and the door says why.
refused() {
    local code=$1 what=$2
    shift 2
    through "$@"
    [[ $status != 0 ]] || wrong "$what" "$said" "a failure"
    has "$what: kept" "$(<"$DOOR_KEPT")" "$code"
    is "$what: requests" "$(count_requests)" 0
    is "$what: handshakes" "$(count_events event=tls)$(count_events event=tls-error sni=*)" 00
}
ways=(--tunnel api.example.com --upgrade other.example.org --intercept four.example.com)
direct=(env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy)
curl=(curl -sS --fail-with-body --max-time 10)

# ---- each client, each way, by the proxy and by names ----
fetch_curl='curl -sSf --max-time 10 "$0"'
# Built with GnuTLS it heeds none of the variables.
fetch_wget='wget -q -T 10 -O - --ca-certificate="$SSL_CERT_FILE" "$0"'
fetch_python='python3 -c "import sys, urllib.request as u
sys.stdout.buffer.write(u.urlopen(sys.argv[1], timeout=10).read())" "$0"'
fetch_node='node -e "fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t),
    e => { console.error(e, e.cause); process.exit(1) })" "$0"'
for client in curl wget python3 node; do
    fetch=fetch_${client%3}
    for outside in "" direct; do
        in=()
        [[ ! $outside ]] || in=("${direct[@]}")
        for url in http://api.example.com/echo https://api.example.com/echo \
            http://other.example.org/echo https://four.example.com/echo; do
            passes "$client $outside $url" "${ways[@]}" -- "${in[@]}" bash -c "${!fetch}" "$url"
            has "$client $outside $url: answer" "$said" '"target": "/echo"'
            is "$client $outside $url: arrived" "$(count_requests "" /echo)" 1
        done
        is "$client $outside: in TLS" "$(count_events event=request tls=true)" 1
        refused call-http "$client $outside upgrade by https" "${ways[@]}" -- "${in[@]}" \
            bash -c "${!fetch}" https://other.example.org/
    done
    for url in http://six.example.com/ https://six.example.com/; do
        code=host-not-allowed
        [[ $client != node ]] || code="seen 0" # it takes no proxy, and there is no such name
        refused "$code" "$client $url" "${ways[@]}" -- bash -c "${!fetch}" "$url"
    done
done

# ---- git: a repository by its files ----
git init -q -b main "$HOME/work"
git -C "$HOME/work" -c user.name=n -c user.email=e commit -q --allow-empty -m "a commit"
git clone -q --bare "$HOME/work" "$NACRE_NET_FILES/repo.git"
git -C "$NACRE_NET_FILES/repo.git" update-server-info
n=0
for url in http://api.example.com https://api.example.com http://other.example.org \
    https://four.example.com; do
    passes "git $url" "${ways[@]}" -- git clone -q "$url/files/repo.git" "$HOME/c$((n++))"
done
passes "git insteadOf" "${ways[@]}" -- git \
    -c url.http://other.example.org/.insteadOf=https://other.example.org/ \
    clone -q https://other.example.org/files/repo.git "$HOME/instead"
is "git: the commit" "$(git -C "$HOME/instead" log --format=%s)" "a commit"
is "git: by TLS" "$(count_events event=request tls=false)" 0

# ---- who fetches packages: apt, and npm where it is ----
printf 'Package: nothing\nVersion: 1.2.3\nArchitecture: all\nFilename: nothing.deb\nSize: 1\n%s\n' \
    "SHA256: $(printf x | sha256sum | cut -d' ' -f1)" >"$NACRE_NET_FILES/Packages"
echo 'deb [trusted=yes] http://other.example.org/files/ ./' >"$HOME/sources.list"
mkdir -p "$HOME/apt/lists/partial" "$HOME/apt/cache/archives/partial" "$HOME/apt/etc"
: >"$HOME/apt/status"
apt=(-o "Dir::Etc=$HOME/apt/etc" -o "Dir::Etc::sourcelist=$HOME/sources.list" \
    -o "Dir::State=$HOME/apt" -o "Dir::State::status=$HOME/apt/status" \
    -o "Dir::Cache=$HOME/apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=0)
passes "apt" "${ways[@]}" -- apt-get "${apt[@]}" -q update
has "apt: what it found" "$(apt-cache "${apt[@]}" policy nothing)" "Candidate: 1.2.3"
is "apt: in the clear" "$(count_events event=request tls=false)" 0
if command -v npm >/dev/null; then
    echo '{"name": "nothing", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3":
        {"name": "nothing", "version": "1.2.3"}}}' >"$NACRE_NET_FILES/nothing"
    passes "npm" "${ways[@]}" -- npm view nothing version --cache "$HOME/npm" \
        --registry http://other.example.org/files/
    has "npm: what it found" "$said" 1.2.3
    is "npm: in the clear" "$(count_events event=request tls=false)" 0
fi

# ---- what a model is told ----
through "${ways[@]}" -- "${curl[@]}" -i http://six.example.com/
has "told" "$said" "HTTP/1.1 403 host-not-allowed"
has "told" "$said" "X-Nacre-Denied: host-not-allowed"
has "told what else" "$said" "allowed: api.example.com"
through "${ways[@]}" -- python3 -c 'import urllib.request as u
u.urlopen("https://other.example.org/", timeout=10)'
has "told in the first line" "$said" "call http://other.example.org/ instead"

# ---- redirects of an upgraded host come back through the door ----
passes "upgrade -L" "${ways[@]}" -- "${curl[@]}" -L \
    'http://other.example.org/redirect?to=https://other.example.org/echo'
has "upgrade -L: answer" "$said" '"tls": true'
refused call-http "a redirect to it from elsewhere" --upgrade other.example.org \
    -- "${curl[@]}" https://other.example.org/echo
through "${ways[@]}" -- "${curl[@]}" -L 'http://api.example.com/redirect?to=http://inside.example.com/'
is "a redirect inside" "$(count_requests inside.example.com)" 0
has "a redirect inside: kept" "$(<"$DOOR_KEPT")" "denial host-not-allowed inside.example.com"

# ---- where a tunnel may not lead, whatever its name is allowed to be ----
for name in inside loop loop6 zero metadata metadata6 azure mapped nat64 six-to-four teredo \
    mixed mixed6 alias-inside; do
    host=$name.example.com
    for in in "" direct; do
        prefix=()
        [[ ! $in ]] || prefix=("${direct[@]}")
        refused "denial address-" "tunnel $in to $host" --tunnel "$host" -- "${prefix[@]}" \
            "${curl[@]}" "https://$host/"
        is "tunnel $in to $host: connections" "$(count_connections)" 0
    done
done
for name in empty broken absent; do
    refused "$name.example.com:443 not-sent" "tunnel to $name" --tunnel "$name.example.com" -- \
        "${curl[@]}" "https://$name.example.com/"
done
passes "rebinding" --tunnel rebind.example.com -- "${curl[@]}" -k https://rebind.example.com/
is "rebinding: one query" "$(count_queries rebind.example.com A)" 1
is "rebinding: loopback" "$(count_connections 127.0.0.1)" 0
refused port-not-allowed "another port" "${ways[@]}" -- "${curl[@]}" https://api.example.com:8443/
passes "that port" --tunnel api.example.com:8443 -- "${curl[@]}" https://api.example.com:8443/

# ---- hellos that do not say whom they want ----
client=(openssl s_client -brief -proxy 127.0.0.1:3128 -connect api.example.com:443)
passes "s_client" "${ways[@]}" -- "${client[@]}" -servername api.example.com
refused name-mismatch "another server name" "${ways[@]}" -- "${client[@]}" \
    -servername other.example.org
refused no-server-name "no server name" "${ways[@]}" -- "${client[@]}" -noservername
refused not-tls "plain HTTP in a tunnel" "${ways[@]}" -- "${curl[@]}" -p \
    --connect-to api.example.com:80:api.example.com:443 http://api.example.com/
client=(openssl s_client -brief -connect 127.0.1.1:443)
passes "s_client by name" "${ways[@]}" -- "${client[@]}" -servername api.example.com
refused host-not-allowed "a name that is not allowed" "${ways[@]}" -- "${client[@]}" \
    -servername six.example.com
refused no-server-name "no name at all" "${ways[@]}" -- "${client[@]}" -noservername

# ---- requests that two readers would read differently ----
# said_by TEXT: to the proxy, as it is.
raw='import socket, sys
s = socket.create_connection(("127.0.0.1", 3128), 5)
s.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin-1"))
s.shutdown(1)
answer = b"".join(iter(lambda: s.recv(4096), b""))
print(answer.decode())
sys.exit(answer.startswith(b"HTTP/1.1 200") == False)'
line='GET http://api.example.com/ HTTP/1.1\r\n'
host='Host: api.example.com\r\n'
passes "raw" "${ways[@]}" -- python3 -c "$raw" "$line$host\\r\\n"
for text in "$line$host"'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
    "$line"'Host: six.example.com\r\n\r\n' "$line$host$host"'\r\n' \
    "$line$host"'X: a\r\n b\r\n\r\n' "$line$host"'X: a\nb: c\r\n\r\n' \
    "$line$host"'Transfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\n\r\n' \
    'GET http://api.example.com@six.example.com/ HTTP/1.1\r\n'"$host"'\r\n' \
    'GET / HTTP/1.1\r\n'"$host"'\r\n'; do
    refused bad-request "$text" "${ways[@]}" -- python3 -c "$raw" "$text$line$host\\r\\n"
done

# ---- a secret that the tool never holds ----
secret=(--secret KEY=value-of-the-key@other.example.org)
for name in upgrade intercept; do
    scheme=http
    [[ $name == upgrade ]] || scheme=https
    passes "secret by $name" "--$name" other.example.org "${secret[@]}" --scan -- \
        "${curl[@]}" --compressed -H 'Authorization: Bearer {{secret:KEY}}' \
        "$scheme://other.example.org/reflect"
    is "secret by $name: arrived" \
        "$(count_events event=request 'header:authorization=Bearer value-of-the-key')" 1
    lacks "secret by $name: scrubbed" "$said" value-of-the-key
    has "secret by $name: scrubbed" "$said" "[redacted:KEY]"
    refused leak "leak by $name" "--$name" other.example.org "${secret[@]}" --scan -- \
        "${curl[@]}" -d value-of-the-key "$scheme://other.example.org/"
    for text in value-of-the-key harmless; do
        printf %s "$text" | gzip >"$HOME/$text.gz"
    done
    refused leak "compressed leak by $name" "--$name" other.example.org "${secret[@]}" --scan \
        -- "${curl[@]}" -H 'Content-Encoding: gzip' --data-binary "@$HOME/value-of-the-key.gz" \
        "$scheme://other.example.org/"
    passes "compressed by $name" "--$name" other.example.org "${secret[@]}" --scan \
        -- "${curl[@]}" -H 'Content-Encoding: gzip' --data-binary "@$HOME/harmless.gz" \
        "$scheme://other.example.org/"
    is "compressed by $name: arrived" "$(count_events event=request body=harmless)" 1
done

# ---- sizes ----
for url in http://api.example.com https://api.example.com http://other.example.org \
    https://four.example.com; do
    passes "huge $url" "${ways[@]}" -- bash -c "curl -sSf $url/huge?n=20000000 | wc -c"
    is "huge $url: bytes" "$said" 20000000
    passes "chunked $url" "${ways[@]}" -- "${curl[@]}" -o /dev/null "$url/chunked"
    through "${ways[@]}" -- "${curl[@]}" -o /dev/null "$url/close-midway"
    [[ $status != 0 ]] || wrong "cut off $url" "a success" "a failure"
    passes "body $url" "${ways[@]}" -- bash -c \
        "head -c 3000000 /dev/zero | curl -sSf -T - $url/echo | wc -c"
    is "body $url: bytes" "$(count_events event=request body_bytes=3000000)" 1
done

# ---- many at once, of which none waits for another ----
ulimit -n 4096
passes "500 at once" "${ways[@]}" --ms 120000 -- python3 "$here/many.py" 500
has "500 requests at once" "$said" "by_proxy 500 500"
has "500 tunnels at once" "$said" "by_tunnel 500 500"
is "500 at once: arrived" "$(count_requests api.example.com)" 1000
passes "more than may be at once wait" "${ways[@]}" --connections 20 -- bash -c \
    'for i in {1..60}; do
        curl -sSf --max-time 20 http://api.example.com/slow?ms=100 & all+=($!)
    done
    for one in "${all[@]}"; do wait "$one" || exit 1; done'
is "more than may be at once: arrived" "$(count_requests api.example.com)" 60

# ---- the run's end ----
SECONDS=0
through "${ways[@]}" --ms 1000 -- "${curl[@]}" http://api.example.com/stall
[[ $status != 0 && $SECONDS -lt 5 ]] || wrong "the run's end" "$status, $SECONDS s" "a failure"
through "${ways[@]}" --ms 1000 -- "${curl[@]}" https://api.example.com/stall
[[ $status != 0 && $SECONDS -lt 8 ]] || wrong "a tunnel's end" "$status, $SECONDS s" "a failure"

((failures == 0)) || { echo "$failures failed"; exit 1; }
echo "the door lets native tools out, and no further"
