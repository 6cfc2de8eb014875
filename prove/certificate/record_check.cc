#include "prove/certificate/record_check.h"

#include "algebra/terms/dimension_packs.h"
#include "algebra/terms/rule_text.h"
#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/term_scope.h"
#include "prove/refuter/size_sampler.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/byte_lists.h"
#include "runtime/text/error.h"

namespace rulemill::prove {

using algebra::Certificate;
using algebra::Rule;
using algebra::RuleRecord;

CheckCounts& CheckCounts::operator+=(const CheckCounts& other) {
  by_definitions += other.by_definitions;
  by_derivation += other.by_derivation;
  obligations += other.obligations;
  identities += other.identities;
  without_obligations += other.without_obligations;
  assuming_laws += other.assuming_laws;
  evaluated += other.evaluated;
  seconds_kernel += other.seconds_kernel;
  seconds_evaluate += other.seconds_evaluate;
  seconds_z3 += other.seconds_z3;
  return *this;
}

std::optional<std::string> find_wrong_answer(const RecordCheck::Script& script, const std::vector<std::string>& answers,
                                             const std::string& solver) {
  if (answers == std::vector<std::string>{"unsat"}) return std::nullopt;
  const std::string answer = answers.empty() ? "nothing" : "'" + answers[0] + "'";
  return "not confirmed by " + solver + ", which answers " + answer + ": " + script.claim + " (" +
         script.text.substr(0, script.text.find('\n')) + ")";
}

check::Evaluation evaluate_at_samples(const Rule& rule, algebra::TermBank& bank, algebra::Symbols& symbols,
                                      std::uint64_t seed) {
  return check::evaluate(rule, bank, symbols, sample_sizes_by_name(rule, bank, symbols, seed), seed);
}

namespace {

class RecordChecker {
 public:
  RecordChecker(const RuleRecord& record, const PremiseStatements& premises, algebra::Library& library,
                algebra::TermBank& bank, algebra::Symbols& symbols, Z3Session& z3, const RecordCheckOptions& options)
      : record_(record),
        rule_(record.rule),
        premises_(premises),
        library_(library),
        bank_(bank),
        symbols_(symbols),
        z3_(z3),
        options_(options) {}

  RecordCheck run() {
    try {
      check_rule();
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      add_finding(error.what());
    } catch (const check::CheckError& error) {
      add_finding(error.what);
    }
    return std::move(result_);
  }

 private:
  void add_finding(std::string what) { result_.findings.push_back(std::move(what)); }

  void check_rule() {
    if (auto wrong = algebra::find_typing_error(rule_, bank_, symbols_)) return add_finding(*wrong);
    if (record_.certificate.kind == Certificate::Kind::None) return add_finding("has no certificate");
    const CertificateText certificate = parse_certificate(record_.certificate.text, "certificate of " + rule_.id);
    if (certificate.kind != record_.certificate.kind)
      return add_finding("its certificate is of another kind than the rule's record says");
    if (!is_statement_of(certificate.statement, rule_, library_, bank_, symbols_))
      return add_finding("its certificate states another rule");
    if (to_string(certificate) != record_.certificate.text)
      return add_finding("malformed certificate: unexpected content");
    if (certificate.definitions != definition_digests(rule_, bank_))
      return add_finding("its certificate is about other definitions than those of its operators");
    result_.counts.assuming_laws += certificate.assumed.empty() ? 0 : 1;
    const check::Evaluation evaluation = evaluate(rule_);
    if (evaluation.evaluated > 0)
      ++result_.counts.evaluated;
    else
      add_finding("it was not evaluated: " + evaluation.obstacle);
    if (evaluation.difference) add_finding(*evaluation.difference);
    if (auto wrong = evaluate_at_other_ranks(rule_)) add_finding(*wrong);
    if (certificate.kind == Certificate::Kind::Definitions) {
      ++result_.counts.by_definitions;
      check_proof(certificate);
    } else {
      ++result_.counts.by_derivation;
      check_derivation(certificate);
    }
  }

  check::Evaluation evaluate(const Rule& rule) {
    const runtime::ScopedStopwatch watch(result_.counts.seconds_evaluate);
    return evaluate_at_samples(rule, bank_, symbols_, options_.seed);
  }

  /// Evaluates the rule with each dimension pack expanded to 0, 2 and 3 dimensions. Whether a dimension is a pack
  /// follows from the definitions, not from the rule.
  std::optional<std::string> evaluate_at_other_ranks(const Rule& rule) {
    for (const algebra::Atom pack : rule.packs) {
      for (const std::uint32_t rank : {0, 2, 3}) {
        const auto other = algebra::expand_pack(rule, pack, rank, library_, bank_, symbols_);
        const std::string what = symbols_.name(pack) + "... as " + std::to_string(rank) + " dimensions";
        if (!other && rank > 0) return what + ": an operator does more than pass it through";
        if (!other) continue;
        if (auto wrong = evaluate(*other).difference) return what + ": " + *wrong;
      }
    }
    return std::nullopt;
  }

