#include "optimize/equal/model_comparison.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "algebra/rules/specialization.h"
#include "optimize/equal/matching_values.h"
#include "optimize/equal/proof/proof_follower.h"
#include "optimize/equal/sweep.h"
#include "optimize/model/numbers.h"
#include "optimize/onnx/clean/clean.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/identity/constant_part.h"
#include "optimize/onnx/operators/element_function.h"
#include "optimize/onnx/subgraphs.h"
#include "optimize/onnx/unified_interface.h"
#include "optimize/rule_databases.h"
#include "optimize/search/search_graph.h"
#include "optimize/verify/constant_values.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// Pairs in a row that are not merged before a sweep gives up. The first sweep is over models as they are, and gives up
/// early, because most of what it does not show is shown after the clean-up.
constexpr std::uint32_t quick_max_failures = 2, thorough_max_failures = 8;

/// Seconds that onnxruntime has for the constants of a model.
constexpr double constants_timeout = 60;

/// Whether an element may have overflowed: such an infinity is none over the reals, and may stand for different
/// numbers.
bool may_have_overflowed(const InputTensor& tensor) {
  const auto type = to_data_type(tensor.onnx_type);
  return type && is_float(*type) && !is_finite(make_raw_tensor(tensor.onnx_type, tensor.shape, tensor.raw));
}

/// A model with the parts of it under names that do not depend on it.
struct NamedModel {
  NamedModel(OnnxModel given, const algebra::Library& library) : model(std::move(given)), identity(model, library) {}

  OnnxModel model;
  ModelIdentity identity;
};

/// What the comparisons of two models and of their subgraphs share.
struct ComparisonContext {
  explicit ComparisonContext(const EqualityOptions& given)
      : options(given),
        library(algebra::Library::load(options.operators)),
        terms(library),
        loaded(load_databases(options.rules, library, terms, symbols)),
        joined(join_rules(loaded)),
        inference(options.type_helper) {}

  bool is_time_over() const { return options.time_limit > 0 && watch.seconds() >= options.time_limit; }

  const runtime::Stopwatch watch;
  const EqualityOptions& options;
  algebra::Library library;
  algebra::TermBank terms;
  algebra::Symbols symbols;
  std::vector<RuleDatabase> loaded;
  std::vector<algebra::RuleRecord> joined;
  algebra::RankedRules ranked;
  NodeInference inference;
  std::uint32_t scopes = 0;  // pairs of subgraphs that were compared
};

/// Two models in one bank.
class ModelComparison {
 public:
  /// `bounds` are assumed of open dimensions. Throws InputError if the models have different inputs or outputs.
  ModelComparison(ComparisonContext& context, OnnxModel before, OnnxModel after, SizeBounds bounds = {},
                  OuterTypes outer_types = {}, bool by_position = false)
      : context_(context),
        options_(context.options),
        before_(std::move(before), context.library),
        after_(std::move(after), context.library),
        bounds_(std::move(bounds)),
        outer_types_(std::move(outer_types)) {
    require_same_interface(before_.identity, after_.identity, after_.model.origin());
    result_.by_position = by_position;
    result_.before = options_.before.string();
    result_.after = options_.after.string();
    import_models();
  }

  const SizeBounds& bounds() const { return bounds_; }

