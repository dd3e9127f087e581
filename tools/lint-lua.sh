#!/usr/bin/env bash
# Runs luacheck on the Lua scripts as Redis gets them: with their fragments included, so that names
# of a fragment are known where they are used. Warnings name the line of the original file.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v luacheck >/dev/null; then
  echo "No luacheck: the scripts are not checked"
  exit 0
fi

joined=$(mktemp -d)
trap 'rm -rf "$joined"' EXIT

for script in lua/*/*.lua; do
  [[ $script == lua/fragments/* || $script == lua/judge/* ]] && continue
  # A file for each script. Its name contains the folder: two scripts are named
  # claim.lua.
  name=${script#lua/}
  # A fragment serves several scripts; none of them uses all of it. So unused names and values
  # (211, 231, 311) and shadowing (43) in a fragment are no fault.
  awk -v map="$joined/map" -v out="$joined/${name//\//.}" -v script="$script" '
    function put(line, file, number) {
      print line > out
      print out ":" ++lines, file ":" number >> map
    }
    function join(file, line, number, fragment) {
      while ((getline line < file) > 0) {
        number++
        if (line !~ /^--@include /) {
          put(line, file, number)
          continue
        }
        fragment = substr(line, length("--@include ") + 1)
        if (fragment in joined) continue # once, as lua/scripts.go does it
        joined[fragment] = 1
        fragment = "lua/" (fragment ~ /\// ? "" : "fragments/") fragment ".lua"
        put("-- luacheck: push ignore 211 231 311 43", file, number)
        join(fragment)
        put("-- luacheck: pop", file, number)
      }
      close(file)
    }
    BEGIN { join(script) }'
done

failed=0
luacheck --config .luacheckrc --formatter plain --codes "$joined"/*.lua >"$joined/warnings" || failed=$?
# A fault in a fragment is printed once.
awk -v map="$joined/map" '
  BEGIN { while ((getline line < map) > 0) { split(line, at, " "); origin[at[1]] = at[2] } }
  { split($0, part, ":"); key = part[1] ":" part[2]; print origin[key] substr($0, length(key) + 1) }
' "$joined/warnings" | sort -u
exit "$failed"
