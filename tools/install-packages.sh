#!/usr/bin/env bash
# Installs the programs that tests and lint need besides Go, if they are missing and the script runs as
# root on Debian or Ubuntu. Elsewhere it prints the command that installs them, and succeeds: a step
# without its program reports that itself. With the argument postgresql it installs PostgreSQL, too, which
# only a comparison of benchmarks needs.
set -euo pipefail

missing=()
if [ "${1:-}" = postgresql ] && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
  missing+=(postgresql)
fi
command -v make >/dev/null || missing+=(make)
command -v redis-server >/dev/null || missing+=(redis-server)
command -v luacheck >/dev/null || missing+=(lua-check)
command -v curl >/dev/null || missing+=(curl)
# The OpenAPI document is tested with tools that npm installs.
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
# The types of the Python client are checked.
command -v mypy >/dev/null || missing+=(mypy)
# A mail server in a separate process needs the system's own python3.
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || missing+=(python3-aiosmtpd)
# Pushes are shown in a real browser. Debian has these packages, Ubuntu does not.
if grep -qs '^ID=debian' /etc/os-release; then
  command -v firefox-esr >/dev/null || missing+=(firefox-esr)
  # The dashboard is tested with another one. Without its windows it needs less processor time.
  command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || missing+=(chromium-headless-shell)
elif ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  echo "No Chromium on the PATH: the dashboard is not tested in a browser"
fi
# The alert rules are tested with promtool, and in a Prometheus. No server starts, see below.
command -v promtool >/dev/null || missing+=(prometheus)
# A Redis whose clock steps runs under libfaketime.
command -v faketime >/dev/null || missing+=(faketime)
# The settings in docs/reverse-proxies.md are tested with these.
command -v nginx >/dev/null || missing+=(nginx-light)
command -v caddy >/dev/null || missing+=(caddy)
command -v haproxy >/dev/null || missing+=(haproxy)
# A mail server that logs how sessions end.
command -v exim4 >/dev/null || missing+=(exim4-daemon-light)
# The race detector needs a C compiler with its headers.
if ! printf '#include <stdlib.h>\n' | $(go env CC) -E - >/dev/null 2>&1; then
  missing+=(gcc libc6-dev)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  if command -v brew >/dev/null; then
    echo "To run every test and check: brew install redis luacheck node mypy"
  else
    echo "To run every test and check: put redis-server 7.0 or later, a C compiler, luacheck, curl, Node.js 18.18 or later with npm, and mypy on the PATH"
  fi
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "To run every test and check: sudo apt-get install -y ${missing[*]}"
  exit 0
fi

# Debian starts a server when it is installed, unless this file forbids it. The tests
# start their own servers.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=120 "${missing[@]}" </dev/null
}

echo "Installing ${missing[*]}"
# The package lists may be absent or outdated; fetching them takes a while.
if ! install >/dev/null 2>&1; then
  apt-get update -qq -o DPkg::Lock::Timeout=120 </dev/null || true
  if ! install >/dev/null; then
    echo "Could not install ${missing[*]}; going on without" >&2
  fi
fi
