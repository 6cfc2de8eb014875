#include "algebra/exchange/onnxscript_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/python_expression.h"
#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {
namespace {

// The opsets of the models that the module accepts.
constexpr int min_module_opset = 13, max_module_opset = 25;

bool is_usable(const OnnxMapping& mapping) {
  return mapping.since <= max_module_opset && mapping.until > min_module_opset && mapping.computed_sizes.empty() &&
         !mapping.activation;
}

/// Whether the second mapping can be an alternative form of a node that is matched by the first.
bool has_same_inputs(const OnnxMapping& a, const OnnxMapping& b) {
  return a.op_type == b.op_type && std::ranges::equal(a.inputs, b.inputs, [](const OnnxInput& x, const OnnxInput& y) {
           return x.instance_input == y.instance_input && x.is_absent == y.is_absent;
         });
}

std::string float_text(double number) {
  const std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

/// A rule at fixed ranks as the parts of a Python class.
struct RuleClass {
  std::string body;       // all but the types of the variables
  std::string variables;  // their shapes, as a dictionary
  std::set<std::string> sizes;
};

class ClassWriter {
 public:
  ClassWriter(const TypedRule& typed, TermBank& bank, Symbols& symbols)
      : typed_(typed), rule_(typed.rule), bank_(bank), symbols_(symbols) {}

  RuleClass write() {
    name_variables();
    const std::string pattern = write_pattern();
    const std::string target = write_target();
    RuleClass result;
    std::set<NodeId> roots;
    for (const TermId root : rule_.source) roots.insert(bank_.term(root).node);
    if (roots.size() > 1) result.body += fmt::format("    outputs = {}\n", roots.size());
    if (since_ > min_module_opset) result.body += fmt::format("    since = {}\n", since_);
    if (until_ <= max_module_opset) result.body += fmt::format("    until = {}\n", until_);
    if (!types_.empty()) result.body += "    types = {" + types_ + "}\n";
    result.body += "    nodes = {\n" + nodes_ + "    }\n" + write_conditions();
    result.body += "\n" + pattern + "\n" + target;
    for (std::size_t v = 0; v < rule_.variables.size(); ++v) {
      result.variables += fmt::format("{}\"{}\": {}", v == 0 ? "{" : ", ", values_.at(rule_.variables[v]),
                                      bracketed(rule_.shapes[v], ""));
    }
    result.variables += "}";
    result.sizes = used_size_names(rule_, bank_, symbols_);
    return result;
  }

 private:
  void name_variables() {
    for (const TermId variable : rule_.variables) {
      std::string name = python_name(bank_.term(variable).name);
      if (name.starts_with("node") || name.starts_with("new")) name += '_';
      values_[variable] = name;
    }
    for (const NodeId id : bank_.nodes(outputs_of(rule_))) {
      const Node& node = bank_.node(id);
      const OperatorInstance& instance = bank_.library().instance(node.instance);
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        const ScalarKind kind = instance.input_scalar_kinds.at(i);
        if (kind == ScalarKind::Real || !bank_.term(node.arguments[i]).is_variable) continue;
        const std::string entry =
            fmt::format("\"{}\": \"{}\"", values_.at(node.arguments[i]), kind == ScalarKind::Bool ? "bool" : "int");
        if (types_.find(entry) == std::string::npos) types_ += (types_.empty() ? "" : ", ") + entry;
      }
    }
  }

  std::vector<const OnnxMapping*> mappings_of(const OperatorInstance& instance) const {
    std::vector<const OnnxMapping*> usable;
    for (const OnnxMapping& mapping : instance.onnx) {
      if (is_usable(mapping) && (usable.empty() || has_same_inputs(*usable[0], mapping))) usable.push_back(&mapping);
    }
    if (usable.empty()) {
      throw NotExpressible{instance.operator_name + " has no ONNX form of one node in opsets " +
                           fmt::format("{} to {}", min_module_opset, max_module_opset)};
    }
    return usable;
  }

  std::string bracketed(const std::vector<Poly>& polys, const std::string& prefix) const {
    std::string text = "[";
    for (const Poly& poly : polys) text += (text.size() == 1 ? "" : ", ") + python_expression(poly, prefix, symbols_);
    return text + "]";
  }

  std::vector<Poly> numbers_of(const OnnxValue& value, const std::vector<Poly>& slots) {
    std::vector<Poly> result;
    for (const IndexExprPtr& expr : value.values) result.push_back(evaluate(*expr, slots, {}, symbols_));
    return result;
  }

  std::string name_outputs(NodeId id, const std::string& name) {
    std::string list;
    const OperatorInstance& instance = bank_.library().instance(bank_.node(id).instance);
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const std::string output = o == 0 ? name : fmt::format("{}_{}", name, o + 1);
      values_[bank_.output(id, o)] = output;
      list += (o == 0 ? "" : ", ") + output;
    }
    return list;
  }

