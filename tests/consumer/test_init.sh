#!/bin/sh
# What `pdhost init` writes for a plugin of each kind builds without a warning against an installed pdhost, by CMake and by
# make, and passes the conformance checks.
# usage: test_init.sh CMAKE BUILD CC CXX BINDIR LIBDIR
set -eu
cmake=$1 build=$2 cc=$3 cxx=$4 bin=$5 lib=$6
work=$(mktemp -d "${TMPDIR:-/tmp}/pdhost-init-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PDHOST_PLUGIN_PATH
flags="-O1 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"

fail() { # what was done, then the log of it
  echo "$1:"
  cat "$work/log"
  exit 1
}

prefix="$work/prefix"
"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || fail install
export PKG_CONFIG_PATH="$prefix/$lib/pkgconfig"

try() { # a name, then the options of init
  name=$1
  shift
  "$prefix/$bin/pdhost" init "$@" "$work/$name" >"$work/log" 2>&1 || fail "init $name"
  "$cmake" -S "$work/$name" -B "$work/$name/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >"$work/log" 2>&1 &&
    "$cmake" --build "$work/$name/build" >>"$work/log" 2>&1 || fail "$name by CMake"
  ctest --test-dir "$work/$name/build" --output-on-failure >"$work/log" 2>&1 || fail "ctest of $name"
  make -C "$work/$name" CC="$cc" CXX="$cxx" CFLAGS="$flags" CXXFLAGS="$flags" PDHOST="$prefix/$bin/pdhost" check \
    >"$work/log" 2>&1 || fail "$name by make"
  grep -q '0 failed$' "$work/log" || fail "make check of $name"
  echo "$name: built and checked by CMake and by make"
}

try stall --scenario stall
try feed --sink feed
try toy --device toy
try notes --reader notes
if [ -n "$cxx" ]; then
  try stall_cpp --scenario stall_cpp --lang c++
  try feed_cpp --sink feed_cpp --lang c++
fi
