// A proof from the definitions, as data and as text, and the obligations that remain for a solver after checking it.
#pragma once

#include <array>
#include <cstdint>

#include "check/kernel/kernel.h"

namespace rulemill::check {

/// Why a definedness condition holds wherever its guards hold and the other side of the rule is defined.
struct DefinednessProof {
  enum class Kind : std::uint8_t {
    Signs,          // signs: the signs of the arguments imply that they are in the function's domain
    NonemptySigns,  // signs at points: the same, if each sum has a point, where all bound indices are 0 (an obligation)
    Vacuous,        // empty: the guards cannot hold (an obligation)
    Split,          // split: g: a proof where the guard g holds, and one for each region where it does not
    Equality,  // from D: x := p; … {…} …: condition D of the other side, at the indices x := p, is on the same
               // function; for each argument, steps rewrite the difference to 0. Its guards are obligations
    Parity,    // opposite D: x := p; … {…} …: the same for a function with a parity law, at the negated argument
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
/// Returns the obligations under which signs alone imply the condition; nothing if they do not. With `nonempty`, each
/// sum must have a point, an obligation; without, sums may be empty.
std::optional<std::vector<Obligation>> check_by_signs(const DefinednessCondition& condition, bool nonempty,
                                                      const Guards& given, const Statement& statement);

struct OutputProof {
  std::vector<std::string> normal_form;  // of source minus target, one product per line
  std::vector<Step> steps;
};

struct Proof {
  std::vector<ProductLemma> lemmas;  // for the obligations of typing and of divisors
  std::vector<OutputProof> outputs;
  std::array<std::vector<ConditionProof>, 2> domains;  // of the source's own conditions, and of the target's
};

/// Returns lines, each ended by a newline, that parse_proof reads.
std::string to_string(const Proof& proof, const Atoms& atoms);
/// Throws InputError with the line number on a text that to_string does not write. The first line has number `first`.
Proof parse_proof(std::string_view text, const std::string& origin, std::size_t first, Atoms& atoms);
std::string to_string(const Step& step, const Atoms& atoms);

/// The obligations that a checked proof leaves. If all of them hold, so does the statement, for all sizes.
struct CheckedProof {
  std::vector<Obligation> obligations;
  std::size_t trivial = 0;  // obligations that hold without a solver
};
/// Throws CheckError where the proof does not fit the statement.
CheckedProof check_proof(const Proof& proof, Statement& statement);
/// Checks only that the sides are defined for the same values. Throws CheckError as check_proof does.
CheckedProof check_domains(const Proof& proof, Statement& statement);

/// Returns a script to which a solver must answer "unsat". Products of atoms are integers v0, v1, …. The script states
/// d ≥ 1 ⇒ 0 ≤ n − d·q ≤ d − 1 for each quotient q = floor(n / d), that products of sizes are at least 1, and the
/// obligation's lemmas. The only text from the user are names in comments.
std::string smtlib(const Obligation& obligation, const Atoms& atoms);

/// Evaluates both sides at random sizes and elements, modulo primes, with functions and maxima that have their laws.
/// Returns a description of the first difference; nothing if there is none. `tried` receives the number of sizes.
std::optional<std::string> evaluate(const algebra::Rule& rule, const algebra::TermBank& bank,
                                    const algebra::Symbols& symbols, std::uint64_t seed, std::size_t* tried = nullptr);

}  // namespace rulemill::check
