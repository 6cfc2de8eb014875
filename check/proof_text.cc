// Proofs as text: what is misread is another proof, which is followed or not.
#include "check/kernel/proof.h"

#include <algorithm>
#include <charconv>

#include "algebra/sizes/checked.h"
#include "runtime/error.h"

namespace rulemill::check {

using runtime::InputError;
using Op = Step::Op;

namespace {

constexpr const char* words[] = {"drop",    "set",    "split",  "map",      "know",  "forget", "index", "within",
                                 "same",    "zero",   "unwrap", "swap",     "open",  "cancel", "name",  "leave",
                                 "count",   "expand", "reduce", "constant", "scale", "part",   "join",  "lift",
                                 "flatten", "gather", "order",  "turn",     "unit"};
constexpr const char* claim_words[] = {"signs", "signs at points", "empty", "split", "from", "opposite"};
constexpr const char* domain_words[] = {"domain of source", "domain of target"};
constexpr std::size_t word_count = std::size(words);
constexpr int deepest = 50;

bool on_maximum(Op op) {
  return op == Op::Set || op == Op::Map || op == Op::Know || op == Op::Forget || op == Op::Name || op == Op::Leave;
}
bool has_point(Op op) { return op == Op::Open || op == Op::Lift || op == Op::Flatten; }
bool names_demand(Claim::Kind kind) { return kind == Claim::Kind::From || kind == Claim::Kind::Opposite; }
bool has_block(Op op) { return op == Op::Within || op == Op::Same || op == Op::Unit; }

bool takes_any_number(Op op) { return op == Op::Cancel || op == Op::Order; }

/// How many positions an operation takes; of a maximum, one more.
std::size_t positions(Op op) {
  switch (op) {
    case Op::Drop:
    case Op::Set:
    case Op::Split:
    case Op::Map:
    case Op::Know:
    case Op::Name:
    case Op::Leave:
    case Op::Count:
      return 1;
    case Op::Forget:
    case Op::Zero:
    case Op::Unwrap:
    case Op::Swap:
    case Op::Open:
    case Op::Expand:
    case Op::Constant:
    case Op::Scale:
    case Op::Lift:
    case Op::Flatten:
    case Op::Gather:
    case Op::Turn:
    case Op::Unit:
      return 2;
    case Op::Index:
    case Op::Within:
    case Op::Reduce:
    case Op::Part:
    case Op::Join:
      return 3;
    case Op::Same:
      return 6;
    case Op::Cancel:
    case Op::Order:
      break;
  }
  return 0;
}

std::string list(const std::vector<std::pair<Atom, Poly>>& images, const Atoms& atoms) {
  std::string text;
  for (const auto& [atom, image] : images)
    text += (text.empty() ? "" : "; ") + atoms.text(Poly(atom)) + " := " + atoms.text(image);
  return text;
}

void write(const std::vector<Times>& times, const std::string& indent, const Atoms& atoms, std::string& text) {
  for (const auto& [a, b] : times) text += indent + "times " + atoms.text(a) + "; " + atoms.text(b) + "\n";
}

void write(const std::vector<Step>& steps, const std::string& indent, const Atoms& atoms, std::string& text) {
  for (const Step& step : steps) {
    text += indent + to_string(step, atoms) + "\n";
    write(step.times, indent + " ", atoms, text);
    if (!has_block(step.op)) continue;
    write(step.block, indent + " ", atoms, text);
    text += indent + "end\n";
  }
}

void write(const Claim& claim, const std::string& indent, const Atoms& atoms, std::string& text) {
  text += indent + claim_words[static_cast<std::size_t>(claim.kind)];
  if (claim.kind == Claim::Kind::Split) text += ": " + atoms.text(*claim.guard);
  if (names_demand(claim.kind))
    text += " " + std::to_string(claim.demand) + (claim.at.empty() ? "" : ": ") + list(claim.at, atoms);
  text += "\n";
  write(claim.times, indent + " ", atoms, text);
  for (const Claim& part : claim.parts) write(part, indent + " ", atoms, text);
  for (const std::vector<Step>& steps : claim.arguments) {
    text += indent + "argument\n";
    write(steps, indent + " ", atoms, text);
    text += indent + "end\n";
  }
}

}  // namespace

std::string to_string(const Step& step, const Atoms& atoms) {
  std::string text = std::string(words[static_cast<std::size_t>(step.op)]) + (step.of_maximum ? "max" : "");
  for (const std::size_t position : step.at) text += " " + std::to_string(position);
  if (step.atom) text += ": " + atoms.text(Poly(*step.atom)) + " := " + atoms.text(step.polys.at(0));
  if (step.op == Op::Count) text += "; " + atoms.text(step.polys.at(1));
  if (step.guard) text += ": " + atoms.text(*step.guard);
  if (step.op == Op::Map) text += ": " + list(step.to, atoms) + " <- " + list(step.back, atoms);
  if (step.op == Op::Leave) text += ": " + list(step.to, atoms);
  if (step.op == Op::Index || has_point(step.op)) {
    text += ":";
    for (std::size_t i = 0; i < step.polys.size(); ++i) text += (i == 0 ? " " : "; ") + atoms.text(step.polys[i]);
  }
  return text;
}

std::string to_string(const Proof& proof, const Atoms& atoms) {
  std::string text = "typing\n";
  write(proof.times, " ", atoms, text);
  for (const OutputProof& output : proof.outputs) {
    text += "output\n";
    for (const std::string& product : output.normal_form) text += " from " + product + "\n";
    write(output.steps, " ", atoms, text);
  }
  for (std::size_t side = 0; side < proof.domains.size(); ++side) {
    if (!proof.domains[side].empty()) text += std::string(domain_words[side]) + "\n";
    for (const DemandProof& demand : proof.domains[side]) {
      text += " demand " + demand.demand + "\n";
      write(demand.claim, "  ", atoms, text);
    }
  }
  return text;
}

namespace {

/// Lines in order, each taken once.
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
      return whole();
    } catch (const algebra::Overflow& overflow) {
      fail(overflow.what());
    }
  }

 private:
  Proof whole() {
    Proof proof;
    if (!take_word("typing")) fail("expected 'typing'");
    times(proof.times);
    while (take_word("output")) {
      OutputProof& output = proof.outputs.emplace_back();
      for (std::string_view rest; take_prefix("from ", rest);) output.normal_form.emplace_back(rest);
      steps(output.steps, 0);
    }
    for (std::size_t side = 0; side < proof.domains.size(); ++side) {
      if (!take_word(domain_words[side])) continue;
      for (std::string_view rest; take_prefix("demand ", rest);)
        proof.domains[side].push_back({std::string(rest), claim(0)});
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
  static std::vector<std::string_view> parts(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> result;
    while (!text.empty()) {
      const std::size_t end = text.find(separator);
      result.push_back(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
    }
    return result;
  }
  std::pair<Atom, Poly> image(std::string_view text) {
    const auto sides = parts(text, " := ");
    if (sides.size() != 2) fail("expected 'index := polynomial'");
    return {atom(sides[0]), poly(sides[1])};
  }

  void times(std::vector<Times>& into) {
    while (line().starts_with("times ")) {
      const auto sides = parts(line().substr(6), "; ");
      if (sides.size() != 2) fail("expected two polynomials");
      into.emplace_back(poly(sides[0]), poly(sides[1]));
      ++next_;
    }
  }

  void steps(std::vector<Step>& into, int depth) {
    if (depth > deepest) fail("steps are nested too deep");
    while (next_ < lines_.size() && line() != "output" && line() != "end" && !line().starts_with("domain of ")) {
      Step& step = into.emplace_back(one());
      times(step.times);
      if (!has_block(step.op)) continue;
      steps(step.block, depth + 1);
      if (!take_word("end")) fail("expected 'end'");
    }
  }

  Claim claim(int depth) {
    if (depth > deepest) fail("claims are nested too deep");
    const std::string_view text = line();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view rest = text.substr(std::min(colon + 2, text.size()));
    std::string_view word = text.substr(0, colon);
    Claim result;
    if (const std::size_t blank = word.find(' '); word.starts_with("from ") || word.starts_with("opposite ")) {
      result.demand = number(word.substr(blank + 1));
      word = word.substr(0, blank);
    }
    const auto found = std::find(std::begin(claim_words), std::end(claim_words), word);
    if (found == std::end(claim_words)) fail("'" + std::string(text.substr(0, 60)) + "' is no claim");
    result.kind = static_cast<Claim::Kind>(found - std::begin(claim_words));
    if (result.kind == Claim::Kind::Split) result.guard = atoms_.parse_guard(rest, place());
    if (names_demand(result.kind)) {
      for (const auto part : parts(rest, "; ")) result.at.push_back(image(part));
    }
    ++next_;
    times(result.times);
    if (result.guard) {
      for (int part = result.guard->equality ? 3 : 2; part > 0; --part) result.parts.push_back(claim(depth + 1));
    }
    while (take_word("argument")) {
      steps(result.arguments.emplace_back(), depth + 1);
      if (!take_word("end")) fail("expected 'end'");
    }
    return result;
  }

  Step one() {
    const std::string_view text = line();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto head = parts(text.substr(0, colon), " ");
    const std::string_view rest = text.substr(std::min(colon + 2, text.size()));
    Step step;
    std::string_view word = head.empty() ? std::string_view() : head[0];
    step.of_maximum = word.ends_with("max");
    if (step.of_maximum) word.remove_suffix(3);
    const auto found = std::find(words, words + word_count, word);
    if (found == words + word_count) fail("'" + std::string(text.substr(0, 60)) + "' is no step");
    step.op = static_cast<Op>(found - words);
    if ((step.of_maximum && !on_maximum(step.op)) || (!step.of_maximum && step.op == Op::Leave)) {
      fail("'" + std::string(word) + "' is no step on a maximum");
    }
    for (std::size_t i = 1; i < head.size(); ++i) step.at.push_back(number(head[i]));
    if (!takes_any_number(step.op) && step.at.size() != positions(step.op) + (step.of_maximum ? 1 : 0))
      fail("another number of positions is expected");
    read_rest(step, rest);
    ++next_;
    return step;
  }

  void read_rest(Step& step, std::string_view rest) {
    switch (step.op) {
      case Op::Count: {
        const std::size_t high = std::min(rest.find("; "), rest.size());
        auto [left, value] = image(rest.substr(0, high));
        step.atom = left;
        step.polys = {std::move(value), poly(rest.substr(std::min(high + 2, rest.size())))};
        return;
      }
      case Op::Leave:
        for (const auto part : parts(rest, "; ")) step.to.push_back(image(part));
        return;
      case Op::Name:
      case Op::Set: {
        auto [left, value] = image(rest);
        step.atom = left;
        step.polys.push_back(std::move(value));
        return;
      }
      case Op::Split:
      case Op::Know:
        step.guard = atoms_.parse_guard(rest, place());
        return;
      case Op::Map: {
        const std::size_t arrow = rest.find(" <- ");
        if (arrow == std::string_view::npos) fail("expected '<-' and the map back");
        for (const auto part : parts(rest.substr(0, arrow), "; ")) step.to.push_back(image(part));
        for (const auto part : parts(rest.substr(arrow + 4), "; ")) step.back.push_back(image(part));
        return;
      }
      case Op::Index:
      case Op::Open:
      case Op::Lift:
      case Op::Flatten:
        for (const auto part : parts(rest, "; ")) step.polys.push_back(poly(part));
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
