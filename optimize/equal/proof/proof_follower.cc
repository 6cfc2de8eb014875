#include "optimize/equal/proof/proof_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "algebra/rules/rule_set_format.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/size_condition.h"
#include "optimize/search/positivity.h"
#include "runtime/files/atomic_file.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

constexpr std::uint32_t proof_schema_version = 2;

/// Of the constants that a proof compares.
constexpr double max_multiply_adds = 1e10;

/// What a step lacks.
struct Refused {
  std::string what;
};

void require(bool holds, const char* what) {
  if (!holds) throw Refused{what};
}

/// Follows a step. Throws InputError with its number.
template <class Follow>
void at_step(const std::string& file, int step, const Follow& follow) {
  const auto fail = [&](const std::string& what) {
    throw runtime::InputError(file, fmt::format("step {} {}", step + 1, what));
  };
  try {
    follow();
  } catch (const Refused& refused) {
    fail(refused.what);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    fail(std::string("cannot be read: ") + error.what());
  }
}

}  // namespace

std::set<ValueId> add_stored_constants(const GraphBank& bank, CanonicalModel& model) {
  std::set<ValueId> constants;
  for (const NodeId id : bank.live_nodes(model.import().outputs)) {
    if (bank.node(id).kind != Node::Kind::Constant) continue;
    model.add(id);
    constants.insert(model.value(bank.node(id).outputs[0]));
  }
  return constants;
}

void ProofFollower::follow(const proto::ModelProof& proof, const std::vector<ValuePair>& outputs,
                           const std::string& file) {
  const ModelTerms names(bank_, before_, after_, {proof.dimensions().begin(), proof.dimensions().end()});
  constants_.limit_work(max_multiply_adds);
  constants_.require_each_accurate();
  std::unordered_map<ValueId, int> merges;  // steps by original value of the second model
  std::map<ValueId, int> last;              // of outputs
  for (int i = 0; i < proof.steps_size(); ++i) {
    if (!proof.steps(i).has_value()) continue;  // a lemma
    at_step(file, i, [&] {
      const auto original = names.find_own(proof.steps(i).value());
      require(original.has_value(), "is about a value that the second model does not have");
      const bool is_new =
          proof.steps(i).output() ? last.emplace(*original, i).second : merges.emplace(*original, i).second;
      require(is_new, "is the second one about its value");
    });
  }
  std::unordered_set<ValueId> rounded;  // original values for which constants were compared: errors must not add up
  /// Returns the canonical values of a step that holds.
  const auto followed = [&](int step, ValueId original) {
    ValuePair pair{};
    at_step(file, step, [&] {
      const auto partner = names.find_canonical(proof.steps(step).partner());
      require(partner && after_.has(original), "names a value that a model does not compute");
      pair = {*partner, after_.value(original)};
      const std::uint64_t compared = compared_;
      const bool is_shown = holds(proof.steps(step), pair.before, original, names);
      require(compared_ == compared || rounded.insert(original).second, "compares constants for its value once more");
      require(!constants_.is_work_done(), "computes constants of more than 10^10 multiply-adds, with those before it");
      require(is_shown, "does not hold");
    });
    return pair;
  };
  for (const NodeId id : bank_.live_nodes(before_.import().outputs)) {
    before_.add(id);
    for (const ValueId original : bank_.node(id).outputs) held_[0].insert(before_.value(original));
  }
  stored_[0] = add_stored_constants(bank_, before_);
  stored_[1] = add_stored_constants(bank_, after_);
  constants_.set_models(stored_[0], stored_[1]);
  for (const NodeId id : bank_.live_nodes(after_.import().outputs)) {
    unmerged_.add(id);
    for (const ValueId original : bank_.node(id).outputs) second_.insert(unmerged_.value(original));
  }
  add_lemmas(proof, names, file);
  for (const NodeId id : bank_.live_nodes(after_.import().outputs)) {
    after_.add(id);
    for (const ValueId original : std::vector<ValueId>(bank_.node(id).outputs)) {
      after_.set_value(original, congruence_.find(after_.value(original)));
      held_[1].insert(after_.value(original));
      second_.insert(after_.value(original));
      const auto step = merges.find(original);
      if (step == merges.end()) continue;
      const ValuePair pair = followed(step->second, original);
      equal_.emplace(pair.after, pair.before);
      after_.set_value(original, pair.before);
    }
  }
  std::set<std::pair<ValueId, ValueId>> shown;
  for (const auto& [original, step] : last) {
    const ValuePair pair = followed(step, original);
    shown.emplace(pair.before, pair.after);
  }
  for (const ValuePair& pair : outputs) {
    const ValueId before = congruence_.find(before_.value(pair.before)), after = after_.value(pair.after);
    if (before != after && !shown.contains({before, after}))
      throw runtime::InputError(file, "does not show that output " + bank_.value(pair.before).name + " is equal");
  }
}

