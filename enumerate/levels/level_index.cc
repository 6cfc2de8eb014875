#include "enumerate/levels/level_index.h"

#include <algorithm>

namespace rulemill::enumerate {

void LevelIndex::rebuild(std::uint32_t level, TermId expanded_terms) {
  level_ = level;
  expanded_terms_ = expanded_terms;
  first_of_level_.resize(level);
  first_of_level_.push_back(static_cast<TermId>(terms_.terms()));
  index_users();
  index_signatures();
}

void LevelIndex::index_users() {
  first_user_.assign(terms_.nodes() + 1, 0);
  for (TermId t = 0; t < expanded_terms_; ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) ++first_user_[n + 1];
  }
  for (std::size_t n = 0; n < terms_.nodes(); ++n) first_user_[n + 1] += first_user_[n];
  users_.resize(first_user_.back());
  std::vector<std::uint64_t> next(first_user_.begin(), first_user_.end() - 1);
  for (TermId t = 0; t < expanded_terms_; ++t) {
    if (!terms_.is_extended(t)) continue;
    for (const NodeId n : terms_.closure_of_term(t)) users_[next[n]++] = t;
  }
}

void LevelIndex::index_signatures() {
  unary_signatures_.assign(types_.size(), {});
  binary_uses_.assign(types_.size(), {});
  const auto& families = signatures_.families();
  for (std::uint32_t f = 0; f < families.size(); ++f) {
    if (families[f].arity == 1) {
      for (const Completion& completion : signatures_.completions(f, 0, {}))
        unary_signatures_[completion.type].push_back(completion.signature);
    }
    if (families[f].arity != 2) continue;
    for (TypeId type = 0; type < types_.size(); ++type) {
      for (const std::uint32_t missing : {1U, 0U}) {
        if (missing == 0 && families[f].commutative) continue;
        const auto& completions = signatures_.completions(f, missing, {&type, 1});
        if (!completions.empty()) binary_uses_[type].push_back({f, missing, &completions});
      }
    }
  }
}

std::span<const TermId> LevelIndex::users(NodeId n, std::uint32_t level) const {
  const auto all = std::span(users_).subspan(first_user_[n], first_user_[n + 1] - first_user_[n]);
  const auto begin = std::ranges::lower_bound(all, first_of_level_[level]);
  const auto end = std::ranges::lower_bound(begin, all.end(), first_of_level_[level + 1]);
  return {begin, end};
}

bool LevelIndex::fits(const Signature& signature, std::uint32_t argument, TermId t) const {
  if (!(signatures_.families()[signature.family].allowed_classes[argument] >> terms_.argument_class(t) & 1))
    return false;
  for (const RequiredPosition& required : signature.required) {
    if (required.argument != argument) continue;
    const Positions& positions = terms_.positions(t);
    if (required.axis >= positions.size()) return false;
    if (!std::ranges::binary_search(positions[required.axis], required.position)) return false;
  }
  return true;
}

std::vector<NodeId> LevelIndex::union_of(std::span<const TermId> terms) const {
  std::vector<NodeId> result;
  for (const TermId t : terms) {
    const auto closure = terms_.closure_of_term(t);
    result.insert(result.end(), closure.begin(), closure.end());
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace rulemill::enumerate
