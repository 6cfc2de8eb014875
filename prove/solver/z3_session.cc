#include "prove/solver/z3_session.h"

#include <z3++.h>

namespace rulemill::prove {

struct Z3Session::Impl {
  z3::context context;
};

Z3Session::Z3Session() = default;
Z3Session::~Z3Session() = default;

std::string Z3Session::answer(const std::string& script) {
  if (!impl_) impl_ = std::make_unique<Impl>();
  z3::context& context = impl_->context;
  try {
    z3::solver solver(context, z3::solver::simple());
    z3::params parameters(context);
    parameters.set("rlimit", 100000000u);
    parameters.set("ctrl_c", false);
    solver.set(parameters);
    const z3::expr_vector assertions = context.parse_string(script.c_str());
    for (unsigned i = 0; i < assertions.size(); ++i) solver.add(assertions[i]);
    switch (solver.check()) {
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
