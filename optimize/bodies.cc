#include "optimize/bodies.h"

#include <algorithm>

#include "optimize/graph_search.h"
#include "optimize/onnx/export.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// One body: searched in a bank of its own, since names and places mean something else inside.
class BodySearch {
 public:
  BodySearch(const Body& body, const OnnxModel& model, const SizeBounds& bounds, const BodySetting& with)
      : body_(body), model_(model), with_(with), bank_(with.library, with.symbols), fusion_(bank_) {
    import_ = imported(model, bounds);
  }

  /// The best that the definitions find equal; nothing if none is better. Its rules go into `found`.
  std::optional<OnnxModel> run(BetterBodies& found) {
    CostModel cost(bank_, fusion_, with_.device, {});
    const auto rules = rules_here();
    Matcher matcher(bank_, with_.terms, rules);
    const SearchResult result =
        search_graph({with_.options, bank_, with_.terms, rules, matcher, fusion_}, cost, import_.outputs,
                     [&](std::span<const ValueId> outputs) { return plan(outputs).refusal.empty(); });
    const double most = cost.graph_seconds(import_.outputs) * (1 - with_.options.min_gain);
    for (const Candidate& candidate : result.best) {
      if (candidate.steps.empty() || candidate.seconds > most) continue;
      auto better = verified(candidate, found.warning);
      if (!better) continue;
      for (const Step& step : candidate.steps) {
        found.steps.push_back(step);
        found.steps.back().rule = static_cast<std::uint32_t>(found.rules.size());
        found.rules.push_back(rules[step.rule]);
      }
      return better;
    }
    return std::nullopt;
  }

  std::vector<Explanation> explained() {
    CostModel cost(bank_, fusion_, with_.device, {});
    const auto rules = rules_here();
    Matcher matcher(bank_, with_.terms, rules);
    try {
      return explain({bank_, import_, with_.terms, rules, matcher, cost}, with_.options.explain);
    } catch (const runtime::UsageError&) {  // another graph's node
      return {};
    }
  }

 private:
  std::vector<algebra::RuleRecord> rules_here() {
    return algebra::at_instances(with_.rules, occurrences(bank_), with_.library, with_.terms, with_.symbols);
  }

  Import imported(const OnnxModel& model, const SizeBounds& bounds) {
    return import_model(model, bank_, &with_.inference, bounds, body_.captured);
  }

  ExportPlan plan(std::span<const ValueId> outputs) {
    return plan_export(import_, bank_, fusion_, outputs, model_.opset());
  }

  std::optional<OnnxModel> verified(const Candidate& candidate, std::string& warning) {
    try {
      OnnxModel made = export_model(model_, import_, bank_, plan(candidate.outputs), candidate.outputs);
      const Import back = imported(made, import_.bounds);
      const Judgement said =
          verify(bank_, import_.outputs, back.outputs, {with_.options.verify_seeds, with_.options.acceptance, {}});
      if (said.equal()) return made;
      warning = model_.origin() + ": " + said.reason;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      warning = error.what();
    }
    return std::nullopt;
  }

  const Body& body_;
  const OnnxModel& model_;
  const BodySetting& with_;
  GraphBank bank_;
  Fusion fusion_;
  Import import_;
};

/// `captured`: types of what the model itself takes from outside, where it is a body.
void improve(OnnxModel& model, const SizeBounds& bounds, const std::map<std::string, ValueType>& captured,
             const BodySetting& with, BetterBodies& found) {
  if (!has_bodies(model)) return;
  GraphBank bank(with.library, with.symbols);
  const Import import = import_model(model, bank, &with.inference, bounds, captured);
  for (const Body& body : bodies_of(model, import, bank)) {
    OnnxModel inside = body.model;
    const std::uint32_t before = found.changed;
    improve(inside, import.bounds, body.captured, with, found);
    ++found.looked_at;
    if (auto better = BodySearch(body, inside, import.bounds, with).run(found)) {
      inside = std::move(*better);
      ++found.changed;
    }
    if (found.changed != before) put_back(model, body, inside);
  }
}

}  // namespace

namespace {

void explain_inside(const OnnxModel& model, const SizeBounds& bounds, const std::map<std::string, ValueType>& captured,
                    const BodySetting& with, std::vector<Explanation>& found) {
  if (!has_bodies(model)) return;
  GraphBank bank(with.library, with.symbols);
  const Import import = import_model(model, bank, &with.inference, bounds, captured);
  for (const Body& body : bodies_of(model, import, bank)) {
    for (Explanation& each : BodySearch(body, body.model, import.bounds, with).explained()) {
      each.place += " in " + body.model.origin();
      found.push_back(std::move(each));
    }
    explain_inside(body.model, import.bounds, body.captured, with, found);
  }
}

}  // namespace

std::vector<Explanation> explain_bodies(const OnnxModel& model, const BodySetting& with) {
  std::vector<Explanation> found;
  explain_inside(model, {}, {}, with, found);
  return found;
}

BetterBodies better_bodies(const OnnxModel& model, const BodySetting& with) {
  BetterBodies found;
  if (!has_bodies(model)) return found;
  OnnxModel copy = model;
  improve(copy, {}, {}, with, found);
  if (found.changed > 0) found.model = std::move(copy);
  return found;
}

}  // namespace rulemill::optimize
