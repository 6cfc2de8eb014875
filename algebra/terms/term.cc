#include "algebra/terms/term.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::uint32_t max_depth = 1000;  // so that walks over terms can recurse

std::uint32_t number(TermId id) { return static_cast<std::uint32_t>(id); }
std::uint32_t number(NodeId id) { return static_cast<std::uint32_t>(id); }

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_text(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (unsigned char c : text) hash = mix(hash, c);
  return hash;
}

std::string variable_key(const std::string& name, std::uint32_t rank) { return name + ":" + std::to_string(rank); }
std::uint64_t output_key(NodeId node, std::uint32_t output) { return (std::uint64_t{number(node)} << 16) | output; }

std::size_t hash_node(const Node& node) {
  std::uint64_t hash = mix(0x9e3779b97f4a7c15ULL, static_cast<std::uint64_t>(node.instance));
  for (TermId argument : node.arguments) hash = mix(hash, number(argument));
  for (const Poly& size : node.sizes) hash = mix(hash, size.hash());
  return hash;
}

}  // namespace

TermId TermBank::variable(const std::string& name, std::uint32_t rank) {
  const TermId next{static_cast<std::uint32_t>(terms_.size())};
  const auto [found, inserted] = variables_.try_emplace(variable_key(name, rank), next);
  if (inserted) {
    Term term;
    term.is_variable = true;
    term.name = name;
    term.rank = rank;
    term.structure = mix(hash_text(name), rank);
    terms_.push_back(std::move(term));
  }
  return found->second;
}

NodeId TermBank::apply(InstanceId instance_id, std::span<const TermId> arguments, std::span<const Poly> sizes) {
  const OperatorInstance& instance = library_->instance(instance_id);
  RM_CHECK(arguments.size() == instance.inputs.size() && sizes.size() == instance.size_parameter_count(),
           instance.name + " applied to a wrong number of arguments or sizes");
  for (TermId argument : arguments) {
    if (terms_[number(argument)].depth >= max_depth)
      throw runtime::InputError("",
                                "a term of more than " + std::to_string(max_depth) + " operators one above another");
  }
  Node node{instance_id, {arguments.begin(), arguments.end()}, {sizes.begin(), sizes.end()}};
  if (instance.commutative && precedes(node.arguments[1], node.arguments[0]))
    std::swap(node.arguments[0], node.arguments[1]);
  std::vector<NodeId>& bucket = node_index_[hash_node(node)];
  for (NodeId id : bucket) {
    const Node& known = nodes_[number(id)];
    if (known.instance == node.instance && known.arguments == node.arguments && known.sizes == node.sizes) return id;
  }
  bucket.push_back(static_cast<NodeId>(nodes_.size()));
  nodes_.push_back(std::move(node));
  return bucket.back();
}

TermId TermBank::output(NodeId node, std::uint32_t output) {
  RM_CHECK(output < library_->instance(nodes_[number(node)].instance).outputs.size(), "no such output of the node");
  const TermId next{static_cast<std::uint32_t>(terms_.size())};
  const auto [found, inserted] = output_index_.try_emplace(output_key(node, output), next);
  if (inserted) {
    Term term;
    term.node = node;
    term.output = output;
    term.depth = 1;
    const Node& made = nodes_[number(node)];
    term.structure = mix(hash_text(library_->instance(made.instance).name), output);
    for (TermId argument : made.arguments) term.depth = std::max(term.depth, terms_[number(argument)].depth + 1);
    for (TermId argument : made.arguments) term.structure = mix(term.structure, terms_[number(argument)].structure);
    terms_.push_back(std::move(term));
  }
  return found->second;
}

void TermBank::roll_back(const Mark& mark) {
  for (; terms_.size() > mark.terms; terms_.pop_back()) {
    const Term& last = terms_.back();
    if (last.is_variable)
      variables_.erase(variable_key(last.name, last.rank));
    else
      output_index_.erase(output_key(last.node, last.output));
  }
  for (; nodes_.size() > mark.nodes; nodes_.pop_back()) node_index_[hash_node(nodes_.back())].pop_back();
}

std::uint32_t TermBank::rank(TermId id) const {
  const Term& known = term(id);
  if (known.is_variable) return known.rank;
  return static_cast<std::uint32_t>(instance_of(id).outputs[known.output].dims.size());
}

bool TermBank::precedes(TermId a, TermId b) const {
  const Term &left = term(a), &right = term(b);
  if (left.is_variable != right.is_variable) return left.is_variable;
  if (left.is_variable) return std::tie(left.name, left.rank) < std::tie(right.name, right.rank);
  return left.structure != right.structure ? left.structure < right.structure : a < b;
}

