// Random mutants of proof steps on the sums of the proofs of the tests' rules: a step that the kernel accepts, and
// whose obligations hold, must not change the value of a sum.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/elaboration/elaborate.h"
#include "prove/solver/z3_session.h"
#include "runtime/text/error.h"
#include "tests/check/kernel/step_mutator.h"
#include "tests/check/kernel/sum_value.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using check::Guard;
using check::Step;
using check::StepMutator;
using check::Sum;
using check::SumValue;
using prove::ProverFixture;
using prove::SizesByName;

namespace {

struct Counts {
  std::size_t tried = 0, refused = 0;
  std::map<Step::Op, std::size_t> equal;  // accepted steps that changed no value
};

class MutationRun {
 public:
  MutationRun(const algebra::Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols, Counts& counts)
      : rule_(rule), statement_(check::to_core(rule, bank, symbols, atoms_), atoms_), counts_(counts) {
    samples_ = prove::sample_sizes_by_name(rule, bank, symbols, 1);
  }

  /// Runs the proof, and mutants of each step before it. Returns descriptions of mutants that changed a value.
  std::vector<std::string> run(std::size_t mutants_per_step) {
    const auto elaboration = prove::elaborate(statement_, samples_);
    if (!elaboration.proof || samples_.empty()) return {};
    for (std::size_t o = 0; o < statement_.outputs(); ++o) {
      Sum sum = statement_.difference(o);
      const check::Context context{conjunction(statement_.facts(), statement_.index_ranges(o)), {}};
      for (const Step& step : elaboration.proof->outputs[o]) {
        StepMutator mutator(sum, statement_, random_);
        for (std::size_t i = 0; i < mutants_per_step; ++i) {
          attempt(sum, context, mutator.mutate(step));
          attempt(sum, context, mutator.random_step());
        }
        attempt(sum, context, step);
        check::Kernel(statement_, [](const check::Obligation&) {}).apply(sum, context, step);
      }
    }
    return std::move(found_);
  }

 private:
  void attempt(const Sum& before, const check::Context& context, const Step& mutant) {
    ++counts_.tried;
    std::vector<check::Obligation> obligations;
    Sum after = before;
    try {
      const check::Proof proof{{}, {{mutant}}, {}};
      const std::string text = check::to_string(proof, statement_);
      const Step step = check::parse_proof(text, "mutant", 1, statement_).outputs.at(0).at(0);
      check::Kernel(statement_, [&](check::Obligation o) {
        obligations.push_back(std::move(o));
      }).apply(after, context, step);
    } catch (const check::CheckError&) {
      return void(++counts_.refused);
    } catch (const runtime::InputError&) {
      return void(++counts_.refused);
    }
    for (const check::Obligation& each : obligations) {
      if (!each.script.empty() && z3_.answer(check::smtlib(each, atoms_)) != "unsat") return;
    }
    std::erase_if(obligations, [](const check::Obligation& each) { return !each.script.empty(); });
    for (int i = 0; i < 4; ++i) compare(before, after, context, mutant, obligations);
  }

  /// At random sizes that satisfy the rule, and a random element.
  void compare(const Sum& before, const Sum& after, const check::Context& context, const Step& mutant,
               const std::vector<check::Obligation>& obligations) {
    std::map<check::Atom, std::int64_t> values;
    for (const auto& [name, value] : samples_[random_() % samples_.size()]) values[*atoms_.size(name).atom()] = value;
    std::set<check::Atom> all;
    for (const Guard& guard : context.given) atoms_.collect(guard.poly, all);
    for (const check::Atom atom : all) {
      if (atoms_.kind(atom) == check::Atoms::Kind::Output) values[atom] = static_cast<std::int64_t>(random_() % 3);
    }
    try {
      SumValue at(statement_, values, random_() % 1000, 4000);
      if (!at.holds(context.given)) return;
      if (!std::ranges::all_of(obligations, [&](const auto& o) { return at.holds(o); })) return;
      if (agree(at.value(before), at.value(after)))
        ++counts_.equal[mutant.op];
      else
        found_.push_back(rule_.id + ": " + check::to_string(mutant, statement_) + " makes " + statement_.text(after) +
                         " of " + statement_.text(before));
    } catch (const check::Undecided&) {
    }
  }

  const algebra::Rule& rule_;
  check::Atoms atoms_;
  check::Statement statement_;
  Counts& counts_;
  std::mt19937_64 random_{counts_.tried};
  prove::Z3Session z3_;
  std::vector<SizesByName> samples_;
  std::vector<std::string> found_;
};

}  // namespace

TEST_CASE("no changed step of a proof that the kernel accepts changes a value") {
  const char* given = std::getenv("RULEMILL_MUTANTS");
  const std::size_t mutants = given == nullptr ? 8 : std::stoul(given);
  ProverFixture fixture;
  Counts counts;
  for (const char* file : {"tests/prove/proved.rules", "tests/prove/conditional.rules", "tests/prove/laws.rules",
                           "tests/prove/partial.rules"}) {
    for (const algebra::Rule& rule : fixture.rules(file)) {
      const prove::Verdict verdict = fixture.prover.prove(rule);
      if (!std::holds_alternative<prove::Proved>(verdict)) continue;
      const algebra::Rule typed = std::get<prove::Proved>(verdict).typed.rule;
      for (const std::string& wrong : MutationRun(typed, fixture.bank, fixture.symbols, counts).run(mutants))
        FAIL_CHECK(wrong);
    }
  }
  WARN(counts.tried << " steps, " << counts.refused << " refused; " << counts.equal.size() << " kinds compared");
  CHECK(counts.equal.size() >= StepMutator::op_count - 3);
}
