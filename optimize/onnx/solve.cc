#include "optimize/onnx/solve.h"

#include <algorithm>
#include <numeric>

#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// Junk nodes cannot make the search for parameters explode.
constexpr std::size_t most_assignments = 20000;

/// Arguments of an operator that are looked for in any order.
constexpr std::uint32_t most_permuted = 3;

/// All ways to give each slot one of its choices; stops when `visit` returns true.
template <typename Choice, typename Visit>
bool for_each_assignment(const std::vector<std::vector<Choice>>& choices, Visit visit) {
  for (const auto& slot : choices) {
    if (slot.empty()) return false;
  }
  std::vector<std::size_t> digits(choices.size(), 0);
  for (std::size_t count = 0; count < most_assignments; ++count) {
    std::vector<Choice> picked;
    for (std::size_t i = 0; i < choices.size(); ++i) picked.push_back(choices[i][digits[i]]);
    if (visit(picked)) return true;
    std::size_t i = 0;
    while (i < digits.size() && ++digits[i] == choices[i].size()) digits[i++] = 0;
    if (i == digits.size()) return false;
  }
  return false;
}

class Solver {
 public:
  Solver(const OnnxQuestion& question, GraphBank& bank)
      : question_(question), bank_(bank), integers_(integers_of(question.facts)) {
    for (std::uint32_t i = 0; i < question.inputs.size(); ++i) {
      if (question.inputs[i] && bank.value(*question.inputs[i]).type) tensors_.push_back(i);
    }
  }

  std::variant<Recipe, std::string> run() {
    std::vector<std::string> names = bank_.library().operators_for_onnx(question_.facts.op_type);
    if (names.empty()) return "no operator maps to " + question_.facts.op_type;
    for (const std::string& name : names) {
      if (try_operator(name)) return recipe_;
    }
    return reason_.empty() ? "no instance fits its inputs" : reason_;
  }

 private:
  using Order = std::vector<std::uint32_t>;  // the ONNX input that is each argument

  const algebra::Shape& shape(std::uint32_t input) const { return *bank_.value(*question_.inputs[input]).type; }

  bool try_operator(const std::string& name) {
    const std::uint32_t arity = bank_.library().arity(name);
    if (tensors_.size() < arity) return false;
    // Inputs that are no arguments are constants of the mapping, or folded in.
    if (arity > most_permuted) return try_order(name, Order(tensors_.begin(), tensors_.begin() + arity));
    Order order;
    return try_orders(name, arity, order);
  }

  bool try_orders(const std::string& name, std::uint32_t arity, Order& order) {
    if (order.size() == arity) return try_order(name, order);
    const std::size_t most = std::min<std::size_t>(tensors_.size(), most_permuted + 1);
    for (std::uint32_t input : std::span(tensors_).first(most)) {
      if (std::ranges::find(order, input) != order.end()) continue;
      order.push_back(input);
      if (try_orders(name, arity, order)) return true;
      order.pop_back();
    }
    return false;
  }

