// Texts that users write: definitions, profiles, rules, polynomials of sizes.
#include "algebra/language/poly_parser.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "enumerate/profile/profile_reader.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

using algebra::Library;
using runtime::ByteView;
using runtime::text_of;

void read_definitions(ByteView bytes) {
  Library library;
  library.add(text_of(bytes), "fuzzed.op");
  library.digest();
}

void read_profile(ByteView bytes) { enumerate::parse_profile(text_of(bytes), "fuzzed.toml", shipped()); }

/// Parses and types rules; the text of a typed rule must be accepted, too.
void read_rules(ByteView bytes) {
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  for (const algebra::Rule& rule : algebra::parse_rules(text_of(bytes), "fuzzed.rules", shipped(), bank, symbols)) {
    const auto types = algebra::infer_types(rule, bank, symbols);
    if (const auto* typed = std::get_if<algebra::TypedRule>(&types)) {
      const std::string text = algebra::to_string(typed->rule, bank, symbols);
      algebra::parse_rules(text, "reread", shipped(), bank, symbols);
    }
  }
}

void read_imported_rules(ByteView bytes) {
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  algebra::parse_imported_rules(text_of(bytes), "fuzzed.rules", shipped(), bank, symbols);
}

void read_sizes(ByteView bytes) {
  algebra::Symbols symbols;
  const algebra::Poly poly = algebra::parse_poly(text_of(bytes), "fuzzed", symbols);
  algebra::parse_poly(symbols.to_string(poly), "reread", symbols);
}

const std::vector<std::string> definition_words = {
    "operator", "function",    "law",   "include", "where",      "let",         "tensor",  "onnx",
    "is",       "commutative", "sum(",  "max(",    "if",         "else",        "and",     "with",
    "at",       "except",      "rank",  "size",    "sizes",      "permutation", "//",      "%",
    "d...",     "i...",        "< n",   "[",       "]",          "{",           "}",       "(",
    ")",        "default",     "since", "until",   "activation", "optional",    "outputs", "any",
    "const [",  "= 1",         "/ 0",   "% 0",     "// n",       "min(n, m)"};
const std::vector<std::string> rule_words = {
    "rule", "property", "let",     "when",   "=>",      "=",       "x:4",       "x[n, 2*m]", "; axis=0",
    "at=?", ".first",   "concat(", "split(", "conv2d(", "matmul(", "div(n, m)", "mod(n, 2)", "min(n, m)",
    "!=",   "<=",       ")",       "(",      ",",       "n*n*n",   "d=[?, ?]"};

}  // namespace

void add_language_parsers(std::vector<Parser>& parsers) {
  parsers.push_back({"definitions", "fuzzed.op", read_definitions, "", nullptr, definition_words, {}});
  parsers.push_back(
      {"profiles",
       "fuzzed.toml",
       read_profile,
       "",
       nullptr,
       {"[[variables]]", "[[operators]]", "[[constants]]", "names = [", "shape = [", "operator = ", "\"*\"", "\"...\"",
        "\"!2\"", "parameters = {", "ranks = [", "max_ops = ", "seed = ", "roles = ["},
       {"data/profiles/quickstart.toml", "tests/cli/small.toml"}});
  parsers.push_back({"rules", "fuzzed.rules", read_rules, "", nullptr, rule_words, {"data/properties"}});
  parsers.push_back(
      {"imported_rules", "fuzzed.rules", read_imported_rules, "", nullptr, rule_words, {"tests/corpus/rules"}});
  parsers.push_back(
      {"sizes", "fuzzed", read_sizes, "", nullptr, {"div(", "mod(", "min(", "max(", "n", "*", "+", "-", ")"}, {}});
}

}  // namespace rulemill::fuzz
