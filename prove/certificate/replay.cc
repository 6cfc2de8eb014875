#include "prove/certificate/replay.h"

#include <z3++.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/error.h"
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

/// A folder that goes away with what is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rulemill-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw runtime::IoError(pattern, "no temporary folder can be made");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

struct Z3Session::State {
  std::optional<z3::context> evaluating, parsing;  // made when needed
};

Z3Session::Z3Session() : state_(std::make_unique<State>()) {}
Z3Session::~Z3Session() = default;

std::vector<std::string> Z3Session::answers(const std::string& script) {
  if (!state_->evaluating) {
    state_->evaluating.emplace();
    Z3_set_error_handler(*state_->evaluating, nullptr);  // an error becomes part of the answer
  }
  std::istringstream answers(Z3_eval_smtlib2_string(*state_->evaluating, ("(reset)\n" + script).c_str()));
  return lines_of(answers);
}

std::optional<std::vector<std::size_t>> Z3Session::unsatisfiable_core(const std::string& declarations,
                                                                      const std::vector<std::string>& assertions) {
  std::string script = declarations;
  for (const std::string& assertion : assertions) script += assertion + "\n";
  if (!state_->parsing) state_->parsing.emplace();
  z3::context& context = *state_->parsing;
  const z3::expr_vector formulas = context.parse_string(script.c_str());
  if (formulas.size() != assertions.size()) return std::nullopt;
  z3::solver solver(context, z3::solver::simple());
  z3::params parameters(context);
  parameters.set("rlimit", 4000000u);
  parameters.set("smt.core.minimize", true);
  solver.set(parameters);
  z3::expr_vector labels(context);
  for (unsigned i = 0; i < formulas.size(); ++i) {
    labels.push_back(context.bool_const(("label" + std::to_string(i)).c_str()));
    solver.add(z3::implies(labels.back(), formulas[i]));
  }
  if (solver.check(labels) != z3::unsat) return std::nullopt;
  const z3::expr_vector core = solver.unsat_core();
  std::vector<bool> used(assertions.size());
  for (unsigned i = 0; i < core.size(); ++i) used[std::stoul(core[i].decl().name().str().substr(5))] = true;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) positions.push_back(i);
  }
  return positions;
}

std::filesystem::path find_cvc5() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / "cvc5";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return {};
}

std::vector<std::vector<std::string>> cvc5_answers(const std::filesystem::path& cvc5,
                                                   const std::vector<std::string>& scripts,
                                                   std::chrono::milliseconds timeout) {
  const ScratchFolder folder;
  const std::string input = folder.file("scripts.smt2");
  const std::string output = folder.file("answers");
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
