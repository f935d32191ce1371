// Ranks and sizes of values.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr int64_t kLargestAxis = 16384;
constexpr size_t kMostAxes = 5, kEngineAxes = 4;
constexpr int64_t kRowBytes = 64;  // the row size of the last axis that padding rounds up to
constexpr int64_t kMuchPadding = 1 << 20;

constexpr Rule kRank = {
    .id = "rank-over-5",
    .severity = Severity::Error,
    .what = "A value has more than five axes",
    .why = "Core ML's operations take tensors of up to five axes",
    .source = "coremltools, converters/mil (\"Core ML only supports tensors with rank <= 5\")",
    .remedy = "Merge axes (heads and groups, height and width) before the operation",
    .keeps_off = true};

constexpr Rule kRank5 = {
    .id = "rank-5",
    .severity = Severity::Warning,
    .what = "Operations compute on values of five axes",
    .why =
        "The Neural Engine's tensors have four axes (batch, channels, height, width); with a "
        "fifth one that is not 1 the operation goes elsewhere",
    .source =
        "Apple, Deploying Transformers on the Apple Neural Engine; ane-guide, Capability "
        "surface",
    .remedy = "Keep one axis 1, or merge two",
    .keeps_off = true};

constexpr Rule kLargeAxis = {
    .id = "axis-over-16384",
    .severity = Severity::Warning,
    .what = "A value has an axis of more than 16,384",
    .why = "The Neural Engine takes axes of up to 16,384; larger ones go to the CPU or GPU",
    .source = "apple/coremltools#1003; microsoft/onnxruntime#19543",
    .remedy =
        "Split the axis: a vocabulary into parts (split heads of the family anemll), a long "
        "signal into windows",
    .keeps_off = true};

constexpr Rule kLastAxis = {
    .id = "last-axis",
    .severity = Severity::Note,
    .what = "Short last axes: memory is mostly padding",
    .why =
        "Rows of the last axis are padded to 64 bytes, so a last axis of 1 takes 32 times its "
        "memory in fp16",
    .source = "Apple, Deploying Transformers on the Apple Neural Engine",
    .remedy = "Put the longest axis last, as in (batch, channels, 1, sequence)"};

std::string spell(const std::vector<Extent>& extents) {
  std::string text;
  for (const Extent& extent : extents) text += (text.empty() ? "" : ", ") + to_string(extent);
  return "[" + text + "]";
}

// Bytes of padding beyond the elements.
int64_t padding(const std::vector<Extent>& extents, mil::DataType type) {
  const int64_t bytes = mil::bit_width(type) / 8;
  if (extents.size() < 2 || bytes == 0) return 0;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < extents.size(); ++i) {
    if (extents[i].upper >= kNoLimit) return 0;
    rows = std::min(rows * extents[i].upper, kNoLimit);
  }
  const int64_t row = extents.back().lower * bytes;
  if (row == 0 || row >= kRowBytes) return 0;
  return rows * (kRowBytes - row);
}

size_t long_axes(const std::vector<Extent>& extents) {
  return static_cast<size_t>(std::count_if(extents.begin(), extents.end(),
                                           [](const Extent& one) { return one.upper != 1; }));
}

void check_large_axes(const FunctionView& function, const mil::Operation& operation,
                      const std::vector<Extent>& extents, Findings& findings) {
  const auto add = [&](std::string_view of, size_t axis, const Extent& extent) {
    findings.add(kLargeAxis, function, operation,
                 fmt::format("axis {} of {} has {} elements", axis, of, to_string(extent)));
  };
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis].lower > kLargestAxis) return add("the result", axis, extents[axis]);
    if (extents[axis].upper > kLargestAxis && extents[axis].upper < kNoLimit) {
      return add("the result", axis, extents[axis]);
    }
  }
  // Tables for gathers have their own rule.
  if (mil::has_trait(operation, mil::Trait::ReadsParts)) return;
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<mil::Var*>(&binding);
      if (var == nullptr || !(*var)->type.is_tensor()) continue;
      const std::vector<Extent> sizes = function.extents(**var);
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        if (sizes[axis].lower > kLargestAxis) return add(name, axis, sizes[axis]);
      }
    }
  }
}

void check_shapes(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Operation* operation : function.running()) {
      if (operation->outputs().empty() || !operation->output()->type.is_tensor()) continue;
      const std::vector<Extent> extents = function.extents(*operation);
      const mil::DataType type = function.type_of(*operation->output());
      if (extents.size() > kMostAxes) {
        findings.add(kRank, function, *operation, spell(extents));
      } else if (extents.size() > kEngineAxes && long_axes(extents) > kEngineAxes) {
        findings.add(kRank5, function, *operation, spell(extents));
      }
      check_large_axes(function, *operation, extents, findings);
      const int64_t lost = padding(extents, type);
      if (lost >= kMuchPadding && mil::is_float(type)) {
        findings.add(kLastAxis, function, *operation,
                     fmt::format("{}: {:.1f} MB of padding", spell(extents),
                                 static_cast<double>(lost) / 1e6));
      }
    }
  }
}

}  // namespace

const Group& shape_rules() {
  static const Group group = {{&kRank, &kRank5, &kLargeAxis, &kLastAxis}, check_shapes};
  return group;
}

}  // namespace pippin::doctor
