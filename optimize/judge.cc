#include "optimize/judge.h"

#include <chrono>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/json_report.h"
#include "runtime/subprocess.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

constexpr std::chrono::seconds start_patience{60};
constexpr std::uint64_t base_memory = std::uint64_t{16} << 30;  // of address space, most of it never touched
constexpr std::uint64_t memory_factor = 12;                     // three sessions, each with the weights and a copy

std::uint64_t size_of(const std::filesystem::path& model) {
  std::error_code ignored;
  std::uint64_t size = std::filesystem::file_size(model, ignored);
  std::filesystem::path data = model;
  data += ".data";
  if (std::filesystem::exists(data, ignored)) size += std::filesystem::file_size(data, ignored);
  return size;
}

Judgement read(const Json& answer) {
  Judgement result;
  const std::string verdict = answer.at("verdict");
  result.verdict = verdict == "equal"       ? Judgement::Verdict::Equal
                   : verdict == "different" ? Judgement::Verdict::Different
                                            : Judgement::Verdict::NotVerified;
  result.reason = answer.at("reason");
  if (!answer.contains("worst")) return result;
  result.worst = answer.at("worst");
  result.tensors = answer.at("tensors");
  result.elements = answer.at("elements");
  result.inputs = answer.at("inputs");
  return result;
}

}  // namespace

std::optional<Judgement> judge_by_onnxruntime(const std::filesystem::path& before, const std::filesystem::path& after,
                                              const JudgeOptions& options, std::string& why) {
  if (options.command.empty()) {
    why = "no Python with it was found";
    return std::nullopt;
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    runtime::Subprocess helper(options.command, base_memory + memory_factor * size_of(after));
    const auto hello = helper.receive(start_patience);
    if (!hello) {
      why = options.command[0] + " cannot import it (" + helper.end_reason() + ")";
      return std::nullopt;
    }
    const std::string name = Json::parse(runtime::text_of(*hello)).at("name");
    Json question = {{"before", std::filesystem::absolute(before).string()},
                     {"after", std::filesystem::absolute(after).string()},
                     {"seeds", options.seeds},
                     {"tolerance", options.tolerance},
                     {"shapes", Json::object()}};
    for (const auto& [input, dims] : options.input_shapes) question["shapes"][input] = dims;
    const std::string text = question.dump(-1, ' ', false, Json::error_handler_t::replace);
    helper.send(runtime::bytes_of(std::string_view(text)));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
    while (!helper.ready(std::chrono::milliseconds(100)) && std::chrono::steady_clock::now() < deadline) {
      runtime::throw_if_interrupted("judge");
    }
    const auto frame = helper.receive(std::chrono::seconds(1));
    Judgement result;
    if (frame) {
      result = read(Json::parse(runtime::text_of(*frame)));
    } else {
      result.verdict = Judgement::Verdict::NotVerified;
      result.reason = "its process ended: " + helper.end_reason();
    }
    result.judge = name;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  } catch (const Json::exception&) {
    why = "its helper gives no answer that can be read";
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    why = error.what();
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize
