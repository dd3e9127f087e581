#!/usr/bin/env bash
# Runs every module's tests with the race detector, on the embedded store and,
# where redis-server is on the PATH, on a real Redis.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${CI:-}" = true ] || command -v redis-server >/dev/null; then
  # A test that finds no redis-server fails rather than skips.
  export SENDLIMIT_REQUIRE_REDIS=1
else
  echo "No redis-server: tests that need one are skipped, the rest runs on the embedded store"
fi

race=-race
if [ "${CI:-}" != true ] && [ "$(go env CGO_ENABLED)" != 1 ]; then
  echo "No C compiler: the tests run without the race detector"
  race=
fi

# What runs in real time against real servers comes after the rest and by itself,
# so that it is not the tests of other packages that make its messages late.
mapfile -t packages < <(go list ./... | grep -v '/integration$')
go test ${race:+"$race"} -shuffle=on -timeout 20m "${packages[@]}"
go test ${race:+"$race"} -shuffle=on -timeout 20m ./integration

if [ -f bench/go.mod ]; then
  (cd bench && go test ${race:+"$race"} -shuffle=on -timeout 20m ./...)
fi
