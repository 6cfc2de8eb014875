#include "prove/certificate/replay.h"

#include <z3++.h>

#include <fstream>

#include "runtime/error.h"

namespace rulemill::prove {

namespace {

constexpr const char* separator = "-- next --";
constexpr const char* input_file = "scripts.smt2";
constexpr const char* output_file = "answers";

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

Cvc5Run::Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts)
    : scripts_(scripts.size()), process_([&] {
        const std::string input = (folder_ / input_file).string();
        std::ofstream file(input);
        for (const std::string& script : scripts) file << "(reset)\n" << script << "(echo \"" << separator << "\")\n";
        if (!file.flush()) throw runtime::IoError(input, "cannot be written");
        // The shell gives cvc5 files to read and write; the process's end is what it answers.
        return std::vector<std::string>{
            "/bin/sh",     "-c",  R"(exec "$0" --incremental --lang=smt2 --tlimit-per=20000 "$1" > "$2")",
            cvc5.string(), input, (folder_ / output_file).string()};
      }()) {}

std::vector<std::vector<std::string>> Cvc5Run::answers(std::chrono::milliseconds timeout) {
  process_.receive(timeout);
  if (process_.end_reason().starts_with("time limit")) throw runtime::Error("cvc5", process_.end_reason());
  std::ifstream file(folder_ / output_file);
  std::vector<std::vector<std::string>> answers(1);
  for (const std::string& line : lines_of(file)) {
    if (line == separator || line == "\"" + std::string(separator) + "\"") {
      answers.emplace_back();
    } else {
      answers.back().push_back(line);
    }
  }
  answers.resize(scripts_);
  return answers;
}

double Cvc5Run::seconds() const {
  const auto written = [&](const char* file) { return std::filesystem::last_write_time(folder_ / file); };
  return std::chrono::duration<double>(written(output_file) - written(input_file)).count();
}

}  // namespace rulemill::prove
