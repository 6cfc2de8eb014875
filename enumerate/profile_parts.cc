#include "enumerate/profile_parts.h"

#include "runtime/hash.h"
#include "runtime/joined.h"

namespace rulemill::enumerate {
namespace {

template <class Items, class Show>
std::string list(const Items& items, Show show) {
  return "[" + runtime::joined(items, show) + "]";
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return list(values, [](std::int64_t value) { return std::to_string(value); });
}

std::string pattern(const ShapePattern& shape) {
  std::string text = shape.open ? "..." : "";
  for (const DimPattern& dim : shape.dims) {
    const char* sign = dim.kind == DimPattern::Kind::Any ? "*" : dim.kind == DimPattern::Kind::NotEqual ? "!" : "";
    text += (text.empty() ? "" : " ") + (sign + (dim.kind == DimPattern::Kind::Any ? "" : std::to_string(dim.value)));
  }
  return text;
}

std::string name_with(const std::string& name, const algebra::Parameters& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters)
    text += (text.empty() ? "" : ", ") + key + "=" + algebra::to_string(value);
  return name + "(" + text + ")";
}

std::string restrictions(const OperatorEntry& entry, const Profile& profile) {
  std::string text;
  if (!entry.ranks.empty()) text += "ranks " + list(entry.ranks, [](auto rank) { return std::to_string(rank); });
  for (const auto& [name, rule] : entry.arguments) {
    text +=
        " " + name + ":" + (rule.role ? " role " + profile.roles[*rule.role] : "") + (rule.variable ? " variable" : "");
    if (!rule.shapes.empty()) text += " shapes " + list(rule.shapes, pattern);
  }
  for (const auto& [name, values] : entry.sizes) text += " " + name + " in " + numbers(values);
  return text.empty() ? "unrestricted" : text;
}

/// A part that is said twice has both values.
void add(Parts& parts, const std::string& part, const std::string& value) {
  const auto [found, fresh] = parts.emplace(part, value);
  if (!fresh) found->second += " or " + value;
}

}  // namespace

Parts parts_of(const Profile& profile) {
  Parts parts;
  std::string variables, operators;
  parts["max_elements"] = std::to_string(profile.max_elements);
  if (profile.values == algebra::Domain::Reals) parts["values"] = "reals";
  parts["roles"] = list(profile.roles, [](const std::string& role) { return role; });
  for (const Variable& variable : profile.variables) {
    add(parts, "variable " + variable.name, numbers(variable.shape) + ", role " + profile.roles[variable.role]);
    variables += variable.name + " ";
  }
  for (const ConstantEntry& constant : profile.constants) {
    const std::string part = "constant " + name_with(constant.name, constant.parameters);
    add(parts, part, "sizes " + numbers(constant.sizes));
    operators += part + " ";
  }
  for (const OperatorEntry& entry : profile.operators) {
    const std::string part = "operator " + name_with(entry.name, entry.parameters);
    add(parts, part, restrictions(entry, profile));
    operators += part + " ";
  }
  parts["order of variables"] = variables;
  parts["order of operators"] = operators;
  return parts;
}

Parts definitions_of(const Profile& profile, const algebra::Library& library) {
  Parts parts;
  for (const ConstantEntry& entry : profile.constants)
    parts["definition of " + entry.name] = library.digest(entry.name);
  for (const OperatorEntry& entry : profile.operators)
    parts["definition of " + entry.name] = library.digest(entry.name);
  return parts;
}

std::string digest_of(const Parts& parts) {
  runtime::Hasher hasher;
  for (const auto& [part, value] : parts) {
    hasher.add_text(part);
    hasher.add_text(value);
  }
  return runtime::to_hex(hasher.digest128());
}

std::vector<Change> changes(const Parts& before, const Parts& after) {
  std::vector<Change> all;
  for (const auto& [part, value] : before) {
    const auto found = after.find(part);
    const std::string now = found == after.end() ? "" : found->second;
    if (now != value) all.push_back({part, value, now});
  }
  for (const auto& [part, value] : after) {
    if (!before.contains(part)) all.push_back({part, "", value});
  }
  return all;
}

std::string in_words(const std::vector<Change>& changes) {
  constexpr std::size_t most = 5;
  std::string text;
  std::size_t said = 0, left = 0;
  for (const Change& change : changes) {
    // The order says nothing new where something has come or gone.
    if (change.part.starts_with("order of ") && changes.size() > 1) continue;
    if (said == most) {
      ++left;
      continue;
    }
    ++said;
    const bool long_values = change.part.starts_with("definition of ") || change.part.starts_with("order of ");
    text += (text.empty() ? "" : "; ") + change.part;
    if (change.before.empty())
      text += " is new";
    else if (change.after.empty())
      text += " is gone";
    else
      text += long_values ? " has changed" : ": " + change.before + " → " + change.after;
  }
  return left == 0 ? text : text + "; and " + std::to_string(left) + " more";
}

}  // namespace rulemill::enumerate
