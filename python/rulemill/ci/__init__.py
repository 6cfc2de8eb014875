"""`rulemill ci`: verdicts on files of rules and on pairs of models, for continuous integration.

The program starts this package as a helper process (cli/rules/ci.cc). It runs `rulemill rules import` and `rulemill equal`, prints one line
for each verdict, and writes JUnit and SARIF. It decides nothing itself but which verdicts are failures."""
