#!/usr/bin/env bash
# nacre new, build, test, watch: a tool from nothing to green, and what is said when it
# is not.
source "$(dirname "$0")/lib.sh"

run new c wordcount
expect_status 0
expect_out_has "nacre build wordcount && nacre test wordcount"
run test wordcount
expect_status 127
expect_err_has "build the tool first, with nacre build"
run build wordcount
expect_status 0
expect_out_has "wordcount/wordcount.wasm"
run test wordcount
expect_status 0
expect_out_has "wordcount: 3 passed, 0 failed"
expect_out_has "lines and words are counted"

# A case that does not hold is shown with what differs, and the status tells.
cat >wordcount/tests/wrong.yaml <<'YAML'
name: this is not so
arguments: {text: "a b"}   # a comment that stays
expect: {isError: false, text: "1 lines, 1 words", structured: {words: 1}}
YAML
run test --only wrong wordcount
expect_status 1
expect_out_has "FAILED"
expect_out_has "- 1 lines, 1 words"
expect_out_has "+ 0 lines, 2 words"
expect_out_has "structured.words: expected 1, got 2"
run test --json --only wrong wordcount
expect_status 1
expect_json
expect_out_has '"failed":1'
run test --update --only wrong wordcount
expect_status 0
expect_out_has "1 updated"
run test wordcount
expect_status 0
expect_out_has "4 passed"
grep -q "a comment that stays" wordcount/tests/wrong.yaml || fail "the comment is gone"
grep -q '^fuel: {"golden": [1-9]' wordcount/tests/wrong.yaml || fail "no fuel was written"

# Fuel is a contract.
sed -i 's/^fuel: .*/fuel: {golden: 10, tolerance_percent: 10}/' wordcount/tests/wrong.yaml
run test --only wrong wordcount
expect_status 1
expect_out_has "is not within 10 % of the golden 10"

# Cases are read strictly, with their place.
printf 'name: x\narguments: {}\nexpects: {}\n' >wordcount/tests/wrong.yaml
run test --only wrong wordcount
expect_status 1
expect_out_has "wrong.yaml:3:1: unknown key 'expects' in a case; did you mean 'expect'?"
printf 'name: x\narguments: {text: a}\nfiles: {../out: x}\nexpect: {isError: false}\n' \
  >wordcount/tests/wrong.yaml
run test --policy "$POLICIES/workspace.yaml" --only wrong wordcount
expect_status 1
expect_out_has "wrong.yaml:3:9: a file of a case is named by a path below the workspace"
# A link in the workspace leads nowhere: not when files are compared, and not when what
# came is written down.
echo "of the host" >"$scratch/host.txt"
printf 'name: x\narguments: {text: a}\nfiles: {d: {link: "%s"}}\n' "$scratch" \
  >wordcount/tests/wrong.yaml
printf 'expect: {isError: false}\nafter:\n  d/host.txt: "of the host"\n' \
  >>wordcount/tests/wrong.yaml
run test --policy "$POLICIES/workspace.yaml" --only wrong wordcount
expect_status 1
expect_out_has "d/host.txt is not there"
run test --update --policy "$POLICIES/workspace.yaml" --only wrong wordcount
expect_status 0
grep -q '"d/host.txt": null' wordcount/tests/wrong.yaml || fail "a link was followed"
printf 'name: x\narguments: {text: a}\nfiles: {d: {link: x}}\n' >wordcount/tests/wrong.yaml
printf 'expect: {isError: false}\nafter: {d: {link: [x]}}\n' >>wordcount/tests/wrong.yaml
run test --policy "$POLICIES/workspace.yaml" --only wrong wordcount
expect_status 1
expect_out_has "wrong.yaml:5:19: expected what the link leads to, a text"
# No caller could pass them: the schema would refuse.
printf 'name: x\narguments: {txet: a}\nexpect: {isError: false}\n' >wordcount/tests/wrong.yaml
run test --only wrong wordcount
expect_status 1
expect_out_has "no caller could pass these arguments"
rm wordcount/tests/wrong.yaml

# What does not compile leaves the module that was there.
before=$(sha256sum <wordcount/wordcount.wasm)
echo 'int x = "' >>wordcount/src/main.c
run build wordcount
expect_status 125
expect_err_has "clang failed"
[[ $before == "$(sha256sum <wordcount/wordcount.wasm)" ]] || fail "the module was replaced"
sed -i '$d' wordcount/src/main.c

# Published, the manifest says the digest, and a call finds it.
run build --publish not/yet/there wordcount
expect_status 0
[[ -e not/yet/there/wordcount/tool.yaml ]] || fail "nothing was published"
run build --publish tools wordcount
expect_status 0
grep -q "nacre/digest: \"$(sha256sum tools/wordcount/wordcount.wasm | cut -d' ' -f1)\"" \
  tools/wordcount/tool.yaml || fail "no digest"
run test tools/wordcount
expect_status 127
expect_err_has "no case in"

# watch builds and tests at once, and again when something changes.
"$NACRE" watch wordcount >watched 2>&1 &
watcher=$!
await() { # TEXT COUNT
  for _ in $(seq 600); do
    [[ $(grep -c "$1" watched) -ge $2 ]] && return
    sleep 0.1
  done
  fail "watch did not say '$1': $(cat watched)"
}
await "3 passed, 0 failed" 1
sed -i 's/arguments: {text: ""}/arguments: {text: "x"}/' wordcount/tests/empty.yaml
await "2 passed, 1 failed" 1
kill -TERM $watcher
wait $watcher || fail "watch left with $?"

run new c wordcount
expect_status 125
expect_err_has "is there already: nothing was changed"
run new c exec
expect_status 125
expect_err_has "a name of nacre's own tools"
run new c Bad/name
expect_status 125
run new cobol x
expect_status 125
expect_err_has "cobol"
[[ ! -e x ]] || fail "something was made"
PATH=/nonexistent run build wordcount
expect_status 126
expect_err_has "apt-get install clang"

# A tool that leaves a file, or changes one, that its case does not name.
run new c sloppy
sed -i '1i #include <stdio.h>
s|^{|&\nfclose(fopen("/workspace/left", "w")); fclose(fopen("/workspace/kept", "w"));|' \
  sloppy/src/main.c
run build sloppy
expect_status 0
rm sloppy/tests/*
cat >sloppy/tests/one.yaml <<'YAML'
name: nothing is touched
arguments: {text: a}
files: {kept: "text", d/other: x}
expect: {isError: false, text_contains: [words]}   # stays
policy: workspace
YAML
run test sloppy
expect_status 1
expect_out_has "kept holds: "
expect_out_has "left is there, and neither files nor after names it"
expect_out_lacks "other"
run test --update --tolerance 40 sloppy
expect_status 0
grep -qF 'text_contains: [words]}   # stays' sloppy/tests/one.yaml ||
  fail "what was right was written anew"
grep -qF 'after: {"left": "", "kept": ""}' sloppy/tests/one.yaml || fail "no after"
grep -qF '"tolerance_percent": 40}' sloppy/tests/one.yaml || fail "another tolerance"
run test sloppy
expect_status 0
sed -i 's/^policy: .*/policy: nowhere/' sloppy/tests/one.yaml
run test sloppy
expect_status 1
expect_out_has "nowhere"

passed
