#include "optimize/cost_source.h"

#include <fmt/format.h>

#include <cmath>

#include "optimize/cost_table.h"
#include "optimize/onnx/mapping.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "runtime/json_report.h"

namespace rulemill::optimize {

namespace {

using runtime::Json;

constexpr int probe_opset = 17;
constexpr double most_elements = 1 << 27;  // of a probe's tensors: what is larger is left to the analytic model
constexpr std::chrono::seconds start_patience{60}, probe_patience{60};

Json literal_json(const OnnxLiteral& literal) {
  if (literal.word) return *literal.word;
  if (literal.number) return *literal.number;
  Json numbers = Json::array();
  for (const algebra::Poly& element : literal.integers) numbers.push_back(element.constant().value());
  return literal.is_list ? numbers : numbers.at(0);
}

class OnnxruntimeCosts final : public MeasuredCosts {
 public:
  OnnxruntimeCosts(const std::vector<std::string>& helper, std::filesystem::path path, CostTable table,
                   const algebra::Library& library)
      : MeasuredCosts(std::move(path), std::move(table), library), process_(helper) {
    const auto hello = process_.receive(start_patience);
    if (!hello)
      throw runtime::UsageError("--cost", helper[0] + " cannot import onnxruntime (" + process_.end_reason() + ")");
    const std::string runtime = Json::parse(runtime::text_of(*hello)).at("name");
    if (!table_.runtime.empty() && table_.runtime != runtime) table_.seconds.clear();
    table_.runtime = runtime;
  }

 private:
  double measured(const CostQuery& query) override {
    const std::optional<Json> question = question_of(query);
    if (!question || !process_.alive()) return cannot;
    const std::string text = question->dump();
    process_.send(runtime::bytes_of(std::string_view(text)));
    const auto frame = process_.receive(probe_patience);
    if (!frame) return cannot;  // what it died of is not asked again
    const Json answer = Json::parse(runtime::text_of(*frame), nullptr, false);
    if (!answer.is_object() || !answer.contains("seconds") || !answer["seconds"].is_number()) return cannot;
    const double seconds = answer["seconds"];
    return std::isfinite(seconds) && seconds >= 0 ? seconds : cannot;
  }

  /// The node as ONNX says it, over inputs and weights of these shapes; nothing if it cannot be said.
  std::optional<Json> question_of(const CostQuery& query) const {
    algebra::Symbols symbols;
    const algebra::Instance& instance = library_.instance(query.instance);
    std::vector<std::int64_t> slots;
    if (!algebra::infer(instance, query.inputs, query.sizes, &slots)) return std::nullopt;
    std::vector<algebra::Poly> sizes(slots.begin(), slots.end());
    const auto node = emit(instance, sizes, probe_opset, symbols);
    if (!node) return std::nullopt;
    Json question = {
        {"threads", table_.threads}, {"opset", probe_opset}, {"leaves", Json::array()}, {"inputs", Json::array()}};
    for (std::size_t i = 0; i < query.inputs.size(); ++i) {
      double elements = 1;
      for (const std::int64_t dim : query.inputs[i]) elements *= static_cast<double>(dim);
      if (elements > most_elements) return std::nullopt;
      question["leaves"].push_back({{"shape", query.inputs[i]}, {"constant", static_cast<bool>(query.constant.at(i))}});
    }
    for (std::size_t i = 0; i < node->arguments.size(); ++i) {
      if (node->arguments[i]) {
        question["inputs"].push_back({{"leaf", *node->arguments[i]}});
      } else if (node->constants[i].other || node->constants[i].reals) {
        return std::nullopt;
      } else {
        question["inputs"].push_back({{"value", literal_json(node->constants[i])}});
      }
    }
    question["op_type"] = node->op_type;
    question["outputs"] = instance.outputs.size();
    question["attributes"] = Json::object();
    for (const auto& [name, value] : node->attributes) question["attributes"][name] = literal_json(value);
    // What the number is does not matter.
    constexpr double some_number = 0.01;
    for (const auto& [name, argument] : node->attribute_arguments) question["attributes"][name] = some_number;
    if (node->wrapper) question["then"] = {*node->wrapper};
    if (query.then) {
      const algebra::Instance& next = library_.instance(*query.then);
      const auto after = emit(next, {}, probe_opset, symbols);
      if (!after || after->wrapper || !after->attributes.empty()) return std::nullopt;
      question["then"].push_back(after->op_type);
    }
    return question;
  }

  runtime::Subprocess process_;
};

}  // namespace

std::unique_ptr<CostSource> table_costs(const std::filesystem::path& path, const algebra::Library& library,
                                        std::uint32_t threads, std::span<const std::string> machines) {
  CostTable table = read_cost_table(path);
  require_machine(table, machines, path);
  if (table.threads != threads) {
    throw runtime::InputError(path.string(),
                              fmt::format("was measured with {} threads; expected {}", table.threads, threads));
  }
  return std::make_unique<TableCosts>(std::move(table), library);
}

std::unique_ptr<CostSource> onnxruntime_costs(const std::vector<std::string>& helper, const std::filesystem::path& path,
                                              const algebra::Library& library, std::uint32_t threads) {
  if (helper.empty())
    throw runtime::UsageError("--cost", "no Python with onnxruntime was found; analytic costs need none");
  CostTable table{"", machine_name(), threads, {}};
  if (!path.empty() && std::filesystem::exists(path)) {
    CostTable known = read_cost_table(path);
    if (known.machine == table.machine && known.threads == threads) table = std::move(known);
  }
  return std::make_unique<OnnxruntimeCosts>(helper, path, std::move(table), library);
}

}  // namespace rulemill::optimize
