// Compressed weights: the systems that support a form, and the device for which it is meant.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

using mil::Operation;

constexpr Rule kVersion = {
    .id = "compression-version",
    .severity = Severity::Error,
    .what = "A weight's compressed form is newer than the target",
    .why =
        "Palettes per tensor, 8 bits per channel and pruning came with iOS 16 and macOS 13; "
        "4 bits, scales per block, palettes per group, of 3 bits or of vectors, and forms "
        "within forms with iOS 18 and macOS 15",
    .source = "Core ML Tools guide, What's New in optimization",
    .remedy = "Compress for the target: int8 per channel or palettes per tensor for iOS 16 and 17"};

constexpr Rule kAtLoad = {
    .id = "expanded-at-load",
    .severity = Severity::Note,
    .what = "Compressed weights are expanded when the target loads the model",
    .why =
        "iOS 16 and macOS 13 turn them into fp16 before the first run: the file is smaller, the "
        "memory and the bytes per token are not",
    .source = "Core ML Tools guide, What's New in optimization",
    .remedy = "Count with the fp16 size, or raise the target to iOS 17"};

constexpr Rule kBlocks = {
    .id = "linear-blocks",
    .severity = Severity::Note,
    .what = "Weights of few bits with a scale for each block",
    .why =
        "This form is made for the GPU; the Neural Engine is best with palettes, or with 8 bits "
        "per channel",
    .source = "Core ML Tools guide, Optimization Overview; swift-chat#31",
    .remedy = "For the Neural Engine palettize: pippin compress --palettize 4"};

constexpr Rule kPaletteScale = {
    .id = "palette-scale",
    .severity = Severity::Warning,
    .what = "Scales over weights that a palette or another form has made fp16 already",
    .why =
        "Systems were seen to end the process that loads such a weight (mps.dequantize wants "
        "integers): Pippin and Core ML Tools write palettes with a scale per channel so",
    .source = "apple/coremltools#2688, #2716",
    .remedy =
        "Compress again without a scale per channel (--enable-per-channel-scale), or with a "
        "palette of int8"};

mil::Opset needed_for_form(const Operation& operation) {
  const mil::OpDef* op = mil::find_op(operation.type(), mil::Opset::CoreML6);
  // The palette's op has an entry for iOS 16 with attributes, one for iOS 18 with inputs.
  const bool old_form = op != nullptr && operation.inputs().empty();
  return old_form ? mil::Opset::CoreML6 : mil::Opset::CoreML8;
}

const mil::Value* parameter(const Operation& operation, const char* name) {
  const mil::BoundArgument bound = mil::find_argument(operation, name);
  return bound.attribute != nullptr ? bound.attribute : operation.constant_input(name);
}

// Several scales along an input axis, for few bits: more than one per row.
bool has_blocks(const Operation& operation) {
  if (operation.type() != "constexpr_blockwise_shift_scale") return false;
  const mil::Value* data = parameter(operation, "data");
  const mil::Value* scale = parameter(operation, "scale");
  if (data == nullptr || scale == nullptr || scale->type.dims.size() < 2) return false;
  return mil::bit_width(data->type.data_type) < 8 && scale->type.dims[1] > 1;
}

// The floats that scales are applied to, if they are not codes: the result of another form, or
// stored floats.
std::string scaled_floats(const FunctionView& function, const Operation& operation) {
  if (operation.type() != "constexpr_blockwise_shift_scale") return {};
  if (const mil::Var* data = operation.input_var("data"); data != nullptr) {
    const mil::DataType type = function.type_of(*data);
    if (!mil::is_float(type)) return {};
    return fmt::format("{} of {}", mil::to_string(type),
                       data->producer == nullptr ? data->name : data->producer->type());
  }
  const mil::Value* data = parameter(operation, "data");
  if (data == nullptr || !mil::is_float(data->type.data_type)) return {};
  return std::string(mil::to_string(data->type.data_type));
}

void check_compression(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const Operation* operation : function.operations()) {
      if (!mil::has_trait(*operation, mil::Trait::Compressed)) continue;
      const mil::Opset needed = needed_for_form(*operation);
      if (subject.target && needed > subject.target->opset) {
        findings.add(kVersion, function, *operation, fmt::format("needs {}", systems_of(needed)));
      } else if (subject.target && subject.target->opset == mil::Opset::CoreML6) {
        findings.add(kAtLoad, function, *operation);
      }
      if (std::string data = scaled_floats(function, *operation); !data.empty()) {
        findings.add(kPaletteScale, function, *operation, std::move(data));
      }
      if (has_blocks(*operation)) {
        const mil::Value* scale = parameter(*operation, "scale");
        findings.add(kBlocks, function, *operation,
                     fmt::format("{}, scales [{}]",
                                 mil::to_string(parameter(*operation, "data")->type.data_type),
                                 fmt::join(scale->type.dims, ", ")));
      }
    }
  }
}

}  // namespace

const Group& compression_rules() {
  static const Group group = {{&kVersion, &kAtLoad, &kBlocks, &kPaletteScale}, check_compression};
  return group;
}

}  // namespace pippin::doctor
