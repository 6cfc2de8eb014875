#!/bin/bash
# Writes the core of the default rules as text, to be looked through when a definition or a profile has changed:
# scripts/write_rules.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${RULEMILL:-build/release/rulemill}
"$binary" rules export --rules "$("$binary" rules default)" --tier core --stable data/rules/models.rules
