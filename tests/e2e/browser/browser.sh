#!/usr/bin/env bash
# A browser in a sandbox, in the test network: real Chromium, driven by playwright through
# a URL that opens one connection; judged by what arrived.  Needs an engine with the
# browser's image at $NACRE_TEST_DOCKER, node and $PLAYWRIGHT (./fetch brings it).
here=$(cd "$(dirname "$0")" && pwd)
if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
if ! command -v node >/dev/null || [[ ! -r $PLAYWRIGHT/index.js ]]; then
  echo "no playwright-core: run tests/e2e/browser/fetch"
  exit 77
fi
[[ ${NACRE_NET_LOG:-} ]] || exec "$here/../../net/run" -- "$0"
source "$here/../cli/lib.sh"
source "$here/../../net/lib.sh"
export DOCKER_HOST=$NACRE_TEST_DOCKER
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
prefix=bt$$-
chmod 755 "$scratch" "$scratch/work"

# config FILE BROWSER [TOOLS]: its members.
allowed='tools: { sandbox: { tools: { allow: ["browser"], deny: [] } } }'
config() {
  cat >"$1" <<EOF2
{ agents: { defaults: { workspace: "$scratch/agent", sandbox: {
  mode: "all", workspaceRoot: "$scratch/boxes", docker: { image: "nacre-test-busybox" },
  browser: { containerPrefix: "$prefix", autoStartTimeoutMs: 90000, $2 } } } },
  ${3-$allowed} }
EOF2
}
config on.json5 'enabled: true, network: "bridge", headless: true'

engine() { # PATH
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" \
    "http://engine$1"
}
boxes() { engine '/containers/json?all=1' | grep -o "\"/$prefix[^\"]*" || true; }
is() { # WHAT IS WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$1: expected '$3', not '$2'"
}
eventually_gone() {
  local left
  for ((left = 400; left > 0; left--)); do
    [[ $(boxes) ]] || return 0
    sleep 0.05
  done
  fail "a container is left: $(boxes)"
}
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
cat >"$NACRE_NET_FILES/page.html" <<'EOF2'
<!doctype html><title>before</title><h1>the page</h1>
<button id=go onclick="document.title = 'after'">go</button>
EOF2

# ---- gates: nothing starts, and the line is named ----

config off.json5 'enabled: false'
run browser start --config off.json5
expect_status 126
expect_err_has "off.json5:3"
expect_err_has "change 'false' to 'true'"
config denied.json5 'enabled: true' ''
run browser start --config denied.json5
expect_status 126
expect_err_has "tools.sandbox.tools.deny"
run browser url --config on.json5 --target host
expect_status 126
expect_err_has "allowHostControl: true"
run browser url --config on.json5 --target custom=http://10.0.0.42:9222
expect_status 126
expect_err_has 'allowedControlUrls: ["http://10.0.0.42:9222"]'
config own.json5 'enabled: true, autoStart: false,
  allowedControlHosts: ["10.0.0.42"], allowedControlPorts: [9222]'
run browser url --config own.json5 --target custom=http://10.0.0.42:9222
expect_status 0
expect_out http://10.0.0.42:9222
run browser url --config own.json5
expect_status 127
expect_err_has "autoStart is false: nacre browser start"
run browser stop --config on.json5
expect_status 127
run browser start --config on.json5 --target host
expect_status 125
run explain --config on.json5 --tool browser --json
expect_json
is "explain's gates" "$(python3 -c '
import json, sys
targets = json.load(sys.stdin)["sandbox"]["browser"]["targets"]
print(*(name + "=" + str(told["allowed"]) for name, told in targets.items()))' \
  <"$scratch/out")" \
  "sandbox=True host=False custom=False"
is "containers" "$(boxes)" ""

# ---- a client that no one here wrote ----

