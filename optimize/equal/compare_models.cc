#include "optimize/equal/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "algebra/rules/specialization.h"
#include "optimize/equal/matching_values.h"
#include "optimize/equal/sweep.h"
#include "optimize/model/numbers.h"
#include "optimize/onnx/clean/clean.h"
#include "optimize/onnx/identity/constant_part.h"
#include "optimize/rule_databases.h"
#include "optimize/search/search_graph.h"
#include "optimize/verify/constant_values.h"
#include "optimize/verify/onnxruntime_verifier.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

/// In onnxruntime, models that round differently are not called different.
constexpr AccuracyPolicy onnxruntime_accuracy = {.max_error_ratio = 64, .tolerance = 1e-3};

/// Pairs in a row that are not merged before a sweep gives up. The first sweep is over models as they are, and gives up
/// early, because most of what it does not show is shown after the clean-up.
constexpr std::uint32_t quick_max_failures = 2, thorough_max_failures = 8;

/// Seconds that onnxruntime has for the constants of a model.
constexpr double constants_timeout = 60;

/// A model with the parts of it under names that do not depend on it.
struct NamedModel {
  explicit NamedModel(OnnxModel given) : model(std::move(given)), identity(model) {}

  OnnxModel model;
  ModelIdentity identity;
};

/// Two models in one bank.
class ModelComparison {
 public:
  explicit ModelComparison(const EqualityOptions& options)
      : options_(options),
        library_(algebra::Library::load(options.operators)),
        terms_(library_),
        loaded_(load_databases(options.rules, library_, terms_, symbols_)),
        joined_(join_rules(loaded_)),
        bank_(library_, symbols_),
        inference_(options.type_helper),
        constants_(bank_),
        before_(OnnxModel::read(options.before)),
        after_(OnnxModel::read(options.after)) {
    require_same_interface(before_.identity, after_.identity, options.after.string());
    import_models();
  }

  /// Names of values are tried first, because the evaluation of large models takes longer than the proof.
  EqualityResult run() {
    result_.before = options_.before.string();
    result_.after = options_.after.string();
    if (sweep({}, quick_max_failures)) return std::move(result_);
    clean_models();
    if (sweep({}, thorough_max_failures)) return std::move(result_);
    const bool computed = compute_constants(), opened = open_normalizations();
    if ((computed || opened) && sweep({}, thorough_max_failures)) return std::move(result_);
    const MatchingValues matches =
        matching_values(bank_, {before_import_, before_.identity}, {after_import_, after_.identity});
    if (!matches.empty() && sweep(matches, thorough_max_failures)) return std::move(result_);
    if (options_.refutes) refute();
    return std::move(result_);
  }

 private:
  /// Both models are compared under the same bounds of their dimensions.
  void import_models() {
    SizeBounds bounds;
    do {
      before_import_ = import_model(before_.model, bank_, &inference_, bounds, {}, normalizations_);
      after_import_ = import_model(after_.model, bank_, &inference_, before_import_.bounds, {}, normalizations_);
      bounds = after_import_.bounds;
    } while (bounds != before_import_.bounds);
    result_.lower_bounds = bounds.lower;
    result_.upper_bounds = bounds.upper;
    outputs_.clear();
    for (const InterfaceItem& item : before_.identity.outputs())
      outputs_.push_back({before_import_.values.at(item.name), after_import_.values.at(item.name)});
  }

  /// Computations of shapes and of constants disappear.
  void clean_models() {
    for (NamedModel* named : {&before_, &after_}) {
      OnnxModel model = named->model;
      if (!clean_model(model, library_, inference_).changed) continue;
      *named = NamedModel(std::move(model));
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
      if (!values) continue;
      OnnxModel model = named->model;
      store_values(model, *part, *values);
      *named = NamedModel(std::move(model));
      count += values->size();
    }
    if (count == 0) return false;
    result_.runtime_constants = count;
    import_models();
    return true;
  }

