// Operations that Core ML supports in general, but not with five axes.
#include <array>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr size_t kAxesOfVolumes = 5;

constexpr Rule kVolumeNorm = {
    .id = "norm-rank-5",
    .severity = Severity::Error,
    .what = "batch_norm or instance_norm over five axes (BatchNorm3d, InstanceNorm3d)",
    .why =
        "The process that loads such a model ends: statistics of a channel are not broadcast over "
        "five axes, and the GPU's norms have four",
    .source = "apple/coremltools#2572, #2276, #2667; pytorch/executorch#11701",
    .remedy =
        "Merge two axes before the norm and part them after it, or write the norm as a product "
        "and a sum (x * scale + shift)",
    .keeps_off = true};

constexpr Rule kOneIndex = {
    .id = "gather-rank-5",
    .severity = Severity::Error,
    .what = "A gather takes one index out of five axes",
    .why =
        "Core ML gathers with an axis for the index and takes it away again: six axes on the way, "
        "which it refuses (\"Invalid rank: 6\")",
    .source = "microsoft/onnxruntime#28278",
    .remedy =
        "Take the index with slice_by_index or slice_by_size and squeeze, or merge axes first",
    .keeps_off = true};

bool norms_channels(const std::string& type) {
  return type == "batch_norm" || type == "instance_norm";
}

bool has_five_axes(const FunctionView& function, const mil::Operation& operation) {
  const mil::Var* x = operation.input_var("x");
  return x != nullptr && function.extents(*x).size() == kAxesOfVolumes;
}

// Without axes: a number, not a tensor of numbers.
bool is_one_index(const mil::Operation& operation) {
  const mil::Argument* indices = operation.find_input("indices");
  if (indices == nullptr || indices->size() != 1) return false;
  if (const auto* var = std::get_if<mil::Var*>(&indices->front())) {
    return (*var)->type.is_tensor() && (*var)->type.dims.empty();
  }
  return std::get<mil::Value>(indices->front()).type.dims.empty();
}

void check_ranks(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Operation* operation : function.running()) {
      if (!has_five_axes(function, *operation)) continue;
      if (norms_channels(operation->type())) findings.add(kVolumeNorm, function, *operation);
      if (operation->type() == "gather" && is_one_index(*operation)) {
        findings.add(kOneIndex, function, *operation);
      }
    }
  }
}

}  // namespace

const Group& rank_rules() {
  static const Group group = {{&kVolumeNorm, &kOneIndex}, check_ranks};
  return group;
}

}  // namespace pippin::doctor
