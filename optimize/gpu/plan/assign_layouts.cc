#include "optimize/gpu/plan/assign_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "algebra/sizes/checked.h"
#include "optimize/gpu/plan/min_cut.h"

namespace rulemill::optimize::gpu {

using algebra::Poly;

namespace {

std::string joined(std::span<const std::int64_t> numbers) { return fmt::format("{}", fmt::join(numbers, "x")); }

/// Libraries support channels last for images with one or two spatial dimensions.
bool can_be_channels_last(std::span<const std::int64_t> dims) { return dims.size() == 3 || dims.size() == 4; }

std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

class LayoutChooser {
 public:
  LayoutChooser(const LoweredGraph& graph, std::span<const Operation> operations, LayoutCosts& costs,
                algebra::Symbols& symbols)
      : graph_(graph), operations_(operations), costs_(costs), symbols_(symbols) {}

  LayoutAssignment run() {
    for (const auto& dims : graph_.dims)
      labeling_.add_variable(0, can_be_channels_last(dims) ? 0 : BinaryLabeling::infinite_cost);
    row_major_ = labeling_.add_variable(0, BinaryLabeling::infinite_cost);
    is_constant_.assign(graph_.dims.size(), false);
    for (const auto& port : graph_.constants) is_constant_[port.tensor] = true;
    for (const auto& port : graph_.inputs) keep_row_major(port.tensor);
    for (const auto& port : graph_.constants) keep_row_major(port.tensor);
    for (const Operation& operation : operations_) add(operation);
    for (const auto& port : graph_.outputs) users_[port.tensor].push_back(row_major_);
    for (auto& [tensor, users] : users_) labeling_.add_shared_cost(tensor, std::move(users), copy_cost(tensor));
    return result();
  }

 private:
  /// The layout in which an operation reads a tensor: the label of a variable, or a function of its output's layout.
  struct LayoutChoice {
    std::uint32_t variable = 0;
    std::optional<std::array<Layout, 2>> by_out;
  };

  void add(const Operation& operation) {
    choices_.emplace_back();
    const bool is_window =
        std::holds_alternative<Convolution>(operation.op) || std::holds_alternative<Pooling>(operation.op);
    if (is_window) add_call_costs(operation);
    if (!is_window && operation.expr == nullptr) keep_row_major(operation.out);
    for (const std::uint32_t read : operation.reads)
      choices_.back().push_back(layout_choice(operation, read, is_window));
  }

  LayoutChoice layout_choice(const Operation& operation, std::uint32_t read, bool is_window) {
    if (operation.expr != nullptr) return kernel_layout_choice(*operation.expr, operation.out, read);
    const bool is_image = can_be_channels_last(graph_.dims[read]) && is_window;
    if (is_constant_[read])
      return {row_major_, is_image ? std::optional(std::array{Layout::RowMajor, Layout::ChannelsLast}) : std::nullopt};
    if (is_image && operation.pads_image && read == std::get<Convolution>(operation.op).image)
      return padding_layout_choice(operation.out, read);
    const std::uint32_t variable = is_image ? operation.out : row_major_;
    users_[read].push_back(variable);
    return {variable, {}};
  }

  /// Adds the cost of the call in each layout.
  void add_call_costs(const Operation& operation) {
    LayoutQuery query{operation.op, {}, {}, graph_.dims[operation.out]};
    if (auto* convolution = std::get_if<Convolution>(&query.op)) {
      query.image = graph_.dims[convolution->image];
      query.filters = graph_.dims[convolution->filters];
      for (std::size_t d = 0; operation.pads_image && d < convolution->pad_begin.size(); ++d) {
        query.image[d + 2] += convolution->pad_begin[d] + convolution->pad_end[d];
        convolution->pad_begin[d] = convolution->pad_end[d] = 0;
      }
    } else {
      query.image = graph_.dims[std::get<Pooling>(operation.op).image];
    }
    if (!can_be_channels_last(query.out)) return;
    const auto row_major = costs_.seconds(query);
    query.layout = Layout::ChannelsLast;
    const auto channels_last = costs_.seconds(query);
    if (!channels_last) return keep_row_major(operation.out);
    labeling_.add_cost(operation.out, row_major ? picoseconds(*channels_last) - picoseconds(*row_major)
                                                : -BinaryLabeling::infinite_cost);
  }

