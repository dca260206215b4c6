#!/bin/bash
# fetch_tool.sh NACRE FETCH_WASM [--inside]: the tool fetch in the test network, through a
# real door: what it makes of pages, JSON, binary data and character sets, and that what a
# door refuses is passed on with its code and sentence.  The observer is the server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${3:-} == --inside ]] || exec "$here/../net/run" -- "$0" "$1" "$2" --inside
source "$here/../net/lib.sh"
nacre=$1 tool=$2
failures=0 checks=0
work=$(mktemp -d /tmp/nacre-fetch-XXXXXX)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_RUNTIME_DIR=$work
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME
cd "$work"

wrong() {
    echo "$1: got '${2:0:2000}', wanted '$3'"
    failures=$((failures + 1))
}
is() { checks=$((checks + 1)) && [[ $2 == "$3" ]] || wrong "$@"; }
has() { checks=$((checks + 1)) && [[ $2 == *"$3"* ]] || wrong "$@"; }
lacks() { checks=$((checks + 1)) && [[ $2 != *"$3"* ]] || wrong "$1 (must not be there)" "$2" "$3"; }

cat >policy.yaml <<END
claw: "0.3.0"
kind: Sandbox
metadata: {name: fetch}
spec:
  level: wasm
  capabilities:
    network: {mode: allowlist, allowed_hosts: [api.example.com]}
  resource_limits: {timeout_ms: 120000, memory_mb: 256}
END

# Before the first run and its deadline: on a busy machine it takes its time.
"$nacre" cache add "$tool" >/dev/null

