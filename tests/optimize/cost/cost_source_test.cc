#include "optimize/cost/cost_source.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "optimize/cost/cost_table.h"
#include "runtime/files/atomic_file.h"
#include "tests/optimize/models.h"
#include "tests/shipped_operators.h"

namespace rulemill::optimize {
namespace {

struct Tables {
  ScratchFolder scratch;
  std::filesystem::path path = scratch / "costs.h5";
  void write(const std::string& machine, std::uint32_t threads, std::map<std::string, double> seconds) const {
    write_cost_table({"some runtime 1.0", machine, threads, std::move(seconds)}, path);
  }
};

TEST_CASE("the search uses measured costs instead of analytic ones", "[cost_source]") {
  Tables tables;
  Options options;
  options.model = two_products().save(tables.scratch / "in.onnx");
  options.out = tables.scratch / "out.onnx";
  options.cost.source = "table";
  options.cost.table = tables.path;
  options.min_gain = 0;
  const auto changed = [&](double merged) {
    tables.write(machine_name(), 1,
                 {{"matmul/2,2(16x4096, weights 4096x64)", 1e-5},
                  {"matmul/2,2(16x4096, weights 4096x32)", 1e-5},
                  {"matmul/2,2(16x4096, weights 4096x96)", merged}});
    RulesFromText rules(merge_products);
    const Summary summary = rules.optimize(options);
    CHECK_THAT(summary.cost_source, Catch::Contains("some runtime 1.0"));
    return summary.changed;
  };
  CHECK(changed(1e-6));
  CHECK_FALSE(changed(5e-5));
}

TEST_CASE("a table is read as it was written, and a query's text has all its properties", "[cost_source]") {
  Tables tables;
  tables.write(machine_name(), 2, {{"a", 0.25}, {"b", -1}});
  const CostTable table = read_cost_table(tables.path);
  CHECK(table.runtime == "some runtime 1.0");
  CHECK(table.threads == 2);
  CHECK(table.seconds == std::map<std::string, double>{{"a", 0.25}, {"b", -1}});
  RulesFromText rules(merge_products);
  CostQuery query;
  for (std::uint32_t i = 0; i < rules.library.instance_count(); ++i) {
    if (rules.library.instance(algebra::InstanceId{i}).operator_name == "split")
      query.instance = algebra::InstanceId{i};
  }
  query.inputs = {{16, 96}};
  query.constant = {true};
  query.sizes = {64};
  CHECK_THAT(query_text(query, rules.library), Catch::Contains("split") && Catch::Contains("(weights 16x96; 64)"));
}

TEST_CASE("a table of another machine or number of threads, or an invalid one, is rejected with a message",
          "[cost_source]") {
  Tables tables;
  const algebra::Library& library = shipped_operators();
  const std::vector<std::string> here{machine_name(), "a device"};
  const auto rejection = [&] {
    try {
      table_costs(tables.path, library, 1, here);
      return std::string("accepted");
    } catch (const runtime::InputError& error) {
      CHECK(error.exit_code() == 3);
      return std::string(error.what());
    }
  };
  tables.write(machine_name(), 1, {});
  CHECK(rejection() == "accepted");
  tables.write("a device", 1, {});
  CHECK(rejection() == "accepted");
  tables.write("a calculator", 1, {});
  CHECK_THAT(rejection(), Catch::Contains("costs.h5") && Catch::Contains("another machine (a calculator; this is "));
  tables.write(machine_name(), 4, {});
  CHECK_THAT(rejection(), Catch::Contains("4 threads"));
  tables.write(machine_name(), 1, {{"a", std::nan("")}});
  CHECK_THAT(rejection(), Catch::Contains("costs.h5") && Catch::Contains("row 0: expected the time"));
  for (const char* text : {"", "{}", "rulemill"}) {
    runtime::write_file(tables.path, std::string_view(text));
    CHECK_THAT(rejection(), Catch::Contains("costs.h5"));
  }
}

}  // namespace
}  // namespace rulemill::optimize
