// Writes and reads proofs as text. This is not trusted: a proof that is misread is checked like any other.
#include "check/proof_text.h"

#include <algorithm>
#include <charconv>

#include "algebra/sizes/checked.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using runtime::InputError;
using Op = Step::Op;

namespace {

constexpr std::size_t any_number = 0;

/// The word of a step, and how many positions follow it. A step on a maximum has one more.
struct StepSyntax {
  const char* word;
  std::size_t positions;
};
/// In the order of Step::Op.
constexpr StepSyntax step_syntax[] = {{"drop", 1},
                                      {"set", 1},
                                      {"split", 1},
                                      {"map", 1},
                                      {"add_guard", 1},
                                      {"drop_guard", 2},
                                      {"index", 3},
                                      {"within", 3},
                                      {"same", 6},
                                      {"zero", 2},
                                      {"idempotent", 2},
                                      {"commute", 2},
                                      {"instantiate_max", 2},
                                      {"cancel", any_number},
                                      {"new_index", 1},
                                      {"project", 1},
                                      {"count_range", 1},
                                      {"expand", 2},
                                      {"cancel_reciprocal", 3},
                                      {"constant", 2},
                                      {"scale", 2},
                                      {"split_exp", 3},
                                      {"merge_exp", 3},
                                      {"monotone", 2},
                                      {"flatten", 2},
                                      {"collect_terms", 2},
                                      {"order", any_number},
                                      {"parity", 2},
                                      {"cancel_sum", 2},
                                      {"logarithm", 2},
                                      {"root", 4},
                                      {"root_of_exp", 2},
                                      {"log_scale", 3},
                                      {"compare", 2},
                                      {"shift", 4},
                                      {"divide_max", 2},
                                      {"unfold", 2}};
constexpr const char* definedness_words[] = {"signs", "signs at points", "empty", "split", "from", "opposite"};
constexpr const char* domain_words[] = {"domain of source", "domain of target"};
constexpr int max_depth = 50;

bool can_target_maximum(Op op) {
  return op == Op::Set || op == Op::Map || op == Op::AddGuard || op == Op::DropGuard || op == Op::NewIndex ||
         op == Op::Project;
}
bool has_point(Op op) { return op == Op::InstantiateMax || op == Op::Monotone || op == Op::Flatten; }
bool has_condition(DefinednessProof::Kind kind) {
  return kind == DefinednessProof::Kind::Equality || kind == DefinednessProof::Kind::Parity;
}
bool has_block(Op op) { return op == Op::Within || op == Op::Same || op == Op::CancelSum || op == Op::Root; }

std::string list(const std::vector<std::pair<Atom, Poly>>& images, const Atoms& atoms) {
  std::string text;
  for (const auto& [atom, image] : images)
    text += (text.empty() ? "" : "; ") + atoms.text(Poly(atom)) + " := " + atoms.text(image);
  return text;
}

void write(const std::vector<ProductLemma>& lemmas, const std::string& indent, const Atoms& atoms, std::string& text) {
  for (const auto& [a, b] : lemmas) text += indent + "times " + atoms.text(a) + "; " + atoms.text(b) + "\n";
}

void write(const std::vector<Step>& steps, const std::string& indent, const Atoms& atoms, std::string& text) {
  for (const Step& step : steps) {
    text += indent + to_string(step, atoms) + "\n";
    write(step.lemmas, indent + " ", atoms, text);
    if (!has_block(step.op)) continue;
    write(step.block, indent + " ", atoms, text);
    text += indent + "end\n";
  }
}

void write(const DefinednessProof& proof, const std::string& indent, const Atoms& atoms, std::string& text) {
  text += indent + definedness_words[static_cast<std::size_t>(proof.kind)];
  if (proof.kind == DefinednessProof::Kind::Split) text += ": " + atoms.text(*proof.guard);
  if (has_condition(proof.kind))
    text += " " + std::to_string(proof.condition) + (proof.images.empty() ? "" : ": ") + list(proof.images, atoms);
  text += "\n";
  write(proof.lemmas, indent + " ", atoms, text);
  for (const DefinednessProof& part : proof.cases) write(part, indent + " ", atoms, text);
  for (const std::vector<Step>& steps : proof.argument_steps) {
    text += indent + "argument\n";
    write(steps, indent + " ", atoms, text);
    text += indent + "end\n";
  }
}

}  // namespace

