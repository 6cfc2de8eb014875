#include "optimize/verify/onnxruntime_verifier.h"

#include "optimize/verify/onnxruntime.h"
#include "runtime/process/stopwatch.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

VerificationResult read(const Json& answer) {
  VerificationResult result;
  const std::string verdict = answer.at("verdict");
  result.verdict = verdict == "equal"       ? VerificationResult::Verdict::Equal
                   : verdict == "different" ? VerificationResult::Verdict::Different
                                            : VerificationResult::Verdict::NotVerified;
  result.reason = answer.at("reason");
  if (!answer.contains("max_relative_difference")) return result;
  result.max_relative_difference = answer.at("max_relative_difference");
  result.reference = answer.at("reference");
  result.no_reference_reason = answer.at("no_reference_reason");
  result.errors.before = answer.at("error_before");
  result.errors.after = answer.at("error_after");
  result.tensors = answer.at("tensors");
  result.elements = answer.at("elements");
  result.inputs = answer.at("inputs");
  return result;
}

}  // namespace

std::optional<VerificationResult> verify_with_onnxruntime(const std::filesystem::path& before,
                                                          const std::filesystem::path& after,
                                                          const VerificationOptions& options,
                                                          const InputShapes& input_shapes, std::string& why) {
  const runtime::Stopwatch watch;
  Json query = {{"before", std::filesystem::absolute(before).string()},
                {"after", std::filesystem::absolute(after).string()},
                {"inputs", options.inputs},
                {"tolerance", options.accuracy.tolerance},
                {"max_error_ratio", options.accuracy.max_error_ratio},
                {"max_original_error", max_original_error},
                {"small_tensor_elements", small_tensor_elements},
                {"shapes", Json::object()}};
  for (const auto& [input, dims] : input_shapes) query["shapes"][input] = dims;
  // Three sessions: the model with and without optimizations, and the result.
  const auto answer =
      query_onnxruntime({options.onnxruntime, options.timeout, 3 * model_bytes_on_disk(after)}, query, why);
  if (!answer) return std::nullopt;
  VerificationResult result;
  try {
    if (answer->failure.empty()) result = read(answer->json);
  } catch (const Json::exception&) {
    why = "its helper process sent a malformed answer";
    return std::nullopt;
  }
  if (!answer->failure.empty()) {
    result.verdict = VerificationResult::Verdict::NotVerified;
    result.reason = answer->failure;
  }
  result.verifier = answer->name;
  result.seconds = watch.seconds();
  return result;
}

}  // namespace rulemill::optimize