  /// Reads normalizations as the nodes that compute them if one model has some that the other one writes out.
  bool open_normalizations() {
    if (before_import_.normalizations == after_import_.normalizations) return false;
    normalizations_ = Normalizations::Parts;
    result_.normalizations_as_parts = true;
    import_models();
    return true;
  }

  /// Returns true if the outputs are shown to be equal.
  bool sweep(const MatchingValues& matches, std::uint32_t failures) {
    ConstantOperators operators(bank_, constants_, instances_without_inputs(library_, terms_, joined_));
    const std::vector<algebra::RuleRecord> rules =
        algebra::specialize(joined_, used_operators(bank_), library_, terms_, symbols_);
    WindowProver prover(bank_, terms_, rules, constants_, operators);
    StatementProver statements(bank_, constants_, operators, options_.statement_proof);
    WindowSplit splits(bank_, constants_, operators);
    ConstantTable table(bank_);
    CanonicalModel before(bank_, table, before_import_, before_.identity, "before ");
    CanonicalModel after(bank_, table, after_import_, after_.identity, "after ");
    Sweep sweep(bank_, before, after, constants_, prover, statements, splits);
    describe(sweep.run(outputs_, matches, failures), rules);
    return result_.verdict == EqualityResult::Verdict::Equal;
  }

  void describe(const SweepResult& swept, const std::vector<algebra::RuleRecord>& rules) {
    result_.congruent = swept.congruent;
    result_.by_rules = swept.by_rules;
    result_.unmatched = swept.unmatched;
    result_.statements = swept.statements;
    result_.constants = swept.constants;
    result_.constant_difference = swept.constant_difference;
    result_.rules.clear();
    result_.open.reset();
    std::set<std::string> fired;
    for (const auto& [rule, uses] : swept.rules) {
      result_.rules[rules[rule].rule.id] += uses;
      fired.insert(rules[rule].rule.id);
    }
    if (options_.rule_check) check_fired_rules(loaded_, fired, options_.rule_check, library_, terms_, symbols_);
    if (swept.outputs_equal) {
      result_.verdict = EqualityResult::Verdict::Equal;
    } else {
      describe_open(swept.open);
    }
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
    const Node& node = bank_.node(id);
    return node.kind == Node::Kind::Algebra ? bank_.instance(node).operator_name : "opaque node";
  }

  void refute() {
    RefutationResult refuted =
        refute_equality(bank_, before_import_, after_import_, outputs_,
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
    if ((refuted.outputs < outputs_.size() || refuted.too_large) && !options_.onnxruntime.empty())
      refute_with_onnxruntime();
  }

  void refute_with_onnxruntime() {
    VerificationOptions verification;
    verification.accuracy = onnxruntime_accuracy;
    verification.onnxruntime = options_.onnxruntime;
    std::string why;
    const auto found = verify_with_onnxruntime(options_.before, options_.after, verification, {}, why);
    if (found && found->verdict == VerificationResult::Verdict::Different) {
      result_.verdict = EqualityResult::Verdict::Different;
      result_.onnxruntime_difference = found->verifier + ": " + found->reason;
    } else if (found && found->is_equal()) {
      result_.evaluation += "; " + found->verifier + " finds no difference";
    } else {
      result_.evaluation += "; not compared in onnxruntime: " + (found ? found->reason : why);
    }
  }

  const EqualityOptions& options_;
  algebra::Library library_;
  algebra::TermBank terms_;
  algebra::Symbols symbols_;
  std::vector<RuleDatabase> loaded_;
  std::vector<algebra::RuleRecord> joined_;
  GraphBank bank_;
  NodeInference inference_;
  ConstantComparison constants_;
  NamedModel before_, after_;
  Normalizations normalizations_ = Normalizations::Whole;
  ImportedModel before_import_, after_import_;
  std::vector<ValuePair> outputs_;
  EqualityResult result_;
};

}  // namespace

EqualityResult compare_models(const EqualityOptions& options) {
  const runtime::Stopwatch watch;
  EqualityResult result = ModelComparison(options).run();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace rulemill::optimize
