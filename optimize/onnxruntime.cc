#include "optimize/onnxruntime.h"

#include <chrono>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/subprocess.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

constexpr std::chrono::seconds start_patience{60};
constexpr std::uint64_t base_memory = std::uint64_t{16} << 30;  // of address space, most of it never touched
constexpr std::uint64_t memory_factor = 4;                      // a session holds the weights and a copy

}  // namespace

std::uint64_t bytes_on_disk(const std::filesystem::path& model) {
  std::error_code ignored;
  std::uint64_t size = std::filesystem::file_size(model, ignored);
  std::filesystem::path data = model;
  data += ".data";
  if (std::filesystem::exists(data, ignored)) size += std::filesystem::file_size(data, ignored);
  return size;
}

std::optional<RuntimeAnswer> ask_onnxruntime(const RuntimeHelper& helper, const Json& question, std::string& why) {
  if (helper.command.empty()) {
    why = "no Python with it was found";
    return std::nullopt;
  }
  try {
    runtime::Subprocess process(helper.command, base_memory + memory_factor * helper.bytes);
    const auto hello = process.receive(start_patience);
    if (!hello) {
      why = helper.command[0] + " cannot import it (" + process.end_reason() + ")";
      return std::nullopt;
    }
    RuntimeAnswer answer{Json::parse(runtime::text_of(*hello)).at("name"), "", {}};
    const std::string text = question.dump(-1, ' ', false, Json::error_handler_t::replace);
    process.send(runtime::bytes_of(std::string_view(text)));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(helper.seconds);
    while (!process.ready(std::chrono::milliseconds(100)) && std::chrono::steady_clock::now() < deadline) {
      runtime::throw_if_interrupted("onnxruntime");
    }
    if (const auto frame = process.receive(std::chrono::seconds(1))) {
      answer.json = Json::parse(runtime::text_of(*frame));
    } else {
      answer.failure = "its process ended: " + process.end_reason();
    }
    return answer;
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
