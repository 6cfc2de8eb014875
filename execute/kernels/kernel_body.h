// The kernel body: one program on one block of tensors, generic over V, a vector of field pairs with V::width lanes.
// The CPU compiles it for AVX-512, AVX2 and one lane, the GPU for one lane per thread; all compute the same bits. V has
// load, store, set1, + ^ | &, shr<n>, shl<n>, mul32 (of the low halves), mul64, equal, less, select.
#pragma once

#include "execute/program/program_view.h"
#include "execute/values/field.h"

namespace rulemill::execute {

/// Two NH hashes (Black et al., UMAC 1999) of a tensor's values under independent keys: Σ (v₀ + k₀)(v₁ + k₁) mod 2^64.
template <class V>
struct TensorHash {
  V first, second;
};

template <class V>
RM_HD inline V mix_lanes(V x) {
  x = (x ^ x.template shr<30>()).mul64(V::set1(0xbf58476d1ce4e5b9u));
  x = (x ^ x.template shr<27>()).mul64(V::set1(0x94d049bb133111ebu));
  return x ^ x.template shr<31>();
}

/// One step of x mod p: any 64-bit x to at most 2^34.
template <class V>
RM_HD inline V fold(V x) {
  return (x & V::set1(prime)) + x.template shr<31>();
}

/// x mod p, canonical: after two folds x ≤ p + 8, and bit 31 of x + 1 is set exactly if p must be subtracted.
template <class V>
RM_HD inline V reduce_lanes(V x) {
  x = fold(fold(x));
  return (x + (x + V::set1(1)).template shr<31>()) & V::set1(prime);
}

template <class V>
RM_HD inline V join_lanes(V lane0, V lane1) {
  return reduce_lanes(lane0) | reduce_lanes(lane1).template shl<32>();
}

template <class V>
RM_HD inline V multiply_pairs(V a, V b) {
  return join_lanes(a.mul32(b), a.template shr<32>().mul32(b.template shr<32>()));
}

/// Maps any word to a canonical pair.
template <class V>
RM_HD inline V pair_of_word(V x) {
  return join_lanes(x & V::set1(lane_mask), x.template shr<32>());
}

/// f(t) as a keyed hash. An idempotent f marks its image: lane 1 is below 2^30 and contains a 20-bit tag, a hash of the
/// other bits; f returns a value with a valid tag unchanged. 41 bits of an image are free.
template <class V>
RM_HD inline V apply_unary(const FunctionKey& f, V t) {
  V result;
  if (f.idempotent) {
    const V low = V::set1(lane_mask);
    const V free_bits = V::set1(std::uint64_t{1023} << 52);
    const V key = V::set1(~f.key);
    const V h = mix_lanes(t ^ V::set1(f.key));
    const V image = reduce_lanes(h & low) | (h & free_bits);
    const V tagged = image | (mix_lanes(image ^ key).template shr<44>().template shl<32>());
    const V untagged = t & (low | free_bits);
    const V expected = untagged | (mix_lanes(untagged ^ key).template shr<44>().template shl<32>());
    result = V::select(V::equal(expected, t), t, tagged);
  } else {
    result = pair_of_word(mix_lanes(t ^ V::set1(f.key)));
  }
  return f.maps_zero_to_zero ? V::select(V::equal(t, V::set1(0)), t, result) : result;
}

/// f(s, t, …) as a keyed hash of term(0), term(1), …; symmetric if f is commutative and has two arguments.
template <class V, class Term>
RM_HD inline V apply_many(const FunctionKey& f, std::uint32_t count, const Term& term) {
  V h = V::set1(f.key), any = V::set1(0);
  const auto absorb = [&](V t) {
    any = any | t;
    h = mix_lanes(h ^ t) + V::set1(f.key);
  };
  if (f.commutative && count == 2) {
    const V s = term(0), t = term(1);
    const auto swap = V::less(t, s);
    absorb(V::select(swap, t, s));
    absorb(V::select(swap, s, t));
  } else {
    for (std::uint32_t i = 0; i < count; ++i) absorb(term(i));
  }
  const V result = pair_of_word(h);
  return f.maps_zero_to_zero ? V::select(V::equal(any, V::set1(0)), any, result) : result;
}

/// The maximum of a set as a symmetric keyed hash of its distinct elements; of one element, that element; of none, 0.
/// Terms are computed repeatedly, so that no thread stores all of them.
template <class V, class Term>
RM_HD inline V apply_max(std::uint64_t key, std::uint32_t count, const Term& term) {
  if (count == 0) return V::set1(0);
  const V first = term(0);
  V sum = V::set1(0), differ = V::set1(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const V t = term(i);
    V h = mix_lanes(t ^ V::set1(key));
    for (std::uint32_t j = 0; j < i; ++j) h = V::select(V::equal(t, term(j)), V::set1(0), h);
    sum = sum + h;
    differ = differ | (t ^ first);
  }
  return V::select(V::equal(differ, V::set1(0)), first, pair_of_word(mix_lanes(sum ^ V::set1(~key))));
}

/// Operands in blocks of eight tensors.
struct BlockOperands {
  const FieldPair* const* blocks;
  RM_HD const FieldPair* at(std::uint32_t operand) const { return blocks[operand]; }
  /// Distance of consecutive elements.
  RM_HD static constexpr std::uint32_t stride(std::uint32_t) { return block_width; }
};

template <class V, class Operands>
RM_HD inline V load_factor(const Operands& operands, std::uint32_t factor, std::uint32_t lane) {
  const std::uint32_t operand = factor >> operand_shift;
  return V::load(operands.at(operand) + (factor & element_mask) * operands.stride(operand) + lane);
}

/// left · right of one term; the multiplication by coefficient one is skipped.
template <class V, class Operands>
RM_HD inline V product_of(const ProgramView& program, const Factors& factors, const Operands& operands,
                          std::uint32_t lane) {
  const V left = load_factor<V>(operands, factors.left, lane);
  const std::uint32_t one = (program.inputs + program.step_count) << operand_shift;
  return factors.right == one ? left : multiply_pairs(left, load_factor<V>(operands, factors.right, lane));
}

/// A tensor whose consecutive elements are `stride` pairs apart.
struct Strided {
  const FieldPair* pairs;
  std::uint32_t stride;
  RM_HD const FieldPair* at(std::uint32_t factor) const { return pairs + (factor & element_mask) * stride; }
};

/// Σ left · right over terms [begin, end) of two operands. Four products of canonical values fit 64 bits, so that a sum
/// of at most 2^34 can absorb three more products before it is folded.
template <class V>
RM_HD inline V sum_of_products(Strided left, Strided right, const Factors* begin, const Factors* end) {
  V a = V::set1(0), b = V::set1(0);
  const auto add = [&](const Factors& f) {
    const V x = V::load(left.at(f.left));
    const V y = V::load(right.at(f.right));
    a = a + x.mul32(y);
    b = b + x.template shr<32>().mul32(y.template shr<32>());
  };
  for (; end - begin >= 3; begin += 3) {
    add(begin[0]);
    add(begin[1]);
    add(begin[2]);
    a = fold(a);
    b = fold(b);
  }
  for (; begin != end; ++begin) add(*begin);
  return join_lanes(a, b);
}

/// One element of a step, before its unary functions.
template <class V, class Operands>
RM_HD inline V step_element(const ProgramView& program, const ProgramStep& step, std::uint32_t element,
                            const Operands& operands, std::uint32_t lane) {
  using Kind = ProgramStep::Kind;
  const std::uint32_t begin = program.rows[step.first_row + element];
  const std::uint32_t end = program.rows[step.first_row + element + 1];
  const Factors* factors = program.factors;
  switch (step.kind) {
    case Kind::Copy:
      return load_factor<V>(operands, factors[begin].left, lane);
    case Kind::Product:
      return sum_of_products<V>({operands.at(step.left_operand) + lane, operands.stride(step.left_operand)},
                                {operands.at(step.right_operand) + lane, operands.stride(step.right_operand)},
                                factors + begin, factors + end);
    case Kind::Sum: {
      V a = V::set1(0), b = V::set1(0);
      for (std::uint32_t t = begin; t < end; ++t) {
        const V x = load_factor<V>(operands, factors[t].left, lane);
        a = a + (x & V::set1(lane_mask));
        b = b + x.template shr<32>();
      }
      return join_lanes(a, b);
    }
    case Kind::MixedProduct:
    case Kind::Scaled: {
      V a = V::set1(0), b = V::set1(0);
      for (std::uint32_t t = begin; t < end; ++t) {
        V x = load_factor<V>(operands, factors[t].left, lane);
        const V y = load_factor<V>(operands, factors[t].right, lane);
        if (step.kind == Kind::Scaled) {
          const std::uint32_t scale = program.scales[t];
          if (scale != 0)
            x = multiply_pairs(x, V::load(program.coefficients + std::size_t{scale} * block_width + lane));
        }
        a = fold(a + x.mul32(y));
        b = fold(b + x.template shr<32>().mul32(y.template shr<32>()));
      }
      return join_lanes(a, b);
    }
    case Kind::Max:
    case Kind::Apply: {
      const auto term = [&](std::uint32_t i) { return product_of<V>(program, factors[begin + i], operands, lane); };
      if (step.kind == Kind::Max) return apply_max<V>(program.max_key, end - begin, term);
      const FunctionKey& f = program.functions[step.first_function];
      return end - begin == 1 ? apply_unary(f, term(0)) : apply_many<V>(f, end - begin, term);
    }
  }
  return V::set1(0);
}

/// Adds a value to the hash, under the keys of its element.
template <class V>
RM_HD inline void add_to_hash(TensorHash<V>& hash, V value, const FieldPair* keys, std::uint32_t element) {
  const V x = value + V::set1(keys[2 * element]);
  const V y = value + V::set1(keys[2 * element + 1]);
  hash.first = hash.first + x.mul32(x.template shr<32>());
  hash.second = hash.second + y.mul32(y.template shr<32>());
}

/// Runs one step on lanes [lane, lane + V::width) of a block. `out`, unless null, receives the elements, `out_stride`
/// apart; `keys` holds two key pairs per element.
template <class V, class Operands>
RM_HD inline TensorHash<V> run_step(const ProgramView& program, const ProgramStep& step, const Operands& operands,
                                    std::uint32_t lane, FieldPair* out, std::uint32_t out_stride,
                                    const FieldPair* keys) {
  TensorHash<V> hash{V::set1(0), V::set1(0)};
  const bool apply = step.kind == ProgramStep::Kind::Apply;
  for (std::uint32_t element = 0; element < step.elements; ++element) {
    V value = step_element<V>(program, step, element, operands, lane);
    for (std::uint32_t f = apply ? 1 : 0; f < step.function_count; ++f)
      value = apply_unary(program.functions[step.first_function + f], value);
    if (out != nullptr) value.store(out + element * out_stride + lane);
    add_to_hash(hash, value, keys, element);
  }
  return hash;
}

/// The hash of a tensor that no step computed, such as a variable.
template <class V>
RM_HD inline TensorHash<V> hash_tensor(const FieldPair* values, std::uint32_t stride, std::uint32_t elements,
                                       std::uint32_t lane, const FieldPair* keys) {
  TensorHash<V> hash{V::set1(0), V::set1(0)};
  for (std::uint32_t element = 0; element < elements; ++element)
    add_to_hash(hash, V::load(values + element * stride + lane), keys, element);
  return hash;
}

}  // namespace rulemill::execute
