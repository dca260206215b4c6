#!/bin/bash
# banned.sh TREE: functions that have no place in a sandbox's host.  Comments and
# strings may name them.
set -euo pipefail
cd "$1"

banned='strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|system|popen|mktemp|tmpnam'
mapfile -t files < <(find host backends wasi-shims -name '*.[ch]' | sort)
if [[ ${#files[@]} == 0 ]]; then
    echo "no C file found below $1: is it the source tree?"
    exit 1
fi
# A comment or string gives way to as many line ends as it held, so that the numbers of
# the lines stay right.
found=$(perl -0777 -ne '
    s{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27|/\*.*?\*/|//[^\n]*)}
     { my $text = $1; $text =~ s/[^\n]//g; "\x27\x27$text" }gse;
    my $line = 0;
    for (split /\n/) {
        $line++;
        print "$ARGV:$line: $1() is banned\n" while /(?<![\w.>])('"$banned"')\s*\(/g;
    }' "${files[@]}")
if [[ $found ]]; then
    echo "$found"
    exit 1
fi
echo "${#files[@]} files, none uses a banned function"
