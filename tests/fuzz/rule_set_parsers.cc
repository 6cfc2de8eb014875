// Rules in files of bytes: the database, TASO's form, certificates.
#include "algebra/exchange/foreign_rules.h"
#include "algebra/rules/rule_set.h"
#include "algebra/rules/rule_set_format.h"
#include "algebra/terms/typing.h"
#include "prove/certificate/certificate.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

using runtime::ByteView;
using runtime::text_of;

algebra::Library& shipped() {
  static algebra::Library library = algebra::Library::load("data/operators");
  return library;
}

void read_database(ByteView bytes) {
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  algebra::parse_rule_set(text_of(bytes), "fuzzed.rmdb", shipped(), bank, symbols);
}

/// The database with the digests and the checksum that its reader expects, so that the rules are reached.
std::string seal_database(const std::string& bytes) {
  proto::RuleSet rules;
  if (!rules.ParsePartialFromString(bytes)) return bytes;
  for (proto::OperatorDigest& entry : *rules.mutable_provenance()->mutable_operators()) {
    if (shipped().has_operator(entry.name())) entry.set_digest(shipped().digest(entry.name()));
  }
  rules.clear_checksum();
  std::string content;
  rules.SerializePartialToString(&content);
  return content + algebra::checksum_field(content);
}

void read_taso_rules(ByteView bytes) {
  static const auto table = algebra::TasoTable::load("data/imports/taso.toml", shipped());
  algebra::TermBank bank(shipped());
  algebra::Symbols symbols;
  for (const auto& rule : algebra::parse_taso_rules(text_of(bytes), "fuzzed.pb", table, shipped(), bank, symbols)) {
    if (rule.rule) algebra::infer_types(*rule.rule, bank, symbols);
  }
}

void read_certificate(ByteView bytes) { prove::to_string(prove::parse_certificate(text_of(bytes), "fuzzed.smt2")); }

}  // namespace

void add_rule_set_parsers(std::vector<Parser>& parsers) {
  parsers.push_back({"database", "fuzzed.rmdb", read_database, "rulemill.proto.RuleSet", seal_database, {}, {}});
  parsers.push_back({"taso", "fuzzed.pb", read_taso_rules, "rulemill.taso.RuleCollection", nullptr, {}, {}});
  parsers.push_back({"certificates",
                     "fuzzed.smt2",
                     read_certificate,
                     "",
                     nullptr,
                     {"(assert ", "(check-sat)", "(push 1)", "(pop 1)", "(declare-const k0 Int)", "; ", "|", "\n", ")",
                      "(set-option", "(exit)", "(reset)", "rule r(x[n])", "=>"},
                     {}});
}

}  // namespace rulemill::fuzz
