// Shapes that are unknown before a prediction.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr Rule kRange = {
    .id = "range-shape",
    .severity = Severity::Warning,
    .what = "An input's size is a range",
    .why =
        "Models whose inputs have ranges run on the CPU and the GPU, or on the Neural Engine in "
        "their default shape alone",
    .source = "apple/coremltools#1764, #2370, #1029",
    .remedy =
        "Fix the sizes: --query-lengths, or a family with fixed sizes (anemll, windowed); "
        "several sizes become several functions"};

constexpr Rule kUnbounded = {.id = "unbounded-range",
                             .severity = Severity::Error,
                             .what = "An input's size has no upper bound",
                             .why = "ML Programs need one: memory is planned for the largest shape",
                             .source = "coremltools, RangeDim of ML Programs",
                             .remedy = "Give the range an upper bound"};

constexpr Rule kFromZero = {
    .id = "range-from-zero",
    .severity = Severity::Warning,
    .what = "The range of an input's size begins at 0",
    .why =
        "Core ML fails when it runs such a model, at every size; with a lower bound of 1 it runs",
    .source = "apple/coremltools#2516",
    .remedy = "Begin the range at 1"};

constexpr Rule kEnumerated = {
    .id = "enumerated-shapes",
    .severity = Severity::Note,
    .what = "An input has several enumerated shapes",
    .why =
        "The default shape runs on the Neural Engine; others may not, and changing between them "
        "is slow",
    .source = "apple/coremltools#835, #2370",
    .remedy = "Make the most frequent shape the default, or write a function for each"};

constexpr Rule kEnumeratedNorm = {
    .id = "enumerated-layer-norm",
    .severity = Severity::Warning,
    .what = "layer_norm in a function with enumerated shapes",
    .why = "Such functions were seen to stay off the Neural Engine altogether",
    .source = "apple/coremltools#1909",
    .remedy = "Write a function for each shape"};

constexpr Rule kDynamicSlice = {
    .id = "dynamic-slice",
    .severity = Severity::Warning,
    .what = "The size of a slice depends on values that only a run knows",
    .why =
        "A value whose shape another value decides makes the plan for the Neural Engine fail; a "
        "slice of fixed size at a computed place does not",
    .source = "onnxsim/onnxsim#1430",
    .remedy = "Slice a fixed size (slice_by_size, end = begin + constant) and mask the excess",
    .keeps_off = true};

constexpr Rule kDataDependent = {
    .id = "data-dependent-shape",
    .severity = Severity::Warning,
    .what = "The result's shape depends on values that only a run knows",
    .why = "Sizes have to be known before the Neural Engine is given a program",
    .source = "onnxsim/onnxsim#1430; hollance/neural-engine, unsupported layers",
    .remedy = "Compute with the largest size and mask the rest",
    .keeps_off = true};

bool is_slice(const std::string& type) {
  return type == "slice_by_index" || type == "slice_by_size";
}

// Parameters that determine positions and amounts, whose values shapes cannot express.
bool shape_is_computed(const FunctionView& function, const mil::Operation& operation) {
  constexpr std::array kDecide = {"begin", "end", "size", "shape", "reps", "start", "step"};
  return std::any_of(kDecide.begin(), kDecide.end(), [&](const char* name) {
    const mil::Var* var = operation.input_var(name);
    return var != nullptr && !function.is_constant(var);
  });
}

void check_feature(const FunctionView& function, const mil::Feature& feature, Findings& findings) {
  const std::string name = fmt::format("input '{}'", feature.name);
  for (size_t axis = 0; axis < feature.ranges.size(); ++axis) {
    const mil::SizeRange& range = feature.ranges[axis];
    if (range.lower == range.upper) continue;
    const std::string detail = fmt::format("axis {}: {}..{}", axis, range.lower,
                                           range.upper < 0 ? "" : std::to_string(range.upper));
    findings.add(range.upper < 0 ? kUnbounded : kRange, {function.name(), name, detail});
    if (range.lower == 0) findings.add(kFromZero, {function.name(), name, detail});
  }
  for (const auto& [side, range] : {std::pair{"width", feature.image.width_range},
                                    std::pair{"height", feature.image.height_range}}) {
    if (range && range->lower == 0) findings.add(kFromZero, {function.name(), name, side});
  }
  if (feature.image.width_range || feature.image.height_range) {
    findings.add(kRange, {function.name(), name, "of an image"});
  }
  const size_t shapes = feature.enumerated_shapes.size() + feature.image.enumerated_sizes.size();
  if (shapes > 1) {
    findings.add(kEnumerated, {function.name(), name, fmt::format("{} shapes", shapes)});
  }
}

bool has_enumerated(const FunctionView& function) {
  const auto& inputs = function.description().inputs;
  return std::any_of(inputs.begin(), inputs.end(), [](const mil::Feature& feature) {
    return feature.enumerated_shapes.size() > 1 || feature.image.enumerated_sizes.size() > 1;
  });
}

// For a slice: whether its extent is more than one number.
bool varies(const std::vector<Extent>& extents) {
  return std::any_of(extents.begin(), extents.end(),
                     [](const Extent& extent) { return !extent.fixed(); });
}

bool inputs_vary(const FunctionView& function, const mil::Operation& operation) {
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<mil::Var*>(&binding);
      if (var != nullptr && (*var)->type.is_tensor() && varies(function.extents(**var))) {
        return true;
      }
    }
  }
  return false;
}

void check_flexible_shapes(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Feature& feature : function.description().inputs) {
      check_feature(function, feature, findings);
    }
    const bool enumerated = has_enumerated(function);
    for (const mil::Operation* operation : function.running()) {
      if (enumerated && operation->type() == "layer_norm") {
        findings.add(kEnumeratedNorm, function, *operation);
      }
      if (operation->outputs().empty() || !operation->output()->type.is_tensor()) continue;
      if (!varies(function.extents(*operation))) continue;
      if (is_slice(operation->type())) {
        if (shape_is_computed(function, *operation)) {
          findings.add(kDynamicSlice, function, *operation);
        }
      } else if (operation->blocks().empty() && !inputs_vary(function, *operation)) {
        findings.add(kDataDependent, function, *operation);
      }
    }
  }
}

}  // namespace

const Group& flexible_shape_rules() {
  static const Group group = {{&kRange, &kUnbounded, &kFromZero, &kEnumerated, &kEnumeratedNorm,
                               &kDynamicSlice, &kDataDependent},
                              check_flexible_shapes};
  return group;
}

}  // namespace pippin::doctor
