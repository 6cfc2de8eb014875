// The parser of the definition language, by recursive descent. Private to the loader: its parts are in
// definition_parser.cc, expression_parser.cc, function_parser.cc and mapping_parser.cc.
#pragma once

#include <algorithm>
#include <map>

#include "algebra/language/lexer.h"
#include "algebra/language/syntax.h"

namespace rulemill::algebra::syntax {

constexpr std::uint32_t deepest_nesting = 250, deepest_tree = 1000;
constexpr std::size_t most_arguments = 8;

class Parser {
 public:
  Parser(std::string_view text, const std::string& origin) : cursor_(text, origin) {}

  Definitions parse();

 private:
  Place here() const { return {cursor_.peek().line, cursor_.peek().column}; }

  /// The tokens from `start` to the cursor but for ONNX mappings, one blank apart: what a definition's digest is made
  /// of.
  std::string text_since(std::size_t start);

  /// One level of the text's nesting; a tree's depth is bounded, too, so that everything may recurse over it.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > deepest_nesting)
        parser_.cursor_.fail(parser_.cursor_.peek(), "a definition nested too deeply");
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  template <class Node>
  std::shared_ptr<const Node> finished(Node node, std::initializer_list<const std::shared_ptr<const Node>*> children) {
    for (const auto* child : children) {
      if (*child) node.depth = std::max(node.depth, (*child)->depth + 1);
    }
    if (node.depth > deepest_tree) cursor_.fail(cursor_.peek(), "an expression of too many terms");
    return std::make_shared<Node>(std::move(node));
  }

  ScalarPtr finished(Scalar node);

  // ---- scalar functions ----

  FunctionSyntax parse_function();

  /// How many values its evaluation holds at once.
  static std::size_t stack_of(const Function& function);

  void emit(Function& function, Function::Op op) { function.real.push_back({op, 0, 0}); }

  void parse_real_sum(Function& function, const std::vector<std::string>& arguments);

  void parse_real_product(Function& function, const std::vector<std::string>& arguments);

  void parse_real_factor(Function& function, const std::vector<std::string>& arguments);

  static std::optional<Rational> exact_number(const std::string& text);

  /// f(0) = 0, f(f(t)) = f(t), f(s, t) = f(t, s): the laws that the prover and the field know how to keep.
  LawClaim parse_law(Function& function, const std::vector<std::string>& arguments);

  // ---- index expressions ----

  IndexPtr binary(Index::Kind kind, IndexPtr a, IndexPtr b, Place place);

  IndexPtr finished(Index index);

  IndexPtr parse_index();

  Choice parse_choice();

  IndexPtr parse_index_sum();

  IndexPtr parse_index_product();

  IndexPtr parse_index_factor();
  IndexPtr parse_named_index(const Token& token, Index index);

  Comparison parse_comparison();

  /// One index of a read or one dimension of an output; packs as in syntax.h.
  Entry parse_entry();
  bool continues_expression(std::size_t ahead) const;

  // ---- scalar expressions ----

  ScalarPtr scalar(Scalar::Kind kind, std::vector<ScalarPtr> operands, Place place);

  ScalarPtr parse_scalar();

  ScalarPtr parse_scalar_sum();

  ScalarPtr parse_scalar_product();

  ScalarPtr parse_scalar_factor();
  ScalarPtr parse_reduction(Scalar node);

  // ---- operators ----

  Operator parse_operator();

  Input parse_input();
  ElementKind parse_element_kind();

  Parameter parse_parameter();
  void parse_domain(Parameter& parameter);
  void parse_kind(Parameter& parameter);
  Let parse_let();

  void parse_clause(Operator& op);

  Condition parse_condition();

  Tensor parse_tensor();

  std::shared_ptr<const Call> parse_call(const Operator& op);

  // ---- ONNX ----

  OnnxEntry parse_onnx_value();

  double parse_absent();

  OnnxSyntax parse_onnx();
  void parse_onnx_inputs(OnnxSyntax& onnx);
  OnnxAttributeSyntax parse_onnx_attribute();

  TokenCursor cursor_;
  std::uint32_t nesting_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> onnx_;  // first token and end of the definition's ONNX mappings
};

}  // namespace rulemill::algebra::syntax