/// Merges what lemmas show of the first model, and of constants that the second one stores.
void ProofFollower::add_lemmas(const proto::ModelProof& proof, const ModelTerms& names, const std::string& file) {
  congruence_.add(std::vector(held_[0].begin(), held_[0].end()));
  for (int i = 0; i < proof.steps_size(); ++i) {
    const proto::ModelStep& step = proof.steps(i);
    if (step.has_value()) continue;
    at_step(file, i, [&] {
      require(step.rule().empty() ? add_constant(step, names) : add_instance(step, names), "does not hold");
      require(!constants_.is_work_done(), "computes constants of more than 10^10 multiply-adds, with those before it");
    });
  }
  congruence_.close();
  if (has_equal_constants()) throw runtime::InputError(file, "makes two constants equal that the models store");
}

/// A constant that the second model stores may agree with a term over those of the first one, and is read as it: errors
/// do not add up, since those of the first model stand for themselves. If the second one stores all of these, too, it
/// is the nearest number, as it is of operators without inputs; one that the first model stores may be rounded from
/// such an operator.
bool ProofFollower::add_constant(const proto::ModelStep& lemma, const ModelTerms& names) {
  if (lemma.constants_size() != 1) return false;
  const auto constant = names.find_canonical(lemma.constants(0));
  const auto term = constant ? names.find_canonical(lemma.partner(), bank_.value(*constant).type.data_type) : constant;
  if (!term || !(stored_[0].contains(*constant) || stored_[1].contains(*constant))) return false;
  if (*term == *constant) return true;
  if (!constants_.is_operator(*term) && (!constants_.is_of(0, *term) || !stored_[1].contains(*constant))) return false;
  if (!agree_alone(*constant, *term, !stored_[0].contains(*constant))) return false;
  const ValueId equal[] = {*term, *constant};
  congruence_.add(equal);
  congruence_.merge(*term, *constant);
  return true;
}

bool ProofFollower::add_instance(const proto::ModelStep& lemma, const ModelTerms& names) {
  const algebra::Rule* rule = rule_of(lemma);
  if (rule == nullptr || lemma.constants_size() > 0) return false;
  DataType type = DataType::Float32;
  for (const proto::ModelVariable& variable : lemma.variables()) {
    const auto value = names.find_canonical(variable.value());
    if (!value || !bank_.value(*value).type || (bank_.node_of(*value).constant && !constants_.is_of(0, *value)))
      return false;
    const DataType own = bank_.value(*value).type.data_type;
    if (is_float(own) && variable.value().names_size() > 0) type = own;
  }
  const auto sides = instance_of(*rule, lemma, type, names);
  if (!sides) return false;
  congruence_.add(sides->source);
  congruence_.add(sides->target);
  for (std::size_t i = 0; i < sides->source.size(); ++i) {
    const ValueId source = sides->source[i], target = sides->target[i];
    if (bank_.value(source).type != bank_.value(target).type) return false;
    congruence_.merge(source, target);
  }
  return true;
}

/// Errors of constants would add up: those that the models store are equal only if they are the same.
bool ProofFollower::has_equal_constants() const {
  std::set<ValueId> constants = stored_[0], representatives;
  constants.insert(stored_[1].begin(), stored_[1].end());
  for (const ValueId constant : constants) representatives.insert(congruence_.find(constant));
  return representatives.size() < constants.size();
}

