// Verification that two graphs of one model compute the same, before a result is written. A verifier runs both on
// inputs of several ranges; this one evaluates the operator definitions. Graphs are cut at opaque nodes: their outputs
// get the same random values on both sides, and their inputs are compared like outputs of the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "optimize/model/evaluate.h"
#include "optimize/model/given_inputs.h"
#include "optimize/verify/accuracy_policy.h"

namespace rulemill::optimize {

struct VerificationResult;

/// A verifier that runs neither model on random inputs: the verdict is Equal or NotVerified.
using EqualityVerifier =
    std::function<VerificationResult(const std::filesystem::path& before, const std::filesystem::path& after)>;

struct VerificationOptions {
  std::uint32_t inputs = 3;  // random inputs
  AccuracyPolicy accuracy;
  bool definitions_only = false;
  EqualityVerifier by_rules;             // called first, and suffices if it shows equality; empty: none
  std::vector<std::string> onnxruntime;  // command that starts the helper verify.py; empty: none was found
  /// In which the helper compares models; see python/onnxruntime_helpers/runtimes.py.
  std::string runtime = "onnxruntime";
  double timeout = 300;  // seconds, of the verification in the runtime
};

/// The result of one verifier for two models.
struct VerificationResult {
  enum class Verdict {
    Equal,
    Different,
    NotLoaded,    // the verifier loads the original, but not the result
    NotVerified,  // not evaluated, or only on uninformative values
  };
  std::string verifier;
  Verdict verdict = Verdict::Equal;
  double max_relative_difference = 0;
  std::string reference;            // origin of the reference values; empty: the tolerance decided
  std::string no_reference_reason;  // why there is no reference
  RelativeErrors errors;            // the largest
  double error_growth = 0;          // largest ratio of the errors on chosen inputs (error_growth.h); 0: not searched
  double range_growth = 0;          // of 32-bit and 64-bit intermediate values (model/value_range.h); 0: not measured
  std::uint64_t tensors = 0;        // compared; identical terms are not
  std::uint64_t elements = 0;
  std::uint32_t inputs = 0;          // random inputs used
  std::uint32_t given_inputs = 0;    // used of those that the user gives
  std::vector<std::string> choices;  // operators at which the models were cut, since rounding decides what they choose
  std::string reason;                // of a verdict other than Equal: tensor, input and values
  double seconds = 0;

  bool is_equal() const { return verdict == Verdict::Equal; }
};

/// Verifies by the definitions. The reference is the original evaluated in float64; both graphs are evaluated with
/// results rounded to their types. NaN and infinity must be at the same positions. A tensor is uninformative if more
/// than half of it is NaN, infinite, or one value that does not change with the input; then more inputs are tried, and
/// a graph with an uninformative tensor is not verified. `sizes` are those that the user sets; others are small and
/// vary with the input. `given` are compared, too.
VerificationResult verify(const GraphBank& bank, std::span<const ValueId> before, std::span<const ValueId> after,
                          const VerificationOptions& options, const GraphEvaluator::Sizes& sizes = {},
                          std::span<const GivenInputs> given = {});

}  // namespace rulemill::optimize
