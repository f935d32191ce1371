#include "pippin/coreml/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/coreml/execution.h"
#include "pippin/coreml/strided.h"
#include "pippin/mil/package/package.h"

namespace pippin::coreml {
namespace {

using mil::Feature;

// Checks that Core ML and a plan can exchange the feature.
void check_kind(const Feature& feature, std::string_view role) {
  const bool is_array =
      feature.kind == Feature::Kind::MultiArray && mil::bit_width(feature.data_type) >= 8;
  if (is_array || feature.kind == Feature::Kind::Image) return;
  fail(ErrorCode::Unsupported,
       "{} '{}' is neither an array nor an image, which is all that the device 'coreml' takes and "
       "gives",
       role, feature.name);
}

// Pictures declare their sizes differently: uses the program's tensor.
std::vector<mil::SizeRange> ranges_of(const Feature& feature, const mil::Var& var) {
  if (feature.kind == Feature::Kind::MultiArray) return engine::declared_ranges(feature);
  std::vector<mil::SizeRange> ranges;
  for (const int64_t size : var.type.dims) {
    ranges.push_back(size < 0 ? mil::SizeRange{1, INT32_MAX} : mil::SizeRange{size, size});
  }
  return ranges;
}

// Whether the shape depends only on the axes of inputs.
bool is_bound(const mil::Shape& shape, const engine::InputAxes& axes) {
  for (const mil::Dim& dim : shape) {
    for (const auto& symbol : dim.symbols()) {
      const auto is_axis = [&](const engine::InputAxis& axis) {
        return !axis.dim.is_constant() && axis.dim.symbols().front()->id == symbol->id;
      };
      if (std::none_of(axes.all().begin(), axes.all().end(), is_axis)) return false;
    }
  }
  return true;
}

}  // namespace

CorePlan::CorePlan(std::string device, std::shared_ptr<LoadedFunction> function,
                   const mil::Model& model, std::string_view name,
                   const engine::PlanOptions& options)
    : device_(std::move(device)),
      loaded_(std::move(function)),
      function_(model.program.function(name)),
      description_(model.description(name)),
      weight_bytes_(mil::weight_file_bytes(model)) {
  for (const Feature& feature : description_.inputs) {
    check_kind(feature, "input");
    const mil::Var* const var = function_.find_input(feature.name);
    if (var == nullptr) {
      fail(ErrorCode::InvalidFile, "the description names an input '{}' that the program lacks",
           feature.name);
    }
    const mil::DataType type =
        feature.kind == Feature::Kind::Image ? var->type.data_type : feature.data_type;
    inputs_.push_back({feature.name, type, is_seen_as_float(type)});
    input_shapes_[feature.name] = axes_.add(feature.name, *var, ranges_of(feature, *var), options);
    if (!loaded_->model().input_names().contains(feature.name)) {
      fail(ErrorCode::Device, "{}: Core ML's model has no input '{}'", loaded_->name(),
           feature.name);
    }
  }
  const mil::Inference inference = mil::infer(function_, input_shapes_);
  constraints_ = inference.constraints;
  for (const mil::Var* var : function_.block().outputs()) add_output(*var, inference);
}

void CorePlan::add_output(const mil::Var& var, const mil::Inference& inference) {
  const auto& features = description_.outputs;
  const auto feature = std::find_if(features.begin(), features.end(),
                                    [&](const Feature& one) { return one.name == var.name; });
  if (feature == features.end()) return;  // Core ML does not return it
  check_kind(*feature, "output");
  if (!loaded_->model().output_names().contains(var.name)) {
    fail(ErrorCode::Device, "{}: Core ML's model has no output '{}'", loaded_->name(), var.name);
  }
  const mil::DataType type =
      feature->kind == Feature::Kind::Image ? var.type.data_type : feature->data_type;
  outputs_.push_back({var.name, type, is_seen_as_float(type)});
  OutputShape output{&*feature, inference.of(&var).shape};
  if (!is_bound(*output.shape, axes_)) output.shape.reset();
  output_shapes_.push_back(std::move(output));
}

std::string CorePlan::describe() const {
  return fmt::format("{} of {} by Core ML\n", description_.name, loaded_->name());
}

std::unique_ptr<engine::DeviceExecution> CorePlan::make_execution(ThreadPool& /*pool*/) const {
  return std::make_unique<CoreExecution>(*this);
}

}  // namespace pippin::coreml
