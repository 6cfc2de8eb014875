#include "optimize/gpu/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {

using algebra::Poly;

namespace {

constexpr std::uint32_t none = 0xffffffff;

/// Calls `visit` with each tensor that a form reads.
template <class Visit>
void each_read(Form& form, const Visit& visit) {
  Epilogue* epilogue = nullptr;
  if (auto* product = std::get_if<Product>(&form)) {
    visit(product->left);
    visit(product->right);
    epilogue = &product->epilogue;
  } else if (auto* convolution = std::get_if<Convolution>(&form)) {
    visit(convolution->image);
    visit(convolution->filters);
    epilogue = &convolution->epilogue;
  } else if (auto* pooling = std::get_if<Pooling>(&form)) {
    visit(pooling->image);
  } else if (auto* softmax = std::get_if<Softmax>(&form)) {
    visit(softmax->input);
  }
  if (epilogue != nullptr && epilogue->bias) visit(*epilogue->bias);
}

std::vector<std::uint32_t> reads_of(Form form) {
  std::vector<std::uint32_t> reads;
  each_read(form, [&](std::uint32_t read) { reads.push_back(read); });
  return reads;
}

class Planner {
 public:
  Planner(Tensors tensors, std::span<const algebra::Function> functions, algebra::Symbols& symbols)
      : tensors_(std::move(tensors)), functions_(functions), symbols_(symbols) {}

  Plan plan(LayoutCosts* costs) {
    choose();
    const Layouts layouts =
        costs == nullptr ? row_major(tensors_, work_) : choose_layouts(tensors_, work_, *costs, symbols_);
    kept_ = layouts.kept;
    plan_.layout_seconds = layouts.seconds;
    plan_.row_major_seconds = layouts.row_major_seconds;
    is_constant_.assign(kept_.size(), false);
    for (const auto& port : tensors_.constants) is_constant_[port.tensor] = true;
    for (std::size_t w = 0; w < work_.size(); ++w) add_steps(work_[w], layouts.reads[w]);
    plan_.outputs = tensors_.outputs;
    for (auto& output : plan_.outputs) output.tensor = in_layout(output.tensor, Layout::RowMajor);
    std::ranges::copy_if(tensors_.inputs, std::back_inserter(plan_.inputs),
                         [&](const Plan::Port& port) { return needed_[port.tensor]; });
    for (std::size_t t = 0; t < tensors_.dims.size(); ++t)
      plan_.tensors.push_back({tensors_.dims[t], false, 0, kept_[t]});
    keep_used_constants();
    place();
    return std::move(plan_);
  }

 private:
  /// What computes each tensor, and which are needed then, from the outputs back.
  void choose() {
    const std::size_t count = tensors_.bodies.size();
    same_as_.assign(count, none);
    needed_.assign(count, false);
    for (const auto& output : tensors_.outputs) needed_[output.tensor] = true;
    const Context context{tensors_.dims, functions_, symbols_,
                          [&](std::uint32_t t) { return tensors_.bodies[t] ? &*tensors_.bodies[t] : nullptr; }};
    for (std::size_t t = count; t-- > 0;) {
      if (!needed_[t] || !tensors_.bodies[t]) continue;
      const Body& body = *tensors_.bodies[t];
      Work work{static_cast<std::uint32_t>(t), {}, &body, {}, false};
      if (!renames(body)) work.form = form_of(body, context);
      if (!std::holds_alternative<std::monostate>(work.form)) {
        work.body = nullptr;
        work.reads = reads_of(work.form);
        if (const auto* convolution = std::get_if<Convolution>(&work.form))
          work.pads = must_pad(*convolution, work.out);
      } else {
        work.reads = gpu::reads_of(*body.element);
      }
      for (const std::uint32_t read : work.reads) needed_[read] = true;
      work_.push_back(std::move(work));
    }
    std::ranges::reverse(work_);
  }

  bool renames(const Body& body) const {
    if (body.element->kind != Element::Kind::Read) return false;
    return only_renames(body, Layout::RowMajor, tensors_.dims[body.element->tensor], Layout::RowMajor, symbols_);
  }

  bool must_pad(const Convolution& convolution, std::uint32_t out) const {
    return !convolution.symmetric(tensors_.dims[convolution.image], tensors_.dims[convolution.filters],
                                  tensors_.dims[out]);
  }

