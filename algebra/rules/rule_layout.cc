#include "algebra/rules/rule_layout.h"

#include <algorithm>
#include <map>

namespace rulemill::algebra {
namespace {

constexpr int padding = 20;
constexpr int gap = 14;  // between neighbours
constexpr int row = 58;  // from one row's centre to the next's
constexpr int margin = 6;
constexpr int sweeps = 7;              // odd: the last goes up, where arguments' order counts
constexpr double argument_pull = 0.4;  // in positions: arguments stand in their order where nothing else decides

/// Columns that UTF-8 text takes: its bytes less the continuation bytes.
int columns(const std::string& text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

class Layout {
 public:
  Layout(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
         const Types& types)
      : rule_(rule), bank_(bank), symbols_(symbols), types_(types) {
    for (const NodeId id : bank_.nodes(roots)) add_operator(id);
    for (std::size_t i = 0; i < roots.size(); ++i)
      add_output(roots[i], roots.size() > 1 ? "out " + std::to_string(i + 1) : "out");
    assign_rows();
    order_rows();
    place();
  }

  Drawing drawing() { return std::move(drawing_); }

 private:
  std::size_t add(DrawnNode node) {
    const int text = std::max(8 * columns(node.label), 13 * columns(node.detail) / 2);  // fixed pitch, label and detail
    node.width = node.kind == DrawnNode::Kind::Output ? 14 + 6 * columns(node.label) : padding + text;
    node.height = node.kind == DrawnNode::Kind::Output ? 18 : node.detail.empty() ? 26 : 38;
    drawing_.nodes.push_back(std::move(node));
    above_.emplace_back();
    below_.emplace_back();
    return drawing_.nodes.size() - 1;
  }

  void connect(std::size_t from, std::size_t to, const std::string& label) {
    drawing_.edges.push_back({from, to, label});
    above_[to].push_back(from);
    below_[from].push_back(to);
  }

  std::size_t input(TermId id) {
    const auto known = inputs_.find(id);
    if (known != inputs_.end()) return known->second;
    const auto at = static_cast<std::size_t>(std::ranges::find(rule_.variables, id) - rule_.variables.begin());
    const std::string shape = at < rule_.shapes.size() ? symbols_.to_string(rule_.shapes[at]) : "";
    return inputs_[id] = add({DrawnNode::Kind::Input, bank_.term(id).name, shape, shape});
  }

  void connect(TermId argument, std::size_t to) {
    const Term& term = bank_.term(argument);
    if (term.is_variable) return connect(input(argument), to, "");
    const Instance& instance = bank_.instance_of(argument);
    connect(operators_.at(term.node), to, instance.outputs.size() > 1 ? instance.outputs[term.output].name : "");
  }

  void add_operator(NodeId id) {
    const Node& node = bank_.node(id);
    const Instance& instance = bank_.library().instance(node.instance);
    for (const TermId argument : node.arguments) {
      if (bank_.term(argument).is_variable) input(argument);  // left to right, in order of first use
    }
    const std::size_t drawn = add(
        {DrawnNode::Kind::Operator, instance.operator_name, parameters_text(id, bank_, symbols_), type(id, instance)});
    operators_[id] = drawn;
    for (const TermId argument : node.arguments) connect(argument, drawn);
  }

  std::string type(NodeId id, const Instance& instance) const {
    std::string text;
    for (std::uint32_t o = 0; o < instance.outputs.size(); ++o) {
      const std::string output = output_type(id, o, bank_, symbols_, types_);
      if (!output.empty()) text += (text.empty() ? "" : ", ") + output;
    }
    return text;
  }

  void add_output(TermId root, const std::string& name) {
    if (bank_.term(root).is_variable) input(root);
    const std::size_t drawn = add({DrawnNode::Kind::Output, name, "", ""});
    connect(root, drawn);
  }

  /// An operator stands one row below the lowest of its arguments, an input just above the first that uses it, outputs
  /// in the last row.
  void assign_rows() {
    std::vector<int> rows(drawing_.nodes.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (const DrawnEdge& edge : drawing_.edges) {
        if (rows[edge.to] > rows[edge.from]) continue;
        rows[edge.to] = rows[edge.from] + 1;
        changed = true;
      }
    }
    const int last = *std::ranges::max_element(rows);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const DrawnNode::Kind kind = drawing_.nodes[n].kind;
      if (kind == DrawnNode::Kind::Output) rows[n] = last;
      if (!above_[n].empty() || kind == DrawnNode::Kind::Output) continue;
      int first = last;
      for (const std::size_t user : below_[n]) first = std::min(first, rows[user]);
      rows[n] = std::max(0, first - 1);
    }
    rows_.resize(static_cast<std::size_t>(last) + 1);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      rows_[static_cast<std::size_t>(rows[n])].push_back(n);
      drawing_.nodes[n].y = rows[n];
    }
  }

