// The ranks that the inputs of a rule can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "algebra/exchange/egg/rule_template.h"
#include "algebra/library/library.h"
#include "algebra/sizes/poly.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// The greatest rank that is tried.
inline constexpr std::uint32_t max_read_rank = 4;

/// Assigns ranks to the unknowns of a template one by one. Terms are checked as soon as their ranks are known.
class RankSearch {
 public:
  RankSearch(const RuleTemplate& rule, Library& library);

  /// Returns all assignments that fit, lowest first. Throws InputError if there is none, with the place and
  /// the reason of the one that comes closest, or if there are too many.
  std::vector<std::vector<std::uint32_t>> run();

 private:
  /// The rank of an output, or why there is none.
  struct OutputRank {
    std::optional<std::uint32_t> rank;
    std::string reason = {};
    bool is_other_fault = false;  // the ranks fit the operator
  };

  void order_unknowns();
  void assign(std::size_t known);
  bool rank_terms(std::size_t known);
  OutputRank rank_of(const TermTemplate& term);
  OutputRank rank_of_call(const TermTemplate& term, const std::vector<std::uint32_t>& ranks);
  /// How far an assignment came: known ranks, terms, and whether the ranks fit.
  using Progress = std::tuple<std::size_t, std::size_t, bool>;
  void record_mismatch(Progress progress, const std::string& place, const std::string& reason);

  const RuleTemplate& rule_;
  Library& library_;
  TermBank bank_;
  Symbols symbols_;
  std::vector<std::size_t> order_;     // of the unknowns
  std::vector<std::size_t> known_at_;  // by term: after how many unknowns its rank is known
  std::vector<bool> used_;             // by term: whether an output depends on it
  std::vector<std::uint32_t> ranks_;   // by unknown
  std::vector<std::uint32_t> term_ranks_;
  std::map<std::string, OutputRank> calls_;
  std::vector<std::vector<std::uint32_t>> found_;
  std::size_t steps_ = 0;
  Progress mismatch_progress_;
  std::string mismatch_place_, mismatch_;
};

/// Returns a call of the term's operator as text, with `pack_length` sizes in its list of sizes.
std::string call_text(const TermTemplate& term, const std::vector<std::string>& arguments, std::uint32_t pack_length);

}  // namespace rulemill::algebra
