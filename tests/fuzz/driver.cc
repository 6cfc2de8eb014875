// Runs a parser on pseudorandom inputs in child processes. Findings are reported with their seed, and their inputs are
// kept: a signal, a sanitizer's report, an exception other than runtime::Error, a message that is not one printable
// line or does not name the file, too much time or memory.
//   fuzz PARSER [--runs N] [--seed S] [--seconds T] [--timeout T] [--keep FOLDER] [--replay FILE] [CORPUS...]
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/process/log.h"
#include "runtime/process/sanitizer.h"
#include "runtime/text/error.h"
#include "runtime/text/printable.h"
#include "tests/fuzz/mutation.h"

namespace rulemill::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string parser, replay;
  std::uint64_t runs = 1000, seed = 0;
  double seconds = 1e6, timeout = 10;
  fs::path findings_folder = "fuzz-findings";
  std::vector<fs::path> corpus;
};

/// State that the driver shares with the running child.
struct SharedState {
  std::atomic<std::uint64_t> seed, accepted, rejected;
  std::atomic<std::int64_t> input_start;  // milliseconds; 0 between inputs
  char problem[500];
};

constexpr int problem_exit_code = 77;
constexpr std::uint64_t max_inputs_per_child = 4000;
constexpr std::size_t max_message_length = 4000;

std::int64_t milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

std::vector<Parser> all_parsers() {
  std::vector<Parser> parsers;
  add_language_parsers(parsers);
  add_rule_set_parsers(parsers);
  add_folder_parsers(parsers);
  add_model_parser(parsers);
  add_npz_parser(parsers);
  add_planted_parser(parsers);
  return parsers;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> read_corpus(const Parser& parser, const std::vector<fs::path>& places) {
  std::set<fs::path> files;
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place)) files.insert(place);
    if (!fs::is_directory(place)) continue;
    for (const auto& entry : fs::directory_iterator(place)) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  std::vector<std::string> corpus;
  for (const fs::path& file : files) corpus.push_back(read_file(file));
  if (corpus.empty()) throw runtime::InputError(parser.name, "its corpus is empty");
  return corpus;
}

/// Returns what is wrong with an error message; empty if nothing.
std::string message_problem(const Parser& parser, const std::string& message) {
  if (message.find(parser.origin) == std::string::npos) return "a message that does not name its file: " + message;
  const std::string printable = runtime::make_printable(message);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (printable.size() > max_message_length || std::ranges::any_of(printable, control))
    return "a message that is not one line";
  return {};
}

/// Parses one input. Returns a problem; empty if none.
std::string run(const Parser& parser, const std::string& input, SharedState& shared, std::string* rejection = nullptr) {
  try {
    parser.fuzz_one(runtime::bytes_of(input));
    ++shared.accepted;
    return {};
  } catch (const runtime::Error& error) {
    ++shared.rejected;
    if (rejection != nullptr) *rejection = error.what();
    return message_problem(parser, error.what());
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  } catch (...) {
    return "exception: unknown";
  }
}

[[noreturn]] void run_child(const Parser& parser, const Mutation& mutation, std::uint64_t first, std::uint64_t end,
                            std::int64_t deadline, SharedState& shared) {
  std::uint64_t seed = first;
  for (; seed < end && milliseconds() < deadline; ++seed) {
    shared.seed = seed;
    const std::string input = mutation.input(seed);
    shared.input_start = milliseconds();
    const std::string problem = run(parser, input, shared);
    shared.input_start = 0;
    if (problem.empty()) continue;
    problem.copy(shared.problem, sizeof shared.problem - 1);
    _exit(problem_exit_code);
  }
  shared.seed = seed;
  _exit(0);
}

/// Waits for the child. Returns the problem that ended it; empty if none.
std::string wait_for_child(pid_t child, const Options& options, const SharedState& shared) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const std::int64_t input_start = shared.input_start;
    if (input_start != 0 && static_cast<double>(milliseconds() - input_start) > options.timeout * 1000) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return fmt::format("more than {} s", options.timeout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == problem_exit_code) return shared.problem;
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}: a sanitizer's report", WEXITSTATUS(status));
}

