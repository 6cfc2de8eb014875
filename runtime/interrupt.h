// Being told to stop: SIGTERM, SIGINT and SIGUSR1 (Slurm's warning before a time limit) set a flag that stages poll, so
// that they can leave resumable state behind. A second SIGINT or SIGTERM ends the process at once.
#pragma once

#include <string>

namespace rulemill::runtime {

void install_interrupt_handlers();
bool interrupted();
/// As if a signal had come.
void request_interrupt();
/// For tests.
void clear_interrupt();
/// Throws Interrupted(where, …) if told to stop.
void throw_if_interrupted(const std::string& where);

}  // namespace rulemill::runtime
