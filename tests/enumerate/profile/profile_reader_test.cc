// Profiles: default values, and errors with their location.
#include "enumerate/profile/profile_reader.h"

#include <catch2/catch.hpp>

#include "enumerate/levels/enumerator.h"
#include "runtime/text/error.h"
#include "tests/enumerate/setting.h"

namespace rulemill::enumerate {
TEST_CASE("values default to the field, and an explicit default does not change the digest") {
  const algebra::Library& library = shipped_operators();
  const std::string rest = "[[variables]]\nnames = [\"a\"]\nshape = [2]\n[[operators]]\noperator = \"relu\"\n";
  const auto profile = [&](const std::string& values) {
    return parse_profile("name = \"p\"\n" + values + rest, "p.toml", library);
  };
  CHECK(profile("").values == algebra::Domain::Field);
  CHECK(profile("values = \"reals\"\n").values == algebra::Domain::Reals);
  CHECK(profile("values = \"field\"\n").digest == profile("").digest);
  CHECK(profile("values = \"reals\"\n").digest != profile("").digest);
}

TEST_CASE("errors in a profile have their location") {
  const auto message = [&](const std::string& text) -> std::string {
    algebra::Library own = shipped_operators();
    try {
      const Profile profile = parse_profile(text, "p.toml", own);
      Enumerator enumerator(profile, own);
      enumerator.begin_level(1, in_order);
    } catch (const runtime::InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string head = "name = \"p\"\n";
  const std::string variables = "[[variables]]\nnames = [\"a\"]\nshape = [2, 2]\n";
  CHECK_THAT(
      message(head + variables + "[[operators]]\noperator = \"conv2\"\n"),
      Catch::Contains("p.toml:6:12") && Catch::Contains("unknown operator 'conv2'") && Catch::Contains("'conv2d'"));
  CHECK_THAT(message(head + "max_ops = 0\n" + variables),
             Catch::Contains("p.toml:2:11") && Catch::Contains("from 1 to 8, found 0"));
  CHECK_THAT(message(head + "max_ops = 9\n" + variables), Catch::Contains("found 9"));
  CHECK_THAT(message(head + "max_opps = 2\n" + variables),
             Catch::Contains("p.toml:2:1") && Catch::Contains("did you mean 'max_ops'"));
  CHECK_THAT(
      message(head + variables + "[[operators]]\noperator = \"" + std::string(200000, 'r') + "\"\n"),
      Catch::Contains("p.toml:6:12") && Catch::EndsWith("a word of 200000 characters; no word has more than 200"));
  CHECK_THAT(message(head + variables + "[[operators]]\noperator = \"relu\"\nparameters = { axes = 1 }\n"),
             Catch::Contains("unknown key 'axes'"));
  CHECK_THAT(message(head + variables +
                     "[[operators]]\noperator = \"conv2d\"\nparameters = { pad = \"none\" }\n"
                     "[[variables]]\nnames = [\"i\", \"k\"]\nshape = [1, 1, 3, 3]\n"),
             Catch::Contains("pad"));
  CHECK_THAT(message(head + variables + "[[operators]]\noperator = \"relu\"\narguments.y.variable = true\n"),
             Catch::Contains("has no input 'y'"));
  CHECK_THAT(
      message(head + "[[variables]]\nnames = [\"q\"]\nshape = [2, 3, 4]\n[[operators]]\noperator = \"conv2d\"\n"),
      Catch::Contains("p.toml:4:9") && Catch::Contains("'q'") && Catch::Contains("[2, 3, 4]"));
  CHECK_THAT(message(head + variables + "[[operators]]\noperator = \"relu\"\nranks = [2\n"),
             Catch::Contains("p.toml:"));
  CHECK_THAT(message(head + "values = \"real\"\n" + variables),
             Catch::Contains("p.toml:2:10") && Catch::Contains("must be \"field\" or \"reals\", found \"real\""));
  CHECK(message(head + variables + "[[operators]]\noperator = \"relu\"\n").empty());
}

}  // namespace rulemill::enumerate
