// The plan of a whole function on the CPU.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pippin/base/checked.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/engine/planning/planning.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The ranges that the model declares for an input: one per axis.
std::vector<mil::SizeRange> declared_ranges(const mil::Feature& feature) {
  if (!feature.ranges.empty()) return feature.ranges;
  std::vector<mil::SizeRange> ranges;
  for (size_t axis = 0; axis < feature.shape.size(); ++axis) {
    mil::SizeRange range{feature.shape[axis], feature.shape[axis]};
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size()) continue;
      range.lower = std::min(range.lower, shape[axis]);
      range.upper = std::max(range.upper, shape[axis]);
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::string to_string(const mil::SizeRange& range) {
  return range.upper < 0 ? fmt::format("{} or more", range.lower)
                         : fmt::format("{} to {}", range.lower, range.upper);
}

class Maker {
 public:
  Maker(const mil::Model& model, std::string_view function_name, const PlanOptions& options)
      : function_(model.program.function(function_name)),
        description_(model.description(function_name)),
        options_(options),
        plan_(std::make_shared<CpuPlan>()) {
    plan_->function_name = function_name;
  }

  std::shared_ptr<const Plan> make() {
    declare_inputs();
    const mil::Inference inference = mil::infer(function_, input_shapes_, input_elements_);
    plan_->constraints = inference.constraints;
    plan_->state_features = description_.states;
    const mil::Block& block = function_.block();
    region_.opset = function_.opset_version();
    region_.compute = options_.compute;
    for (const auto& operation : block.operations()) region_.operations.push_back(operation.get());
    region_.outputs = options_.outputs;
    if (region_.outputs.empty()) {
      region_.outputs.assign(block.outputs().begin(), block.outputs().end());
    }
    plan_region(region_, inference, *plan_);
    return plan_;
  }

 private:
  void declare_inputs() {
    for (const mil::Feature& feature : description_.inputs) {
      const size_t index = plan_->input_ports.size();
      if (feature.kind != mil::Feature::Kind::MultiArray) {
        fail(ErrorCode::Unsupported, "input '{}' is not a multi-array", feature.name);
      }
      const mil::Var* var = function_.find_input(feature.name);
      if (var == nullptr) {
        fail(ErrorCode::InvalidFile, "the description names an input '{}' that the program lacks",
             feature.name);
      }
      std::vector<mil::SizeRange> ranges = declared_ranges(feature);
      const auto chosen = options_.input_ranges.find(feature.name);
      if (chosen != options_.input_ranges.end()) narrow(feature.name, ranges, chosen->second);
      Shape shape;
      for (size_t axis = 0; axis < ranges.size(); ++axis) {
        if (ranges[axis].upper < 0) {
          fail(ErrorCode::InvalidArgument, "input '{}': axis {} has no upper bound; give one",
               feature.name, axis);
        }
        shape.push_back(Dim::symbol(fmt::format("{}[{}]", feature.name, axis), ranges[axis].lower,
                                    ranges[axis].upper));
        plan_->axes.push_back({index, axis, shape.back(), ranges[axis]});
        for (const auto& symbol : shape.back().symbols()) region_.symbols.insert(symbol->id);
      }
      // A scalar of the program is described as one element.
      if (var->type.ranked && var->type.dims.empty() && shape.size() == 1) shape.clear();
      plan_->input_ports.push_back(
          {feature.name, feature.data_type, mil::is_float(feature.data_type)});
      region_.inputs.push_back({var, plan_->input_ports.back(), shape});
      declare_values(*var, shape, index);
      input_shapes_[feature.name] = std::move(shape);
    }
  }

  // The elements of a small integer input may say where a cache is written or how much of it
  // counts.
  void declare_values(const mil::Var& var, const Shape& shape, size_t input) {
    const auto dims = mil::constant_shape(shape);
    if (!dims || !mil::is_integer(var.type.data_type) ||
        mil::num_elements(*dims) > kMaxValueSymbols) {
      return;
    }
    std::vector<Dim>& elements = input_elements_[var.name];
    for (int64_t i = 0; i < mil::num_elements(*dims); ++i) {
      elements.push_back(Dim::symbol(fmt::format("{}({})", var.name, i), 0, INT32_MAX));
      const uint64_t symbol = elements.back().symbols().front()->id;
      plan_->values.push_back({input, static_cast<size_t>(i), symbol});
    }
  }

  static void narrow(const std::string& name, std::vector<mil::SizeRange>& ranges,
                     const std::vector<mil::SizeRange>& chosen) {
    if (chosen.size() != ranges.size()) {
      fail(ErrorCode::InvalidArgument, "input '{}' has {} axes, {} were given", name, ranges.size(),
           chosen.size());
    }
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      const bool below = chosen[axis].lower < ranges[axis].lower;
      const bool above = ranges[axis].upper >= 0 &&
                         (chosen[axis].upper < 0 || chosen[axis].upper > ranges[axis].upper);
      if (below || above) {
        fail(ErrorCode::InvalidArgument, "input '{}': axis {} takes {}, not {}", name, axis,
             to_string(ranges[axis]), to_string(chosen[axis]));
      }
      ranges[axis] = chosen[axis];
    }
  }

  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  const PlanOptions& options_;
  std::shared_ptr<CpuPlan> plan_;
  Region region_;
  std::map<std::string, Shape> input_shapes_;
  std::map<std::string, std::vector<Dim>> input_elements_;
};

}  // namespace

std::shared_ptr<const Plan> plan_function(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options) {
  return Maker(model, function, options).make();
}

}  // namespace pippin::engine
