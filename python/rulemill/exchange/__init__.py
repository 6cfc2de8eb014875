"""Rules in the formats of other programs: onnxscript, MLIR's PDL on StableHLO, egg and egglog,
TASO's protobuf.

The program `rulemill` starts this package as a helper process (`process`), which turns typed rules (`rules`) into a
program text, or a file into rules in the text form. The program answers questions about operators, whose meaning
stands in the definitions only."""
