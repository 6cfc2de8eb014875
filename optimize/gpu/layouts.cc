#include "optimize/gpu/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "algebra/sizes/checked.h"
#include "optimize/gpu/two_ways.h"

namespace rulemill::optimize::gpu {

using algebra::Poly;

namespace {

std::string joined(std::span<const std::int64_t> numbers) { return fmt::format("{}", fmt::join(numbers, "x")); }

/// What has a plane, or a line, of places for each channel, as libraries take it in both layouts.
bool can_be_channels_last(std::span<const std::int64_t> dims) { return dims.size() == 3 || dims.size() == 4; }

std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

class Choosing {
 public:
  Choosing(const Tensors& tensors, std::span<const Work> work, LayoutCosts& costs, algebra::Symbols& symbols)
      : tensors_(tensors), work_(work), costs_(costs), symbols_(symbols) {}

  Layouts run() {
    for (const auto& dims : tensors_.dims) ways_.add(0, can_be_channels_last(dims) ? 0 : TwoWays::never);
    row_major_ = ways_.add(0, TwoWays::never);
    constant_.assign(tensors_.dims.size(), false);
    for (const auto& port : tensors_.constants) constant_[port.tensor] = true;
    for (const auto& port : tensors_.inputs) keep_row_major(port.tensor);
    for (const auto& port : tensors_.constants) keep_row_major(port.tensor);
    for (const Work& work : work_) add(work);
    for (const auto& port : tensors_.outputs) users_[port.tensor].push_back(row_major_);
    for (auto& [tensor, users] : users_) ways_.unless_alike(tensor, std::move(users), copy_cost(tensor));
    return result();
  }

 private:
  /// In which layout a work reads a tensor: as a thing of its own does, or by the layout of what the work computes.
  struct Reader {
    std::uint32_t thing = 0;
    std::optional<std::array<Layout, 2>> by_out;
  };

  void add(const Work& work) {
    readers_.emplace_back();
    const bool window = std::holds_alternative<Convolution>(work.form) || std::holds_alternative<Pooling>(work.form);
    if (window) price(work);
    if (!window && work.body == nullptr) keep_row_major(work.out);
    for (const std::uint32_t read : work.reads) readers_.back().push_back(reader(work, read, window));
  }

  Reader reader(const Work& work, std::uint32_t read, bool window) {
    if (work.body != nullptr) return reader_of_kernel(*work.body, work.out, read);
    const bool image = can_be_channels_last(tensors_.dims[read]) && window;
    if (constant_[read]) {
      return {row_major_, image ? std::optional(std::array{Layout::RowMajor, Layout::ChannelsLast}) : std::nullopt};
    }
    if (image && work.pads && read == std::get<Convolution>(work.form).image) return reader_that_pads(work.out, read);
    const std::uint32_t as = image ? work.out : row_major_;
    users_[read].push_back(as);
    return {as, {}};
  }

  /// The call by itself.
  void price(const Work& work) {
    LayoutQuery query{work.form, {}, {}, tensors_.dims[work.out]};
    if (auto* convolution = std::get_if<Convolution>(&query.form)) {
      query.image = tensors_.dims[convolution->image];
      query.filters = tensors_.dims[convolution->filters];
      for (std::size_t d = 0; work.pads && d < convolution->front.size(); ++d) {
        query.image[d + 2] += convolution->front[d] + convolution->back[d];
        convolution->front[d] = convolution->back[d] = 0;
      }
    } else {
      query.image = tensors_.dims[std::get<Pooling>(work.form).image];
    }
    if (!can_be_channels_last(query.out)) return;
    const auto first = costs_.seconds(query);
    query.layout = Layout::ChannelsLast;
    const auto second = costs_.seconds(query);
    if (!second) return keep_row_major(work.out);
    ways_.prefer(work.out, first ? picoseconds(*second) - picoseconds(*first) : -TwoWays::never);
  }

  /// Zeros are written around the image by a kernel, which can read either layout.
  Reader reader_that_pads(std::uint32_t out, std::uint32_t read) {
    const std::uint32_t thing = ways_.add(0, 0);
    const std::int64_t apart = picoseconds(scatter(read));
    ways_.both(thing, out, {{{0, apart}, {apart, 0}}});
    users_[read].push_back(thing);
    return {thing, {}};
  }

  Reader reader_of_kernel(const Body& body, std::uint32_t out, std::uint32_t read) {
    TwoWays::Table table{};
    for (const int r : {0, 1}) {
      for (const int o : {0, 1})
        table.at(r).at(o) = picoseconds(reading(body, read, static_cast<Layout>(r), static_cast<Layout>(o)));
    }
    const bool either = can_be_channels_last(tensors_.dims[read]);
    if (constant_[read]) {
      const auto better = [&](int o) { return either && table[1].at(o) < table[0].at(o) ? 1 : 0; };
      const int first = better(0), second = better(1);
      ways_.prefer(out, table.at(second)[1] - table.at(first)[0]);
      return {row_major_, std::array{static_cast<Layout>(first), static_cast<Layout>(second)}};
    }
    if (either && TwoWays::can_say(table)) {
      const std::uint32_t thing = ways_.add(0, 0);
      ways_.both(thing, out, table);
      users_[read].push_back(thing);
      return {thing, {}};
    }
    // Better done differently, as a transpose is: what it writes stays as it is where that is what makes it a renaming,
    // else what it reads.
    if (either && table[1][0] < std::min(table[0][0], table[0][1])) {
      keep_row_major(out);
      const std::uint32_t thing = ways_.add(table[0][0], table[1][0]);
      users_[read].push_back(thing);
      return {thing, {}};
    }
    ways_.prefer(out, table[0][1] - table[0][0]);
    users_[read].push_back(row_major_);
    return {row_major_, {}};
  }

