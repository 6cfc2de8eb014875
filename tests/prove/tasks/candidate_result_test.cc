// Results as text.
#include <catch2/catch.hpp>

#include "prove/tasks/candidate_result.h"

using namespace rulemill::prove;

TEST_CASE("Chunks of results are together the text of all of them") {
  CHECK(to_chunks({}) == std::vector<std::string>{"[]"});
  std::vector<CandidateResult> results(3);
  for (CandidateResult& result : results) result.certificate = std::string(1 << 20, 'x');
  results[1].candidate = "c2";
  const std::vector<std::string> chunks = to_chunks(results);
  CHECK(chunks.size() == 3);
  const std::string text = chunks[0] + chunks[1] + chunks[2];
  CHECK(text == to_text(results));
  const std::vector<CandidateResult> read = results_from_text(text);
  REQUIRE(read.size() == 3);
  CHECK(read[1].candidate == "c2");
  CHECK(read[2].certificate == results[2].certificate);
}

TEST_CASE("The text of results is that of the JSON library") {
  CandidateResult result;
  result.rule = "rule c1(x[2])\n  \"a\" \\ b";
  result.detail = "tab \t, delete \x7f, é";
  result.example = {{2, -1}, {}};
  result.inactive = true;
  const std::string text = to_text({result, CandidateResult{}});
  CHECK(rulemill::runtime::to_text(rulemill::runtime::parse_json(text)) == text);
  CHECK(results_from_text(text)[0].detail == result.detail);
}
