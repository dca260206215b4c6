"""extism_calls.py PLUGIN COUNT: a fresh instance for each call, and a warm one, by turns.

Both come from a plugin that was compiled beforehand, as nacre's code is.
"""
import sys
import time

from extism.extism import CompiledPlugin, Plugin

EXPECTED = b"Hello from inside Extism\n"
BLOCK = 50


def call(plugin):
    output = plugin.call("hello", b"")
    if bytes(output) != EXPECTED:
        sys.exit(f"extism_calls: unexpected output {output!r}")


def timed(work):
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


def report(row, samples):
    samples.sort()
    print(f"{row}\tp50_ns\t{samples[len(samples) // 2]}")
    print(f"{row}\tp99_ns\t{samples[len(samples) * 99 // 100]}")


def main():
    with open(sys.argv[1], "rb") as file:
        module = file.read()
    count = int(sys.argv[2])
    compiled = CompiledPlugin(module)
    warm = Plugin(compiled)
    fresh_ns, warm_ns = [], []
    for _ in range(min(count, BLOCK)):
        call(warm)
        call(Plugin(compiled))
    while len(warm_ns) < count:
        for _ in range(min(BLOCK, count - len(warm_ns))):
            fresh_ns.append(timed(lambda: call(Plugin(compiled))))
            warm_ns.append(timed(lambda: call(warm)))
    report("call.extism.fresh", fresh_ns)
    report("call.extism.warm", warm_ns)


main()
