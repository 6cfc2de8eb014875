// A scope of a bank and of its symbols: what is added within it is removed at its end.
#pragma once

#include "algebra/terms/term.h"

namespace rulemill::prove {

class TermScope {
 public:
  TermScope(algebra::TermBank& bank, algebra::Symbols& symbols)
      : bank_(bank), symbols_(symbols), terms_(bank.mark()), sizes_(symbols.mark()) {}
  ~TermScope() {
    bank_.roll_back(terms_);
    symbols_.roll_back(sizes_);
  }
  TermScope(const TermScope&) = delete;
  TermScope& operator=(const TermScope&) = delete;

 private:
  algebra::TermBank& bank_;
  algebra::Symbols& symbols_;
  algebra::TermBank::Mark terms_;
  algebra::Symbols::Mark sizes_;
};

}  // namespace rulemill::prove
