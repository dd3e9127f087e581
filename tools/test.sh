#!/usr/bin/env bash
# Runs the tests of every module once. The short ones of packages that start goroutines run
# under the race detector, but not those of the programs, which only join these packages;
# "make race" runs all of them so. See tools/testrun. Two lanes run in parallel: packages
# mostly computes, integration mostly waits for real servers and the clock.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

if [ "${CI:-}" = true ] || command -v redis-server >/dev/null; then
  # A test that finds no redis-server then fails instead of skipping itself.
  export SENDLIMIT_REQUIRE_REDIS=1
else
  echo "No redis-server: tests that need one are skipped, the rest runs on the embedded store"
fi

# What is built without the race detector is built as by "make build", and only once.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

race=()
if [ "${CI:-}" != true ] && [ "$(go env CGO_ENABLED)" != 1 ]; then
  echo "No C compiler: the tests run without the race detector"
  race=(-norace)
fi

export CGO_ENABLED=0

failures=$(mktemp) # what the parts write to stderr: builds and tests that fail

testrun() { "$root/bin/testrun" "$@" 2> >(tee -a "$failures" >&2); }

part() { printf -- '-- %s (%d s)\n' "$1" "$SECONDS"; }

packages() {
  # Integration has priority, so that its messages are not late.
  renice -n 10 -p "$BASHPID" >/dev/null
  export GOGC=400 # a fifth less processor time for some more memory
  local names path folder racing=() others=()
  names=$(go list -f '{{.ImportPath}} {{.Dir}}' ./...) || return
  while read -r path folder; do
    if [[ $path != */cmd/* ]] &&
      find "$folder" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec grep -qE '\.Go\(|\bgo (func\b|[a-zA-Z.]+\()' {} +; then
      racing+=("$path")
    else
      others+=("$path")
    fi
  done <<<"$names"
  local failed=0 # one run tells everything that fails
  part "packages that start goroutines"
  testrun "${race[@]}" "${racing[@]}" || failed=1
  part "other packages"
  testrun -norace "${others[@]}" || failed=1
  part "bench and tools"
  (cd bench && testrun -norace -parallel 6 ./...) || failed=1 # they mostly wait
  (cd tools && go test -vet=off -shuffle=on ./testrun) 2> >(tee -a "$failures" >&2) || failed=1
  part "packages ended"
  return "$failed"
}

integration() {
  part "integration"
  (cd integration && testrun -norace -parallel 5 .) || return
  part "integration ended"
}

# lane runs a function, and prints its name before each line of output.
lane() {
  "$1" 2>&1 | while IFS= read -r line; do printf '%-11s | %s\n' "$1" "$line"; done
}

go build -C tools -o ../bin/testrun ./testrun

set -m # a lane is a process group, which ends as a whole
lane packages &
packages=$!
lane integration &
integration=$!
trap 'rm -f "$failures"' EXIT
trap 'kill -- -"$packages" -"$integration" 2>/dev/null; exit 130' INT TERM
status=0
wait "$packages" || status=1
wait "$integration" || status=1
if [ "$status" != 0 ]; then
  part "what failed"
  grep -v '^go: downloading' "$failures" || true
fi
exit "$status"
