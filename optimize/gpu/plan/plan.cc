#include "optimize/gpu/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "algebra/sizes/checked.h"
#include "optimize/gpu/library/match.h"
#include "optimize/gpu/plan/fuse.h"
#include "runtime/text/quantity.h"

namespace rulemill::optimize::gpu {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

}  // namespace

Arena pack_arena(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return lifetimes[i].bytes; });
  Arena arena{std::vector<std::size_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!lifetimes[i].overlaps(lifetimes[other])) continue;
      if (offset + aligned(lifetimes[i].bytes) <= arena.offsets[other]) break;
      offset = std::max(offset, arena.offsets[other] + aligned(lifetimes[other].bytes));
    }
    arena.offsets[i] = offset;
    arena.bytes = std::max(arena.bytes, offset + aligned(lifetimes[i].bytes));
    const auto position =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t other) { return arena.offsets[other]; });
    placed.insert(position, i);
  }
  return arena;
}

std::size_t min_arena_bytes(std::span<const Lifetime> lifetimes) {
  std::size_t max_bytes = 0;
  for (const Lifetime& at : lifetimes) {
    std::size_t bytes = 0;
    for (const Lifetime& other : lifetimes) {
      if (other.first <= at.first && at.first <= other.last) bytes += aligned(other.bytes);
    }
    max_bytes = std::max(max_bytes, bytes);
  }
  return max_bytes;
}

using algebra::Poly;

namespace {

constexpr std::uint32_t no_tensor = 0xffffffff;

/// Calls `visit` for each tensor that a library operation reads.
template <class Visit>
void for_each_operand(LibraryOp& op, const Visit& visit) {
  Epilogue* epilogue = nullptr;
  if (auto* product = std::get_if<Product>(&op)) {
    visit(product->left);
    visit(product->right);
    epilogue = &product->epilogue;
  } else if (auto* convolution = std::get_if<Convolution>(&op)) {
    visit(convolution->image);
    visit(convolution->filters);
    epilogue = &convolution->epilogue;
  } else if (auto* pooling = std::get_if<Pooling>(&op)) {
    visit(pooling->image);
  } else if (auto* softmax = std::get_if<Softmax>(&op)) {
    visit(softmax->input);
  }
  if (epilogue != nullptr && epilogue->bias) visit(*epilogue->bias);
}

std::vector<std::uint32_t> operands_of(LibraryOp op) {
  std::vector<std::uint32_t> reads;
  for_each_operand(op, [&](std::uint32_t read) { reads.push_back(read); });
  return reads;
}

class Planner {
 public:
  Planner(LoweredGraph graph, std::span<const algebra::Function> functions, algebra::Symbols& symbols)
      : graph_(std::move(graph)), functions_(functions), symbols_(symbols) {}

  Plan plan(LayoutCosts* costs) {
    select_operations();
    const LayoutAssignment layouts = costs == nullptr ? row_major_layouts(graph_, operations_)
                                                      : assign_layouts(graph_, operations_, *costs, symbols_);
    layouts_ = layouts.tensors;
    plan_.layout_seconds = layouts.seconds;
    plan_.row_major_seconds = layouts.row_major_seconds;
    is_constant_.assign(layouts_.size(), false);
    for (const auto& port : graph_.constants) is_constant_[port.tensor] = true;
    for (std::size_t w = 0; w < operations_.size(); ++w) add_steps(operations_[w], layouts.reads[w]);
    plan_.outputs = graph_.outputs;
    for (auto& output : plan_.outputs) output.tensor = with_layout(output.tensor, Layout::RowMajor);
    std::ranges::copy_if(graph_.inputs, std::back_inserter(plan_.inputs),
                         [&](const Plan::Port& port) { return needed_[port.tensor]; });
    for (std::size_t t = 0; t < graph_.dims.size(); ++t)
      plan_.tensors.push_back({graph_.dims[t], false, 0, layouts_[t]});
    select_used_constants();
    assign_memory();
    return std::move(plan_);
  }

