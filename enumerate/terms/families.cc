#include "enumerate/terms/families.h"

#include <algorithm>

#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::enumerate {

std::uint64_t element_count(const Dims& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t dim : shape) elements *= static_cast<std::uint64_t>(dim);
  return elements;
}

TypeId TypeTable::intern(const Dims& shape) {
  const auto [found, added] = ids_.try_emplace(shape, static_cast<TypeId>(shapes_.size()));
  if (added) {
    RM_CHECK(shapes_.size() < 0xffff, "too many distinct tensor types");
    shapes_.push_back(shape);
    elements_.push_back(element_count(shape));
  }
  return found->second;
}

namespace {

using runtime::InputError;

std::uint16_t allowed_classes(const ArgumentRestriction* rule, std::size_t roles) {
  std::uint16_t allowed = 0;
  for (std::uint32_t kind = 0; kind < 2 * roles; ++kind) {
    const bool fits =
        rule == nullptr || ((!rule->role || *rule->role == kind / 2) && (!rule->variable || kind % 2 == 1));
    if (fits) allowed = static_cast<std::uint16_t>(allowed | 1u << kind);
  }
  return allowed;
}

/// Whether dimensions of the same slot are equal. A quick test that rejects most argument types before type inference.
bool dimensions_agree(const algebra::OperatorInstance& instance, const std::vector<const Dims*>& arguments) {
  std::array<std::int64_t, 32> bound{};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Dims& dims = *arguments[i];
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const algebra::IndexExpr& declared = *instance.inputs[i][d];
      if (declared.kind == algebra::IndexExpr::Kind::Constant) {
        if (dims[d] != declared.value) return false;
      } else if (declared.kind == algebra::IndexExpr::Kind::Size && declared.slot < bound.size()) {
        std::int64_t& slot = bound[declared.slot];
        if (slot != 0 && slot != dims[d]) return false;
        slot = dims[d];
      }
    }
  }
  return true;
}

}  // namespace

SignatureTable::SignatureTable(const Profile& profile, algebra::Library& library, TypeTable& types)
    : profile_(profile), library_(library), types_(types) {
  for (const ProfileConstant& entry : profile.constants) {
    Family family;
    family.constant = &entry;
    families_.push_back(family);
  }
  for (const ProfileOperator& entry : profile.operators) {
    Family family;
    family.entry = &entry;
    family.arity = library.arity(entry.name);
    if (family.arity > max_arity) {
      throw InputError(entry.place, "operator '" + entry.name + "' takes " + std::to_string(family.arity) +
                                        " inputs; at most " + std::to_string(max_arity) + " can be enumerated");
    }
    families_.push_back(family);
  }
  by_ranks_.resize(families_.size());
  for (const Variable& variable : profile.variables) types_.intern(variable.shape);

  for (std::uint32_t f = 0; f < families_.size(); ++f) {
    Family& family = families_[f];
    constants_.push_back(static_cast<SignatureId>(signatures_.size()));
    if (family.constant != nullptr) add_constant(f, *family.constant);
    for (std::uint32_t i = 0; i < family.arity; ++i)
      family.allowed_classes[i] = allowed_classes(nullptr, profile.roles.size());
  }
}

std::unique_ptr<SignatureTable::RankedInstance> SignatureTable::make_ranked_instance(
    const std::string& place, const std::string& name, const algebra::Parameters& parameters,
    const std::vector<std::uint32_t>& ranks) {
  auto made = std::make_unique<RankedInstance>();
  try {
    made->instance = &library_.instantiate(name, parameters, ranks);
  } catch (const InputError& error) {
    throw InputError(place, error.what());
  }
  auto& facts = facts_[made->instance->id];
  if (!facts) facts = std::make_unique<InstanceFacts>(analyze_instance(*made->instance));
  made->facts = facts.get();
  made->ranks = ranks;
  return made;
}

void SignatureTable::add_constant(std::uint32_t family, const ProfileConstant& entry) {
  std::vector<std::uint32_t> ranks;
  const std::vector<std::string> names = library_.size_parameter_names(entry.name);
  if (std::ranges::any_of(names, [](const std::string& name) { return name.ends_with("..."); }))
    ranks.push_back(static_cast<std::uint32_t>(entry.sizes.size() + 1 - names.size()));
  std::unique_ptr<RankedInstance> made = make_ranked_instance(entry.place, entry.name, entry.parameters, ranks);
  const auto shapes = algebra::infer(*made->instance, {}, entry.sizes);
  if (!shapes) {
    throw InputError(entry.place, "operator '" + entry.name + "' does not accept " +
                                      std::to_string(entry.sizes.size()) + " sizes of these values; it needs " +
                                      std::to_string(made->instance->size_parameter_count()));
  }
  if (element_count(shapes->front()) > profile_.max_elements)
    throw InputError(entry.place, "the constant has more than max_elements = " + std::to_string(profile_.max_elements));
  add(family, *made, {}, entry.sizes);
  by_ranks_[family][{}] = std::move(made);
}

