#include "optimize/equal/compare_models.h"

#include <spdlog/spdlog.h>

#include "optimize/equal/proof/proof_follower.h"
#include "optimize/onnx/format/model_proto.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

/// Writes a proof that can be followed, and returns what it shows. Throws InputError for another one.
EqualityResult write_proof(EqualityOptions options, const proto::ModelProof& proof) {
  options.rules.clear();
  EqualityResult result = follow_proof(options, proof, options.proof.string());
  write_model_proof(proof, options.proof);
  result.proof_bytes = std::filesystem::file_size(options.proof);
  return result;
}

/// Writes the proof of the optimizer if it can be followed.
std::optional<EqualityResult> write_searched_proof(const EqualityOptions& options) {
  proto::ModelProof proof;
  if (options.searched_proof.empty() || !proof.ParseFromString(options.searched_proof)) return std::nullopt;
  proof.set_before(OnnxModel::read(options.before).digest());
  proof.set_after(OnnxModel::read(options.after).digest());
  try {
    return write_proof(options, proof);
  } catch (const runtime::InputError& error) {
    spdlog::debug("the proof from the search does not hold: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace

EqualityResult compare_models(const EqualityOptions& options) {
  if (auto result = write_searched_proof(options)) return *result;
  std::optional<proto::ModelProof> proof;
  EqualityResult result = compare_files(options, proof);
  if (!proof) return result;
  try {
    const EqualityResult followed = write_proof(options, *proof);
    result.proof_bytes = followed.proof_bytes;
    result.seconds += followed.seconds;
  } catch (const runtime::InputError& error) {
    result.proof_gap = error.what();
  }
  return result;
}

EqualityResult follow_proof(const EqualityOptions& options, const std::filesystem::path& proof) {
  return follow_proof(options, read_model_proof(proof), proof.string());
}

}  // namespace rulemill::optimize
