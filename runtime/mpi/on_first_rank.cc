#include "runtime/mpi/on_first_rank.h"

#include <cstdlib>
#include <string>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

class FirstRankError : public Error {
 public:
  FirstRankError(const std::string& what, int code) : Error("", what), code_(code) {}
  int exit_code() const override { return code_; }

 private:
  int code_;
};

}  // namespace

void on_first_rank(const Communicator& world, const std::function<void()>& action) {
  std::string failure;  // exit code, space, message
  if (world.is_root()) {
    try {
      action();
    } catch (const Error& error) {
      failure = std::to_string(error.exit_code()) + " " + error.what();
    }
  }
  world.broadcast(failure);
  if (!failure.empty()) throw FirstRankError(failure.substr(failure.find(' ') + 1), std::atoi(failure.c_str()));
}

}  // namespace rulemill::runtime