  /// What a kernel takes longer for where its threads read far apart; for one that only copies, all that it takes.
  double reading(const Body& body, std::uint32_t read, Layout in, Layout out) {
    double seconds = 0;
    if (body.element->kind == Element::Kind::Read) {
      if (only_renames(body, out, tensors_.dims[read], in, symbols_)) return 0;
      seconds = costs_.launch + 2 * bytes(read) / costs_.bandwidth;
    }
    const auto fastest = fastest_index(body, out);
    bool scattered = false;
    each_below(*body.element, [&](const Element& one) {
      if (one.kind != Element::Kind::Read || one.tensor != read || !fastest) return;
      const Poly at = position(one.indices, tensors_.dims[read], in);
      const std::int64_t step = at.coefficient(*fastest);
      const bool linear = !symbols_.contains(at - Poly(*fastest) * Poly(step), *fastest);
      scattered = scattered || (linear && (step > 1 || step < -1));
    });
    return seconds + (scattered ? scatter(read) : 0);
  }

  /// Along which the threads of a kernel lie side by side.
  static std::optional<algebra::Atom> fastest_index(const Body& body, Layout out) {
    const std::vector<std::size_t> order = memory_order(out, body.dims.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      if (body.dims[order[i]] > 1) return body.indices[order[i]];
    }
    return std::nullopt;
  }

  void keep_row_major(std::uint32_t tensor) { ways_.prefer(tensor, TwoWays::never); }

  double bytes(std::uint32_t tensor) const {
    return static_cast<double>(algebra::element_count(tensors_.dims[tensor])) * sizeof(float);
  }
  double scatter(std::uint32_t tensor) const { return bytes(tensor) * (costs_.scattered - 1) / costs_.bandwidth; }

  /// One of both sides of a copy is far apart.
  std::int64_t copy_cost(std::uint32_t tensor) const {
    if (!can_be_channels_last(tensors_.dims[tensor]) || same_order(tensors_.dims[tensor])) return 0;
    return picoseconds(costs_.launch + 2 * bytes(tensor) / costs_.bandwidth + scatter(tensor));
  }

  Layouts result() const {
    const std::vector<bool> second = ways_.least();
    const auto layout = [&](std::uint32_t thing) { return second[thing] ? Layout::ChannelsLast : Layout::RowMajor; };
    Layouts made;
    for (std::uint32_t t = 0; t < tensors_.dims.size(); ++t) made.kept.push_back(layout(t));
    for (std::size_t w = 0; w < work_.size(); ++w) {
      auto& reads = made.reads.emplace_back();
      for (const Reader& each : readers_[w])
        reads.push_back(each.by_out ? each.by_out->at(second[work_[w].out] ? 1 : 0) : layout(each.thing));
    }
    made.seconds = static_cast<double>(ways_.cost(second)) * 1e-12;
    made.row_major_seconds = static_cast<double>(ways_.cost(std::vector<bool>(second.size(), false))) * 1e-12;
    return made;
  }

  const Tensors& tensors_;
  std::span<const Work> work_;
  LayoutCosts& costs_;
  algebra::Symbols& symbols_;
  TwoWays ways_;  // things: tensors by number, what is row-major, readers
  std::uint32_t row_major_ = 0;
  std::vector<bool> constant_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> users_;  // by tensor: who wants it in a layout
  std::vector<std::vector<Reader>> readers_;                   // by work
};

}  // namespace

std::string text_of(const LayoutQuery& query) {
  if (const auto* pool = std::get_if<Pooling>(&query.form)) {
    return fmt::format("{} pool {}, window {}, stride {}, pad {}, {}", pool->mean ? "mean" : "max", joined(query.image),
                       joined(pool->window), joined(pool->stride), joined(pool->pad), name_of(query.layout));
  }
  const auto& made = std::get<Convolution>(query.form);
  return fmt::format("convolution {} * {}, stride {}, dilation {}, pad {}-{}{}{}, {}", joined(query.image),
                     joined(query.filters), joined(made.stride), joined(made.dilation), joined(made.front),
                     joined(made.back), made.epilogue.bias ? ", bias" : "", made.epilogue.relu ? ", relu" : "",
                     name_of(query.layout));
}

Layouts row_major(const Tensors& tensors, std::span<const Work> work) {
  Layouts made;
  made.kept.assign(tensors.dims.size(), Layout::RowMajor);
  for (const Work& each : work) made.reads.emplace_back(each.reads.size(), Layout::RowMajor);
  return made;
}

Layouts choose_layouts(const Tensors& tensors, std::span<const Work> work, LayoutCosts& costs,
                       algebra::Symbols& symbols) {
  return Choosing(tensors, work, costs, symbols).run();
}

bool only_renames(const Body& body, Layout out, std::span<const std::int64_t> read_dims, Layout read,
                  algebra::Symbols& symbols) {
  const Element& element = *body.element;
  if (element.kind != Element::Kind::Read || algebra::element_count(read_dims) != body.elements()) return false;
  for (std::size_t d = 0; d < read_dims.size(); ++d) {
    if (!inside(element.indices[d], read_dims[d], body.extents, symbols)) return false;
  }
  return simplified(position(element.indices, read_dims, read), body.extents, symbols) == own_position(body, out);
}

}  // namespace rulemill::optimize::gpu
