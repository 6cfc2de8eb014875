// Interrupts. SIGTERM, SIGINT and SIGUSR1 (sent by Slurm before the time limit) set a flag. Stages poll it and save a
// checkpoint. A second SIGINT or SIGTERM ends the process at once.
#pragma once

#include <string>

namespace rulemill::runtime {

void install_interrupt_handlers();
/// Gives these signals the same handler: SIG_IGN or SIG_DFL.
void set_stop_signals(void (*handler)(int));
bool is_interrupted();
/// Sets the flag as SIGTERM does.
void request_interrupt();
/// For tests.
void clear_interrupt();
/// Throws Interrupted(where, …) if the flag is set.
void throw_if_interrupted(const std::string& where);

}  // namespace rulemill::runtime
