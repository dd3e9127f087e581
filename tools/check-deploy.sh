#!/usr/bin/env bash
# Checks the files in deploy: manifests, dashboard, alert rules and the systemd unit. If a program is
# not installed, it prints that and skips the step.
set -euo pipefail
cd "$(dirname "$0")/../deploy"

echo "the tests of deploy"
CGO_ENABLED=0 GOFLAGS=-trimpath go test -vet=off ./...

if command -v promtool >/dev/null; then
  echo "promtool"
  promtool check rules prometheus/alerts.yaml >/dev/null
  promtool test rules prometheus/alerts_test.yaml
  promtool check config prometheus/scrape.yaml >/dev/null
else
  echo "No promtool: the alert rules are not tested"
fi

if command -v systemd-analyze >/dev/null; then
  echo "systemd-analyze verify"
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # The program need not be installed where the unit is checked.
  sed 's|^ExecStart=/usr/bin/sendlimit-worker|ExecStart=/bin/true|' systemd/sendlimit-worker.service >"$folder/sendlimit-worker.service"
  said=$(systemd-analyze verify --man=no "$folder/sendlimit-worker.service" 2>&1) || { echo "$said"; exit 1; }
  if [ -n "$said" ]; then
    echo "$said"
    exit 1
  fi
else
  echo "No systemd-analyze: the systemd unit is not checked"
fi
