#include "optimize/onnx/solve.h"

#include <algorithm>

#include "optimize/onnx/reading.h"
#include "optimize/onnx/trial.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using algebra::OnnxForm;
using algebra::ParameterKind;
using From = Recipe::Reference::From;

class Solver {
 public:
  Solver(const OnnxQuestion& question, GraphBank& bank) : question_(question), bank_(bank) {}

  std::variant<Recipe, std::string> run() {
    const std::vector<OnnxForm> forms = bank_.library().onnx_forms(question_.facts.op_type);
    if (forms.empty()) return "no operator maps to " + question_.facts.op_type;
    // An operator that takes its inputs as they are goes before one that repeats them.
    for (const bool repeated : {false, true}) {
      for (const OnnxForm& form : forms) {
        if ((!repeated || !form.spreads.empty()) && try_form(form, repeated)) return recipe_;
      }
    }
    return reason_.empty() ? "no instance fits its inputs" : reason_;
  }

 private:
  const algebra::Shape* shape(std::size_t input) const {
    const auto& value = question_.inputs[input];
    return value && bank_.value(*value).type ? &*bank_.value(*value).type : nullptr;
  }

  Element element(std::size_t input) const { return bank_.value(*question_.inputs[input]).type.element; }

  /// Numbers that attributes say are as those that are computed.
  Element literal_element() const {
    for (std::size_t i = 0; i < question_.inputs.size(); ++i) {
      if (shape(i) != nullptr && element(i) != Element::Truth && element(i) != Element::Integer) return element(i);
    }
    return Element::Float32;
  }

  bool try_form(const OnnxForm& form, bool repeated) {
    try {
      return says(form, repeated);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      return refuse("its numbers are too large");
    }
  }

  bool says(const OnnxForm& form, bool repeated) {
    if (question_.opset < form.since || question_.opset >= form.until) return false;
    const std::size_t inputs = question_.inputs.size(), outputs = question_.outputs.size();
    if (inputs != form.inputs.size() && !(form.variadic && inputs > form.inputs.size())) return false;
    if (outputs != form.outputs && !(form.variadic_outputs && outputs > 1)) return false;
    recipe_ = {};
    Attempt attempt;
    attempt.form = &form;
    attempt.facts = question_.facts;
    if (!take_arguments(attempt)) return false;
    if (form.variadic_outputs) return try_splits(attempt);
    auto made = try_attempt(attempt, repeated);
    if (!made) return false;
    // A variadic node is a left fold of the same operator.
    for (std::size_t i = form.inputs.size(); i < inputs; ++i) {
      if (shape(i) == nullptr) return refuse("a variadic node has an input that is not a float tensor");
      attempt.arguments = {{From::Step, static_cast<std::uint32_t>(recipe_.steps.size() - 1), 0},
                           {From::Input, static_cast<std::uint32_t>(i), 0}};
      attempt.shapes = {made->at(0), *shape(i)};
      attempt.elements = {attempt.elements[0], element(i)};
      made = try_attempt(attempt, repeated);
      if (!made) return false;
    }
    const auto last = static_cast<std::uint32_t>(recipe_.steps.size() - 1);
    for (std::uint32_t i = 0; i < outputs; ++i) recipe_.outputs.push_back({From::Step, last, i});
    return agree(*made);
  }

  bool take_arguments(Attempt& attempt) {
    const OnnxForm& form = *attempt.form;
    attempt.arguments.resize(form.arity);
    attempt.shapes.resize(form.arity);
    attempt.elements.assign(form.arity, literal_element());
    recipe_.literal_element = literal_element();
    attempt.facts.outputs = question_.outputs.size();
    for (std::uint32_t i = 0; i < form.inputs.size(); ++i) {
      if (form.absent_inputs[i]) {
        if (!question_.facts.absent_inputs[i]) return refuse("input " + std::to_string(i) + " is present");
        continue;
      }
      if (!form.inputs[i]) {
        if (i >= question_.facts.constant_inputs.size() || !question_.facts.constant_inputs[i])
          return refuse("input " + std::to_string(i) + " is not a constant");
        continue;
      }
      const algebra::Shape* known = shape(i);
      if (known == nullptr) return refuse("the type of input " + std::to_string(i) + " is not known");
      attempt.arguments[*form.inputs[i]] = {From::Input, i, 0};
      attempt.elements[*form.inputs[i]] = element(i);
      attempt.shapes[*form.inputs[i]] = *known;
      if (i == 0) attempt.facts.first_shape = *known;
    }
    for (const auto& [name, argument] : form.attribute_inputs) {
      const auto said = question_.facts.attributes.find(name);
      const auto absent = form.absent.find(name);
      std::optional<double> value;
      if (said != question_.facts.attributes.end())
        value = said->second.number;  // nothing of another kind
      else if (absent != form.absent.end())
        value = absent->second;
      if (!value) return refuse("attribute " + name + " is absent, or no number");
      attempt.arguments[argument] = {From::Literal, static_cast<std::uint32_t>(recipe_.literals.size()), 0};
      recipe_.literals.push_back(*value);
    }
    return true;
  }

