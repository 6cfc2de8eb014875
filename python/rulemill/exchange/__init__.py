"""Rules in the formats of other programs: onnxscript, MLIR's PDL on StableHLO, egglog.

The program `rulemill` starts this package as a helper process (`process`), which turns typed rules (`rules`) into a
program text."""
