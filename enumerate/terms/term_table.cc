#include "enumerate/terms/term_table.h"

#include <algorithm>

#include "runtime/text/error.h"
#include "runtime/text/quantity.h"

namespace rulemill::enumerate {

void check_id_range(std::uint64_t terms, std::uint64_t nodes) {
  if (std::max(terms, nodes) < no_id) return;
  throw runtime::Error("terms", runtime::format_count(terms) + " rows (" + runtime::format_count(nodes) +
                                    " nodes): ids have 32 bits, which is enough for " +
                                    runtime::format_count(no_id - 1) +
                                    "; take fewer operators, variables or instances");
}

TermId TermTable::add_variable(TypeId type, std::uint8_t role) {
  const auto id = static_cast<TermId>(type_.size());
  type_.push_back(type);
  level_.push_back(0);
  argument_class_.push_back(static_cast<std::uint8_t>(2 * role + 1));
  output_.push_back(0);
  node_.push_back(no_id);
  variables_.push_back(std::uint64_t{1} << id);
  positions_.push_back(0);
  group_.push_back(no_id);
  slot_.push_back(0);
  representative_.push_back(id);
  return id;
}

NodeId TermTable::add_node(SignatureId signature, std::span<const TermId> arguments, std::span<const NodeId> below) {
  RM_CHECK(signature_.size() < no_id, "more nodes than 32-bit ids");
  const auto id = static_cast<NodeId>(signature_.size());
  signature_.push_back(signature);
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  first_argument_.push_back(static_cast<std::uint32_t>(arguments_.size()));
  closures_.insert(closures_.end(), below.begin(), below.end());
  closures_.push_back(id);  // the largest id
  first_closure_.push_back(closures_.size());
  first_term_.push_back(static_cast<TermId>(type_.size()));
  return id;
}

TermId TermTable::add_output(std::uint8_t output, TypeId type, std::uint8_t role, std::uint32_t positions) {
  RM_CHECK(type_.size() < no_id, "more terms than 32-bit ids");
  const auto id = static_cast<TermId>(type_.size());
  const auto node = static_cast<NodeId>(signature_.size() - 1);
  type_.push_back(type);
  level_.push_back(static_cast<std::uint8_t>(closure(node).size()));
  argument_class_.push_back(static_cast<std::uint8_t>(2 * role));
  output_.push_back(output);
  node_.push_back(node);
  std::uint64_t variables = 0;
  for (const TermId argument : arguments(node)) variables |= variables_[argument];
  variables_.push_back(variables);
  positions_.push_back(positions);
  group_.push_back(no_id);
  slot_.push_back(0);
  representative_.push_back(id);
  return id;
}

std::uint32_t TermTable::intern_positions(const Positions& positions) {
  const auto [found, added] = position_ids_.try_emplace(positions, static_cast<std::uint32_t>(position_sets_.size()));
  if (added) position_sets_.push_back(positions);
  return found->second;
}

void TermTable::extend(TermId t) {
  const auto [found, added] = group_ids_.try_emplace({level_[t], type_[t]}, static_cast<std::uint32_t>(groups_.size()));
  if (added) groups_.push_back({type_[t], level_[t], {}});
  group_[t] = found->second;
  slot_[t] = static_cast<std::uint32_t>(groups_[found->second].members.size());
  groups_[found->second].members.push_back(t);
}

std::uint32_t TermTable::find_group(std::uint8_t level, TypeId type) const {
  const auto found = group_ids_.find({level, type});
  return found == group_ids_.end() ? no_id : found->second;
}

}  // namespace rulemill::enumerate