# get EXPRESSION: of Python, about the answer `a` and its structured content `s`.
get() {
    python3 -c 'import json, sys
a = json.load(open("answer"))
s = a.get("structuredContent") or {}
value = eval(sys.argv[1])
print(value if isinstance(value, str) else json.dumps(value))' "$1"
}
# fetch ARGUMENTS: its text in $text, "ERROR CODE" in $outcome.
fetch() {
    net_reset
    "$nacre" run --policy policy.yaml "$tool" <<<"$1" >answer 2>stderr ||
        wrong "$1: ran" "$(cat stderr)" ""
    text=$(get 'a["content"][0]["text"]')
    outcome=$(get 'json.dumps(a["isError"]) + " " + s.get("code", "")')
}
# page HEADERS BODY [OPTIONS]: a server that sends exactly that (printf's escapes).
page() {
    local bytes
    bytes=$(printf "HTTP/1.1 200 OK\r\n$1\r\nConnection: close\r\n\r\n$2" | base64 -w0)
    bytes=${bytes//+/%2B}
    fetch "{\"url\": \"https://api.example.com/raw?base64=$bytes\"${3:+, $3}}"
}

# Text, JSON, a status that is no success, methods, headers.
fetch '{"url": "https://api.example.com/"}'
is "text: no error" "$outcome" "false "
has "text: what came" "$text" "nacre test server at"
has "text: status" "$text" "HTTP 200"
fetch '{"url": "https://api.example.com/echo", "headers": {"X-One": "1"}}'
has "json: indented" "$text" '  "method": "GET",'
is "json: structured" "$(get 's["json"]["headers"]["X-One"]')" 1
fetch '{"url": "https://api.example.com/echo", "body": "a=b"}'
is "post: method and body" "$(get 's["json"]["method"] + s["json"]["body"]')" POSTa=b
fetch '{"url": "https://api.example.com/echo", "method": "HEAD"}'
is "head: arrived" "$(count_events event=request method=HEAD)" 1
has "head: status" "$text" "HTTP 200"
fetch '{"url": "https://api.example.com/status/404"}'
is "404 is an answer" "$outcome$(get 's["status"]')" "false 404"
fetch '{"url": "https://api.example.com/redirect?to=/echo"}'
is "a redirect is followed" "$(get 's["json"]["target"]')" /echo

# What the tool itself refuses: nothing is sent.
fetch '{"url": "https://api.example.com/echo", "headers": {"X-One": "1\nX-Two: 2"}}'
is "two headers in one: refused" "$outcome $(count_requests)" "true bad-arguments 0"
fetch '{"url": "https://api.example.com/echo", "method": "GET", "body": "x"}'
is "a body without POST: refused" "$outcome $(count_requests)" "true bad-arguments 0"
fetch '{"url": "https://api.example.com/echo", "method": "DELETE"}'
is "another method: refused" "$outcome $(count_requests)" "true bad-arguments 0"

# What the door refuses, with its sentence.
fetch '{"url": "https://other.example.org/echo"}'
is "denied: code" "$outcome" "true denied"
has "denied: the sentence names the host" "$text" "other.example.org"
is "denied: no request" "$(count_requests)" 0
fetch '{"url": "file:///etc/passwd"}'
is "another scheme: code" "$outcome" "true bad-url"
fetch '{"url": "https://127.0.0.1/"}'
is "loopback: code" "$outcome" "true denied"
fetch '{"url": "https://api.example.com/redirect?to=https://other.example.org/"}'
is "a redirect elsewhere: code" "$outcome" "true denied"
is "a redirect elsewhere: no request" "$(count_requests other.example.org)" 0
fetch '{"url": "https://api.example.com/loop?n=100"}'
is "a loop: code" "$outcome" "true too-many"
fetch '{"url": "https://api.example.com/close-midway"}'
# The break may come with the first bytes or behind them.
is "cut off: code" "$(get 's.get("code") or s.get("broken")')" protocol
has "cut off: the sentence" "$text" "partial file"

# Pages.
page 'Content-Type: text/html; charset=utf-8' \
    '<!doctype html><title>A &amp; B</title><style>x{}</style><script>evil("</p>")</script><h1>Head</h1><p>one <a href="/x?a=1&amp;b=2">two</a> three<ul><li>i<li>j</ul><table><tr><td>1<td>2</table><!-- no --><div hidden>no</div>'
is "html: as text" "$text" "$(printf '%s\n' 'HTTP 200, text/html' 'Title: A & B' '' '# Head' '' \
    'one [two](/x?a=1&b=2) three' '' '- i' '- j' '' '1 | 2')"
is "html: structured" "$(get 's["title"]')" "A & B"
page 'Content-Type: text/html; charset=utf-8' '<p>x</p>' '"raw": true'
has "html: raw" "$text" '<p>x</p>'
page 'Content-Type: text/html; charset=ISO-8859-1' '<p>caf\xe9 \x93q\x94'
has "latin-1 by its header" "$text" 'café “q”'
page 'Content-Type: text/html' '<meta charset="windows-1252"><p>caf\xe9'
has "windows-1252 by its meta" "$text" 'café'
page 'Content-Type: text/html' '<p>caf\xe9'
has "no charset: read as windows-1252, and told" "$text" 'café'
has "no charset: told" "$text" 'read as windows-1252'
page 'Content-Type: text/plain; charset=utf-8' 'a\xff\x1b[31mb'
has "invalid bytes and escapes are shown" "$text" 'a\xFF\x1B[31mb'
page 'Content-Type: text/plain; charset=shift_jis' 'a\x83b'
has "another charset is named" "$text" 'charset shift_jis is not known'
page 'Content-Type: application/json' '{"a": 1, "a": 2}'
has "JSON that is none is shown as text" "$text" 'called JSON, but is none'
page 'Content-Type: application/json' '\xef\xbb\xbf{"a": 12345678901234567890}'
has "JSON with a mark; numbers as they are" "$text" '"a": 12345678901234567890'
is "a number that no reader holds is a text" "$(get 's["json"]["a"] + "!"')" 12345678901234567890!

# Binary data, and sizes.
page 'Content-Type: image/png' '\x89PNG\r\n\x1a\n\x00\x01'
has "png: kind and size" "$text" "a PNG image, 10 bytes; not shown"
page 'Content-Type: text/html' 'PK\x03\x04\x00\x00'
has "what is called HTML and is none" "$text" "a ZIP archive"
fetch '{"url": "https://api.example.com/huge?n=20000000"}'
has "huge: only the first 4 MiB are read" "$text" "only the first 4194304 bytes"
fetch '{"url": "https://api.example.com/echo", "max_bytes": 40, "raw": true}'
has "max_bytes: told" "$text" "(cut: 40 of"
is "max_bytes: truncated" "$(get 's["truncated"]')" true

# The same by a configuration: bridge is allow-all through the door, dns is its resolver,
# extraHosts are fixed answers, judged like any address; without bridge nothing leaves.
cat >openclaw.json <<'END'
{ agents: { defaults: { workspace: "~/agent", sandbox: { mode: "all", workspaceAccess: "rw",
    docker: { network: "bridge", dns: ["127.0.0.53"],
              extraHosts: ["pinned.example.org:93.184.216.34", "in.example.org:10.0.0.5"] } } } },
  tools: { sandbox: { tools: { allow: ["fetch"] } } } }
END
sed 's/"bridge"/"none"/' openclaw.json >closed.json
sed 's/127\.0\.0\.53/127.0.0.54/' openclaw.json >deaf.json
by_config() { # FILE URL
    text=$("$nacre" tool call fetch --config "$1" --session w --json-args "{\"url\": \"$2\"}" \
        2>&1 || true)
}
mkdir -p agent
by_config openclaw.json http://api.example.com/
has "bridge: a name that its resolver knows" "$text" "nacre test server at "
by_config openclaw.json http://pinned.example.org/
has "extraHosts: a name that nobody else knows" "$text" "nacre test server at 93.184.216.34"
is "extraHosts: not asked for" "$(count_events event=query name=pinned.example.org)" 0
by_config openclaw.json http://in.example.org/
has "extraHosts: judged like any answer" "$text" "it leads to 10.0.0.5"
by_config deaf.json http://api.example.com/
lacks "dns: another resolver is not asked instead" "$text" "nacre test server"
by_config deaf.json http://pinned.example.org/
has "dns: fixed answers need none" "$text" "nacre test server"
by_config closed.json http://pinned.example.org/
has "none: no request is made" "$text" "no network"

((failures == 0)) || { echo "$failures of $checks failed"; exit 1; }
echo "the tool fetch: $checks checks, all as it should be"
