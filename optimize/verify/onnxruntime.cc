#include "optimize/verify/onnxruntime.h"

#include <chrono>

#include "runtime/process/interrupt.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

constexpr std::chrono::seconds start_timeout{60};
constexpr std::uint64_t base_memory = std::uint64_t{16} << 30;  // of address space, most of which stays unused
constexpr std::uint64_t memory_factor = 4;                      // a session has the weights and a copy

}  // namespace

std::uint64_t model_bytes_on_disk(const std::filesystem::path& model) {
  std::error_code ignored;
  std::uint64_t size = std::filesystem::file_size(model, ignored);
  std::filesystem::path data = model;
  data += ".data";
  if (std::filesystem::exists(data, ignored)) size += std::filesystem::file_size(data, ignored);
  return size;
}

std::optional<OnnxruntimeReply> query_onnxruntime(const OnnxruntimeHelper& helper, const Json& query,
                                                  std::string& why) {
  if (helper.command.empty()) {
    why = "no Python with onnxruntime was found";
    return std::nullopt;
  }
  try {
    runtime::Subprocess process(helper.command, base_memory + memory_factor * helper.model_bytes);
    const auto greeting = process.receive(start_timeout);
    if (!greeting) {
      why = helper.command[0] + " cannot import onnxruntime (" + process.end_reason() + ")";
      return std::nullopt;
    }
    OnnxruntimeReply answer{Json::parse(runtime::text_of(*greeting)).at("name"), "", {}};
    const std::string text = query.dump(-1, ' ', false, Json::error_handler_t::replace);
    process.send(runtime::bytes_of(std::string_view(text)));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(helper.timeout);
    while (!process.is_ready(std::chrono::milliseconds(100)) && std::chrono::steady_clock::now() < deadline) {
      runtime::throw_if_interrupted("onnxruntime");
    }
    if (const auto frame = process.receive(std::chrono::seconds(1))) {
      answer.json = Json::parse(runtime::text_of(*frame));
    } else {
      answer.failure = "its process ended: " + process.end_reason();
    }
    return answer;
  } catch (const Json::exception&) {
    why = "its helper process sent a malformed answer";
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    why = error.what();
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize
