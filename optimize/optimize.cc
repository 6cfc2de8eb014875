#include "optimize/optimize.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "algebra/terms/rule_text.h"
#include "optimize/bodies.h"
#include "optimize/choice.h"
#include "optimize/cost_table.h"
#include "optimize/gpu/costs.h"
#include "optimize/gpu/executor.h"
#include "optimize/graph_search.h"
#include "runtime/error.h"
#include "runtime/machine.h"

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

/// Nothing for analytic costs.
std::unique_ptr<CostSource> cost_source(const Options& options, algebra::Library& library) {
  const std::uint32_t threads = options.timing.threads;
  if (options.cost == "table") {
    std::vector<std::string> machines{machine_name()};
    if (const auto device = gpu::device_name()) machines.push_back(*device);
    return table_costs(options.cost_table, library, threads, machines);
  }
  if (options.cost == "cuda") return gpu::cuda_costs(options.cost_table, library);
  if (options.cost == "onnxruntime")
    return onnxruntime_costs(options.cost_helper, options.cost_table, library, threads);
  return nullptr;
}

/// Sizes of the model's symbolic dimensions, from what the user said of its inputs.
Evaluator::Sizes given_sizes(const Options& options, const Import& import, const GraphBank& bank) {
  Evaluator::Sizes sizes;
  for (const auto& given : options.input_shapes) {
    const std::string& name = given.first;
    const std::vector<std::int64_t>& dims = given.second;
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
      } else if (auto atom = (shape[d] - shape[d].constant_term()).atom()) {
        const std::int64_t rest = dims[d] - shape[d].constant_term();
        if (rest < 1 || sizes.emplace(*atom, rest).first->second != rest) refuse();
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

void fill_sizes(Summary& summary, const Import& import, const Evaluator::Sizes& given) {
  for (const OpenSize& size : import.sizes) {
    auto found = given.find(size.atom);
    const bool assumed = found == given.end();
    summary.sizes.push_back({size.name, (assumed ? CostModel::default_size : found->second) + size.above, assumed});
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
      using Kind = algebra::Certificate::Kind;
      fresh.certified = record.certificate.kind != Kind::None;
      fresh.proof = record.certificate.kind == Kind::Definitions  ? "by definitions"
                    : record.certificate.kind == Kind::Derivation ? "by derivation"
                                                                  : "";
      fresh.certificate = record.certificate.text;
      fired = summary.fired.insert(summary.fired.end(), std::move(fresh));
    }
    ++fired->times;
    fired->saved += step.before - step.after;
    fired->reversed += step.reversed ? 1 : 0;
  }
}

void fill_unknown(Summary& summary, const Import& import) {
  for (const auto& node : import.nodes) {
    if (!node.recipe.opaque() || node.is_constant() || node.dropped) continue;
    auto same = std::ranges::find_if(
        summary.unknown, [&](const auto& each) { return each.op_type == node.op_type && each.reason == node.reason; });
    if (same == summary.unknown.end()) {
      same = summary.unknown.insert(summary.unknown.end(), {node.op_type, node.reason, 0});
    }
    ++same->count;
  }
}

void fill_options(Summary& summary, const Options& options, const Device& device) {
  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.device = device.name;
  summary.device_description = device.description;
  summary.min_gain = options.min_gain;
  summary.saturated = options.search.kind == SearchKind::Saturate;
  summary.alpha = options.search.alpha;
  summary.budget = options.search.budget;
  summary.verify_seeds = options.verify_seeds;
  summary.acceptance = options.acceptance;
}

void fill_search(Summary& summary, const SearchResult& found) {
  summary.windows = found.windows;
  summary.e_nodes = found.nodes;
  summary.extracted = found.extracted;
  summary.exactly = found.exactly;
  summary.graphs_made = found.made;
  summary.graphs_extended = found.extended;
  summary.exhausted = found.exhausted;
}

/// What was tried and said of it; the model itself stays in the choice.
void fill_choice(Summary& summary, Choice& choice) {
  summary.judgements = std::move(choice.judgements);
  summary.without_judge = std::move(choice.without_judge);
  summary.timing = std::move(choice.timing);
  summary.warning = std::move(choice.warning);
  summary.changed = choice.model.has_value();
  if (!choice.model) return;
  mark_differences(summary.picture_before, choice.picture);
  summary.picture_after = std::move(choice.picture);
  summary.bytes_after = choice.model->weight_bytes();
}

std::uint64_t node_count(const std::map<std::string, CostRow>& rows) {
  std::uint64_t count = 0;
  for (const auto& [name, row] : rows) count += row.count;
  return count;
}

/// Nodes of the first search's e-graphs beyond which it is not done again for other costs: it took seconds.
constexpr std::uint64_t most_nodes_searched_again = 150000;
/// Results that are exported and timed.
constexpr std::size_t most_tried = 4;
/// A share of a cost below which two costs are the same.
constexpr double rounding = 1e-9;

/// The best of a search with another cost, second in line, or first if it is the cheaper by this one.
void add_best(SearchResult& found, SearchResult other, CostModel& cost) {
  Candidate best = std::move(other.best.at(0));
  best.seconds = cost.graph_seconds(best.outputs);
  const bool cheaper = best.seconds < found.best.at(0).seconds * (1 - rounding);
  found.best.insert(found.best.begin() + (cheaper ? 0 : 1), std::move(best));
  found.made += other.made;
  found.extended += other.extended;
  found.windows += other.windows;
  found.nodes += other.nodes;
  found.extracted += other.extracted;
  found.exactly += other.exactly;
  found.exhausted = found.exhausted && other.exhausted;
}

/// By some cost.
using Search = std::function<SearchResult(CostModel&)>;

/// What is found by the cost, and, where that did not take long, by others that the device might have.
SearchResult found_by(const Search& search, CostModel& cost, std::vector<CostModel>& others) {
  SearchResult found = search(cost);
  if (found.nodes > most_nodes_searched_again) return found;
  for (CostModel& other : others) add_best(found, search(other), cost);
  return found;
}

/// The cost is a model: a gain within its error is no reason to change anything, unless it is timed. What is left then
/// is to drop nodes that nothing uses, that say the same as another or that are computed from constants.
std::vector<Candidate> worth_trying(const std::vector<Candidate>& found, const Import& import, const Options& options,
                                    double seconds_before, bool fewer_nodes_without_rules) {
  std::vector<Candidate> candidates;
  for (const Candidate& each : found) {
    const auto same = [&](const Candidate& other) { return other.outputs == each.outputs; };
    if (!each.steps.empty() && each.seconds < seconds_before * (1 - std::max(options.min_gain, rounding)) &&
        std::ranges::none_of(candidates, same)) {
      candidates.push_back(each);
    }
  }
  if (candidates.size() > most_tried) candidates.resize(most_tried);
  if (fewer_nodes_without_rules) candidates.push_back({import.outputs, seconds_before, {}});
  return candidates;
}

}  // namespace

