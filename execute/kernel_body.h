// The executor's body: one program on one block of tensors, generic over V, a vector of field pairs with V::width
// lanes. The CPU compiles it for AVX-512, AVX2 and one lane at a time, the GPU for one lane a thread; all give the same
// bits. V offers load, store, set1, + ^ | &, shr<n>, shl<n>, mul32 (of the low halves), mul64, equal, less, select.
#pragma once

#include "execute/field.h"
#include "execute/program_view.h"

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

/// x mod p, canonical: after two folds x ≤ p + 8, so that x + 1 has bit 31 just where p must be taken off.
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

/// Any word to a canonical pair.
template <class V>
RM_HD inline V pair_of_word(V x) {
  return join_lanes(x & V::set1(lane_mask), x.template shr<32>());
}

/// f(t) as a keyed hash. An idempotent f marks its image: lane 1 is below 2^30 and carries a 20-bit tag of the rest, by
/// which f knows it again and returns it as it is. 41 bits of an image are free.
template <class V>
RM_HD inline V apply_unary(const FunctionKey& f, V t) {
  V result;
  if (f.idempotent) {
    const V low = V::set1(lane_mask);
    const V free_bits = V::set1(std::uint64_t{1023} << 52);
    const V key = V::set1(~f.key);
    const V h = mix_lanes(t ^ V::set1(f.key));
    const V fresh = reduce_lanes(h & low) | (h & free_bits);
    const V tagged = fresh | (mix_lanes(fresh ^ key).template shr<44>().template shl<32>());
    const V untagged = t & (low | free_bits);
    const V expected = untagged | (mix_lanes(untagged ^ key).template shr<44>().template shl<32>());
    result = V::select(V::equal(expected, t), t, tagged);
  } else {
    result = pair_of_word(mix_lanes(t ^ V::set1(f.key)));
  }
  return f.maps_zero_to_zero ? V::select(V::equal(t, V::set1(0)), t, result) : result;
}

/// f(s, t, …) as a keyed hash; symmetric for a commutative f of two arguments.
template <class V>
RM_HD inline V apply_many(const FunctionKey& f, V* t, std::uint32_t count) {
  if (f.commutative && count == 2) {
    const auto swap = V::less(t[1], t[0]);
    const V smaller = V::select(swap, t[1], t[0]);
    t[1] = V::select(swap, t[0], t[1]);
    t[0] = smaller;
  }
  V h = V::set1(f.key), any = V::set1(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    any = any | t[i];
    h = mix_lanes(h ^ t[i]) + V::set1(f.key);
  }
  const V result = pair_of_word(h);
  return f.maps_zero_to_zero ? V::select(V::equal(any, V::set1(0)), any, result) : result;
}

/// The maximum of a set is a symmetric keyed hash of its distinct elements; of one element, that element; of none, 0.
template <class V>
RM_HD inline V apply_max(std::uint64_t key, const V* t, std::uint32_t count) {
  if (count == 0) return V::set1(0);
  V sum = V::set1(0), differ = V::set1(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    V h = mix_lanes(t[i] ^ V::set1(key));
    for (std::uint32_t j = 0; j < i; ++j) h = V::select(V::equal(t[i], t[j]), V::set1(0), h);
    sum = sum + h;
    differ = differ | (t[i] ^ t[0]);
  }
  return V::select(V::equal(differ, V::set1(0)), t[0], pair_of_word(mix_lanes(sum ^ V::set1(~key))));
}

template <class V>
RM_HD inline V load_factor(const Pair* const* operands, std::uint32_t factor, std::uint32_t lane) {
  return V::load(operands[factor >> operand_shift] + std::size_t{factor & element_mask} * block_width + lane);
}

