#!/bin/sh
# The examples of the guides are files that the tests build.
# usage: test_docs.sh SOURCE_FOLDER
failed=0
compare() {
  awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$1/docs/$2" | diff - "$1/$3" || failed=1
}
compare "$1" writing-a-scenario.md tests/fixtures/host_stall.c
compare "$1" writing-a-sink.md tests/fixtures/kernel_list.c
compare "$1" writing-a-reader.md core/cli/templates/reader.c
compare "$1" writing-a-benchmark.md plugins/vec_dot/vec_dot.c
exit $failed
