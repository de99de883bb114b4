# For scripts that build: what they are doing, and how long it has taken. `caller` is the script's name.
# shellcheck shell=bash disable=SC2154
# say WORDS...: a line with the seconds since the script began
say() { printf '%s: [%3d s] %s\n' "$caller" "$SECONDS" "$*" >&2; }

# quietly FILE COMMAND...: its output goes to FILE, and is shown when it fails
quietly() {
  mkdir -p "${1%/*}"
  "${@:2}" >"$1" 2>&1 || { cat "$1" >&2; say "this failed: ${*:2} (its output is in $1)"; return 1; }
}

# build_release OPTION...: configures and builds the release preset; on a terminal ninja shows how far it is
build_release() {
  say "configuring"
  quietly build/"$caller"-configure.log cmake --preset release "$@"
  grep -hE '^-- (CPU|CUDA) device: ' build/"$caller"-configure.log | sed "s/^-- /$caller: /" >&2 || true
  say "building"
  if [ -t 2 ]; then cmake --build --preset release >&2; else quietly build/"$caller"-build.log cmake --build --preset release; fi
}