  /// Follows a proof. Throws InputError of `file` unless it shows that the models are equal.
  EqualityResult follow(const proto::ModelProof& proof, const std::string& file) {
    for (const bool is_after : {false, true}) {
      if (digests_[is_after] != (is_after ? proof.after() : proof.before()))
        throw runtime::InputError(
            file, "is a proof about another model than " + (is_after ? options_.after : options_.before).string());
    }
    if (proof.cleaned()) clean_models(!proof.after_as_written());
    if (proof.normalizations_as_parts()) read_normalizations_as_parts();
    const algebra::RuleSet rules =
        algebra::parse_rule_set(proof.rules(), file, context_.library, context_.terms, context_.symbols);
    std::set<std::string> ids;
    for (const algebra::RuleRecord& record : rules.rules) ids.insert(record.rule.id);
    if (!ids.empty()) options_.rule_check(file, rules, ids, context_.library, context_.terms, context_.symbols);
    ConstantTable table(*bank_);
    CanonicalModel before(*bank_, table, before_import_, before_.identity, first_model_prefix);
    CanonicalModel after(*bank_, table, after_import_, after_.identity, second_model_prefix);
    CanonicalModel unmerged(*bank_, table, after_import_, after_.identity, second_model_prefix);
    ProofFollower follower(*bank_, before, after, unmerged, *constants_, rules, context_.terms);
    follower.follow(proof, outputs_, file);
    result_.verdict = EqualityResult::Verdict::Equal;
    result_.constants = follower.constants();
    result_.widens = follower.widens();
    result_.proof_steps = static_cast<std::uint64_t>(proof.steps_size());
    result_.proof_rules = rules.rules.size();
    return std::move(result_);
  }

  /// The steps of the last comparison, if they were recorded and shown to be equal.
  const std::optional<proto::ModelProof>& proof() const { return proof_; }

  /// What the time limit leaves is not shown. `records`: the steps, for a proof.
  EqualityResult run(bool refutes, bool records) {
    records_ = records;
    try {
      if (show() || !refutes) return std::move(result_);
      show_with_rounded_constants();  // before models are evaluated, which may take all of the time
      refute();
      if (result_.verdict == EqualityResult::Verdict::Different) result_.rounded_constants = 0;
    } catch (const runtime::Interrupted&) {
      if (!context_.is_time_over()) throw;
      result_.evaluation = fmt::format("the time limit of {} s is over", options_.time_limit);
    }
    return std::move(result_);
  }

 private:
  /// Names of values are tried first, because the evaluation of large models takes longer than the proof. A proof that
  /// lacks a step may need none after the clean-up.
  bool show() {
    const bool shown = sweep({}, quick_max_failures);
    if (shown && (!records_ || proof_)) return true;
    const EqualityResult without_proof = result_;
    clean_models();
    const bool shown_cleaned = (!shown || result_.cleaned) && sweep({}, thorough_max_failures);
    if (shown && !proof_) result_ = without_proof;
    if (shown || shown_cleaned) return true;
    const bool computed = compute_constants();
    // One model may write out those of the other one.
    const bool opened = before_import_.normalizations != after_import_.normalizations;
    if (opened) read_normalizations_as_parts();
    if ((computed || opened) && sweep({}, thorough_max_failures)) return true;
    const MatchingValues matches =
        matching_values(*bank_, {before_import_, before_.identity}, {after_import_, after_.identity});
    return !matches.empty() && sweep(matches, thorough_max_failures);
  }

  /// Programs that fold constants in two ways round them in two ways. That is no equality.
  void show_with_rounded_constants() {
    const EqualityResult not_shown = result_;
    constants_->read_as_rounded();
    records_ = false;
    const std::uint64_t rounded = sweep({}, thorough_max_failures) ? result_.constants : 0;
    result_ = not_shown;
    result_.rounded_constants = rounded;
  }

  /// Both models are compared under the same bounds of their dimensions, in a new bank: in one, the types that other
  /// models declared would be kept.
  void import_models() {
    bank_.emplace(context_.library, context_.symbols);
    constants_.emplace(*bank_);
    do {
      before_import_ = import(before_.model, bounds_);
      after_import_ = import(after_.model, before_import_.bounds);
      bounds_ = after_import_.bounds;
    } while (bounds_ != before_import_.bounds);
    for (const ImportedModel* import : {&before_import_, &after_import_}) {
      std::vector<ValueId> values;
      for (const auto& [name, value] : import->values) values.push_back(value);
      result_.is_partial |= std::ranges::any_of(
          bank_->live_nodes(values), [&](NodeId id) { return optimize::is_partial(*bank_, bank_->node(id)); });
    }
    result_.lower_bounds = bounds_.lower;
    result_.upper_bounds = bounds_.upper;
    outputs_.clear();
    for (const InterfaceItem& item : before_.identity.outputs())
      outputs_.push_back({before_import_.values.at(item.name), after_import_.values.at(item.name)});
  }

  ImportedModel import(const OnnxModel& model, const SizeBounds& bounds) {
    return import_model(model, *bank_, &context_.inference, bounds, outer_types_, normalizations_);
  }

  /// Computations of shapes and of constants disappear.
  void clean_models(bool also_second = true) {
    for (NamedModel* named : {&before_, &after_}) {
      if (named == &after_ && !also_second) continue;
      OnnxModel model = named->model;
      if (!clean_model(model, context_.inference).changed) continue;
      *named = NamedModel(std::move(model), context_.library);
      result_.cleaned = true;
    }
    if (result_.cleaned) import_models();
  }

  /// Stores what nodes without definitions compute from constants, as optimizers that run such nodes do.
  bool compute_constants() {
    if (options_.onnxruntime.empty()) return false;
    std::uint64_t count = 0;
    const std::pair<NamedModel*, const ImportedModel*> models[] = {{&before_, &before_import_},
                                                                   {&after_, &after_import_}};
    for (const auto& [named, import] : models) {
      const auto part = constant_part(named->model, *import);
      const auto values = part ? constant_values(part->model, options_.onnxruntime, constants_timeout) : std::nullopt;
      if (!values || std::ranges::any_of(*values, may_have_overflowed)) continue;
      OnnxModel model = named->model;
      store_values(model, *part, *values);
      *named = NamedModel(std::move(model), context_.library);
      count += values->size();
    }
    if (count == 0) return false;
    result_.runtime_constants = count;
    import_models();
    return true;
  }

  void read_normalizations_as_parts() {
    normalizations_ = Normalizations::Parts;
    result_.normalizations_as_parts = true;
    import_models();
  }

  /// Returns true if the outputs are shown to be equal.
  bool sweep(const MatchingValues& matches, std::uint32_t failures) {
    algebra::Library& library = context_.library;
    algebra::TermBank& terms = context_.terms;
    in_subgraphs_ = {};
    ConstantOperators operators(*bank_, *constants_, instances_without_inputs(library, terms, context_.joined));
    const std::vector<algebra::RuleRecord> rules =
        algebra::specialize(context_.joined, used_operators(*bank_), library, terms, context_.symbols, context_.ranked);
    WindowProver prover(*bank_, terms, rules, *constants_, operators);
    ConstantTable table(*bank_);
    const auto name_of = [&](ValueId constant) { return table.name(constant); };
    StatementProver statements(*bank_, *constants_, operators, name_of, options_.statement_proof, statements_);
    WindowSplit splits(*bank_, *constants_, operators);
    CanonicalModel before(*bank_, table, before_import_, before_.identity, first_model_prefix);
    CanonicalModel after(*bank_, table, after_import_, after_.identity, second_model_prefix);
    ProofRecorder recorder(*bank_, before, after);
    Sweep sweep(
        *bank_, before, after, *constants_, prover, statements, splits,
        [&](std::uint32_t first, std::uint32_t second) { return have_equal_subgraphs(before, first, after, second); },
        records_ ? &recorder : nullptr);
    try {
      describe(sweep.run(outputs_, matches, failures), rules);
    } catch (const runtime::Interrupted&) {
      describe_open(sweep.open());
      throw;
    }
    if (result_.verdict != EqualityResult::Verdict::Equal) return false;
    if (result_.runtime_constants > 0) recorder.fail("constants are computed in onnxruntime");
    result_.proof_gap = recorder.gap();
    if (records_ && recorder.gap().empty()) add_proof(recorder);
    return true;
  }