std::vector<NodeId> TermBank::nodes(std::span<const TermId> roots) const {
  std::vector<NodeId> order;
  auto visit = [&](auto& self, TermId id) -> void {
    const Term& visited = term(id);
    if (visited.is_variable || std::ranges::find(order, visited.node) != order.end()) return;
    for (TermId argument : node(visited.node).arguments) self(self, argument);
    order.push_back(visited.node);
  };
  for (TermId root : roots) visit(visit, root);
  return order;
}

std::vector<TermId> TermBank::variables(std::span<const TermId> roots) const {
  std::vector<TermId> order;
  std::vector<NodeId> seen;
  auto visit = [&](auto& self, TermId id) -> void {
    const Term& visited = term(id);
    if (visited.is_variable) {
      if (std::ranges::find(order, id) == order.end()) order.push_back(id);
      return;
    }
    if (std::ranges::find(seen, visited.node) != seen.end()) return;
    seen.push_back(visited.node);
    for (TermId argument : node(visited.node).arguments) self(self, argument);
  };
  for (TermId root : roots) visit(visit, root);
  return order;
}

std::optional<std::vector<TermId>> TermBank::rebuild(std::span<const TermId> roots, TermMap& images,
                                                     const NodeRewrite& rewrite) {
  const auto image_of = [&](TermId old) {
    const auto found = images.find(old);
    return found == images.end() ? old : found->second;
  };
  std::vector<TermId> arguments;
  for (const NodeId id : nodes(roots)) {
    if (images.contains(output(id, 0))) continue;
    arguments.clear();
    std::ranges::transform(node(id).arguments, std::back_inserter(arguments), image_of);
    const std::optional<NodeId> image = rewrite(id, arguments);
    if (!image) return std::nullopt;
    const std::size_t outputs = library_->instance(node(id).instance).outputs.size();
    for (std::uint32_t o = 0; o < outputs; ++o) images[output(id, o)] = output(*image, o);
  }
  std::vector<TermId> result;
  std::ranges::transform(roots, std::back_inserter(result), image_of);
  return result;
}

std::vector<TermId> TermBank::substitute(std::span<const TermId> roots, const TermMap& terms, const Substitution& sizes,
                                         Symbols& symbols) {
  TermMap images = terms;
  return *rebuild(roots, images, [&](NodeId old, std::span<const TermId> arguments) {
    std::vector<Poly> replaced = node(old).sizes;
    for (Poly& size : replaced) size = symbols.substitute(size, sizes);
    return apply(node(old).instance, arguments, replaced);
  });
}

std::vector<TermId> outputs_of(const Rule& rule) {
  std::vector<TermId> outputs = rule.source;
  outputs.insert(outputs.end(), rule.target.begin(), rule.target.end());
  return outputs;
}

std::vector<NodeId> nodes_of(const Rule& rule, const TermBank& bank) { return bank.nodes(outputs_of(rule)); }

bool rewrite_nodes(Rule& rule, TermBank& bank, TermMap& images, const NodeRewrite& rewrite) {
  const auto rebuilt = bank.rebuild(outputs_of(rule), images, rewrite);
  if (!rebuilt) return false;
  const auto target = rebuilt->begin() + static_cast<std::ptrdiff_t>(rule.source.size());
  rule.source.assign(rebuilt->begin(), target);
  rule.target.assign(target, rebuilt->end());
  return true;
}

std::set<std::string> used_size_names(const Rule& rule, const TermBank& bank, const Symbols& symbols) {
  std::set<std::string> names;
  const auto add = [&](const Poly& poly) {
    for (const Atom atom : symbols.atoms(poly)) names.insert(symbols.name(atom));
  };
  for (const Shape& shape : rule.shapes) std::ranges::for_each(shape, add);
  for (const SizeCondition& condition : rule.condition) add(condition.left), add(condition.right);
  for (const NodeId node : nodes_of(rule, bank)) std::ranges::for_each(bank.node(node).sizes, add);
  return names;
}

Poly unused_size(std::string name, std::set<std::string>& used_names, Symbols& symbols) {
  while (!used_names.insert(name).second) name += "_";
  return Poly(symbols.size(name));
}

std::vector<TermId> positive_variables(const Rule& rule, const TermBank& bank) {
  std::set<TermId> wrapped, bare;  // arguments of positive(), and of anything else
  for (const auto* side : {&rule.source, &rule.target}) {
    bare.insert(side->begin(), side->end());
    for (const NodeId node : bank.nodes(*side)) {
      auto& uses = is_positive_operator(bank.library().instance(bank.node(node).instance)) ? wrapped : bare;
      uses.insert(bank.node(node).arguments.begin(), bank.node(node).arguments.end());
    }
  }
  std::vector<TermId> result;
  std::ranges::copy_if(rule.variables, std::back_inserter(result),
                       [&](TermId variable) { return wrapped.contains(variable) && !bare.contains(variable); });
  return result;
}

}  // namespace rulemill::algebra
