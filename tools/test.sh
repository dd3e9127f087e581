#!/usr/bin/env bash
# Runs the tests of every module with tools/testrun. Arguments are passed on: names of parts, or
# -seed with the seed of an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${CI:-}" = true ] || command -v redis-server >/dev/null; then
  # A test that finds no redis-server then fails instead of skipping itself.
  export SENDLIMIT_REQUIRE_REDIS=1
else
  echo "No redis-server: tests that need one are skipped, the rest runs on the embedded store"
fi

# Programs without the race detector are built as by "make build", and only once: several tests link
# them at the same time, and would all compile the same packages.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

norace=()
if [ "${CI:-}" != true ] && [ "$(go env CGO_ENABLED)" != 1 ]; then
  echo "No C compiler: the tests run without the race detector"
  norace=(-norace)
fi

CGO_ENABLED=0 go build -C tools -o ../bin/testrun ./testrun
CGO_ENABLED=0 go build ./cmd/worker/command ./cmd/enqueue/command
exec bin/testrun "${norace[@]}" "$@"
