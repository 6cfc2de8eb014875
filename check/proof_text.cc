// Writes and reads proofs as text. This is not trusted: a proof that is misread is checked like any other.
#include "check/proof_text.h"

#include <algorithm>
#include <charconv>

#include "algebra/sizes/checked.h"
#include "check/sum_text.h"
#include "runtime/text/error.h"

namespace rulemill::check {

using runtime::InputError;
using Op = Step::Op;

namespace {

constexpr std::size_t any_number = 0;

/// The word of a step, how many positions follow it, and how many blocks of steps.
struct StepSyntax {
  const char* word;
  std::size_t positions;
  std::size_t blocks = 0;
};
/// In the order of Step::Op. `replace` has three positions more, or a sum. `law_where` is a law with one block.
constexpr StepSyntax step_syntax[] = {{"indicators", any_number},
                                      {"reindex", 1},
                                      {"count", 1},
                                      {"equal", 3},
                                      {"within", 3, 1},
                                      {"replace", any_number, 1},
                                      {"expand", 2},
                                      {"reciprocal", 3},
                                      {"law", any_number},
                                      {"constant", 2},
                                      {"take_out", 2},
                                      {"scale", 2},
                                      {"monotone", 3},
                                      {"flatten", 2},
                                      {"divide_max", 2},
                                      {"order", any_number},
                                      {"signs", 2},
                                      {"given", 3}};
constexpr std::string_view of_maximum = "_max";
constexpr std::string_view law_where = "law_where";
constexpr std::string_view unchanged = "same", of_opposite = "opposite";
constexpr const char* domain_words[] = {"domain of source", "domain of target"};
constexpr int max_depth = 50;

std::string list(const Step::Assignment& images, const Atoms& atoms) {
  std::string text;
  for (const auto& [atom, image] : images)
    text += (text.empty() ? "" : "; ") + atoms.text(Poly(atom)) + " := " + atoms.text(image);
  return text;
}

std::string text_of(const Step::Indicator& change, const Atoms& atoms) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (change.coefficient) add("=" + algebra::to_string(*change.coefficient));
  for (const std::size_t guard : change.without) add("-" + std::to_string(guard));
  for (const Guard& guard : change.with) add("[" + atoms.text(guard) + "]");
  return text.empty() ? std::string(unchanged) : text;
}

void write(const std::vector<ProductLemma>& lemmas, const std::string& indent, const Atoms& atoms, std::string& text) {
  for (const auto& [a, b] : lemmas) text += indent + "times " + atoms.text(a) + "; " + atoms.text(b) + "\n";
}

void write(const std::vector<Step>& steps, const std::string& indent, const Statement& statement, std::string& text) {
  for (const Step& step : steps) {
    text += indent + to_string(step, statement) + "\n";
    write(step.lemmas, indent + " ", statement.atoms(), text);
    for (const std::vector<Step>& block : step.blocks) {
      write(block, indent + " ", statement, text);
      text += indent + "end\n";
    }
  }
}

}  // namespace

std::string to_string(const Step& step, const Statement& statement) {
  const Atoms& atoms = statement.atoms();
  std::string text = step_syntax[static_cast<std::size_t>(step.op)].word, rest;
  if (step.targets_maximum) text += of_maximum;
  if (step.op == Op::Law && !step.blocks.empty()) text = law_where;
  if (step.op == Op::Law) text += (step.reversed ? " -" : " ") + step.name;
  if (step.op == Op::Given && step.reversed) text += " " + std::string(of_opposite);
  for (const std::size_t position : step.positions) text += " " + std::to_string(position);
  const auto add = [&](const std::string& part, const char* separator = "; ") {
    rest += (rest.empty() ? "" : separator) + part;
  };
  for (const Step::Indicator& change : step.indicators) add(text_of(change, atoms), " | ");
  if (!step.images.empty()) add(list(step.images, atoms));
  if (!step.inverse.empty()) rest += (rest.empty() ? "<- " : " <- ") + list(step.inverse, atoms);
  if (step.guard) add(atoms.text(*step.guard));
  if (step.atom) {
    add(atoms.text(Poly(*step.atom)) + " := " + atoms.text(step.polys.at(0)));
    add(atoms.text(step.polys.at(1)));
  } else {
    for (const Poly& poly : step.polys) add(atoms.text(poly));
  }
  for (const Sum& sum : step.sums) add(statement.text(sum));
  if (step.op == Op::Order) add(step.name);
  return rest.empty() ? text : text + ": " + rest;
}

