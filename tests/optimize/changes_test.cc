#include "optimize/changes.h"

#include <catch2/catch.hpp>

#include "optimize/report.h"

namespace rulemill::optimize {
namespace {

struct Sketch : Drawing {
  std::uint32_t add(const std::string& name, const std::string& label, std::vector<std::uint32_t> inputs,
                    std::vector<Constant> constants = {}, const std::string& shape = "1×8") {
    boxes.push_back({name, label, std::move(inputs), std::move(constants), shape, label == "input", false});
    return static_cast<std::uint32_t>(boxes.size() - 1);
  }
};

std::string numbered(const std::string& word, std::size_t number) { return word + std::to_string(number); }

/// Blocks of Conv, Scale, Relu; afterwards the Scale is gone and the Conv has other weights.
std::pair<Sketch, Sketch> blocks(std::size_t count) {
  Sketch before, after;
  std::uint32_t was = before.add("x", "input", {}), is = after.add("x", "input", {});
  for (std::size_t i = 0; i < count; ++i) {
    const std::string width = std::to_string(8 + i);
    was = before.add(numbered("conv", i), "Conv", {was}, {{numbered("w", i), width + "×8"}});
    was = before.add(numbered("scale", i), "Scale", {was}, {{numbered("s", i), width}});
    was = before.add(numbered("relu", i), "Relu", {was});
    is = after.add(numbered("conv", i), "Conv", {is}, {{numbered("folded", i), width + "×8"}});
    is = after.add(numbered("relu", i), "Relu", {is});
  }
  before.add("last", "Gemm", {was});
  after.add("last", "Gemm", {is});
  mark_differences(before, after);
  return {before, after};
}

TEST_CASE("blocks that changed alike are one kind, drawn once, and the model is a few lines", "[changes]") {
  const auto [before, after] = blocks(500);
  const std::vector<ChangeKind> kinds = changes_between(before, after);
  REQUIRE(kinds.size() == 2);  // the first block takes the model's input
  CHECK(kinds[0].changes.size() == 1);
  CHECK(kinds[1].changes.size() == 499);
  CHECK(kinds[1].changes[0].before == std::vector<std::uint32_t>{4, 5});
  CHECK(kinds[1].changes[0].after == std::vector<std::uint32_t>{3});
  CHECK(kinds[1].before.boxes.size() == 4);  // with what stands around it
  CHECK(kinds[1].after.boxes.size() == 3);
  const std::vector<Stretch> outline = outline_of(before, kinds);
  REQUIRE(outline.size() == 3);
  CHECK(outline[0].parts == std::vector<Stretch::Part>{{"", 0}});
  CHECK(outline[1].times == 499);
  CHECK(outline[1].parts == std::vector<Stretch::Part>{{"Relu", -1}, {"", 1}});
  CHECK(outline[2].parts == std::vector<Stretch::Part>{{"Relu", -1}, {"Gemm", -1}});
  Summary summary;
  summary.picture_before = before;
  summary.picture_after = after;
  const std::string page = to_html(summary);
  const auto svg_end = page.rfind("</svg>");
  CHECK(std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(svg_end), '\n') < 150 + 500 * 2);
  CHECK_THAT(page, Catch::Contains("B, 499 times: the first") && Catch::Contains("<span class='times'>499 ×</span>"));
}

TEST_CASE("other weights are a change, and what did not change is none", "[changes]") {
  Sketch before, after;
  for (Sketch* each : {&before, &after}) {
    const auto x = each->add("x", "input", {});
    each->add("b", "Relu", {each->add("a", "Gemm", {x}, {{each == &before ? "w" : "folded", "8×8"}})});
  }
  mark_differences(before, after);
  const std::vector<ChangeKind> kinds = changes_between(before, after);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].changes[0].before == std::vector<std::uint32_t>{1});
  mark_differences(before, before);
  CHECK(changes_between(before, before).empty());
}

TEST_CASE("what replaced what is told by who takes it", "[changes]") {
  Sketch before, after;
  const auto x = before.add("x", "input", {}), same = after.add("x", "input", {});
  before.add("c", "Relu", {before.add("b", "Exp", {before.add("a", "Log", {x})})});
  after.add("c", "Relu", {after.add("new", "Identity", {same})});
  mark_differences(before, after);
  const std::vector<ChangeKind> kinds = changes_between(before, after);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].changes[0].before == std::vector<std::uint32_t>{1, 2});
  CHECK(kinds[0].changes[0].after == std::vector<std::uint32_t>{1});
}

TEST_CASE("equal operators in a row are counted", "[changes]") {
  Sketch before;
  std::uint32_t last = before.add("x", "input", {});
  for (int i = 0; i < 7; ++i)
    last = before.add(numbered("n", static_cast<std::size_t>(i)), i < 3 ? "Relu" : "Exp", {last});
  const std::vector<Stretch> outline = outline_of(before, {});
  REQUIRE(outline.size() == 1);
  CHECK(outline[0].times == 1);
  CHECK(outline[0].parts == std::vector<Stretch::Part>{{"3 × Relu", -1}, {"4 × Exp", -1}});
}

}  // namespace
}  // namespace rulemill::optimize
