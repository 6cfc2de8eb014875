// Parser of the definition language: operators and scalar functions.
#include <algorithm>

#include "algebra/language/lexer.h"
#include "algebra/language/syntax.h"

namespace rulemill::algebra::syntax {
namespace {

constexpr std::uint32_t deepest_nesting = 250, deepest_tree = 1000;
constexpr std::size_t most_arguments = 8;

class Parser {
 public:
  Parser(std::string_view text, const std::string& origin) : cursor_(text, origin) {}

  Definitions parse() {
    Definitions definitions;
    definitions.origin = cursor_.origin();
    while (!cursor_.at_end()) {
      const std::size_t start = cursor_.position();
      if (cursor_.accept("include")) {
        const Token folder = cursor_.next();
        if (folder.kind != Token::Kind::String)
          cursor_.fail(folder, "expected a folder of definitions in quotes, found " + quoted(folder));
        definitions.includes.push_back({folder.text, place(cursor_.origin(), folder.line, folder.column)});
      } else if (cursor_.accept("operator")) {
        Operator op = parse_operator();
        op.text = text_since(start);
        definitions.operators.push_back(std::move(op));
      } else if (cursor_.accept("function")) {
        definitions.functions.push_back(parse_function());
        definitions.functions.back().text = text_since(start);
      } else {
        cursor_.fail(cursor_.peek(), "expected 'operator', 'function' or 'include', found " + quoted(cursor_.peek()));
      }
    }
    return definitions;
  }

 private:
  Place here() const { return {cursor_.peek().line, cursor_.peek().column}; }

  /// The tokens from `start` to the cursor but for ONNX mappings, one blank apart: what a definition's digest is made
  /// of.
  std::string text_since(std::size_t start) {
    const std::size_t end = cursor_.position();
    std::string text;
    cursor_.rewind(start);
    auto skipped = onnx_.begin();
    while (cursor_.position() < end) {
      if (skipped != onnx_.end() && skipped->first == cursor_.position()) {
        cursor_.rewind((skipped++)->second);
      } else {
        text += cursor_.next().text + " ";
      }
    }
    cursor_.rewind(end);
    onnx_.clear();
    return text;
  }

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

  ScalarPtr finished(Scalar node) {
    for (const ScalarPtr& operand : node.operands) node.depth = std::max(node.depth, operand->depth + 1);
    return finished<Scalar>(std::move(node), {});
  }

  // ---- scalar functions ----

  FunctionSyntax parse_function() {
    FunctionSyntax syntax;
    Function& function = syntax.function;
    const Token name = cursor_.peek();
    syntax.place = place(cursor_.origin(), name.line, name.column);
    function.name = cursor_.name("a function's name");
    std::vector<std::string> arguments;
    cursor_.expect("(", "after the function's name");
    do arguments.push_back(cursor_.name("an argument's name"));
    while (cursor_.accept(","));
    cursor_.expect(")", "after the arguments");
    if (arguments.size() > most_arguments) {
      cursor_.fail(name,
                   "function '" + function.name + "' has more than " + std::to_string(most_arguments) + " arguments");
    }
    function.arity = static_cast<std::uint32_t>(arguments.size());
    cursor_.expect("=", "before what the function computes");
    parse_real_sum(function, arguments);
    if (stack_of(function) > Function::deepest_stack)
      cursor_.fail(name, "function '" + function.name + "' is nested too deeply");
    while (cursor_.accept("law")) syntax.laws.push_back(parse_law(function, arguments));
    const std::size_t mapping = cursor_.position();
    if (cursor_.accept("onnx")) {
      function.onnx = cursor_.name("an ONNX operator");
      onnx_.emplace_back(mapping, cursor_.position());
    }
    return syntax;
  }

  /// How many values its evaluation holds at once.
  static std::size_t stack_of(const Function& function) {
    std::size_t height = 0, highest = 0;
    for (const Function::Node& node : function.real) {
      const bool leaf = node.op == Function::Op::Argument || node.op == Function::Op::Number;
      const bool unary = node.op >= Function::Op::Exp;
      height = leaf ? height + 1 : unary ? height : height - 1;
      highest = std::max(highest, height);
    }
    return highest;
  }

