// Features that the target's version of Core ML does not support.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/doctor/needed_version.h"
#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr std::string_view kDeploymentTargets =
    "Core ML Tools guide, minimum deployment target; Model.proto, specification versions";

constexpr Rule kSpecVersion = {
    .id = "specification-version",
    .severity = Severity::Error,
    .what = "The file's specification version is newer than the target reads",
    .why = "Core ML refuses a model whose specification version it does not know",
    .source = kDeploymentTargets,
    .remedy =
        "Where no function needs it, --fix writes the oldest version that the model needs; "
        "else convert for the target's opset",
    .fixable = true};

constexpr Rule kOpset = {
    .id = "opset",
    .severity = Severity::Error,
    .what = "A function is written for a newer opset than the target has",
    .why =
        "Operations and their parameters change from opset to opset; an older system has no "
        "meaning for the newer ones",
    .source = kDeploymentTargets,
    .remedy = "Convert for an older target, or raise the target"};

constexpr Rule kStates = {
    .id = "states-version",
    .severity = Severity::Error,
    .what = "The model keeps states, which the target does not have",
    .why = "States came with iOS 18 and macOS 15",
    .source = "Core ML Tools guide, Stateful Models",
    .remedy = "Use a family that passes its caches as inputs and outputs (--family windowed)"};

constexpr Rule kFunctions = {
    .id = "functions-version",
    .severity = Severity::Error,
    .what = "The package has several functions, and the target reads one",
    .why = "Multifunction models came with iOS 18 and macOS 15",
    .source = "Core ML Tools guide, Multifunction Models",
    .remedy = "Keep one function a package: pippin repackage --function NAME"};

constexpr Rule kIoTypes = {
    .id = "interface-types",
    .severity = Severity::Error,
    .what = "An input or output has an element type that the target cannot pass",
    .why =
        "MultiArrays of fp16 came with iOS 16 and macOS 13, those of int8 with iOS 26 and "
        "macOS 26",
    .source = "MLMultiArrayDataType, availability",
    .remedy = "Declare the input or output as fp32 for older systems, or raise the target"};

mil::Opset needed_for(mil::DataType type) {
  if (type == mil::DataType::Int8) return mil::Opset::CoreML9;
  return type == mil::DataType::Float16 ? mil::Opset::CoreML6 : mil::Opset::CoreML5;
}

void check_interface(const FunctionView& function, const Target& target, Findings& findings) {
  const auto check = [&](const std::vector<mil::Feature>& features, std::string_view role) {
    for (const mil::Feature& feature : features) {
      const mil::Opset needed = needed_for(feature.data_type);
      if (feature.kind != mil::Feature::Kind::MultiArray || needed <= target.opset) continue;
      findings.add(kIoTypes, {function.name(), fmt::format("{} '{}'", role, feature.name),
                              fmt::format("{} needs {}", mil::to_string(feature.data_type),
                                          systems_of(needed))});
    }
  };
  check(function.description().inputs, "input");
  check(function.description().outputs, "output");
}

void check_versions(const Subject& subject, Findings& findings) {
  if (!subject.target) return;
  const Target& target = *subject.target;
  if (subject.model.specification_version > target.specification()) {
    const int needed = needed_specification(subject.model);
    const std::string why = needed <= target.specification()
                                ? fmt::format("nothing in it needs more than {}", needed)
                                : fmt::format("it needs {}", needed);
    findings.add(kSpecVersion, {{},
                                {},
                                fmt::format("version {}, {} reads up to {}; {}",
                                            subject.model.specification_version, target.name,
                                            target.specification(), why)});
  }
  if (subject.functions.size() > 1 && target.opset < mil::Opset::CoreML8) {
    findings.add(kFunctions, {{}, {}, fmt::format("{} functions", subject.functions.size())});
  }
  for (const FunctionView& function : subject.functions) {
    const mil::Opset opset = function.function().opset_version();
    if (opset > target.opset) {
      findings.add(kOpset, {function.name(),
                            {},
                            fmt::format("{} needs {}", mil::to_string(opset), systems_of(opset))});
    }
    if (!function.description().states.empty() && target.opset < mil::Opset::CoreML8) {
      findings.add(
          kStates,
          {function.name(), {}, fmt::format("{} states", function.description().states.size())});
    }
    check_interface(function, target, findings);
  }
}

}  // namespace

int needed_specification(const mil::Model& model) {
  if (model.is_translated()) return model.specification_version;
  auto needed = mil::Opset::CoreML5;
  for (const mil::FunctionDescription& description : model.functions) {
    if (!description.states.empty() || model.multifunction) {
      needed = std::max(needed, mil::Opset::CoreML8);
    }
    for (const auto* features : {&description.inputs, &description.outputs}) {
      for (const mil::Feature& feature : *features) {
        if (feature.kind == mil::Feature::Kind::MultiArray) {
          needed = std::max(needed, needed_for(feature.data_type));
        }
        const bool half = feature.kind == mil::Feature::Kind::Image &&
                          feature.image.color_space == mil::ColorSpace::GrayscaleFloat16;
        if (half) needed = std::max(needed, mil::Opset::CoreML6);
      }
    }
  }
  for (const auto& [name, function] : model.program.functions) {
    needed = std::max(needed, function->opset_version());
  }
  int version = mil::specification_version(needed);
  for (const mil::PipelineStage& stage : model.stages) {
    version = std::max(version, needed_specification(stage.model));
  }
  return version;
}

const Group& version_rules() {
  static const Group group = {{&kSpecVersion, &kOpset, &kStates, &kFunctions, &kIoTypes},
                              check_versions};
  return group;
}

}  // namespace pippin::doctor
