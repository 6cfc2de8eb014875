#include <catch2/catch.hpp>

#include "optimize/model/evaluate.h"
#include "optimize/onnx/export.h"
#include "optimize/onnx/mapping/resolve_einsum.h"
#include "tests/optimize/models.h"

namespace rulemill::optimize {

namespace {

using Order = std::vector<std::int64_t>;
using Dims = std::map<char, std::int64_t>;

const Dims dims = {{'b', 2}, {'c', 3}, {'h', 4}, {'k', 5}, {'w', 2}, {'y', 3}};

std::string reason_of(const std::string& equation) {
  const auto read = read_product_equation(equation, {false, false});
  const auto* reason = std::get_if<std::string>(&read);
  return reason == nullptr ? "" : *reason;
}

algebra::Tensor numbers(const std::string& letters, int seed) {
  algebra::Tensor tensor;
  std::int64_t count = 1;
  for (const char letter : letters) {
    tensor.shape.push_back(dims.at(letter));
    count *= dims.at(letter);
  }
  for (std::int64_t i = 0; i < count; ++i) tensor.values.push_back(static_cast<double>((i * 7 + seed) % 11) - 5);
  return tensor;
}

std::size_t position(const std::string& letters, const Dims& at) {
  std::int64_t result = 0;
  for (const char letter : letters) result = result * dims.at(letter) + at.at(letter);
  return static_cast<std::size_t>(result);
}

/// The sum over all values of all letters, as the equation states it.
algebra::Tensor by_definition(const std::string& first, const std::string& second, const std::string& result) {
  const algebra::Tensor a = numbers(first, 1), b = numbers(second, 4);
  algebra::Tensor sum = numbers(result, 0);
  std::ranges::fill(sum.values, 0);
  std::map<char, std::int64_t> at;
  for (const char letter : first + second) at[letter] = 0;
  while (true) {
    sum.values[position(result, at)] += a.values[position(first, at)] * b.values[position(second, at)];
    auto next = at.begin();
    while (next != at.end() && ++next->second == dims.at(next->first)) (next++)->second = 0;
    if (next == at.end()) return sum;
  }
}

std::vector<std::string> dims_of(const std::string& letters) {
  std::vector<std::string> result;
  for (const char letter : letters) result.push_back(std::to_string(dims.at(letter)));
  return result;
}

struct Imported {
  algebra::Tensor value;
  std::vector<std::string> written;  // operators of the exported nodes
};

Imported import_product(const std::string& first, const std::string& second, const std::string& result) {
  ModelText text(17, DataType::Float64);
  text.input("p", dims_of(first)).input("q", dims_of(second)).output("y", dims_of(result));
  text.node("Einsum", {"p", "q"}, {"y"}, {"equation='" + first + "," + second + "->" + result + "'"});
  RulesFromText definitions;
  GraphBank bank(definitions.library, definitions.symbols);
  const OnnxModel model = text.parsed();
  const ImportedModel import = imported(model, bank);
  REQUIRE_FALSE(import.nodes.at(0).lowered.is_opaque());
  Fusion fusion(bank, {});
  Imported read;
  for (const ExportNode& node : plan_export(model, import, bank, fusion, import.outputs).nodes)
    read.written.push_back(node.original ? "original" : node.spec.op_type);
  GraphEvaluator evaluator(bank, {}, [&](ValueId id) {
    const bool is_first = bank.value(id).name == "p";
    return std::make_shared<const algebra::Tensor>(is_first ? numbers(first, 1) : numbers(second, 4));
  });
  read.value = *evaluator.value(import.outputs.at(0));
  return read;
}

}  // namespace

TEST_CASE("an Einsum of two operands is a product of matrices that computes its sums", "[einsum]") {
  using Case = std::array<std::string, 3>;
  const auto [first, second, result] =
      GENERATE(Case{"bck", "bkh", "bch"}, Case{"byhwc", "hkc", "byhwk"}, Case{"byhwc", "wkc", "byhwk"},
               Case{"bchw", "bkhw", "bhck"}, Case{"hkc", "byhwc", "kbwyh"}, Case{"ck", "kh", "hc"},
               Case{"bhwc", "ck", "kwhb"}, Case{"kcw", "bhkyw", "hcbyk"});
  INFO(first << ", " << second << " -> " << result);
  const Imported read = import_product(first, second, result);
  const algebra::Tensor expected = by_definition(first, second, result);
  CHECK(read.value.shape == expected.shape);
  CHECK(read.value.values == expected.values);
}

TEST_CASE("an Einsum is written as a MatMul with the transpositions that it needs", "[einsum]") {
  using Written = std::vector<std::string>;
  CHECK(import_product("bck", "bkh", "bch").written == Written{"MatMul"});
  CHECK(import_product("bck", "bhk", "bch").written == Written{"Transpose", "MatMul"});
  CHECK(import_product("ck", "kh", "hc").written.size() == 2);
}

TEST_CASE("the product of an equation has few transpositions", "[einsum]") {
  const auto read = read_product_equation("byhwc, wkc -> byhwk", {false, true});
  REQUIRE(std::holds_alternative<ProductEquation>(read));
  const auto& product = std::get<ProductEquation>(read);
  CHECK_FALSE(product.exchanged);
  CHECK(product.left.size() + product.result.size() == 10);
  CHECK(product.right == Order{0, 2, 1});
  const auto plain = std::get<ProductEquation>(read_product_equation("byhwc,hkc->byhwk", {false, false}));
  CHECK(plain.left.empty());
  CHECK(plain.result.empty());
}

TEST_CASE("an equation that is no product of matrices says why", "[einsum]") {
  CHECK(reason_of("ij,jk") == "its equation states no result");
  CHECK(reason_of("...j,jk->...k") == "its equation has an ellipsis");
  CHECK(reason_of("ij->ji") == "its equation does not have two operands");
  CHECK(reason_of("ij,jk,kl->il") == "its equation does not have two operands");
  CHECK(reason_of("ii,ik->ik") == "its equation repeats an index");
  CHECK(reason_of("ij,jk->kl") == "its result has an index of no operand");
  CHECK(reason_of("ij,jk->k") == "its equation sums over an index of one operand");
  CHECK(reason_of("ijl,jlk->ik") == "its equation does not sum over exactly one index");
  CHECK(reason_of("i,j->ij") == "its equation does not sum over exactly one index");
  CHECK(reason_of("ij,j->i") == "its equation is a product with vectors");
  CHECK(reason_of("abj,jkl->abkl") == "its equation has several indices of each operand");
}

TEST_CASE("an Einsum of operands that its equation does not fit stays a node", "[einsum]") {
  ModelText text(17);
  text.input("p", {"2", "3", "4"}).input("q", {"4", "5"}).output("y", {"2", "3", "5"});
  text.node("Einsum", {"p", "q"}, {"y"}, {"equation='ij,jk->ik'"});
  RulesFromText definitions;
  GraphBank bank(definitions.library, definitions.symbols);
  const ImportedModel import = imported(text.parsed(), bank);
  CHECK(import.nodes.at(0).reason == "an operand has another rank than in its equation");
}

TEST_CASE("an Einsum is written as a product, though no rule applies", "[einsum]") {
  const runtime::ScratchFolder scratch;
  ModelText text(17);
  text.input("p", {"2", "3", "4"}).input("q", {"2", "4", "5"}).output("y", {"2", "3", "5"});
  text.node("Einsum", {"p", "q"}, {"y"}, {"equation='bij,bjk->bik'"});
  Options options;
  options.model = text.save(scratch / "in.onnx");
  options.out = scratch / "out.onnx";
  RulesFromText no_rules;
  no_rules.optimize(options);
  const OnnxModel written = OnnxModel::read(options.out);
  REQUIRE(written.proto().model.graph().node_size() == 1);
  CHECK(written.proto().model.graph().node(0).op_type() == "MatMul");
}

}  // namespace rulemill::optimize
