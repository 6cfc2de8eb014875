#include "optimize/onnx/inputs/npz.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::vector<T> elements(const InputTensor& tensor) {
  std::vector<T> values(tensor.raw.size() / sizeof(T));
  std::copy(tensor.raw.begin(), tensor.raw.end(), reinterpret_cast<char*>(values.data()));
  return values;
}

TEST_CASE("arrays of an archive are read, stored or deflated, in row-major or Fortran order", "[npz]") {
  for (const std::string name : {"stored", "deflated"}) {
    auto tensors = parse_npz(read("tests/corpus/npz/" + name + ".npz"), name);
    CHECK(tensors.size() == 4);
    CHECK(tensors["rows"].shape == std::vector<std::int64_t>{2, 3});
    CHECK(elements<float>(tensors["rows"]) == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(tensors["columns"].shape == std::vector<std::int64_t>{2, 3});
    CHECK(elements<std::int32_t>(tensors["columns"]) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
    CHECK(tensors["scalar"].shape.empty());
    CHECK(elements<std::int64_t>(tensors["scalar"]) == std::vector<std::int64_t>{7});
    CHECK(tensors["empty"].shape == std::vector<std::int64_t>{0, 4});
  }
}

TEST_CASE("an archive with any byte changed is read or is an error that names it", "[npz]") {
  for (const std::string name : {"stored", "deflated"}) {
    const std::string bytes = read("tests/corpus/npz/" + name + ".npz");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      try {
        parse_npz(damaged, "damaged.npz");
      } catch (const runtime::InputError& error) {
        if (!std::string(error.what()).starts_with("damaged.npz: ")) FAIL(error.what());
      }
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      if (size + 22 <= bytes.size()) CHECK_THROWS_AS(parse_npz(bytes.substr(0, size), "cut.npz"), runtime::InputError);
    }
  }
}

TEST_CASE("an array is written with a header of 64 bytes or a multiple", "[npz]") {
  const std::string file = serialize_npy({1, {2, 1}, std::string(8, 'x')});
  CHECK(file.starts_with("\x93NUMPY\x01"));
  CHECK((file.size() - 8) % 64 == 0);
  CHECK(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, ), }") == 10);
}

}  // namespace
}  // namespace rulemill::optimize
