#!/usr/bin/env bash
# Replays the recorded answers scenario by scenario, several at a time, and prints one sum.
# usage: replay.sh CONFORMANCE_DIR SERVER_URL ADMIN_TOKEN USER_TOKEN LOG_DIR
set -euo pipefail
conformance="$1" url="$2" admin="$3" alice="$4" logs="$5"
python="$(cd "$(dirname "$0")/../.." && pwd)/.venv/bin/python"
mkdir -p "$logs"
export conformance url admin alice logs python
find "$conformance/scenarios" -name '*.yaml' | sort | xargs -P 4 -I{} bash -c '
  timeout 240 "$python" "$conformance/replay.py" check --server "$url" --insecure \
    --token "$admin" --user-token "$alice" "{}" \
    >"$logs/$(basename "$(dirname "{}")")-$(basename "{}" .yaml).log" 2>&1 || true'
grep -hE '^[a-z0-9-]+: [0-9]+/[0-9]+$' "$logs"/*.log |
  awk -F'[ /]' '{equal += $2; all += $3}
    END {printf "%d of %d answers equal the recorded ones\n", equal, all}'