Summary run(const Options& options) {
  algebra::Library library = algebra::Library::load(options.operators);
  algebra::TermBank terms(library);
  algebra::Symbols symbols;
  std::vector<algebra::RuleRecord> rules;
  std::string names;
  for (std::filesystem::path database : options.rules) {
    if (std::filesystem::is_directory(database)) database /= "rules.rmdb";
    algebra::RuleSet set = algebra::load_rule_set(database, library, terms, symbols);
    for (algebra::RuleRecord& record : set.rules) {
      if (options.rules.size() > 1) record.rule.id = set.provenance.profile_name + "/" + record.rule.id;
      rules.push_back(std::move(record));
    }
    names += (names.empty() ? "" : ", ") + database.string();
  }
  Summary summary = run(options, library, terms, symbols, rules);
  summary.rules = names;
  return summary;
}

Summary run(const Options& options, algebra::Library& library, algebra::TermBank& terms, algebra::Symbols& symbols,
            const std::vector<algebra::RuleRecord>& given) {
  Summary summary;
  Clock clock;
  Device device = find_device(options.device);
  const OnnxModel given_model = OnnxModel::read(options.model);
  try_timing_command(options.model, options.timing);
  NodeInference inference(options.type_helper);
  const BodySetting inside{options, library, terms, symbols, given, device, inference};
  const BetterBodies bodies = options.explain.empty() ? better_bodies(given_model, inside) : BetterBodies();
  const OnnxModel& model = bodies.model ? *bodies.model : given_model;
  GraphBank bank(library, symbols);
  Import import = import_model(model, bank, &inference);
  Fusion fusion(bank, options.together.empty() ? Together() : Together::load(options.together));
  Evaluator::Sizes sizes = given_sizes(options, import, bank);
  const std::unique_ptr<CostSource> source = cost_source(options, library);
  CostModel cost(bank, fusion, device, sizes, source.get());
  const auto rules = algebra::at_instances(given, occurrences(bank), library, terms, symbols);
  summary.import_time = clock.lap();

  auto plan_of = [&](std::span<const ValueId> outputs) {
    return plan_export(import, bank, fusion, outputs, model.opset());
  };
  Matcher matcher(bank, terms, rules);
  if (!options.explain.empty()) {
    summary.explanations = explain_bodies(given_model, inside);
    try {
      for (Explanation& each : explain({bank, import, terms, rules, matcher, cost}, options.explain))
        summary.explanations.push_back(std::move(each));
    } catch (const runtime::UsageError&) {
      if (summary.explanations.empty()) throw;  // no node of a graph inside either
    }
    std::ranges::stable_sort(summary.explanations, std::ranges::greater(), &Explanation::fits);
    return summary;
  }
  const Acceptable acceptable = [&](std::span<const ValueId> outputs) { return plan_of(outputs).refusal.empty(); };
  const Search search = [&](CostModel& by) {
    return search_graph({options, bank, terms, rules, matcher, fusion}, by, import.outputs, acceptable);
  };
  std::vector<CostModel> others;
  for (const Device& reading : options.timing.possible() ? readings_of(device) : std::vector<Device>()) {
    if (source || reading.overhead != device.overhead) others.emplace_back(bank, fusion, reading, sizes);
  }
  SearchResult found = found_by(search, cost, others);
  summary.search_time = clock.lap();
  if (source) {
    source->save();
    summary.cost_source = source->description();
  }
  summary.seconds_before = cost.graph_seconds(import.outputs);
  summary.seconds_found = found.best.at(0).seconds;
  fill_options(summary, options, device);
  fill_search(summary, found);
  summary.opset = model.opset();
  summary.rules_loaded = given.size();
  summary.patterns = matcher.patterns().size();
  fill_unknown(summary, import);
  fill_sizes(summary, import, sizes);
  summary.bytes_before = summary.bytes_after = given_model.weight_bytes();
  summary.picture_before = summary.picture_after = drawing_of(import, bank);

  const auto rows_of = [&](std::span<const ValueId> outputs) {
    return cost_table(bank, cost, import, plan_of(outputs), outputs);
  };
  const auto rows_before = table_before(bank, cost, import, plan_of(import.outputs));
  const std::vector<Candidate> candidates =
      worth_trying(found.best, import, options, summary.seconds_before,
                   bodies.model || node_count(rows_of(import.outputs)) < node_count(rows_before));
  Choice choice = choose({options, model, import, bank, fusion, cost, inference, sizes}, candidates);
  summary.verify_time = clock.lap();
  fill_choice(summary, choice);
  summary.bodies = bodies.looked_at;
  summary.bodies_changed = choice.model ? bodies.changed : 0;
  if (summary.warning.empty()) summary.warning = bodies.warning;
  const Candidate best =
      choice.model ? candidates[choice.candidate] : Candidate{import.outputs, summary.seconds_before, {}};
  summary.seconds_after = best.seconds;
  const auto rows_after = choice.model ? rows_of(best.outputs) : rows_before;
  fill_rows(summary, rows_before, rows_after);
  summary.operations_before = cost.operations(import.outputs);
  summary.operations_after = cost.operations(best.outputs);
  fill_fired(summary, best.steps, rules, terms, symbols);
  if (choice.model) fill_fired(summary, bodies.steps, bodies.rules, terms, symbols);
  summary.peak_bytes = runtime::peak_memory_bytes();
  if (options.out.empty()) return summary;
  if (choice.model) {
    choice.model->write(options.out);
  } else {
    given_model.write_as_read(options.out);
  }
  summary.peak_bytes = runtime::peak_memory_bytes();
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
