// Runs a parser on inputs that follow from seeds, in child processes that it watches. What must not be is told with its
// seed, and its input is kept: a signal or a sanitizer's report, an exception that is no runtime::Error, a message that
// is not one printable line, more time or memory than allowed.
//   fuzz PARSER [--runs N] [--seed S] [--seconds T] [--patience T] [--keep FOLDER] [--replay FILE] [CORPUS...]
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

#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/printable.h"
#include "runtime/sanitizer.h"
#include "tests/fuzz/mutation.h"

namespace rulemill::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string parser, replay;
  std::uint64_t runs = 1000, seed = 0;
  double seconds = 1e6, patience = 10;
  fs::path keep = "fuzz-findings";
  std::vector<fs::path> corpus;
};

/// Between the driver and the child at work.
struct Shared {
  std::atomic<std::uint64_t> seed, accepted, refused;
  std::atomic<std::int64_t> began;  // milliseconds; 0 between inputs
  char problem[500];
};

constexpr int problem_status = 77;
constexpr std::uint64_t inputs_a_child = 4000;
constexpr std::size_t longest_message = 4000;

std::int64_t milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

std::vector<Parser> all_parsers() {
  std::vector<Parser> parsers;
  add_language_parsers(parsers);
  add_rule_set_parsers(parsers);
  add_folder_parsers(parsers);
  add_model_parser(parsers);
  add_planted_parser(parsers);
  return parsers;
}

std::string content(const fs::path& path) {
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
  for (const fs::path& file : files) corpus.push_back(content(file));
  if (corpus.empty()) throw runtime::InputError(parser.name, "its corpus is empty");
  return corpus;
}

/// What is wrong with a message to people; nothing if nothing is.
std::string objection(const Parser& parser, const std::string& message) {
  if (message.find(parser.origin) == std::string::npos) return "a message that does not name its file: " + message;
  const std::string shown = runtime::printable(message);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (shown.size() > longest_message || std::ranges::any_of(shown, control)) return "a message that is not one line";
  return {};
}

/// The outcome of one input: a problem, or nothing.
std::string run(const Parser& parser, const std::string& input, Shared& shared, std::string* refusal = nullptr) {
  try {
    parser.fuzz_one(runtime::bytes_of(input));
    ++shared.accepted;
    return {};
  } catch (const runtime::Error& error) {
    ++shared.refused;
    if (refusal != nullptr) *refusal = error.what();
    return objection(parser, error.what());
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  } catch (...) {
    return "exception: unknown";
  }
}

[[noreturn]] void work(const Parser& parser, const Mutation& mutation, std::uint64_t first, std::uint64_t end,
                       std::int64_t deadline, Shared& shared) {
  std::uint64_t seed = first;
  for (; seed < end && milliseconds() < deadline; ++seed) {
    shared.seed = seed;
    const std::string input = mutation.input(seed);
    shared.began = milliseconds();
    const std::string problem = run(parser, input, shared);
    shared.began = 0;
    if (problem.empty()) continue;
    problem.copy(shared.problem, sizeof shared.problem - 1);
    _exit(problem_status);
  }
  shared.seed = seed;
  _exit(0);
}

/// Waits for the child; what ended it before its time.
std::string watch(pid_t child, const Options& options, const Shared& shared) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const std::int64_t began = shared.began;
    if (began != 0 && static_cast<double>(milliseconds() - began) > options.patience * 1000) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return fmt::format("more than {} s", options.patience);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == problem_status) return shared.problem;
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}: a sanitizer's report", WEXITSTATUS(status));
}

/// Many inputs fail for one reason: digits and quoted words aside, its message is the same.
std::string signature(const std::string& problem) {
  std::string text;
  for (const char c : problem.substr(0, 60)) text += c >= '0' && c <= '9' ? '#' : c;
  return text;
}

int fuzz(const Parser& parser, const Options& options) {
  const Mutation mutation(parser, read_corpus(parser, options.corpus));
  auto* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Shared& shared = *new (memory) Shared{};
  const std::int64_t begin = milliseconds();
  const std::int64_t deadline = begin + static_cast<std::int64_t>(options.seconds * 1000);
  std::map<std::string, int> findings;
  const std::uint64_t end = options.seed + options.runs;
  std::uint64_t next = options.seed;
  while (next < end && milliseconds() < deadline) {
    shared.began = 0;
    std::fill(std::begin(shared.problem), std::end(shared.problem), '\0');
    const pid_t child = fork();
    if (child == 0) work(parser, mutation, next, std::min(end, next + inputs_a_child), deadline, shared);
    const std::string problem = watch(child, options, shared);
    next = shared.seed;
    if (problem.empty()) continue;
    if (++findings[signature(problem)] == 1) {
      fs::create_directories(options.keep);
      const fs::path file = options.keep / fmt::format("{}-{}", parser.name, next);
      std::ofstream(file, std::ios::binary) << mutation.input(next);
      std::cout << fmt::format("{}: seed {}: {}\n  again: fuzz {} --replay {}\n", parser.name, next, problem,
                               parser.name, file.string());
    }
    ++next;
  }
  int total = 0;
  for (const auto& [kind, count] : findings) total += count;
  std::cout << fmt::format("{}: {} runs in {:.0f} s, {} accepted, {} refused, {} findings of {} kinds\n", parser.name,
                           next - options.seed, static_cast<double>(milliseconds() - begin) / 1000,
                           shared.accepted.load(), shared.refused.load(), total, findings.size());
  return findings.empty() ? 0 : 1;
}

int replay(const Parser& parser, const std::string& file) {
  Shared shared{};
  std::string refusal;
  const std::string problem = run(parser, content(file), shared, &refusal);
  std::cout << (!problem.empty() ? problem : shared.accepted > 0 ? "accepted" : "refused: " + refusal) << "\n";
  return problem.empty() ? 0 : 1;
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      if (options.parser.empty())
        options.parser = word;
      else
        options.corpus.emplace_back(word);
      continue;
    }
    if (++i == argc) throw runtime::UsageError(word, "needs a value");
    const std::string value = argv[i];
    if (word == "--runs")
      options.runs = std::stoull(value);
    else if (word == "--seed")
      options.seed = std::stoull(value);
    else if (word == "--seconds")
      options.seconds = std::stod(value);
    else if (word == "--patience")
      options.patience = std::stod(value);
    else if (word == "--keep")
      options.keep = value;
    else if (word == "--replay")
      options.replay = value;
    else
      throw runtime::UsageError(word, "is not known");
  }
  return options;
}

int main_of(int argc, char** argv) {
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
  if (!runtime::address_sanitizer) {
    const rlimit memory{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
    setrlimit(RLIMIT_AS, &memory);
  }
  return options.replay.empty() ? fuzz(*parser, options) : replay(*parser, options.replay);
}

}  // namespace
}  // namespace rulemill::fuzz

int main(int argc, char** argv) {
  try {
    return rulemill::fuzz::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