const SignatureTable::RankedInstance* SignatureTable::ranked_instance(std::uint32_t f,
                                                                      std::span<const TypeId> arguments) {
  std::vector<std::uint32_t> ranks;
  for (const TypeId type : arguments) ranks.push_back(types_.rank(type));
  const auto [found, added] = by_ranks_[f].try_emplace(ranks);
  if (!added) return found->second.get();
  Family& family = families_[f];
  const ProfileOperator& entry = *family.entry;
  if (!accepts_ranks_of(entry, ranks)) return nullptr;
  std::unique_ptr<RankedInstance> made = make_ranked_instance(entry.place, entry.name, entry.parameters, ranks);
  family.commutative = made->instance->commutative;
  read_restrictions(family, *made->instance);
  found->second = std::move(made);
  return found->second.get();
}

bool SignatureTable::accepts_ranks_of(const ProfileOperator& entry, const std::vector<std::uint32_t>& ranks) const {
  if (!entry.ranks.empty()) {
    for (const std::uint32_t rank : ranks) {
      if (std::ranges::find(entry.ranks, rank) == entry.ranks.end()) return false;
    }
  }
  if (!library_.accepts_ranks(entry.name, ranks)) return false;
  // A parameter value that is valid only for other ranks (an axis, a permutation) excludes these ranks without an
  // error.
  return std::ranges::none_of(entry.parameters, [&](const auto& parameter) {
    const auto& [name, value] = parameter;
    const auto domain = library_.domain(entry.name, name, ranks);
    const bool varies =
        std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::vector<std::int64_t>>(value);
    return varies && !domain.empty() && std::ranges::find(domain, value) == domain.end();
  });
}

void SignatureTable::read_restrictions(Family& family, const algebra::OperatorInstance& instance) const {
  const ProfileOperator& entry = *family.entry;
  for (const auto& [name, rule] : entry.arguments) {
    const auto& names = instance.input_names;
    const auto input = std::ranges::find(names, name);
    if (input == names.end()) {
      throw InputError(
          rule.place, "operator '" + entry.name + "' has no input '" + name + "'; it has " + runtime::join_text(names));
    }
    const auto i = static_cast<std::size_t>(input - names.begin());
    family.rules[i] = &rule;
    family.allowed_classes[i] = allowed_classes(&rule, profile_.roles.size());
  }
  for (const auto& [name, values] : entry.sizes) {
    const auto& names = instance.size_names;
    if (std::find(names.begin() + instance.first_size_parameter, names.end(), name) == names.end())
      throw InputError(entry.place, "operator '" + entry.name + "' has no size parameter '" + name + "'");
  }
}

void SignatureTable::extend(const std::vector<Positions>& positions) {
  const std::size_t types = types_.size();
  for (std::uint32_t f = 0; f < families_.size(); ++f) {
    std::vector<TypeId> arguments(families_[f].arity);
    if (families_[f].arity != 0) add_for_types(f, arguments, 0, types, positions);
  }
  for (auto& [key, list] : completions_)
    std::ranges::sort(list, {}, [&](const Completion& c) { return std::pair(c.type, c.signature); });
}

void SignatureTable::add_for_types(std::uint32_t family, std::vector<TypeId>& arguments, std::size_t known,
                                   std::size_t types, const std::vector<Positions>& positions) {
  if (known < arguments.size()) {
    for (std::size_t type = 0; type < types; ++type) {
      arguments[known] = static_cast<TypeId>(type);
      add_for_types(family, arguments, known + 1, types, positions);
    }
    return;
  }
  const RankedInstance* made = ranked_instance(family, arguments);
  if (made == nullptr) return;
  std::vector<const Dims*> shapes;
  for (const TypeId type : arguments) shapes.push_back(&types_.shape(type));
  if (!dimensions_agree(*made->instance, shapes)) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentRestriction* rule = families_[family].rules[i];
    if (rule == nullptr || rule->shapes.empty()) continue;
    const bool fits = std::ranges::any_of(rule->shapes, [&](const ShapePattern& p) { return p.matches(*shapes[i]); });
    if (!fits) return;
  }
  add_for_sizes(family, *made, arguments, positions);
}

