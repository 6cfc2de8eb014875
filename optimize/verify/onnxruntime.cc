#include "optimize/verify/onnxruntime.h"

#include <fmt/format.h>

#include <chrono>

#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using runtime::Json;

constexpr std::chrono::seconds start_timeout{60};
constexpr std::uint64_t base_memory = std::uint64_t{16} << 30;  // of address space, most of which stays unused
constexpr std::uint64_t memory_factor = 4;                      // a session has the weights and a copy

/// Returns the limit of the helper's address space; 0: none, since a GPU's driver reserves more than the machine has.
std::uint64_t memory_limit(std::uint64_t model_bytes, const std::string& runtime) {
  const bool is_on_gpu = runtime == "cuda" || runtime == "tensorrt";
  return is_on_gpu ? 0 : base_memory + memory_factor * model_bytes;
}

const std::vector<std::string>& require_command(const std::vector<std::string>& command) {
  if (command.empty()) throw runtime::Error("", "no Python with onnxruntime was found");
  return command;
}

}  // namespace

std::uint64_t model_bytes_on_disk(const std::filesystem::path& model) {
  std::error_code ignored;
  std::uint64_t size = std::filesystem::file_size(model, ignored);
  std::filesystem::path data = model;
  data += ".data";
  if (std::filesystem::exists(data, ignored)) size += std::filesystem::file_size(data, ignored);
  return size;
}

void add_inputs(Json& query, const RuntimeInputs& inputs) {
  query["shapes"] = Json::object();
  for (const auto& [input, dims] : inputs.shapes) query["shapes"][input] = dims;
  query["given"] = inputs.files;
}

void require_runtime(const std::vector<std::string>& command, const std::string& runtime, const std::string& option) {
  constexpr double timeout = 60;
  std::string reason = malformed_answer;
  try {
    OnnxruntimeProcess process(command, 0, runtime);
    const auto answer = process.answer({{"runtime", runtime}, {"usable", true}}, timeout);
    reason = answer ? answer->at("reason").get<std::string>() : process.end_reason();
  } catch (const Json::exception&) {
    reason = malformed_answer;
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    reason = error.what();
  }
  if (!reason.empty()) throw runtime::InputError(option + " " + runtime, reason);
}

OnnxruntimeProcess::OnnxruntimeProcess(const std::vector<std::string>& command, std::uint64_t model_bytes,
                                       const std::string& runtime)
    : process_(require_command(command), memory_limit(model_bytes, runtime)) {
  const auto greeting = process_.receive(start_timeout);
  if (!greeting) throw runtime::Error("", command[0] + " cannot import onnxruntime (" + process_.end_reason() + ")");
  const Json hello = runtime::parse_json_or_discard(runtime::text_of(*greeting));
  if (!hello.is_object() || !hello.contains("name") || !hello["name"].is_string())
    throw runtime::Error("", malformed_answer);
  name_ = hello["name"].get<std::string>();
}

std::optional<Json> OnnxruntimeProcess::answer(const Json& query, double timeout) {
  const std::string text = runtime::to_utf8_text(query);
  process_.send(runtime::bytes_of(std::string_view(text)));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout);
  while (!process_.is_ready(std::chrono::milliseconds(100))) {
    runtime::throw_if_interrupted("onnxruntime");
    if (std::chrono::steady_clock::now() < deadline) continue;
    process_.kill(fmt::format("time limit of {:.3g} s", timeout));
    return std::nullopt;
  }
  const auto frame = process_.receive(std::chrono::seconds(60));
  return frame ? std::optional(runtime::parse_json(runtime::text_of(*frame))) : std::nullopt;
}

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
