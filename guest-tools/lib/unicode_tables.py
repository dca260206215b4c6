#!/usr/bin/env python3
"""Writes unicode_tables.inc: the general category of every code point as runs, and the
orbits of simple case folding as runs of (first, last, step, delta to the next of the
orbit).  Run it when Unicode's version is to be a newer one: unicode_tables.py > FILE."""
import sys
import unicodedata

NAMES = ["Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd",
         "Nl", "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl",
         "Zp", "Zs"]


def categories():
    runs, last = [], None
    for point in range(0x110000):
        index = NAMES.index(unicodedata.category(chr(point)))
        if index != last:
            runs.append((point, index))
            last = index
    return runs


def single(text, point):
    return ord(text) if len(text) == 1 else point


def orbits():
    """Classes of code points that fold to the same; the dotless and dotted i fold in
    Turkic languages only."""
    group = {}
    for point in range(0x110000):
        if 0xd800 <= point < 0xe000 or point in (0x130, 0x131):
            continue
        char = chr(point)
        near = {point, single(char.lower(), point), single(char.upper(), point),
                single(char.casefold(), point)} - {0x130, 0x131}
        if len(near) == 1:
            continue
        merged = set(near)
        for other in near:
            merged |= group.get(other, set())
        for other in merged:
            group[other] = merged
    following = {}
    for members in group.values():
        ring = sorted(members)
        for at, point in enumerate(ring):
            following[point] = ring[(at + 1) % len(ring)]
    return following


def fold_runs(following):
    left = dict(following)
    runs = []
    for point in sorted(following):
        if point not in left:
            continue
        delta = left[point] - point
        best = [point]
        for step in (1, 2):
            run = [point]
            while left.get(run[-1] + step, -1) - run[-1] - step == delta:
                run.append(run[-1] + step)
            if len(run) > len(best):
                best, best_step = run, step
        for member in best:
            del left[member]
        runs.append((best[0], best[-1], best_step if len(best) > 1 else 1, delta))
    return runs


def rows(cells, width):
    line = "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > width:
            print(line)
            line = "   "
        line += " " + cell + ","
    print(line)


print("/* Written by unicode_tables.py from Unicode %s; not to be edited. */"
      % unicodedata.unidata_version)
print("static const char unicode_names[][3] = {")
rows(['"%s"' % name for name in NAMES], 90)
print("};\n\n/* code point << 5 | index in unicode_names */")
print("static const uint32_t unicode_runs[] = {")
rows(["0x%x" % (point << 5 | index) for point, index in categories()], 90)
print("};\n\nstatic const struct fold_run fold_runs[] = {")
rows(["{ 0x%x, 0x%x, %d, %d }" % run for run in fold_runs(orbits())], 90)
print("};")
