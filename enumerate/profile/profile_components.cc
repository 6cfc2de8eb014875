#include "enumerate/profile/profile_components.h"

#include "runtime/text/hash.h"
#include "runtime/text/join_text.h"

namespace rulemill::enumerate {
namespace {

template <class Items, class Show>
std::string list(const Items& items, Show show) {
  return "[" + runtime::join_text(items, show) + "]";
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

std::string restrictions(const ProfileOperator& entry, const Profile& profile) {
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

/// Adds a component; if it exists, appends the value.
void add(InputComponents& components, const std::string& component, const std::string& value) {
  const auto [found, fresh] = components.emplace(component, value);
  if (!fresh) found->second += " or " + value;
}

}  // namespace

InputComponents profile_components(const Profile& profile) {
  InputComponents components;
  std::string variables, operators;
  components["max_elements"] = std::to_string(profile.max_elements);
  if (profile.values == algebra::Domain::Reals) components["values"] = "reals";
  components["roles"] = list(profile.roles, [](const std::string& role) { return role; });
  for (const Variable& variable : profile.variables) {
    add(components, "variable " + variable.name, numbers(variable.shape) + ", role " + profile.roles[variable.role]);
    variables += variable.name + " ";
  }
  for (const ProfileConstant& constant : profile.constants) {
    const std::string component = "constant " + name_with(constant.name, constant.parameters);
    add(components, component, "sizes " + numbers(constant.sizes));
    operators += component + " ";
  }
  for (const ProfileOperator& entry : profile.operators) {
    const std::string component = "operator " + name_with(entry.name, entry.parameters);
    add(components, component, restrictions(entry, profile));
    operators += component + " ";
  }
  components["order of variables"] = variables;
  components["order of operators"] = operators;
  return components;
}

InputComponents definition_components(const Profile& profile, const algebra::Library& library) {
  InputComponents components;
  for (const ProfileConstant& entry : profile.constants)
    components["definition of " + entry.name] = library.digest(entry.name);
  for (const ProfileOperator& entry : profile.operators)
    components["definition of " + entry.name] = library.digest(entry.name);
  return components;
}

std::string digest_of(const InputComponents& components) {
  runtime::Hasher hasher;
  for (const auto& [component, value] : components) {
    hasher.add_text(component);
    hasher.add_text(value);
  }
  return runtime::to_hex(hasher.digest128());
}

std::vector<InputChange> find_changes(const InputComponents& before, const InputComponents& after) {
  std::vector<InputChange> all;
  for (const auto& [component, value] : before) {
    const auto found = after.find(component);
    const std::string now = found == after.end() ? "" : found->second;
    if (now != value) all.push_back({component, value, now});
  }
  for (const auto& [component, value] : after) {
    if (!before.contains(component)) all.push_back({component, "", value});
  }
  return all;
}

std::string describe_changes(const std::vector<InputChange>& changes) {
  constexpr std::size_t max_listed = 5;
  std::string text;
  std::size_t listed = 0, left = 0;
  for (const InputChange& change : changes) {
    // An order is shown only if no component was added or removed.
    if (change.component.starts_with("order of ") && changes.size() > 1) continue;
    if (listed == max_listed) {
      ++left;
      continue;
    }
    ++listed;
    const bool long_values =
        change.component.starts_with("definition of ") || change.component.starts_with("order of ");
    text += (text.empty() ? "" : "; ") + change.component;
    if (change.before.empty())
      text += " is new";
    else if (change.after.empty())
      text += " was removed";
    else
      text += long_values ? " has changed" : ": " + change.before + " → " + change.after;
  }
  return left == 0 ? text : text + "; and " + std::to_string(left) + " more";
}

}  // namespace rulemill::enumerate
