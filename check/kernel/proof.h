// A proof from the definitions, and the obligations that remain for a solver after checking it.
#pragma once

#include <array>
#include <cstdint>

#include "check/kernel/kernel.h"

namespace rulemill::check {

/// Why a definedness condition holds wherever its guards hold and the other side of the rule is defined.
struct DefinednessProof {
  enum class Kind : std::uint8_t {
    Signs,          // signs: the signs of the arguments imply that they are in the function's domain
    NonemptySigns,  // signs at points: the same, if each sum has a point, where all bound indices are 0
    Vacuous,        // empty: the guards cannot hold
    Split,          // split: g: a proof where the guard g holds, and one for each region where it does not
    Equality,  // from D: x := p; … {…} …: condition D of the other side; steps for each argument's difference
    Parity,    // opposite D: x := p; … {…} …: the same at the negated argument
  };
  Kind kind = Kind::Signs;
  std::size_t condition = 0;  // D
  std::optional<Guard> guard;
  std::vector<std::pair<Atom, Poly>> images;
  std::vector<std::vector<Step>> argument_steps;
  std::vector<DefinednessProof> cases;  // of Split
  std::vector<ProductLemma> lemmas;
};

struct ConditionProof {
  std::string condition;  // as text
  DefinednessProof proof;
};

/// Throws CheckError unless the proof applies to the condition of the target, or else of the source, where `given`
/// holds.
void check_definedness(const DefinednessProof& proof, const DefinednessCondition& condition, bool of_target,
                       const Guards& given, Statement& statement, Kernel& kernel);
struct OutputProof {
  std::vector<std::string> normal_form;  // of source minus target, one product per line
  std::vector<Step> steps;
};

struct Proof {
  std::vector<ProductLemma> lemmas;  // for the obligations of typing and of divisors
  std::vector<OutputProof> outputs;
  std::array<std::vector<ConditionProof>, 2> domains;  // of the source's own conditions, and of the target's
};

/// The obligations that a checked proof leaves. If all of them hold, so does the statement, for all sizes.
struct CheckedProof {
  std::vector<Obligation> obligations;
  std::size_t trivial = 0;  // obligations that hold without a solver
};
/// Throws CheckError where the proof does not fit the statement.
CheckedProof check_proof(const Proof& proof, Statement& statement);
/// Checks only that the sides are defined for the same values. Throws CheckError as check_proof does.
CheckedProof check_domains(const Proof& proof, Statement& statement);

}  // namespace rulemill::check