  void emit(Function& function, Function::Op op) { function.real.push_back({op, 0, 0}); }

  void parse_real_sum(Function& function, const std::vector<std::string>& arguments) {
    const Nested nested(*this);
    parse_real_product(function, arguments);
    while (cursor_.is("+") || cursor_.is("-")) {
      const auto op = cursor_.next().text == "+" ? Function::Op::Add : Function::Op::Sub;
      parse_real_product(function, arguments);
      emit(function, op);
    }
  }

  void parse_real_product(Function& function, const std::vector<std::string>& arguments) {
    parse_real_factor(function, arguments);
    while (cursor_.is("*") || cursor_.is("/")) {
      const auto op = cursor_.next().text == "*" ? Function::Op::Mul : Function::Op::Div;
      parse_real_factor(function, arguments);
      emit(function, op);
    }
  }

  void parse_real_factor(Function& function, const std::vector<std::string>& arguments) {
    const Token token = cursor_.next();
    if (token.kind == Token::Kind::Number || token.kind == Token::Kind::Decimal) {
      function.real.push_back({Function::Op::Number, std::stod(token.text), 0, exact_number(token.text)});
      return;
    }
    if (token.text == "-") {
      const Nested nested(*this);
      function.real.push_back({Function::Op::Number, 0, 0, Rational{0, 1}});
      parse_real_factor(function, arguments);
      emit(function, Function::Op::Sub);
      return;
    }
    if (token.text == "(") {
      parse_real_sum(function, arguments);
      cursor_.expect(")", "to close the parenthesis");
      return;
    }
    if (const auto found = std::ranges::find(arguments, token.text); found != arguments.end()) {
      function.real.push_back({Function::Op::Argument, 0, static_cast<std::uint32_t>(found - arguments.begin())});
      return;
    }
    struct Primitive {
      const char* name;
      Function::Op op;
      int arity;
    };
    static constexpr Primitive primitives[] = {{"max", Function::Op::Max, 2},   {"min", Function::Op::Min, 2},
                                               {"exp", Function::Op::Exp, 1},   {"log", Function::Op::Log, 1},
                                               {"sqrt", Function::Op::Sqrt, 1}, {"tanh", Function::Op::Tanh, 1},
                                               {"erf", Function::Op::Erf, 1},   {"abs", Function::Op::Abs, 1}};
    for (const Primitive& primitive : primitives) {
      if (token.text != primitive.name) continue;
      cursor_.expect("(", "after " + token.text);
      for (int i = 0; i < primitive.arity; ++i) {
        if (i > 0) cursor_.expect(",", "between arguments");
        parse_real_sum(function, arguments);
      }
      cursor_.expect(")", "after the arguments of " + token.text);
      emit(function, primitive.op);
      return;
    }
    cursor_.fail(token,
                 "expected an argument of the function, a number, or one of max min exp log sqrt tanh erf abs, found " +
                     quoted(token));
  }

  static std::optional<Rational> exact_number(const std::string& text) {
    if (text.size() > 16) return std::nullopt;
    std::int64_t number = 0, scale = 1;
    bool fraction = false;
    for (const char c : text) {
      if (c == '.') {
        fraction = true;
        continue;
      }
      number = number * 10 + (c - '0');
      if (fraction) scale *= 10;
    }
    return make_rational(number, scale);
  }

