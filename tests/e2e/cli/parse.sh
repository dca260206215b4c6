#!/usr/bin/env bash
# nacre parse: what the readers see, as JSON.
source "$(dirname "$0")/lib.sh"

cat >a.json5 <<'EOF'
// a comment
{ unquoted: 'x', hex: 0xFF, list: [.5, +1, ], "é": null, }
EOF
printf 'a: 1\nb: [x, "2", true, ~]\n' >a.yaml
printf '{"a": [1, 2.5, "x"]}' >a.json

# By its content, or as it is told.
run parse a.json5
expect_status 0
expect_out '{"unquoted":"x","hex":255,"list":[0.5,1],"é":null}'
expect_err ""
run parse --json5 a.json5
expect_out '{"unquoted":"x","hex":255,"list":[0.5,1],"é":null}'
run parse a.yaml
expect_out '{"a":1,"b":["x","2",true,null]}'
run parse --yaml a.yaml
expect_out '{"a":1,"b":["x","2",true,null]}'
run parse --json a.json
expect_status 0
expect_out '{"a":[1,2.5,"x"]}'

# From stdin, with and without the word for it.
input=a.yaml
run parse
expect_out '{"a":1,"b":["x","2",true,null]}'
run parse --yaml -
expect_out '{"a":1,"b":["x","2",true,null]}'
input=/dev/null
run parse
expect_status 125
expect_err "nacre: stdin:1:1: the document is empty"

run parse --places a.yaml
expect_status 0
expect_json
expect_out_has '{"at":"1:1","kind":"mapping","entries":{"a":{"key_at":"1:1","at":"1:4","kind":"number","text":"1"}'

# --json alone is JSON to the letter; beside another reader it is as everywhere.
run parse --json a.json5
expect_status 125
expect_err "nacre: a.json5:1:1: not valid JSON: JSON has no comments; JSON5 does"
expect_json
expect_out_has '"line":1,"column":1'
run parse --json --json5 a.json5
expect_status 0
expect_out '{"unquoted":"x","hex":255,"list":[0.5,1],"é":null}'
printf '{a: b' >broken
run parse --json --yaml broken
expect_status 125
expect_json
expect_out_has '"error":{"status":"parse"'

run parse --json5 --yaml a.yaml
expect_status 125
expect_err_has "exclude each other"
run parse no-such
expect_status 127
expect_err "nacre: no-such: no such file"
run parse a.yaml a.json
expect_status 125
mkdir directory
run parse directory
expect_status 125
expect_err "nacre: directory: not a regular file"
mkfifo fifo
run parse fifo
expect_status 125
expect_err "nacre: fifo: not a regular file"

# What JSON can't say is told with its place, unless it is only shown.
printf '[1,\n NaN]' >nan
run parse --json5 nan
expect_status 125
expect_err "nacre: nan:2:2: the number NaN is none that JSON has"
run parse --json5 --places nan
expect_status 0
expect_out_has '"text":"NaN"'

# A name of the document reaches no terminal as it is.
printf '{"\033[31m": 1, "\033[31m": 2}' >escape
run parse --json5 escape
expect_status 125
expect_err "nacre: escape:1:14: key '\\x1b[31m' is given twice; the first is at line 1"

# Bombs end at once.
head -c 1048577 /dev/zero | tr '\0' ' ' >big
run parse big
expect_status 125
expect_err "nacre: big:1:1: the document is larger than 1048576 bytes"
head -c 1000000 /dev/zero | tr '\0' '[' >deep
run parse --json5 deep
expect_status 125
expect_err "nacre: deep:1:33: nested more than 32 levels deep"

passed
