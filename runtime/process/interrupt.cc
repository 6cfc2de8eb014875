#include "runtime/process/interrupt.h"

#include <csignal>

#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

// Signals are process-wide, so that the flag must be global.
volatile std::sig_atomic_t stop_signal = 0;

void on_signal(int signal) {
  stop_signal = signal;
  if (signal != SIGUSR1) std::signal(signal, SIG_DFL);  // a second one ends the process
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  // A child process of ours inherits an ignored SIGTERM: its parent handles interrupts. (A shell ignores only SIGINT.)
  struct sigaction inherited {};
  const bool is_child = sigaction(SIGTERM, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    if (!is_child) sigaction(signal, &action, nullptr);
  }
  // A write beyond the file size limit then fails with EFBIG instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

void set_stop_signals(void (*handler)(int)) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) std::signal(signal, handler);
}

bool is_interrupted() { return stop_signal != 0; }

void request_interrupt() { stop_signal = SIGTERM; }

void clear_interrupt() { stop_signal = 0; }

void throw_if_interrupted(const std::string& where) {
  if (is_interrupted()) {
    throw Interrupted(where, "stopped by signal " + std::to_string(static_cast<int>(stop_signal)) +
                                 "; run the same command again to continue");
  }
}

}  // namespace rulemill::runtime
