#include "optimize/verify/onnxruntime_verifier.h"

#include "optimize/verify/onnxruntime.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

VerificationResult read(const Json& answer) {
  VerificationResult result;
  const std::string verdict = answer.at("verdict");
  result.verdict = verdict == "equal"        ? VerificationResult::Verdict::Equal
                   : verdict == "different"  ? VerificationResult::Verdict::Different
                   : verdict == "not loaded" ? VerificationResult::Verdict::NotLoaded
                                             : VerificationResult::Verdict::NotVerified;
  result.reason = answer.at("reason");
  result.inputs = answer.value("inputs", 0U);
  result.given_inputs = answer.value("given_inputs", 0U);
  if (!answer.contains("max_relative_difference")) return result;
  result.max_relative_difference = answer.at("max_relative_difference");
  result.reference = answer.at("reference");
  result.no_reference_reason = answer.at("no_reference_reason");
  result.choices = answer.at("choices");
  result.errors.before = answer.at("error_before");
  result.errors.after = answer.at("error_after");
  result.tensors = answer.at("tensors");
  result.elements = answer.at("elements");
  return result;
}

/// Sends a query about two models. `sessions` is the number of models that are loaded at a time.
std::optional<VerificationResult> ask(Json query, const std::filesystem::path& before,
                                      const std::filesystem::path& after, std::uint64_t sessions,
                                      const VerificationOptions& options, const RuntimeInputs& inputs,
                                      std::string& why) {
  const runtime::Stopwatch watch;
  query["before"] = std::filesystem::absolute(before).string();
  query["after"] = std::filesystem::absolute(after).string();
  query["inputs"] = options.inputs;
  add_inputs(query, inputs);
  VerificationResult result;
  try {
    OnnxruntimeProcess process(options.onnxruntime, sessions * model_bytes_on_disk(after), options.runtime);
    result.verifier = process.name();
    if (const auto answer = process.answer(query, options.timeout)) {
      result = read(*answer);
      result.verifier = process.runtime_name(*answer);
    } else {
      result.verdict = VerificationResult::Verdict::NotVerified;
      result.reason = "its process ended: " + process.end_reason();
    }
  } catch (const Json::exception&) {
    why = malformed_answer;
    return std::nullopt;
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    why = error.what();
    return std::nullopt;
  }
  result.seconds = watch.seconds();
  return result;
}

}  // namespace

std::optional<VerificationResult> verify_with_onnxruntime(const std::filesystem::path& before,
                                                          const std::filesystem::path& after,
                                                          const VerificationOptions& options,
                                                          const RuntimeInputs& inputs, std::string& why,
                                                          bool as_real_functions) {
  if (options.definitions_only) {
    why = "--verifier definitions";
    return std::nullopt;
  }
  const Json query = {
      {"tolerance", options.accuracy.tolerance},       {"max_error_ratio", options.accuracy.max_error_ratio},
      {"max_original_error", max_original_error},      {"only_where_defined", options.accuracy.only_where_defined},
      {"as_real_functions", as_real_functions},        {"runtime", options.runtime},
      {"small_tensor_elements", small_tensor_elements}};
  return ask(query, before, after, 3, options, inputs,
             why);  // the model with and without optimizations, and the result
}

std::optional<VerificationResult> compare_bits_in_onnxruntime(const std::filesystem::path& before,
                                                              const std::filesystem::path& after,
                                                              const VerificationOptions& options,
                                                              const RuntimeInputs& inputs, std::string& why) {
  return ask({{"same_bits", true}}, before, after, 2, options, inputs, why);
}

}  // namespace rulemill::optimize
