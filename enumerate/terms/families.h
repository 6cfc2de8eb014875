// Families and signatures. A family is an operator of the profile with fixed parameters. A signature is a family at
// concrete argument types and size parameters; programs are compiled per signature.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "algebra/library/library.h"
#include "enumerate/profile/profile.h"
#include "enumerate/terms/instance_facts.h"

namespace rulemill::enumerate {

using TypeId = std::uint16_t;
using Dims = std::vector<std::int64_t>;

class TypeTable {
 public:
  /// Throws Error after 65,535 types.
  TypeId intern(const Dims& shape);
  const Dims& shape(TypeId id) const { return shapes_[id]; }
  std::uint64_t elements(TypeId id) const { return elements_[id]; }
  std::uint32_t rank(TypeId id) const { return static_cast<std::uint32_t>(shapes_[id].size()); }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::vector<Dims> shapes_;
  std::vector<std::uint64_t> elements_;
  std::map<Dims, TypeId> ids_;
};

std::uint64_t element_count(const Dims& shape);

inline constexpr std::uint32_t max_arity = 8;
using SignatureId = std::uint32_t;

struct Family {
  const ProfileOperator* entry = nullptr;  // one of these two is null
  const ProfileConstant* constant = nullptr;
  const std::string& place() const { return entry != nullptr ? entry->place : constant->place; }
  std::uint32_t arity = 0;
  bool commutative = false;
  /// Bit c: whether terms of argument class c are accepted. The argument class of a term is 2 · role + is_variable.
  std::array<std::uint16_t, max_arity> allowed_classes{};
  std::array<const ArgumentRestriction*, max_arity> rules{};
};

/// A position that an argument must have on an axis, because a size parameter splits the axis there.
struct RequiredPosition {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
  std::int64_t position = 0;
};

struct Signature {
  std::uint32_t family = 0;
  const algebra::OperatorInstance* instance = nullptr;
  const InstanceFacts* facts = nullptr;
  const std::vector<std::uint32_t>* ranks = nullptr;  // of the instance's arguments
  std::vector<TypeId> arguments;
  std::vector<std::int64_t> sizes;
  std::vector<RequiredPosition> required;
  std::vector<TypeId> outputs;
  std::vector<std::int64_t> slots;
};

/// A type that completes a partial list of argument types, and the resulting signature.
struct Completion {
  TypeId type = 0;
  SignatureId signature = 0;
};

class SignatureTable {
 public:
  /// Throws InputError for parameters and argument names that the definitions reject.
  SignatureTable(const Profile& profile, algebra::Library& library, TypeTable& types);

  const std::vector<Family>& families() const { return families_; }
  const Signature& operator[](SignatureId id) const { return signatures_[id]; }
  bool is_commutative(SignatureId id) const { return families_[signatures_[id].family].commutative; }
  std::size_t size() const { return signatures_.size(); }

  /// Adds the signatures over all current types. positions[t] are the positions of all terms of type t. The ids of
  /// signatures depend on nothing else.
  void extend(const std::vector<Positions>& positions);

  /// Throws InputError for a variable that is not an argument of any signature.
  void check_variables() const;
  /// Returns the operators that have no signature, because no term so far has a type that they accept.
  std::vector<const ProfileOperator*> unused_operators() const;

  /// Returns the signature of a constant family.
  SignatureId constant(std::uint32_t family) const { return constants_.at(family); }
  /// Returns the completions of the family, sorted by type, given the types of all arguments except `missing`.
  const std::vector<Completion>& completions(std::uint32_t family, std::uint32_t missing,
                                             std::span<const TypeId> others) const;
  /// Whether any signature of the family begins with these argument types.
  bool can_begin(std::uint32_t family, std::span<const TypeId> types) const;

 private:
  /// An operator instance for the ranks of its arguments.
  struct RankedInstance {
    const algebra::OperatorInstance* instance = nullptr;
    const InstanceFacts* facts = nullptr;
    std::vector<std::uint32_t> ranks;
  };
  /// Returns null if the operator does not accept arguments of these ranks.
  const RankedInstance* ranked_instance(std::uint32_t family, std::span<const TypeId> arguments);
  /// Throws InputError with the place in the profile if the definition rejects the parameters.
  std::unique_ptr<RankedInstance> make_ranked_instance(const std::string& place, const std::string& name,
                                                       const algebra::Parameters& parameters,
                                                       const std::vector<std::uint32_t>& ranks);
  void add_constant(std::uint32_t family, const ProfileConstant& entry);
  bool accepts_ranks_of(const ProfileOperator& entry, const std::vector<std::uint32_t>& ranks) const;
  /// Resolves the names of arguments and sizes in the profile's restrictions.
  void read_restrictions(Family& family, const algebra::OperatorInstance& instance) const;
  /// Adds the signatures whose first `known` argument types are given.
  void add_for_types(std::uint32_t family, std::vector<TypeId>& arguments, std::size_t known, std::size_t types,
                     const std::vector<Positions>& positions);
  /// Adds the signatures for all values of the size parameters.
  void add_for_sizes(std::uint32_t family, const RankedInstance& ranked_instance, const std::vector<TypeId>& arguments,
                     const std::vector<Positions>& positions);
  void add(std::uint32_t family, const RankedInstance& ranked_instance, const std::vector<TypeId>& arguments,
           const std::vector<std::int64_t>& sizes);
  /// A packed family, argument position and list of types, 16 bits each.
  struct Key {
    std::uint64_t high = 0, low = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return key.high * 0x9e3779b97f4a7c15u ^ key.low * 0xc2b2ae3d27d4eb4fu;
    }
  };
  static Key key(std::uint32_t family, std::uint32_t missing, std::span<const TypeId> others);

  const Profile& profile_;
  algebra::Library& library_;
  TypeTable& types_;
  std::vector<Family> families_;
  std::vector<std::map<std::vector<std::uint32_t>, std::unique_ptr<RankedInstance>>>
      by_ranks_;  // by family; null: not accepted
  std::map<algebra::InstanceId, std::unique_ptr<InstanceFacts>> facts_;
  std::vector<Signature> signatures_;
  std::map<std::vector<std::int64_t>, SignatureId> known_;  // family, argument types, sizes
  std::vector<SignatureId> constants_;
  std::unordered_map<Key, std::vector<Completion>, KeyHash> completions_;
  std::unordered_set<Key, KeyHash> beginnings_;
};

}  // namespace rulemill::enumerate
