# For scripts/test and .ci/run: how long the build and the tests take. Where the tests have run, ctest has kept what each
# took; for those that have not, and for the build, tests/pace has what .ci/run measured.
# shellcheck shell=bash

# pace_of NAME: its number in tests/pace
pace_of() { awk -v name="$1" '$1 == name { print $2 }' tests/pace; }

# about SECONDS: in words
about() { awk -v s="$1" 'BEGIN { if (s < 100) printf "about %d s", s < 1 ? 1 : s + 0.5; else printf "about %d min", s / 60 + 0.5 }'; }

pace_build() { about "$(($(pace_of build) / $(nproc)))"; }

# pace_chosen PRESET CTEST_ARGUMENT...: the names of the tests that these choose
pace_chosen() { ctest --preset "$1" -N "${@:2}" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: *\([^ ]*\).*/\1/p'; }

# pace_sum PRESET NAME...: how many tests these are, and the seconds that they take one after the other
pace_sum() {
  local costs=build/release/Testing/Temporary/CTestCostData.txt
  [ -e "$costs" ] || costs=/dev/null
  awk -v names="${*:2}" -v unknown="$(pace_of "$1")" '
    $1 == "---" { exit }
    $2 > 0 { cost[$1] = $3 }
    END {
      n = split(names, name, " ")
      for (i = 1; i <= n; i++) sum += name[i] in cost ? cost[name[i]] : unknown
      print n, sum + 0
    }' "$costs"
}

# pace_tests PRESET JOBS CTEST_ARGUMENT...: in words, for a tree that is configured
pace_tests() {
  local names count sum share
  mapfile -t names < <(pace_chosen "$1" "${@:3}")
  read -r count sum < <(pace_sum "$1" ${names[@]+"${names[@]}"})
  # What of the sum passes on the clock: as the last whole run showed, since some tests run alone.
  share=$(cat "build/release/pace-$1" 2>/dev/null || awk -v jobs="$2" 'BEGIN { print 1 / jobs }')
  echo "$count tests, $(about "$(awk -v sum="$sum" -v share="$share" 'BEGIN { print sum * share }')")"
}

# pace_keep PRESET SECONDS: after a whole run of so long
pace_keep() {
  local names
  mapfile -t names < <(pace_chosen "$1")
  pace_sum "$1" ${names[@]+"${names[@]}"} | awk -v wall="$2" '$2 > 0 { print wall / $2 }' >"build/release/pace-$1"
}

# pace_refresh BUILD_SECONDS: after whole runs of both presets; writes tests/pace anew where a figure is off by half
pace_refresh() {
  local fresh=build/pace preset names count sum share
  {
    echo "# Seconds, as .ci/run measured them and wrote them here: scripts/test reckons with them where it has not run yet."
    echo "cores $(nproc)"
    echo "build $(($1 * $(nproc)))"
    for preset in release timing; do
      mapfile -t names < <(pace_chosen "$preset")
      read -r count sum < <(pace_sum "$preset" ${names[@]+"${names[@]}"})
      share=$(cat "build/release/pace-$preset")
      awk -v preset="$preset" -v count="$count" -v sum="$sum" -v share="$share" \
        'BEGIN { printf "%s %.1f\nall_%s %.0f\n", preset, sum / count, preset, sum * share }'
    done
  } >"$fresh"
  # Both files have one number a line, by the same names.
  if ! awk 'FNR == 1 { next } NR == FNR { old[$1] = $2; next }
      !($1 in old) || $2 > 1.5 * old[$1] || old[$1] > 1.5 * $2 { exit 1 }' tests/pace "$fresh" 2>/dev/null; then
    cp "$fresh" tests/pace
  fi
}
