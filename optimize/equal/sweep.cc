#include "optimize/equal/sweep.h"

#include <algorithm>

#include "optimize/equal/prover/constant_agreement.h"
#include "runtime/process/interrupt.h"

namespace rulemill::optimize {

namespace {

/// Windows that are tried for a pair of values, smallest first.
constexpr std::uint32_t window_levels[] = {0, 2, 4};

std::vector<ValueId> roots_of(const std::vector<ValueId>& values, const CanonicalModel& model) {
  std::vector<ValueId> roots;
  for (const ValueId value : values) roots.push_back(model.value(value));
  return roots;
}

}  // namespace

SweepResult Sweep::run(const std::vector<ValuePair>& outputs, const MatchingValues& matches,
                       std::uint32_t max_failures) {
  max_failures_ = max_failures;
  add_first_model();
  find_partners(outputs, matches);
  for (const NodeId id : bank_.live_nodes(after_.import().outputs)) {
    runtime::throw_if_interrupted("equal");
    after_.add(id);
    const std::vector<ValueId> originals = bank_.node(id).outputs;
    for (const ValueId original : originals) add_value(original);
  }
  result_.outputs_equal = std::ranges::all_of(
      outputs, [&](const ValuePair& pair) { return before_.value(pair.before) == after_.value(pair.after); });
  return std::move(result_);
}

void Sweep::add_first_model() {
  for (const NodeId id : bank_.live_nodes(before_.import().outputs)) before_.add(id);
  const std::vector<ValueId> roots = roots_of(before_.import().outputs, before_);
  for (const NodeId id : bank_.live_nodes(roots)) {
    first_nodes_.insert(id);
    const Node& node = bank_.node(id);
    if (node.constant) first_constants_.insert(first_constants_.end(), node.outputs.begin(), node.outputs.end());
  }
}

/// Values of one name are candidates: optimizers keep the names of values that they keep. So are the outputs, and
/// values with equal elements.
void Sweep::find_partners(const std::vector<ValuePair>& outputs, const MatchingValues& matches) {
  const auto add = [&](ValueId before, ValueId after) {
    if (!before_.has(before)) return;
    const auto equal = matches.find(after);
    if (equal != matches.end() && std::ranges::find(equal->second, before) == equal->second.end()) return;
    std::vector<ValueId>& known = candidates_[after];
    const ValueId canonical = before_.value(before);
    if (std::ranges::find(known, canonical) == known.end()) known.push_back(canonical);
  };
  for (const auto& [name, after] : after_.import().values) {
    const auto before = before_.import().values.find(name);
    if (before != before_.import().values.end()) add(before->second, after);
    std::string& known = names_[after];
    known = known.empty() ? name : std::min(known, name);
  }
  for (const ValuePair& pair : outputs) add(pair.before, pair.after);
  for (const auto& [after, equal] : matches) {
    for (const ValueId before : equal) add(before, after);
  }
  for (auto& [value, known] : candidates_) std::ranges::sort(known);
}

void Sweep::add_value(ValueId original) {
  if (!after_.has(original)) return;
  const ValueId canonical = after_.value(original);
  const bool is_constant = bank_.node_of(canonical).constant;
  const bool is_congruent = first_nodes_.contains(bank_.value(canonical).node);
  if (is_congruent && !is_constant) ++result_.congruent;
  if (is_constant) {
    if (!is_congruent) merge_constant(original, canonical);
    return;
  }
  // A value whose partner has another term, such as one before a bias of zeros, may equal both.
  const std::vector<ValueId>& partners = candidates_[original];
  if (is_congruent && std::ranges::find(partners, canonical) != partners.end()) return;
  const bool is_merged = std::ranges::any_of(partners, [&](ValueId partner) {
    return prove(original, {partner, canonical});
  });
  if (!is_merged && !is_congruent) ++result_.unmatched;
}

/// A constant that one model computes may have been folded in the other one.
bool Sweep::merge_constant(ValueId original, ValueId canonical) {
  for (const ValueId candidate : first_constants_) {
    const auto difference = constants_.difference(candidate, canonical);
    if (!difference) continue;
    ++result_.constants;
    result_.constant_difference = std::max(result_.constant_difference, *difference);
    after_.set_value(original, candidate);
    return true;
  }
  return false;
}

/// Two opaque nodes have no terms that could be compared.
void Sweep::add_open(ValueId original, ValuePair pair, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return;
  OpenPair open{pair, names_[original], {}, {}};
  for (const NodeId id : nodes) (first_nodes_.contains(id) ? open.before : open.after).push_back(id);
  result_.open.push_back(std::move(open));
}

bool Sweep::prove(ValueId original, ValuePair pair) {
  if (failures_ == max_failures_ || bank_.value(pair.before).type != bank_.value(pair.after).type) return false;
  std::optional<EqualityWindow> last;
  for (const std::uint32_t levels : window_levels) {
    const std::optional<EqualityWindow> window = equality_window(bank_, pair, first_nodes_, {.levels = levels});
    if (!window) break;
    if (last && last->nodes.size() == window->nodes.size()) break;
    if (prove(window->region, !last)) {
      after_.set_value(original, pair.before);
      failures_ = 0;
      return true;
    }
    if (!last) add_open(original, pair, window->nodes);
    last = window;
  }
  if (last) ++failures_;
  return false;
}

/// What rules do not show goes to the prover as one statement.
bool Sweep::prove(const Region& window, bool is_smallest) {
  if (const auto proof = prover_.prove(window)) {
    ++result_.by_rules;
    for (const std::uint32_t rule : proof->rules) ++result_.rules[rule];
    result_.constants += proof->constants;
    result_.constant_difference = std::max(result_.constant_difference, proof->constant_difference);
    return true;
  }
  const auto statement = is_smallest ? statements_.prove(window) : std::nullopt;
  if (statement) ++result_.statements[*statement];
  return statement.has_value();
}

}  // namespace rulemill::optimize