  // Patterns.

  std::string write_pattern() {
    std::string calls, constants;
    std::size_t count = 0;
    for (const NodeId id : bank_.nodes(rule_.source)) {
      const std::string name = fmt::format("node{}", ++count);
      const Node& node = bank_.node(id);
      const std::vector<const OnnxMapping*> mappings = mappings_of(bank_.library().instance(node.instance));
      std::string inputs;
      for (std::size_t i = 0; i < mappings[0]->inputs.size(); ++i) {
        const OnnxInput& input = mappings[0]->inputs[i];
        std::string text = "None";
        if (input.instance_input) {
          text = values_.at(node.arguments.at(*input.instance_input));
        } else if (!input.is_absent) {
          text = fmt::format("{}_in{}", name, i);
          constants += ", " + text;
        }
        inputs += text + ", ";
      }
      const std::string outputs = name_outputs(id, name);
      std::string names;
      for (const char c : outputs)
        names += c == ',' ? std::string("\",") : c == ' ' ? std::string(" \"") : std::string(1, c);
      calls += fmt::format("        {} = op.{}({}_outputs=[\"{}\"])\n", outputs, mappings[0]->op_type, inputs, names);
      write_forms(id, name, mappings);
    }
    std::string arguments;
    for (const TermId variable : rule_.variables) arguments += ", " + values_.at(variable);
    std::string roots;
    for (const TermId root : rule_.source) {
      if (bank_.term(root).is_variable) throw NotExpressible{"an output of its pattern is an input"};
      roots += (roots.empty() ? "" : ", ") + values_.at(root);
    }
    return fmt::format("    def pattern(self, op{}{}):\n{}        return {}\n", arguments, constants, calls, roots);
  }

  void write_forms(NodeId id, const std::string& name, const std::vector<const OnnxMapping*>& mappings) {
    const std::vector<Poly> slots = size_slots(id, typed_, bank_);
    const Node& node = bank_.node(id);
    std::vector<std::string> forms;
    for (const OnnxMapping* mapping : mappings) {
      if (auto form = write_form(*mapping, node, slots); !form.empty()) forms.push_back(std::move(form));
    }
    if (forms.empty()) throw NotExpressible{"an attribute is a tensor of the rule"};
    nodes_ += fmt::format("        \"{}\": [{}],\n", name, fmt::join(forms, ",\n            "));
  }

  /// Returns the attributes and constant inputs that the node must have; empty if the module has no such form.
  std::string write_form(const OnnxMapping& mapping, const Node& node, const std::vector<Poly>& slots) {
    std::string attributes, inputs;
    for (const OnnxAttribute& attribute : mapping.attributes) {
      if (attribute.value.scalar_input || attribute.value.is_data_type) return {};
      attributes += fmt::format("{}\"{}\": {}", attributes.empty() ? "" : ", ", attribute.name,
                                attribute.ignored ? "ANY" : write_value(attribute.value, &attribute, slots));
    }
    for (std::size_t i = 0; i < mapping.inputs.size(); ++i) {
      if (mapping.inputs[i].instance_input || mapping.inputs[i].is_absent) continue;
      inputs += fmt::format("{}{}: {}", inputs.empty() ? "" : ", ", i,
                            write_value(mapping.inputs[i].constant, nullptr, slots));
    }
    std::string text = "Form({" + attributes + "}";
    if (!inputs.empty()) text += ", {" + inputs + "}";
    if (mapping.since > min_module_opset) text += fmt::format(", since={}", mapping.since);
    if (mapping.until <= max_module_opset) text += fmt::format(", until={}", mapping.until);
    return node.arguments.empty() && mapping.inputs.empty() ? std::string() : text + ")";
  }

