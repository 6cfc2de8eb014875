#include "prove/solver/z3_session.h"

#include <sys/time.h>
#include <z3++.h>

#include <algorithm>
#include <optional>

namespace rulemill::prove {

struct Z3Session::Impl {
  z3::context context;
};

Z3Session::Z3Session() = default;
Z3Session::~Z3Session() = default;

std::string Z3Session::version() { return Z3_get_full_version(); }

std::string Z3Session::answer(const std::string& script, unsigned limit, Context kind) {
  const bool of_reals = script.find(" Real)") != std::string::npos;
  if (!impl_ || (of_reals && kind == Context::Own)) impl_ = std::make_unique<Impl>();
  z3::context& context = impl_->context;
  const auto check = [&](unsigned steps, std::optional<unsigned> arithmetic) {
    z3::solver solver(context, z3::solver::simple());
    z3::params parameters(context);
    parameters.set("rlimit", steps);
    itimerval left{};
    if (getitimer(ITIMER_REAL, &left); left.it_value.tv_sec > 0)
      parameters.set("timeout", static_cast<unsigned>(left.it_value.tv_sec) * 1000);
    parameters.set("ctrl_c", false);
    if (arithmetic) parameters.set("arith.solver", *arithmetic);
    parameters.set("arith.nl.nra", false);  // it knows no limit
    solver.set(parameters);
    const z3::expr_vector assertions = context.parse_string(script.c_str());
    for (unsigned i = 0; i < assertions.size(); ++i) solver.add(assertions[i]);
    return solver.check();
  };
  try {
    z3::check_result result = z3::unknown;
    if (!of_reals) {
      result = check(limit, std::nullopt);
    } else {  // of integers beside real numbers, the newer arithmetic decides more, but its steps may take long
      constexpr unsigned old_arithmetic = 2, max_new_steps = 50'000;
      result = check(limit, old_arithmetic);
      if (result == z3::unknown) result = check(std::min(limit, max_new_steps), std::nullopt);
    }
    switch (result) {
      case z3::unsat:
        return "unsat";
      case z3::sat:
        return "sat";
      case z3::unknown:
        return "unknown";
    }
  } catch (const z3::exception& error) {
    return error.msg();
  }
  return "unknown";
}

}  // namespace rulemill::prove