std::string to_string(const Step& step, const Atoms& atoms) {
  std::string text =
      std::string(step_syntax[static_cast<std::size_t>(step.op)].word) + (step.targets_maximum ? "max" : "");
  for (const std::size_t position : step.positions) text += " " + std::to_string(position);
  if (step.atom) text += ": " + atoms.text(Poly(*step.atom)) + " := " + atoms.text(step.polys.at(0));
  if (step.op == Op::CountRange) text += "; " + atoms.text(step.polys.at(1));
  if (step.guard) text += ": " + atoms.text(*step.guard);
  if (step.op == Op::DivideMax) {
    for (const Poly& value : step.polys) text += "; " + atoms.text(value);
  }
  if (step.op == Op::Map) text += ": " + list(step.images, atoms) + " <- " + list(step.inverse, atoms);
  if (step.op == Op::Project) text += ": " + list(step.images, atoms);
  if (step.op == Op::Index || has_point(step.op)) {
    text += ":";
    for (std::size_t i = 0; i < step.polys.size(); ++i) text += (i == 0 ? " " : "; ") + atoms.text(step.polys[i]);
  }
  return text;
}

std::string to_string(const Proof& proof, const Atoms& atoms) {
  std::string text = "typing\n";
  write(proof.lemmas, " ", atoms, text);
  for (const OutputProof& output : proof.outputs) {
    text += "output\n";
    for (const std::string& product : output.normal_form) text += " from " + product + "\n";
    write(output.steps, " ", atoms, text);
  }
  for (std::size_t side = 0; side < proof.domains.size(); ++side) {
    if (!proof.domains[side].empty()) text += std::string(domain_words[side]) + "\n";
    for (const auto& [condition, definedness] : proof.domains[side]) {
      text += " demand " + condition + "\n";
      write(definedness, "  ", atoms, text);
    }
  }
  return text;
}

namespace {

/// A reader that consumes lines in order.
class ProofReader {
 public:
  ProofReader(std::string_view text, const std::string& origin, std::size_t first, Atoms& atoms)
      : origin_(origin), line_(first), atoms_(atoms) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  Proof read() {
    try {
      return read_proof();
    } catch (const algebra::Overflow& overflow) {
      fail(overflow.what());
    }
  }

 private:
  Proof read_proof() {
    Proof proof;
    if (!take_word("typing")) fail("expected 'typing'");
    read_lemmas(proof.lemmas);
    while (take_word("output")) {
      OutputProof& output = proof.outputs.emplace_back();
      for (std::string_view rest; take_prefix("from ", rest);) output.normal_form.emplace_back(rest);
      read_steps(output.steps, 0);
    }
    for (std::size_t side = 0; side < proof.domains.size(); ++side) {
      if (!take_word(domain_words[side])) continue;
      for (std::string_view rest; take_prefix("demand ", rest);)
        proof.domains[side].push_back({std::string(rest), read_definedness_proof(0)});
    }
    if (next_ < lines_.size()) fail("expected a step, found '" + std::string(line().substr(0, 60)) + "'");
    return proof;
  }

  std::string_view line() const {
    std::string_view text = next_ < lines_.size() ? lines_[next_] : std::string_view();
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return text;
  }
  bool take_word(std::string_view word) {
    if (next_ >= lines_.size() || line() != word) return false;
    return ++next_, true;
  }
  bool take_prefix(std::string_view prefix, std::string_view& rest) {
    if (!line().starts_with(prefix)) return false;
    rest = line().substr(prefix.size());
    return ++next_, true;
  }
  std::string place() const { return origin_ + ", line " + std::to_string(line_ + next_); }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(place(), what); }

  Poly poly(std::string_view text) { return atoms_.parse(text, place()); }
  Atom atom(std::string_view text) {
    const auto found = poly(text).atom();
    if (!found) fail("expected one atom, found '" + std::string(text) + "'");
    return *found;
  }
  static std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> result;
    while (!text.empty()) {
      const std::size_t end = text.find(separator);
      result.push_back(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
    }
    return result;
  }
  std::pair<Atom, Poly> image(std::string_view text) {
    const auto sides = split(text, " := ");
    if (sides.size() != 2) fail("expected 'index := polynomial'");
    return {atom(sides[0]), poly(sides[1])};
  }

  void read_lemmas(std::vector<ProductLemma>& into) {
    while (line().starts_with("times ")) {
      const auto sides = split(line().substr(6), "; ");
      if (sides.size() != 2) fail("expected two polynomials");
      into.emplace_back(poly(sides[0]), poly(sides[1]));
      ++next_;
    }
  }

  void read_steps(std::vector<Step>& into, int depth) {
    if (depth > max_depth) fail("steps are nested too deep");
    while (next_ < lines_.size() && line() != "output" && line() != "end" && !line().starts_with("domain of ")) {
      Step& step = into.emplace_back(read_step());
      read_lemmas(step.lemmas);
      if (!has_block(step.op)) continue;
      read_steps(step.block, depth + 1);
      if (!take_word("end")) fail("expected 'end'");
    }
  }