  /// f(0) = 0, f(f(t)) = f(t), f(s, t) = f(t, s): the laws that the prover and the field know how to keep.
  LawClaim parse_law(Function& function, const std::vector<std::string>& arguments) {
    const Token start = cursor_.peek();
    LawClaim claim;
    claim.place = place(cursor_.origin(), start.line, start.column);
    std::string left, right;
    std::string* side = &left;
    int depth = 0;
    constexpr std::size_t longest = 1000;
    while (!cursor_.at_end() && left.size() + right.size() < longest) {
      if (depth == 0 && side == &right && !right.empty() && !cursor_.is("(")) break;
      if (depth == 0 && cursor_.is("=")) {
        cursor_.next();
        side = &right;
        continue;
      }
      const Token token = cursor_.next();
      if (token.text == "(") ++depth;
      if (token.text == ")") --depth;
      *side += token.text;
    }
    const std::string& f = function.name;
    const std::string& t = arguments[0];
    if (function.arity == 1 && left == f + "(0)" && right == "0") {
      claim.law = Law::ZeroToZero;
    } else if (function.arity == 1 && left == f + "(" + f + "(" + t + "))" && right == f + "(" + t + ")") {
      claim.law = Law::Idempotent;
    } else if (function.arity == 2 && left == f + "(" + t + "," + arguments[1] + ")" &&
               right == f + "(" + arguments[1] + "," + t + ")") {
      claim.law = Law::Commutative;
    } else {
      const std::string found = left.size() + right.size() < 200 ? "; found " + left + " = " + right : "";
      cursor_.fail(start, "a law must have the form " + f + "(0) = 0, " + f + "(" + f + "(t)) = " + f + "(t) or " + f +
                              "(s, t) = " + f + "(t, s)" + found);
    }
    const std::string both = f + "(" + t + ", " + arguments.back() + ")";
    claim.text = claim.law == Law::ZeroToZero   ? f + "(0) = 0"
                 : claim.law == Law::Idempotent ? f + "(" + f + "(" + t + ")) = " + f + "(" + t + ")"
                                                : both + " = " + f + "(" + arguments.back() + ", " + t + ")";
    return claim;
  }

  // ---- index expressions ----

  IndexPtr binary(Index::Kind kind, IndexPtr a, IndexPtr b, Place place) {
    Index index;
    index.kind = kind;
    index.place = place;
    index.a = std::move(a);
    index.b = std::move(b);
    return finished(std::move(index));
  }

  IndexPtr finished(Index index) {
    const IndexPtr a = index.a, b = index.b;
    return finished<Index>(std::move(index), {&a, &b});
  }

  IndexPtr parse_index() {
    const Nested nested(*this);
    IndexPtr value = parse_index_sum();
    if (cursor_.is("if") && cursor_.is("=", 2) && cursor_.is("else", 4)) {
      Index index;
      index.kind = Index::Kind::If;
      index.place = here();
      index.choice = parse_choice();
      cursor_.expect("else", "after the choice");
      index.a = std::move(value);
      index.b = parse_index();
      return finished(std::move(index));
    }
    return value;
  }

  Choice parse_choice() {
    cursor_.expect("if", "before a choice");
    Choice choice;
    choice.parameter = cursor_.name("a parameter's name");
    cursor_.expect("=", "after the parameter");
    choice.word = cursor_.name("one of the parameter's words");
    return choice;
  }

  IndexPtr parse_index_sum() {
    IndexPtr value = parse_index_product();
    while (cursor_.is("+") || cursor_.is("-")) {
      const Place place = here();
      const auto kind = cursor_.next().text == "+" ? Index::Kind::Add : Index::Kind::Sub;
      value = binary(kind, value, parse_index_product(), place);
    }
    return value;
  }

  IndexPtr parse_index_product() {
    IndexPtr value = parse_index_factor();
    while (cursor_.is("*") || cursor_.is("/") || cursor_.is("//") || cursor_.is("%")) {
      const Place place = here();
      const std::string op = cursor_.next().text;
      const auto kind = op == "*"    ? Index::Kind::Mul
                        : op == "/"  ? Index::Kind::Exact
                        : op == "//" ? Index::Kind::Floor
                                     : Index::Kind::Mod;
      value = binary(kind, value, parse_index_factor(), place);
    }
    return value;
  }

