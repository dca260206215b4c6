#!/bin/bash
# no_copies.sh TREE: the engine's calls that copy files out of or into a container follow
# links inside it, and so are never made.  Their paths stand in no string; comments may name
# them.
set -euo pipefail
cd "$1"

mapfile -t files < <(find backends/docker -name '*.[ch]' | sort)
if [[ ${#files[@]} == 0 ]]; then
    echo "no C file found below $1/backends/docker: is it the source tree?"
    exit 1
fi
# Strings that stand side by side are one, and a comment is as many line ends as it held.
found=$(perl -0777 -ne '
    s{("(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27)|(/\*.*?\*/|//[^\n]*)}
     { my ($text, $comment) = ($1, $2); $comment //= ""; $comment =~ s/[^\n]//g;
       defined $text ? $text : $comment }gse;
    while (/((?:"(?:\\.|[^"\\\n])*"\s*)+)/g) {
        my ($from, $text) = ($-[0], $1);
        my $line = 1 + (substr($_, 0, $from) =~ tr/\n//);
        $text =~ s/"\s*"//g;
        print "$ARGV:$line: $1 copies through links of the container\n"
            if $text =~ m{(/archive|/copy)\b};
    }' "${files[@]}")
if [[ $found ]]; then
    echo "$found"
    exit 1
fi
echo "${#files[@]} files, none copies out of or into a container"