std::string to_string(const Proof& proof, const Statement& statement) {
  std::string text = "typing\n";
  write(proof.lemmas, " ", statement.atoms(), text);
  for (const std::vector<Step>& output : proof.outputs) {
    text += "output\n";
    write(output, " ", statement, text);
  }
  for (std::size_t side = 0; side < proof.domains.size(); ++side) {
    if (!proof.domains[side].empty()) text += std::string(domain_words[side]) + "\n";
    for (const std::vector<Step>& condition : proof.domains[side]) {
      text += " condition\n";
      write(condition, "  ", statement, text);
    }
  }
  return text;
}

namespace {

/// A reader that consumes lines in order.
class ProofReader {
 public:
  ProofReader(std::string_view text, const std::string& origin, std::size_t first, const Statement& statement)
      : origin_(origin), line_(first), statement_(statement), atoms_(statement.atoms()) {
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
    while (take_word("output")) read_steps(proof.outputs.emplace_back(), 0);
    for (std::size_t side = 0; side < proof.domains.size(); ++side) {
      if (!take_word(domain_words[side])) continue;
      while (take_word("condition")) read_steps(proof.domains[side].emplace_back(), 0);
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
  std::string place() const { return origin_ + ", line " + std::to_string(line_ + next_); }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(place(), what); }

  Poly poly(std::string_view text) { return parse_poly(text, place(), atoms_); }
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
    const auto atom = sides.size() == 2 ? poly(sides[0]).atom() : std::nullopt;
    if (!atom) fail("expected 'index := polynomial'");
    return {*atom, poly(sides[1])};
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
    while (next_ < lines_.size() && line() != "output" && line() != "end" && line() != "condition" &&
           !line().starts_with("domain of ")) {
      Step& step = into.emplace_back(read_step());
      read_lemmas(step.lemmas);
      for (std::vector<Step>& block : step.blocks) {
        read_steps(block, depth + 1);
        if (!take_word("end")) fail("expected 'end'");
      }
    }
  }

  Step read_step() {
    const std::string_view text = line();
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto head = split(text.substr(0, colon), " ");
    const std::string_view rest = text.substr(std::min(colon + 2, text.size()));
    Step step;
    std::string_view word = head.empty() ? std::string_view() : head[0];
    if (word == law_where) {
      word = step_syntax[static_cast<std::size_t>(Op::Law)].word;
      step.blocks.resize(1);
    } else if (word.ends_with(of_maximum)) {
      const std::string_view range = word.substr(0, word.size() - of_maximum.size());
      step.targets_maximum = range == step_syntax[static_cast<std::size_t>(Op::Indicators)].word ||
                             range == step_syntax[static_cast<std::size_t>(Op::Reindex)].word;
      if (step.targets_maximum) word = range;
    }
    const auto found = std::ranges::find(step_syntax, word, &StepSyntax::word);
    if (found == std::end(step_syntax)) fail("expected a step, found '" + std::string(text.substr(0, 60)) + "'");
    step.op = static_cast<Op>(found - step_syntax);
    step.blocks.resize(std::max(step.blocks.size(), found->blocks));
    std::size_t next = 1;
    if (step.op == Op::Law) {
      if (head.size() < 2) fail("expected the name of a law");
      step.reversed = head[1].starts_with('-');
      step.name = head[1].substr(step.reversed ? 1 : 0);
      ++next;
    } else if (step.op == Op::Given && head.size() > 1 && head[1] == of_opposite) {
      step.reversed = true;
      ++next;
    }
    for (; next < head.size(); ++next) step.positions.push_back(number(head[next]));
    const std::size_t wanted = found->positions == any_number ? 0 : found->positions + (step.targets_maximum ? 1 : 0);
    if (wanted != 0 && step.positions.size() != wanted)
      fail("expected " + std::to_string(wanted) + " positions, found " + std::to_string(step.positions.size()));
    read_rest(step, rest);
    ++next_;
    return step;
  }

