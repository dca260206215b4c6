# Sourced by every script here: a home of its own, and words to judge a command by.
# Expects NACRE (the program), JSON_CHECK (reads one JSON value, or lines of them with
# -l, from stdin) and POLICIES (the ready policies) in the environment.
set -euo pipefail

: "${NACRE:?the program to test}" "${JSON_CHECK:?}" "${POLICIES:?}"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/nacre-e2e.XXXXXX")
trap 'chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/work"
export HOME=$scratch/home NACRE_POLICY_DIR=$POLICIES TERM=dumb LC_ALL=C
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME NACRE_PROGRAM NO_COLOR
cd "$scratch/work"

checks=0
fail() {
  echo "FAILED: $*"
  echo "  command: ${last[*]}"
  echo "  status:  ${status:-?}"
  sed 's/^/  stdout:  /' "$scratch/out"
  sed 's/^/  stderr:  /' "$scratch/err"
  exit 1
}

# run WORD...: runs nacre and keeps status, stdout and stderr.  stdin is empty unless
# `input` names a file.
input=/dev/null
run() {
  last=(nacre "$@")
  status=0
  "$NACRE" "$@" <"$input" >"$scratch/out" 2>"$scratch/err" || status=$?
}

expect_status() {
  checks=$((checks + 1))
  [[ $status == "$1" ]] || fail "expected status $1"
}
# Whole text, without the newline at the end.
expect_out() {
  checks=$((checks + 1))
  [[ $(cat "$scratch/out") == "$1" ]] || fail "expected stdout: $1"
}
expect_err() {
  checks=$((checks + 1))
  [[ $(cat "$scratch/err") == "$1" ]] || fail "expected stderr: $1"
}
expect_out_has() {
  checks=$((checks + 1))
  grep -qF -- "$1" "$scratch/out" || fail "expected in stdout: $1"
}
expect_err_has() {
  checks=$((checks + 1))
  grep -qF -- "$1" "$scratch/err" || fail "expected in stderr: $1"
}
expect_out_lacks() {
  checks=$((checks + 1))
  ! grep -qF -- "$1" "$scratch/out" || fail "not expected in stdout: $1"
}
expect_err_lacks() {
  checks=$((checks + 1))
  ! grep -qF -- "$1" "$scratch/err" || fail "not expected in stderr: $1"
}
expect_json() {
  checks=$((checks + 1))
  "$JSON_CHECK" "$@" <"$scratch/out" || fail "stdout is not JSON"
}
passed() {
  echo "ok: $checks checks"
}

# ---- modules, in the text format ----

wasi='(import "wasi_snapshot_preview1"'

# wat_exit STATUS FILE
wat_exit() {
  cat >"$2" <<EOF
(module
  $wasi "proc_exit" (func \$exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (call \$exit (i32.const $1))))
EOF
}

# wat_say FD TEXT FILE: writes TEXT (no quotes or backslashes) and a newline.
wat_say() {
  local length=$((${#2} + 1))
  cat >"$3" <<EOF
(module
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "$2\n")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const $length))
    (drop (call \$write (i32.const $1) (i32.const 0) (i32.const 1) (i32.const 8)))))
EOF
}

# wat_dump args|environ FILE: writes the strings as the guest has them, each ended by NUL.
wat_dump() {
  cat >"$2" <<EOF
(module
  $wasi "$1_sizes_get" (func \$sizes (param i32 i32) (result i32)))
  $wasi "$1_get" (func \$get (param i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (drop (call \$sizes (i32.const 0) (i32.const 20)))
    (drop (call \$get (i32.const 1000) (i32.const 8000)))
    (i32.store (i32.const 16) (i32.const 8000))
    (drop (call \$write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))))
EOF
}

# wat_cat FILE: copies stdin to stdout.
wat_cat() {
  cat >"$1" <<EOF
(module
  $wasi "fd_read" (func \$read (param i32 i32 i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (loop \$more
      (i32.store (i32.const 0) (i32.const 1000))
      (i32.store (i32.const 4) (i32.const 4096))
      (drop (call \$read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (i32.store (i32.const 4) (i32.load (i32.const 8)))
      (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
      (br_if \$more (i32.load (i32.const 8))))))
EOF
}

# wat_flood FILE: writes for ever.
wat_flood() {
  cat >"$1" <<EOF
(module
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (memory.fill (i32.const 1000) (i32.const 120) (i32.const 4096))
    (i32.store (i32.const 0) (i32.const 1000))
    (i32.store (i32.const 4) (i32.const 4096))
    (loop \$more
      (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (br \$more))))
EOF
}

# wat_loop FILE: says "up" on stdout, then loops for ever.
wat_loop() {
  cat >"$1" <<EOF
(module
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "up\n")
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 100))
    (i32.store (i32.const 4) (i32.const 3))
    (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (loop \$more (br \$more))))
EOF
}

# wat_open PATH FILE: opens PATH (relative to the first mount) for reading, copies what
# it holds to stdout, and exits with the errno of the opening.
wat_open() {
  cat >"$2" <<EOF
(module
  $wasi "path_open"
    (func \$open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  $wasi "fd_read" (func \$read (param i32 i32 i32 i32) (result i32)))
  $wasi "fd_write" (func \$write (param i32 i32 i32 i32) (result i32)))
  $wasi "proc_exit" (func \$exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "$1")
  (func (export "_start")
    (local \$errno i32)
    (local.set \$errno
      (call \$open (i32.const 3) (i32.const 1) (i32.const 100) (i32.const ${#1})
        (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 20)))
    (if (local.get \$errno) (then (call \$exit (local.get \$errno))))
    (i32.store (i32.const 0) (i32.const 1000))
    (i32.store (i32.const 4) (i32.const 4096))
    (drop (call \$read (i32.load (i32.const 20)) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call \$write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))
EOF
}

# wat_trap FILE: a trap two named functions deep.
wat_trap() {
  cat >"$1" <<'EOF'
(module
  (memory (export "memory") 1)
  (func $innermost unreachable)
  (func $outer (call $innermost))
  (func (export "_start") (call $outer)))
EOF
}

# wat_grow FILE: asks for memory until it is refused, then gives up.
wat_grow() {
  cat >"$1" <<'EOF'
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $more
      (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable))
EOF
}

# wat_add FILE: a reactor.
wat_add() {
  cat >"$1" <<'EOF'
(module
  (func (export "add") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1)))
  (func (export "half") (param f64) (result f64)
    (f64.div (local.get 0) (f64.const 2))))
EOF
}

# ---- policies ----

# policy NAME FILE EXTRA...: level wasm, a writable /workspace; each EXTRA is a line below
# resource_limits.  mode: is at 9:7, the first limit's value at 17:N.
policy() {
  local name=$1 file=$2
  shift 2
  cat >"$file" <<EOF
claw: "0.3.0"
kind: Sandbox
metadata:
  name: $name
spec:
  level: wasm
  capabilities:
    filesystem:
      mode: scoped
      mount_paths:
        - path: /workspace
          permissions: rw
      denied_paths:
        - /workspace/secret
    shell: { mode: deny }
  resource_limits:
EOF
  if (($# == 0)); then set -- "timeout_ms: 60000"; fi
  printf '    %s\n' "$@" >>"$file"
}
