#!/bin/bash
# Writes the manual pages and the completion scripts of a rulemill to where man, bash, zsh and fish look for them:
#   scripts/install_manual.sh RULEMILL SHARE       SHARE: such as /usr/local/share
set -euo pipefail
rulemill=${1:?usage: scripts/install_manual.sh RULEMILL SHARE}
share=${2:?usage: scripts/install_manual.sh RULEMILL SHARE}
write_completion() { # SHELL FILE
  mkdir -p "$(dirname "$share/$2")"
  "$rulemill" completion "$1" >"$share/$2"
}
mkdir -p "$share/man"
"$rulemill" man --out "$share/man/man1"
write_completion bash bash-completion/completions/rulemill
write_completion zsh zsh/site-functions/_rulemill
write_completion fish fish/vendor_completions.d/rulemill.fish
