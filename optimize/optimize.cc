#include "optimize/optimize.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "algebra/terms/rule_text.h"
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
      throw runtime::UsageError("--input-shape", "the model has no float input '" + name + "' of known rank");
    }
    const algebra::Shape& shape = *bank.value(*found).type;
    auto refuse = [&] {
      throw runtime::UsageError("--input-shape", "input '" + name + "' is " + bank.symbols().to_string(shape));
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

/// The model's own nodes, duplicates and dead ones too; the rest as the table of the graph says.
std::map<std::string, CostRow> table_before(const GraphBank& bank, CostModel& cost, const Import& import,
                                            const ExportPlan& plan) {
  auto rows = cost_table(bank, cost, import, plan, import.outputs);
  for (auto& [name, row] : rows) row.count = 0;
  for (const auto& node : import.nodes) {
    if (!node.is_constant()) ++rows[node.op_type].count;
  }
  return rows;
}

void fill_rows(Summary& summary, const std::map<std::string, CostRow>& before,
               const std::map<std::string, CostRow>& after) {
  std::map<std::string, Summary::Row> rows;
  for (const auto& [name, row] : before) rows[name].before = row;
  for (const auto& [name, row] : after) rows[name].after = row;
  for (auto& [name, row] : rows) {
    row.name = name;
    summary.before += row.before;
    summary.after += row.after;
    summary.rows.push_back(row);
  }
}

void fill_sizes(Summary& summary, const Import& import, const GraphBank& bank, const Evaluator::Sizes& given) {
  for (algebra::Atom size : import.sizes) {
    auto found = given.find(size);
    // Names of sizes begin with a sign that keeps them apart from those of rules.
    summary.sizes.push_back({bank.symbols().name(size).substr(1),
                             found == given.end() ? CostModel::default_size : found->second, found == given.end()});
  }
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
    if (!node.recipe.opaque() || node.is_constant()) continue;
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

  auto plan_of = [&](std::span<const ValueId> outputs) {
    return plan_export(import, bank, fusion, outputs, model.opset());
  };
  const ExportPlan plan_before = plan_of(import.outputs);
  Matcher matcher(bank, terms, rules);
  SearchResult found =
      search_windows(bank, matcher, cost, import.outputs, options.search, options.windows,
                     [&](std::span<const ValueId> outputs) { return plan_of(outputs).refusal.empty(); });
  Candidate best = found.best.at(0);
  summary.search_time = clock.lap();
  summary.seconds_before = cost.graph_seconds(import.outputs);
  summary.seconds_found = best.seconds;
  // The cost is a model: a gain within its error is no reason to change anything.
  if (best.seconds > summary.seconds_before * (1 - options.min_gain))
    best = {import.outputs, summary.seconds_before, {}};
  summary.seconds_after = best.seconds;
  const ExportPlan plan = best.steps.empty() ? plan_before : plan_of(best.outputs);

  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.device = device.name;
  summary.device_description = device.description;
  summary.opset = model.opset();
  summary.min_gain = options.min_gain;
  summary.alpha = options.search.alpha;
  summary.budget = options.search.budget;
  summary.graphs_made = found.made;
  summary.graphs_extended = found.extended;
  summary.exhausted = found.exhausted;
  summary.rules_loaded = rules.size();
  summary.patterns = matcher.patterns().size();
  summary.verify_seeds = options.verify_seeds;
  summary.tolerance = options.tolerance;
  fill_rows(summary, table_before(bank, cost, import, plan_before), cost_table(bank, cost, import, plan, best.outputs));
  // Nodes that nothing uses, that say the same as another or that are computed from constants go in any case.
  summary.changed = !best.steps.empty() || summary.after.count < summary.before.count;
  fill_fired(summary, best.steps, rules, terms, symbols);
  fill_unknown(summary, import);
  fill_sizes(summary, import, bank, sizes);
  summary.bytes_before = summary.bytes_after = model.weight_bytes();
  summary.picture_before = summary.picture_after = drawing_of(import, bank);

  if (summary.changed) {
    OnnxModel written = export_model(model, import, bank, plan, best.outputs);
    // What is verified is what will be written: the exported model, read back.
    Import back = import_model(written, bank);
    summary.picture_after = drawing_of(back, bank);
    mark_differences(summary.picture_before, summary.picture_after);
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
  auto refuse = [&] { throw runtime::UsageError("--input-shape", "expected NAME:1x3x224x224, found '" + text + "'"); };
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
