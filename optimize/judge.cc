#include "optimize/judge.h"

#include <chrono>

#include "optimize/onnxruntime.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

Judgement read(const Json& answer) {
  Judgement result;
  const std::string verdict = answer.at("verdict");
  result.verdict = verdict == "equal"       ? Judgement::Verdict::Equal
                   : verdict == "different" ? Judgement::Verdict::Different
                                            : Judgement::Verdict::NotVerified;
  result.reason = answer.at("reason");
  if (!answer.contains("worst")) return result;
  result.worst = answer.at("worst");
  result.exact = answer.at("exact");
  result.not_exact = answer.at("not_exact");
  result.errors.before = answer.at("error_before");
  result.errors.after = answer.at("error_after");
  result.tensors = answer.at("tensors");
  result.elements = answer.at("elements");
  result.inputs = answer.at("inputs");
  return result;
}

}  // namespace

std::optional<Judgement> judge_by_onnxruntime(const std::filesystem::path& before, const std::filesystem::path& after,
                                              const JudgeOptions& options, std::string& why) {
  const auto start = std::chrono::steady_clock::now();
  Json question = {{"before", std::filesystem::absolute(before).string()},
                   {"after", std::filesystem::absolute(after).string()},
                   {"seeds", options.seeds},
                   {"tolerance", options.acceptance.tolerance},
                   {"own_error", options.acceptance.own_error},
                   {"most_own_error", most_own_error},
                   {"few_elements", few_elements},
                   {"shapes", Json::object()}};
  for (const auto& [input, dims] : options.input_shapes) question["shapes"][input] = dims;
  // Three sessions: the model twice, and the result.
  const auto answer = ask_onnxruntime({options.command, options.seconds, 3 * bytes_on_disk(after)}, question, why);
  if (!answer) return std::nullopt;
  Judgement result;
  try {
    if (answer->failure.empty()) result = read(answer->json);
  } catch (const Json::exception&) {
    why = "its helper gives no answer that can be read";
    return std::nullopt;
  }
  if (!answer->failure.empty()) {
    result.verdict = Judgement::Verdict::NotVerified;
    result.reason = answer->failure;
  }
  result.judge = answer->name;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace rulemill::optimize
