#include "cli/exchange_process.h"

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

std::vector<algebra::ImportedRule> read_exchange_text(const std::string& format, const std::string& text,
                                                      const std::string& origin, algebra::Library& library,
                                                      algebra::TermBank& bank, algebra::Symbols& symbols) {
  ExchangeProcess process({{"format", format}, {"text", text}, {"origin", origin}}, library);
  const Json result = process.result();
  std::vector<algebra::ImportedRule> rules;
  for (const Json& each : result.at("statements")) {
    const std::string name = each.at("name").get<std::string>(), place = each.at("place").get<std::string>();
    if (!each.contains("readings")) {
      rules.push_back({name, place, std::nullopt, each.at("problem").get<std::string>()});
      continue;
    }
    const auto texts = each["readings"].get<std::vector<std::string>>();
    const auto read = [&] {
      if (each.contains("states_shapes"))
        return algebra::rules_of({place, texts, each["states_shapes"].get<bool>(),
                                  each.at("inferred_sizes").get<std::vector<std::string>>()},
                                 library, bank, symbols);
      // Of two sizes that typing equates, the one that was interned first remains: that which the text has first.
      for (const std::string& size : each.at("sizes").get<std::vector<std::string>>()) symbols.size(size);
      std::vector<algebra::Rule> readings;
      for (const std::string& reading : texts)
        readings.push_back(algebra::parse_reading(reading, place, library, bank, symbols));
      return readings;
    };
    algebra::append_readings(name, place, read, rules);
  }
  return rules;
}

}  // namespace rulemill::cli
