// Element types in and out: what is stored in fewer bits is rounded once.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

TEST_CASE("a number is the same in and out of every element type that holds it", "[tensors]") {
  const algebra::Tensor tensor{{2, 3}, {0, 1, -2, 0.5F, 100, -0.25F}};
  for (Element element : {Element::Float32, Element::Float16, Element::BFloat16, Element::Float64}) {
    const onnx::TensorProto proto = number_proto("t", tensor, element);
    CHECK(element_of(proto.data_type()) == element);
    const auto back = number_tensor(proto, raw_inside(proto));
    REQUIRE(back);
    CHECK(back->shape == tensor.shape);
    CHECK(back->values == tensor.values);
  }
  const algebra::Tensor truths{{4}, {0, 1, 1, 0}};
  for (Element element : {Element::Truth, Element::Integer}) {
    const onnx::TensorProto proto = number_proto("t", truths, element);
    CHECK(number_tensor(proto, raw_inside(proto))->values == truths.values);
  }
}

TEST_CASE("numbers are rounded to the nearest, ties to even", "[tensors]") {
  const auto through = [](Element element, float value) {
    const onnx::TensorProto proto = number_proto("t", {{1}, {value}}, element);
    return number_tensor(proto, raw_inside(proto))->values[0];
  };
  CHECK(through(Element::Float16, 1 + 0x1p-11F) == 1);
  CHECK(through(Element::Float16, 1 + 0x1p-11F + 0x1p-20F) == 1 + 0x1p-10F);
  CHECK(through(Element::Float16, 1 + 3 * 0x1p-11F) == 1 + 0x1p-9F);
  CHECK(through(Element::BFloat16, 1 + 0x1p-8F) == 1);
  CHECK(through(Element::BFloat16, 1 + 0x1p-8F + 0x1p-20F) == 1 + 0x1p-7F);
  CHECK(std::isnan(through(Element::BFloat16, NAN)));
  CHECK(std::isinf(through(Element::Float16, INFINITY)));
}

TEST_CASE("every number of float16 is read and written as it is", "[tensors]") {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(onnx::TensorProto::FLOAT16);
  std::string raw;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) continue;  // no numbers
    raw += static_cast<char>(bits & 255);
    raw += static_cast<char>(bits >> 8);
  }
  proto.add_dims(static_cast<std::int64_t>(raw.size() / 2));
  proto.set_raw_data(raw);
  const auto tensor = number_tensor(proto, raw_inside(proto));
  REQUIRE(tensor);
  CHECK(tensor->values[1] == 0x1p-24F);
  CHECK(tensor->values[0x400] == 0x1p-14F);
  CHECK(tensor->values[0x3c00] == 1);
  CHECK(tensor->values[0x7bff] == 65504);
  CHECK(number_proto("t", *tensor, Element::Float16).raw_data() == raw);
}

TEST_CASE("a finite number that an element type cannot hold is refused, not made infinite", "[tensors]") {
  CHECK_THROWS_WITH(number_proto("t", {{1}, {1e6F}}, Element::Float16), Catch::Contains("become infinite"));
  CHECK_NOTHROW(number_proto("t", {{1}, {1e6F}}, Element::BFloat16));
}

TEST_CASE("integers that a float32 does not hold are none", "[tensors]") {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::INT64);
  proto.add_dims(1);
  proto.add_int64_data((1 << 24) + 1);
  CHECK_FALSE(number_tensor(proto, raw_inside(proto)));
}

}  // namespace
}  // namespace rulemill::optimize
