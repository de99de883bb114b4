#!/bin/sh
# Installs into a folder with a blank in its name, moves it, and builds the example scenario against it in three ways;
# each is then accepted by the installed program.
# usage: test_consumer.sh CMAKE BUILD PROJECT EXAMPLE CC BINDIR LIBDIR INCLUDEDIR
set -eu
cmake=$1 build=$2 project=$3 example=$4 cc=$5 bin=$6 lib=$7 include=$8
work=$(mktemp -d "${TMPDIR:-/tmp}/pdhost-consumer-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset PDHOST_PLUGIN_PATH

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mkdir "$work/a prefix"
mv "$work/first" "$work/a prefix/pdhost"
prefix="$work/a prefix/pdhost"
cp -r "$project" "$work/project"
cp "$example" "$work/project/host_stall.c"
[ "$(wc -l <"$example")" -lt 60 ] || { echo "the example has 60 lines or more"; exit 1; }

check() { # the plugin passes the conformance checks, and the moved program finds its own plugins beside itself
  "$prefix/$bin/pdhost" --check-plugin "$1" >"$work/check.log" || { echo "$2:"; cat "$work/check.log"; exit 1; }
  "$prefix/$bin/pdhost" --scenario "$1" --device auto --check >"$work/check.log" 2>&1 ||
    { echo "$2:"; cat "$work/check.log"; exit 1; }
}

"$cmake" -S "$work/project" -B "$work/by package" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 &&
  "$cmake" --build "$work/by package" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check "$work/by package/lib/pdhost/scenario/host_stall.so" "find_package"

export PKG_CONFIG_PATH="$prefix/$lib/pkgconfig"
eval "$cc" -shared -fPIC -fvisibility=hidden -Wl,-z,defs "$(pkg-config --cflags pdhost)" "'$work/project/host_stall.c'" \
  -o "'$work/by_pkg_config.so'"
check "$work/by_pkg_config.so" "pkg-config"
[ -d "$(pkg-config --variable=plugindir pdhost | tr -d '\\')/scenario" ] || { echo "pdhost.pc: plugindir is not there"; exit 1; }

"$cc" -shared -fPIC -I"$prefix/$include" "$work/project/host_stall.c" -o "$work/by_cc.so"
check "$work/by_cc.so" "bare cc"
echo "built and accepted by find_package, pkg-config and bare cc"
