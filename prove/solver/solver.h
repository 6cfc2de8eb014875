// The one door to Z3: decides queries of linear integer arithmetic. Every query has a name and is counted; effort is
// bounded by Z3's resource counter, never by time, so that answers repeat; "unknown" counts as "not shown".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "prove/solver/budget.h"
#include "prove/solver/fault.h"
#include "prove/solver/models.h"
#include "prove/solver/query.h"

namespace rulemill::prove {

struct SolverLimits {
  std::uint32_t rlimit = 400000;      // Z3's resource units for one query, some 100 ms
  std::uint32_t queries = 5000;       // for one rule
  std::uint64_t steps = 400'000'000;  // of work for one verdict, whatever it is spent on: some seconds
  bool linear = true;                 // try the exact linear check before Z3
  Fault fault = Fault::None;          // for tests
};

struct SolverStatistics {
  std::uint64_t queries = 0, unsatisfiable = 0, satisfiable = 0, unknown = 0;
  std::uint64_t cached = 0;      // answered from memory
  std::uint64_t by_pairs = 0;    // answered without Z3, by comparing guards
  std::uint64_t by_models = 0;   // answered without Z3, by a model
  std::uint64_t by_simplex = 0;  // shown by the exact linear check
  double seconds = 0;
};

class Solver {
 public:
  explicit Solver(Symbols& symbols, SolverLimits limits = {});
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Forgets everything and starts on a rule whose sizes satisfy these guards. `samples`: sizes that do, if any are
  /// known; they spare the solver many satisfiable queries.
  void start(Guards facts, std::vector<Models::Values> samples = {});

  /// Guards that hold as long as this lives; innermost first out.
  class Assumption {
   public:
    Assumption(Solver& solver, const Guards& guards);
    ~Assumption();
    Assumption(const Assumption&) = delete;
    Assumption& operator=(const Assumption&) = delete;

   private:
    Solver& solver_;
    std::size_t before_;
  };

  /// How much is tried before a question counts as not shown. What is asked often and seldom so should cost little.
  enum class Depth : std::uint8_t {
    Glance,  // one run of the linear check
    Linear,  // the linear check, with what premises of lemmas follow from
    Full,    // and Z3
  };
  /// Shown: no integers satisfy the facts, the assumptions and these guards.
  bool infeasible(const Guards& guards, const char* name, Depth depth = Depth::Full);
  /// Shown: wherever the facts, the assumptions and `given` hold, so does the goal.
  bool implied(const Guards& given, const Guard& goal, const char* name, Depth depth = Depth::Full);
  /// The one value that the polynomial has wherever the facts, the assumptions and `given` hold, if a glance shows it.
  std::optional<std::int64_t> only_value(const Guards& given, const Poly& poly, const char* name);
  /// Shown: the sum of coefficient · [guards] is zero wherever the facts and assumptions hold.
  bool cancels(const std::vector<std::pair<Rational, Guards>>& indicators, const char* name);

  /// What the verdict may still cost. Questions throw LimitReached once it is spent, or the limit on queries is
  /// reached.
  Budget& budget() { return budget_; }
  Symbols& symbols() const { return symbols_; }
  const Guards& assumptions() const { return assumptions_; }
  bool has(Fault fault) const { return limits_.fault == fault; }
  Fault fault() const { return limits_.fault; }
  const SolverStatistics& statistics() const { return statistics_; }
  static std::string version();

 private:
  bool unsatisfiable(Query query, Depth depth);
  bool has_model(const Query& query);
  bool known(const Guard& guard, const Guards& given) const;

  struct Z3;
  Symbols& symbols_;
  SolverLimits limits_;
  Budget budget_;
  std::unique_ptr<Z3> z3_;                            // none until it is asked
  std::map<std::pair<Depth, Guards>, bool> answers_;  // infeasibility of assumptions and guards together
  Models models_;
  Guards facts_;
  std::vector<Models::Values> samples_;
  Guards assumptions_;
  SolverStatistics statistics_;
  std::uint64_t queries_of_rule_ = 0;
};

}  // namespace rulemill::prove
