#include "runtime/interrupt.h"

#include <csignal>

#include "runtime/error.h"

namespace rulemill::runtime {
namespace {

// Signals are process-wide, and so is this flag: the one state that cannot be passed in.
volatile std::sig_atomic_t stop_signal = 0;

void on_signal(int signal) {
  stop_signal = signal;
  if (signal != SIGUSR1) std::signal(signal, SIG_DFL);  // the second one ends the process
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  // A helper has SIGTERM ignored by its parent, whose affair being told to stop is. (A shell ignores SIGINT alone.)
  struct sigaction inherited {};
  const bool is_helper = sigaction(SIGTERM, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    if (!is_helper) sigaction(signal, &action, nullptr);
  }
  // A file that is too large is an error of the write that makes it so.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return stop_signal != 0; }

void request_interrupt() { stop_signal = SIGTERM; }

void clear_interrupt() { stop_signal = 0; }

void throw_if_interrupted(const std::string& where) {
  if (interrupted()) {
    throw Interrupted(where, "stopped by signal " + std::to_string(static_cast<int>(stop_signal)) +
                                 "; run the same command again to continue");
  }
}

}  // namespace rulemill::runtime
