// The rules of an egg or egglog text, before their operators are looked up. The forms are
//
//   (rewrite SOURCE TARGET)  (birewrite A B)            ; egglog; options: :when (FACT…) :name "NAME"
//   (rule ((= e SOURCE) FACT…) ((union e TARGET)))      ; egglog; several outputs are several unions
//   rw!("NAME"; "SOURCE" => "TARGET")                   ; egg, in Rust; also rewrite! and <=>
//   NAME: SOURCE => TARGET                              ; egg's patterns as text; the name may be missing
//
// Other commands of egglog, such as declarations, are skipped.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/exchange/egg/s_expression.h"

namespace rulemill::algebra {

struct EggStatement {
  std::string name;                                   // as written, or line_N
  std::string origin;                                 // the file
  std::string place;                                  // file:line:column
  std::vector<SExpression> source = {}, target = {};  // by output
  bool directed = true;
  std::vector<SExpression> facts = {};               // premises other than the patterns
  std::map<std::string, SExpression> bindings = {};  // names of patterns
  std::string problem = {};                          // why it could not be read
};

/// Splits a text into its rules. An error within a rule becomes its problem, with its place.
std::vector<EggStatement> read_egg_statements(std::string_view text, const std::string& origin);

}  // namespace rulemill::algebra
