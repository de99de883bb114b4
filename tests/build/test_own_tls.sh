#!/bin/sh
# The variables of each thread in libpdhost_record.so take no memory from the heap on a thread of the program: they lie in
# the thread's first block, and are not found by a call.
set -eu
names=$("$1" -T "$2")
relocations=$("$1" -R "$2")
if printf '%s\n' "$names" "$relocations" | grep -E '__tls_get_addr|TLSDESC|DTPMOD'; then
  echo "$2: finds a variable of a thread by a call; give it tls_model(\"initial-exec\")"
  exit 1
fi
# It has such variables, and they would be seen.
for known in InitializeInjection 'TPOFF|TPREL'; do
  printf '%s\n' "$names" "$relocations" | grep -qE "$known" || { echo "$2: $1 does not show $known"; exit 1; }
done
