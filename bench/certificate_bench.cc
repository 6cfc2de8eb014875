// Times the search for proof steps: certificate_bench RULES.rules [rule...]. Prints the slowest rules, and those
// without a proof with the reason.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "algebra/terms/rule_text.h"
#include "prove/certificate/certificate.h"
#include "runtime/files/atomic_file.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

using namespace rulemill;

namespace {

struct Timed {
  double milliseconds = 0;
  std::string rule;
};

int run(const std::string& path, const std::vector<std::string>& chosen) {
  algebra::Library library = algebra::Library::load("data/operators");
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  std::vector<Timed> times;
  std::size_t bytes = 0;
  for (const algebra::Rule& rule : algebra::parse_rules(runtime::read_file(path), path, library, bank, symbols)) {
    if (!chosen.empty() && std::ranges::find(chosen, rule.id) == chosen.end()) continue;
    const std::string statement = prove::statement_of(rule, bank, symbols);
    std::string reason;
    const runtime::Stopwatch watch;
    const auto certificate = prove::certify_by_definitions(statement, library, {}, reason);
    times.push_back({1e3 * watch.seconds(), rule.id});
    if (certificate)
      bytes += to_string(*certificate).size();
    else
      std::printf("%s: %s\n", rule.id.c_str(), reason.substr(0, 160).c_str());
  }
  if (times.empty()) throw runtime::InputError(path, "has none of these rules");
  std::ranges::sort(times, std::ranges::greater(), &Timed::milliseconds);
  double total = 0;
  for (const Timed& timed : times) total += timed.milliseconds;
  std::printf("%zu rules, %.0f ms, %.2f ms per rule, median %.2f; %zu bytes; slowest:", times.size(), total,
              total / static_cast<double>(times.size()), times[times.size() / 2].milliseconds, bytes);
  for (std::size_t i = 0; i < std::min<std::size_t>(8, times.size()); ++i)
    std::printf(" %s %.0f", times[i].rule.c_str(), times[i].milliseconds);
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw runtime::UsageError("", "usage: certificate_bench RULES.rules [rule...]");
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const runtime::Error& error) {
    std::fprintf(stderr, "certificate_bench: %s\n", error.what());
    return 1;
  }
}
