#!/usr/bin/env bash
# Runs the histories on servers that speak Redis' protocol, and writes the table of docs/redis.md.
# Each argument is a server program, such as /usr/bin/valkey-server; the default is redis-server. The
# logs stay in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- redis-server

# The columns of the table, each with its test.
columns=(
  "Rules=TestHistoriesOnRedis"
  "Counters=TestHistoriesOnRedis/counters"
  "Accounts=TestAWorldInWhichProcessesDie"
  "Paces=TestHistoriesOnRedis/permits"
  "Deliveries=TestAWorldInWhichProcessesDie"
  "Killed=TestAWorldOnRedis"
  "Replicas=TestReplicasHaveWhatWasAnswered"
  "Cluster=TestHistoriesOnACluster"
  "Sentinel=TestProgramsFollowSentinels"
  "TLS=TestRealRedisWithTLS"
  "ACL=TestLeastRightsOnRedis"
)

# both runs the tests of both modules.
both() { go test -C integration "$@" .; go test "$@" ./cmd/internal/store; }

logs=$(mktemp -d)
echo "Logs: $logs" >&2
header="| server |" line="| --- |" tests=""
for column in "${columns[@]}"; do
  header+=" ${column%%=*} |" line+=" --- |"
  test=${column#*=} tests+="|${test%%/*}"
done
printf '%s\n%s\n' "$header" "$line" >"$logs/table"
for server in "$@"; do
  version=$("$server" --version | sed -E 's/^([A-Za-z]+) server v=([^ ]+).*/\1 \2/')
  log="$logs/${version// /-}.log"
  SENDLIMIT_TEST_REDIS_SERVER=$server SENDLIMIT_REQUIRE_REDIS=1 both -count=1 -timeout 30m -run "^(${tests#|})\$" -v >"$log" 2>&1 || true
  row="| $version |"
  for column in "${columns[@]}"; do
    if grep -q "^ *--- PASS: ${column#*=} " "$log"; then row+=" yes |"; else row+=" no |"; fi
  done
  echo "$row" | tee -a "$logs/table"
done

# The table is between two comments.
awk -v table="$logs/table" '
  /<!-- compatible -->/ { print; while ((getline text < table) > 0) print text; inside = 1; next }
  /<!-- end -->/ { inside = 0 }
  !inside { print }
' docs/redis.md >"$logs/redis.md"
cp "$logs/redis.md" docs/redis.md
