// The comparison of two models, and its result.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model_proof.pb.h"
#include "optimize/equal/prover/window_statement.h"
#include "optimize/equal/refutation.h"
#include "optimize/equal/sweep.h"
#include "optimize/options.h"

namespace rulemill::optimize {

struct EqualityOptions {
  std::filesystem::path before, after;
  std::vector<std::filesystem::path> rules;  // databases, or folders with rules.rmdb
  RuleCheck rule_check;                      // of the rules that show equality; empty: none
  StatementProof statement_proof;            // of windows that rules do not show; empty: none
  std::filesystem::path operators;           // folder of definitions
  std::vector<std::string> type_helper;      // command of a process for onnx/shapes/inference.h; empty: this process
  std::vector<std::string> onnxruntime;      // command that starts the helper verify.py; empty: not used
  std::uint32_t inputs = 6;                  // on which both are evaluated if they are not shown to be equal
  bool refutes = true;                       // evaluates both at all
  std::filesystem::path proof;               // file to write; empty: none
  std::string searched_proof;                // of the optimizer that wrote the second model; empty: none
  std::uint32_t time_limit = 0;              // seconds, after which what is not shown yet is not shown; 0: none
};

/// A pair of regions that is left: the nodes of either model between two values and values that both models have.
struct OpenRegion {
  std::string value;                                   // name in the second model
  std::vector<std::string> before_nodes, after_nodes;  // "Conv conv1"
};

struct EqualityResult : MergeCounts {
  enum class Verdict { Equal, Different, NotShown };
  Verdict verdict = Verdict::NotShown;
  std::string before, after;
  bool by_position = false;              // inputs or outputs have other names
  bool cleaned = false;                  // compared after the clean-up of both (onnx/clean/clean.h)
  bool normalizations_as_parts = false;  // read as the nodes that compute them, in both models
  std::map<std::string, std::int64_t> lower_bounds, upper_bounds;  // of open dimensions, as assumed
  std::map<std::string, std::uint64_t> rules;                      // uses, by id
  std::uint64_t runtime_constants = 0;  // of nodes without definitions, in both models, computed in onnxruntime
  std::optional<Refutation> refutation;
  std::string onnxruntime_difference;  // how outputs differ in onnxruntime, where definitions do not evaluate them
  std::string evaluation;              // what was evaluated without a difference
  std::optional<OpenRegion> open;      // the smallest that is left
  std::string undefined;  // operator of one model alone, if both are equal where it is defined; then not shown
  std::uint64_t rounded_constants = 0;  // stored ones that are rounded in two ways, if both are equal but for that
  bool is_partial = false;              // a model computes what may be undefined at some inputs
  bool widens = false;            // the proof that was followed shows equality wherever the first model is defined
  std::string proof_gap;          // why no proof was written, of equal models
  std::uint64_t proof_bytes = 0;  // of the proof that was written
  std::uint64_t proof_steps = 0, proof_rules = 0;  // of the proof that was followed
  double seconds = 0;
};

/// Throws InputError if the models have different inputs or outputs, and what `rule_check` throws. `proof`: the steps,
/// if `options.proof` names a file and the models are equal.
EqualityResult compare_files(const EqualityOptions& options, std::optional<proto::ModelProof>& proof);

/// Follows a proof that both models of `options` are equal, without a search. `rule_check` checks its rules. Throws
/// InputError of `file` if it does not show that.
EqualityResult follow_proof(const EqualityOptions& options, const proto::ModelProof& proof, const std::string& file);

}  // namespace rulemill::optimize