  /// The padding kernel can read either layout.
  LayoutChoice padding_layout_choice(std::uint32_t out, std::uint32_t read) {
    const std::uint32_t variable = labeling_.add_variable(0, 0);
    const std::int64_t mismatch_cost = picoseconds(scatter_seconds(read));
    labeling_.add_pairwise_cost(variable, out, {{{0, mismatch_cost}, {mismatch_cost, 0}}});
    users_[read].push_back(variable);
    return {variable, {}};
  }

  LayoutChoice kernel_layout_choice(const TensorExpr& expr, std::uint32_t out, std::uint32_t read) {
    BinaryLabeling::PairCosts costs{};
    for (const int r : {0, 1}) {
      for (const int o : {0, 1})
        costs.at(r).at(o) = picoseconds(read_seconds(expr, read, static_cast<Layout>(r), static_cast<Layout>(o)));
    }
    const bool is_free = can_be_channels_last(graph_.dims[read]);
    if (is_constant_[read]) {
      const auto best_layout = [&](int o) { return is_free && costs[1].at(o) < costs[0].at(o) ? 1 : 0; };
      const int if_row_major = best_layout(0), if_channels_last = best_layout(1);
      labeling_.add_cost(out, costs.at(if_channels_last)[1] - costs.at(if_row_major)[0]);
      return {row_major_, std::array{static_cast<Layout>(if_row_major), static_cast<Layout>(if_channels_last)}};
    }
    if (is_free && BinaryLabeling::is_submodular(costs)) {
      const std::uint32_t variable = labeling_.add_variable(0, 0);
      labeling_.add_pairwise_cost(variable, out, costs);
      users_[read].push_back(variable);
      return {variable, {}};
    }
    // Not submodular, such as a transpose: fix one side. The output stays row-major if that makes the
    // operation a view; else the input does.
    if (is_free && costs[1][0] < std::min(costs[0][0], costs[0][1])) {
      keep_row_major(out);
      const std::uint32_t variable = labeling_.add_variable(costs[0][0], costs[1][0]);
      users_[read].push_back(variable);
      return {variable, {}};
    }
    labeling_.add_cost(out, costs[0][1] - costs[0][0]);
    users_[read].push_back(row_major_);
    return {row_major_, {}};
  }

  /// Returns the additional seconds of uncoalesced reads; for a pure copy, all its seconds.
  double read_seconds(const TensorExpr& expr, std::uint32_t read, Layout in, Layout out) {
    double seconds = 0;
    if (expr.element->kind == ElementExpr::Kind::Read) {
      if (is_view(expr, out, graph_.dims[read], in, symbols_)) return 0;
      seconds = costs_.launch_seconds + 2 * bytes(read) / costs_.bandwidth;
    }
    const auto fastest = fastest_index(expr, out);
    bool is_scattered = false;
    for_each_subexpr(*expr.element, [&](const ElementExpr& subexpr) {
      if (subexpr.kind != ElementExpr::Kind::Read || subexpr.tensor != read || !fastest) return;
      const Poly at = linear_offset(subexpr.indices, graph_.dims[read], in);
      const std::int64_t step = at.coefficient(*fastest);
      const bool linear = !symbols_.contains(at - Poly(*fastest) * Poly(step), *fastest);
      is_scattered = is_scattered || (linear && (step > 1 || step < -1));
    });
    return seconds + (is_scattered ? scatter_seconds(read) : 0);
  }

  /// The index along which consecutive threads of a kernel lie.
  static std::optional<algebra::Atom> fastest_index(const TensorExpr& expr, Layout out) {
    const std::vector<std::size_t> order = dims_in_memory_order(out, expr.dims.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      if (expr.dims[order[i]] > 1) return expr.indices[order[i]];
    }
    return std::nullopt;
  }

  void keep_row_major(std::uint32_t tensor) { labeling_.add_cost(tensor, BinaryLabeling::infinite_cost); }

