// The summary of an optimization, from which the reports are written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimize/cost/operator_costs.h"
#include "optimize/report/drawing.h"
#include "optimize/report/explain.h"
#include "optimize/search/search_result.h"
#include "optimize/verify/benchmark.h"
#include "optimize/verify/verify.h"

namespace rulemill::optimize {

struct Summary : SearchCounts {
  std::string model, output, rules, device, device_description;
  std::string cost_source;  // of measured times; empty for analytic costs
  int opset = 0;
  bool changed = false;  // a candidate was selected
  bool cleaned = false;  // the clean-up changed the model; if neither, the output is a copy of the model
  bool only_clean = false;
  std::uint64_t nodes_before_cleaning = 0, nodes_after_cleaning = 0;  // with subgraphs, without Constant nodes

  struct Row {
    std::string name;
    CostRow before, after;
  };
  std::vector<Row> rows;                         // by ONNX operator
  CostRow before, after;                         // totals of the rows
  double seconds_before = 0, seconds_after = 0;  // by the cost model
  double seconds_found = 0;                      // of the cheapest graph found, selected or not
  double min_gain = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of all initializers

  struct Size {
    std::string name;
    std::int64_t value = 0;
    bool assumed = false;  // not set by the user
  };
  std::vector<Size> sizes;  // of dynamic dimensions, in the cost model

  /// A rule in one direction.
  struct FiredRule {
    std::string id;
    bool reversed = false;   // from the target to the source of the database's rule
    std::string text;        // as applied: source => target
    std::string tier;        // core, derived or empty
    bool certified = false;  // the database has a certificate
    bool widens = false;     // it says something only where the model is defined
    std::string proof;       // "by definitions", "by derivation"; empty without a certificate
    std::string certificate;
    double saved = 0;  // seconds, by the cost model
    std::uint32_t times = 0;
  };
  std::vector<Explanation> explanations;  // with --explain, and then nothing else
  std::vector<FiredRule> fired;           // in the order of first use
  /// Whether the result equals the model only where the model is defined.
  bool widens() const { return std::ranges::any_of(fired, &FiredRule::widens); }

  struct OpaqueGroup {
    std::string op_type, reason;
    std::uint32_t count = 0;
  };
  std::vector<OpaqueGroup> opaque;                     // nodes that were not rewritten
  std::uint32_t subgraphs = 0, subgraphs_changed = 0;  // in nodes of the model

  bool saturated = false;  // equality saturation, not backtracking
  double alpha = 0;
  std::uint64_t budget = 0, rules_loaded = 0, patterns = 0;
  VerificationOptions verification_options;
  std::optional<VerificationResult> bit_comparison;  // of the cleaned model with the model, if that is written
  std::vector<VerificationResult> verification;      // of the selected candidate, or of the last rejected one
  std::string onnxruntime_skipped_reason;            // why onnxruntime did not verify it
  BenchmarkResult benchmark;                         // of the candidates
  std::string proof;                                 // of the result, of Options::result_proof
  std::string warning;                               // why a cheaper candidate was not selected
  double import_seconds = 0, search_seconds = 0, verification_seconds = 0;
  double rule_check_seconds = 0;                       // of the certificates of the rules that fired
  double operations_before = 0, operations_after = 0;  // arithmetic, without opaque nodes
  std::uint64_t peak_bytes = 0;                        // memory of this process
  Drawing drawing_before, drawing_after;
};

}  // namespace rulemill::optimize