  bool try_order(const std::string& name, const Order& order) {
    algebra::Library& library = bank_.library();
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t input : order) ranks.push_back(static_cast<std::uint32_t>(shape(input).size()));
    if (!library.accepts_ranks(name, ranks)) return false;
    std::vector<std::string> parameters = library.parameter_names(name);
    std::vector<std::vector<algebra::ParameterValue>> choices;
    for (const std::string& parameter : parameters) {
      choices.push_back(library.domain(name, parameter, ranks));
      if (choices.back().empty()) choices.back().assign(integers_.begin(), integers_.end());
    }
    return for_each_assignment(choices, [&](const std::vector<algebra::ParameterValue>& picked) {
      algebra::Parameters given;
      for (std::size_t i = 0; i < picked.size(); ++i) given.emplace(parameters[i], picked[i]);
      try {
        return try_instance(library.instantiate(name, given, ranks), given, order);
      } catch (const runtime::Interrupted&) {
        throw;
      } catch (const runtime::Error&) {
        return false;  // a value that the operator does not take
      }
    });
  }

  bool try_instance(const algebra::Instance& instance, const algebra::Parameters& parameters, const Order& order) {
    for (const algebra::OnnxMapping& mapping : instance.onnx) {
      if (mapping.op_type != question_.facts.op_type || mapping.wrapper) continue;
      if (question_.opset < mapping.since || question_.opset >= mapping.until) continue;
      const bool more = question_.inputs.size() > mapping.inputs.size();
      if (more && !mapping.variadic) continue;
      if (!more && question_.inputs.size() != mapping.inputs.size()) continue;
      if (question_.outputs.size() != instance.outputs.size()) continue;
      if (!arguments_in_place(mapping, order)) continue;
      if (try_sizes(instance, mapping, parameters, order)) return true;
    }
    return false;
  }

  static bool arguments_in_place(const algebra::OnnxMapping& mapping, const Order& order) {
    for (std::uint32_t i = 0; i < mapping.inputs.size(); ++i) {
      const auto& argument = mapping.inputs[i].argument;
      if (argument && (*argument >= order.size() || order[*argument] != i)) return false;
      if (!argument && std::ranges::find(order, i) != order.end()) return false;
    }
    return true;
  }

  bool try_sizes(const algebra::Instance& instance, const algebra::OnnxMapping& mapping,
                 const algebra::Parameters& parameters, const Order& order) {
    std::vector<std::int64_t> positive;
    std::ranges::copy_if(integers_, std::back_inserter(positive), [](std::int64_t number) { return number > 0; });
    std::vector<std::vector<std::int64_t>> choices(instance.size_parameter_count(), positive);
    return for_each_assignment(choices, [&](const std::vector<std::int64_t>& picked) {
      std::vector<algebra::Poly> sizes(picked.begin(), picked.end());
      return try_assignment(instance, mapping, parameters, order, sizes);
    });
  }

  bool try_assignment(const algebra::Instance& first, const algebra::OnnxMapping& mapping,
                      const algebra::Parameters& parameters, const Order& order,
                      const std::vector<algebra::Poly>& sizes) {
    Recipe recipe;
    std::vector<algebra::Shape> shapes;
    Recipe::Step step{first.id, sizes, {}};
    for (std::uint32_t input : order) {
      shapes.push_back(shape(input));
      step.arguments.push_back({true, input, 0});
    }
    auto outputs = typed(first, mapping, shapes, sizes);
    if (!outputs) return false;
    if (first.composite.empty()) {
      recipe.steps.push_back(std::move(step));
    } else {
      append_composite(first, shapes, sizes, step.arguments, recipe);
    }
    // A variadic node is a left fold of the same operator.
    for (std::size_t i = order.size(); mapping.variadic && i < question_.inputs.size(); ++i) {
      if (!first.composite.empty() || i >= tensors_.size() || tensors_[i] != i)
        return refuse("a variadic node has an input that is not a float tensor");
      shapes = {outputs->at(0), shape(tensors_[i])};
      std::vector<std::uint32_t> ranks{static_cast<std::uint32_t>(shapes[0].size()),
                                       static_cast<std::uint32_t>(shapes[1].size())};
      if (!bank_.library().accepts_ranks(first.operator_name, ranks)) return false;
      const algebra::Instance& next = bank_.library().instantiate(first.operator_name, parameters, ranks);
      outputs = typed(next, mapping, shapes, sizes);
      if (!outputs) return false;
      auto last = static_cast<std::uint32_t>(recipe.steps.size() - 1);
      recipe.steps.push_back({next.id, sizes, {{false, last, 0}, {true, tensors_[i], 0}}});
    }
    for (std::size_t i = 0; i < question_.outputs.size(); ++i) {
      if (!agrees(question_.outputs[i], outputs->at(i))) return refuse("its output has another shape in ONNX");
    }
    recipe_ = std::move(recipe);
    return true;
  }

  /// A composite becomes its steps.
  void append_composite(const algebra::Instance& composite, const std::vector<algebra::Shape>& shapes,
                        const std::vector<algebra::Poly>& sizes, std::vector<Recipe::Reference> values,
                        Recipe& recipe) {
    std::vector<algebra::Poly> slots;
    algebra::infer(composite, shapes, sizes, bank_.symbols(), {}, &slots);
    for (const algebra::CompositeStep& from : composite.composite) {
      Recipe::Step step{from.instance, {}, {}};
      for (std::uint32_t argument : from.arguments) step.arguments.push_back(values.at(argument));
      for (const auto& size : from.sizes) {
        step.sizes.push_back(algebra::evaluate(*size, slots, {}, bank_.symbols()));
      }
      values.push_back({false, static_cast<std::uint32_t>(recipe.steps.size()), 0});
      recipe.steps.push_back(std::move(step));
    }
  }

  /// Output shapes if the instance types here and its mapping says the node.
  std::optional<std::vector<algebra::Shape>> typed(const algebra::Instance& instance,
                                                   const algebra::OnnxMapping& mapping,
                                                   const std::vector<algebra::Shape>& shapes,
                                                   const std::vector<algebra::Poly>& sizes) {
    std::vector<algebra::Poly> slots;
    auto outputs = algebra::infer(instance, shapes, sizes, bank_.symbols(), {}, &slots);
    if (!outputs) {
      refuse("its shapes do not fit " + instance.operator_name);
      return std::nullopt;
    }
    std::string why = mismatch(mapping, question_.facts, slots, bank_.symbols());
    if (!why.empty()) {
      refuse(why);
      return std::nullopt;
    }
    return outputs;
  }

  static bool agrees(const ValueType& onnx, const algebra::Shape& ours) {
    if (!onnx) return true;
    if (onnx->size() != ours.size()) return false;
    for (std::size_t d = 0; d < ours.size(); ++d) {
      auto a = (*onnx)[d].constant(), b = ours[d].constant();
      if (a && b && *a != *b) return false;
    }
    return true;
  }

  bool refuse(const std::string& why) {
    if (reason_.empty() || why.starts_with("attribute") || why.starts_with("constant")) reason_ = why;
    return false;
  }

  const OnnxQuestion& question_;
  GraphBank& bank_;
  std::vector<std::int64_t> integers_;
  std::vector<std::uint32_t> tensors_;  // inputs that are algebra values
  Recipe recipe_;
  std::string reason_;
};

}  // namespace

std::variant<Recipe, std::string> solve(const OnnxQuestion& question, GraphBank& bank) {
  return Solver(question, bank).run();
}

}  // namespace rulemill::optimize
