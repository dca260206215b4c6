/* What `make bench` shows and what it is held against. */
#include "report.h"

#define US 1e3
#define MS 1e6
#define KIB 1024.0
#define MB 1e6

static const struct column call_columns[] = {
    { "p50_ns", "p50 µs", US, 1 }, { "p99_ns", "p99 µs", US, 1 }, { 0 }
};
static const struct row call_rows[] = {
    { "call.worker", "nacre, jailed worker" },
    { "call.worker.quiet", "nacre, jailed worker, audit off" },
    { "call.inprocess", "nacre, in-process" },
    { "call.inprocess.quiet", "nacre, in-process, audit off" },
    { "call.engine.sink", "engine's WASI, stdout to a sink" },
    { "call.engine.null", "engine's WASI, inherited stdout (/dev/null)" },
    { "call.engine.pipe", "engine's WASI, inherited stdout (pipe, read back)" },
    { "call.engine.file", "engine's WASI, stdout to a file (memfd, read back)" },
    { "call.engine.callback", "engine's WASI, stdout to a callback" },
    { "call.extism.fresh", "Extism, fresh instance of a compiled plugin (Python)" },
    { "call.extism.warm", "Extism, the same instance again (Python)" },
    { "call.docker.exec", "docker exec" },
    { "call.docker.run", "docker run" },
    { 0 }
};

static const struct column cold_columns[] = {
    { "p50_ns", "p50 ms", MS, 1 }, { "p99_ns", "p99 ms", MS, 1 }, { 0 }
};
static const struct row cold_rows[] = {
    { "cold.nacre", "nacre run, policy deny-all" },
    { "cold.nacre.workspace", "nacre run, policy workspace, a directory" },
    { "cold.wasmtime", "wasmtime run, precompiled" },
    { "cold.wasmtime.dir", "wasmtime run, precompiled, a directory" },
    { "cold.bwrap", "bwrap --unshare-all --ro-bind / / true" },
    { "cold.true", "true: the least that a process costs here" },
    { 0 }
};

static const struct row process_rows[] = {
    { "process.nacre", "nacre, from the library" },
    { "process.nacre.quiet", "nacre, from the library, audit off" },
    { "process.nacre.limited", "nacre, from the library, memory and cpu by cgroups" },
    { "process.program", "nacre run" },
    { "process.bwrap", "bwrap with the same namespaces and places" },
    { 0 }
};

static const struct row container_rows[] = {
    { "warm.nacre", "warm: nacre, from the library" },
    { "warm.nacre.quiet", "warm: nacre, from the library, audit off" },
    { "warm.program", "warm: nacre exec --session, by way of the keeper" },
    { "warm.api.exec", "warm: the engine's exec by its API" },
    { "warm.docker.exec", "warm: docker exec" },
    { "fresh.nacre", "of its own: nacre, from the library" },
    { "fresh.program", "of its own: nacre run" },
    { "fresh.docker.run", "of its own: docker run --rm" },
    { "gvisor.warm", "warm: nacre with gVisor, from the library" },
    { "gvisor.fresh", "of its own: nacre with gVisor, from the library" },
    { "vm.warm", "warm: a machine, from the library" },
    { "vm.fresh", "of its own: a machine, from the library" },
    { 0 }
};

/* The same figures again, one below the other; only those of `none` are nowhere else. */
static const struct column level_columns[] = {
    { "p50_ns", "p50 ms", MS, 3 }, { "p99_ns", "p99 ms", MS, 3 }, { 0 }
};
static const struct row level_rows[] = {
    { "call.worker", "`wasm`: a fresh instance, from the library" },
    { "cold.nacre", "`wasm`: a fresh instance, `nacre run`" },
    { "process.nacre", "`process`: a fresh sandbox, from the library" },
    { "process.program", "`process`: a fresh sandbox, `nacre run`" },
    { "warm.nacre", "`container`: a warm one, from the library" },
    { "warm.program", "`container`: a warm one, `nacre exec --session`" },
    { "fresh.nacre", "`container`: a fresh one, from the library" },
    { "fresh.program", "`container`: a fresh one, `nacre run`" },
    { "gvisor.warm", "`container` with `gvisor`: a warm one, from the library" },
    { "gvisor.fresh", "`container` with `gvisor`: a fresh one, from the library" },
    { "vm.warm", "`vm`: a warm one, from the library" },
    { "vm.fresh", "`vm`: a fresh one, booted, from the library" },
    { "none.nacre", "`none`: on the host, from the library" },
    { "none.program", "`none`: on the host, `nacre run`" },
    { 0 }
};

static const struct row request_rows[] = {
    { "https.door.fresh", "through a door, a new connection each" },
    { "https.curl.fresh", "plain libcurl, a new connection each, the name known" },
    { "https.curl.asking", "plain libcurl, a new connection each, the name asked for" },
    { "https.curl.new", "plain libcurl, a new handle each, which reads the CA bundle too" },
    { "https.door.kept", "through a door, a connection that is kept" },
    { "https.curl.kept", "plain libcurl, a connection that is kept" },
    { 0 }
};