/// Returns the beginning of a problem without its digits, so that equal failures of several inputs are reported once.
std::string signature(const std::string& problem) {
  std::string text;
  for (const char c : problem.substr(0, 60)) text += c >= '0' && c <= '9' ? '#' : c;
  return text;
}

int fuzz(const Parser& parser, const Options& options) {
  const Mutation mutation(parser, read_corpus(parser, options.corpus));
  auto* memory = mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SharedState& shared = *new (memory) SharedState{};
  const std::int64_t begin = milliseconds();
  const std::int64_t deadline = begin + static_cast<std::int64_t>(options.seconds * 1000);
  std::map<std::string, int> findings;
  const std::uint64_t end = options.seed + options.runs;
  std::uint64_t next = options.seed;
  while (next < end && milliseconds() < deadline) {
    shared.input_start = 0;
    std::fill(std::begin(shared.problem), std::end(shared.problem), '\0');
    const pid_t child = fork();
    if (child == 0) run_child(parser, mutation, next, std::min(end, next + max_inputs_per_child), deadline, shared);
    const std::string problem = wait_for_child(child, options, shared);
    next = shared.seed;
    if (problem.empty()) continue;
    if (++findings[signature(problem)] == 1) {
      fs::create_directories(options.findings_folder);
      const fs::path file = options.findings_folder / fmt::format("{}-{}", parser.name, next);
      std::ofstream(file, std::ios::binary) << mutation.input(next);
      std::cout << fmt::format("{}: seed {}: {}\n  reproduce: fuzz {} --replay {}\n", parser.name, next, problem,
                               parser.name, file.string());
    }
    ++next;
  }
  int total = 0;
  for (const auto& [kind, count] : findings) total += count;
  std::cout << fmt::format("{}: {} runs in {:.0f} s, {} accepted, {} rejected, {} findings of {} kinds\n", parser.name,
                           next - options.seed, static_cast<double>(milliseconds() - begin) / 1000,
                           shared.accepted.load(), shared.rejected.load(), total, findings.size());
  return findings.empty() ? 0 : 1;
}

int replay(const Parser& parser, const std::string& file) {
  SharedState shared{};
  std::string rejection;
  const std::string problem = run(parser, read_file(file), shared, &rejection);
  std::cout << (!problem.empty() ? problem : shared.accepted > 0 ? "accepted" : "rejected: " + rejection) << "\n";
  return problem.empty() ? 0 : 1;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (!option.starts_with("--")) {
      if (options.parser.empty())
        options.parser = option;
      else
        options.corpus.emplace_back(option);
      continue;
    }
    if (++i == argc) throw runtime::UsageError(option, "expected a value");
    const std::string value = argv[i];
    if (option == "--runs")
      options.runs = std::stoull(value);
    else if (option == "--seed")
      options.seed = std::stoull(value);
    else if (option == "--seconds")
      options.seconds = std::stod(value);
    else if (option == "--timeout")
      options.timeout = std::stod(value);
    else if (option == "--keep")
      options.findings_folder = value;
    else if (option == "--replay")
      options.replay = value;
    else
      throw runtime::UsageError(option, "unknown option");
  }
  return options;
}

int run_driver(int argc, char** argv) {
  google::protobuf::SetLogHandler(nullptr);
  runtime::set_up_log("off", 0);
  Options options = read_options(argc, argv);
  const std::vector<Parser> parsers = all_parsers();
  const auto parser = std::ranges::find(parsers, options.parser, &Parser::name);
  if (parser == parsers.end()) {
    for (const Parser& known : parsers) std::cout << known.name << "\n";
    return options.parser.empty() ? 0 : 2;
  }
  options.corpus.push_back(fs::path("tests/corpus") / parser->name);
  for (const std::string& place : parser->corpus) options.corpus.emplace_back(place);
  if (!runtime::has_address_sanitizer) {
    const rlimit memory{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
    setrlimit(RLIMIT_AS, &memory);
  }
  return options.replay.empty() ? fuzz(*parser, options) : replay(*parser, options.replay);
}

}  // namespace
}  // namespace rulemill::fuzz

int main(int argc, char** argv) {
  try {
    return rulemill::fuzz::run_driver(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
