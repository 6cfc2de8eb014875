// The binary `rulemill`: parses the command line, runs one subcommand, and turns every failure into one line and an
// exit code.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "cli/command.h"
#include "cli/manual/help_text.h"
#include "rulemill_build.h"
#include "runtime/files/json_file.h"
#include "runtime/mpi/mpi_session.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/log.h"
#include "runtime/process/machine.h"
#include "runtime/process/terminal.h"
#include "runtime/text/error.h"
#include "runtime/text/printable.h"

namespace {

using namespace rulemill;

constexpr std::chrono::milliseconds failure_timeout{1000};

/// Reports a failure. If all ranks failed, the first one prints it; if not, the failed rank prints it and aborts the
/// others, which would wait for it.
int fail(const runtime::MpiSession& session, const std::string& message, int exit_code) {
  const runtime::Communicator& world = session.world();
  const bool all_failed = world.all_ranks_arrive(failure_timeout);
  if (world.is_root() || !all_failed) {
    const std::string rank = all_failed || world.is_root() ? "" : "rank " + std::to_string(world.rank()) + ": ";
    const char* name = runtime::shows_colours(stderr) ? "\033[1;31mrulemill:\033[0m" : "rulemill:";
    std::fprintf(stderr, "%s %s%s\n", name, rank.c_str(), runtime::make_printable(message).c_str());
  }
  if (!all_failed) session.abort(exit_code);
  return exit_code;
}

void add_subcommands(CLI::App& app, cli::Options& options, cli::Command& chosen) {
  app.require_subcommand(1);
  cli::add_check(app, options, chosen);
  cli::add_ci(app, options, chosen);
  cli::add_completion(app, chosen);
  cli::add_derive(app, options, chosen);
  cli::add_doctor(app, options, chosen);
  cli::add_equal(app, options, chosen);
  cli::add_gpu(app, options, chosen);
  cli::add_info(app, options, chosen);
  cli::add_man(app, options, chosen);
  cli::add_operators(app, options, chosen);
  cli::add_stages(app, options, chosen);
  cli::add_status(app, options, chosen);
  cli::add_optimize(app, options, chosen);
  cli::add_proof_worker(app, chosen);
  cli::add_rules(app, options, chosen);
  cli::add_variants(app, options, chosen);
}

/// Throws Error if the output could not be written, as on a full disk.
void require_printed() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    throw runtime::Error("standard output", "cannot write to it; output lost");
  }
}

int run(const runtime::MpiSession& session, int argc, char** argv) {
  cli::Options options;
  cli::Command chosen;
  CLI::App app("Discovers, proves and applies rewrite rules for deep-learning compilers.", "rulemill");
  app.option_defaults()->always_capture_default();
  app.set_version_flag("--version", "rulemill " RULEMILL_VERSION " (" RULEMILL_COMMIT ", " RULEMILL_BUILD_TYPE ")",
                       "print version, commit and kind of build");
  app.set_help_flag("-h,--help", "print this help");
  app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) {
    return cli::help_text(cli::describe_command(*command));
  });
  add_subcommands(app, options, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      cli::require_known_subcommand(app);
      if (session.world().is_root()) app.exit(error);
      require_printed();
      return 0;
    }
    throw cli::usage_error(app, error);
  }

  options.files.refuse_overwriting();
  const int rank = session.world().rank();
  runtime::set_up_log(options.quiet ? "error" : options.log_level, rank);
  const auto mode = options.quiet ? runtime::ProgressMode::Off : runtime::parse_progress_mode(options.progress);
  cli::Context context{session.world(), options, rank == 0 ? mode : runtime::ProgressMode::Off};
  context.silent = options.quiet;
  context.prints_to_stderr = options.files.use_standard_output();
  const std::string name = cli::describe_command(cli::parsed_command(app)).name;
  const std::string command = name.substr(name.find(' ') + 1);
  if (rank == 0 && !options.json.empty()) cli::require_writable(options.json);
  const auto write_report = [&] {
    if (rank != 0 || options.json.empty()) return;
    context.report["command"] = command;
    context.report["rulemill"] = RULEMILL_VERSION;
    runtime::write_json(options.json, context.report);
  };
  try {
    if (rank == 0) cli::warn_of_definitions(options);
    chosen(context);
  } catch (const runtime::Error& error) {
    // Partial results are reported, too.
    if (!context.report.empty()) {
      context.report["error"] = error.what();
      write_report();
    }
    throw;
  }
  write_report();
  require_printed();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  runtime::install_interrupt_handlers();
  runtime::install_memory_reserve();
  std::unique_ptr<runtime::MpiSession> session;
  try {
    session = std::make_unique<runtime::MpiSession>();
  } catch (const runtime::Error& error) {
    std::fprintf(stderr, "rulemill: %s\n", error.what());
    return error.exit_code();
  }
  try {
    return run(*session, argc, argv);
  } catch (const runtime::Error& error) {
    return fail(*session, error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return fail(*session, "out of memory (" + runtime::describe_memory() + ")", 1);
  } catch (const std::exception& error) {
    return fail(*session, error.what(), 1);
  }
}
