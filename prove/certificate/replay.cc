#include "prove/certificate/replay.h"

#include <z3++.h>

#include <fstream>

#include "runtime/error.h"
#include "runtime/scratch_folder.h"
#include "runtime/subprocess.h"

namespace rulemill::prove {

namespace {

constexpr const char* separator = "-- next --";

std::vector<std::string> lines_of(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

struct Z3Session::State {
  z3::context context;
};

Z3Session::Z3Session() : state_(std::make_unique<State>()) {}
Z3Session::~Z3Session() = default;

std::string Z3Session::answer(const std::string& script) {
  z3::context& context = state_->context;
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

std::filesystem::path find_cvc5() { return runtime::find_program("cvc5"); }

std::vector<std::vector<std::string>> cvc5_answers(const std::filesystem::path& cvc5,
                                                   const std::vector<std::string>& scripts,
                                                   std::chrono::milliseconds timeout) {
  const runtime::ScratchFolder folder;
  const std::string input = (folder / "scripts.smt2").string();
  const std::string output = (folder / "answers").string();
  {
    std::ofstream file(input);
    for (const std::string& script : scripts) file << "(reset)\n" << script << "(echo \"" << separator << "\")\n";
    if (!file.flush()) throw runtime::IoError(input, "cannot be written");
  }
  // The shell gives cvc5 files to read and write; the process's end is what it answers.
  runtime::Subprocess process({"/bin/sh", "-c", R"(exec "$0" --incremental --lang=smt2 --tlimit-per=20000 "$1" > "$2")",
                               cvc5.string(), input, output});
  process.receive(timeout);
  if (process.end_reason().starts_with("time limit")) throw runtime::Error("cvc5", process.end_reason());
  std::ifstream file(output);
  std::vector<std::vector<std::string>> answers(1);
  for (const std::string& line : lines_of(file)) {
    if (line == separator || line == "\"" + std::string(separator) + "\"") {
      answers.emplace_back();
    } else {
      answers.back().push_back(line);
    }
  }
  answers.resize(scripts.size());
  return answers;
}

}  // namespace rulemill::prove
