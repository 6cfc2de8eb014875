#include "cli/exchange_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "algebra/exchange/readings.h"
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

ExchangeProcess::ExchangeProcess(Json request, algebra::Library& library)
    : format_(request.at("format").get<std::string>()),
      library_(library),
      bank_(library),
      process_(require_command(format_), memory_limit) {
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
  for (;;) {
    while (!process_.is_ready(poll_interval)) runtime::throw_if_interrupted("format " + format_);
    const auto frame = process_.receive(frame_timeout);
    if (!frame) fail(process_.end_reason());
    Json message = runtime::parse_json(runtime::text_of(*frame));
    if (message.contains("error"))
      throw runtime::InputError(message["error"].at("place").get<std::string>(),
                                message["error"].at("message").get<std::string>());
    if (message.contains("failure")) fail(message["failure"].get<std::string>());
    if (!message.contains("question")) return message;
    send(answer(message["question"]));
  }
}

Json ExchangeProcess::answer(const Json& question) {
  if (question.contains("operator"))
    return algebra::describe_instance(question["operator"].get<std::string>(), question.at("parameters"),
                                      question.at("ranks").get<std::vector<std::uint32_t>>(), library_, symbols_);
  std::vector<algebra::Shape> shapes;
  for (const Json& shape : question.at("shapes")) {
    shapes.emplace_back();
    for (const Json& size : shape) shapes.back().emplace_back(symbols_.size(size.get<std::string>()));
  }
  return algebra::describe_call(question.at("call").get<std::string>(), shapes,
                                question.at("explicit_rank").get<std::uint32_t>(), library_, bank_, symbols_);
}

void ExchangeProcess::fail(const std::string& reason) const {
  throw runtime::Error("format " + format_, "its helper process failed: " + reason);
}

std::vector<algebra::ImportedRule> read_exchange_file(const std::string& format, const std::string& bytes,
                                                      const std::string& origin, const std::string& taso_table,
                                                      algebra::Library& library, algebra::TermBank& bank,
                                                      algebra::Symbols& symbols) {
  Json request = {{"format", format}, {"text", bytes}, {"origin", origin}, {"table", taso_table}};
  if (format == "taso")  // JSON has no bytes
    request["text"] = fmt::format("{:02x}", fmt::join(std::vector<unsigned char>(bytes.begin(), bytes.end()), ""));
  const Json result = ExchangeProcess(std::move(request), library).result();
  return algebra::read_statements(result.at("statements"), library, bank, symbols);
}

}  // namespace rulemill::cli
