// Certificates of derived rules: the instances as text, and the ground equations that they are, for a solver with
// uninterpreted functions.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "algebra/language/poly_parse.h"
#include "algebra/terms/equal_products.h"
#include "algebra/terms/rule_text.h"
#include "egraph/check_instances.h"
#include "prove/certificate/certificate.h"
#include "runtime/error.h"

namespace rulemill::prove {

using algebra::Poly;
using algebra::Rule;
using algebra::TermId;
using runtime::InputError;

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The parts between separators that stand outside all brackets.
std::vector<std::string> split_outside(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  std::erase(parts, "");
  return parts;
}

std::pair<std::string, std::string> definition_in(const std::string& part) {
  const std::size_t sign = part.find(":=");
  if (sign == std::string::npos) throw InputError("instance", "expected 'name := value', found '" + part + "'");
  return {trimmed(part.substr(0, sign)), trimmed(part.substr(sign + 2))};
}

/// A goal, the rules that it cites and their instances, all in terms and sizes of its own.
class DerivationText {
 public:
  DerivationText(const std::string& statement, const std::vector<std::string>& uses,
                 const std::map<std::string, std::string>& cited, algebra::Library& library)
      : library_(library), bank_(library), statement_(statement), stated_(statement) {
    goal_ = typed(statement);
    if (auto dealt_out = algebra::with_equal_products_dealt_out(goal_, bank_, symbols_)) {
      goal_ = std::move(*dealt_out);
      stated_ = statement_of(goal_.rule, bank_, symbols_);
    }
    for (const std::string& use : uses) read(use, cited);
  }

  std::optional<std::string> check() { return egraph::check_instances(goal_, instances_, rules_, bank_, symbols_); }

  CertificateText certificate() const {
    return without_proof(algebra::Certificate::Kind::Derivation, statement_, goal_.rule, bank_);
  }

  /// Declarations, the instances' equations, those of commutative nodes, and the goal's negation.
  std::string script() {
    std::string equations;
    for (const egraph::RuleInstance& instance : instances_) {
      const Rule& rule = rules_[instance.rule].rule;
      std::unordered_map<TermId, TermId> terms;
      for (std::size_t v = 0; v < rule.variables.size(); ++v) terms[rule.variables[v]] = instance.variables[v];
      const algebra::Substitution sizes(instance.sizes.begin(), instance.sizes.end());
      const std::vector<TermId> source = bank_.substitute(rule.source, terms, sizes, symbols_);
      const std::vector<TermId> target = bank_.substitute(rule.target, terms, sizes, symbols_);
      for (std::size_t i = 0; i < source.size(); ++i) {
        equations += "(assert (= " + text(source[i]) + " " + text(target[i]) + "))\n";
      }
    }
    std::string goal = "(assert (not (and true";
    for (std::size_t i = 0; i < goal_.rule.source.size(); ++i) {
      goal += " (= " + text(goal_.rule.source[i]) + " " + text(goal_.rule.target[i]) + ")";
    }
    std::string script = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n" + declarations_ + equations;
    for (const std::string& swap : swaps_) script += swap + "\n";
    return script + goal + ")))\n(check-sat)\n";
  }

 private:
  algebra::TypedRule typed(const std::string& text) {
    const std::vector<Rule> rules = algebra::parse_rules(text, "statement", library_, bank_, symbols_);
    if (rules.size() != 1) throw InputError("statement", "expected one rule");
    auto result = algebra::infer_types(rules[0], bank_, symbols_);
    if (const auto* error = std::get_if<algebra::TypeError>(&result)) throw InputError("statement", error->what);
    return std::move(std::get<algebra::TypedRule>(result));
  }

