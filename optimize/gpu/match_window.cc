// Convolutions and pools: reads at i · stride + u · dilation − pad.
#include <algorithm>
#include <cmath>

#include "optimize/gpu/match.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using Kind = Element::Kind;

namespace {

/// One dimension that a window slides along.
struct Slide {
  Atom step{};  // the bound index; where there is one
  std::int64_t window = 1, stride = 1, dilation = 1, front = 0;
};

/// index = own · stride + (a bound index) · dilation − front. Of two bound indices, none.
std::optional<Slide> slide_of(const Poly& index, const Poly& own, std::span<const Atom> bound, const Extents& extents) {
  Slide slide;
  slide.front = -index.constant_term();
  Poly rest = index + Poly(slide.front);
  if (const auto atom = own.atom()) {
    slide.stride = index.coefficient(*atom);
    rest -= own * Poly(slide.stride);
  }
  for (const Atom each : bound) {
    const std::int64_t factor = rest.coefficient(each);
    if (factor == 0) continue;
    if (slide.window > 1) return std::nullopt;
    slide.step = each;
    slide.window = extents.at(each);
    slide.dilation = factor;
    rest -= Poly(each) * Poly(factor);
  }
  if (!rest.is_zero() || slide.stride < 1 || slide.dilation < 1) return std::nullopt;
  return slide;
}

/// Slides of dimensions 2 and on; images and channels are the element's own.
std::optional<std::vector<Slide>> slides_of(const Element& read, const Body& body, std::span<const Atom> bound) {
  std::vector<Slide> slides;
  for (std::size_t d = 2; d < body.dims.size(); ++d) {
    const auto slide = slide_of(read.indices[d], index_of(body, d), bound, body.extents);
    if (!slide) return std::nullopt;
    slides.push_back(*slide);
  }
  return slides;
}

bool has_planes(const Body& body, const Element& read) {
  return body.dims.size() >= 3 && body.dims.size() <= 5 && read.indices.size() == body.dims.size();
}

/// Each bound index slides along one dimension, or is `other`.
bool all_used(std::span<const Atom> bound, const std::vector<Slide>& slides, std::optional<Atom> other) {
  return std::ranges::all_of(bound, [&](Atom index) {
    const auto along = std::ranges::count_if(slides, [&](const Slide& s) { return s.window > 1 && s.step == index; });
    return along + (other == index ? 1 : 0) == 1;
  });
}

/// The channel of the image that output channel o and the filters' channel q read.
Poly channel_read(const Body& body, std::int64_t groups, std::int64_t filters, std::int64_t group_size, const Poly& q,
                  algebra::Symbols& symbols) {
  const Poly group = symbols.floor_div(index_of(body, 1), filters / groups);
  return simplified(group * Poly(group_size) + q, body.extents, symbols);
}

std::optional<Convolution> convolution_of(const Body& body, const Contraction& found, const Element& image,
                                          const Element& filters, const Context& context) {
  const auto &x = context.dims[image.tensor], &k = context.dims[filters.tensor];
  if (!has_planes(body, image) || k.size() != x.size() || k[0] != body.dims[1] || x[0] != body.dims[0])
    return std::nullopt;
  if (image.indices[0] != index_of(body, 0) || filters.indices[0] != index_of(body, 1)) return std::nullopt;
  const std::int64_t in_group = k[1];
  if (x[1] % in_group != 0 || k[0] % (x[1] / in_group) != 0) return std::nullopt;
  Convolution made{image.tensor, filters.tensor, x[1] / in_group, {}, {}, {}, {}, {}};
  const Poly q = filters.indices[1];
  const auto channel = q.atom();
  if (in_group == 1 ? !q.is_zero() : !channel || !std::ranges::count(found.bound, *channel)) return std::nullopt;
  if (channel && body.extents.at(*channel) != in_group) return std::nullopt;
  if (image.indices[1] != channel_read(body, made.groups, k[0], in_group, q, context.symbols)) return std::nullopt;
  const auto slides = slides_of(image, body, found.bound);
  if (!slides || !all_used(found.bound, *slides, channel)) return std::nullopt;
  for (std::size_t d = 0; d < slides->size(); ++d) {
    const Slide& slide = slides->at(d);
    if (slide.window != k[d + 2] || filters.indices[d + 2] != (slide.window > 1 ? Poly(slide.step) : Poly(0)))
      return std::nullopt;
    const std::int64_t end = (body.dims[d + 2] - 1) * slide.stride + (slide.window - 1) * slide.dilation + 1;
    made.stride.push_back(slide.stride);
    made.dilation.push_back(slide.dilation);
    made.front.push_back(slide.front);
    made.back.push_back(end - x[d + 2] - slide.front);
  }
  return made;
}

/// Whether the guards say that the read is inside, and nothing else.
bool guarded_inside(const Element& largest, const Element& read, const Body& body, const Context& context) {
  std::vector<Guard> wanted;
  const auto& dims = context.dims[read.tensor];
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Range range = range_of(read.indices[d], body.extents, context.symbols);
    if (range.low < 0) wanted.push_back({algebra::Relation::Le, -read.indices[d]});
    if (range.high >= dims[d]) wanted.push_back({algebra::Relation::Lt, read.indices[d] - Poly(dims[d])});
  }
  return std::ranges::is_permutation(largest.guard, wanted, [](const Guard& a, const Guard& b) {
    return a.relation == b.relation && a.value == b.value;
  });
}

