#!/usr/bin/env bash
# Runs every module's tests, on the embedded store and, where redis-server is on the
# PATH, on a real Redis; then all but the long ones under the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${CI:-}" = true ] || command -v redis-server >/dev/null; then
  # A test that finds no redis-server fails rather than skips.
  export SENDLIMIT_REQUIRE_REDIS=1
else
  echo "No redis-server: tests that need one are skipped, the rest runs on the embedded store"
fi

# What runs in real time against real servers comes after the rest and by itself,
# so that it is not the tests of other packages that make its messages late.
mapfile -t packages < <(go list ./... | grep -v '/integration$')
part() { printf -- '-- %s (%d s)\n' "$1" "$SECONDS"; }
run() { go test -vet=off -shuffle=on -timeout 20m "$@"; } # the linters vet
part "packages"
run "${packages[@]}"
part "integration"
run -parallel 4 ./integration # they mostly wait
part "bench"
[ ! -f bench/go.mod ] || (cd bench && run ./...)

# The race detector makes code several times slower. Under it the tests leave out
# what shows it nothing new: see sendlimittest.Long.
if [ "${CI:-}" != true ] && [ "$(go env CGO_ENABLED)" != 1 ]; then
  echo "No C compiler: the tests run without the race detector"
  exit 0
fi
part "packages, race detector"
run -race -short "${packages[@]}"
part "integration, race detector"
run -race -short ./integration