  double bytes(std::uint32_t tensor) const {
    return static_cast<double>(algebra::element_count(graph_.dims[tensor])) * sizeof(float);
  }
  double scatter_seconds(std::uint32_t tensor) const {
    return bytes(tensor) * (costs_.scatter_factor - 1) / costs_.bandwidth;
  }

  /// One side of a layout copy is uncoalesced.
  std::int64_t copy_cost(std::uint32_t tensor) const {
    if (!can_be_channels_last(graph_.dims[tensor]) || layouts_coincide(graph_.dims[tensor])) return 0;
    return picoseconds(costs_.launch_seconds + 2 * bytes(tensor) / costs_.bandwidth + scatter_seconds(tensor));
  }

  LayoutAssignment result() const {
    const std::vector<bool> labels = labeling_.minimize();
    const auto layout = [&](std::uint32_t variable) {
      return labels[variable] ? Layout::ChannelsLast : Layout::RowMajor;
    };
    LayoutAssignment result;
    for (std::uint32_t t = 0; t < graph_.dims.size(); ++t) result.tensors.push_back(layout(t));
    for (std::size_t w = 0; w < operations_.size(); ++w) {
      auto& reads = result.reads.emplace_back();
      for (const LayoutChoice& each : choices_[w])
        reads.push_back(each.by_out ? each.by_out->at(labels[operations_[w].out] ? 1 : 0) : layout(each.variable));
    }
    result.seconds = static_cast<double>(labeling_.cost(labels)) * 1e-12;
    result.row_major_seconds = static_cast<double>(labeling_.cost(std::vector<bool>(labels.size(), false))) * 1e-12;
    return result;
  }

  const LoweredGraph& graph_;
  std::span<const Operation> operations_;
  LayoutCosts& costs_;
  algebra::Symbols& symbols_;
  BinaryLabeling labeling_;  // variables: tensors by number, row_major_, then reads
  std::uint32_t row_major_ = 0;
  std::vector<bool> is_constant_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> users_;  // by tensor: variables of its readers
  std::vector<std::vector<LayoutChoice>> choices_;             // by operation
};

}  // namespace

std::string describe(const LayoutQuery& query) {
  if (const auto* pool = std::get_if<Pooling>(&query.op))
    return fmt::format("{} pool {}, window {}, stride {}, pad {}, {}", pool->mean ? "mean" : "max", joined(query.image),
                       joined(pool->window), joined(pool->stride), joined(pool->pad), layout_name(query.layout));
  const auto& convolution = std::get<Convolution>(query.op);
  return fmt::format("convolution {} * {}, stride {}, dilation {}, pad {}-{}{}{}, {}", joined(query.image),
                     joined(query.filters), joined(convolution.stride), joined(convolution.dilation),
                     joined(convolution.pad_begin), joined(convolution.pad_end),
                     convolution.epilogue.bias ? ", bias" : "", convolution.epilogue.relu ? ", relu" : "",
                     layout_name(query.layout));
}

LayoutAssignment row_major_layouts(const LoweredGraph& graph, std::span<const Operation> operations) {
  LayoutAssignment result;
  result.tensors.assign(graph.dims.size(), Layout::RowMajor);
  for (const Operation& each : operations) result.reads.emplace_back(each.reads.size(), Layout::RowMajor);
  return result;
}

LayoutAssignment assign_layouts(const LoweredGraph& graph, std::span<const Operation> operations, LayoutCosts& costs,
                                algebra::Symbols& symbols) {
  return LayoutChooser(graph, operations, costs, symbols).run();
}

bool is_view(const TensorExpr& expr, Layout out, std::span<const std::int64_t> read_dims, Layout read,
             algebra::Symbols& symbols) {
  const ElementExpr& element = *expr.element;
  if (element.kind != ElementExpr::Kind::Read || algebra::element_count(read_dims) != expr.elements()) return false;
  for (std::size_t d = 0; d < read_dims.size(); ++d) {
    if (!is_in_range(element.indices[d], read_dims[d], expr.extents, symbols)) return false;
  }
  return simplify(linear_offset(element.indices, read_dims, read), expr.extents, symbols) == own_offset(expr, out);
}

}  // namespace rulemill::optimize::gpu
