#!/bin/sh
# Every plugin given exports pd_plugin_entry and nothing else.
failed=0
for plugin in "$@"; do
  names=$(nm -D --defined-only "$plugin" | awk '{print $3}' | tr '\n' ' ')
  if [ "$names" != "pd_plugin_entry " ]; then
    echo "$plugin exports: $names"
    failed=1
  fi
done
[ $# -gt 0 ] && exit $failed
echo "no plugins given"
exit 1
