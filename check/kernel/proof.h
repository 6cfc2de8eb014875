// A proof from definitions as data and as text, and what following it leaves to be shown to a solver.
#pragma once

#include <array>
#include <cstdint>

#include "check/kernel/kernel.h"

namespace rulemill::check {

/// Why a demand is met, wherever its guards hold and the other side is defined.
struct Claim {
  enum class Kind : std::uint8_t {
    Signs,   // signs            the arguments' signs keep them in the function's domain
    Points,  // signs at points  likewise, if sums have points: all bound indices 0 [which those are]
    Empty,   // empty            [its guards cannot hold]
    Split,   // split: guard     a claim where it holds, and one for each region where it does not
    From,  // from D: x := poly; …  {steps} …  demand D of the other side is the same at these values of its indices
           // [where it is made]; for each argument, steps that make the difference empty
    Opposite,  // opposite D: x := poly; …  {steps} …  likewise of a function with f(−t) = −f(t), or f(t): its argument
               // there is minus this one's; steps that make the sum empty
  };
  Kind kind = Kind::Signs;
  std::size_t demand = 0;
  std::optional<Guard> guard;
  std::vector<std::pair<Atom, Poly>> at;
  std::vector<std::vector<Step>> arguments;
  std::vector<Claim> parts;
  std::vector<Times> times;
};

struct DemandProof {
  std::string demand;  // as text
  Claim claim;
};

/// Throws Objection unless the claim fits the demand, of the target or else of the source, where `given` holds.
void follow(const Claim& claim, const Demand& demand, bool of_target, const Guards& given, Statement& statement,
            Kernel& kernel);
/// What is owed for a demand that is met by signs alone; nothing if it is not. With `points`, that sums have points is
/// owed, else they may be empty.
std::optional<std::vector<Obligation>> met_by_signs(const Demand& demand, bool points, const Guards& given,
                                                    const Statement& statement);

struct OutputProof {
  std::vector<std::string> normal_form;  // of source minus target: a product a line
  std::vector<Step> steps;
};

struct Proof {
  std::vector<Times> times;  // for what typing and divisors owe
  std::vector<OutputProof> outputs;
  std::array<std::vector<DemandProof>, 2> domains;  // the source's own demands, and the target's
};

/// Lines, each of them ended: what parse_proof reads.
std::string to_string(const Proof& proof, const Atoms& atoms);
/// Throws InputError, naming the line, on a text that to_string does not write. The first line has number `first`.
Proof parse_proof(std::string_view text, const std::string& origin, std::size_t first, Atoms& atoms);
std::string to_string(const Step& step, const Atoms& atoms);

/// What is left to be shown after following a proof: if all of it holds, so does the statement, for all sizes.
struct Followed {
  std::vector<Obligation> obligations;
  std::size_t plain = 0;  // steps that were seen to be right without a solver
};
/// Throws Objection where the proof does not fit the statement.
Followed follow(const Proof& proof, Statement& statement);
/// Likewise of where the statement's sides are defined, and nothing else.
Followed follow_domains(const Proof& proof, Statement& statement);

/// A script that a solver must answer with "unsat". Products of atoms are integers v0, v1, …; of a quotient
/// q = floor(n / d) it says d ≥ 1 ⇒ 0 ≤ n − d·q ≤ d − 1, of products of sizes that they are at least 1, and the lemmas
/// that stand at the obligation. Nothing that a user wrote is in it but names, in comments.
std::string smtlib(const Obligation& obligation, const Atoms& atoms);

/// Evaluates both sides at random sizes and elements, modulo a prime: functions and maxima are ones that have their
/// laws. What differs, in words; nothing if nothing did. `tried` receives how many sizes there were.
std::optional<std::string> evaluate(const algebra::Rule& rule, const algebra::TermBank& bank,
                                    const algebra::Symbols& symbols, std::uint64_t seed, std::size_t* tried = nullptr);

}  // namespace rulemill::check