  /// Output shapes; the recipe has one step more, or a composite's steps.
  std::optional<std::vector<algebra::Shape>> try_attempt(Attempt& attempt, bool repeated) {
    const OnnxForm& form = *attempt.form;
    attempt.ranks.clear();
    for (const algebra::Shape& shape : attempt.shapes)
      attempt.ranks.push_back(static_cast<std::uint32_t>(shape.size()));
    algebra::Parameters given;
    if (repeated) {
      const auto sizes = read(form, attempt.facts, bank_.library(), attempt.ranks, given);
      auto how = spreads(form, attempt.shapes, sizes.value_or(OnnxReading()));
      if (!how) {
        refuse("its shapes do not fit " + form.operator_name);
        return std::nullopt;
      }
      given = std::move(*how);
    }
    auto reading = read(form, attempt.facts, bank_.library(), attempt.ranks, given);
    if (!reading) {
      refuse("a list of it has another length than in " + form.operator_name);
      return std::nullopt;
    }
    for (const OnnxForm::Parameter& parameter : form.parameters) {
      if (parameter.kind != ParameterKind::Sizes) continue;
      const auto sizes = reading->find(parameter.name);
      if (sizes == reading->end()) return std::nullopt;
      if (bank_.library().has_open_rank(form.operator_name))
        attempt.ranks.push_back(static_cast<std::uint32_t>(sizes->second.size()));
    }
    if (!bank_.library().accepts_ranks(form.operator_name, attempt.ranks, given)) {
      refuse("its ranks do not fit " + form.operator_name);
      return std::nullopt;
    }
    Trial trial(question_.facts, bank_);
    auto found = trial.find(attempt, given, *reading);
    for (const std::string& why : trial.refusals()) refuse(why);
    if (!found) return std::nullopt;
    add_steps(attempt, *found->instance, found->sizes);
    return std::move(found->outputs);
  }

  void add_steps(const Attempt& attempt, const algebra::Instance& instance, const std::vector<algebra::Poly>& sizes) {
    if (!instance.composite.empty()) return add_composite(attempt, instance, sizes);
    recipe_.steps.push_back({instance.id, sizes, attempt.arguments});
  }

  /// A composite becomes its steps.
  void add_composite(const Attempt& attempt, const algebra::Instance& composite,
                     const std::vector<algebra::Poly>& sizes) {
    std::vector<algebra::Poly> slots;
    algebra::infer(composite, attempt.shapes, sizes, bank_.symbols(), {}, &slots);
    std::vector<Recipe::Reference> values = attempt.arguments;
    for (const algebra::CompositeStep& from : composite.composite) {
      Recipe::Step step{from.instance, {}, {}};
      for (std::uint32_t argument : from.arguments) step.arguments.push_back(values.at(argument));
      for (const auto& size : from.sizes) step.sizes.push_back(algebra::evaluate(*size, slots, {}, bank_.symbols()));
      values.push_back({From::Step, static_cast<std::uint32_t>(recipe_.steps.size()), 0});
      recipe_.steps.push_back(std::move(step));
    }
  }

  /// A node with more than two outputs splits the last one off, then what is left again.
  bool try_splits(Attempt& attempt) {
    std::vector<algebra::Shape> shapes(question_.outputs.size());
    recipe_.outputs.resize(shapes.size());
    const OnnxNodeFacts whole = attempt.facts;
    for (std::size_t count = shapes.size(); count >= 2; --count) {
      attempt.facts = whole;
      attempt.facts.outputs = count;
      for (auto& [name, literal] : attempt.facts.attributes) fold(literal, shapes.size(), count);
      for (auto& literal : attempt.facts.constant_inputs) {
        if (literal) fold(*literal, shapes.size(), count);
      }
      auto made = try_attempt(attempt, false);
      if (!made || made->size() != 2) return false;
      const auto step = static_cast<std::uint32_t>(recipe_.steps.size() - 1);
      shapes[count - 1] = made->at(1);
      shapes[0] = made->at(0);
      recipe_.outputs[count - 1] = {From::Step, step, 1};
      recipe_.outputs[0] = {From::Step, step, 0};
      attempt.arguments = {recipe_.outputs[0]};
      attempt.shapes = {shapes[0]};
      attempt.elements.resize(1);
    }
    return agree(shapes);
  }

  /// A list with a number for each output, of the first `count` outputs: all but the last together, and the last.
  static void fold(OnnxLiteral& literal, std::size_t outputs, std::size_t count) {
    if (!literal.is_list || literal.integers.size() != outputs) return;
    algebra::Poly rest(0);
    for (std::size_t i = 0; i + 1 < count; ++i) rest += literal.integers[i];
    literal.integers = {rest, literal.integers[count - 1]};
  }

  bool agree(const std::vector<algebra::Shape>& ours) {
    for (std::size_t i = 0; i < question_.outputs.size(); ++i) {
      if (!agrees(question_.outputs[i], ours[i])) return refuse("its output has another shape in ONNX");
    }
    return true;
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
  Recipe recipe_;
  std::string reason_;
};

}  // namespace

std::variant<Recipe, std::string> solve(const OnnxQuestion& question, GraphBank& bank) {
  return Solver(question, bank).run();
}

}  // namespace rulemill::optimize
