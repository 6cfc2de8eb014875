#!/bin/bash
# Writes the core of the default rules as text to data/rules/models.rules, for review after a change of definitions or
# profiles: scripts/write_rules.sh
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${RULEMILL:-build/release/rulemill}
"$binary" rules export "$("$binary" rules default)" data/rules/models.rules --tier core --canonical
