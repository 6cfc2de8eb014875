#include "optimize/equal/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "algebra/rules/specialization.h"
#include "optimize/equal/sweep.h"
#include "optimize/rule_databases.h"
#include "optimize/search/search_graph.h"
#include "optimize/verify/onnxruntime_verifier.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {

namespace {

/// In onnxruntime, models that round differently are not called different.
constexpr AccuracyPolicy onnxruntime_accuracy = {.max_error_ratio = 64, .tolerance = 1e-3};

std::string describe_item(const InterfaceItem& item) {
  return item.name + ": " + item.type + (item.default_value.empty() ? "" : " with a default value");
}

void require_same_items(const std::string& file, const std::string& kind, const std::vector<InterfaceItem>& before,
                        const std::vector<InterfaceItem>& after) {
  if (before == after) return;
  const auto list = [](const std::vector<InterfaceItem>& items, const std::vector<InterfaceItem>& others) {
    std::vector<std::string> texts;
    for (const InterfaceItem& item : items) {
      if (std::ranges::find(others, item) == others.end()) texts.push_back(describe_item(item));
    }
    return texts.empty() ? "no other" : runtime::join_text(texts);
  };
  throw runtime::InputError(file, fmt::format("the models have different {}: expected {}, found {}", kind,
                                              list(before, after), list(after, before)));
}

/// Two models in one bank.
class ModelComparison {
 public:
  explicit ModelComparison(const EqualityOptions& options)
      : options_(options),
        library_(algebra::Library::load(options.operators)),
        terms_(library_),
        databases_(load_databases(options.rules, library_, terms_, symbols_)),
        bank_(library_, symbols_),
        inference_(options.type_helper),
        before_(OnnxModel::read(options.before)),
        after_(OnnxModel::read(options.after)),
        before_identity_(before_),
        after_identity_(after_) {
    const std::string file = options.after.string();
    require_same_items(file, "inputs", before_identity_.inputs(), after_identity_.inputs());
    require_same_items(file, "outputs", before_identity_.outputs(), after_identity_.outputs());
    import_models();
    for (const InterfaceItem& item : before_identity_.outputs())
      outputs_.push_back({before_import_.values.at(item.name), after_import_.values.at(item.name)});
  }

  EqualityResult run() {
    result_.before = options_.before.string();
    result_.after = options_.after.string();
    sweep();
    if (result_.verdict == EqualityResult::Verdict::Equal) return std::move(result_);
    refute();
    return std::move(result_);
  }

 private:
  /// Both models are compared under the same bounds of their dimensions.
  void import_models() {
    SizeBounds bounds;
    do {
      before_import_ = import_model(before_, bank_, &inference_, bounds);
      after_import_ = import_model(after_, bank_, &inference_, before_import_.bounds);
      bounds = after_import_.bounds;
    } while (bounds != before_import_.bounds);
    result_.lower_bounds = bounds.lower;
    result_.upper_bounds = bounds.upper;
  }

  /// Names of values are tried first, because the evaluation of large models takes longer than the proof.
  void sweep() {
    const std::vector<algebra::RuleRecord> rules =
        algebra::specialize(join_rules(databases_), used_operators(bank_), library_, terms_, symbols_);
    ConstantComparison constants(bank_);
    WindowProver prover(bank_, terms_, rules, constants);
    SweepResult swept = sweep(constants, prover, {});
    if (!swept.outputs_equal) {
      const MatchingValues matches =
          matching_values(bank_, {before_import_, before_identity_}, {after_import_, after_identity_});
      if (!matches.empty()) swept = sweep(constants, prover, matches);
    }
    if (swept.outputs_equal) result_.verdict = EqualityResult::Verdict::Equal;
    result_.congruent = swept.congruent;
    result_.by_rules = swept.by_rules;
    result_.unmatched = swept.unmatched;
    result_.constants = swept.constants;
    result_.constant_difference = swept.constant_difference;
    std::set<std::string> fired;
    for (const auto& [rule, uses] : swept.rules) {
      result_.rules[rules[rule].rule.id] += uses;
      fired.insert(rules[rule].rule.id);
    }
    if (options_.rule_check) check_fired_rules(databases_, fired, options_.rule_check, library_, terms_, symbols_);
    if (!swept.outputs_equal) describe_open(swept.open);
  }

  SweepResult sweep(ConstantComparison& constants, WindowProver& prover, const MatchingValues& matches) {
    ConstantTable table(bank_);
    CanonicalModel before(bank_, table, before_import_, before_identity_, "before ");
    CanonicalModel after(bank_, table, after_import_, after_identity_, "after ");
    return Sweep(bank_, before, after, constants, prover).run(outputs_, matches);
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
        refute_equality(bank_, before_import_, after_import_, outputs_, {.draws = options_.inputs});
    if (refuted.found) {
      result_.verdict = EqualityResult::Verdict::Different;
      result_.refutation = std::move(refuted.found);
      return;
    }
    result_.evaluation =
        fmt::format("{} of {} outputs are equal on {} inputs by the definitions{}", refuted.outputs, outputs_.size(),
                    refuted.draws, refuted.reason.empty() ? "" : " (" + refuted.reason + ")");
    if (refuted.outputs < outputs_.size() && !options_.onnxruntime.empty()) refute_with_onnxruntime();
  }

  void refute_with_onnxruntime() {
    VerificationOptions verification;
    verification.accuracy = onnxruntime_accuracy;
    verification.onnxruntime = options_.onnxruntime;
    std::string why;
    const auto found = verify_with_onnxruntime(options_.before, options_.after, verification, {}, why);
    if (!found || found->verdict == VerificationResult::Verdict::NotVerified) {
      result_.evaluation += "; not compared in onnxruntime: " + (found ? found->reason : why);
    } else if (found->verdict == VerificationResult::Verdict::Different) {
      result_.verdict = EqualityResult::Verdict::Different;
      result_.onnxruntime_difference = found->verifier + ": " + found->reason;
    } else {
      result_.evaluation += "; " + found->verifier + " finds no difference";
    }
  }

  const EqualityOptions& options_;
  algebra::Library library_;
  algebra::TermBank terms_;
  algebra::Symbols symbols_;
  std::vector<RuleDatabase> databases_;
  GraphBank bank_;
  NodeInference inference_;
  const OnnxModel before_, after_;
  const ModelIdentity before_identity_, after_identity_;
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
