#!/bin/sh
# Installs into a folder with a blank in its name, moves it, and builds the example scenario against it by every command
# of the documents; each plugin is then accepted by the installed program. Then stages a package, and removes it again.
# usage: test_consumer.sh CMAKE BUILD SOURCE CC BINDIR LIBDIR INCLUDEDIR
set -eu
cmake=$1 build=$2 source=$3 cc=$4 bin=$5 lib=$6 include=$7
work=$(mktemp -d "${TMPDIR:-/tmp}/pdhost-consumer-XXXXXX")
# What is installed here is not what `uninstall` is to remove later.
manifest=$build/install_manifest.txt
[ ! -e "$manifest" ] || cp "$manifest" "$work/manifest"
restore() { if [ -e "$work/manifest" ]; then cp "$work/manifest" "$manifest"; else rm -f "$manifest"; fi; }
trap 'restore; rm -rf "$work"' EXIT
unset PDHOST_PLUGIN_PATH DESTDIR

fail() { echo "$*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }; }

quietly "$cmake" --install "$build" --prefix "$work/first"
mkdir "$work/a prefix"
mv "$work/first" "$work/a prefix/pdhost"
prefix="$work/a prefix/pdhost"
for file in share/pdhost/conf/dataloader.ini share/pdhost/corpus/cpu_short.ini share/doc/pdhost/LICENSE \
  share/doc/pdhost/README.md share/doc/pdhost/README.zh.md share/doc/pdhost/docs/installing.md \
  share/doc/pdhost/docs/images; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done
# Nothing that was installed loads Python.
find "$prefix/$bin/pdhost" "$prefix/$lib" -type f \( -name pdhost -o -name '*.so' \) | while IFS= read -r file; do
  ! ldd "$file" | grep -q python || fail "$file needs Python"
done
PATH="$prefix/$bin:$PATH"
export PATH PKG_CONFIG_PATH="$prefix/$lib/pkgconfig" CMAKE_PREFIX_PATH="$prefix"

check() { # the plugin passes the conformance checks, and the moved program finds its own plugins beside itself
  quietly pdhost --check-plugin "$1"
  quietly pdhost --scenario "$1" --device auto --check
}

# The commands as they stand there, but for the compiler's name and the prefix.
mkdir "$work/there"
expanded=""
cp "$source/tests/fixtures/host_stall.c" "$work/there/"
[ "$(wc -l <"$work/there/host_stall.c")" -lt 60 ] || fail "the example has 60 lines or more"
cd "$work/there"
for document in writing-a-scenario.md installing.md; do
  grep '^cc -shared.* host_stall.c' "$source/docs/$document" >"$work/commands" || fail "$document has no command to build a plugin"
  while IFS= read -r command; do
    rm -f host_stall.so
    # What pkg-config prints is quoted for a shell, since there is a blank in it.
    eval "expanded=\"$command\""
    eval "$(printf '%s\n' "$expanded" | sed "s|^cc |'$cc' |; s|-I/usr/local/include|'-I$prefix/$include'|")" || fail "failed: $command"
    check ./host_stall.so
  done <"$work/commands"
  awk '/^```cmake$/ {on = 1; next} /^```$/ {on = 0} on' "$source/docs/$document" >CMakeLists.txt
  rm -rf build
  quietly "$cmake" -S . -B build -DCMAKE_C_COMPILER="$cc"
  quietly "$cmake" --build build
  check build/lib/pdhost/scenario/host_stall.so
done
[ -d "$(pkg-config --variable=plugindir pdhost | sed 's|\\||g')/scenario" ] || fail "pdhost.pc: plugindir is not there"
quietly "$cmake" --install build --prefix "$prefix"
cd "$work"
quietly pdhost --scenario host_stall --device auto --check # by its name

# A staged package is removed but for what is not pdhost's.
export DESTDIR="$work/stage"
quietly "$cmake" --install "$build" --prefix /opt/some
[ -x "$DESTDIR/opt/some/$bin/pdhost" ] || fail "DESTDIR: the program is not there"
echo mine >"$DESTDIR/opt/some/$lib/pdhost/scenario/mine.so"
quietly "$cmake" --build "$build" --target uninstall
left=$(cd "$DESTDIR" && find . ! -type d)
[ "$left" = "./opt/some/$lib/pdhost/scenario/mine.so" ] || fail "after uninstall: $left"
folders=$(find "$DESTDIR" -type d -name pdhost)
[ "$folders" = "$DESTDIR/opt/some/$lib/pdhost" ] || fail "after uninstall, folders: $folders"
echo "built by every command of the documents, accepted, staged and removed"
