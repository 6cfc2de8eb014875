#include "optimize/equal/prover/constant_operators.h"

#include "optimize/model/numbers.h"

namespace rulemill::optimize {
namespace {

/// Elements of the largest constant that is compared with operators. Larger ones are weights, and a matrix of
/// interpolation weights of their size takes seconds.
constexpr double max_operator_elements = 1 << 16;

/// Returns the instance of an operator without inputs that computes a number, or a square matrix by its size; nullopt
/// if the operator has none.
std::optional<algebra::InstanceId> number_of(algebra::Library& library, const std::string& name) {
  if (library.output_names(name).size() > 1 || !library.parameter_names(name).empty()) return std::nullopt;
  const algebra::OperatorInstance& instance = library.instantiate(name, {}, {});
  return instance.outputs[0].dims.size() == 2 * instance.size_names.size() ? std::optional(instance.id) : std::nullopt;
}

}  // namespace

ConstantOperators::ConstantOperators(GraphBank& bank, ConstantComparison& constants,
                                     const std::set<algebra::InstanceId>& instances)
    : bank_(bank), constants_(constants), instances_(instances) {
  for (const std::string& name : bank.library().operator_names()) {
    if (bank.library().arity(name) > 0) continue;
    if (bank.library().has_explicit_rank(name))
      of_any_rank_.push_back(name);
    else if (const auto number = number_of(bank.library(), name))
      instances_.insert(*number);
  }
  const auto stored = static_cast<std::uint32_t>(bank.node_count());
  for (std::uint32_t i = 0; i < stored; ++i) {
    if (bank.node(NodeId{i}).kind == Node::Kind::Constant) nodes_of(bank.node(NodeId{i}).outputs[0]);
  }
}

const std::vector<NodeId>& ConstantOperators::nodes_of(ValueId constant) {
  const auto [found, is_new] = nodes_.try_emplace(constant);
  const ValueType type = bank_.value(constant).type;  // a copy, because the bank grows
  const double elements = known_elements(type);
  if (!is_new || !is_float(type.data_type) || elements == 0 || elements > max_operator_elements) return found->second;
  std::set<algebra::InstanceId> instances = instances_;
  const std::uint32_t rank[] = {static_cast<std::uint32_t>(type->size())};
  for (const std::string& name : of_any_rank_) instances.insert(bank_.library().instantiate(name, {}, rank).id);
  for (const algebra::InstanceId instance : instances) {
    const auto node = named_constant(bank_, instance, type);
    const auto difference = node ? constants_.difference(bank_.node(*node).outputs[0], constant) : std::nullopt;
    if (difference && *difference <= 1) found->second.push_back(*node);
  }
  return found->second;
}

}  // namespace rulemill::optimize
