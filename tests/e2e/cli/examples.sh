#!/usr/bin/env bash
# Configurations with the settings that the pages of their own projects show, run as they
# are in a real engine: they run, or stop with exactly the lines that can't be enforced
# here, and run with those waived.  EXAMPLES has the files; beside each what is expected:
#
#   refuse LINE:COLUMN NAME   stops there; runs with --waive NAME ("-": by no waiver);
#                             "without-apparmor" behind it: only where the kernel has none
#   host SESSION              its commands run without a sandbox
#   box SESSION CONTAINER     its commands run in this container
#   allow|deny SESSION TOOL [LINE:COLUMN]   by that line ("-": by a default)
#
# and explain foretells each of them.  Needs an engine at $NACRE_TEST_DOCKER.
source "$(dirname "$0")/lib.sh"

: "${EXAMPLES:?}"
if [[ ! ${NACRE_TEST_DOCKER:-} || ! -S ${NACRE_TEST_DOCKER#unix://} ]]; then
  echo "no engine at NACRE_TEST_DOCKER"
  exit 77
fi
export DOCKER_HOST=$NACRE_TEST_DOCKER
trap '"$NACRE" keeper --quit >/dev/null 2>&1 || true
      chmod -R u+rwX "$scratch" && rm -rf "$scratch"' EXIT
chmod 755 "$scratch" "$HOME"
mkdir -m 777 "$HOME"/{source,cache,projects,data}

engine() { # PATH [CURL-OPTION...]
  curl -sS --noproxy '*' --max-time 20 --unix-socket "${DOCKER_HOST#unix://}" \
    "http://engine$1" "${@:2}"
}
for name in openclaw clawdbot clawdis nacre; do
  engine "/images/nacre-test-busybox/tag?repo=$name-sandbox&tag=bookworm-slim" -X POST
done

apparmor=$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null || echo N)

is() { # WHAT IS WANTED
  checks=$((checks + 1))
  [[ $2 == "$3" ]] || fail "$example: $1: expected '$3', not '$2'"
}
told() { # SESSION JSON-PATH...: a value of what explain foretells
  "$NACRE" explain --config "$example" --session "$1" --json "${@:3}" | python3 -c '
import functools, json, sys
value = functools.reduce(lambda at, key: at[key], sys.argv[1].split("."), json.load(sys.stdin))
print(str(value).lower() if isinstance(value, bool) else value)' "$2"
}
places() { # of what stops it, in the order of the file
  grep -oE "denied: $example:[0-9]+:[0-9]+" "$scratch/err" | cut -d: -f3- | sort -t: -n -u
}

refused() { # SESSION: stops with exactly these lines
  local want
  want=$(awk -v apparmor="$apparmor" '$1 == "refuse" && !(apparmor == "Y" && $4) {print $2}' \
    "$expect" | sort -t: -n)
  [[ $want ]] || return 0
  run exec --config "$example" --session "$1" 'echo ran'
  expect_status 126
  expect_out ""
  is "what stops $1" "$(places)" "$want"
  is "what explain foretells of $1" "$("$NACRE" explain --config "$example" --session "$1" --json |
    python3 -c '
import json, sys
lines = [d for d in json.load(sys.stdin)["plan"]["decisions"] if d["verdict"] == "refuse"]
print("\n".join(sorted({"%d:%d" % (d["line"], d["column"]) for d in lines},
                       key=lambda p: int(p.split(":")[0]))))')" "$want"
}

line() { # VERB SESSION...
  local names
  case $1 in
  refuse) ;;
  host)
    is "explain of $2" "$(told "$2" sandbox.sessionIsSandboxed)" false
    run exec --config "$example" --session "$2" 'pwd'
    expect_status 0
    [[ $(cat "$scratch/out") == "$HOME"/* ]] || fail "$example: $2 is not in its workspace" ;;
  box)
    refused "$2"
    names=$(awk '$1 == "refuse" {print $3}' "$expect" | paste -sd,)
    is "the container of $2" "$(told "$2" sandbox.containerName)" "$3"
    run exec --config "$example" --session "$2" ${names:+--waive "$names"} 'pwd; echo ran'
    expect_status 0
    expect_out "/workspace
ran"
    run ps --json
    expect_out_has "\"name\":\"$3\"" ;;
  allow | deny)
    is "explain of $3" "$(told "$2" tool.allowed --tool "$3")" \
      "$([[ $1 == allow ]] && echo true || echo false)"
    [[ $1 == deny ]] || return 0
    run tool call "$3" --config "$example" --session "$2" --json-args '{}'
    expect_status 126
    [[ $4 == - ]] || is "the line of $3" "$(told "$2" tool.place --tool "$3")" "$example:$4" ;;
  *) fail "$example: what is $1?" ;;
  esac
}

count=0
for expect in "$EXAMPLES"/*.expect; do
  example=$(basename "$(ls "${expect%.expect}".[jy]*)")
  cp "$EXAMPLES/$example" .
  count=$((count + 1))
  run check "$example"
  expect_status 0
  grep -q '^box' "$expect" || refused "$(awk '$1 == "allow" {print $2; exit}' "$expect")"
  while read -r -a words; do
    line "${words[@]}"
  done <"$expect"
  run rm --all
done
((count >= 13)) || fail "only $count examples"
passed
