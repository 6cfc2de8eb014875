// Tensors of narrow data types are read and written with a single rounding.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/optimize/models.h"

namespace rulemill::optimize {
namespace {

TEST_CASE("representable numbers are converted exactly by every data type", "[tensors]") {
  const algebra::Tensor tensor{{2, 3}, {0, 1, -2, 0.5F, 100, -0.25F}};
  for (DataType data_type : {DataType::Float32, DataType::Float16, DataType::BFloat16, DataType::Float64}) {
    const onnx::TensorProto proto = make_tensor_proto("t", tensor, data_type);
    CHECK(to_data_type(proto.data_type()) == data_type);
    const auto back = to_tensor(proto, inline_raw_data(proto));
    REQUIRE(back);
    CHECK(back->shape == tensor.shape);
    CHECK(back->values == tensor.values);
  }
  const algebra::Tensor booleans{{4}, {0, 1, 1, 0}};
  for (DataType data_type : {DataType::Bool, DataType::Integer}) {
    const onnx::TensorProto proto = make_tensor_proto("t", booleans, data_type);
    CHECK(to_tensor(proto, inline_raw_data(proto))->values == booleans.values);
  }
}

TEST_CASE("numbers are rounded to the nearest, ties to even", "[tensors]") {
  const auto round_trip = [](DataType data_type, float value) {
    const onnx::TensorProto proto = make_tensor_proto("t", {{1}, {value}}, data_type);
    return to_tensor(proto, inline_raw_data(proto))->values[0];
  };
  CHECK(round_trip(DataType::Float16, 1 + 0x1p-11F) == 1);
  CHECK(round_trip(DataType::Float16, 1 + 0x1p-11F + 0x1p-20F) == 1 + 0x1p-10F);
  CHECK(round_trip(DataType::Float16, 1 + 3 * 0x1p-11F) == 1 + 0x1p-9F);
  CHECK(round_trip(DataType::BFloat16, 1 + 0x1p-8F) == 1);
  CHECK(round_trip(DataType::BFloat16, 1 + 0x1p-8F + 0x1p-20F) == 1 + 0x1p-7F);
  CHECK(std::isnan(round_trip(DataType::BFloat16, NAN)));
  CHECK(std::isinf(round_trip(DataType::Float16, INFINITY)));
}

TEST_CASE("every float16 number is read and written exactly", "[tensors]") {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(onnx::TensorProto::FLOAT16);
  std::string raw;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) continue;  // NaN
    raw += static_cast<char>(bits & 255);
    raw += static_cast<char>(bits >> 8);
  }
  proto.add_dims(static_cast<std::int64_t>(raw.size() / 2));
  proto.set_raw_data(raw);
  const auto tensor = to_tensor(proto, inline_raw_data(proto));
  REQUIRE(tensor);
  CHECK(tensor->values[1] == 0x1p-24F);
  CHECK(tensor->values[0x400] == 0x1p-14F);
  CHECK(tensor->values[0x3c00] == 1);
  CHECK(tensor->values[0x7bff] == 65504);
  CHECK(make_tensor_proto("t", *tensor, DataType::Float16).raw_data() == raw);
}

TEST_CASE("a finite number beyond the range of a data type is rejected", "[tensors]") {
  CHECK_THROWS_WITH(make_tensor_proto("t", {{1}, {1e6F}}, DataType::Float16), Catch::Contains("become infinite"));
  CHECK_NOTHROW(make_tensor_proto("t", {{1}, {1e6F}}, DataType::BFloat16));
}

TEST_CASE("integers beyond the exact range of float32 are not converted", "[tensors]") {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::INT64);
  proto.add_dims(1);
  proto.add_int64_data((1 << 24) + 1);
  CHECK_FALSE(to_tensor(proto, inline_raw_data(proto)));
}

}  // namespace
}  // namespace rulemill::optimize