  DefinednessProof read_definedness_proof(int depth) {
    if (depth > max_depth) fail("proofs are nested too deep");
    const std::string_view text = line();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view rest = text.substr(std::min(colon + 2, text.size()));
    std::string_view word = text.substr(0, colon);
    DefinednessProof result;
    if (const std::size_t blank = word.find(' '); word.starts_with("from ") || word.starts_with("opposite ")) {
      result.condition = number(word.substr(blank + 1));
      word = word.substr(0, blank);
    }
    const auto found = std::find(std::begin(definedness_words), std::end(definedness_words), word);
    if (found == std::end(definedness_words))
      fail("expected a proof that a function is defined, found '" + std::string(text.substr(0, 60)) + "'");
    result.kind = static_cast<DefinednessProof::Kind>(found - std::begin(definedness_words));
    if (result.kind == DefinednessProof::Kind::Split) result.guard = atoms_.parse_guard(rest, place());
    if (has_condition(result.kind)) {
      for (const auto part : split(rest, "; ")) result.images.push_back(image(part));
    }
    ++next_;
    read_lemmas(result.lemmas);
    if (result.guard) {
      for (int part = result.guard->equality ? 3 : 2; part > 0; --part)
        result.cases.push_back(read_definedness_proof(depth + 1));
    }
    while (take_word("argument")) {
      read_steps(result.argument_steps.emplace_back(), depth + 1);
      if (!take_word("end")) fail("expected 'end'");
    }
    return result;
  }

  Step read_step() {
    const std::string_view text = line();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto head = split(text.substr(0, colon), " ");
    const std::string_view rest = text.substr(std::min(colon + 2, text.size()));
    Step step;
    std::string_view word = head.empty() ? std::string_view() : head[0];
    auto found = std::ranges::find(step_syntax, word, &StepSyntax::word);
    if (found == std::end(step_syntax) && word.ends_with("max")) {
      step.targets_maximum = true;
      word.remove_suffix(3);
      found = std::ranges::find(step_syntax, word, &StepSyntax::word);
    }
    if (found == std::end(step_syntax)) fail("expected a step, found '" + std::string(text.substr(0, 60)) + "'");
    step.op = static_cast<Op>(found - step_syntax);
    if (step.targets_maximum && !can_target_maximum(step.op))
      fail("expected a step on a maximum, found '" + std::string(word) + "'");
    for (std::size_t i = 1; i < head.size(); ++i) step.positions.push_back(number(head[i]));
    const std::size_t wanted = found->positions + (step.targets_maximum ? 1 : 0);
    if (found->positions != any_number && step.positions.size() != wanted)
      fail("expected " + std::to_string(wanted) + " positions, found " + std::to_string(step.positions.size()));
    read_rest(step, rest);
    ++next_;
    return step;
  }

  void read_rest(Step& step, std::string_view rest) {
    switch (step.op) {
      case Op::CountRange: {
        const std::size_t high = std::min(rest.find("; "), rest.size());
        auto [left, value] = image(rest.substr(0, high));
        step.atom = left;
        step.polys = {std::move(value), poly(rest.substr(std::min(high + 2, rest.size())))};
        return;
      }
      case Op::Project:
        for (const auto part : split(rest, "; ")) step.images.push_back(image(part));
        return;
      case Op::NewIndex:
      case Op::Set: {
        auto [left, value] = image(rest);
        step.atom = left;
        step.polys.push_back(std::move(value));
        return;
      }
      case Op::Split:
      case Op::AddGuard:
        step.guard = atoms_.parse_guard(rest, place());
        return;
      case Op::DivideMax: {
        const auto parts = split(rest, "; ");
        if (parts.empty()) fail("expected a guard and two points");
        step.guard = atoms_.parse_guard(parts[0], place());
        for (std::size_t i = 1; i < parts.size(); ++i) step.polys.push_back(poly(parts[i]));
        return;
      }
      case Op::Map: {
        const std::size_t arrow = rest.find(" <- ");
        if (arrow == std::string_view::npos) fail("expected '<-' and the inverse map");
        for (const auto part : split(rest.substr(0, arrow), "; ")) step.images.push_back(image(part));
        for (const auto part : split(rest.substr(arrow + 4), "; ")) step.inverse.push_back(image(part));
        return;
      }
      case Op::Index:
      case Op::InstantiateMax:
      case Op::Monotone:
      case Op::Flatten:
        for (const auto part : split(rest, "; ")) step.polys.push_back(poly(part));
        if (step.op == Op::Index && step.polys.size() != 1) fail("expected one polynomial");
        return;
      default:
        if (!rest.empty()) fail("expected the end of the line, found '" + std::string(rest.substr(0, 60)) + "'");
    }
  }

  std::size_t number(std::string_view text) const {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail("expected a position, found '" + std::string(text.substr(0, 20)) + "'");
    return value;
  }

  const std::string& origin_;
  std::size_t line_;
  Atoms& atoms_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
};

}  // namespace

Proof parse_proof(std::string_view text, const std::string& origin, std::size_t first, Atoms& atoms) {
  return ProofReader(text, origin, first, atoms).read();
}

}  // namespace rulemill::check
