// The recursive-descent parser of the definition language. Its methods are in definition_parser.cc,
// expression_parser.cc, function_parser.cc and mapping_parser.cc.
#pragma once

#include <algorithm>

#include "algebra/language/lexer.h"
#include "algebra/language/syntax.h"

namespace rulemill::algebra::syntax {

constexpr std::uint32_t max_nesting_depth = 250, max_tree_depth = 1000;
constexpr std::size_t max_arguments = 8;

class Parser {
 public:
  Parser(std::string_view text, const std::string& origin) : cursor_(text, origin) {}

  Definitions parse();

 private:
  Place here() const { return {cursor_.peek().line, cursor_.peek().column}; }

  /// The tokens from `start` to the cursor without ONNX mappings, separated by blanks. Digests are computed from it.
  std::string text_since(std::size_t start);

  /// One level of nesting in the text. Nesting and tree depth are bounded, so that recursion is safe.
  class NestingScope {
   public:
    explicit NestingScope(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > max_nesting_depth)
        parser_.cursor_.fail(parser_.cursor_.peek(), "a definition nested too deeply");
    }
    ~NestingScope() { --parser_.nesting_; }
    NestingScope(const NestingScope&) = delete;
    NestingScope& operator=(const NestingScope&) = delete;

   private:
    Parser& parser_;
  };

  template <class Node>
  std::shared_ptr<const Node> make_node(Node node, std::initializer_list<const std::shared_ptr<const Node>*> children) {
    for (const auto* child : children) {
      if (*child) node.depth = std::max(node.depth, (*child)->depth + 1);
    }
    if (node.depth > max_tree_depth) cursor_.fail(cursor_.peek(), "an expression of too many terms");
    return std::make_shared<Node>(std::move(node));
  }

  ScalarPtr make_node(Scalar node);

  // ---- scalar functions ----

  FunctionSyntax parse_function();

  /// The maximum number of values on the stack during evaluation.
  static std::size_t stack_depth(const Function& function);

  void emit(Function& function, Function::Op op) { function.program.push_back({op, 0, 0}); }

  void parse_real_sum(Function& function, const std::vector<std::string>& arguments);

  void parse_real_product(Function& function, const std::vector<std::string>& arguments);

  void parse_real_factor(Function& function, const std::vector<std::string>& arguments);

  static std::optional<Rational> exact_number(const std::string& text);

  DeclaredLaw parse_law(Function& function, const std::vector<std::string>& arguments);
  /// NAME: left = right when a > 0, b > 0, …
  DeclaredEquation parse_equation(const Function& function);

  // ---- index expressions ----

  IndexPtr make_binary(Index::Kind kind, IndexPtr a, IndexPtr b, Place place);

  IndexPtr make_node(Index index);

  IndexPtr parse_index();

  ParameterPredicate parse_predicate();

  IndexPtr parse_index_sum();

  IndexPtr parse_index_product();

  IndexPtr parse_index_factor();
  IndexPtr parse_named_index(const Token& token, Index index);

  Comparison parse_comparison();

  IndexItem parse_index_item();
  bool continues_expression(std::size_t ahead) const;

  // ---- scalar expressions ----

  ScalarPtr scalar(Scalar::Kind kind, std::vector<ScalarPtr> operands, Place place);

  ScalarPtr parse_scalar();

  ScalarPtr parse_scalar_sum();

  ScalarPtr parse_scalar_product();
  /// Returns whether the factor at the cursor has a value in it: a read, a call or a decimal. Divisors are sizes.
  bool has_value_ahead() const;

  ScalarPtr parse_scalar_factor();
  ScalarPtr parse_reduction(Scalar node);

  // ---- operators ----

  Operator parse_operator();

  Input parse_input();
  ScalarKind parse_scalar_kind();

  Parameter parse_parameter();
  void parse_domain(Parameter& parameter);
  void parse_kind(Parameter& parameter);
  Let parse_let();

  void parse_clause(Operator& op);

  Condition parse_condition();

  Tensor parse_tensor();

  std::shared_ptr<const Call> parse_call(const Operator& op);

  // ---- ONNX ----

  OnnxValueSyntax parse_onnx_value();

  double parse_number();
  std::string parse_domain();

  OnnxMappingSyntax parse_onnx();
  void parse_onnx_inputs(OnnxMappingSyntax& onnx);
  OnnxAttributeSyntax parse_onnx_attribute();

  TokenCursor cursor_;
  std::uint32_t nesting_ = 0;
  const Operator* operator_ = nullptr;                            // that is parsed
  std::vector<std::pair<std::size_t, std::size_t>> onnx_tokens_;  // token ranges of the definition's ONNX mappings
};

}  // namespace rulemill::algebra::syntax
