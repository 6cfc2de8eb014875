#include "optimize/equal/sweep.h"

#include <algorithm>
#include <optional>

#include "optimize/equal/proof/proof_follower.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "runtime/process/interrupt.h"

namespace rulemill::optimize {
namespace {

/// Windows that are tried for a pair of values, smallest first.
constexpr std::uint32_t window_levels[] = {0, 2, 4};

/// Nodes of a window that is not split before it is proved as a whole.
constexpr std::size_t max_whole_window = 8;

}  // namespace

SweepResult Sweep::run(const std::vector<ValuePair>& outputs, const MatchingValues& matches,
                       std::uint32_t max_failures) {
  max_failures_ = max_failures;
  add_first_model();
  find_partners(outputs, matches);
  nodes_ = bank_.live_nodes(after_.import().outputs);
  constants_.set_models(add_stored_constants(bank_, before_), add_stored_constants(bank_, after_));
  while (next_ < nodes_.size()) {
    runtime::throw_if_interrupted("equal");
    const NodeId id = nodes_[next_++];
    after_.add(id);
    merge_by_subgraphs(id);
    const std::vector<ValueId> originals = bank_.node(id).outputs;
    for (const ValueId original : originals) add_value(original);
  }
  result_.congruent = congruent_.size();
  result_.unmatched = unmatched_.size();
  const bool are_equal = std::ranges::all_of(outputs, [&](const ValuePair& pair) { return prove_output(pair); });
  if (are_equal) result_.undefined = undefined_value();
  result_.outputs_equal = are_equal && !result_.undefined;
  return std::move(result_);
}

void Sweep::add_first_model() {
  for (const NodeId id : bank_.live_nodes(before_.import().outputs)) before_.add(id);
  std::vector<ValueId> roots;
  for (const ValueId output : before_.import().outputs) roots.push_back(before_.value(output));
  for (const NodeId id : bank_.live_nodes(roots)) {
    first_nodes_.insert(id);
    const Node& node = bank_.node(id);
    if (node.constant) first_constants_.insert(first_constants_.end(), node.outputs.begin(), node.outputs.end());
  }
}

/// Nodes that differ in their subgraphs are equal if their inputs are, and their subgraphs for equal captured values.
void Sweep::merge_by_subgraphs(NodeId id) {
  const Node node = bank_.node(id);  // a copy, because the bank grows
  if (node.kind != Node::Kind::Opaque || node.outputs.empty()) return;
  if (first_nodes_.contains(bank_.value(after_.value(node.outputs[0])).node)) return;
  const std::uint32_t position = after_.import().opaque_nodes.at(node.source);
  const std::string& key = after_.identity().frame_key(position);
  if (key.empty()) return;
  for (std::uint32_t first = 0; first < before_.import().nodes.size(); ++first) {
    const ImportedModel::NodeRecord& record = before_.import().nodes[first];
    if (before_.identity().frame_key(first) != key || !before_.has(bank_.node(record.node).outputs[0])) continue;
    if (!has_equal_inputs(record, after_.import().nodes[position]) || !subgraphs_equal_(first, position)) continue;
    const std::vector<ValueId>& outputs = bank_.node(record.node).outputs;
    for (std::size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i)
      after_.set_value(node.outputs[i], before_.value(outputs[i]));
    if (recorder_ != nullptr) recorder_->fail("subgraphs are compared");
    return;
  }
}

bool Sweep::has_equal_inputs(const ImportedModel::NodeRecord& before, const ImportedModel::NodeRecord& after) const {
  return std::ranges::equal(before.inputs, after.inputs, [&](const auto& a, const auto& b) {
    return a.has_value() == b.has_value() && (!a || before_.value(*a) == after_.value(*b));
  });
}

/// An output of the second model may be a constant, or a value of the first one: an input, or another output. Then it
/// is compared without being merged.
bool Sweep::prove_output(const ValuePair& output) {
  const ValuePair pair{before_.value(output.before), after_.value(output.after)};
  if (pair.before == pair.after) return true;
  if (bank_.value(pair.before).type != bank_.value(pair.after).type) return false;
  if (constants_.difference(pair.before, pair.after)) {
    if (recorder_ != nullptr) recorder_->add(output.after, pair.before, nullptr, /*output=*/true);
    return true;
  }
  for (const std::uint32_t levels : window_levels) {
    const std::optional<EqualityWindow> window = provable_window(pair, {.levels = levels});
    if (!window || window->nodes.empty()) continue;
    if (prove_by_rules(window->region) || prove_by_statement(window->region, StatementProver::Effort::Full)) {
      record(output.after, pair.before, /*output=*/true);
      return true;
    }
    if (levels == 0) add_open(output.after, pair, window->nodes);
  }
  if (!prove_with_open_constants(pair)) return false;
  record(output.after, pair.before, /*output=*/true);
  return true;
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

/// A value is added again after a split.
void Sweep::add_value(ValueId original) {
  if (!after_.has(original)) return;
  if (const auto merged = merged_.find(original); merged != merged_.end())
    return after_.set_value(original, merged->second);
  const ValueId canonical = after_.value(original);
  const bool is_congruent = first_nodes_.contains(bank_.value(canonical).node);
  if (bank_.node_of(canonical).constant) {
    if (!is_congruent) merge_constant(original, canonical);
    return;
  }
  if (is_congruent) congruent_.insert(original);
  // A value whose partner has another term, such as one before a bias of zeros, may equal both.
  const std::vector<ValueId> partners = candidates_[original];
  if (is_congruent && std::ranges::find(partners, canonical) != partners.end()) return;
  for (const ValueId partner : inner_candidates_[original]) {
    if (prove_inner(original, splits_.in_one_shape({partner, canonical}))) return;
  }
  for (const ValueId partner : partners) {
    if (bank_.value(partner).type != bank_.value(canonical).type) {
      if (prove_transposed(original, {partner, canonical})) return;
    } else if (prove(original, {partner, canonical}) != Attempt::Failed) {
      return;
    }
  }
  if (!is_congruent) unmatched_.insert(original);
}

/// Adds the last proof to the recorded ones.
void Sweep::record(ValueId original, ValueId partner, bool output) {
  if (recorder_ == nullptr) return;
  if (partner == after_.value(original)) return recorder_->add(original, partner, nullptr, output);
  if (!proof_) return recorder_->fail("rules show a window without a statement");
  recorder_->add(original, partner, &*proof_, output);
}

void Sweep::merge(ValueId original, ValueId partner) {
  after_.set_value(original, partner);
  merged_.emplace(original, partner);
  unmatched_.erase(original);
}

/// A constant that one model computes may have been folded in the other one.
bool Sweep::merge_constant(ValueId original, ValueId canonical) {
  for (const ValueId candidate : first_constants_) {
    const auto difference = constants_.difference(candidate, canonical);
    if (!difference) continue;
    ++result_.constants;
    result_.constant_difference = std::max(result_.constant_difference, *difference);
    if (recorder_ != nullptr) recorder_->add(original, candidate, nullptr);
    merge(original, candidate);
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

/// Rules and proofs speak of real numbers: of windows without infinite constants, also computed ones.
std::optional<EqualityWindow> Sweep::provable_window(ValuePair pair, const WindowLimits& limits) {
  auto window = equality_window(bank_, pair, first_nodes_, limits);
  const auto is_real = [&](const RegionLeaf& leaf) { return !leaf.constant || constants_.is_finite(leaf.value); };
  const auto computes_real = [&](NodeId id) {
    const Node& node = bank_.node(id);
    return !node.constant ||
           std::ranges::all_of(node.outputs, [&](ValueId each) { return constants_.is_finite(each); });
  };
  if (!window || !std::ranges::all_of(window->region.leaves, is_real)) return std::nullopt;
  return std::ranges::all_of(window->nodes, computes_real) ? std::move(window) : std::nullopt;
}

/// A large window is split first, and so is one whose like was split before: their proofs as a whole take longer.
Sweep::Attempt Sweep::prove(ValueId original, ValuePair pair) {
  if (failures_ == max_failures_) return Attempt::Failed;
  std::optional<EqualityWindow> last;
  for (const std::uint32_t levels : window_levels) {
    const std::optional<EqualityWindow> window = provable_window(pair, {.levels = levels});
    if (!window) break;
    if (last && last->nodes.size() == window->nodes.size()) break;
    const bool must_split = !last && (window->nodes.size() > max_whole_window ||
                                      split_windows_.contains(region_key(window->region, bank_)));
    if (must_split && split(original, *window)) return Attempt::Split;
    const bool is_proved = (!last && prove_by_statement(window->region, StatementProver::Effort::Known)) ||
                           prove_by_rules(window->region) ||
                           (!last && prove_by_statement(window->region, StatementProver::Effort::Full));
    if (is_proved) return merge_proved(original, pair.before);
    if (!last) {
      if (split(original, *window)) return Attempt::Split;
      add_open(original, pair, window->nodes);
    }
    last = window;
  }
  if (last && prove_with_open_constants(pair)) return merge_proved(original, pair.before);
  if (last) ++failures_;
  return Attempt::Failed;
}

Sweep::Attempt Sweep::merge_proved(ValueId original, ValueId partner) {
  record(original, partner);
  merge(original, partner);
  failures_ = 0;
  return Attempt::Merged;
}

/// Constants that one model computes may be moved by a rule: a product with -w is that with w, negated.
bool Sweep::prove_with_open_constants(const ValuePair& pair) {
  const auto window = provable_window(pair, {.levels = 0, .opens_constants = true});
  return window && std::ranges::any_of(window->nodes, [&](NodeId id) { return bank_.node(id).constant; }) &&
         prove_by_statement(window->region, StatementProver::Effort::Full);
}

bool Sweep::prove_transposed(ValueId original, ValuePair pair) {
  if (failures_ == max_failures_) return false;
  const std::vector<ValuePair> forms = splits_.in_one_order(pair);
  const bool is_proved = prove_inner(original, forms) || prove_inner(original, forms, window_levels[1]);
  if (!forms.empty()) failures_ = is_proved ? 0 : failures_ + 1;
  return is_proved;
}

bool Sweep::prove_inner(ValueId original, const std::vector<ValuePair>& forms, std::uint32_t levels) {
  const auto proved = std::ranges::find_if(forms, [&](const ValuePair& each) {
    if (each.before == each.after) return true;
    const std::optional<EqualityWindow> window = provable_window(each, {.levels = levels});
    return window && prove_inner(window->region);
  });
  if (proved == forms.end()) return false;
  if (proved == forms.begin())
    record(original, forms[0].before);
  else if (recorder_ != nullptr)
    recorder_->fail("a value is compared in another shape");
  merge(original, forms[0].before);
  return true;
}

/// Windows between inner values are small, and many: rules are not tried again for one like a window that they left.
bool Sweep::prove_inner(const Region& window) {
  if (prove_by_statement(window, StatementProver::Effort::Full)) return true;
  const std::string key = region_key(window, bank_);
  if (failed_inner_windows_.contains(key)) return false;
  const bool is_proved = prove_by_rules(window);
  if (!is_proved) failed_inner_windows_.insert(key);
  return is_proved;
}

bool Sweep::prove_by_rules(const Region& window) {
  const auto proof = prover_.prove(window);
  if (!proof) return false;
  proof_ = recorder_ == nullptr && !proof->drops ? std::nullopt : statements_.prove_shown(window, proof->known);
  if (proof->drops && !proof_)
    return false;  // the definitions decide whether both sides are defined for the same values
  add_dropped(window);
  ++result_.by_rules;
  for (const std::uint32_t rule : proof->rules) ++result_.rules[rule];
  result_.constants += proof->constants;
  result_.constant_difference = std::max(result_.constant_difference, proof->constant_difference);
  return true;
}

bool Sweep::prove_by_statement(const Region& window, StatementProver::Effort effort) {
  const auto statement = statements_.prove(window, effort);
  if (!statement) return false;
  proof_ = *statement;
  add_dropped(window);
  ++result_.statements[statement->text];
  result_.constant_terms.insert(statement->terms.begin(), statement->terms.end());
  result_.constants += statement->constants;
  result_.constant_difference = std::max(result_.constant_difference, statement->constant_difference);
  return true;
}

/// An equality holds where all leaves are defined, also those that one side drops, such as y in x + y - y.
void Sweep::add_dropped(const Region& window) {
  const std::set<std::uint32_t> sides[] = {values_below(window.graph, window.graph.outputs[0]),
                                           values_below(window.graph, window.graph.outputs[1])};
  for (std::uint32_t leaf = 0; leaf < window.leaves.size(); ++leaf) {
    for (const std::size_t side : {0, 1}) {
      if (sides[side].contains(leaf) && !sides[1 - side].contains(leaf))
        dropped_[side].push_back(window.leaves[leaf].value);
    }
  }
}

/// Returns a value that was dropped and that the other model does not compute, if some inputs leave it undefined.
std::optional<ValueId> Sweep::undefined_value() {
  for (const std::size_t side : {0, 1}) {
    const CanonicalModel& other = side == 0 ? after_ : before_;
    std::unordered_set<ValueId> defined;
    for (const NodeId id : bank_.live_nodes(other.import().outputs)) {
      for (const ValueId original : bank_.node(id).outputs) defined.insert(other.value(original));
    }
    if (const auto found = undefined_below(bank_, dropped_[side], defined, constants_)) return found;
  }
  return std::nullopt;
}

/// Makes inner values candidates, and goes back to the first of them. Each window is split once.
bool Sweep::split(ValueId original, const EqualityWindow& window) {
  if (!split_.insert(original).second) return false;
  std::size_t first = next_;
  for (const ValuePair& pair : splits_.inner_pairs(window, first_nodes_)) {
    for (std::size_t i = 0; i < next_; ++i) {
      for (const ValueId value : bank_.node(nodes_[i]).outputs) {
        if (value == original || !after_.has(value) || after_.value(value) != pair.after) continue;
        inner_candidates_[value].push_back(pair.before);
        first = std::min(first, i);
      }
    }
  }
  if (first == next_) return false;
  next_ = first;
  split_windows_.insert(region_key(window.region, bank_));
  return true;
}

}  // namespace rulemill::optimize
