#include "algebra/exchange/egg/rank_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "algebra/exchange/egg/s_expression.h"
#include "algebra/exchange/readings.h"
#include "algebra/terms/rule_text.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

constexpr std::size_t max_steps = 100'000, max_assignments = 200;

}  // namespace

std::string call_text(const TermTemplate& term, const std::vector<std::string>& arguments, std::uint32_t pack_length) {
  std::string parameters = term.parameters;
  if (!term.pack.empty()) {
    const std::vector<std::string> sizes(pack_length, "?");
    parameters += fmt::format("{}{}=[{}]", parameters.empty() ? "" : ", ", term.pack, fmt::join(sizes, ", "));
  }
  return fmt::format("{}({}{}{})", term.op, fmt::join(arguments, ", "), parameters.empty() ? "" : "; ", parameters);
}

RankSearch::RankSearch(const RuleTemplate& rule, Library& library)
    : rule_(rule),
      library_(library),
      bank_(library),
      used_(rule.terms.size()),
      ranks_(rule.unknowns.size()),
      term_ranks_(rule.terms.size()) {
  order_unknowns();
  for (const auto* side : {&rule.source, &rule.target}) {
    for (const std::size_t output : *side) used_[output] = true;
  }
  for (std::size_t t = rule.terms.size(); t-- > 0;) {
    for (const std::size_t argument : rule.terms[t].arguments) used_[argument] = used_[argument] || used_[t];
  }
}

/// Puts the unknowns of an operator before those of its users, so that operators are checked early.
void RankSearch::order_unknowns() {
  std::vector<std::size_t> position(ranks_.size(), ranks_.size());
  const auto append = [&](const std::optional<std::size_t>& unknown) {
    if (!unknown || position[*unknown] < ranks_.size()) return;
    position[*unknown] = order_.size();
    order_.push_back(*unknown);
  };
  for (const TermTemplate& term : rule_.terms) {
    if (term.op.empty()) continue;
    for (const std::size_t argument : term.arguments) append(rule_.terms[argument].unknown);
    append(term.unknown);
  }
  for (std::size_t unknown = 0; unknown < ranks_.size(); ++unknown) append(unknown);
  for (const TermTemplate& term : rule_.terms) {
    std::size_t known = term.unknown ? position[*term.unknown] + 1 : 0;
    for (const std::size_t argument : term.arguments) known = std::max(known, known_at_[argument]);
    known_at_.push_back(known);
  }
}

std::vector<std::vector<std::uint32_t>> RankSearch::run() {
  assign(0);
  if (found_.empty()) throw runtime::InputError(mismatch_place_, mismatch_);
  return std::move(found_);
}

void RankSearch::assign(std::size_t known) {
  if (!rank_terms(known)) return;
  if (known == order_.size()) {
    for (std::size_t i = 0; i < rule_.source.size(); ++i) {
      const std::uint32_t source = term_ranks_[rule_.source[i]], target = term_ranks_[rule_.target[i]];
      if (source != target)
        return record_mismatch({known, rule_.terms.size(), true}, rule_.place,
                               fmt::format("the source has rank {}, the target {}", source, target));
    }
    found_.push_back(ranks_);
    if (found_.size() > max_assignments)
      throw runtime::InputError(rule_.place,
                                "too many ranks of its inputs fit; state shapes as :when ((shape2 ?x m n))");
    return;
  }
  const std::size_t unknown = order_[known];
  const auto& shape = rule_.unknowns[unknown].shape;
  const auto first = shape ? static_cast<std::uint32_t>(shape->size()) : 0;
  const std::uint32_t last = shape ? first : max_read_rank;
  for (std::uint32_t rank = first; rank <= last; ++rank) {
    ranks_[unknown] = rank;
    assign(known + 1);
  }
}

/// Computes the ranks of the terms that depend on the first `known` unknowns and on no others. False if one does not
/// fit.
bool RankSearch::rank_terms(std::size_t known) {
  for (std::size_t t = 0; t < rule_.terms.size(); ++t) {
    if (known_at_[t] != known || !used_[t]) continue;
    if (++steps_ > max_steps)
      throw runtime::InputError(rule_.place,
                                "too many ranks of its inputs to try; state shapes as :when ((shape2 ?x m n))");
    const OutputRank found = rank_of(rule_.terms[t]);
    if (!found.rank) {
      record_mismatch({known, t, found.is_other_fault}, rule_.terms[t].place, found.reason);
      return false;
    }
    term_ranks_[t] = *found.rank;
  }
  return true;
}

RankSearch::OutputRank RankSearch::rank_of(const TermTemplate& term) {
  if (term.op.empty()) return {ranks_[*term.unknown]};
  std::vector<std::uint32_t> ranks;
  for (const std::size_t argument : term.arguments) ranks.push_back(term_ranks_[argument]);
  if (!term.ranks.empty() && ranks != term.ranks)
    return {std::nullopt,
            fmt::format("expected inputs of ranks {}, found {}", fmt::join(term.ranks, ", "), fmt::join(ranks, ", "))};
  const std::uint32_t pack_length = term.unknown ? ranks_[*term.unknown] : 0;
  const std::string key = fmt::format("{}.{} {}", call_text(term, {}, pack_length), term.output, fmt::join(ranks, " "));
  const auto known = calls_.find(key);
  return known != calls_.end() ? known->second : calls_.emplace(key, rank_of_call(term, ranks)).first->second;
}

RankSearch::OutputRank RankSearch::rank_of_call(const TermTemplate& term, const std::vector<std::uint32_t>& ranks) {
  std::map<std::string, Shape> variables;
  std::vector<std::string> names;
  for (const std::uint32_t rank : ranks) {
    names.push_back(fmt::format("x{}", names.size()));
    Shape& shape = variables[names.back()];
    for (std::uint32_t d = 0; d < rank; ++d) shape.emplace_back(symbols_.fresh_size("d"));
  }
  const std::string call = call_text(term, names, term.unknown ? ranks_[*term.unknown] : 0);
  try {
    const Rule rule =
        parse_terms(term.output.empty() ? call : call + "." + term.output, "", variables, library_, bank_, symbols_);
    return {bank_.rank(rule.source[0])};
  } catch (const runtime::InputError& error) {
    std::vector<std::uint32_t> all = ranks;
    if (library_.has_explicit_rank(term.op)) all.push_back(term.unknown ? ranks_[*term.unknown] : 0);
    return {std::nullopt, without_place(error), library_.accepts_ranks(term.op, all)};
  }
}

/// Keeps the first mismatch among those that came furthest.
void RankSearch::record_mismatch(Progress progress, const std::string& place, const std::string& reason) {
  if (!mismatch_.empty() && progress <= mismatch_progress_) return;
  mismatch_progress_ = progress;
  mismatch_place_ = place;
  mismatch_ = reason;
}

}  // namespace rulemill::algebra
