// onnxruntime in a helper process with limited memory and time (python/onnxruntime_helpers).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/cost/input_shapes.h"
#include "optimize/verify/verify.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {

/// The inputs on which models run in a helper process.
struct RuntimeInputs {
  InputShapes shapes;                                     // of inputs with dynamic dimensions; others are chosen
  std::vector<std::map<std::string, std::string>> files;  // given inputs: NumPy files by input, for each set
};

/// Adds the inputs to a query.
void add_inputs(runtime::Json& query, const RuntimeInputs& inputs);

/// A helper process that has sent its name. It answers any number of queries.
class OnnxruntimeProcess {
 public:
  /// `model_bytes` is the size of the models that it loads at a time, and `runtime` the one that will run them. Throws
  /// Error if it cannot be started.
  OnnxruntimeProcess(const std::vector<std::string>& command, std::uint64_t model_bytes, const std::string& runtime);

  /// Returns "onnxruntime 1.31.0".
  const std::string& name() const { return name_; }
  /// Returns nullopt if the process ends, or is killed after `timeout` seconds. Throws Json::exception if malformed.
  std::optional<runtime::Json> answer(const runtime::Json& query, double timeout);
  const std::string& end_reason() const { return process_.end_reason(); }
  /// Returns the name and version of the runtime that an answer is of: onnxruntime unless the answer names another.
  std::string runtime_name(const runtime::Json& answer) const { return answer.value("runtime", name_); }

 private:
  runtime::Subprocess process_;
  std::string name_;
};

/// Returns the size of a model's file and its external data.
std::uint64_t model_bytes_on_disk(const std::filesystem::path& model);

/// Throws InputError, whose place is `option`, if the helper, which `command` starts, cannot use the runtime.
void require_runtime(const std::vector<std::string>& command, const std::string& runtime, const std::string& option);

inline constexpr const char* malformed_answer = "its helper process sent a malformed answer";

// Verifiers that are independent of the operator definitions: onnxruntime runs both models in a helper process
// (python/onnxruntime_helpers/verify.py).

/// Returns nullopt if onnxruntime is not available; `why` then has the reason. `as_real_functions`: open dimensions are
/// at least 1, and neither overflow nor a run that fails is a difference.
std::optional<VerificationResult> verify_with_onnxruntime(const std::filesystem::path& before,
                                                          const std::filesystem::path& after,
                                                          const VerificationOptions& options,
                                                          const RuntimeInputs& inputs, std::string& why,
                                                          bool as_real_functions = false);
/// Compares all bits of the outputs, without onnxruntime's optimizations and with one thread. Returns nullopt as above.
std::optional<VerificationResult> compare_bits_in_onnxruntime(const std::filesystem::path& before,
                                                              const std::filesystem::path& after,
                                                              const VerificationOptions& options,
                                                              const RuntimeInputs& inputs, std::string& why);

}  // namespace rulemill::optimize
