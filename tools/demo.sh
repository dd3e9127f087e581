#!/usr/bin/env bash
# Shows everything on the embedded store, within a minute: a worker, 2,000 submits with their
# refusals, and a few deliveries at their time. It fails if anything is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
worker=
clean_up() {
  if [ -n "$worker" ]; then
    kill "$worker" 2>/dev/null || true
    wait "$worker" || true
  fi
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
  printf '\n== %s\n\n' "$*"
}

fail() {
  printf '\nThe demo failed: %s. The worker says:\n' "$*" >&2
  cat "$folder/worker.log" >&2
  exit 1
}

# await CONDITION… waits up to 20 seconds until the condition succeeds.
await() {
  local last=$((SECONDS + 20))
  until "$@"; do
    [ "$SECONDS" -lt "$last" ] || return 1
    sleep 0.1
  done
}

# The variables that describe the terminal.
terminal=()
for name in TERM NO_COLOR LANG LC_ALL LC_CTYPE; do
  [ -z "${!name:-}" ] || terminal+=("$name=${!name}")
done

# shown PROGRAM ARGUMENT… prints a command line, and runs the program in the folder of
# the demo. It gets only the settings of the demo, not those of the environment.
shown() {
  local argument
  printf '$'
  for argument in "$@"; do
    case $argument in
      *\ *) printf " '%s'" "$argument" ;;
      *) printf ' %s' "$argument" ;;
    esac
  done
  printf '\n'
  (cd "$folder" && env -i "${terminal[@]}" SENDLIMIT_LISTEN="$address" "./$1" "${@:2}")
}

say "Building the programs"
go build -o bin/ ./cmd/sendlimit-worker ./cmd/sendlimit ./sendlimit/sendlimittest/cmd/traffic
ln -s "$PWD"/bin/{sendlimit-worker,sendlimit,traffic} "$folder/"
echo "sendlimit-worker, sendlimit"

say "Starting a worker with nothing installed"
env -i "$folder/sendlimit-worker" --listen 127.0.0.1:0 --log-format json \
  >"$folder/deliveries" 2>"$folder/worker.log" &
worker=$!
await grep -q '"msg":"delivering"' "$folder/worker.log" || fail "the worker does not start"
address=$(sed -n 's|.*"url":"http://\([^"]*\)/v1/".*|\1|p' "$folder/worker.log")
echo "It has its own store, in memory until it ends. The commands use its API, at $address."
shown sendlimit-worker policy show

lines=2000
"$folder/traffic" -lines "$lines" >"$folder/traffic.ndjson" 2>"$folder/source"
say "Submitting $lines messages of the coming year ($(cat "$folder/source"))"
shown sendlimit bulk traffic.ndjson --results outcomes
judged=$(grep -c -E '"outcome":"(accepted|refused)"' "$folder/outcomes" || true)
[ "$judged" -eq "$lines" ] || fail "$judged of $lines messages were judged"
grep -q '"outcome":"refused"' "$folder/outcomes" || fail "no message was refused"

say "Submitting a few that are due in seconds"
users=(ada bob cyd dee eve)
for user in "${users[@]}"; do
  shown sendlimit push --user "$user" --at +4s --id "hello-$user" --title "Hello $user"
done
echo
status=0
shown sendlimit push --user ada --at +30s --title "Too soon" || status=$?
[ "$status" -eq 3 ] || fail "a message too soon after another ended with status $status, not 3"

say "Deliveries, a line each, at their time"
delivered() {
  [ "$(wc -l <"$folder/deliveries")" -ge "${#users[@]}" ]
}
await delivered || fail "of ${#users[@]} due messages, $(wc -l <"$folder/deliveries") were delivered"
cat "$folder/deliveries"
for user in "${users[@]}"; do
  line=$(grep "\"id\":\"hello-$user\"" "$folder/deliveries") || fail "the message to $user was not delivered"
  [ "$(wc -l <<<"$line")" -eq 1 ] || fail "the message to $user was delivered twice"
  send_at=$(grep -o '"send_at":"[^"]*"' <<<"$line" | cut -d '"' -f 4)
  delivered_at=$(grep -o '"delivered_at":"[^"]*"' <<<"$line" | cut -d '"' -f 4)
  [[ ! "$delivered_at" < "$send_at" ]] || fail "the message to $user was delivered early"
done

say "Stopping the worker"
kill "$worker"
status=0
wait "$worker" || status=$?
worker=
[ "$status" -eq 0 ] || fail "the worker ended with status $status"
echo "Done in $SECONDS seconds. To try it yourself: go run ./cmd/worker"
