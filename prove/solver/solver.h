// The solver for queries of linear integer arithmetic: cheap checks first, then Z3. Every query has a name and is
// counted. Z3 is limited by its resource counter, never by time, so that answers are reproducible. Its answer "unknown"
// counts as "not shown".
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
  std::uint32_t rlimit = 400000;      // Z3's resource units per query, about 100 ms
  std::uint32_t queries = 5000;       // per rule
  std::uint64_t steps = 400'000'000;  // of work per verdict, a few seconds
  bool linear = true;                 // try the exact linear check before Z3
  Fault fault = Fault::None;          // injected by tests
};

struct SolverStatistics {
  std::uint64_t queries = 0, unsatisfiable = 0, satisfiable = 0, unknown = 0;
  std::uint64_t cached = 0;         // answered from the cache of this rule
  std::uint64_t by_comparison = 0;  // answered without Z3, by comparing guards
  std::uint64_t by_models = 0;      // answered without Z3, by a model
  std::uint64_t by_simplex = 0;     // answered without Z3, by the exact linear check
  double seconds = 0;
};

class Solver {
 public:
  explicit Solver(Symbols& symbols, SolverLimits limits = {});
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Clears all state and starts a rule whose sizes satisfy the guards. `samples` are such sizes, if any are known;
  /// they answer many satisfiable queries without a solver.
  void start(Guards facts, std::vector<Models::Values> samples = {});

  /// Guards that are assumed during its lifetime. Assumptions must be destroyed in reverse order.
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

  /// The checks to try before a query counts as not shown. Frequent queries that rarely succeed should be cheap.
  enum class Depth : std::uint8_t {
    Quick,   // one run of the linear check
    Linear,  // the linear check, with derived premises of lemmas
    Full,    // the linear check, then Z3
  };
  /// True if it is shown that no integers satisfy the facts, the assumptions and the guards.
  bool is_infeasible(const Guards& guards, const char* name, Depth depth = Depth::Full);
  /// True if it is shown that the goal holds wherever the facts, the assumptions and `given` do.
  bool is_implied(const Guards& given, const Guard& goal, const char* name, Depth depth = Depth::Full);
  /// The only value of the polynomial where the facts, the assumptions and `given` hold, if a quick check shows it.
  std::optional<std::int64_t> unique_value(const Guards& given, const Poly& poly, const char* name);
  /// True if it is shown that the sum of coefficient · [guards] is zero wherever the facts and assumptions hold.
  bool indicators_cancel(const std::vector<std::pair<Rational, Guards>>& indicators, const char* name);

  /// The budget of the verdict. Queries throw LimitReached once it is spent, or once there were too many queries.
  Budget& budget() { return budget_; }
  Symbols& symbols() const { return symbols_; }
  const Guards& assumptions() const { return assumptions_; }
  bool has_fault(Fault fault) const { return limits_.fault == fault; }
  Fault fault() const { return limits_.fault; }
  const SolverStatistics& statistics() const { return statistics_; }
  static std::string version();

 private:
  bool is_unsatisfiable(Query query, Depth depth);
  bool has_model(const Query& query);
  bool is_known(const Guard& guard, const Guards& given) const;

  struct Z3;
  Symbols& symbols_;
  SolverLimits limits_;
  Budget budget_;
  std::unique_ptr<Z3> z3_;                            // created by the first query that needs it
  std::map<std::pair<Depth, Guards>, bool> answers_;  // infeasibility of assumptions and guards together
  Models models_;
  Guards facts_;
  std::vector<Models::Values> samples_;
  Guards assumptions_;
  SolverStatistics statistics_;
  std::uint64_t queries_of_rule_ = 0;
};

}  // namespace rulemill::prove
