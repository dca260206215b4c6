#!/usr/bin/env bash
# CPython 3.12: a module so big that compiling it outlasts a run, with a standard library,
# files and a life of its own.
source "$(dirname "$0")/lib.sh"
need_guest python

mkdir project
echo "a note" >project/note.txt
echo "a secret" >project/.env

# python OPTION… CODE
python() {
  run run --policy workspace --workspace project "${@:1:$#-1}" "$module" -c "${!#}"
}

# ---- a cold cache, and too little time to fill it ----

python --timeout-ms 1000 'print("never")'
expect_status 124
expect_out ""
expect_err_has "nacre cache add $module"
# The second run knows what became of the first: it says so before it compiles anything.
python --timeout-ms 1000 'print("never")'
expect_status 126
expect_out ""
expect_err_has "nacre cache add $module"
expect_err_lacks "nacre: compiling"

run cache add "$module"
expect_status 0
expect_err_has "nacre: compiling python.wasm"
expect_out_has "added, now kept: "

# ---- with the code in the cache ----

python 'print(sum(range(10)))'
expect_status 0
expect_out 45
expect_err ""
python --json 'print(sum(range(10)))'
expect_json
expect_out_has '"stdout":"45\n"'
expect_out_has '"compile_ns":0,'

python '
import json
with open("/workspace/note.txt") as note, open("/workspace/made.json", "w") as made:
    json.dump({"note": note.read()}, made)'
expect_status 0
expect_err ""
[[ $(cat project/made.json) == '{"note": "a note\n"}' ]] || fail "not on the host's disk"

# What the standard library asks of a system, in one go.
python '
import hashlib, os, random, re, tempfile, time
os.makedirs("/workspace/a/b")
os.rename("/workspace/made.json", "/workspace/a/b/kept.json")
print(sorted(os.listdir("/workspace/a/b")), os.stat("/workspace/note.txt").st_size)
with tempfile.TemporaryFile(dir="/tmp") as scratch:
    scratch.write(b"x" * 100000)
    scratch.seek(99999)
    print(scratch.read())
print(len(os.urandom(8)), random.random() < 1, re.sub("o", "0", "note"))
print(hashlib.sha256(b"nacre").hexdigest()[:8])
before = time.monotonic()
time.sleep(0.02)
print(time.monotonic() - before >= 0.02)'
expect_status 0
expect_out "['kept.json'] 7
b'x'
8 True n0te
$(printf nacre | sha256sum | cut -c 1-8)
True"
[[ -f project/a/b/kept.json && ! -e project/made.json ]] || fail "not renamed on the disk"

input=project/note.txt
run run --policy deny-all "$module" -c '
import sys
print(sys.stdin.read().upper())
sys.exit(7)'
input=/dev/null
expect_status 7
expect_out "A NOTE"

# ---- refused ----

python 'print(open("/workspace/.env").read())'
expect_status 1
expect_out ""
expect_err_has "PermissionError"
expect_err_has "nacre: refused: $POLICIES/workspace.yaml:"
for code in 'open("/workspace/.env", "a").write("more")' \
  'import os; os.remove("/workspace/.env")' \
  'import os; os.rename("/workspace/.env", "/workspace/env")' \
  'import os; os.link("/workspace/.env", "/workspace/env")' \
  'import os; os.rename("/workspace/note.txt", "/workspace/.env")'; do
  python "$code"
  expect_status 1
  [[ $(cat project/.env) == "a secret" && ! -e project/env ]] ||
    fail "a denied file moved"
done
ln -s /etc/passwd project/link
for path in /etc/passwd /proc/self/mem /workspace/../etc/passwd /workspace/link; do
  python "print(open('$path').read())"
  expect_status 1
  expect_out ""
done
run run --policy read-only --workspace project "$module" -c '
open("/workspace/note.txt", "a").write("more")'
expect_status 1
expect_err_has "Error"
[[ $(cat project/note.txt) == "a note" ]] || fail "a read-only file was changed"

# ---- limits ----

python --timeout-ms 2000 '
import time
print("up", flush=True)
time.sleep(60)'
expect_status 124
expect_out up
expect_err_lacks "cache add"
python 'x = bytearray(1 << 30)'
expect_status 1
expect_err_has "MemoryError"

passed
