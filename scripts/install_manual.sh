#!/bin/bash
# Writes the manual pages and the completion scripts of a rulemill to where man, bash, zsh and fish look for them:
#   scripts/install_manual.sh RULEMILL SHARE       SHARE: such as /usr/local/share
set -euo pipefail
rulemill=${1:?usage: scripts/install_manual.sh RULEMILL SHARE}
share=${2:?usage: scripts/install_manual.sh RULEMILL SHARE}
scripts=$(dirname "$0")/../data/completion
mkdir -p "$share/man"
"$rulemill" man --out "$share/man/man1"
install -D -m 644 "$scripts/bash" "$share/bash-completion/completions/rulemill"
install -D -m 644 "$scripts/zsh" "$share/zsh/site-functions/_rulemill"
install -D -m 644 "$scripts/fish" "$share/fish/vendor_completions.d/rulemill.fish"
