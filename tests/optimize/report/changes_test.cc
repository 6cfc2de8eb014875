#include "optimize/report/changes.h"

#include <catch2/catch.hpp>

#include "optimize/report/report.h"

namespace rulemill::optimize {
namespace {

struct TestDrawing : Drawing {
  std::uint32_t add(const std::string& name, const std::string& label, std::vector<std::uint32_t> inputs,
                    std::vector<Constant> constants = {}, const std::string& shape = "1×8") {
    boxes.push_back({name, label, std::move(inputs), std::move(constants), shape, label == "input", false});
    return static_cast<std::uint32_t>(boxes.size() - 1);
  }
};

std::string numbered(const std::string& word, std::size_t number) { return word + std::to_string(number); }

/// Blocks of Conv, Scale and Relu, and the same without Scale and with other weights of Conv.
std::pair<TestDrawing, TestDrawing> blocks(std::size_t count) {
  TestDrawing before, after;
  std::uint32_t last_before = before.add("x", "input", {}), last_after = after.add("x", "input", {});
  for (std::size_t i = 0; i < count; ++i) {
    const std::string width = std::to_string(8 + i);
    last_before = before.add(numbered("conv", i), "Conv", {last_before}, {{numbered("w", i), width + "×8"}});
    last_before = before.add(numbered("scale", i), "Scale", {last_before}, {{numbered("s", i), width}});
    last_before = before.add(numbered("relu", i), "Relu", {last_before});
    last_after = after.add(numbered("conv", i), "Conv", {last_after}, {{numbered("folded", i), width + "×8"}});
    last_after = after.add(numbered("relu", i), "Relu", {last_after});
  }
  before.add("last", "Gemm", {last_before});
  after.add("last", "Gemm", {last_after});
  mark_differences(before, after);
  return {before, after};
}

TEST_CASE("equal changes form one group, which last_after drawn once, and the outline last_after short", "[changes]") {
  const auto [before, after] = blocks(500);
  const std::vector<ChangeGroup> groups = changes_between(before, after);
  REQUIRE(groups.size() == 2);  // the first block takes the model's input
  CHECK(groups[0].changes.size() == 1);
  CHECK(groups[1].changes.size() == 499);
  CHECK(groups[1].changes[0].before == std::vector<std::uint32_t>{4, 5});
  CHECK(groups[1].changes[0].after == std::vector<std::uint32_t>{3});
  CHECK(groups[1].before.boxes.size() == 4);  // with its neighbors
  CHECK(groups[1].after.boxes.size() == 3);
  const std::vector<Stretch> outline = outline_of(before, groups);
  REQUIRE(outline.size() == 3);
  CHECK(outline[0].items == std::vector<Stretch::Item>{{"", 0}});
  CHECK(outline[1].times == 499);
  CHECK(outline[1].items == std::vector<Stretch::Item>{{"Relu", -1}, {"", 1}});
  CHECK(outline[2].items == std::vector<Stretch::Item>{{"Relu", -1}, {"Gemm", -1}});
  Summary summary;
  summary.drawing_before = before;
  summary.drawing_after = after;
  const runtime::Json page = page_data(summary);
  REQUIRE(page["changes"].size() == 2);
  CHECK(page["changes"][1]["times"] == 499);
  CHECK(page["changes"][1]["before"]["n"].size() == 4);
  CHECK(page["outline"][1]["times"] == 499);
}

TEST_CASE("a node with other weights last_after a change, and equal drawings have none", "[changes]") {
  TestDrawing before, after;
  for (TestDrawing* each : {&before, &after}) {
    const auto x = each->add("x", "input", {});
    each->add("b", "Relu", {each->add("a", "Gemm", {x}, {{each == &before ? "w" : "folded", "8×8"}})});
  }
  mark_differences(before, after);
  const std::vector<ChangeGroup> groups = changes_between(before, after);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].changes[0].before == std::vector<std::uint32_t>{1});
  mark_differences(before, before);
  CHECK(changes_between(before, before).empty());
}

TEST_CASE("a replacement last_after recognized by its unchanged user", "[changes]") {
  TestDrawing before, after;
  const auto x = before.add("x", "input", {}), same = after.add("x", "input", {});
  before.add("c", "Relu", {before.add("b", "Exp", {before.add("a", "Log", {x})})});
  after.add("c", "Relu", {after.add("new", "Identity", {same})});
  mark_differences(before, after);
  const std::vector<ChangeGroup> groups = changes_between(before, after);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].changes[0].before == std::vector<std::uint32_t>{1, 2});
  CHECK(groups[0].changes[0].after == std::vector<std::uint32_t>{1});
}

TEST_CASE("equal consecutive operators are merged with a count", "[changes]") {
  TestDrawing before;
  std::uint32_t last = before.add("x", "input", {});
  for (int i = 0; i < 7; ++i)
    last = before.add(numbered("n", static_cast<std::size_t>(i)), i < 3 ? "Relu" : "Exp", {last});
  const std::vector<Stretch> outline = outline_of(before, {});
  REQUIRE(outline.size() == 1);
  CHECK(outline[0].times == 1);
  CHECK(outline[0].items == std::vector<Stretch::Item>{{"3 × Relu", -1}, {"4 × Exp", -1}});
}

}  // namespace
}  // namespace rulemill::optimize
