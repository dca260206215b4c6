"""dumped.py VALUE PID...: which of these processes would leave VALUE in a core dump: in
memory that may be read and is not left out of dumps (MADV_DONTDUMP)."""

import sys


def dumped(pid):
    """Each range that a dump holds."""
    bounds = None
    with open(f"/proc/{pid}/smaps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                bounds = [int(word, 16) for word in words[0].split("-")]
                if "r" not in words[1] or "[v" in line:
                    bounds = None
            elif words[0] == "VmFlags:" and bounds and "dd" not in words and "io" not in words:
                yield bounds


def holds(pid, value):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end in dumped(pid):
            try:
                memory.seek(begin)
                if value in memory.read(end - begin):
                    return True
            except OSError:
                pass  # it went meanwhile
    return False


for number in sys.argv[2:]:
    try:
        if holds(number, sys.argv[1].encode()):
            with open(f"/proc/{number}/comm", encoding="ascii") as name:
                print(number, name.read().strip())
    except OSError:
        pass  # it has ended, or lets nobody look
