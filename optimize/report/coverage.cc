#include "optimize/report/coverage.h"

#include <algorithm>
#include <map>
#include <set>

namespace rulemill::optimize {
namespace {

class CoverageSurvey {
 public:
  explicit CoverageSurvey(GraphBank& bank) : bank_(bank) {}

  Coverage run(const ImportedModel& import) {
    std::map<std::pair<std::string, std::string>, Share> rows;
    for (const ImportedModel::NodeRecord& record : import.nodes) {
      if (record.is_constant()) continue;
      if (record.non_float) {
        add(rows[{record.op_type, "no float"}], {1, 0, 0});
        continue;
      }
      const bool opaque = record.lowered.is_opaque() && !record.elided;
      Share share{1,
                  record.elided ? 0
                  : opaque      ? estimate_flops(record)
                                : count_flops(record),
                  count_weight_bytes(record)};
      add(rows[{record.op_type, opaque ? record.reason : ""}], share);
      add(result_.all, share);
      if (!opaque) add(result_.covered, share);
    }
    for (auto& [key, share] : rows) result_.rows.push_back({key.first, key.second, share});
    std::ranges::stable_sort(result_.rows, [](const auto& a, const auto& b) { return a.share.nodes > b.share.nodes; });
    return std::move(result_);
  }

 private:
  static void add(Share& total, const Share& share) {
    total.nodes += share.nodes;
    total.flops += share.flops;
    total.weight_bytes += share.weight_bytes;
  }

  std::int64_t evaluate(const algebra::Poly& poly) const {
    if (auto constant = poly.constant()) return *constant;
    const auto assumed = [](algebra::Atom) { return CostModel::default_size; };
    return std::max<std::int64_t>(1, bank_.symbols().evaluate(poly, assumed));
  }

  std::vector<std::int64_t> dims(ValueId id) const {
    std::vector<std::int64_t> result;
    if (const auto& type = bank_.value(id).type) {
      for (const algebra::Poly& dim : *type) result.push_back(evaluate(dim));
    }
    return result;
  }

  double elements(ValueId id) const { return bank_.value(id).type ? count_elements(dims(id)) : 0; }

  double count_weight_bytes(const ImportedModel::NodeRecord& record) {
    double bytes = 0;
    for (const auto& input : record.inputs) {
      if (input && bank_.node_of(*input).constant && counted_.insert(*input).second)
        bytes += sizeof(float) * elements(*input);
    }
    return bytes;
  }

  /// Returns true for a node without computed float inputs. It only reads its weights, and multiplies nothing with
  /// them.
  bool is_lookup(const ImportedModel::NodeRecord& record) const {
    return std::ranges::none_of(record.inputs, [&](const std::optional<ValueId>& input) {
      if (!input || bank_.node_of(*input).constant) return false;
      const ValueType& type = bank_.value(*input).type;
      return !type || is_float(type.data_type);
    });
  }

  double estimate_flops(const ImportedModel::NodeRecord& record) const {
    double produced = 0, flops = 0;
    for (ValueId output : bank_.node(record.node).outputs) produced += elements(output);
    if (is_lookup(record)) return produced;
    for (const auto& input : record.inputs) {
      const auto shape = input && bank_.node_of(*input).constant ? dims(*input) : std::vector<std::int64_t>();
      if (shape.size() < 2) continue;
      flops += 2 * produced * elements(*input) / static_cast<double>(std::max(shape.front(), shape.back()));
    }
    return flops + produced;
  }

  double count_flops(const ImportedModel::NodeRecord& record) const {
    double flops = 0;
    for (const NodeId id : encoded_nodes(bank_, record.node, record.inputs)) {
      const Node& node = bank_.node(id);
      if (node.kind == Node::Kind::Algebra && !node.constant) flops += flops_of(node);
    }
    return flops;
  }

  double flops_of(const Node& node) const {
    std::vector<std::vector<std::int64_t>> shapes;
    for (ValueId argument : node.arguments) shapes.push_back(dims(argument));
    std::vector<std::int64_t> parameters;
    for (const algebra::Poly& size : node.sizes) parameters.push_back(evaluate(size));
    const auto work = work_of(bank_.library(), bank_.instance(node), shapes, parameters);
    return work ? work->product_flops + work->scalar_flops : 0;
  }

  GraphBank& bank_;
  std::set<ValueId> counted_;
  Coverage result_;
};

}  // namespace

Coverage coverage_of(const ImportedModel& import, GraphBank& bank) { return CoverageSurvey(bank).run(import); }

}  // namespace rulemill::optimize
