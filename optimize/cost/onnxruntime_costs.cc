#include "optimize/cost/onnxruntime_costs.h"

#include <cmath>

#include "optimize/cost/cost_table.h"
#include "optimize/onnx/mapping/mapping.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/error.h"
#include "runtime/text/json.h"

namespace rulemill::optimize {
namespace {

using runtime::Json;

constexpr int probe_opset = 17;
constexpr double max_elements = 1 << 27;  // of a tensor of a measured node; larger ones are left to the analytic model
constexpr std::chrono::seconds start_timeout{60}, query_timeout{60};

Json literal_json(const OnnxLiteral& literal) {
  if (literal.string_value) return *literal.string_value;
  if (literal.float_value) return *literal.float_value;
  Json numbers = Json::array();
  for (const algebra::Poly& element : literal.integers) numbers.push_back(element.constant().value());
  return literal.is_list ? numbers : numbers.at(0);
}

class OnnxruntimeCosts final : public MeasuredCosts {
 public:
  OnnxruntimeCosts(const std::vector<std::string>& helper, std::filesystem::path path, CostTable table,
                   const algebra::Library& library)
      : MeasuredCosts(std::move(path), std::move(table), library), process_(helper) {
    const auto hello = process_.receive(start_timeout);
    if (!hello)
      throw runtime::UsageError("--cost", helper[0] + " cannot import onnxruntime (" + process_.end_reason() + ")");
    const std::string runtime = runtime::parse_json(runtime::text_of(*hello)).at("name");
    if (!table_.runtime.empty() && table_.runtime != runtime) table_.seconds.clear();
    table_.runtime = runtime;
  }

 private:
  double measure_now(const CostQuery& query) override {
    const std::optional<Json> question = question_of(query);
    if (!question || !process_.is_alive()) return unmeasurable;
    const std::string text = question->dump();
    process_.send(runtime::bytes_of(std::string_view(text)));
    const auto frame = process_.receive(query_timeout);
    if (!frame) return unmeasurable;  // a query that ends the helper is not repeated
    const Json answer = runtime::parse_json_or_discard(runtime::text_of(*frame));
    if (!answer.is_object() || !answer.contains("seconds") || !answer["seconds"].is_number()) return unmeasurable;
    const double seconds = answer["seconds"];
    return std::isfinite(seconds) && seconds >= 0 ? seconds : unmeasurable;
  }

  /// Returns the node in ONNX's terms with the shapes of its inputs and weights; nullopt if ONNX cannot express it.
  std::optional<Json> question_of(const CostQuery& query) const {
    algebra::Symbols symbols;
    const algebra::OperatorInstance& instance = library_.instance(query.instance);
    std::vector<std::int64_t> slots;
    if (!algebra::infer(instance, query.inputs, query.sizes, &slots)) return std::nullopt;
    std::vector<algebra::Poly> sizes(slots.begin(), slots.end());
    const auto node = emit(instance, sizes, probe_opset, symbols);
    if (!node) return std::nullopt;
    Json question = {
        {"threads", table_.threads}, {"opset", probe_opset}, {"leaves", Json::array()}, {"inputs", Json::array()}};
    for (std::size_t i = 0; i < query.inputs.size(); ++i) {
      if (count_elements(query.inputs[i]) > max_elements) return std::nullopt;
      question["leaves"].push_back({{"shape", query.inputs[i]}, {"constant", static_cast<bool>(query.constant.at(i))}});
    }
    for (std::size_t i = 0; i < node->arguments.size(); ++i) {
      if (node->arguments[i])
        question["inputs"].push_back({{"leaf", *node->arguments[i]}});
      else if (node->constants[i].is_unsupported || node->constants[i].as_float32)
        return std::nullopt;
      else
        question["inputs"].push_back({{"value", literal_json(node->constants[i])}});
    }
    question["op_type"] = node->op_type;
    question["domain"] = node->domain;
    question["outputs"] = instance.outputs.size();
    question["attributes"] = Json::object();
    for (const auto& [name, value] : node->attributes) question["attributes"][name] = literal_json(value);
    constexpr double any_number = 0.01;  // the time does not depend on it
    for (const auto& [name, argument] : node->attribute_arguments) question["attributes"][name] = any_number;
    if (node->activation) question["activations"] = {*node->activation};
    if (query.activation) {
      const auto activation = emit(library_.instance(*query.activation), {}, probe_opset, symbols);
      if (!activation || activation->activation || !activation->attributes.empty()) return std::nullopt;
      question["activations"].push_back(activation->op_type);
    }
    return question;
  }

  runtime::Subprocess process_;
};

}  // namespace

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