  IndexPtr parse_index_factor() {
    const Nested nested(*this);
    const Token token = cursor_.peek();
    Index index;
    index.place = here();
    if (token.kind == Token::Kind::Number) {
      index.number = cursor_.number("a number");
      return std::make_shared<Index>(std::move(index));
    }
    if (cursor_.accept("(")) {
      IndexPtr inner = parse_index();
      cursor_.expect(")", "to close the parenthesis");
      return inner;
    }
    if (cursor_.accept("-"))
      return binary(Index::Kind::Sub, std::make_shared<Index>(), parse_index_factor(), index.place);
    if (token.kind == Token::Kind::Name) {
      cursor_.next();
      if ((token.text == "min" || token.text == "max") && cursor_.accept("(")) {
        IndexPtr a = parse_index();
        cursor_.expect(",", "between the operands of " + token.text);
        IndexPtr b = parse_index();
        cursor_.expect(")", "after the operands of " + token.text);
        return binary(token.text == "min" ? Index::Kind::Min : Index::Kind::Max, a, b, index.place);
      }
      index.name = token.text;
      index.kind = Index::Kind::Name;
      if (cursor_.is("(")) {
        cursor_.fail(token, "expected an index expression, found a call of '" + token.text + "'");
      }
      if (cursor_.accept("[")) {
        index.kind = Index::Kind::Element;
        index.a = parse_index();
        cursor_.expect("]", "after the position within '" + token.text + "'");
      }
      return finished(std::move(index));
    }
    cursor_.fail(token, "expected an index expression, found " + quoted(token));
  }

  Comparison parse_comparison() {
    Comparison comparison;
    comparison.a = parse_index();
    const Token token = cursor_.next();
    comparison.b = parse_index();
    if (token.text == "=")
      comparison.relation = Relation::Eq;
    else if (token.text == "!=")
      comparison.relation = Relation::Ne;
    else if (token.text == "<")
      comparison.relation = Relation::Lt;
    else if (token.text == "<=")
      comparison.relation = Relation::Le;
    else if (token.text == ">" || token.text == ">=") {
      comparison.relation = token.text == ">" ? Relation::Lt : Relation::Le;
      std::swap(comparison.a, comparison.b);
    } else {
      cursor_.fail(token, "expected one of = != < <= > >=, found " + quoted(token));
    }
    return comparison;
  }

  /// One index of a read or one dimension of an output; packs as in syntax.h.
  Entry parse_entry() {
    Entry entry;
    entry.place = here();
    if (cursor_.peek().kind != Token::Kind::Name || !cursor_.is("...", 1)) {
      entry.single = parse_index();
      return entry;
    }
    entry.pack = cursor_.next().text;
    cursor_.next();
    if (cursor_.accept("[")) {
      entry.gather = cursor_.name("a permutation parameter");
      cursor_.expect("]", "after the permutation");
    } else if (cursor_.accept("at")) {
      entry.scatter = cursor_.name("a permutation parameter");
    } else if (cursor_.accept("with")) {
      entry.with = cursor_.name("an axis parameter");
      cursor_.expect(":", "after the axis that changes");
      entry.change = parse_index();
    }
    return entry;
  }

  // ---- scalar expressions ----

  ScalarPtr scalar(Scalar::Kind kind, std::vector<ScalarPtr> operands, Place place) {
    Scalar node;
    node.kind = kind;
    node.place = place;
    node.operands = std::move(operands);
    return finished(std::move(node));
  }

  ScalarPtr parse_scalar() {
    const Nested nested(*this);
    ScalarPtr value = parse_scalar_sum();
    if (!cursor_.is("if")) return value;
    Scalar node;
    node.kind = Scalar::Kind::Case;
    node.place = here();
    cursor_.next();
    do node.guard.push_back(parse_comparison());
    while (cursor_.accept("and"));
    cursor_.expect("else", "after the condition");
    node.operands = {value, parse_scalar()};
    return finished(std::move(node));
  }

  ScalarPtr parse_scalar_sum() {
    ScalarPtr value = parse_scalar_product();
    while (cursor_.is("+") || cursor_.is("-")) {
      const Place place = here();
      const auto kind = cursor_.next().text == "+" ? Scalar::Kind::Add : Scalar::Kind::Sub;
      value = scalar(kind, {value, parse_scalar_product()}, place);
    }
    return value;
  }

  ScalarPtr parse_scalar_product() {
    ScalarPtr value = parse_scalar_factor();
    while (cursor_.is("*") || cursor_.is("/")) {
      const Place place = here();
      if (cursor_.next().text == "*") {
        value = scalar(Scalar::Kind::Mul, {value, parse_scalar_factor()}, place);
      } else {
        Scalar node;
        node.kind = Scalar::Kind::DivideBySize;
        node.place = place;
        node.divisor = parse_index_factor();
        node.operands = {value};
        value = finished(std::move(node));
      }
    }
    return value;
  }

