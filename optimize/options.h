// The options of an optimization, by pass.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/cost/cost_source.h"
#include "optimize/cost/input_shapes.h"
#include "optimize/profiles/window_profiles.h"
#include "optimize/search/search_options.h"
#include "optimize/search/search_result.h"
#include "optimize/verify/benchmark.h"
#include "optimize/verify/verify.h"

namespace rulemill::optimize {

/// Checks rules of a loaded database, by id. Throws an Error that names the first invalid one.
using RuleCheck = std::function<void(const std::filesystem::path& database, const algebra::RuleSet& rules,
                                     const std::set<std::string>& ids, algebra::Library& library,
                                     algebra::TermBank& terms, algebra::Symbols& symbols)>;

/// Returns a proof that the result is equal to the model, for equal/compare_models.h; empty if there is none.
using ResultProof = std::function<std::string(const SearchedResult& result)>;

struct Options {
  std::filesystem::path model;
  std::vector<std::filesystem::path> rules;  // databases, or folders with rules.rmdb
  /// Returns the databases if `rules` is empty. Called once the model has been read, since it may take long.
  std::function<std::vector<std::filesystem::path>()> default_rules;
  /// Returns a database of rules for the model that `rules` lack, empty if there is none; no function: none is wanted.
  std::function<std::filesystem::path(const std::vector<WindowProfile>& profiles)> discover;
  RuleCheck rule_check;                   // of the rules that fired, before a result is written; empty: none
  ResultProof result_proof;               // empty: none
  std::filesystem::path operators;        // folder of definitions
  std::filesystem::path runtime_fusions;  // file of model/runtime_fusion.h; empty: none
  std::filesystem::path calibration;      // file of cost/calibration.h, of the processor; empty: none
  std::set<std::string> domains;          // of operators that a result may have, besides ONNX's and the model's
  std::filesystem::path out;              // empty: write nothing
  std::vector<std::string> type_helper;   // command of a process for onnx/shapes/inference.h; empty: this process
  InputShapes input_shapes;
  std::vector<std::filesystem::path> inputs;  // files and folders of onnx/inputs/input_set.h; without input_shapes
  CostOptions cost;
  SearchOptions search;
  WindowOptions windows;
  bool only_clean = false;  // write the result of the clean-up (onnx/clean/clean.h); rules are not read
  std::string version;      // of rulemill, for the metadata of results
  double min_gain = 0.05;   // fraction of the cost that a candidate must save by the cost model
  VerificationOptions verification;
  BenchmarkOptions benchmark;
  std::function<void(const std::string& step)> on_step;  // receives each step as it begins; empty: none
  std::string explain;  // a rule or a node: explain why rules did not fire (report/explain.h) instead of searching
};

}  // namespace rulemill::optimize
