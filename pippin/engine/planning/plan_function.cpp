// The plan of a whole function.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/make_plan.h"
#include "pippin/engine/planning/planning.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

class Maker {
 public:
  Maker(const mil::Model& model, std::string_view function_name, const PlanOptions& options,
        const Target& target)
      : function_(model.program.function(function_name)),
        description_(model.description(function_name)),
        options_(options) {
    plan_.function = function_name;
    region_.target = target;
  }

  NodePlan make() {
    declare_inputs();
    const mil::Inference inference = mil::infer(function_, input_shapes_, input_elements_);
    plan_.constraints = inference.constraints;
    plan_.states = description_.states;
    const mil::Block& block = function_.block();
    for (const InputAxis& axis : plan_.axes.all()) {
      for (const auto& symbol : axis.dim.symbols()) region_.symbols.insert(symbol->id);
    }
    region_.opset = function_.opset_version();
    region_.compute = options_.compute;
    region_.cache_type = options_.cache_type;
    for (const auto& operation : block.operations()) region_.operations.push_back(operation.get());
    region_.outputs = options_.outputs;
    if (region_.outputs.empty()) {
      region_.outputs.assign(block.outputs().begin(), block.outputs().end());
    }
    plan_region(region_, inference, plan_);
    return std::move(plan_);
  }

 private:
  void declare_inputs() {
    for (const mil::Feature& feature : description_.inputs) {
      const size_t index = plan_.inputs.size();
      if (feature.kind != mil::Feature::Kind::MultiArray) {
        fail(ErrorCode::Unsupported, "input '{}' is not a multi-array", feature.name);
      }
      const mil::Var* var = function_.find_input(feature.name);
      if (var == nullptr) {
        fail(ErrorCode::InvalidFile, "the description names an input '{}' that the program lacks",
             feature.name);
      }
      mil::Shape shape = plan_.axes.add(feature.name, *var, declared_ranges(feature), options_);
      plan_.inputs.push_back({feature.name, feature.data_type, mil::is_float(feature.data_type)});
      region_.inputs.push_back({var, plan_.inputs.back(), shape});
      declare_values(*var, shape, index);
      input_shapes_[feature.name] = std::move(shape);
    }
  }

  // The elements of a small integer input may determine the written rows of a cache or the number
  // of valid ones.
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
      plan_.values.push_back({input, static_cast<size_t>(i), symbol});
    }
  }

  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  const PlanOptions& options_;
  NodePlan plan_;
  Region region_;
  std::map<std::string, Shape> input_shapes_;
  std::map<std::string, std::vector<Dim>> input_elements_;
};

}  // namespace

NodePlan plan_nodes(const mil::Model& model, std::string_view function, const PlanOptions& options,
                    const Target& target) {
  return Maker(model, function, options, target).make();
}

std::shared_ptr<const Plan> plan_function(const mil::Model& model, std::string_view function,
                                          const PlanOptions& options) {
  return make_plan(plan_nodes(model, function, options, cpu_target(options.compute)),
                   options.compute);
}

}  // namespace pippin::engine
