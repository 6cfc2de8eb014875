#include "optimize/gpu/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {

using algebra::Poly;

namespace {

constexpr std::uint32_t none = 0xffffffff;

/// Tensors that a form reads.
std::vector<std::uint32_t> reads_of(const Form& form) {
  std::vector<std::uint32_t> reads;
  const Epilogue* epilogue = nullptr;
  if (const auto* product = std::get_if<Product>(&form)) {
    reads = {product->left, product->right};
    epilogue = &product->epilogue;
  } else if (const auto* convolution = std::get_if<Convolution>(&form)) {
    reads = {convolution->image, convolution->filters};
    epilogue = &convolution->epilogue;
  } else if (const auto* pooling = std::get_if<Pooling>(&form)) {
    reads = {pooling->image};
  } else if (const auto* softmax = std::get_if<Softmax>(&form)) {
    reads = {softmax->input};
  }
  if (epilogue != nullptr && epilogue->bias) reads.push_back(*epilogue->bias);
  return reads;
}

class Planner {
 public:
  Planner(Tensors tensors, std::span<const algebra::Function> functions, algebra::Symbols& symbols)
      : tensors_(std::move(tensors)), functions_(functions), symbols_(symbols) {}

  Plan plan() {
    choose();
    for (std::uint32_t t = 0; t < forms_.size(); ++t) {
      if (needed_[t] && tensors_.bodies[t] && same_as_[t] == none) add_steps(t);
    }
    const auto is_needed = [&](const Plan::Port& port) { return needed_[port.tensor]; };
    std::ranges::copy_if(tensors_.inputs, std::back_inserter(plan_.inputs), is_needed);
    std::ranges::copy_if(tensors_.constants, std::back_inserter(plan_.constants), is_needed);
    plan_.outputs = tensors_.outputs;
    for (const auto& dims : tensors_.dims) plan_.tensors.push_back({dims, false, 0});
    place();
    return std::move(plan_);
  }

 private:
  /// What computes each tensor, and which are needed then, from the outputs back.
  void choose() {
    const std::size_t count = tensors_.bodies.size();
    forms_.resize(count);
    same_as_.assign(count, none);
    needed_.assign(count, false);
    for (const auto& output : tensors_.outputs) needed_[output.tensor] = true;
    const Context context{tensors_.dims, functions_, symbols_,
                          [&](std::uint32_t t) { return tensors_.bodies[t] ? &*tensors_.bodies[t] : nullptr; }};
    for (std::size_t t = count; t-- > 0;) {
      if (!needed_[t] || !tensors_.bodies[t]) continue;
      const Body& body = *tensors_.bodies[t];
      same_as_[t] = renamed(body, context);
      if (same_as_[t] == none) forms_[t] = form_of(body, context);
      for (const std::uint32_t read : reads(static_cast<std::uint32_t>(t))) needed_[read] = true;
    }
  }

  std::vector<std::uint32_t> reads(std::uint32_t t) const {
    if (same_as_[t] != none) return {same_as_[t]};
    if (!std::holds_alternative<std::monostate>(forms_[t])) return reads_of(forms_[t]);
    return gpu::reads_of(*tensors_.bodies[t]->element);
  }

