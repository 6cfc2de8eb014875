// Rules in the formats of other programs, written by python/rulemill/exchange in a helper process.
#pragma once

#include <string>

#include "algebra/library/library.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/json.h"

namespace rulemill::cli {

/// A helper process with one request.
class ExchangeProcess {
 public:
  /// `request` names the "format" and what it needs. The folder of data files ("data") and the signatures of all
  /// operators ("operators") are added. Throws Error if there is no Python.
  ExchangeProcess(runtime::Json request, const algebra::Library& library);

  /// Sends one more message.
  void send(const runtime::Json& message);
  /// Waits for the result. Throws InputError with the place for an input that the helper rejects, and Error if it
  /// fails.
  runtime::Json result();

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string format_;
  runtime::Subprocess process_;
};

}  // namespace rulemill::cli