const algebra::Rule* ProofFollower::rule_of(const proto::ModelStep& step) const {
  const auto record = std::ranges::find(rules_.rules, step.rule(), [](const auto& each) { return each.rule.id; });
  return record == rules_.rules.end() || record->rule.widens ? nullptr : &record->rule;
}

bool ProofFollower::holds(const proto::ModelStep& step, ValueId partner, ValueId original, const ModelTerms& names) {
  const ValueId canonical = after_.value(original);
  if (partner == canonical) return true;
  if (const auto known = equal_.find(canonical); known != equal_.end() && known->second == partner) return true;
  const ValueType &first = bank_.value(partner).type, &second = bank_.value(canonical).type;
  if (!first || first != second) return false;
  if (step.rule().empty()) return are_constants_that_agree(partner, unmerged_.value(original));
  const algebra::Rule* rule = rule_of(step);
  if (rule == nullptr || rule->source.size() != 1) return false;
  for (const proto::ModelVariable& variable : step.variables()) {
    const auto value = names.find_canonical(variable.value());
    if (!value || (bank_.node_of(*value).constant && !is_held(*value))) return false;
  }
  const auto sides = instance_of(*rule, step, second.data_type, names);
  return sides && ((sides->source[0] == partner && sides->target[0] == canonical) ||
                   (sides->source[0] == canonical && sides->target[0] == partner));
}

/// Two constants that agree stand for one number, and with no other one, whatever computes it: else two numbers that
/// differ by a rounding error would be equal. Two terms that round are two numbers, also if they are one in float64. An
/// operator without inputs is that number, or rounded to it; a term of such operators is that number, unless this is
/// read as it.
bool ProofFollower::agree_alone(ValueId a, ValueId b, bool is_read_as_computed) {
  const auto difference = constants_.difference(a, b, is_read_as_computed);
  if (!difference || (*difference > 0 && (constants_.is_operator(a) || constants_.is_operator(b)))) return false;
  std::string first = constants_.content(a), second = constants_.content(b);
  const auto is_term = [&](ValueId id) { return constants_.is_operator(id) && !bank_.node_of(id).arguments.empty(); };
  const bool must_be_same =
      (!is_read_as_computed && (is_term(a) || is_term(b))) || (constants_.is_operator(a) && constants_.is_operator(b));
  if (first.empty() || second.empty() || (first != second && must_be_same)) return false;
  for (const auto& [value, key] : {std::pair(a, &first), std::pair(b, &second)}) {
    const bool is_number = !is_read_as_computed && constants_.is_operator(value);
    if (!is_number && !constants_.is_exact(value)) *key += " of " + std::to_string(index(value));
  }
  const bool are_alone = agreeing_.try_emplace(first, second).first->second == second &&
                         agreeing_.try_emplace(second, first).first->second == first;
  compared_ += are_alone ? 1 : 0;
  return are_alone;
}

/// A constant of the second model, computed from its own constants so that errors do not add up, may agree with one
/// that the first model has, not with any term over its constants: there is always a term with large errors.
bool ProofFollower::are_constants_that_agree(ValueId partner, ValueId unmerged) {
  return held_[0].contains(partner) && agree_alone(partner, unmerged);
}

/// Returns the constant of one model whose elements a term over the other one's constants computes; else the term.
ValueId ProofFollower::constant_in_place_of(ValueId computed, const std::vector<ValueId>& constants) {
  for (const ValueId each : constants) {
    if (each == computed) return each;
    const bool are_of_two = (constants_.is_of(0, computed) && constants_.is_of(1, each) && held_[1].contains(each)) ||
                            (constants_.is_of(1, computed) && constants_.is_of(0, each) && held_[0].contains(each));
    if (are_of_two && agree_alone(each, computed)) return each;
  }
  return computed;
}

/// Rules speak of real numbers, and of one float type.
bool ProofFollower::has_type(ValueId value, const algebra::Shape& shape, DataType type) {
  const ValueType& own = bank_.value(value).type;
  if (!own || *own != shape || (is_float(own.data_type) && own.data_type != type)) return false;
  return !bank_.node_of(value).constant || real_.contains(value) || constants_.is_finite(value);
}