static const struct column crowd_columns[] = {
    { "held", "held at once", 1, 0 }, { "round_ns", "one request on each, ms", MS, 1 }, { 0 }
};
static const struct row crowd_rows[] = {
    { "crowd.door", "through the door's proxy" },
    { "crowd.straight", "straight to the server" },
    { 0 }
};

static const struct column file_columns[] = {
    { "read_4k_ns", "read 4 KiB", US, 1 }, { "read_64k_ns", "read 64 KiB", US, 1 },
    { "write_4k_ns", "write 4 KiB", US, 1 }, { "write_64k_ns", "write 64 KiB", US, 1 },
    { "open_close_ns", "open + close", US, 1 }, { 0 }
};
static const struct row file_rows[] = {
    { "file.nacre", "nacre, jailed worker, policy workspace" },
    { "file.engine", "engine's WASI" },
    { "file.native", "native" },
    { 0 }
};

static const struct column client_columns[] = {
    { "per_s_1", "1 client", 1, 0 }, { "per_s_2", "2 clients", 1, 0 },
    { "per_s_8", "8 clients", 1, 0 }, { 0 }
};
static const struct row client_rows[] = {
    { "clients.worker", "nacre, a jailed worker for each client" },
    { "clients.inprocess", "nacre, in-process" },
    { "clients.engine.sink", "engine's WASI, stdout to a sink" },
    { "clients.engine.file", "engine's WASI, stdout to a file (memfd, read back)" },
    { "clients.engine.callback", "engine's WASI, stdout to a callback" },
    { 0 }
};

static const struct column live_columns[] = { { "bytes", "KiB", KIB, 1 }, { 0 } };
static const struct row live_rows[] = {
    { "live.worker", "nacre, one more jailed worker with a guest in it" },
    { "live.inprocess", "nacre, one more guest in-process" },
    { "live.engine", "engine's WASI, one more instance in the process" },
    { 0 }
};

static const struct column leak_columns[] = { { "bytes_per_s", "MB/s", MB, 0 }, { 0 } };
static const struct row leak_rows[] = {
    { "leak.values.source", "8 values in every spelling, source code" },
    { "leak.values.english", "8 values in every spelling, English" },
    { "leak.patterns.source", "22 patterns, source code" },
    { "leak.patterns.english", "22 patterns, English" },
    { "leak.both.source", "both, source code" },
    { "leak.both.english", "both, English" },
    { 0 }
};

static const struct row read_rows[] = {
    { "tool.read", "nacre, `read` through the whole door, from the library" },
    { "tool.read.run", "the same module without the door" },
    { "tool.program", "`nacre tool call read`, the program from start to end" },
    { "tool.docker.exec", "docker exec cat" },
    { "tool.node", "node's fs.readFile in a warm process, no sandbox" },
    { 0 }
};
static const struct row grep_rows[] = {
    { "tool.grep", "nacre, `grep` through the whole door, from the library" },
    { "tool.grep.run", "the same module without the door" },
    { "tool.ripgrep", "ripgrep, as many threads as it likes" },
    { "tool.ripgrep.one", "ripgrep, one thread" },
    { 0 }
};

const struct section report_sections[] = {
    { "The levels",
      "One call of a tool that does nothing, from asking to its result, audit records "
      "on; but for `none` the same figures as below.",
      level_columns, level_rows },
    { "A fresh instance for each call",
      "The same hello.wasm everywhere, Extism and docker apart. nacre: audit records on, "
      "output captured, unless it says otherwise. The engine's side: module linked "
      "beforehand, instances from a pool, fuel and epochs on and the same memory limit, "
      "as nacre has them.",
      call_columns, call_rows },
    { "Cold: a program from start to end",
      "nacre's code cache is warm. nacre meters fuel and writes audit records, the "
      "wasmtime program does neither.",
      cold_columns, cold_rows },
    { "Level process: /bin/true in a sandbox of its own",
      "nacre has seccomp, Landlock, a channel and a read-back of every wall beyond what "
      "bwrap is asked for.",
      cold_columns, process_rows },
    { "Level container: /bin/true in a warm one, and in one of its own",
      "An engine of the bench's own with runc, the same image and the same limits. Each "
      "container of nacre's is read back twice before anything runs in it.",
      cold_columns, container_rows },
    { "An HTTPS request",
      "In the test network, whose servers are on this machine. The door judges, asks the "
      "name servers for each request, scans by 22 patterns, and is a process of its own; "
      "libcurl asks them once a minute.",
      cold_columns, request_rows },
    { "Connections at once",
      "Of one tool, all open from the first request to the last. The server is a test's, "
      "and most of the time is its own.",
      crowd_columns, crowd_rows },
    { "Files, µs for each operation", "Measured inside the guest, by its own clock.",
      file_columns, file_rows },
    { "Throughput, calls per second", "Each client a thread; audit records on.",
      client_columns, client_rows },
    { "Memory for each further live instance",
      "PSS of the caller and of all its processes, what they share counted once.",
      live_columns, live_rows },
    { "Leak scan of clean text",
      "By one thread's processor time; in pieces of 64 KiB, as output comes, and given "
      "out again.",
      leak_columns, leak_rows },
    { "A tool reads a small file",
      "The door: manifest, schema of the arguments, policy, a fresh instance in a jailed "
      "worker, the answer judged, audit records on. 2,000 bytes of text.",
      call_columns, read_rows },
    { "A tool searches a source tree",
      "This project's own, by a regular expression, ignore files kept; ripgrep is a "
      "process of its own for each search, without a sandbox.",
      cold_columns, grep_rows },
    { 0 }
};