 private:
  /// Selects the operation of each needed tensor, from the outputs back.
  void select_operations() {
    const std::size_t count = graph_.exprs.size();
    storage_owner_.assign(count, no_tensor);
    needed_.assign(count, false);
    for (const auto& output : graph_.outputs) needed_[output.tensor] = true;
    const MatchContext context{graph_.dims, functions_, symbols_,
                               [&](std::uint32_t t) { return graph_.exprs[t] ? &*graph_.exprs[t] : nullptr; }};
    for (std::size_t t = count; t-- > 0;) {
      if (!needed_[t] || !graph_.exprs[t]) continue;
      const TensorExpr& expr = *graph_.exprs[t];
      Operation operation{static_cast<std::uint32_t>(t), {}, &expr, {}, false};
      if (!is_row_major_view(expr)) operation.op = recognize_library_op(expr, context);
      if (!std::holds_alternative<std::monostate>(operation.op)) {
        operation.expr = nullptr;
        operation.reads = operands_of(operation.op);
        if (const auto* convolution = std::get_if<Convolution>(&operation.op))
          operation.pads_image = !convolution->has_symmetric_padding(
              graph_.dims[convolution->image], graph_.dims[convolution->filters], graph_.dims[operation.out]);
      } else {
        operation.reads = tensors_read(*expr.element);
      }
      for (const std::uint32_t read : operation.reads) needed_[read] = true;
      operations_.push_back(std::move(operation));
    }
    std::ranges::reverse(operations_);
  }

  bool is_row_major_view(const TensorExpr& expr) const {
    if (expr.element->kind != ElementExpr::Kind::Read) return false;
    return is_view(expr, Layout::RowMajor, graph_.dims[expr.element->tensor], Layout::RowMajor, symbols_);
  }

  void add_steps(const Operation& operation, const std::vector<Layout>& read_layouts) {
    std::vector<std::uint32_t> operands;
    for (std::uint32_t t = 0; t < graph_.dims.size(); ++t) operands.push_back(t);
    for (std::size_t i = 0; i < operation.reads.size(); ++i)
      operands[operation.reads[i]] = with_layout(operation.reads[i], read_layouts[i]);
    if (operation.expr != nullptr) {
      TensorExpr expr = *operation.expr;
      expr.element = substitute(expr.element, {}, operands, symbols_);
      const bool copies = expr.element->kind == ElementExpr::Kind::Read;
      const std::uint32_t read = copies ? expr.element->tensor : 0;
      if (copies && is_view(expr, layouts_[operation.out], graph_.dims[read], layouts_[read], symbols_))
        storage_owner_[operation.out] = read;
      else
        add_kernel(expr, operation.out);
      return;
    }
    LibraryOp op = operation.op;
    for_each_operand(op, [&](std::uint32_t& read) { read = operands[read]; });
    if (operation.pads_image) add_padding(std::get<Convolution>(op), layouts_[operation.out]);
    plan_.steps.push_back({operation.out, operands_of(op), op, Plan::no_kernel});
  }

  void add_kernel(const TensorExpr& expr, std::uint32_t out) {
    Kernel kernel = make_kernel(expr, graph_.dims, functions_, symbols_, {layouts_[out], layouts_});
    const auto [position, added] = kernels_.emplace(kernel.name, static_cast<std::uint32_t>(plan_.kernels.size()));
    plan_.steps.push_back({out, kernel.reads, {}, position->second});
    if (added) plan_.kernels.push_back(std::move(kernel));
  }

  std::uint32_t add_tensor(const std::vector<std::int64_t>& dims, Layout layout) {
    graph_.dims.push_back(dims);
    layouts_.push_back(layout);
    is_constant_.push_back(false);
    return static_cast<std::uint32_t>(graph_.dims.size() - 1);
  }