/// A rule holds where its variables are defined: they must be wherever the first model is.
void ProofFollower::add_dropped(ValueId variable) {
  require(!undefined_below(bank_, {&variable, 1}, held_[0], constants_),
          "drops what may be undefined where the first model is defined");
  widens_ = widens_ || undefined_below(bank_, {&variable, 1}, second_, constants_);
}

std::optional<ProofFollower::Sides> ProofFollower::instance_of(const algebra::Rule& rule, const proto::ModelStep& step,
                                                               DataType type, const ModelTerms& names) {
  if (!rule.packs.empty() || !restricts_positivity_to_variables(rule, terms_)) return std::nullopt;
  algebra::Symbols& symbols = bank_.symbols();
  algebra::Substitution sizes;
  for (const proto::ModelSize& size : step.sizes()) sizes.emplace(symbols.size(size.name()), names.size(size.value()));
  for (const std::string& name : algebra::used_size_names(rule, terms_, symbols)) {
    const auto bound = sizes.find(symbols.size(name));
    if (bound == sizes.end() || !symbols.is_positive(bound->second)) return std::nullopt;
  }
  for (const algebra::SizeCondition& condition : rule.condition) {
    if (algebra::holds(algebra::substitute(condition, sizes, symbols), symbols) != algebra::Truth::Yes)
      return std::nullopt;
  }
  std::vector<ValueId> constants;
  for (const proto::ModelTerm& constant : step.constants()) {
    const auto value = names.find_canonical(constant);
    if (!value) return std::nullopt;
    constants.push_back(*value);
  }
  const bool is_total = !algebra::applies_partial_function(rule, terms_);
  TermBuilder builder(bank_, terms_, sizes, type, [&](ValueId built, ValueId whole) -> std::optional<ValueId> {
    if (is_total) real_.insert({built, whole});
    if (!has_type(built, *bank_.value(built).type, type)) return std::nullopt;
    if (!bank_.node_of(built).constant) {
      const auto merged = equal_.find(built);
      return merged == equal_.end() ? built : merged->second;
    }
    if (!has_type(whole, *bank_.value(whole).type, type)) return std::nullopt;
    // A part of the term may have become a constant of the other model, such as 4 in 4·2. Its errors must not add up.
    const ValueId other = constant_in_place_of(whole, constants);
    return other == whole ? built : other;
  });
  const std::vector<algebra::TermId> dropped = algebra::dropped_variables(rule, terms_);
  for (std::size_t i = 0; i < rule.variables.size(); ++i) {
    const std::string& name = terms_.term(rule.variables[i]).name;
    const auto variable = std::ranges::find(step.variables(), name, &proto::ModelVariable::name);
    const auto value =
        variable == step.variables().end() ? std::nullopt : names.find_canonical(variable->value(), type);
    algebra::Shape shape = rule.shapes[i];
    for (algebra::Poly& size : shape) size = symbols.substitute(size, sizes);
    if (!value || !has_type(*value, shape, type)) return std::nullopt;
    if (std::ranges::find(dropped, rule.variables[i]) != dropped.end()) add_dropped(*value);
    builder.set(rule.variables[i], *value);
  }
  Sides sides;
  for (const auto& [terms, values] : {std::pair(&rule.source, &sides.source), std::pair(&rule.target, &sides.target)}) {
    for (const algebra::TermId term : *terms) {
      const auto built = builder.build(term);
      if (!built) return std::nullopt;
      values->push_back(*built);
    }
  }
  return sides;
}

proto::ModelProof read_model_proof(const std::filesystem::path& path) {
  const std::string bytes = runtime::read_file(path);
  proto::ModelProof proof;
  if (!proof.ParseFromString(bytes) || !algebra::has_valid_checksum(bytes))
    throw runtime::InputError(path.string(), "is no proof that two models are equal, or is cut short or damaged");
  if (proof.schema_version() != proof_schema_version)
    throw runtime::InputError(
        path.string(), fmt::format("has schema version {}, expected {}", proof.schema_version(), proof_schema_version));
  return proof;
}

void write_model_proof(proto::ModelProof proof, const std::filesystem::path& path) {
  proof.set_schema_version(proof_schema_version);
  const std::string content = proof.SerializeAsString();
  runtime::write_file(path, content + algebra::checksum_field(content));
}

}  // namespace rulemill::optimize