  /// Checks the proof against the rule itself; obligations are rebuilt, not read from the certificate. In a bank of its
  /// own the rule has its arguments in the order for which it was proved: a bank puts those that differ in sizes alone
  /// in the order in which it got them.
  void check_proof(const CertificateText& certificate) {
    if (certificate.proof.starts_with(no_proof))
      return add_finding("proved, but the certificate has no checkable proof");
    ObligationScripts checked;
    {
      const runtime::ScopedStopwatch watch(result_.counts.seconds_kernel);
      algebra::TermBank bank(library_);
      algebra::Symbols symbols;
      check::Atoms atoms;
      const Rule rule = algebra::parse_rule(certificate.statement, "statement", library_, bank, symbols);
      const check::Statement statement(check::to_core(rule, bank, symbols, atoms), atoms);
      const check::Proof proof =
          check::parse_proof(certificate.proof, "certificate of " + rule_.id, certificate.proof_line, statement);
      if (check::to_string(proof, statement) != certificate.proof)
        return add_finding("malformed certificate: unexpected content");
      if (certificate.assumed != assumed_laws(rule_, bank_, proof))
        return add_finding("its certificate assumes other laws than its proof");
      checked.add(check::check_proof(proof, statement), atoms);
      result_.counts.obligations += checked.scripts.size();
      result_.counts.identities += checked.trivial;
      result_.counts.without_obligations += checked.scripts.empty() ? 1 : 0;
    }
    for (const std::string& script : checked.scripts) confirm({"an obligation", script});
  }

  void check_derivation(const CertificateText& certificate) {
    if (certificate.proof.starts_with(no_proof))
      return add_finding("derived, but the certificate has no checkable proof");
    ObligationScripts checked;
    {
      const runtime::ScopedStopwatch watch(result_.counts.seconds_kernel);
      if (!premises_.error.empty()) return add_finding(premises_.error);
      checked = check_derivation_certificate(certificate, premises_.statements, library_);
      result_.counts.obligations += checked.scripts.size() - 1;
      result_.counts.identities += checked.trivial;
    }
    for (std::size_t i = 0; i < checked.scripts.size(); ++i)
      confirm({i == 0 ? "the rule instances imply the rule" : "the rule instances are valid", checked.scripts[i]});
  }

  void confirm(RecordCheck::Script script) {
    {
      const runtime::ScopedStopwatch watch(result_.counts.seconds_z3);
      auto wrong = find_wrong_answer(script, {z3_.answer(script.text)}, "Z3");
      // A finding must not depend on the scripts that the session ran before.
      if (wrong) wrong = find_wrong_answer(script, {Z3Session().answer(script.text)}, "Z3");
      runtime::throw_if_interrupted("check");
      if (wrong) add_finding(std::move(*wrong));
    }
    if (options_.keeps_scripts) result_.scripts.push_back(std::move(script));
  }

  const RuleRecord& record_;
  const Rule& rule_;
  const PremiseStatements& premises_;
  algebra::Library& library_;
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  Z3Session& z3_;
  const RecordCheckOptions& options_;
  RecordCheck result_;
};

}  // namespace

PremiseStatements find_premises(const Certificate& certificate, PremiseRules& rules) {
  PremiseStatements premises;
  if (certificate.kind != Certificate::Kind::Derivation) return premises;
  try {
    premises.statements = rules.statements_for(parse_certificate(certificate.text, "certificate").rule_instances);
  } catch (const runtime::Error& error) {
    premises.error = error.what();
  }
  return premises;
}

RecordCheck check_record(const RuleRecord& record, const PremiseStatements& premises, algebra::Library& library,
                         algebra::TermBank& bank, algebra::Symbols& symbols, Z3Session& z3,
                         const RecordCheckOptions& options) {
  const TermScope scope(bank, symbols);
  return RecordChecker(record, premises, library, bank, symbols, z3, options).run();
}

std::string pack(const RecordCheckRequest& request) {
  std::vector<std::string> statements;  // names and statements alternate
  for (const auto& [name, statement] : request.premises.statements)
    statements.insert(statements.end(), {name, statement});
  return runtime::pack_fields(request.rule.place, request.rule.bytes, request.rule.digested, statements,
                              request.premises.error, request.options.seed, request.options.keeps_scripts);
}

namespace {

RecordCheckRequest unpack_record_request(std::string_view packed) {
  RecordCheckRequest request;
  std::vector<std::string> statements;
  runtime::unpack_fields(packed, request.rule.place, request.rule.bytes, request.rule.digested, statements,
                         request.premises.error, request.options.seed, request.options.keeps_scripts);
  for (std::size_t i = 0; i + 1 < statements.size(); i += 2)
    request.premises.statements.emplace(statements[i], statements[i + 1]);
  return request;
}

}  // namespace

std::string pack(const RecordCheck& check) {
  std::vector<std::string> scripts;  // claims and texts alternate
  for (const auto& [claim, text] : check.scripts) scripts.insert(scripts.end(), {claim, text});
  return runtime::pack_fields(check.malformed, check.findings, scripts, check.counts);
}

RecordCheck unpack_record_check(std::string_view packed) {
  RecordCheck check;
  std::vector<std::string> scripts;
  runtime::unpack_fields(packed, check.malformed, check.findings, scripts, check.counts);
  for (std::size_t i = 0; i + 1 < scripts.size(); i += 2) check.scripts.push_back({scripts[i], scripts[i + 1]});
  return check;
}

std::string check_stored_record(std::string_view packed_request, algebra::Library& library, Z3Session& z3) {
  const RecordCheckRequest request = unpack_record_request(packed_request);
  algebra::TermBank bank(library);
  algebra::Symbols symbols;
  RuleRecord record;
  try {
    record = algebra::parse_stored_rule(request.rule, library, bank, symbols);
  } catch (const runtime::InputError& error) {
    RecordCheck check;
    check.malformed = error.what();
    return pack(check);
  }
  return pack(check_record(record, request.premises, library, bank, symbols, z3, request.options));
}

}  // namespace rulemill::prove
