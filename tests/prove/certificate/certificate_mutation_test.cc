// Any fault of the prover, of the search for proof steps or of the certificate's parser results in another proof, and
// no proof may be accepted for a false rule. Certificates of false rules, made with all obligations assumed, are
// changed at random lines; Z3 gets the obligations of those that the kernel accepts. Rules are not evaluated here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "check/core_rule.h"
#include "check/proof_text.h"
#include "prove/certificate/certificate.h"
#include "prove/certificate/record_check.h"
#include "prove/solver/z3_session.h"
#include "runtime/text/error.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string text_of_lines(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Claim {
  algebra::Rule rule;
  std::string proof;
};

struct MutationFixture : ProverFixture {
  Z3Session z3;
  std::mt19937_64 random{8};
  std::size_t rejected_as_text = 0, rejected_by_kernel = 0, rejected_by_solver = 0;

  MutationFixture() { library.add(text_of("tests/prove/faults.op"), "tests/prove/faults.op"); }

  /// Returns the rules for which proofs are found.
  std::vector<Claim> claims(const std::vector<algebra::Rule>& of, bool assume_obligations) {
    std::vector<Claim> result;
    for (const algebra::Rule& untyped : of) {
      const algebra::Rule rule = std::get<algebra::TypedRule>(algebra::infer_types(untyped, bank, symbols)).rule;
      std::string reason;
      const auto claimed =
          certify_by_definitions(statement_of(rule, bank, symbols), library, {}, reason, assume_obligations);
      if (claimed) result.push_back({rule, claimed->proof});
    }
    return result;
  }

  /// Returns whether the kernel and Z3 accept the text as a proof of the rule.
  bool is_accepted(const algebra::Rule& rule, const std::string& text) {
    check::Atoms atoms;
    try {
      check::Statement checked(check::to_core(rule, bank, symbols, atoms), atoms);
      const check::Proof proof = check::parse_proof(text, "mutant", 1, checked);
      for (const check::Obligation& obligation : check::check_proof(proof, checked)) {
        if (z3.answer(check::smtlib(obligation, atoms)) == "unsat") continue;
        ++rejected_by_solver;
        return false;
      }
      return true;
    } catch (const check::CheckError&) {
      ++rejected_by_kernel;
    } catch (const runtime::InputError&) {
      ++rejected_as_text;
    }
    return false;
  }

  std::size_t below(std::size_t n) { return random() % n; }

  /// Removes, duplicates or swaps a line, replaces it by a line of another proof, or changes a number or a sign in it.
  std::string mutant(Lines lines, const Lines& others) {
    const std::size_t at = below(lines.size());
    switch (below(6)) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[at]));
        break;
      case 2:
        std::swap(lines[at], lines[below(lines.size())]);
        break;
      case 3:
        lines[at] = others[below(others.size())];
        break;
      default:
        alter(lines[at]);
    }
    return text_of_lines(lines);
  }

 private:
  void alter(std::string& line) {
    Lines changes;
    for (std::size_t i = 0; i < line.size(); ++i) {
      std::string changed = line;
      if (line[i] >= '0' && line[i] <= '9')
        changed[i] = static_cast<char>('0' + (line[i] - '0' + 1 + static_cast<int>(below(2)) * 8) % 10);
      else if (line[i] == '-' || line[i] == '+')
        changed[i] = line[i] == '-' ? '+' : '-';
      else
        continue;
      changes.push_back(std::move(changed));
    }
    if (!changes.empty()) line = changes[below(changes.size())];
  }
};

}  // namespace

TEST_CASE("no changed proof of a false rule is accepted") {
  MutationFixture fixture;
  std::vector<Claim> claims =
      fixture.claims(fixture.rules("tests/prove/false_claims.rules"), /*assume_obligations=*/true);
  for (Claim& claim : fixture.claims(fixture.rules("tests/prove/faults.rules"), /*assume_obligations=*/true))
    claims.push_back(std::move(claim));
  Lines others;
  for (const Claim& claim : claims) {
    for (std::string& line : lines_of(claim.proof)) others.push_back(std::move(line));
  }
  for (const Claim& claim : claims) {
    INFO(claim.rule.id);
    CHECK_FALSE(fixture.is_accepted(claim.rule, claim.proof));
    for (int i = 0; i < 560; ++i) {
      const std::string changed = fixture.mutant(lines_of(claim.proof), others);
      INFO(changed);
      CHECK_FALSE(fixture.is_accepted(claim.rule, changed));
    }
  }
  WARN(claims.size() << " false rules: " << fixture.rejected_as_text << " proofs rejected as text, "
                     << fixture.rejected_by_kernel << " by the kernel, " << fixture.rejected_by_solver << " by Z3");
  CHECK(claims.size() >= 20);
  CHECK(fixture.rejected_by_kernel > 5000);
  CHECK(fixture.rejected_by_solver > 1500);
}

TEST_CASE("the proofs of true rules are accepted") {
  MutationFixture fixture;
  const std::vector<Claim> claims = fixture.claims(
      {fixture.rule("rule once(x[n])\n  relu(relu(x)) => relu(x)"),
       fixture.rule("rule exchanged(x[m, k], y[k, n])\n  transpose(matmul(x, y); perm=[1, 0]) => "
                    "matmul(transpose(y; perm=[1, 0]), transpose(x; perm=[1, 0]))"),
       fixture.rule("rule blocks(x[n, k], y[n, l], z[k, m], u[l, m])\n  add(matmul(x, z), matmul(y, u)) => "
                    "matmul(concat(x, y; axis=1), concat(z, u; axis=0))")},
      /*assume_obligations=*/false);
  CHECK(claims.size() == 3);
  for (const Claim& claim : claims) {
    INFO(claim.rule.id);
    CHECK(fixture.is_accepted(claim.rule, claim.proof));
  }
}

TEST_CASE("evaluation shows that an overgeneralized rule is false") {
  const char* false_rules[] = {
      // True for a kernel of 1.
      "rule kernel(x[n, c, h, w])\n  avg_pool(avg_pool(x; kernel=k); kernel=k) => avg_pool(x; kernel=k)",
      // True for a stride of 3.
      "rule stride(x[n, c, h, w])\n  max_pool(x; kernel=3, stride=t) => max_pool(x; kernel=t, stride=t)",
      // True where a = c and b = d, but a · b = c · d does not imply that.
      R"(rule factors(x[a, b])
           reshape(transpose(x; perm=[1, 0]); e=[a*b]) => reshape(transpose(reshape(x; e=[c, d]); perm=[1, 0]); e=[a*b])
           when a*b = c*d)",
  };
  for (const std::string text : false_rules) {
    INFO(text);
    MutationFixture fixture;
    const auto types = algebra::infer_types(fixture.rule(text), fixture.bank, fixture.symbols);
    REQUIRE(std::holds_alternative<algebra::TypedRule>(types));
    CHECK(evaluate_at_samples(std::get<algebra::TypedRule>(types).rule, fixture.bank, fixture.symbols, 1).difference);
  }
}