const struct aim report_aims[] = {
    { "in-process against the engine's WASI, inherited stdout (/dev/null)",
      "call.inprocess", "p50_ns", "call.engine.null", "p50_ns", false, 1.0 },
    { "the same with nacre's audit off (the engine's side has none)",
      "call.inprocess.quiet", "p50_ns", "call.engine.null", "p50_ns", false, 1.0 },
    { "in-process against the engine's WASI, captured by callback",
      "call.inprocess", "p50_ns", "call.engine.callback", "p50_ns", false, 0.2 },
    { "in-process against the engine's WASI, captured in a file",
      "call.inprocess", "p50_ns", "call.engine.file", "p50_ns", false, 0.2 },
    { "jailed worker against the engine's WASI, captured by callback",
      "call.worker", "p50_ns", "call.engine.callback", "p50_ns", false, 1.0 / 3 },
    { "jailed worker against the engine's WASI, captured in a file",
      "call.worker", "p50_ns", "call.engine.file", "p50_ns", false, 1.0 / 3 },
    { "cold run against the wasmtime program",
      "cold.nacre", "p50_ns", "cold.wasmtime", "p50_ns", false, 0.8 },
    { "cold run with a directory against the wasmtime program with one",
      "cold.nacre.workspace", "p50_ns", "cold.wasmtime.dir", "p50_ns", false, 0.8 },
    { "level process from the library against bwrap",
      "process.nacre", "p50_ns", "process.bwrap", "p50_ns", false, 2.0 / 3 },
    { "level process, nacre run against bwrap",
      "process.program", "p50_ns", "process.bwrap", "p50_ns", false, 1.0 },
    { "a command in a warm container from the library against docker exec",
      "warm.nacre", "p50_ns", "warm.docker.exec", "p50_ns", false, 1.0 / 30 },
    { "the same against the engine's exec by its API",
      "warm.nacre", "p50_ns", "warm.api.exec", "p50_ns", false, 1.0 / 30 },
    { "a command in a warm container, nacre exec --session against docker exec",
      "warm.program", "p50_ns", "warm.docker.exec", "p50_ns", false, 1.0 },
    { "a container of its own from the library against docker run",
      "fresh.nacre", "p50_ns", "fresh.docker.run", "p50_ns", false, 1.0 },
    { "a container of its own, nacre run against docker run",
      "fresh.program", "p50_ns", "fresh.docker.run", "p50_ns", false, 1.0 },
    { "an HTTPS request through a door against plain libcurl, both asking for the name",
      "https.door.fresh", "p50_ns", "https.curl.asking", "p50_ns", false, 1.1 },
    { "the same against libcurl that asks once a minute",
      "https.door.fresh", "p50_ns", "https.curl.fresh", "p50_ns", false, 1.1 },
    { "connections that a door holds at once against the server's own 500",
      "crowd.door", "held", "crowd.straight", "held", true, 1.0 },
    { "reading 4 KiB: the engine's WASI against nacre",
      "file.engine", "read_4k_ns", "file.nacre", "read_4k_ns", true, 10.0 },
    { "reading 64 KiB: the engine's WASI against nacre",
      "file.engine", "read_64k_ns", "file.nacre", "read_64k_ns", true, 3.0 },
    { "leak scan for values, source code, MB/s",
      "leak.values.source", "bytes_per_s", NULL, NULL, true, 500, MB },
    { "leak scan for values, English, MB/s",
      "leak.values.english", "bytes_per_s", NULL, NULL, true, 500, MB },
    { "leak scan for patterns, source code, MB/s",
      "leak.patterns.source", "bytes_per_s", NULL, NULL, true, 100, MB },
    { "leak scan for patterns, English, MB/s",
      "leak.patterns.english", "bytes_per_s", NULL, NULL, true, 100, MB },
    { "a small file read by a tool, through the whole door, against docker exec cat",
      "tool.read", "p50_ns", "tool.docker.exec", "p50_ns", false, 1.0 / 500 },
    { "a source tree searched by a tool against ripgrep",
      "tool.grep", "p50_ns", "tool.ripgrep", "p50_ns", false, 3.0 },
    { 0 }
};
