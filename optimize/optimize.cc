#include "optimize/optimize.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "algebra/text.h"
#include "optimize/onnx/export.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

class Clock {
 public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double spent = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return spent;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Sizes of the model's symbolic dimensions, from what the user said of its inputs.
Evaluator::Sizes given_sizes(const Options& options, const Import& import, const GraphBank& bank) {
  Evaluator::Sizes sizes;
  for (const auto& [name, dims] : options.input_shapes) {
    auto found = std::ranges::find_if(import.inputs, [&](ValueId id) { return bank.value(id).name == name; });
    if (found == import.inputs.end() || !bank.value(*found).type) {
      throw runtime::UsageError("--input-shapes", "the model has no float input '" + name + "' of known rank");
    }
    const algebra::Shape& shape = *bank.value(*found).type;
    auto refuse = [&] {
      throw runtime::UsageError("--input-shapes", "input '" + name + "' is " + bank.symbols().to_string(shape));
    };
    if (shape.size() != dims.size()) refuse();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (auto number = shape[d].constant()) {
        if (*number != dims[d]) refuse();
      } else if (auto atom = shape[d].atom()) {
        if (sizes.emplace(*atom, dims[d]).first->second != dims[d]) refuse();
      }
    }
  }
  return sizes;
}

void fill_tables(Summary& summary, CostModel& cost, const Import& import, std::span<const ValueId> before,
                 std::span<const ValueId> after) {
  auto opaque_name = [&](const Node& node) { return import.nodes[import.opaque_nodes.at(node.source)].op_type; };
  auto rows_before = cost.table(before, opaque_name), rows_after = cost.table(after, opaque_name);
  std::set<std::string> names;
  for (const auto& [name, row] : rows_before) names.insert(name);
  for (const auto& [name, row] : rows_after) names.insert(name);
  for (const std::string& name : names) summary.rows.push_back({name, rows_before[name], rows_after[name]});
  summary.seconds_before = cost.graph_seconds(before);
  summary.seconds_after = cost.graph_seconds(after);
}

void fill_fired(Summary& summary, const std::vector<Step>& steps, const std::vector<algebra::RuleRecord>& rules,
                const algebra::TermBank& terms, const algebra::Symbols& symbols) {
  for (const Step& step : steps) {
    const algebra::RuleRecord& record = rules[step.rule];
    auto fired = std::ranges::find(summary.fired, record.rule.id, &Summary::Fired::id);
    if (fired == summary.fired.end()) {
      Summary::Fired fresh;
      fresh.id = record.rule.id;
      fresh.text = algebra::to_string(record.rule, terms, symbols);
      if (record.rule.tier == algebra::Tier::Core) fresh.tier = "core";
      if (record.rule.tier == algebra::Tier::Shortcut) fresh.tier = "shortcut";
      fresh.certified = record.certificate.kind != algebra::Certificate::Kind::None;
      fired = summary.fired.insert(summary.fired.end(), std::move(fresh));
    }
    ++fired->times;
    fired->reversed += step.reversed ? 1 : 0;
  }
}

void fill_unknown(Summary& summary, const Import& import) {
  for (const auto& node : import.nodes) {
    if (!node.recipe.opaque() || node.reason == "a constant") continue;
    auto same = std::ranges::find_if(
        summary.unknown, [&](const auto& each) { return each.op_type == node.op_type && each.reason == node.reason; });
    if (same == summary.unknown.end()) {
      same = summary.unknown.insert(summary.unknown.end(), {node.op_type, node.reason, 0});
    }
    ++same->count;
  }
}

}  // namespace

Summary run(const Options& options) {
  algebra::Library library = algebra::Library::load(options.operators);
  algebra::TermBank terms(library);
  algebra::Symbols symbols;
  std::filesystem::path database = options.rules;
  if (std::filesystem::is_directory(database)) database /= "rules.rmdb";
  algebra::RuleSet rules = algebra::load_rule_set(database, library, terms, symbols);
  Summary summary = run(options, library, terms, symbols, rules.rules);
  summary.rules = database.string();
  return summary;
}

Summary run(const Options& options, algebra::Library& library, const algebra::TermBank& terms,
            algebra::Symbols& symbols, const std::vector<algebra::RuleRecord>& rules) {
  Summary summary;
  Clock clock;
  Device device = find_device(options.device);
  OnnxModel model = OnnxModel::read(options.model);
  GraphBank bank(library, symbols);
  Import import = import_model(model, bank);
  Fusion fusion(bank);
  Evaluator::Sizes sizes = given_sizes(options, import, bank);
  CostModel cost(bank, fusion, device, sizes);
  summary.import_time = clock.lap();

  Matcher matcher(bank, terms, rules);
  auto acceptable = [&](std::span<const ValueId> outputs) {
    return plan_export(import, bank, fusion, outputs, model.opset()).refusal.empty();
  };
  SearchResult found = search_windows(bank, matcher, cost, import.outputs, options.search, options.windows, acceptable);
  const Candidate& best = found.best.at(0);
  std::vector<ValueId> outputs = fold_constants(bank, best.outputs);
  summary.search_time = clock.lap();

  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.device = device.name;
  summary.opset = model.opset();
  summary.alpha = options.search.alpha;
  summary.budget = options.search.budget;
  summary.graphs_made = found.made;
  summary.graphs_extended = found.extended;
  summary.exhausted = found.exhausted;
  summary.rules_loaded = rules.size();
  summary.patterns = matcher.patterns().size();
  summary.verify_seeds = options.verify_seeds;
  summary.tolerance = options.tolerance;
  summary.changed = outputs != import.outputs;
  fill_tables(summary, cost, import, import.outputs, outputs);
  fill_fired(summary, best.steps, rules, terms, symbols);
  fill_unknown(summary, import);
  summary.onnx_nodes_before = summary.onnx_nodes_after = static_cast<std::uint32_t>(import.nodes.size());
  summary.bytes_before = summary.bytes_after = model.weight_bytes();

  if (summary.changed) {
    OnnxModel written = export_model(model, import, bank, fusion, outputs);
    // What is verified is what will be written: the exported model, read back.
    Import back = import_model(written, bank);
    summary.onnx_nodes_after = static_cast<std::uint32_t>(back.nodes.size());
    summary.bytes_after = written.weight_bytes();
    VerifyOptions verification{options.verify_seeds, options.tolerance, sizes};
    clock.lap();
    summary.verification = verify(bank, import.outputs, back.outputs, verification);
    summary.verify_time = clock.lap();
    if (!summary.verification.equal) {
      throw runtime::Error(
          options.model.string(),
          "the optimized model computes something else, so it is not written: " + summary.verification.failure);
    }
    model = std::move(written);
  }
  if (!options.out.empty()) model.write(options.out);
  return summary;
}

std::pair<std::string, std::vector<std::int64_t>> parse_input_shape(const std::string& text) {
  auto refuse = [&] { throw runtime::UsageError("--input-shapes", "expected NAME:1x3x224x224, found '" + text + "'"); };
  std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) refuse();
  std::vector<std::int64_t> dims;
  std::int64_t number = 0;
  bool digits = false;
  for (std::size_t i = colon + 1; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : 'x';
    if (c >= '0' && c <= '9' && number < 1'000'000'000) {
      number = number * 10 + (c - '0');
      digits = true;
    } else if ((c == 'x' || c == ',') && digits && number > 0) {
      dims.push_back(number);
      number = 0;
      digits = false;
    } else {
      refuse();
    }
  }
  return {text.substr(0, colon), dims};
}

}  // namespace rulemill::optimize
