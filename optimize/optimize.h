// The whole of `rulemill optimize`: a model and a rule database in, a cheaper model of the same function out.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/report.h"
#include "optimize/timing.h"
#include "optimize/windows.h"

namespace rulemill::optimize {

struct Options {
  std::filesystem::path model;
  std::vector<std::filesystem::path> rules;  // databases, or folders with rules.rmdb in them
  std::filesystem::path operators;           // folder of definitions
  std::filesystem::path together;            // what the runtime computes in one pass (see together.h); empty: nothing
  std::filesystem::path out;                 // empty: nothing is written
  std::string device = "cpu";
  std::string cost = "analytic";         // or "onnxruntime", "table"
  std::filesystem::path cost_table;      // that times are read from, and kept in
  std::vector<std::string> cost_helper;  // starts what measures nodes; see cost_source.h
  SearchOptions search;
  WindowOptions windows;
  std::uint32_t verify_seeds = 3;
  Acceptance acceptance;
  std::string explain;     // a rule or a node: nothing is searched, and why is said (see explain.h)
  double min_gain = 0.05;  // share of the cost that must go, by the cost model, for a rewrite to be worth it
  /// Starts a helper process that types single nodes (see onnx/inference.h); none: this process does it.
  std::vector<std::string> type_helper;
  /// Starts onnxruntime's judge (see judge.h); none: the definitions alone judge.
  std::vector<std::string> judge;
  double judge_seconds = 300;
  TimingOptions timing;
  /// By input name: dimensions for costs and verification, where the model leaves them open.
  std::map<std::string, std::vector<std::int64_t>> input_shapes;
};

/// Reads, searches, exports, has the result judged, writes. A result that a judge refuses is not written: the next best
/// is tried, and in the end the model is written as it was, with a warning in the summary. Throws InputError (model,
/// database) and UsageError (options).
Summary run(const Options& options);

/// The same with rules that are already in memory; those in general form are used at the ranks and parameters that
/// occur. `library`, `terms` and `symbols` are the rules' own.
Summary run(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
            const std::vector<algebra::RuleRecord>& rules);

/// "name:1x3x224x224" → name and dimensions. Throws UsageError.
std::pair<std::string, std::vector<std::int64_t>> parse_input_shape(const std::string& text);

}  // namespace rulemill::optimize
