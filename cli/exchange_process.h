// Rules in the formats of other programs, read and written by python/rulemill/exchange in a helper process.
#pragma once

#include <string>
#include <vector>

#include "algebra/library/library.h"
#include "algebra/terms/rule_text.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/json.h"

namespace rulemill::cli {

/// A helper process with one request. Its questions about operators are answered from `library`.
class ExchangeProcess {
 public:
  /// `request` names the "format" and what it needs. The folder of data files ("data") and the signatures of all
  /// operators ("operators") are added. Throws Error if there is no Python.
  ExchangeProcess(runtime::Json request, algebra::Library& library);

  /// Sends one more message.
  void send(const runtime::Json& message);
  /// Answers questions until the result comes. Throws InputError with the place for an input that the helper rejects,
  /// and Error if it fails.
  runtime::Json result();

 private:
  runtime::Json answer(const runtime::Json& question);
  [[noreturn]] void fail(const std::string& reason) const;

  std::string format_;
  algebra::Library& library_;
  algebra::TermBank bank_;  // of questions
  algebra::Symbols symbols_;
  runtime::Subprocess process_;
};

/// Reads the bytes of the file `origin` in the format "egg", "pdl" or "taso". `taso_table` is the table of TASO's
/// numbers; empty: data/imports/taso.toml.
std::vector<algebra::ImportedRule> read_exchange_file(const std::string& format, const std::string& bytes,
                                                      const std::string& origin, const std::string& taso_table,
                                                      algebra::Library& library, algebra::TermBank& bank,
                                                      algebra::Symbols& symbols);

}  // namespace rulemill::cli