  /// Returns the tensor, or a copy of it in the layout; a constant is loaded in it.
  std::uint32_t with_layout(std::uint32_t tensor, Layout layout) {
    if (layouts_[tensor] == layout || layouts_coincide(graph_.dims[tensor])) return tensor;
    const auto found = copies_.find(tensor);
    if (found != copies_.end()) return found->second;
    const std::uint32_t copy = add_tensor(graph_.dims[tensor], layout);
    copies_.emplace(tensor, copy);
    if (is_constant_[tensor]) {
      is_constant_[copy] = true;
      const auto port = std::ranges::find(graph_.constants, tensor, &Plan::Port::tensor);
      const ValueId value = port->value;
      graph_.constants.push_back({value, copy});
    } else {
      add_kernel(padded_copy(tensor, {}, {}), copy);
      ++plan_.copies;
    }
    return copy;
  }

  /// Returns a copy of a tensor with zero padding around dimensions 2 and on.
  TensorExpr padded_copy(std::uint32_t tensor, std::span<const std::int64_t> pad_begin,
                         std::span<const std::int64_t> pad_end) {
    TensorExpr expr;
    expr.dims = graph_.dims[tensor];
    auto read = std::make_shared<ElementExpr>();
    read->kind = ElementExpr::Kind::Read;
    read->tensor = tensor;
    for (std::size_t d = 0; d < expr.dims.size(); ++d) {
      const bool padded = d >= 2 && d - 2 < pad_begin.size();
      if (padded) expr.dims[d] += pad_begin[d - 2] + pad_end[d - 2];
      expr.indices.push_back(symbols_.index("i" + std::to_string(d)));
      expr.extents[expr.indices[d]] = expr.dims[d];
      read->indices.push_back(index_of(expr, d) - Poly(padded ? pad_begin[d - 2] : 0));
    }
    expr.element = read;
    return expr;
  }

  /// Libraries pad symmetrically: otherwise a kernel pads the image first.
  void add_padding(Convolution& convolution, Layout layout) {
    const TensorExpr expr = padded_copy(convolution.image, convolution.pad_begin, convolution.pad_end);
    const std::uint32_t padded = add_tensor(expr.dims, layout);
    add_kernel(expr, padded);
    convolution.image = padded;
    convolution.pad_begin.assign(convolution.pad_begin.size(), 0);
    convolution.pad_end = convolution.pad_begin;
  }

  /// Returns the tensor whose memory holds the elements.
  std::uint32_t storage_of(std::uint32_t t) const {
    while (t < storage_owner_.size() && storage_owner_[t] != no_tensor) t = storage_owner_[t];
    return t;
  }

  /// Drops constants that are read only in another layout.
  void select_used_constants() {
    std::vector<bool> used(graph_.dims.size(), false);
    for (const auto& step : plan_.steps) {
      for (const std::uint32_t read : step.reads) used[storage_of(read)] = true;
    }
    for (const auto& output : plan_.outputs) used[storage_of(output.tensor)] = true;
    std::ranges::copy_if(graph_.constants, std::back_inserter(plan_.constants),
                         [&](const Plan::Port& port) { return used[port.tensor]; });
  }

