// The vector type of one lane: the reference for the others, and the type of a GPU thread.
#pragma once

#include "execute/values/field.h"

namespace rulemill::execute {

struct SingleLane {
  static constexpr std::uint32_t width = 1;
  using Mask = bool;
  std::uint64_t v;

  RM_HD static SingleLane load(const FieldPair* p) { return {*p}; }
  RM_HD void store(FieldPair* p) const { *p = v; }
  RM_HD static SingleLane set1(std::uint64_t x) { return {x}; }
  RM_HD friend SingleLane operator+(SingleLane a, SingleLane b) { return {a.v + b.v}; }
  RM_HD friend SingleLane operator^(SingleLane a, SingleLane b) { return {a.v ^ b.v}; }
  RM_HD friend SingleLane operator|(SingleLane a, SingleLane b) { return {a.v | b.v}; }
  RM_HD friend SingleLane operator&(SingleLane a, SingleLane b) { return {a.v & b.v}; }
  template <int n>
  RM_HD SingleLane shr() const {
    return {v >> n};
  }
  template <int n>
  RM_HD SingleLane shl() const {
    return {v << n};
  }
  RM_HD SingleLane mul32(SingleLane b) const {
    return {std::uint64_t{static_cast<std::uint32_t>(v)} * static_cast<std::uint32_t>(b.v)};
  }
  RM_HD SingleLane mul64(SingleLane b) const { return {v * b.v}; }
  RM_HD static Mask equal(SingleLane a, SingleLane b) { return a.v == b.v; }
  RM_HD static Mask less(SingleLane a, SingleLane b) { return a.v < b.v; }
  RM_HD static SingleLane select(Mask m, SingleLane a, SingleLane b) { return m ? a : b; }
};

}  // namespace rulemill::execute
