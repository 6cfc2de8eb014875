// Verifiers that are independent of the operator definitions: onnxruntime runs both models in a helper process
// (python/onnxruntime_helpers/verify.py).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "optimize/verify/onnxruntime.h"
#include "optimize/verify/verify.h"

namespace rulemill::optimize {

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