/// A pool whose windows fit as libraries count them.
std::optional<Pooling> pooling_of(const Body& body, std::span<const Atom> bound, const Element& read,
                                  const Context& context) {
  if (!has_planes(body, read)) return std::nullopt;
  if (read.indices[0] != index_of(body, 0) || read.indices[1] != index_of(body, 1)) return std::nullopt;
  const auto& x = context.dims[read.tensor];
  const auto slides = slides_of(read, body, bound);
  if (x[0] != body.dims[0] || x[1] != body.dims[1] || !slides || !all_used(bound, *slides, {})) return std::nullopt;
  Pooling made{read.tensor, false, {}, {}, {}};
  for (std::size_t d = 0; d < slides->size(); ++d) {
    const Slide& slide = slides->at(d);
    const std::int64_t room = x[d + 2] + 2 * slide.front - slide.window;
    if (slide.dilation != 1 || slide.front < 0 || slide.front >= slide.window || room < 0) return std::nullopt;
    if (room / slide.stride + 1 != body.dims[d + 2]) return std::nullopt;
    made.window.push_back(slide.window);
    made.stride.push_back(slide.stride);
    made.pad.push_back(slide.front);
  }
  return made;
}

}  // namespace

bool Convolution::symmetric(std::span<const std::int64_t> image_dims, std::span<const std::int64_t> filter_dims,
                            std::span<const std::int64_t> out_dims) const {
  for (std::size_t d = 0; d < stride.size(); ++d) {
    const std::int64_t reach = (filter_dims[d + 2] - 1) * dilation[d] + 1;
    const std::int64_t room = image_dims[d + 2] + 2 * front[d] - reach;
    if (front[d] < 0 || room < 0 || room / stride[d] + 1 != out_dims[d + 2]) return false;
  }
  return true;
}

std::optional<Convolution> convolution_of(const Body& body, const Context& context) {
  const Core core = core_of(body, 1, context);
  const auto found = contraction_of(*core.element);
  if (!found || found->reads.size() != 2 || found->scale != 1) return std::nullopt;
  for (const std::size_t image : {0, 1}) {
    if (auto made = convolution_of(body, *found, *found->reads[image], *found->reads[1 - image], context)) {
      made->epilogue = core.epilogue;
      return made;
    }
  }
  return std::nullopt;
}

std::optional<Pooling> pooling_of(const Body& body, const Context& context) {
  const Element& element = *body.element;
  if (element.kind == Kind::Max) {
    const Element& read = *element.operands[0];
    if (read.kind != Kind::Read || !guarded_inside(element, read, body, context)) return std::nullopt;
    return pooling_of(body, element.bound, read, context);
  }
  const auto found = contraction_of(element);
  if (!found || found->reads.size() != 1 || found->bound.empty()) return std::nullopt;
  auto made = pooling_of(body, found->bound, *found->reads[0], context);
  if (!made) return std::nullopt;
  double elements = 1;
  for (const std::int64_t length : made->window) elements *= static_cast<double>(length);
  if (std::fabs(found->scale * elements - 1) > 1e-12) return std::nullopt;
  made->mean = true;
  return made;
}

}  // namespace rulemill::optimize::gpu