  /// "rule: x := term, …; m := size, …"
  void read(const std::string& use, const std::map<std::string, std::string>& cited) {
    const std::size_t colon = use.find(':');
    const std::string name = use.substr(0, colon);
    const auto rule_text = cited.find(name);
    if (colon == std::string::npos || rule_text == cited.end()) {
      throw InputError("instance", "'" + name + "' is no rule that is proved from the definitions");
    }
    const auto [number, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(rules_.size()));
    if (is_new) rules_.push_back(typed(rule_text->second));
    const Rule& rule = rules_[number->second].rule;
    const std::vector<std::string> halves = split_outside(use.substr(colon + 1), ';');
    egraph::RuleInstance instance{number->second, {}, {}};
    if (!rule.variables.empty()) instance.variables = terms(rule, halves.empty() ? "" : halves[0]);
    if (halves.size() > (rule.variables.empty() ? 0 : 1)) {
      for (const std::string& part : split_outside(halves.back(), ',')) {
        const auto [size, value] = definition_in(part);
        instance.sizes.emplace_back(symbols_.size(size), algebra::parse_poly(value, "instance", symbols_));
      }
    }
    std::ranges::sort(instance.sizes);
    instances_.push_back(std::move(instance));
  }

  /// The terms for the rule's variables, in the rule's order: read as the outputs of a rule over the goal's variables.
  std::vector<TermId> terms(const Rule& rule, const std::string& list) {
    std::map<std::string, std::string> values;
    for (const std::string& part : split_outside(list, ',')) values.insert(definition_in(part));
    std::string outputs;
    for (const TermId variable : rule.variables) {
      const auto value = values.find(bank_.term(variable).name);
      if (value == values.end()) throw InputError("instance", "no term for " + bank_.term(variable).name);
      outputs += (outputs.empty() ? "" : ", ") + value->second;
    }
    const std::string head = stated_.substr(0, stated_.find('\n'));
    return algebra::parse_rules(head + "\n" + outputs + " => " + outputs, "instance", library_, bank_, symbols_)
        .at(0)
        .source;
  }

  /// A generated name for what `key` stands for: a variable, or an operator instance with its sizes and output.
  std::string name(const std::string& key, std::size_t arity) {
    const auto [found, is_new] = names_.try_emplace(key, "f" + std::to_string(names_.size()));
    if (is_new) {
      std::string domain;
      for (std::size_t i = 0; i < arity; ++i) domain += (i == 0 ? "" : " ") + std::string("Tensor");
      declarations_ += "(declare-fun " + found->second + " (" + domain + ") Tensor)\n";
    }
    return found->second;
  }

  std::string text(TermId id) {
    const algebra::Term& term = bank_.term(id);
    if (term.is_variable) return name("variable " + term.name, 0);
    const algebra::Node node = bank_.node(term.node);
    const algebra::Instance& instance = library_.instance(node.instance);
    std::string key = "operator " + instance.name;
    for (const Poly& size : node.sizes) key += ", " + symbols_.to_string(size);
    const std::string function = name(key + " output " + std::to_string(term.output), node.arguments.size());
    if (node.arguments.empty()) return function;
    std::vector<std::string> arguments;
    for (const TermId argument : node.arguments) arguments.push_back(text(argument));
    std::string applied = "(" + function;
    for (const std::string& argument : arguments) applied += " " + argument;
    applied += ")";
    if (instance.commutative && arguments[0] != arguments[1]) {
      swaps_.insert("(assert (= " + applied + " (" + function + " " + arguments[1] + " " + arguments[0] + ")))");
    }
    return applied;
  }

  algebra::Library& library_;
  algebra::TermBank bank_;
  algebra::Symbols symbols_;
  const std::string& statement_;
  std::string stated_;  // as it is derived
  algebra::TypedRule goal_;
  std::vector<algebra::TypedRule> rules_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<egraph::RuleInstance> instances_;
  std::map<std::string, std::string> names_;
  std::string declarations_;
  std::set<std::string> swaps_;
};

}  // namespace

CertificateText certify_by_instances(const std::string& statement, const std::vector<std::string>& uses,
                                     const std::map<std::string, std::string>& cited, algebra::Library& library) {
  CertificateText certificate = DerivationText(statement, uses, cited, library).certificate();
  certificate.uses = uses;
  return certificate;
}

std::string derivation_script(const std::string& statement, const std::vector<std::string>& uses,
                              const std::map<std::string, std::string>& cited, algebra::Library& library) {
  return DerivationText(statement, uses, cited, library).script();
}

std::optional<std::string> check_uses(const std::string& statement, const std::vector<std::string>& uses,
                                      const std::map<std::string, std::string>& cited, algebra::Library& library) {
  return DerivationText(statement, uses, cited, library).check();
}

}  // namespace rulemill::prove
