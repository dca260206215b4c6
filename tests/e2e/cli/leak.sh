#!/usr/bin/env bash
# nacre leak-scan, and the same scan between a run and whoever hears of it.
source "$(dirname "$0")/lib.sh"

# In pieces, so that this file is not a finding.
token=ghp_; token+=Xk2pQ9vLr7TnB4wZs8Yd1Hf6Jc3Gm0Ea5UiO
bearer='Authorization: Bearer abcdefghij'

# ---- the verb ----

run leak-scan
expect_status 0
expect_out ""

printf 'a\nb %s c\n%s\n' "$token" "$bearer" >text
input=text
run leak-scan
expect_status 1
expect_out $'2: github-token (redact)\n3: authorization-header (warn)'
expect_err ""

run leak-scan --redact
expect_status 1
expect_out $'a\nb [redacted:github-token] c\n'"$bearer"
expect_err_has "line 2: github-token (redact)"

run leak-scan --json
expect_status 1
expect_json
expect_out_has '{"name":"github-token","class":"redact","line":2,"offset":4}'
expect_out_has '"leaks":{"values":0,"blocked":0,"redacted":1,"warned":1}'
expect_out_lacks "$token"
run leak-scan --json --redact
expect_json
expect_out_has '"text":"a\nb [redacted:github-token] c\n'

# The first N of the table; a warning alone changes nothing.
run leak-scan --patterns 11
expect_status 0
expect_out ""
printf '%s\n' "$bearer" >warned
input=warned
run leak-scan
expect_status 0
expect_out "1: authorization-header (warn)"
run leak-scan --patterns 23
expect_status 125
expect_err_has "--patterns expects a whole number from 0 to 22"

# What a file holds, however it is spelled.
printf 'hunter22\n' >password
{ echo "raw hunter22"; printf hunter22 | base64; printf hunter22 | od -An -tx1 -v; } >text
input=text
run leak-scan --patterns 0 --value password
expect_status 1
expect_out $'1: password (value)\n2: password (value)\n3: password (value)'
run leak-scan --value password --redact
expect_out_lacks hunter22
expect_out_lacks aHVudGVy
expect_out_lacks "68 75 6e"
run leak-scan --value missing
expect_status 127
printf 'abc' >short
run leak-scan --value short
expect_status 125
expect_err_has "less than 6 bytes"
input=/dev/null

run leak-scan --list
expect_status 0
checks=$((checks + 1))
[[ $(wc -l <"$scratch/out") == 22 ]] || fail "22 patterns"
expect_out_has " 1  block   pem-private-key"
expect_out_has "22  warn    authorization-header"
run leak-scan --list --json
expect_json

# ---- a run ----

policy plain plain.yaml
sed 's/^    shell:/    secrets: { leak_detection: { enabled: true, patterns: 22 } }\n&/' \
  plain.yaml >scanned.yaml
wat_cat cat.wat
printf 'a %s b\n%s\n' "$token" "$bearer" >text
input=text
run run --policy plain.yaml cat.wat
expect_status 0
expect_out_has "$token" # the control: without a scan it comes out
run run --policy scanned.yaml cat.wat
expect_status 0
expect_out $'a [redacted:github-token] b\n'"$bearer"
expect_err_has "leak scan: kept from leaving: 0 secret values, 0 private keys, 1 token"
expect_err_has "leak scan: let through, but looks like a credential: 1"
run run --policy scanned.yaml --json cat.wat
expect_status 0
expect_json
expect_out_lacks "$token"
expect_out_has '"leak":false,"leaks":{"values":0,"blocked":0,"redacted":1,"warned":1}'

head='PRIVATE'; head+=' KEY'
printf -- "-----BEGIN $head-----\n%s\n%s\n-----END $head-----\nafter\n" \
  MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7 qPZ+2/kTzVmRtWvY >text
run run --policy scanned.yaml cat.wat
expect_out $'[redacted:pem-private-key]\nafter'
expect_err_has "leak: kept from leaving: 0 secret values, 1 private key, 0 tokens"
run run --policy scanned.yaml --json cat.wat
expect_out_has '"leak":true'
expect_out_has '[redacted:pem-private-key]\nafter\n'
input=/dev/null

# Across the cut of max_output_bytes: half a token is a token's.
sed 's/^    timeout_ms:.*/&\n    max_output_bytes: 12/' scanned.yaml >cut.yaml
printf 'a %s b\n' "$token" >text
input=text
run run --policy cut.yaml cat.wat
expect_status 153
expect_out "a [redacted:github-token]"
run run --policy cut.yaml --json cat.wat
expect_status 153
expect_out_lacks "${token:0:6}"
input=/dev/null

# Refused before anything ran: what is told of the command is clean too.
sed 's/level: wasm/level: process/' scanned.yaml >refused.yaml
run run --policy refused.yaml -- curl -H "Token: $token"
expect_status 126
expect_err_has "[redacted:github-token]"
expect_err_lacks "$token"

# ---- files ----

# Writes the token to the file "left" in the first mount.
cat >leave.wat <<END
(module
  $wasi "path_open" (func \$open
    (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "left")
  (data (i32.const 200) "$token")
  (func (export "_start")
    (if (call \$open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 4)
      (i32.const 1) (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 16))
      (then (unreachable)))
    (i32.store (i32.const 0) (i32.const 200))
    (i32.store (i32.const 4) (i32.const ${#token}))
    (drop (call \$write (i32.load (i32.const 16)) (i32.const 0) (i32.const 1)
      (i32.const 8)))))
END
mkdir files
run run --policy scanned.yaml --workspace "$PWD/files" leave.wat
expect_status 0
checks=$((checks + 1))
[[ $(<files/left) == "$token" ]] || fail "without --scan-files the file stays as it is"
rm files/left
run run --policy scanned.yaml --workspace "$PWD/files" --scan-files leave.wat
expect_status 0
expect_err_has "leak scan: /workspace/left: had secrets in it, which are replaced"
checks=$((checks + 1))
[[ $(<files/left) == "[redacted:github-token]" ]] || fail "the file is not clean"
run run --policy scanned.yaml --workspace "$PWD/files" --scan-files --json leave.wat
expect_json
expect_out_has '"code":"leak-in-file"'
expect_out_lacks "$token"
run run --policy plain.yaml --workspace "$PWD/files" --scan-files leave.wat
expect_status 125
expect_err_has "there is nothing to look for in files"

# The record counts, and has nothing of it.
run audit show --json
expect_out_has '"leak":true,"leaks":{"values":0,"blocked":1,"redacted":0,"warned":0}'
expect_out_lacks "$token"

passed