  void add_proof(const ProofRecorder& recorder) {
    proof_ = recorder.proof();
    proof_->set_before(digests_[0]);
    proof_->set_after(digests_[1]);
    proof_->set_cleaned(result_.cleaned);
    proof_->set_normalizations_as_parts(result_.normalizations_as_parts);
  }

  /// Compares the subgraphs of two nodes as models. What they capture is equal if its canonical terms are.
  bool have_equal_subgraphs(const CanonicalModel& before, std::uint32_t first, const CanonicalModel& after,
                            std::uint32_t second) {
    std::map<std::string, std::pair<Subgraph, Subgraph>> pairs;  // by attribute
    for (Subgraph& each : subgraphs_of(before_.model, before_import_, *bank_, first))
      pairs[each.name].first = std::move(each);
    for (Subgraph& each : subgraphs_of(after_.model, after_import_, *bank_, second))
      pairs[each.name].second = std::move(each);
    EqualityResult found;
    for (auto& [name, pair] : pairs) {
      OuterTypes types;
      const std::string scope = "graph " + std::to_string(++context_.scopes) + " ";
      const std::map<std::string, std::string> names[] = {captured_names(pair.first, before, scope, types),
                                                          captured_names(pair.second, after, scope, types)};
      if (pair.first.name != pair.second.name || !unify_interfaces(pair.first, pair.second, names, scope)) return false;
      try {
        ModelComparison inner(context_, std::move(pair.first.model), std::move(pair.second.model), bounds_, types);
        EqualityResult result = inner.run(/*refutes=*/false, /*records=*/false);
        if (result.verdict != EqualityResult::Verdict::Equal || inner.bounds() != bounds_) return false;
        add_counts(found, result);
      } catch (const runtime::InputError&) {  // other types of inputs
        return false;
      }
    }
    add_counts(in_subgraphs_, found);
    return true;
  }

  /// Returns names of the captured values that are equal if the values are, and adds their types.
  std::map<std::string, std::string> captured_names(const Subgraph& subgraph, const CanonicalModel& model,
                                                    const std::string& scope, OuterTypes& types) const {
    std::map<std::string, std::string> names;
    for (const auto& [name, type] : subgraph.captured) {
      const ValueId canonical = model.value(model.import().values.at(name));
      names[name] = scope + std::to_string(index(canonical));
      types["captured " + names[name]] = bank_->value(canonical).type;
    }
    return names;
  }

  static void add_counts(EqualityResult& result, const EqualityResult& more) {
    result.by_rules += more.by_rules;
    result.constants += more.constants;
    result.constant_difference = std::max(result.constant_difference, more.constant_difference);
    for (const auto& [rule, uses] : more.rules) result.rules[rule] += uses;
    for (const auto& [statement, uses] : more.statements) result.statements[statement] += uses;
    result.constant_terms.insert(more.constant_terms.begin(), more.constant_terms.end());
    result.is_partial |= more.is_partial;
    result.cleaned |= more.cleaned;
    result.normalizations_as_parts |= more.normalizations_as_parts;
    result.runtime_constants += more.runtime_constants;
  }

  void describe(const SweepResult& swept, const std::vector<algebra::RuleRecord>& rules) {
    static_cast<MergeCounts&>(result_) = swept;
    result_.rules.clear();
    result_.open.reset();
    for (const auto& [rule, uses] : swept.rules) result_.rules[rules[rule].rule.id] += uses;
    add_counts(result_, in_subgraphs_);
    std::set<std::string> fired;
    for (const auto& [rule, uses] : result_.rules) fired.insert(rule);
    if (options_.rule_check)
      check_fired_rules(context_.loaded, fired, options_.rule_check, context_.library, context_.terms,
                        context_.symbols);
    result_.undefined = swept.undefined ? node_name(bank_->value(*swept.undefined).node) : "";
    result_.verdict = swept.outputs_equal ? EqualityResult::Verdict::Equal : EqualityResult::Verdict::NotShown;
    if (!swept.outputs_equal) describe_open(swept.open);
  }

