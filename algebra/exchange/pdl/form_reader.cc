#include "algebra/exchange/pdl/form_reader.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "algebra/exchange/pdl/form_equations.h"
#include "algebra/exchange/pdl/form_expression.h"

namespace rulemill::algebra {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The non-empty subsets of 0 … count − 1.
std::vector<ParameterValue> subsets(std::size_t count) {
  std::vector<ParameterValue> result;
  for (std::size_t set = 1; set < std::size_t{1} << std::min<std::size_t>(count, 6); ++set) {
    Numbers axes;
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1) != 0) axes.push_back(static_cast<std::int64_t>(i));
    }
    result.emplace_back(std::move(axes));
  }
  return result;
}

class FormReader {
 public:
  FormReader(const StablehloForm& form, const std::vector<FormInput>& inputs, const KnownTensor& result,
             const GivenAttributes& attributes, FormContext& context)
      : form_(form),
        op_(form.operator_name),
        inputs_(inputs),
        result_(result),
        attributes_(attributes),
        context_(context),
        library_(context.library),
        symbols_(context.symbols),
        input_names_(library_.input_names(op_)) {
    for (const FormInput& input : inputs) ranks_.push_back(static_cast<std::uint32_t>(input.tensor.shape->size()));
  }

  std::optional<FormReading> read() {
    if (!has_known_attributes()) return std::nullopt;
    if (library_.has_explicit_rank(op_)) {
      if (!result_.shape) return without("it has to state the type of its result");
      explicit_ranks_ = ranks_;
      explicit_ranks_.push_back(static_cast<std::uint32_t>(result_.shape->size()));
    } else {
      explicit_ranks_ = ranks_;
    }
    if (!set_fixed_parameters()) return std::nullopt;
    return try_values(0);
  }

 private:
  std::nullopt_t without(const std::string& reason) {
    context_.reason = reason;
    return std::nullopt;
  }
  bool fails(const std::string& reason) {
    context_.reason = reason;
    return false;
  }

  bool has_known_attributes() {
    for (const auto& [name, text] : form_.attributes) {
      if (!attributes_.contains(name)) return fails("it does not state " + name);
    }
    for (const auto& [name, text] : attributes_) {
      if (form_.attributes.contains(name) || form_.optional.contains(name) || is_neutral(name, text)) continue;
      return fails("its attribute " + name + " has another value");
    }
    return true;
  }

  /// Sets the parameters that the form and broadcasts state, and collects the values of the others.
  bool set_fixed_parameters() {
    for (const std::string& name : library_.parameter_names(op_)) {
      const ParameterKind kind = library_.parameter_kind(op_, name);
      const auto when = form_.when.find(name);
      if (when != form_.when.end()) {
        if (kind != ParameterKind::Spread) parameters_[name] = when->second;  // a spread is "whole", its default
      } else if (kind == ParameterKind::Spread) {
        if (!set_spread(name)) return false;
      } else if (kind == ParameterKind::Axes || kind == ParameterKind::NewAxes) {
        const std::size_t count = kind == ParameterKind::Axes ? ranks_.at(0)
                                  : result_.shape             ? result_.shape->size()
                                                              : 0;
        choices_.emplace_back(name, subsets(count));
      } else if (kind == ParameterKind::Permutation) {
        Numbers order(ranks_.at(0));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
        parameters_[name] = order;
        lists_.emplace_back(name, order.size());
      } else if (kind == ParameterKind::Ints) {
        const std::size_t length = library_.pack_length(op_, explicit_ranks_, {}, library_.parameter_pack(op_, name));
        parameters_[name] = Numbers(length, 1);
        lists_.emplace_back(name, length);
      } else if (kind == ParameterKind::Int || kind == ParameterKind::Axis) {
        std::vector<ParameterValue> values = library_.domain(op_, name, ranks_);
        if (!values.empty() || kind == ParameterKind::Axis) {
          choices_.emplace_back(name, std::move(values));
        } else {
          parameters_[name] = std::int64_t{1};
          numbers_.push_back(name);
        }
      }
    }
    return true;
  }