  /// The tensor whose elements are this one's, in the same order.
  std::uint32_t renamed(const Body& body, const Context& context) const {
    const Element& read = *body.element;
    if (read.kind != Element::Kind::Read) return none;
    const auto& dims = tensors_.dims[read.tensor];
    if (algebra::element_count(dims) != body.elements()) return none;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!inside(read.indices[d], dims[d], body.extents, context.symbols)) return none;
    }
    const Poly at = simplified(position(read.indices, dims), body.extents, symbols_);
    return at == own_position(body) ? read.tensor : none;
  }

  void add_steps(std::uint32_t t) {
    if (auto* convolution = std::get_if<Convolution>(&forms_[t])) pad(*convolution, t);
    if (std::holds_alternative<std::monostate>(forms_[t])) return add_kernel(*tensors_.bodies[t], t);
    plan_.steps.push_back({t, reads_of(forms_[t]), forms_[t], Plan::no_kernel});
  }

  void add_kernel(const Body& body, std::uint32_t out) {
    Kernel kernel = kernel_of(body, tensors_.dims, functions_, symbols_);
    const auto [number, fresh] = kernels_.emplace(kernel.name, static_cast<std::uint32_t>(plan_.kernels.size()));
    plan_.steps.push_back({out, kernel.reads, {}, number->second});
    if (fresh) plan_.kernels.push_back(std::move(kernel));
  }

  /// Libraries pad alike in front and behind: otherwise zeros are written around the image first.
  void pad(Convolution& convolution, std::uint32_t out) {
    const auto& image = tensors_.dims[convolution.image];
    if (convolution.symmetric(image, tensors_.dims[convolution.filters], tensors_.dims[out])) return;
    Body body;
    body.dims = image;
    auto read = std::make_shared<Element>();
    read->kind = Element::Kind::Read;
    read->tensor = convolution.image;
    for (std::size_t d = 0; d < image.size(); ++d) {
      if (d >= 2) body.dims[d] += convolution.front[d - 2] + convolution.back[d - 2];
      body.indices.push_back(symbols_.index("i" + std::to_string(d)));
      body.extents[body.indices[d]] = body.dims[d];
      read->indices.push_back(index_of(body, d) - Poly(d >= 2 ? convolution.front[d - 2] : 0));
    }
    body.element = read;
    const auto padded = static_cast<std::uint32_t>(tensors_.dims.size());
    add_kernel(body, padded);
    tensors_.dims.push_back(body.dims);
    convolution.image = padded;
    convolution.front.assign(convolution.front.size(), 0);
    convolution.back = convolution.front;
  }

  /// Where the elements of a tensor are.
  std::uint32_t kept_as(std::uint32_t t) const {
    while (t < same_as_.size() && same_as_[t] != none) t = same_as_[t];
    return t;
  }

  void place() {
    const std::size_t count = plan_.tensors.size(), end = plan_.steps.size();
    std::vector<std::optional<Lifetime>> lives(count);
    const auto use = [&](std::uint32_t tensor, std::size_t step) {
      auto& life = lives[kept_as(tensor)];
      if (!life) life = Lifetime{bytes(tensor), step, step};
      life->first = std::min(life->first, step);
      life->last = std::max(life->last, step);
    };
    for (const auto& input : plan_.inputs) {  // they are read again at the next run
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
      lives[constant.tensor].reset();
    }
    std::vector<std::size_t> owners;
    for (std::size_t t = 0; t < count; ++t) {
      if (!lives[t]) continue;
      owners.push_back(t);
      plan_.lifetimes.push_back(*lives[t]);
    }
    const Arena arena = arena_of(plan_.lifetimes);
    plan_.arena_bytes = arena.bytes;
    for (std::size_t i = 0; i < owners.size(); ++i) plan_.tensors[owners[i]].offset = arena.offsets[i];
    for (std::uint32_t t = 0; t < count; ++t) {
      const auto& [dims, constant, offset] = plan_.tensors[kept_as(t)];
      plan_.tensors[t].constant = constant;
      plan_.tensors[t].offset = offset;
    }
  }

  std::size_t bytes(std::uint32_t tensor) const {
    return static_cast<std::size_t>(plan_.tensors[tensor].elements()) * sizeof(float);
  }

  Tensors tensors_;
  std::span<const algebra::Function> functions_;
  algebra::Symbols& symbols_;
  std::vector<Form> forms_;
  std::vector<std::uint32_t> same_as_;
  std::vector<bool> needed_;
  std::map<std::string, std::uint32_t> kernels_;
  Plan plan_;
};

}  // namespace

std::int64_t Plan::Tensor::elements() const { return algebra::element_count(dims); }

Plan plan_of(const GraphBank& bank, std::span<const ValueId> outputs, const Evaluator::Sizes& sizes, Joining joining,
             Unknown unknown) {
  Tensors tensors = tensors_of(bank, outputs, sizes, unknown);
  if (joining == Joining::All) join_neighbours(tensors, bank.library().functions(), bank.symbols());
  return Planner(std::move(tensors), bank.library().functions(), bank.symbols()).plan();
}

std::vector<float> floats(const algebra::Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }

std::string summary_of(const Plan& plan) {
  std::array<std::size_t, std::variant_size_v<Form>> counts{};
  for (const auto& step : plan.steps) ++counts[step.form.index()];
  std::size_t all = 0;
  for (const Lifetime& life : plan.lifetimes) all += life.bytes;
  const auto unknown = std::ranges::count_if(plan.inputs, [](const auto& port) { return port.unknown; });
  const std::string given =
      unknown == 0 ? "" : fmt::format("; {} values are given that no definition computes", unknown);
  return fmt::format(
      "{} products, {} convolutions, {} pools, {} softmax, {} kernels ({} different); {:.1f} MB at once of {:.1f} MB{}",
      counts[1], counts[2], counts[3], counts[4], counts[0], plan.kernels.size(),
      static_cast<double>(plan.arena_bytes) / 1e6, static_cast<double>(all) / 1e6, given);
}

}  // namespace rulemill::optimize::gpu
