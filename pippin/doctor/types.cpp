// Element types: the Neural Engine computes in fp16.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr Rule kFloat32 = {
    .id = "fp32-compute",
    .severity = Severity::Warning,
    .what = "Operations compute in fp32",
    .why = "The Neural Engine computes in fp16; fp32 operations run on the GPU or the CPU",
    .source = "Core ML Tools guide, Typed Execution; apple/coremltools#2585",
    .remedy =
        "Convert with compute_precision=FLOAT16; what needs the range (norms, softmax) is "
        "better rewritten than typed fp32",
    .keeps_off = true};

constexpr Rule kIntegers = {
    .id = "integer-compute",
    .severity = Severity::Note,
    .what = "Integers or truth values are computed in the program",
    .why =
        "Arithmetic on int32 and bool runs on the CPU, and each return to the Neural Engine "
        "costs a hand-over; sizes and positions alone cost little",
    .source = "ane-guide, Capability surface; hollance/neural-engine, unsupported layers",
    .remedy = "Pass masks and tables as fp16 inputs, or compute them in a part of their own",
    .keeps_off = true};

constexpr Rule kInterfaceFloat32 = {
    .id = "interface-fp32",
    .severity = Severity::Note,
    .what = "Inputs or outputs are fp32 arrays",
    .why =
        "Core ML converts and copies them in every prediction; fp16 arrays can be backed by the "
        "memory that the Neural Engine reads",
    .source = "Core ML Tools guide, Model Input and Output Types; MLMultiArray initWithPixelBuffer",
    .remedy = "Declare them as fp16 (iOS 16, macOS 13 and later)"};

// Sizes and positions: too few to matter.
constexpr int64_t kFewElements = 16;

int64_t most_elements(const std::vector<Extent>& extents) {
  int64_t count = 1;
  for (const Extent& extent : extents) {
    count = extent.upper >= kNoLimit || count >= kNoLimit ? kNoLimit : count * extent.upper;
  }
  return count;
}

using Operations = std::set<const mil::Operation*>;

// One step of an image's scaling: an operation on it and a number.
bool scales(const FunctionView& function, const mil::Operation& operation, const mil::Var* image) {
  constexpr std::array<std::string_view, 4> kScaling = {"mul", "add", "sub", "real_div"};
  if (std::find(kScaling.begin(), kScaling.end(), operation.type()) == kScaling.end()) return false;
  const mil::Argument* number = operation.find_input(operation.input_var("x") == image ? "y" : "x");
  return number != nullptr && number->size() == 1 && function.is_constant(number->front());
}

// Whether `user` converts the image to fp16, after a few scaling steps, which are added to
// `readings`.
bool reads(const FunctionView& function, const mil::Operation& user, const mil::Var* image,
           int steps, Operations& readings) {
  if (user.outputs().empty() || !user.output()->type.is_tensor()) return false;
  if (user.type() == "cast") return function.type_of(*user.output()) == mil::DataType::Float16;
  if (steps == 0 || !scales(function, user, image)) return false;
  const auto& users = function.users(user.output());
  const bool all = !users.empty() && std::all_of(users.begin(), users.end(), [&](const auto* next) {
    return reads(function, *next, user.output(), steps - 1, readings);
  });
  if (all) readings.insert(&user);
  return all;
}

// Core ML Tools leaves the scale and bias of an image in fp32, before the cast to fp16, in programs
// that are otherwise fp16: part of reading the image.
Operations image_readings(const FunctionView& function) {
  constexpr int kMostSteps = 4;
  Operations readings;
  for (const mil::Feature& feature : function.description().inputs) {
    if (feature.kind != mil::Feature::Kind::Image) continue;
    const mil::Var* image = function.function().find_input(feature.name);
    for (const mil::Operation* user : function.users(image)) {
      reads(function, *user, image, kMostSteps, readings);
    }
  }
  return readings;
}

void check_operation_types(const FunctionView& function, Findings& findings) {
  const Operations readings = image_readings(function);
  for (const mil::Operation* operation : function.running()) {
    if (operation->outputs().empty() || !operation->blocks().empty()) continue;
    const mil::Var& output = *operation->output();
    if (!output.type.is_tensor()) continue;
    const mil::DataType type = function.type_of(output);
    if (type == mil::DataType::Float32 || type == mil::DataType::Float64) {
      // A conversion at the border belongs to the interface.
      const bool is_compute = operation->type() != "cast" && !readings.contains(operation);
      if (is_compute) findings.add(kFloat32, function, *operation);
    } else if (type == mil::DataType::Bool || mil::is_integer(type)) {
      const int64_t elements = most_elements(function.extents(output));
      const bool integers = mil::bit_width(type) > 16 || type == mil::DataType::Bool;
      if (integers && elements > kFewElements && operation->type() != "cast") {
        findings.add(kIntegers, function, *operation, std::string(mil::to_string(type)));
      }
    }
  }
}

// Whether the caller passes the feature: for a stage, only those that the pipeline has as well.
bool is_interface(const Subject& subject, const mil::Feature& feature) {
  if (subject.pipeline == nullptr) return true;
  const mil::FunctionDescription& own = subject.pipeline->functions.front();
  const auto has = [&](const std::vector<mil::Feature>& features) {
    return std::any_of(features.begin(), features.end(),
                       [&](const mil::Feature& one) { return one.name == feature.name; });
  };
  return has(own.inputs) || has(own.outputs);
}

void check_types(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    check_operation_types(function, findings);
    const auto check = [&](const std::vector<mil::Feature>& features, std::string_view role) {
      for (const mil::Feature& feature : features) {
        const bool wide = feature.data_type == mil::DataType::Float32 ||
                          feature.data_type == mil::DataType::Float64;
        if (feature.kind == mil::Feature::Kind::MultiArray && wide &&
            is_interface(subject, feature)) {
          findings.add(kInterfaceFloat32,
                       {function.name(), fmt::format("{} '{}'", role, feature.name),
                        std::string(mil::to_string(feature.data_type))});
        }
      }
    };
    check(function.description().inputs, "input");
    check(function.description().outputs, "output");
  }
}

}  // namespace

const Group& type_rules() {
  static const Group group = {{&kFloat32, &kIntegers, &kInterfaceFloat32}, check_types};
  return group;
}

}  // namespace pippin::doctor
