// Translation validation: whether two ONNX models compute the same, whatever program made the second one. Proofs of
// that are written if they can be followed.
#pragma once

#include <filesystem>

#include "optimize/equal/model_comparison.h"

namespace rulemill::optimize {

/// Throws what `compare_files` throws. The proof of the optimizer comes first, if it holds.
EqualityResult compare_models(const EqualityOptions& options);

/// Follows the proof in a file. Throws what the other one throws.
EqualityResult follow_proof(const EqualityOptions& options, const std::filesystem::path& proof);

}  // namespace rulemill::optimize
