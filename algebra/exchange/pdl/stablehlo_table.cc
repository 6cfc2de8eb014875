#include "algebra/exchange/pdl/stablehlo_table.h"

#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::algebra {
namespace {

using runtime::InputError;

class FormsReader {
 public:
  FormsReader(std::string origin, const Library& library) : origin_(std::move(origin)), library_(library) {}

  void read(std::string_view text, std::vector<StablehloForm>& forms) const {
    toml::table root;
    try {
      root = toml::parse(text, origin_);
    } catch (const toml::parse_error& error) {
      throw InputError(place(error.source()), std::string(error.description()));
    }
    expect_keys(root, {"forms", "without"});
    for_each_table(root, "forms", [&](const toml::table& entry) { read_forms(entry, forms); });
    for_each_table(root, "without", [&](const toml::table& entry) {
      expect_keys(entry, {"operators", "reason"});
      if (!entry.contains("reason")) fail(entry, "expected a reason");
    });
  }

 private:
  std::string place(const toml::source_region& source) const {
    return origin_ + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
  }
  [[noreturn]] void fail(const toml::node& at, const std::string& message) const {
    throw InputError(place(at.source()), message);
  }

  template <class Read>
  void for_each_table(const toml::table& root, const char* name, const Read& read) const {
    const toml::node* list = root.get(name);
    if (list == nullptr) return;
    if (!list->is_array()) fail(*list, "expected [[" + std::string(name) + "]]");
    for (const toml::node& entry : *list->as_array()) {
      if (!entry.is_table()) fail(entry, "expected [[" + std::string(name) + "]]");
      read(*entry.as_table());
    }
  }

  void expect_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) == known.end())
        fail(value, runtime::unknown_name("key", std::string(key.str()), known));
    }
  }

  void expect_name(const toml::node& at, const std::string& what, const std::string& name,
                   const std::vector<std::string>& known) const {
    if (std::ranges::find(known, name) == known.end()) fail(at, runtime::unknown_name(what, name, known));
  }

  std::string text_of(const toml::node& node) const {
    const auto value = node.value_exact<std::string>();
    if (!value) fail(node, "expected a text in quotes");
    return *value;
  }

  std::vector<std::string> words(const toml::table& table, const char* key) const {
    std::vector<std::string> result;
    const toml::node* node = table.get(key);
    if (node == nullptr) return result;
    if (!node->is_array()) fail(*node, std::string(key) + " is a list of texts");
    for (const toml::node& each : *node->as_array()) result.push_back(text_of(each));
    return result;
  }

  const toml::table& table_at(const toml::table& table, const char* key) const {
    static const toml::table none;
    const toml::node* node = table.get(key);
    if (node == nullptr) return none;
    if (!node->is_table()) fail(*node, std::string(key) + " is a table");
    return *node->as_table();
  }

  std::map<std::string, std::string> texts(const toml::table& table, const char* key) const {
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : table_at(table, key)) result[std::string(name.str())] = text_of(value);
    return result;
  }

  void read_forms(const toml::table& entry, std::vector<StablehloForm>& forms) const {
    expect_keys(entry, {"operations", "output", "when", "inputs", "broadcast", "attributes", "optional"});
    StablehloForm form;
    form.place = place(entry.source());
    if (entry.contains("output")) form.output = text_of(*entry.get("output"));
    form.inputs = words(entry, "inputs");
    form.when = texts(entry, "when");
    form.broadcast = texts(entry, "broadcast");
    form.attributes = texts(entry, "attributes");
    for (const auto& [name, value] : table_at(entry, "optional")) {
      const toml::array* pair = value.as_array();
      if (pair == nullptr || pair->size() != 2) fail(value, "expected [value, value of an absent attribute]");
      form.optional[std::string(name.str())] = {text_of(*pair->get(0)), text_of(*pair->get(1))};
    }
    const std::map<std::string, std::string> operations = texts(entry, "operations");
    if (operations.empty()) fail(entry, "expected operations = { OPERATOR = \"OPERATION\" }");
    for (const auto& [name, operation] : operations) {
      form.operator_name = name;
      form.operation = operation;
      if (library_.has_operator(name)) check_names(entry, form);
      forms.push_back(form);
    }
  }

  void check_names(const toml::table& entry, const StablehloForm& form) const {
    if (!form.output.empty())
      expect_name(*entry.get("output"), "output", form.output, library_.output_names(form.operator_name));
    for (const auto& [parameter, value] : form.when)
      expect_name(*entry.get("when"), "parameter", parameter, library_.parameter_names(form.operator_name));
  }

  std::string origin_;
  const Library& library_;
};

}  // namespace

bool is_commutative_stablehlo(const std::string& operation) {
  static const std::set<std::string> names = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  return names.contains(operation);
}

StablehloTable StablehloTable::load(const std::filesystem::path& path, const Library& library) {
  StablehloTable table;
  FormsReader(path.string(), library).read(runtime::read_file(path), table.forms_);
  return table;
}

std::vector<const StablehloForm*> StablehloTable::forms_of_operation(const std::string& operation) const {
  std::vector<const StablehloForm*> result;
  for (const StablehloForm& form : forms_) {
    if (form.operation == operation) result.push_back(&form);
  }
  return result;
}

}  // namespace rulemill::algebra