  std::string write_value(const OnnxValue& value, const OnnxAttribute* attribute, const std::vector<Poly>& slots) {
    std::string text;
    if (value.string_value) {
      text = python_string(*value.string_value);
    } else if (value.float_value) {
      text = float_text(*value.float_value);
    } else {
      const std::vector<Poly> numbers = numbers_of(value, slots);
      text = value.is_list ? bracketed(numbers, "") : python_expression(numbers.at(0), "", symbols_);
    }
    if (attribute != nullptr && attribute->default_string)
      text += ", default=" + python_string(*attribute->default_string);
    if (attribute != nullptr && attribute->default_number)
      text += ", default=" + (value.float_value ? float_text(*attribute->default_number)
                                                : fmt::format("{}", *attribute->default_number));
    if (attribute != nullptr && attribute->is_optional) text += ", optional=True";
    const auto end = [&](const IndexExprPtr& size) {
      return python_expression(evaluate(*size, slots, {}, symbols_), "", symbols_);
    };
    if (value.wrap_size) text += ", wrap=" + end(value.wrap_size);
    if (value.clamp_size) text += ", clamp=" + end(value.clamp_size);
    if (value.is_reshape_shape) text += ", reshape=True";
    return "Value(" + text + ")";
  }

  std::string write_conditions() const {
    std::string text;
    for (const SizeCondition& condition : rule_.condition) {
      static const std::map<Relation, const char*> signs = {
          {Relation::Eq, "="}, {Relation::Ne, "!="}, {Relation::Lt, "<"}, {Relation::Le, "<="}};
      text += fmt::format("{}(\"{}\", {}, {})", text.empty() ? "" : ", ", signs.at(condition.relation),
                          python_expression(condition.left, "", symbols_),
                          python_expression(condition.right, "", symbols_));
    }
    return text.empty() ? text : "    conditions = [" + text + "]\n";
  }

  // Replacements.

  std::string write_target() {
    std::string calls;
    std::size_t count = 0;
    for (const NodeId id : bank_.nodes(rule_.target)) {
      const Node& node = bank_.node(id);
      const std::string call = write_call(id, node, *mappings_of(bank_.library().instance(node.instance))[0]);
      const std::string outputs = name_outputs(id, fmt::format("new{}", ++count));
      calls += fmt::format("        {} = {}\n", outputs, call);
    }
    std::string arguments, roots;
    for (const TermId variable : rule_.variables) arguments += ", " + values_.at(variable);
    std::set<TermId> returned;
    for (const TermId root : rule_.target) {
      const bool is_new = !bank_.term(root).is_variable && returned.insert(root).second;
      const std::string& name = values_.at(root);
      roots += (roots.empty() ? "" : ", ") + (is_new ? name : "op.Identity(" + name + ")");
    }
    return fmt::format("    def target(self, op{}):\n{}        return {}\n", arguments, calls, roots);
  }

  std::string write_call(NodeId id, const Node& node, const OnnxMapping& mapping) {
    since_ = std::max(since_, mapping.since);
    until_ = std::min(until_, mapping.until);
    const std::vector<Poly> slots = size_slots(id, typed_, bank_);
    std::vector<std::string> parts;
    for (const OnnxInput& input : mapping.inputs) {
      if (input.instance_input) {
        parts.push_back(values_.at(node.arguments.at(*input.instance_input)));
      } else {
        parts.push_back(input.is_absent ? "None" : write_input(input.constant, node, slots));
      }
    }
    for (const OnnxAttribute& attribute : mapping.attributes) {
      if (attribute.value.scalar_input || attribute.value.is_data_type)
        throw NotExpressible{"an attribute is a tensor of the rule"};
      if (attribute.ignored || attribute.is_optional) continue;
      if (auto text = write_attribute(attribute, slots); !text.empty()) parts.push_back(std::move(text));
    }
    const std::size_t outputs = bank_.library().instance(node.instance).outputs.size();
    if (outputs > 1) parts.push_back(fmt::format("_outputs={}", outputs));
    return fmt::format("op.{}({})", mapping.op_type, fmt::join(parts, ", "));
  }

