#!/bin/bash
# Writes the core of the default rules as text, to be looked through when a definition or a profile has changed:
# scripts/write_rules.sh. What is there and is found no more is removed.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${RULEMILL:-build/release/rulemill}
databases=$("$binary" rules default)
mkdir -p data/rules
rm -f data/rules/*.rules
for database in $databases; do
  name=$(basename "$database")
  "$binary" rules export --rules "$database" --tier core --stable "data/rules/${name%-*}.rules"
done
