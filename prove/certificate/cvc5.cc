#include "prove/certificate/cvc5.h"

#include <fstream>

#include "runtime/text/error.h"

namespace rulemill::prove {

namespace {

constexpr const char* query_separator = "-- next --";
constexpr const char* input_file = "scripts.smt2";
constexpr const char* output_file = "answers";

std::vector<std::string> read_lines(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::filesystem::path find_cvc5() {
  std::filesystem::path packed = runtime::current_executable().parent_path() / "cvc5";
  return std::filesystem::exists(packed) ? packed : runtime::find_program("cvc5");
}

Cvc5Run::Cvc5Run(const std::filesystem::path& cvc5, const std::vector<std::string>& scripts)
    : scripts_(scripts.size()), process_([&] {
        const std::string input = (folder_ / input_file).string();
        std::ofstream file(input);
        for (const std::string& script : scripts)
          file << "(reset)\n" << script << "(echo \"" << query_separator << "\")\n";
        if (!file.flush()) throw runtime::IoError(input, "cannot be written");
        // A Subprocess's stdout carries frames, so the shell redirects cvc5's output to a file.
        return std::vector<std::string>{
            "/bin/sh",     "-c",  R"(exec "$0" --incremental --lang=smt2 --tlimit-per=20000 "$1" > "$2")",
            cvc5.string(), input, (folder_ / output_file).string()};
      }()) {}

std::vector<std::vector<std::string>> Cvc5Run::answers(std::chrono::milliseconds timeout) {
  process_.receive(timeout);
  if (process_.end_reason().starts_with("time limit")) throw runtime::Error("cvc5", process_.end_reason());
  std::ifstream file(folder_ / output_file);
  std::vector<std::vector<std::string>> answers(1);
  for (const std::string& line : read_lines(file)) {
    if (line == query_separator || line == "\"" + std::string(query_separator) + "\"")
      answers.emplace_back();
    else
      answers.back().push_back(line);
  }
  answers.resize(scripts_);
  return answers;
}

double Cvc5Run::seconds() const {
  const auto written = [&](const char* file) { return std::filesystem::last_write_time(folder_ / file); };
  return std::chrono::duration<double>(written(output_file) - written(input_file)).count();
}

}  // namespace rulemill::prove