void SignatureTable::add_for_sizes(std::uint32_t family, const RankedInstance& ranked_instance,
                                   const std::vector<TypeId>& arguments, const std::vector<Positions>& positions) {
  const algebra::OperatorInstance& instance = *ranked_instance.instance;
  std::vector<std::vector<std::int64_t>> combinations(1);
  for (std::uint32_t s = 0; s < instance.size_parameter_count(); ++s) {
    const std::string& name = instance.size_names[instance.first_size_parameter + s];
    std::vector<std::int64_t> values;
    const auto& given = families_[family].entry->sizes;
    if (const auto found = given.find(name); found != given.end()) {
      values = found->second;
    } else if (const auto& cut = ranked_instance.facts->cuts[s]) {
      const Positions& known = positions[arguments[cut->argument]];
      if (cut->axis < known.size()) values = known[cut->axis];
    } else {
      throw InputError(families_[family].entry->place,
                       "size parameter '" + name + "' is no position on an axis: list its values in sizes");
    }
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& combination : combinations) {
      for (const std::int64_t value : values) {
        longer.push_back(combination);
        longer.back().push_back(value);
      }
    }
    combinations = std::move(longer);
  }
  for (const auto& sizes : combinations) add(family, ranked_instance, arguments, sizes);
}

void SignatureTable::add(std::uint32_t family, const RankedInstance& ranked_instance,
                         const std::vector<TypeId>& arguments, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> identity{family};
  identity.insert(identity.end(), arguments.begin(), arguments.end());
  identity.insert(identity.end(), sizes.begin(), sizes.end());
  if (known_.contains(identity)) return;
  Signature made;
  made.family = family;
  made.instance = ranked_instance.instance;
  made.facts = ranked_instance.facts;
  made.ranks = &ranked_instance.ranks;
  made.arguments = arguments;
  made.sizes = sizes;
  std::vector<Dims> shapes;
  for (const TypeId type : arguments) shapes.push_back(types_.shape(type));
  const auto outputs = algebra::infer(*ranked_instance.instance, shapes, sizes, &made.slots);
  if (!outputs) return;
  for (const Dims& shape : *outputs) {
    if (element_count(shape) > profile_.max_elements) return;
  }
  for (const Dims& shape : *outputs) made.outputs.push_back(types_.intern(shape));
  const Family& owner = families_[family];
  for (std::uint32_t s = 0; s < sizes.size() && owner.entry != nullptr; ++s) {
    const auto& cut = ranked_instance.facts->cuts[s];
    const std::string& name = ranked_instance.instance->size_names[ranked_instance.instance->first_size_parameter + s];
    if (cut && !owner.entry->sizes.contains(name)) made.required.push_back({cut->argument, cut->axis, sizes[s]});
  }
  const auto id = static_cast<SignatureId>(signatures_.size());
  known_.emplace(std::move(identity), id);
  for (std::uint32_t missing = 0; missing < arguments.size(); ++missing) {
    std::vector<TypeId> others = arguments;
    others.erase(others.begin() + missing);
    completions_[key(family, missing, others)].push_back({arguments[missing], id});
  }
  for (std::size_t n = 1; n < arguments.size(); ++n)
    beginnings_.insert(key(family, static_cast<std::uint32_t>(n - 1), std::span(arguments).first(n)));
  signatures_.push_back(std::move(made));
}

void SignatureTable::check_variables() const {
  for (const Variable& variable : profile_.variables) {
    const bool used = std::ranges::any_of(signatures_, [&](const Signature& signature) {
      return std::ranges::any_of(signature.arguments,
                                 [&](TypeId type) { return types_.shape(type) == variable.shape; });
    });
    if (used) continue;
    std::string shape;
    for (const std::int64_t dim : variable.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
    throw InputError(variable.place,
                     "no operator of the profile accepts '" + variable.name + "' of shape [" + shape + "]");
  }
}

std::vector<const ProfileOperator*> SignatureTable::unused_operators() const {
  std::vector<bool> applies(families_.size());
  for (const Signature& signature : signatures_) applies[signature.family] = true;
  std::vector<const ProfileOperator*> idle;
  for (std::size_t f = 0; f < families_.size(); ++f) {
    if (!applies[f] && families_[f].entry != nullptr) idle.push_back(families_[f].entry);
  }
  return idle;
}

bool SignatureTable::can_begin(std::uint32_t family, std::span<const TypeId> types) const {
  return beginnings_.contains(key(family, static_cast<std::uint32_t>(types.size() - 1), types));
}

SignatureTable::Key SignatureTable::key(std::uint32_t family, std::uint32_t missing, std::span<const TypeId> others) {
  static_assert(sizeof(TypeId) == 2 && max_arity <= 8);
  Key key{0, std::uint64_t{family + 1} << 3 | missing};  // not 0: the number of types is part of the key
  for (const TypeId type : others) {
    key.high = key.high << 16 | key.low >> 48;
    key.low = key.low << 16 | type;
  }
  return key;
}

const std::vector<Completion>& SignatureTable::completions(std::uint32_t family, std::uint32_t missing,
                                                           std::span<const TypeId> others) const {
  static const std::vector<Completion> none;
  const auto found = completions_.find(key(family, missing, others));
  return found == completions_.end() ? none : found->second;
}

}  // namespace rulemill::enumerate
