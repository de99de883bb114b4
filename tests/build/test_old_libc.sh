#!/bin/sh
# No name of the C library that libpdhost_record.so needs is newer than glibc 2.17 (2012).
set -eu
newest=2.17
versions=$("$1" -T "$2" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu)
[ -n "$versions" ] || { echo "$2: names no version of the C library"; exit 1; }
last=$(printf '%s\n' "$versions" "$newest" | sort -V | tail -1)
[ "$last" = "$newest" ] && exit 0
"$1" -T "$2" | grep "GLIBC_$last"
echo "$2: needs glibc $last, and is to need $newest at most; see core/inject/inject_old_libc.c"
exit 1