  ScalarPtr parse_scalar_factor() {
    const Nested nested(*this);
    const Token token = cursor_.peek();
    Scalar node;
    node.place = here();
    if (token.kind == Token::Kind::Number) {
      node.number = {cursor_.number("a number"), 1};
      return std::make_shared<Scalar>(std::move(node));
    }
    if (cursor_.accept("-"))
      return scalar(Scalar::Kind::Sub, {std::make_shared<Scalar>(), parse_scalar_factor()}, node.place);
    if (cursor_.accept("(")) {
      ScalarPtr inner = parse_scalar();
      cursor_.expect(")", "to close the parenthesis");
      return inner;
    }
    if (token.kind != Token::Kind::Name) cursor_.fail(token, "expected a value, found " + quoted(token));
    cursor_.next();
    const bool reduces = (token.text == "sum" || token.text == "max") && cursor_.is("(") &&
                         cursor_.peek(1).kind == Token::Kind::Name && cursor_.is("<", 2);
    if (reduces) {
      node.kind = token.text == "sum" ? Scalar::Kind::Sum : Scalar::Kind::Max;
      cursor_.next();
      do {
        Binding binding;
        binding.place = here();
        binding.name = cursor_.name("a bound index");
        cursor_.expect("<", "after the bound index");
        binding.extent = parse_index();
        node.bound.push_back(std::move(binding));
      } while (cursor_.accept(","));
      if (node.kind == Scalar::Kind::Max && cursor_.accept("where")) {
        do node.guard.push_back(parse_comparison());
        while (cursor_.accept("and"));
      }
      cursor_.expect(")", "after the bound indices");
      node.operands = {parse_scalar_product()};
      return finished(std::move(node));
    }
    node.name = token.text;
    if (cursor_.accept("[")) {
      node.kind = Scalar::Kind::Read;
      if (!cursor_.is("]")) {
        do node.indices.push_back(parse_entry());
        while (cursor_.accept(","));
      }
      cursor_.expect("]", "after the indices of '" + node.name + "'");
      return std::make_shared<Scalar>(std::move(node));
    }
    if (cursor_.accept("(")) {
      node.kind = Scalar::Kind::Apply;
      do node.operands.push_back(parse_scalar());
      while (cursor_.accept(","));
      cursor_.expect(")", "after the arguments of '" + node.name + "'");
      return finished(std::move(node));
    }
    cursor_.fail(token, "'" + token.text + "' is no value: expected a read " + token.text + "[…] or a call " +
                            token.text + "(…)");
  }

  // ---- operators ----

  Operator parse_operator() {
    Operator op;
    op.place = here();
    op.origin = cursor_.origin();
    op.name = cursor_.name("an operator's name");
    cursor_.expect("(", "after the operator's name");
    if (!cursor_.is(")") && !cursor_.is(";")) {
      do op.inputs.push_back(parse_input());
      while (cursor_.accept(","));
    }
    if (cursor_.accept(";")) {
      do op.parameters.push_back(parse_parameter());
      while (cursor_.accept(","));
    }
    cursor_.expect(")", "after the operator's inputs and parameters");
    if (cursor_.accept("is")) op.composite = parse_call(op);
    while (!cursor_.at_end() && !cursor_.is("operator") && !cursor_.is("function")) parse_clause(op);
    if (op.outputs.empty() && !op.composite)
      cursor_.fail(cursor_.peek(), "operator '" + op.name + "' defines no output");
    return op;
  }

