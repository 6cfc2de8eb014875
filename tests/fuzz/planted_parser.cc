#include <csignal>
#include <string>
#include <vector>

#include "runtime/text/error.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

void read_planted(runtime::ByteView bytes) {
  const std::string_view text = runtime::text_of(bytes);
  const auto has = [&](const char* word) { return text.find(word) != std::string_view::npos; };
  if (has("signal")) std::raise(SIGSEGV);
  if (has("forever")) {
    for (volatile bool always = true; always;) {
    }
  }
  if (has("exception")) throw std::out_of_range("map::at");
  if (has("memory")) std::vector<char>(std::size_t{1} << 40);
  if (has("nameless")) throw runtime::InputError("", "something is wrong");
  if (!text.starts_with("planted")) throw runtime::InputError("fuzzed", "does not begin with 'planted'");
}

}  // namespace

void add_planted_parser(std::vector<Parser>& parsers) {
  parsers.push_back(
      {"planted", "fuzzed", read_planted, "", nullptr, {"signal", "forever", "exception", "memory", "nameless"}, {}});
}

}  // namespace rulemill::fuzz
