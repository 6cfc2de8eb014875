#include "optimize/optimize.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "algebra/terms/rule_text.h"
#include "optimize/judge.h"
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
    if (!node.recipe.opaque() || node.is_constant() || node.dropped) continue;
    auto same = std::ranges::find_if(
        summary.unknown, [&](const auto& each) { return each.op_type == node.op_type && each.reason == node.reason; });
    if (same == summary.unknown.end()) {
      same = summary.unknown.insert(summary.unknown.end(), {node.op_type, node.reason, 0});
    }
    ++same->count;
  }
}

std::uint64_t node_count(const std::map<std::string, CostRow>& rows) {
  std::uint64_t count = 0;
  for (const auto& [name, row] : rows) count += row.count;
  return count;
}

/// A folder that is gone at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& beside) {
    std::string name = (beside / ".rulemill-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw runtime::IoError(beside.string(), "no folder can be made there");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What a candidate is exported from and judged against.
struct Setting {
  const Options& options;
  const OnnxModel& model;
  const Import& import;
  GraphBank& bank;
  NodeInference& inference;
  const Evaluator::Sizes& sizes;
};

struct Attempt {
  std::optional<OnnxModel> model;
  Drawing picture;
  std::vector<Judgement> judgements;
  std::string without_judge;
  std::string refusal;  // why it is not to be written
};

/// No judge may find a difference, and one must have seen that there is none.
std::string refusal_of(const std::vector<Judgement>& judgements) {
  using Verdict = Judgement::Verdict;
  for (const Judgement& each : judgements) {
    if (each.verdict == Verdict::Different) return "it computes something else (" + each.judge + "): " + each.reason;
  }
  for (const Judgement& each : judgements) {
    if (each.equal()) return {};
  }
  return "it could not be verified (" + judgements.at(0).judge + "): " + judgements.at(0).reason;
}

/// onnxruntime reads files: the candidate gets one of its own, beside the place where it will be.
void ask_onnxruntime(const Setting& with, Attempt& attempt) {
  const Options& options = with.options;
  if (attempt.judgements.back().verdict == Judgement::Verdict::Different) return;
  const auto beside = options.out.empty() ? std::filesystem::temp_directory_path()
                                          : std::filesystem::absolute(options.out).parent_path();
  const ScratchFolder scratch(beside);
  if (!options.judge.empty()) attempt.model->write(scratch.path() / "candidate.onnx");
  const JudgeOptions judging{options.judge, options.verify_seeds, options.tolerance, options.input_shapes,
                             options.judge_seconds};
  auto judgement =
      judge_by_onnxruntime(options.model, scratch.path() / "candidate.onnx", judging, attempt.without_judge);
  if (judgement) attempt.judgements.push_back(std::move(*judgement));
}

/// Exports and judges a candidate. What is judged is what will be written: the exported model, read back.
Attempt try_candidate(const Setting& with, const ExportPlan& plan, const Candidate& candidate) {
  Attempt attempt;
  try {
    attempt.model = export_model(with.model, with.import, with.bank, plan, candidate.outputs);
    Import back = import_model(*attempt.model, with.bank, &with.inference);
    attempt.picture = drawing_of(back, with.bank);
    const VerifyOptions verification{with.options.verify_seeds, with.options.tolerance, with.sizes};
    attempt.judgements.push_back(verify(with.bank, with.import.outputs, back.outputs, verification));
    ask_onnxruntime(with, attempt);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    attempt.refusal = error.what();
    return attempt;
  }
  attempt.refusal = refusal_of(attempt.judgements);
  return attempt;
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
  NodeInference inference(options.type_helper);
  Import import = import_model(model, bank, &inference);
  Fusion fusion(bank);
  Evaluator::Sizes sizes = given_sizes(options, import, bank);
  CostModel cost(bank, fusion, device, sizes);
  summary.import_time = clock.lap();

  auto plan_of = [&](std::span<const ValueId> outputs) {
    return plan_export(import, bank, fusion, outputs, model.opset());
  };
  const ExportPlan plan_before = plan_of(import.outputs);
  Matcher matcher(bank, terms, rules);
  const Acceptable acceptable = [&](std::span<const ValueId> outputs) { return plan_of(outputs).refusal.empty(); };
  const auto find = [&] {
    if (options.search.kind == SearchKind::Backtrack) {
      return search_windows(bank, matcher, cost, import.outputs, options.search, options.windows, acceptable);
    }
    Saturator saturator(bank, terms, rules, cost, fusion);
    return saturate_windows(bank, saturator, cost, fusion, import.outputs, options.search, options.windows, acceptable);
  };
  SearchResult found = find();
  summary.search_time = clock.lap();
  summary.seconds_before = cost.graph_seconds(import.outputs);
  summary.seconds_found = found.best.at(0).seconds;
  summary.model = options.model.string();
  summary.output = options.out.string();
  summary.device = device.name;
  summary.device_description = device.description;
  summary.opset = model.opset();
  summary.min_gain = options.min_gain;
  summary.saturated = options.search.kind == SearchKind::Saturate;
  summary.windows = found.windows;
  summary.e_nodes = found.nodes;
  summary.alpha = options.search.alpha;
  summary.budget = options.search.budget;
  summary.graphs_made = found.made;
  summary.graphs_extended = found.extended;
  summary.exhausted = found.exhausted;
  summary.rules_loaded = rules.size();
  summary.patterns = matcher.patterns().size();
  summary.verify_seeds = options.verify_seeds;
  summary.tolerance = options.tolerance;
  fill_unknown(summary, import);
  fill_sizes(summary, import, bank, sizes);
  summary.bytes_before = summary.bytes_after = model.weight_bytes();
  summary.picture_before = summary.picture_after = drawing_of(import, bank);

  // The cost is a model: a gain within its error is no reason to change anything. What is left then is to drop nodes
  // that nothing uses, that say the same as another or that are computed from constants.
  std::vector<Candidate> candidates;
  for (const Candidate& each : found.best) {
    if (!each.steps.empty() && each.seconds <= summary.seconds_before * (1 - options.min_gain))
      candidates.push_back(each);
  }
  candidates.push_back({import.outputs, summary.seconds_before, {}});
  const auto rows_before = table_before(bank, cost, import, plan_before);
  std::optional<OnnxModel> written;
  Candidate best = candidates.back();
  std::map<std::string, CostRow> rows_after = rows_before;
  for (const Candidate& candidate : candidates) {
    const ExportPlan plan = plan_of(candidate.outputs);
    auto rows = cost_table(bank, cost, import, plan, candidate.outputs);
    if (candidate.steps.empty() && node_count(rows) >= node_count(rows_before)) break;
    Attempt attempt = try_candidate({options, model, import, bank, inference, sizes}, plan, candidate);
    summary.judgements = attempt.judgements;
    summary.without_judge = attempt.without_judge;
    if (attempt.refusal.empty()) {
      mark_differences(summary.picture_before, attempt.picture);
      summary.picture_after = std::move(attempt.picture);
      written = std::move(attempt.model);
      best = candidate;
      rows_after = std::move(rows);
      break;
    }
    if (summary.warning.empty()) summary.warning = "a cheaper model was not taken: " + attempt.refusal;
  }
  summary.verify_time = clock.lap();
  summary.changed = written.has_value();
  summary.seconds_after = best.seconds;
  fill_rows(summary, rows_before, rows_after);
  fill_fired(summary, best.steps, rules, terms, symbols);
  if (written) summary.bytes_after = written->weight_bytes();
  if (options.out.empty()) return summary;
  if (written) {
    written->write(options.out);
  } else {
    model.write_as_read(options.out);
  }
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