  /// How an input is broadcast, from its dimensions in the result.
  bool set_spread(const std::string& name) {
    const std::string use = "kept(" + name + ")";
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto broadcast = form_.broadcast.find(input_names_[i]);
      if (broadcast == form_.broadcast.end() || broadcast->second != use) continue;
      return !inputs_[i].broadcast || set_spread(name, i, *inputs_[i].broadcast);
    }
    for (const auto& [attribute, text] : form_.attributes) {
      if (text.find("{" + use + "}") == std::string::npos) continue;
      const auto dimensions = numbers_of(attributes_.at(attribute));
      return (dimensions && set_spread(name, 0, *dimensions)) || fails("its " + attribute + " do not fit");
    }
    return true;
  }

  bool set_spread(const std::string& name, std::size_t input, const Numbers& dimensions) {
    const Shape& shape = *inputs_[input].tensor.shape;
    if (!result_.shape) return fails("it has to state the type of its result");
    if (dimensions.size() != shape.size()) return fails("its broadcast has another rank");
    Numbers spread(result_.shape->size(), spread_absent);
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if (i > 0 && dimensions[i] <= dimensions[i - 1]) return fails("its broadcast changes the order");
      if (dimensions[i] < 0 || dimensions[i] >= static_cast<std::int64_t>(spread.size()))
        return fails("its broadcast has another rank");
      const auto at = static_cast<std::size_t>(dimensions[i]);
      const bool is_whole = context_.are_equal(shape[i], (*result_.shape)[at]);
      if (!is_whole && shape[i] != Poly(1)) return fails("its broadcast does not fit");
      spread[at] = is_whole ? spread_whole : spread_one;
    }
    if (std::ranges::any_of(spread, [](std::int64_t each) { return each != spread_whole; })) parameters_[name] = spread;
    return true;
  }

  /// Tries the values of parameters of finite domains, one parameter after the other.
  std::optional<FormReading> try_values(std::size_t chosen) {
    if (chosen == choices_.size()) return try_parameters();
    for (const ParameterValue& value : choices_[chosen].second) {
      parameters_[choices_[chosen].first] = value;
      if (auto found = try_values(chosen + 1)) return found;
    }
    return std::nullopt;
  }

  std::optional<FormReading> try_parameters() {
    const OperatorInstance* instance = library_.find_instance(op_, parameters_, explicit_ranks_);
    if (instance == nullptr) return without("operands of these ranks do not fit");
    FormEquations equations(symbols_);
    std::optional<std::vector<Poly>> slots = slots_of(*instance, equations);
    if (!slots) return without("the dimensions of its operands do not fit");
    FormNames names = names_of(*instance, *slots, equations);
    if (!equate_broadcasts(names, equations)) return without("its broadcasts do not fit");
    if (!equate_attributes(names, equations) || !equations.solve()) return without("its attributes do not fit");
    if (!set_numbers(names, equations)) return without("its attributes do not determine its parameters");
    return finish(*slots, equations);
  }

  /// The sizes of an instance: those of its inputs, and unknown numbers. nullopt if the dimensions do not fit:
  /// dimensions that the text states are not narrowed.
  std::optional<std::vector<Poly>> slots_of(const OperatorInstance& instance, FormEquations& equations) {
    std::vector<std::optional<Poly>> known(instance.size_names.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& shape = *inputs_[i].tensor.shape;
      if (instance.inputs[i].size() != shape.size()) return std::nullopt;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const IndexExpr& dim = *instance.inputs[i][d];
        if (dim.kind != IndexExpr::Kind::Size) {
          if (shape[d] != Poly(dim.value)) return std::nullopt;
        } else if (!known[dim.slot]) {
          known[dim.slot] = shape[d];
        } else if (inputs_[i].tensor.is_exact && !context_.are_equal(*known[dim.slot], shape[d])) {
          return std::nullopt;
        }
      }
    }
    std::vector<Poly> slots;
    for (std::optional<Poly>& each : known) slots.push_back(each ? std::move(*each) : equations.unknown());
    return slots;
  }

  FormNames names_of(const OperatorInstance& instance, const std::vector<Poly>& slots, FormEquations& equations) {
    FormNames names;
    for (std::size_t i = 0; i < slots.size(); ++i) names[instance.size_names[i]] = {false, false, {slots[i]}};
    for (const auto& [name, value] : instance.parameters) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) names[name] = {false, false, {Poly(*number)}};
      if (const auto* list = std::get_if<Numbers>(&value)) {
        names[name] = {true, false, {}};
        for (const std::int64_t each : *list) names[name].items.emplace_back(each);
      }
    }
    for (const std::string& name : numbers_) names[name] = {false, false, {equations.unknown()}};
    for (const auto& [name, length] : lists_) {
      names[name] = {true, false, {}};
      for (std::size_t i = 0; i < length; ++i) names[name].items.push_back(equations.unknown());
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      names[instance.input_names.at(i)] = {true, false, *inputs_[i].tensor.shape};
    if (result_.shape) names["result"] = {true, false, *result_.shape};
    return names;
  }

  bool equate_broadcasts(const FormNames& names, FormEquations& equations) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto broadcast = form_.broadcast.find(input_names_[i]);
      if (broadcast == form_.broadcast.end()) continue;
      if (!inputs_[i].broadcast) {
        const bool is_spread = broadcast->second.starts_with("kept(");
        if (!result_.shape && !is_spread) return false;
        if (result_.shape && inputs_[i].tensor.shape->size() != result_.shape->size()) return false;
        if (!is_spread &&
            evaluate_form(broadcast->second, names, symbols_, form_.place).items.size() != result_.shape->size())
          return false;
        continue;
      }
      if (!result_.shape) return false;
      const FormValue expected = evaluate_form(broadcast->second, names, symbols_, form_.place);
      if (expected.items.size() != inputs_[i].broadcast->size()) return false;
      for (std::size_t d = 0; d < expected.items.size(); ++d)
        equations.equate(expected.items[d], Poly((*inputs_[i].broadcast)[d]));
    }
    return true;
  }

  bool equate_attributes(const FormNames& names, FormEquations& equations) {
    const auto fill = [&](const std::string& text) { return fill_template(text, names, symbols_, form_.place); };
    for (const auto& [name, text] : form_.attributes) {
      if (text.find("result") != std::string::npos && !result_.shape) return false;
      if (!equations.equate(fill(text), attributes_.at(name))) return false;
    }
    for (const auto& [name, texts] : form_.optional) {
      const auto given = attributes_.find(name);
      if (!equations.equate(fill(texts.first), given == attributes_.end() ? fill(texts.second) : given->second))
        return false;
    }
    return true;
  }

  bool set_numbers(const FormNames& names, FormEquations& equations) {
    for (const std::string& name : numbers_) {
      const auto value = equations.value(names.at(name).items[0]);
      if (!value || !value->constant()) return false;
      parameters_[name] = *value->constant();
    }
    for (const auto& [name, length] : lists_) {
      Numbers list;
      for (const Poly& item : names.at(name).items) {
        const auto value = equations.value(item);
        if (!value || !value->constant()) return false;
        list.push_back(*value->constant());
      }
      parameters_[name] = list;
    }
    return true;
  }

  /// The result and the sizes that follow from it.
  std::optional<FormReading> finish(std::vector<Poly> slots, FormEquations& equations) {
    const OperatorInstance* instance = library_.find_instance(op_, parameters_, explicit_ranks_);
    if (instance == nullptr) return without("its parameters do not fit");
    std::size_t output = 0;
    while (!form_.output.empty() && instance->outputs[output].name != form_.output) ++output;
    const TensorDefinition& defined = instance->outputs[output];
    FormReading reading;
    reading.result = {Shape(), defined.scalar_kind};
    for (const IndexExprPtr& dim : defined.dims) reading.result.shape->push_back(evaluate(*dim, slots, {}, symbols_));
    if (result_.shape && result_.shape->size() != defined.dims.size()) return without("its result has another rank");
    if (result_.kind && *result_.kind != defined.scalar_kind) return without("its result has other elements");
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].tensor.kind && *inputs_[i].tensor.kind != instance->input_scalar_kinds[i])
        return without("its operands have other elements");
    }
    for (std::size_t d = 0; result_.shape && d < defined.dims.size(); ++d) {
      const Poly &found = (*reading.result.shape)[d], &stated = (*result_.shape)[d];
      const bool is_needed = result_.is_exact || has_unknown(defined, d, *instance);
      if (is_needed && !context_.are_equal(found, stated)) equations.equate(found, stated);
    }
    if (!equations.solve()) return without("its result has another shape");
    for (Poly& dim : *reading.result.shape) {
      const auto value = equations.value(dim);
      if (!value) return without("the sizes of its result do not follow");
      dim = *value;
    }
    return write_parameters(*instance, slots, equations, std::move(reading));
  }

  /// Whether a size of the node occurs in a dimension of the result.
  static bool has_unknown(const TensorDefinition& defined, std::size_t d, const OperatorInstance& instance) {
    const std::function<bool(const IndexExpr&)> uses = [&](const IndexExpr& expr) {
      if (expr.kind == IndexExpr::Kind::Size) return expr.slot >= instance.first_size_parameter;
      return (expr.a && uses(*expr.a)) || (expr.b && uses(*expr.b));
    };
    return uses(*defined.dims[d]);
  }

  std::optional<FormReading> write_parameters(const OperatorInstance& instance, const std::vector<Poly>& slots,
                                              FormEquations& equations, FormReading reading) {
    const auto add = [&](const std::string& name, const std::string& value) {
      reading.parameters += (reading.parameters.empty() ? "" : ", ") + name + "=" + value;
      ++reading.stated_count;
    };
    for (const auto& [name, value] : instance.parameters) {
      if (library_.default_value(op_, name) != value) add(name, to_string(value));
    }
    reading.condition_count = open_conditions(instance, slots, equations);
    std::vector<Poly> sizes;
    for (std::size_t i = instance.first_size_parameter; i < slots.size(); ++i) {
      const auto value = equations.value(slots[i]);
      if (!value) return without("its sizes do not follow");
      if (value->constant() && *value->constant() < 1) return without("its attributes do not fit");
      sizes.push_back(*value);
    }
    std::size_t next = 0;
    for (const std::string& name : library_.size_parameter_names(op_)) {
      if (name.ends_with("...")) {
        add(name.substr(0, name.size() - 3),
            symbols_.to_string(Shape(sizes.begin() + static_cast<std::ptrdiff_t>(next), sizes.end())));
        next = sizes.size();
      } else {
        add(name, symbols_.to_string(sizes.at(next++)));
      }
    }
    return reading;
  }

  std::size_t open_conditions(const OperatorInstance& instance, const std::vector<Poly>& slots,
                              FormEquations& equations) {
    std::vector<Poly> sizes;
    for (const Poly& slot : slots) sizes.push_back(equations.value(slot).value_or(slot));
    return static_cast<std::size_t>(std::ranges::count_if(instance.conditions, [&](const Comparison& each) {
      const Poly a = evaluate(*each.a, sizes, {}, symbols_), b = evaluate(*each.b, sizes, {}, symbols_);
      if (each.relation == Relation::Eq) return !context_.are_equal(a, b);
      return each.relation == Relation::Ne ||
             !context_.is_nonnegative(each.relation == Relation::Lt ? b - a - 1 : b - a);
    }));
  }

  const StablehloForm& form_;
  const std::string& op_;
  const std::vector<FormInput>& inputs_;
  const KnownTensor& result_;
  const GivenAttributes& attributes_;
  FormContext& context_;
  Library& library_;
  Symbols& symbols_;
  const std::vector<std::string> input_names_;
  std::vector<std::uint32_t> ranks_, explicit_ranks_;
  Parameters parameters_;
  std::vector<std::pair<std::string, std::vector<ParameterValue>>> choices_;  // of finite domains
  std::vector<std::string> numbers_;                                          // unknown ones
  std::vector<std::pair<std::string, std::size_t>> lists_;                    // the same with their lengths
};

}  // namespace

bool FormContext::are_equal(const Poly& a, const Poly& b) const {
  return a == b || std::ranges::any_of(zeros, [&](const Poly& zero) { return a - b == zero || b - a == zero; });
}

bool FormContext::is_nonnegative(const Poly& poly) const {
  return symbols.is_nonnegative(poly) || std::ranges::find(facts, poly) != facts.end();
}

std::optional<FormReading> read_form(const StablehloForm& form, const std::vector<FormInput>& inputs,
                                     const KnownTensor& result, const GivenAttributes& attributes,
                                     FormContext& context) {
  return FormReader(form, inputs, result, attributes, context).read();
}

}  // namespace rulemill::algebra
