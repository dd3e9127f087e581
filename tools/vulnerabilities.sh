#!/usr/bin/env bash
# Looks for known vulnerabilities in what the programs call. It ends with 3 if one is found, and
# with 1 if the database of them can't be reached: then nothing is known.
set -euo pipefail
cd "$(dirname "$0")/.."

govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
database=${GOVULNDB:-https://vuln.go.dev}

if ! curl --silent --show-error --fail --max-time 20 --output /dev/null "$database/index/db.json"; then
  echo "The database of vulnerabilities at $database can't be reached: nothing was looked for." >&2
  echo "Set GOVULNDB to a copy that can be." >&2
  exit 1
fi
for module in . integration bench deploy tools; do
  echo "govulncheck, module $module"
  (cd "$module" && go run "$govulncheck" -db "$database" ./...)
done
