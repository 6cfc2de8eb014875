// Families and signatures. A family is an operator of the profile with its parameters fixed; a signature is a family at
// concrete argument types and size parameters: what one batch of nodes has in common, and what plans are compiled for.
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
#include "enumerate/instance_facts.h"
#include "enumerate/profile.h"
#include "enumerate/type_table.h"

namespace rulemill::enumerate {

inline constexpr std::uint32_t max_arity = 8;
using SignatureId = std::uint32_t;

struct Family {
  const OperatorEntry* entry = nullptr;  // one of the two
  const ConstantEntry* constant = nullptr;
  const std::string& place() const { return entry != nullptr ? entry->place : constant->place; }
  std::uint32_t arity = 0;
  bool commutative = false;
  /// Bit `kind` says whether a term of that kind may be the argument; a kind is 2 · role + is_variable.
  std::array<std::uint16_t, max_arity> allowed_kinds{};
  std::array<const ArgumentRule*, max_arity> rules{};
};

/// A size parameter that is a position on an argument's axis: the argument must have that position.
struct RequiredPosition {
  std::uint32_t argument = 0;
  std::uint32_t axis = 0;
  std::int64_t position = 0;
};

struct Signature {
  std::uint32_t family = 0;
  const algebra::Instance* instance = nullptr;
  const InstanceFacts* facts = nullptr;
  const std::vector<std::uint32_t>* ranks = nullptr;  // with which the instance was made
  std::vector<TypeId> arguments;
  std::vector<std::int64_t> sizes;
  std::vector<RequiredPosition> required;
  std::vector<TypeId> outputs;
  std::vector<std::int64_t> slots;
};

/// Signatures in which all arguments but one are given: what that one may be.
struct Completion {
  TypeId type = 0;
  SignatureId signature = 0;
};

class SignatureTable {
 public:
  /// Throws InputError for what the definitions refuse: parameters, argument names, variables that nothing accepts.
  SignatureTable(const Profile& profile, algebra::Library& library, TypeTable& types);

  const std::vector<Family>& families() const { return families_; }
  const Signature& operator[](SignatureId id) const { return signatures_[id]; }
  std::size_t size() const { return signatures_.size(); }

  /// Makes the signatures over the types 0 … types.size() − 1 as they are now. positions[t] are all positions that
  /// terms of type t have. Order, and so every number handed out, depends on nothing else.
  void extend(const std::vector<Positions>& positions);

  /// Throws InputError, naming its place, for a variable that is no argument of any signature.
  void check_variables() const;
  /// The operators that have no signature: nothing that was built so far has types that they accept.
  std::vector<const OperatorEntry*> idle_operators() const;

  /// Signature of a constant family, if the family is one.
  SignatureId constant(std::uint32_t family) const { return constants_.at(family); }
  /// Completions of the family with argument `open` open and the types of the others given in order, by type.
  const std::vector<Completion>& completions(std::uint32_t family, std::uint32_t open,
                                             std::span<const TypeId> others) const;
  /// Whether any signature of the family begins with these argument types.
  bool may_begin(std::uint32_t family, std::span<const TypeId> types) const;

 private:
  struct Shaped {
    const algebra::Instance* instance = nullptr;
    const InstanceFacts* facts = nullptr;
    std::vector<std::uint32_t> ranks;
  };
  const Shaped* shaped(std::uint32_t family, std::span<const TypeId> arguments);
  /// Throws InputError with the place in the profile for what the definition refuses.
  std::unique_ptr<Shaped> instance_of(const std::string& place, const std::string& name,
                                      const algebra::Parameters& parameters, const std::vector<std::uint32_t>& ranks);
  void add_constant(std::uint32_t family, const ConstantEntry& entry);
  bool takes_ranks(const OperatorEntry& entry, const std::vector<std::uint32_t>& ranks) const;
  /// What the profile says of arguments and sizes, by the names that the instance gives them.
  void read_restrictions(Family& family, const algebra::Instance& instance) const;
  void make(std::uint32_t family, std::vector<TypeId>& arguments, std::size_t known, std::size_t types,
            const std::vector<Positions>& positions);
  void make_sizes(std::uint32_t family, const Shaped& shaped, const std::vector<TypeId>& arguments,
                  const std::vector<Positions>& positions);
  void add(std::uint32_t family, const Shaped& shaped, const std::vector<TypeId>& arguments,
           const std::vector<std::int64_t>& sizes);
  /// A family, one of its arguments, and the types of others: 16 bits each.
  struct Key {
    std::uint64_t high = 0, low = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return key.high * 0x9e3779b97f4a7c15u ^ key.low * 0xc2b2ae3d27d4eb4fu;
    }
  };
  static Key key(std::uint32_t family, std::uint32_t open, std::span<const TypeId> others);

  const Profile& profile_;
  algebra::Library& library_;
  TypeTable& types_;
  std::vector<Family> families_;
  std::vector<std::map<std::vector<std::uint32_t>, std::unique_ptr<Shaped>>>
      by_ranks_;  // by family; null: not accepted
  std::map<algebra::InstanceId, std::unique_ptr<InstanceFacts>> facts_;
  std::vector<Signature> signatures_;
  std::map<std::vector<std::int64_t>, SignatureId> known_;  // family, argument types, sizes
  std::vector<SignatureId> constants_;
  std::unordered_map<Key, std::vector<Completion>, KeyHash> completions_;
  std::unordered_set<Key, KeyHash> beginnings_;
};

}  // namespace rulemill::enumerate