  void assign_memory() {
    const std::size_t count = plan_.tensors.size(), end = plan_.steps.size();
    std::vector<std::optional<Lifetime>> lifetimes(count);
    const auto use = [&](std::uint32_t tensor, std::size_t step) {
      auto& lifetime = lifetimes[storage_of(tensor)];
      if (!lifetime) lifetime = Lifetime{bytes(tensor), step, step};
      lifetime->first = std::min(lifetime->first, step);
      lifetime->last = std::max(lifetime->last, step);
    };
    for (const auto& input : plan_.inputs) {  // inputs must survive until the next run
      use(input.tensor, 0);
      use(input.tensor, end);
    }
    for (std::size_t s = 0; s < end; ++s) {
      use(plan_.steps[s].out, s);
      for (const std::uint32_t read : plan_.steps[s].reads) use(read, s);
    }
    for (const auto& output : plan_.outputs) use(output.tensor, end);
    for (const auto& constant : plan_.constants) {
      plan_.tensors[constant.tensor].constant = true;
      plan_.tensors[constant.tensor].offset = plan_.constant_bytes;
      plan_.constant_bytes += (bytes(constant.tensor) + arena_alignment - 1) / arena_alignment * arena_alignment;
      lifetimes[constant.tensor].reset();
    }
    std::vector<std::size_t> owners;
    for (std::size_t t = 0; t < count; ++t) {
      if (!lifetimes[t]) continue;
      owners.push_back(t);
      plan_.lifetimes.push_back(*lifetimes[t]);
    }
    const Arena arena = pack_arena(plan_.lifetimes);
    plan_.arena_bytes = arena.bytes;
    for (std::size_t i = 0; i < owners.size(); ++i) plan_.tensors[owners[i]].offset = arena.offsets[i];
    for (std::uint32_t t = 0; t < count; ++t) {
      const Plan::Tensor& storage = plan_.tensors[storage_of(t)];
      plan_.tensors[t].constant = storage.constant;
      plan_.tensors[t].offset = storage.offset;
    }
  }

  std::size_t bytes(std::uint32_t tensor) const {
    return static_cast<std::size_t>(plan_.tensors[tensor].elements()) * sizeof(float);
  }

  LoweredGraph graph_;
  std::span<const algebra::Function> functions_;
  algebra::Symbols& symbols_;
  std::vector<Operation> operations_;
  std::vector<Layout> layouts_;               // by tensor
  std::vector<std::uint32_t> storage_owner_;  // by tensor: the tensor of which it is a view
  std::vector<bool> needed_, is_constant_;
  std::map<std::uint32_t, std::uint32_t> copies_;  // of a tensor in its other layout
  std::map<std::string, std::uint32_t> kernels_;
  Plan plan_;
};

}  // namespace

std::int64_t Plan::Tensor::elements() const { return algebra::element_count(dims); }

Plan make_plan(const GraphBank& bank, std::span<const ValueId> outputs, const GraphEvaluator::Sizes& sizes,
               KernelFusion fusion, OpaqueNodes opaque_nodes, LayoutCosts* layouts) {
  LoweredGraph graph = lower_graph(bank, outputs, sizes, opaque_nodes);
  if (fusion == KernelFusion::All) fuse_producers(graph, bank.library().functions(), bank.symbols());
  return Planner(std::move(graph), bank.library().functions(), bank.symbols()).plan(layouts);
}

std::vector<float> to_floats(const algebra::Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }

std::string summarize(const Plan& plan) {
  std::array<std::size_t, std::variant_size_v<LibraryOp>> counts{};
  for (const auto& step : plan.steps) ++counts[step.op.index()];
  std::size_t total_bytes = 0;
  for (const Lifetime& lifetime : plan.lifetimes) total_bytes += lifetime.bytes;
  const auto opaque_inputs = std::ranges::count_if(plan.inputs, [](const auto& port) { return port.from_opaque; });
  const std::string opaque_summary =
      opaque_inputs == 0 ? "" : fmt::format("; {} inputs from opaque nodes", opaque_inputs);
  const auto channels_last_calls = std::ranges::count_if(plan.steps, [&](const Plan::Step& step) {
    return step.kernel == Plan::no_kernel && plan.tensors[step.out].layout == Layout::ChannelsLast;
  });
  const std::string layout_summary =
      channels_last_calls == 0
          ? ""
          : fmt::format("; {} channels-last calls, {} layout copies", channels_last_calls, plan.copies);
  return fmt::format(
      "{} products, {} convolutions, {} pools, {} softmax, {} kernels ({} different); {} of memory for {} of "
      "tensors{}{}",
      counts[1], counts[2], counts[3], counts[4], counts[0], plan.kernels.size(),
      runtime::format_bytes(plan.arena_bytes), runtime::format_bytes(total_bytes), opaque_summary, layout_summary);
}

}  // namespace rulemill::optimize::gpu