  void read_rest(Step& step, std::string_view rest) {
    switch (step.op) {
      case Op::Indicators:
        for (const auto part : split(rest, " | ")) step.indicators.push_back(indicator(part));
        return;
      case Op::Reindex: {
        const std::size_t arrow = rest.find("<- ");
        const std::string_view images =
            rest.substr(0, arrow == std::string_view::npos ? arrow : arrow - std::min<std::size_t>(arrow, 1));
        for (const auto part : split(images, "; ")) step.images.push_back(image(part));
        if (arrow == std::string_view::npos) return;
        for (const auto part : split(rest.substr(arrow + 3), "; ")) step.inverse.push_back(image(part));
        return;
      }
      case Op::Count: {
        const auto parts = split(rest, "; ");
        if (parts.size() != 2) fail("expected the index with its least value, and its largest value");
        auto [atom, low] = image(parts[0]);
        step.atom = atom;
        step.polys = {std::move(low), poly(parts[1])};
        return;
      }
      case Op::DivideMax: {
        const auto parts = split(rest, "; ");
        if (parts.empty()) fail("expected a guard and two points");
        step.guard = parse_guard(parts[0], place(), atoms_);
        for (std::size_t i = 1; i < parts.size(); ++i) step.polys.push_back(poly(parts[i]));
        return;
      }
      case Op::Law:
      case Op::Replace:
      case Op::Scale:
        for (const auto part : split(rest, "; ")) step.sums.push_back(parse_sum(part, place(), statement_));
        return;
      case Op::Order:
        step.name = rest;
        return;
      case Op::Equal:
      case Op::TakeOut:
      case Op::Monotone:
      case Op::Flatten:
      case Op::Given:
        for (const auto part : split(rest, "; ")) step.polys.push_back(poly(part));
        return;
      default:
        if (!rest.empty()) fail("expected the end of the line, found '" + std::string(rest.substr(0, 60)) + "'");
    }
  }

  Step::Indicator indicator(std::string_view text) {
    Step::Indicator change;
    if (text == unchanged) return change;
    while (!text.empty()) {
      const std::size_t end = text.starts_with('[') ? std::min(text.find(']'), text.size() - 1) + 1 : text.find(' ');
      const std::string_view part = text.substr(0, end);
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      if (part.starts_with('=')) {
        const auto sides = split(part.substr(1), "/");
        if (sides.empty() || sides.size() > 2) fail("expected a coefficient");
        const auto constant = [&](std::string_view digits) {
          const auto value = poly(digits).constant();
          if (!value) fail("expected a number");
          return *value;
        };
        change.coefficient = algebra::make_rational(constant(sides[0]), sides.size() == 2 ? constant(sides[1]) : 1);
      } else if (part.starts_with('-')) {
        change.without.push_back(number(part.substr(1)));
      } else if (part.starts_with('[') && part.ends_with(']')) {
        change.with.push_back(parse_guard(part.substr(1, part.size() - 2), place(), atoms_));
      } else {
        fail("expected a coefficient or guards, found '" + std::string(part.substr(0, 60)) + "'");
      }
    }
    return change;
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
  const Statement& statement_;
  Atoms& atoms_;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
};

}  // namespace

Proof parse_proof(std::string_view text, const std::string& origin, std::size_t first, const Statement& statement) {
  return ProofReader(text, origin, first, statement).read();
}

}  // namespace rulemill::check