  void add_steps(const Work& work, const std::vector<Layout>& wanted) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t t = 0; t < tensors_.dims.size(); ++t) numbers.push_back(t);
    for (std::size_t i = 0; i < work.reads.size(); ++i) numbers[work.reads[i]] = in_layout(work.reads[i], wanted[i]);
    if (work.body != nullptr) {
      Body body = *work.body;
      body.element = replaced(body.element, {}, numbers, symbols_);
      const bool copies = body.element->kind == Element::Kind::Read;
      const std::uint32_t read = copies ? body.element->tensor : 0;
      if (copies && only_renames(body, kept_[work.out], tensors_.dims[read], kept_[read], symbols_)) {
        same_as_[work.out] = read;
      } else {
        add_kernel(body, work.out);
      }
      return;
    }
    Form form = work.form;
    each_read(form, [&](std::uint32_t& read) { read = numbers[read]; });
    if (work.pads) pad(std::get<Convolution>(form), kept_[work.out]);
    plan_.steps.push_back({work.out, reads_of(form), form, Plan::no_kernel});
  }

  void add_kernel(const Body& body, std::uint32_t out) {
    Kernel kernel = kernel_of(body, tensors_.dims, functions_, symbols_, {kept_[out], kept_});
    const auto [number, fresh] = kernels_.emplace(kernel.name, static_cast<std::uint32_t>(plan_.kernels.size()));
    plan_.steps.push_back({out, kernel.reads, {}, number->second});
    if (fresh) plan_.kernels.push_back(std::move(kernel));
  }

  std::uint32_t add_tensor(const std::vector<std::int64_t>& dims, Layout layout) {
    tensors_.dims.push_back(dims);
    kept_.push_back(layout);
    is_constant_.push_back(false);
    return static_cast<std::uint32_t>(tensors_.dims.size() - 1);
  }

  /// The tensor, or a copy of it, where its elements lie so; a constant is loaded so.
  std::uint32_t in_layout(std::uint32_t tensor, Layout layout) {
    if (kept_[tensor] == layout || same_order(tensors_.dims[tensor])) return tensor;
    const auto found = copies_.find(tensor);
    if (found != copies_.end()) return found->second;
    const std::uint32_t copy = add_tensor(tensors_.dims[tensor], layout);
    copies_.emplace(tensor, copy);
    if (is_constant_[tensor]) {
      is_constant_[copy] = true;
      const auto port = std::ranges::find(tensors_.constants, tensor, &Plan::Port::tensor);
      const ValueId value = port->value;
      tensors_.constants.push_back({value, copy});
    } else {
      add_kernel(copy_of(tensor, {}, {}), copy);
      ++plan_.copies;
    }
    return copy;
  }

  /// A tensor, with so many zeros in front of and behind dimensions 2 and on.
  Body copy_of(std::uint32_t tensor, std::span<const std::int64_t> front, std::span<const std::int64_t> back) {
    Body body;
    body.dims = tensors_.dims[tensor];
    auto read = std::make_shared<Element>();
    read->kind = Element::Kind::Read;
    read->tensor = tensor;
    for (std::size_t d = 0; d < body.dims.size(); ++d) {
      const bool padded = d >= 2 && d - 2 < front.size();
      if (padded) body.dims[d] += front[d - 2] + back[d - 2];
      body.indices.push_back(symbols_.index("i" + std::to_string(d)));
      body.extents[body.indices[d]] = body.dims[d];
      read->indices.push_back(index_of(body, d) - Poly(padded ? front[d - 2] : 0));
    }
    body.element = read;
    return body;
  }

  /// Libraries pad alike in front and behind: otherwise zeros are written around the image first.
  void pad(Convolution& convolution, Layout layout) {
    const Body body = copy_of(convolution.image, convolution.front, convolution.back);
    const std::uint32_t padded = add_tensor(body.dims, layout);
    add_kernel(body, padded);
    convolution.image = padded;
    convolution.front.assign(convolution.front.size(), 0);
    convolution.back = convolution.front;
  }

  /// Where the elements of a tensor are.
  std::uint32_t kept_as(std::uint32_t t) const {
    while (t < same_as_.size() && same_as_[t] != none) t = same_as_[t];
    return t;
  }

  /// Those that no step reads, being read in another layout alone, are not loaded.
  void keep_used_constants() {
    std::vector<bool> used(tensors_.dims.size(), false);
    for (const auto& step : plan_.steps) {
      for (const std::uint32_t read : step.reads) used[kept_as(read)] = true;
    }
    for (const auto& output : plan_.outputs) used[kept_as(output.tensor)] = true;
    std::ranges::copy_if(tensors_.constants, std::back_inserter(plan_.constants),
                         [&](const Plan::Port& port) { return used[port.tensor]; });
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
      const Plan::Tensor& kept = plan_.tensors[kept_as(t)];
      plan_.tensors[t].constant = kept.constant;
      plan_.tensors[t].offset = kept.offset;
    }
  }

  std::size_t bytes(std::uint32_t tensor) const {
    return static_cast<std::size_t>(plan_.tensors[tensor].elements()) * sizeof(float);
  }

  Tensors tensors_;
  std::span<const algebra::Function> functions_;
  algebra::Symbols& symbols_;
  std::vector<Work> work_;
  std::vector<Layout> kept_;            // by tensor
  std::vector<std::uint32_t> same_as_;  // by tensor: whose memory it is
  std::vector<bool> needed_, is_constant_;
  std::map<std::uint32_t, std::uint32_t> copies_;  // of a tensor in its other layout
  std::map<std::string, std::uint32_t> kernels_;
  Plan plan_;
};

}  // namespace

std::int64_t Plan::Tensor::elements() const { return algebra::element_count(dims); }

Plan plan_of(const GraphBank& bank, std::span<const ValueId> outputs, const Evaluator::Sizes& sizes, Joining joining,
             Unknown unknown, LayoutCosts* layouts) {
  Tensors tensors = tensors_of(bank, outputs, sizes, unknown);
  if (joining == Joining::All) join_neighbours(tensors, bank.library().functions(), bank.symbols());
  return Planner(std::move(tensors), bank.library().functions(), bank.symbols()).plan(layouts);
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
  const auto last = std::ranges::count_if(plan.steps, [&](const Plan::Step& step) {
    return step.kernel == Plan::no_kernel && plan.tensors[step.out].layout == Layout::ChannelsLast;
  });
  const std::string layouts =
      last == 0 ? "" : fmt::format("; {} calls with channels last, {} copies between layouts", last, plan.copies);
  return fmt::format(
      "{} products, {} convolutions, {} pools, {} softmax, {} kernels ({} different); {:.1f} MB at once of {:.1f} "
      "MB{}{}",
      counts[1], counts[2], counts[3], counts[4], counts[0], plan.kernels.size(),
      static_cast<double>(plan.arena_bytes) / 1e6, static_cast<double>(all) / 1e6, given, layouts);
}

}  // namespace rulemill::optimize::gpu
