#include "cli/exchange_process.h"

#include <chrono>

#include "algebra/exchange/rule_data.h"
#include "cli/model_processes.h"
#include "cli/shipped_files.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::cli {
namespace {

using runtime::Json;

constexpr std::uint64_t memory_limit = std::uint64_t{8} << 30;  // of address space
constexpr std::chrono::milliseconds poll_interval{100};
constexpr std::chrono::seconds frame_timeout{60};  // from the first byte of a message to its last

std::vector<std::string> require_command(const std::string& format) {
  std::vector<std::string> command = exchange_command();
  if (command.empty())
    throw runtime::Error("format " + format, "needs Python, and none was found; set RULEMILL_PYTHON to one");
  return command;
}

}  // namespace

ExchangeProcess::ExchangeProcess(Json request, const algebra::Library& library)
    : format_(request.at("format").get<std::string>()), process_(require_command(format_), memory_limit) {
  request["data"] = data_folder().string();
  for (const std::string& name : library.operator_names())
    request["operators"][name] = algebra::signature_data(name, library);
  send(request);
}

void ExchangeProcess::send(const Json& message) {
  const std::string text = runtime::to_utf8_text(message);
  if (!process_.send(runtime::bytes_of(std::string_view(text)))) fail(process_.end_reason());
}

Json ExchangeProcess::result() {
  while (!process_.is_ready(poll_interval)) runtime::throw_if_interrupted("format " + format_);
  const auto frame = process_.receive(frame_timeout);
  if (!frame) fail(process_.end_reason());
  Json message = runtime::parse_json(runtime::text_of(*frame));
  if (message.contains("error"))
    throw runtime::InputError(message["error"].at("place").get<std::string>(),
                              message["error"].at("message").get<std::string>());
  if (message.contains("failure")) fail(message["failure"].get<std::string>());
  return message;
}

void ExchangeProcess::fail(const std::string& reason) const {
  throw runtime::Error("format " + format_, "its helper process failed: " + reason);
}

}  // namespace rulemill::cli