  /// Neighbours' mean position pulls a node; down and up in turn, so that edges cross little.
  void order_rows() {
    std::vector<double> position(drawing_.nodes.size(), 0);
    const auto renumber = [&](const std::vector<std::size_t>& nodes) {
      for (std::size_t i = 0; i < nodes.size(); ++i)
        position[nodes[i]] = static_cast<double>(i) - static_cast<double>(nodes.size() - 1) / 2;
    };
    for (const auto& nodes : rows_) renumber(nodes);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      const bool down = sweep % 2 == 1;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        std::vector<std::size_t>& nodes = rows_[down ? i : rows_.size() - 1 - i];
        const auto pull = [&](std::size_t n) {
          const auto& neighbours = down ? above_[n] : below_[n];
          if (neighbours.empty()) return position[n];
          double sum = 0;
          for (const std::size_t other : neighbours)
            sum += position[other] + (down ? 0 : argument_pull * argument(n, other));
          return sum / static_cast<double>(neighbours.size());
        };
        std::map<std::size_t, double> wanted;
        for (const std::size_t n : nodes) wanted[n] = pull(n);
        std::ranges::stable_sort(nodes, {}, [&](std::size_t n) { return wanted.at(n); });
        renumber(nodes);
      }
    }
  }

  /// Which argument of `user` the node is first, from the middle.
  double argument(std::size_t n, std::size_t user) const {
    const auto& arguments = above_[user];
    return static_cast<double>(std::ranges::find(arguments, n) - arguments.begin()) -
           static_cast<double>(arguments.size() - 1) / 2;
  }

  /// Rows are packed, then each node moves towards its neighbours as far as those beside it allow.
  void place() {
    std::vector<DrawnNode>& nodes = drawing_.nodes;
    for (const auto& line : rows_) {
      int x = 0;
      for (const std::size_t n : line) {
        nodes[n].x = x + nodes[n].width / 2;
        x += nodes[n].width + gap;
      }
      for (const std::size_t n : line) nodes[n].x -= x / 2;
    }
    for (int sweep = 0; sweep < 4 * sweeps; ++sweep) {
      for (const auto& line : rows_) {
        for (std::size_t i = 0; i < line.size(); ++i) settle(line, sweep % 2 == 0 ? i : line.size() - 1 - i);
      }
    }
    int left = 1 << 20, right = -(1 << 20);
    for (const DrawnNode& node : nodes) {
      left = std::min(left, node.x - node.width / 2);
      right = std::max(right, node.x + node.width / 2);
    }
    for (DrawnNode& node : nodes) {
      node.x += margin - left;
      node.y = margin + 19 + node.y * row;
    }
    drawing_.width = right - left + 2 * margin;
    drawing_.height = static_cast<int>(rows_.size() - 1) * row + 38 + 2 * margin - 10;
  }

  void settle(const std::vector<std::size_t>& line, std::size_t i) {
    std::vector<DrawnNode>& nodes = drawing_.nodes;
    DrawnNode& node = nodes[line[i]];
    int sum = 0, count = 0;
    for (const auto* neighbours : {&above_[line[i]], &below_[line[i]]}) {
      for (const std::size_t other : *neighbours) {
        sum += nodes[other].x;
        ++count;
      }
    }
    if (count == 0) return;
    int wanted = sum / count;
    const auto apart = [&](const DrawnNode& other) { return (node.width + other.width) / 2 + gap; };
    if (i > 0) wanted = std::max(wanted, nodes[line[i - 1]].x + apart(nodes[line[i - 1]]));
    if (i + 1 < line.size()) wanted = std::min(wanted, nodes[line[i + 1]].x - apart(nodes[line[i + 1]]));
    if (i == 0 || wanted >= nodes[line[i - 1]].x + apart(nodes[line[i - 1]])) node.x = wanted;
  }

  const Rule& rule_;
  const TermBank& bank_;
  const Symbols& symbols_;
  const Types& types_;
  Drawing drawing_;
  std::unordered_map<TermId, std::size_t> inputs_;
  std::unordered_map<NodeId, std::size_t> operators_;
  std::vector<std::vector<std::size_t>> above_, below_, rows_;
};

}  // namespace

std::string output_type(NodeId id, std::uint32_t output, const TermBank& bank, const Symbols& symbols,
                        const Types& types) {
  for (const auto& [term, shape] : types) {
    if (!bank.term(term).is_variable && bank.term(term).node == id && bank.term(term).output == output)
      return symbols.to_string(shape);
  }
  return {};
}

std::string parameters_text(NodeId id, const TermBank& bank, const Symbols& symbols) {
  const Node& node = bank.node(id);
  const Instance& instance = bank.library().instance(node.instance);
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const auto& [name, value] : instance.parameters) {
    if (std::holds_alternative<Open>(value)) continue;
    if (bank.library().default_value(instance.operator_name, name) != value) add(name, to_string(value));
  }
  for (std::size_t i = 0; i < node.sizes.size(); ++i) {
    add(instance.size_names[instance.first_size_parameter + i], symbols.to_string(node.sizes[i]));
  }
  return text;
}

Drawing draw_side(const Rule& rule, const std::vector<TermId>& roots, const TermBank& bank, const Symbols& symbols,
                  const Types& types) {
  return Layout(rule, roots, bank, symbols, types).drawing();
}

}  // namespace rulemill::algebra