  Input parse_input() {
    Input input;
    input.place = here();
    input.name = cursor_.name("an input's name");
    cursor_.expect("[", "after the input's name");
    while (!cursor_.is("]")) {
      InputDim dim;
      dim.place = here();
      if (cursor_.peek().kind == Token::Kind::Number) {
        dim.number = cursor_.number("a dimension");
      } else {
        dim.name = cursor_.name("a dimension's name");
        dim.is_pack = cursor_.accept("...");
      }
      input.dims.push_back(std::move(dim));
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("]", "after the dimensions of '" + input.name + "'");
    return input;
  }

  Parameter parse_parameter() {
    Parameter parameter;
    parameter.place = here();
    parameter.name = cursor_.name("a parameter's name");
    const bool pack = cursor_.accept("...");
    if (cursor_.accept("<")) {
      cursor_.expect("rank", "after '<'");
      parameter.kind = Parameter::Kind::Axis;
    } else if (cursor_.accept("in")) {
      cursor_.expect("{", "before the parameter's values");
      do {
        if (cursor_.peek().kind == Token::Kind::Number)
          parameter.numbers.push_back(cursor_.number("a value"));
        else
          parameter.words.push_back(cursor_.name("a value"));
      } while (cursor_.accept(","));
      cursor_.expect("}", "after the parameter's values");
      if (!parameter.words.empty() && !parameter.numbers.empty()) {
        cursor_.fail(cursor_.peek(), "the values of '" + parameter.name + "' mix words and numbers");
      }
      parameter.kind = parameter.words.empty() ? Parameter::Kind::Int : Parameter::Kind::Words;
      if (parameter.words.empty())
        parameter.default_value = parameter.numbers.front();
      else
        parameter.default_value = parameter.words.front();
    } else {
      cursor_.expect(":", "after the parameter's name");
      const Token token = cursor_.peek();
      const std::string kind = cursor_.name("a parameter's kind");
      if (kind == "size")
        parameter.kind = Parameter::Kind::Size;
      else if (kind == "sizes")
        parameter.kind = Parameter::Kind::Sizes;
      else if (kind == "int")
        parameter.kind = Parameter::Kind::Int;
      else if (kind == "permutation")
        parameter.kind = Parameter::Kind::Permutation;
      else
        cursor_.fail(token, "expected size, sizes, int or permutation, found '" + kind + "'");
    }
    if (pack != (parameter.kind == Parameter::Kind::Sizes)) {
      cursor_.fail(cursor_.peek(), "a pack of sizes is written name... : sizes");
    }
    if (cursor_.accept("=")) {
      if (cursor_.peek().kind == Token::Kind::Number)
        parameter.default_value = cursor_.number("a default");
      else
        parameter.default_value = cursor_.name("a default");
    }
    return parameter;
  }

  void parse_clause(Operator& op) {
    const Token token = cursor_.peek();
    if (cursor_.accept("commutative")) {
      op.commutative = true;
    } else if (cursor_.accept("where")) {
      do op.conditions.push_back(parse_condition());
      while (cursor_.accept(","));
    } else if (cursor_.accept("let")) {
      do {
        const std::string name = cursor_.name("a name");
        cursor_.expect("=", "after the name");
        op.lets.emplace_back(name, parse_index());
      } while (cursor_.accept(","));
    } else if (cursor_.accept("tensor")) {
      op.tensors.push_back(parse_tensor());
    } else if (const std::size_t start = cursor_.position(); cursor_.accept("onnx")) {
      op.onnx.push_back(parse_onnx());
      onnx_.emplace_back(start, cursor_.position());
    } else if (token.kind == Token::Kind::Name && cursor_.is("[", 1)) {
      op.outputs.push_back(parse_tensor());
    } else {
      cursor_.fail(token,
                   "expected where, let, tensor, commutative, onnx or an output 'name[…] = …', found " + quoted(token));
    }
  }

  Condition parse_condition() {
    Condition condition;
    condition.place = here();
    if (cursor_.peek().kind == Token::Kind::Name && cursor_.is("=", 1) && cursor_.is("except", 3)) {
      condition.except_left = cursor_.next().text;
      cursor_.next();
      condition.except_right = cursor_.name("a pack of dimensions");
      cursor_.next();
      condition.except_axis = cursor_.name("an axis parameter");
      return condition;
    }
    condition.comparison = parse_comparison();
    if (cursor_.is("if")) condition.choice = parse_choice();
    return condition;
  }

  Tensor parse_tensor() {
    Tensor tensor;
    tensor.place = here();
    tensor.name = cursor_.name("a tensor's name");
    cursor_.expect("[", "after '" + tensor.name + "'");
    while (!cursor_.is("]")) {
      OutputIndex index;
      index.place = here();
      index.name = cursor_.name("an index");
      index.is_pack = cursor_.accept("...");
      cursor_.expect("<", "after the index '" + index.name + "', before its extent");
      index.extent = parse_entry();
      tensor.indices.push_back(std::move(index));
      if (!cursor_.accept(",")) break;
    }
    cursor_.expect("]", "after the indices of '" + tensor.name + "'");
    cursor_.expect("=", "before what '" + tensor.name + "' is");
    tensor.body = parse_scalar();
    return tensor;
  }

  std::shared_ptr<const Call> parse_call(const Operator& op) {
    const Nested nested(*this);
    Call call;
    call.place = here();
    call.name = cursor_.name("an operator or an input");
    if (!cursor_.accept("(")) {
      call.is_input = true;
      return std::make_shared<Call>(std::move(call));
    }
    if (!cursor_.is(")") && !cursor_.is(";")) {
      do call.arguments.push_back(parse_call(op));
      while (cursor_.accept(","));
    }
    if (cursor_.accept(";")) {
      do {
        const std::string name = cursor_.name("a parameter's name");
        cursor_.expect("=", "after the parameter's name");
        call.parameters.emplace_back(name, parse_index());
      } while (cursor_.accept(","));
    }
    cursor_.expect(")", "after the arguments of '" + call.name + "'");
    return std::make_shared<Call>(std::move(call));
  }

  // ---- ONNX ----

  OnnxEntry parse_onnx_value(const Operator* = nullptr) {
    OnnxEntry value;
    const Token token = cursor_.peek();
    if (token.kind == Token::Kind::String) {
      value.word = cursor_.next().text;
    } else if (token.kind == Token::Kind::Decimal) {
      value.number = std::stod(cursor_.next().text);
    } else if (cursor_.accept("[")) {
      value.is_list = true;
      if (!cursor_.is("]")) {
        do value.values.push_back(parse_entry());
        while (cursor_.accept(","));
      }
      cursor_.expect("]", "after the list");
    } else {
      value.values.push_back(parse_entry());
    }
    return value;
  }

  OnnxSyntax parse_onnx() {
    OnnxSyntax onnx;
    onnx.place = here();
    onnx.op_type = cursor_.name("an ONNX operator");
    if (cursor_.accept("(")) {
      while (!cursor_.is(")")) {
        if (cursor_.accept("...")) {
          onnx.variadic = true;
        } else if (cursor_.accept("const")) {
          onnx.inputs.emplace_back("", parse_onnx_value());
        } else {
          onnx.inputs.emplace_back(cursor_.name("an input of the operator"), OnnxEntry{});
        }
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect(")", "after the ONNX inputs");
    }
    while (true) {
      if (cursor_.accept("since")) {
        onnx.since = static_cast<int>(cursor_.number("an opset"));
      } else if (cursor_.accept("until")) {
        onnx.until = static_cast<int>(cursor_.number("an opset"));
      } else if (cursor_.accept("then")) {
        onnx.wrapper = cursor_.name("a parameter that names a function");
      } else if (cursor_.is("if")) {
        onnx.choice = parse_choice();
      } else {
        break;
      }
    }
    if (cursor_.accept("{")) {
      while (!cursor_.is("}")) {
        OnnxAttributeSyntax attribute;
        attribute.name = cursor_.name("an attribute's name");
        attribute.ignored = cursor_.accept("any");
        if (!attribute.ignored) {
          cursor_.expect("=", "after the attribute's name");
          attribute.value = parse_onnx_value();
        }
        if (!attribute.ignored && cursor_.accept("absent")) {
          if (cursor_.accept("any"))
            attribute.absent_any = true;
          else if (cursor_.peek().kind == Token::Kind::String)
            attribute.absent_word = cursor_.next().text;
          else
            attribute.absent = cursor_.number("what absence means");
        }
        onnx.attributes.push_back(std::move(attribute));
        if (!cursor_.accept(",")) break;
      }
      cursor_.expect("}", "after the ONNX attributes");
    }
    return onnx;
  }

  TokenCursor cursor_;
  std::uint32_t nesting_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> onnx_;  // first token and end of the definition's ONNX mappings
};

}  // namespace

Definitions parse(std::string_view text, const std::string& origin) { return Parser(text, origin).parse(); }

}  // namespace rulemill::algebra::syntax
