// ONNX models, until they are imported as terms: parsed, validated, typed.
#include "optimize/model/graph.h"
#include "optimize/onnx/import.h"
#include "tests/fuzz/parser.h"

namespace rulemill::fuzz {
namespace {

void read_model(runtime::ByteView bytes) {
  static algebra::Library library = algebra::Library::load("data/operators");
  const auto model = optimize::OnnxModel::parse(runtime::text_of(bytes), "fuzzed.onnx", "tests/corpus/models");
  algebra::Symbols symbols;
  optimize::GraphBank bank(library, symbols);
  optimize::import_model(model, bank);
}

}  // namespace

void add_model_parser(std::vector<Parser>& parsers) {
  parsers.push_back({"models", "fuzzed.onnx", read_model, "onnx.ModelProto", nullptr, {}, {}});
}

}  // namespace rulemill::fuzz