  void describe_open(const std::vector<OpenPair>& open) {
    const auto smallest =
        std::ranges::min_element(open, {}, [](const OpenPair& pair) { return pair.before.size() + pair.after.size(); });
    if (smallest == open.end()) return;
    OpenRegion region;
    region.value = smallest->name;
    for (const NodeId id : smallest->before) region.before_nodes.push_back(node_name(id));
    for (const NodeId id : smallest->after) region.after_nodes.push_back(node_name(id));
    result_.open = std::move(region);
  }

  std::string node_name(NodeId id) const {
    const Node& node = bank_->node(id);
    return node.kind == Node::Kind::Algebra ? bank_->instance(node).operator_name : "opaque node";
  }

  void refute() {
    RefutationResult refuted =
        refute_equality(*bank_, before_import_, after_import_, outputs_,
                        {.draws = options_.inputs, .at_least_one = options_.onnxruntime.empty()});
    if (refuted.found) {
      result_.verdict = EqualityResult::Verdict::Different;
      result_.refutation = std::move(refuted.found);
      return;
    }
    const std::string why = refuted.reason.empty() ? "" : " (" + refuted.reason + ")";
    result_.evaluation = refuted.too_large ? "not evaluated by the definitions" + why
                                           : fmt::format("{} of {} outputs are equal on {} inputs by the definitions{}",
                                                         refuted.outputs, outputs_.size(), refuted.draws, why);
    const bool is_open = refuted.outputs < outputs_.size() || refuted.too_large;
    if (is_open && !options_.onnxruntime.empty() && differ_in_onnxruntime())
      result_.verdict = EqualityResult::Verdict::Different;
  }

  bool differ_in_onnxruntime() {
    const runtime::ScratchFolder folder;
    std::filesystem::path before = options_.before, after = options_.after;
    if (result_.by_position) before_.model.write(before = folder / "before.onnx");
    if (result_.by_position) after_.model.write(after = folder / "after.onnx");
    return refute_in_onnxruntime(before, after, options_.onnxruntime, result_.onnxruntime_difference,
                                 result_.evaluation);
  }

  ComparisonContext& context_;
  const EqualityOptions& options_;
  std::optional<GraphBank> bank_;
  std::optional<ConstantComparison> constants_;
  KnownStatements statements_;
  NamedModel before_, after_;
  const std::string digests_[2] = {before_.model.digest(), after_.model.digest()};  // of the files
  SizeBounds bounds_;
  const OuterTypes outer_types_;
  Normalizations normalizations_ = Normalizations::Whole;
  ImportedModel before_import_, after_import_;
  std::vector<ValuePair> outputs_;
  EqualityResult result_, in_subgraphs_;
  bool records_ = false;
  std::optional<proto::ModelProof> proof_;
};

/// The files of the options, with one interface.
ModelComparison read_models(ComparisonContext& context) {
  OnnxModel before = OnnxModel::read(context.options.before), after = OnnxModel::read(context.options.after);
  const bool by_position = unify_interfaces(before, after);
  return {context, std::move(before), std::move(after), {}, {}, by_position};
}

}  // namespace

EqualityResult compare_files(const EqualityOptions& options, std::optional<proto::ModelProof>& proof) {
  ComparisonContext context(options);
  std::signal(SIGALRM, [](int) { runtime::request_interrupt(); });
  alarm(options.time_limit);
  ModelComparison comparison = read_models(context);
  EqualityResult result = comparison.run(options.refutes, !options.proof.empty());
  alarm(0);
  if (context.is_time_over()) runtime::clear_interrupt();
  proof = comparison.proof();
  result.seconds = context.watch.seconds();
  return result;
}

EqualityResult follow_proof(const EqualityOptions& options, const proto::ModelProof& proof, const std::string& file) {
  ComparisonContext context(options);
  EqualityResult followed = read_models(context).follow(proof, file);
  followed.seconds = context.watch.seconds();
  return followed;
}

}  // namespace rulemill::optimize
