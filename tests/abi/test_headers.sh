#!/bin/sh
# Every public header alone, as C11, C17 and C++11, by each compiler that is here: no warning, no padding.
# usage: test_headers.sh INCLUDE_FOLDER
failed=0
compilers=0
for pair in "gcc g++" "clang clang++"; do
  set -- "$1" $pair
  command -v "$2" >/dev/null && command -v "$3" >/dev/null || continue
  compilers=$((compilers + 1))
  for header in "$1"/pdhost/*.h; do
    for standard in c11 c17; do
      echo "#include \"$header\"" | "$2" -x c -std=$standard -Wall -Wextra -Wpadded -Wpedantic -Werror -fsyntax-only \
        -I"$1" - || { echo "$2 $standard: $header"; failed=1; }
    done
    echo "#include \"$header\"" | "$3" -x c++ -std=c++11 -Wall -Wextra -Wpadded -Wpedantic -Werror -fsyntax-only \
      -I"$1" - || { echo "$3 c++11: $header"; failed=1; }
  done
done
[ $compilers -gt 0 ] || { echo "neither gcc nor clang"; exit 1; }
exit $failed
