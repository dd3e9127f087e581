#!/usr/bin/env bash
# Searches the code that the programs call for known vulnerabilities. It ends with 3 if one is found,
# and with 1 if their database can't be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
database=${GOVULNDB:-https://vuln.go.dev}

if ! curl --silent --show-error --fail --max-time 20 --output /dev/null "$database/index/db.json"; then
  echo "The database of vulnerabilities at $database can't be reached: nothing was checked." >&2
  echo "Set GOVULNDB to a reachable copy." >&2
  exit 1
fi
for module in . integration bench deploy tools; do
  echo "govulncheck, module $module"
  (cd "$module" && go run "$govulncheck" -db "$database" ./...)
done