run browser url --config on.json5 # starts it
expect_status 0
url=$(cat "$scratch/out")
[[ $url == ws://127.0.0.1:*/devtools/browser/* ]] || fail "no such URL"
is "containers" "$(boxes | wc -l)" 1
ports=$(engine "/containers/$(boxes | tr -d '"/')/json" | python3 -c '
import json, sys
box = json.load(sys.stdin)
print(box["HostConfig"]["NetworkMode"], box["HostConfig"]["PortBindings"] or {},
      box["HostConfig"]["ReadonlyRootfs"], box["HostConfig"]["Privileged"])')
is "network, ports, read-only, privileged" "$ports" "none {} True False"
net_reset
node "$here/client.js" "$url" "$scratch" >"$scratch/out" 2>"$scratch/err" ||
  fail "playwright could not drive it"
told() { field "$1" <"$scratch/out"; }
is "http" "$(told http)" 200
is "the title after the click" "$(told clicked)" after
is "https" "$(told https)" 200
is "the page by https" "$(told heading)" "the page"
is "its picture" "$(head -c 8 "$scratch/client.png" | xxd -p)" 89504e470d0a1a0a
is "requests of the page" "$(($(count_requests four.example.com /files/page.html) >= 2))" 1
is "a private address" "$(told inside)" 403
is "a private address by TLS" "$(told inside_tls)" net::ERR_TUNNEL_CONNECTION_FAILED
is "the sandbox's own CDP" "$(told loopback)" 403
is "metadata" "$(told metadata)" 403
is "what arrived at private addresses" \
  "$(($(count_connections 10.0.0.5) + $(count_connections 169.254.169.254)))" 0

# ---- one connection to a token ----

run browser list
expect_out_has "Chrome/"
if node "$here/client.js" "$url" "$scratch" >"$scratch/out" 2>"$scratch/err"; then
  fail "a token was good twice"
fi
expect_err_has 403
run browser url --http --config on.json5
expect_status 0
http=$(cat "$scratch/out")
is "by http" "$(curl -sS -o "$scratch/out" -w '%{http_code}' "$http/json/version")" 200
second=$(field webSocketDebuggerUrl <"$scratch/out")
[[ $second == ws://127.0.0.1:*/devtools/browser/* && $second != "$url" ]] ||
  fail "no such URL"
is "by http again" "$(curl -sS -o /dev/null -w '%{http_code}' "$http/json/version")" 403
is "by another name" "$(curl -sS -o /dev/null -w '%{http_code}' \
  -H "Host: evil.example" "${http%/*}/00000000000000000000000000000000/json/version")" 403

# ---- nacre's own picture ----

run browser screenshot --config on.json5 http://four.example.com/files/page.html own.png
expect_status 0
is "its picture" "$(head -c 8 own.png | xxd -p)" 89504e470d0a1a0a
run browser screenshot --config on.json5 https://inside.example.com/ no.png
expect_status 126
expect_err_has ERR_TUNNEL_CONNECTION_FAILED
run browser screenshot --config on.json5 http://inside.example.com/ refused.png
expect_status 0
expect_err_has "status 403"
run browser screenshot --config on.json5 file:///etc/passwd no.png
expect_status 125
ln -s own.png link
run browser screenshot --config on.json5 http://four.example.com/files/page.html link
expect_status 125
expect_err_has "'link' is a link, a directory or a device: name a file"
[[ -L link ]] || fail "the link was replaced"
is "a picture of what was refused" "$(ls no.png* 2>/dev/null)" ""

# ---- its end ----

run browser list --json
pid=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["browsers"][0]["pid"])' \
  <"$scratch/out")
kill -KILL "$pid"
eventually_gone
run browser list
expect_out "no browser runs"
config screen.json5 'enabled: true, network: "none"'
run browser start --config screen.json5
expect_status 0
run browser url --novnc --config screen.json5
expect_status 0
screen=$(cat "$scratch/out")
is "the screen's page" "$(curl -sS -L -c "$scratch/jar" -o "$scratch/out" \
  -w '%{http_code}' "$screen")" 200
expect_out_has noVNC
is "the screen's page again" "$(curl -sS -o /dev/null -w '%{http_code}' "$screen")" 403
# One WebSocket with the page's cookie, by which VNC speaks; and no second.
screen_says() { # ORIGIN: the first bytes that come, or the status
  python3 - "$(awk '/nacre-screen/ { print $3, $7 }' "$scratch/jar")" "$screen" "$1" <<'EOF2'
import socket, sys, urllib.parse
path, cookie = sys.argv[1].split()
host = urllib.parse.urlsplit(sys.argv[2]).netloc
line = socket.create_connection(("127.0.0.1", int(host.split(":")[1])), 20)
line.sendall((f"GET {path}/websockify HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
              "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
              "Sec-WebSocket-Protocol: binary\r\n"
              f"Origin: {sys.argv[3] or 'http://' + host}\r\n"
              f"Cookie: nacre-screen={cookie}\r\n\r\n").encode())
came = b""
while b"RFB 0" not in came and b" 403 " not in came:
    some = line.recv(4096)
    if not some:
        break
    came += some
print("VNC" if b"RFB 0" in came else came[9:12].decode())
EOF2
}
is "the screen for a page elsewhere" "$(screen_says http://evil.example)" 403
is "the screen" "$(screen_says "")" VNC
is "the screen, when its visit is over" "$(screen_says "")" 403
run browser screenshot --config screen.json5 https://four.example.com/ no.png
expect_status 126
config screen.json5 'enabled: false' # who changes their mind can still end it
run browser stop --config screen.json5
expect_status 0
is "containers after stop" "$(boxes)" ""
run browser start --config on.json5
expect_status 0
run session end agent:main:main --force
expect_status 0
is "containers after the session" "$(boxes)" ""
# One that nobody but its own process knows of.
"$NACRE" browser serve --config on.json5 >"$scratch/served" 2>&1 &
served=$!
for ((left = 2400; left > 0; left--)); do
  ! grep -q ready "$scratch/served" || break
  kill -0 "$served" || fail "it was not served: $(cat "$scratch/served")"
  sleep 0.05
done
run session end agent:main:main --force
expect_status 0
is "containers after a session that was served by hand" "$(boxes)" ""
wait "$served" || fail "whoever served it left with $?"
run audit verify
expect_status 0
passed