/// Σ left · right over terms [begin, end) of two operands. Four products of canonical values fit 64 bits, so a sum that
/// is at most 2^34 takes three more before it must be folded.
template <class V>
RM_HD inline V sum_of_products(const Pair* left, const Pair* right, const Factors* begin, const Factors* end) {
  V a = V::set1(0), b = V::set1(0);
  const auto add = [&](const Factors& f) {
    const V x = V::load(left + std::size_t{f.left & element_mask} * block_width);
    const V y = V::load(right + std::size_t{f.right & element_mask} * block_width);
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
template <class V>
RM_HD inline V step_element(const ProgramView& program, const ProgramStep& step, std::uint32_t element,
                            const Pair* const* operands, std::uint32_t lane) {
  using Kind = ProgramStep::Kind;
  const std::uint32_t begin = program.rows[step.first_row + element];
  const std::uint32_t end = program.rows[step.first_row + element + 1];
  const Factors* factors = program.factors;
  switch (step.kind) {
    case Kind::Copy:
      return load_factor<V>(operands, factors[begin].left, lane);
    case Kind::Product:
      return sum_of_products<V>(operands[step.left_operand] + lane, operands[step.right_operand] + lane,
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
          if (scale != 0) {
            x = multiply_pairs(x, V::load(program.coefficients + std::size_t{scale} * block_width + lane));
          }
        }
        a = fold(a + x.mul32(y));
        b = fold(b + x.template shr<32>().mul32(y.template shr<32>()));
      }
      return join_lanes(a, b);
    }
    case Kind::Max:
    case Kind::Apply: {
      V row[max_row];
      for (std::uint32_t t = begin; t < end; ++t) {
        row[t - begin] = multiply_pairs(load_factor<V>(operands, factors[t].left, lane),
                                        load_factor<V>(operands, factors[t].right, lane));
      }
      if (step.kind == Kind::Max) return apply_max(program.max_key, row, end - begin);
      const FunctionKey& f = program.functions[step.first_function];
      return end - begin == 1 ? apply_unary(f, row[0]) : apply_many(f, row, end - begin);
    }
  }
  return V::set1(0);
}

/// Runs one step on lanes [lane, lane + V::width) of a block. `out` receives the elements (none if null); `keys` holds
/// two key pairs an element, by which the values are hashed.
template <class V>
RM_HD inline TensorHash<V> run_step(const ProgramView& program, const ProgramStep& step, const Pair* const* operands,
                                    std::uint32_t lane, Pair* out, const Pair* keys) {
  TensorHash<V> hash{V::set1(0), V::set1(0)};
  const bool apply = step.kind == ProgramStep::Kind::Apply;
  for (std::uint32_t element = 0; element < step.elements; ++element) {
    V value = step_element<V>(program, step, element, operands, lane);
    for (std::uint32_t f = apply ? 1 : 0; f < step.function_count; ++f) {
      value = apply_unary(program.functions[step.first_function + f], value);
    }
    if (out != nullptr) value.store(out + std::size_t{element} * block_width + lane);
    const V x = value + V::set1(keys[2 * element]);
    const V y = value + V::set1(keys[2 * element + 1]);
    hash.first = hash.first + x.mul32(x.template shr<32>());
    hash.second = hash.second + y.mul32(y.template shr<32>());
  }
  return hash;
}

/// The hash of a tensor that no step computed: a variable.
template <class V>
RM_HD inline TensorHash<V> hash_tensor(const Pair* values, std::uint32_t elements, std::uint32_t lane,
                                       const Pair* keys) {
  TensorHash<V> hash{V::set1(0), V::set1(0)};
  for (std::uint32_t element = 0; element < elements; ++element) {
    const V value = V::load(values + std::size_t{element} * block_width + lane);
    const V x = value + V::set1(keys[2 * element]);
    const V y = value + V::set1(keys[2 * element + 1]);
    hash.first = hash.first + x.mul32(x.template shr<32>());
    hash.second = hash.second + y.mul32(y.template shr<32>());
  }
  return hash;
}

}  // namespace rulemill::execute
