#!/bin/bash
# smoke.sh BUILD-DIRECTORY JSON_CHECK: every part of the bench works and every row of its
# tables is there, with figures or, for a peer and for what needs root or an engine, with
# the reason why not.  Nothing here looks at how large a figure is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 json_check=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "smoke: $*"
    exit 1
}

peers=(call.extism.fresh call.extism.warm call.docker.exec call.docker.run
    cold.wasmtime cold.wasmtime.dir cold.bwrap live.worker live.inprocess
    process.nacre process.nacre.quiet process.nacre.limited process.program process.bwrap
    warm.nacre warm.nacre.quiet warm.program warm.api.exec warm.docker.exec fresh.nacre
    fresh.program fresh.docker.run https.door.fresh https.curl.fresh https.curl.asking https.curl.new
    https.door.kept https.curl.kept crowd.door crowd.straight tool.docker.exec tool.node
    tool.ripgrep tool.ripgrep.one gvisor.warm gvisor.fresh
    vm.warm vm.fresh)
ours=(call.worker call.worker.quiet call.inprocess call.inprocess.quiet call.engine.sink
    call.engine.null call.engine.pipe call.engine.file call.engine.callback cold.nacre
    cold.nacre.workspace cold.true file.nacre file.engine file.native clients.worker
    clients.inprocess clients.engine.sink clients.engine.file clients.engine.callback
    live.engine leak.values.source leak.values.english leak.patterns.source
    leak.patterns.english leak.both.source leak.both.english tool.read tool.read.run
    tool.program tool.grep tool.grep.run none.nacre none.program)

"$here/run" --smoke "$build" >"$scratch/shown"
result=$build/bench/smoke
cmp "$scratch/shown" "$result/result.md" || fail "what is shown is not what is kept"
"$json_check" <"$result/result.json" || fail "result.json is not JSON"
# The row as one line, whatever the writer's layout is.
rows=$(tr -d ' \n' <"$result/result.json" | sed 's/{"id"/\n&/g')
for row in "${ours[@]}"; do
    grep -q "^{\"id\":\"$row\".*\"median\":[0-9]" <<<"$rows" || fail "no figures for $row"
done
for row in "${peers[@]}"; do
    grep -qE "^\{\"id\":\"$row\".*(\"median\":[0-9]|\"unavailable\":\"[a-z])" \
        <<<"$rows" || fail "$row was dropped"
done
# The table of levels shows twelve of them again.
[[ $(grep -c . <<<"$rows") == $((${#ours[@]} + ${#peers[@]} + 12 + 1)) ]] ||
    fail "there are rows that this test does not know"
grep -qE '^\| .* \| (≤|≥) [0-9.]+ \| (met|short|not available) \|$' "$result/result.md" ||
    fail "no aim is judged"

# The report is not taken in by what is missing or is not a figure.
report() { "$build/tests/bench/bench_report" "$scratch" >/dev/null 2>"$scratch/said"; }
refused() { # NAME EXPECTED-TEXT, the findings on stdin
    ! report || fail "a report was made although $1"
    grep -q "$2" "$scratch/said" || fail "not said: $2"
    [[ ! -e $scratch/result.md ]] || fail "a report was left although $1"
}
refused "nothing was measured" 'call.worker has no p50_ns' </dev/null
refused "a row lacks one figure" 'call.worker has no p99_ns' \
    <<<$'call.worker\tp50_ns\t5'
refused "a figure is a word" "line 1: 'fast' is not a number" \
    <<<$'call.worker\tp50_ns\tfast'
refused "a figure is negative" "line 1: '-1' is not a number" \
    <<<$'call.worker\tp50_ns\t-1'
refused "a line has no value" 'line 1: expected ROW, METRIC and VALUE' \
    <<<$'call.worker\tp50_ns'
refused "a line has an empty value" 'line 1: expected ROW, METRIC and VALUE' \
    <<<$'call.worker\tp50_ns\t'

# Medians and verdicts, computed from known findings: 4 is the median of 2, 4 and 100.
known() { # FACTOR: each row's figures, nacre's times multiplied
    local row metric
    for row in "${ours[@]}" "${peers[@]}"; do
        case $row in
        call.* | cold.* | none.* | process.* | warm.* | fresh.* | gvisor.* | vm.* | https.* | tool.*)
            metrics='p50_ns p99_ns' ;;
        file.*) metrics='read_4k_ns read_64k_ns write_4k_ns write_64k_ns open_close_ns' ;;
        clients.*) metrics='per_s_1 per_s_2 per_s_8' ;;
        live.*) metrics=bytes ;;
        leak.*) metrics=bytes_per_s ;;
        crowd.*) metrics='held round_ns' ;;
        esac
        for metric in $metrics; do
            case $row in
            call.worker* | call.inprocess* | *.nacre* | *.program | *.door.* | tool.read* | \
                tool.grep*) values="2 4 100" ;;
            tool.docker.exec) values="$((100 * $1))" ;; # the aim is 1/500 of it
            crowd.door) values=$((500 * $1)) ;;
            crowd.*) values=1000 ;;
            leak.*) values="$((20000000 * $1))" ;; # 20 MB/s, or 800
            *) values="$((2 * $1)) $((4 * $1)) $((100 * $1))" ;;
            esac
            for value in $values; do printf '%s\t%s\t%s\n' "$row" "$metric" "$value"; done
        done
    done
}
known 40 | report || fail "known findings were refused: $(<"$scratch/said")"
[[ $(grep -c '| met |$' "$scratch/result.md") == 26 ]] ||
    fail "forty times better is not met: $(grep -c "| met |$" "$scratch/result.md")"
grep -q '"median": 4.0' "$scratch/result.json" || fail "the median is wrong"
known 1 | report || fail "known findings were refused: $(<"$scratch/said")"
[[ $(grep -c '| short |$' "$scratch/result.md") == 17 ]] || fail "no better is not short: $(grep -c "| short |$" "$scratch/result.md")"
