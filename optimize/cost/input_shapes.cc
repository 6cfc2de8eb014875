#include "optimize/cost/input_shapes.h"

#include <algorithm>

#include "optimize/model/given_inputs.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::optimize {

std::pair<std::string, std::vector<std::int64_t>> parse_input_shape(const std::string& text) {
  const auto fail = [&] {
    throw runtime::UsageError("--input-shape", "expected NAME:1x3x224x224, found '" + text + "'");
  };
  std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) fail();
  std::vector<std::int64_t> dims;
  std::int64_t number = 0;
  bool digits = false;
  for (std::size_t i = colon + 1; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : 'x';
    if (c >= '0' && c <= '9' && number < 1'000'000'000) {
      number = number * 10 + (c - '0');
      digits = true;
    } else if ((c == 'x' || c == ',') && digits && number > 0) {
      dims.push_back(number);
      number = 0;
      digits = false;
    } else {
      fail();
    }
  }
  return {text.substr(0, colon), dims};
}

void require_inputs(const InputShapes& shapes, const OnnxModel& model) {
  const std::vector<std::string> known = model.input_names();
  for (const auto& [name, dims] : shapes) {
    if (std::ranges::find(known, name) == known.end())
      throw runtime::UsageError("--input-shape", runtime::unknown_name("input of the model", name, known));
  }
}

GraphEvaluator::Sizes given_sizes(const InputShapes& shapes, const ImportedModel& import, const GraphBank& bank) {
  GraphEvaluator::Sizes sizes;
  for (const auto& [input, dims] : shapes) {
    const std::string& name = input;  // lambdas cannot capture structured bindings
    auto found = std::ranges::find_if(import.inputs, [&](ValueId id) { return bank.value(id).name == name; });
    if (found == import.inputs.end() || !bank.value(*found).type)
      throw runtime::UsageError("--input-shape", "the model has no float input '" + name + "' of known rank");
    const algebra::Shape& shape = *bank.value(*found).type;
    if (add_sizes(sizes, shape, dims)) continue;
    GraphEvaluator::Sizes own;
    throw runtime::UsageError("--input-shape",
                              "input '" + name + "' is " + shape_text(shape, bank.symbols()) +
                                  (add_sizes(own, shape, dims) ? ", of other sizes than given for another input" : ""));
  }
  return sizes;
}

}  // namespace rulemill::optimize