  /// Returns nothing for the attribute's default.
  std::string write_attribute(const OnnxAttribute& attribute, const std::vector<Poly>& slots) {
    const OnnxValue& value = attribute.value;
    if (value.string_value) {
      return value.string_value == attribute.default_string ? ""
                                                            : attribute.name + "=" + python_string(*value.string_value);
    }
    if (value.float_value) {
      return value.float_value == attribute.default_number ? "" : attribute.name + "=" + float_text(*value.float_value);
    }
    const std::vector<Poly> numbers = numbers_of(value, slots);
    const auto is_number = [](const Poly& number) { return number.constant().has_value(); };
    const bool is_default =
        attribute.default_number && !value.wrap_size && std::ranges::all_of(numbers, [&](const Poly& each) {
          return each.constant() && static_cast<double>(*each.constant()) == *attribute.default_number;
        });
    if (is_default) return {};
    if (std::ranges::all_of(numbers, is_number))
      return attribute.name + "=" +
             (value.is_list ? bracketed(numbers, "") : python_expression(numbers.at(0), "", symbols_));
    return fmt::format("{}=self.{}({})", attribute.name, value.is_list ? "numbers" : "number", arguments(numbers));
  }

  std::string write_input(const OnnxValue& value, const Node& node, const std::vector<Poly>& slots) {
    if (value.float_value) return "self.real_input(" + float_text(*value.float_value) + ")";
    const std::vector<Poly> numbers = numbers_of(value, slots);
    if (value.is_reshape_shape) {
      const Shape& first = typed_.types.at(node.arguments.at(0));
      return fmt::format("self.shape_input({}, {})", bracketed(numbers, "self."), bracketed(first, "self."));
    }
    const char* function = value.as_float32 ? "floats_input" : value.is_list ? "integers_input" : "integer_input";
    return fmt::format("self.{}({})", function, arguments(numbers));
  }

  std::string arguments(const std::vector<Poly>& numbers) const {
    const std::string list = bracketed(numbers, "self.");
    return list.substr(1, list.size() - 2);
  }

  const TypedRule& typed_;
  const Rule& rule_;
  TermBank& bank_;
  Symbols& symbols_;
  std::map<TermId, std::string> values_;  // the Python name of a term
  std::string types_, nodes_;
  int since_ = 1, until_ = 1 << 20;
};

/// The classes of one body, with the shapes of all ranks that have it.
struct MergedClass {
  std::vector<std::string> variables;
  std::set<std::string> sizes;
};

/// Returns a Python name for a rule.
std::string class_name(const std::string& rule) {
  std::string name = python_name(rule);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

std::string write_class(const std::string& name, const RuleToExport& rule, const std::string& body,
                        const MergedClass& merged, const TermBank& bank, const Symbols& symbols) {
  std::vector<std::string> sizes;
  std::ranges::transform(merged.sizes, std::back_inserter(sizes), python_name);
  std::string text = fmt::format("\n\nclass {}(Rule):\n    r\"\"\"{}    \"\"\"\n    # {}\n", name,
                                 to_string(rule.rule, bank, symbols), rule.proof);
  if (!sizes.empty()) text += fmt::format("    {} = sizes(\"{}\")\n", fmt::join(sizes, ", "), fmt::join(sizes, " "));
  return text + fmt::format("    variables = [{}]\n{}", fmt::join(merged.variables, ",\n                 "), body);
}

}  // namespace

ExportedRules write_onnxscript_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                                     const ExportFrame& frame, Library& library, TermBank& bank, Symbols& symbols) {
  ExportedRules exported;
  exported.skipped = std::move(skipped);
  std::string classes, list;
  for (const RuleToExport& rule : rules) {
    std::map<std::string, MergedClass> by_body;
    std::string reason = "it has no form of ranks up to " + std::to_string(max_exported_rank) + " and small parameters";
    for (const Rule& fixed : fixed_forms(rule.rule, max_exported_rank, library, bank, symbols)) {
      const auto typed = try_typing(fixed, bank, symbols);
      if (!typed) continue;
      try {
        RuleClass written = ClassWriter(*typed, bank, symbols).write();
        MergedClass& merged = by_body[written.body];
        merged.variables.push_back(std::move(written.variables));
        merged.sizes.merge(written.sizes);
      } catch (const NotExpressible& error) {
        reason = error.reason;
      }
    }
    if (by_body.empty()) {
      exported.skipped.push_back({rule.rule.id, reason});
      continue;
    }
    exported.written.push_back(rule.rule.id);
    std::size_t count = 0;
    for (const auto& [body, merged] : by_body) {
      const std::string name = class_name(rule.rule.id) + (count++ == 0 ? "" : "_form" + std::to_string(count));
      classes += write_class(name, rule, body, merged, bank, symbols);
      list += "    " + name + ",\n";
    }
  }
  exported.text =
      export_header(frame.title, exported, "# ") + frame.prelude + classes + "\n\nRULES = [\n" + list + "]\n";
  return exported;
}

}  // namespace rulemill::algebra
