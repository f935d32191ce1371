// Rows taken from tables.
#include <algorithm>

#include <fmt/format.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr int64_t kLargestTable = 16384;

constexpr Rule kGather = {
    .id = "gather",
    .severity = Severity::Note,
    .what = "Rows are gathered by indices",
    .why =
        "Compute plans of published models show gather on the CPU; an embedding there is cheap, "
        "one in the middle of a function costs two hand-overs",
    .source =
        "compute plans of WhisperKit's decoders; smpanaro/coreml-llm-cli (its first chunk "
        "runs on the CPU)",
    .remedy =
        "Keep gathers in a part of their own in front, as the families anemll and windowed "
        "do",
    .keeps_off = true};

constexpr Rule kGatherSize = {
    .id = "gather-size",
    .severity = Severity::Note,
    .what = "The table of a gather has an axis of more than 16,384",
    .why = "The Neural Engine takes axes of up to 16,384: this gather never runs there",
    .source = "apple/coremltools#1003; smpanaro/coreml-llm-cli",
    .remedy = "Load the part with the table for cpuOnly, so that it does not make the others wait",
    .keeps_off = true};

bool gathers(const std::string& type) {
  return type == "gather" || type == "gather_along_axis" || type == "gather_nd";
}

void check_gathers(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Operation* operation : function.running()) {
      const mil::Var* table = operation->input_var("x");
      if (!gathers(operation->type()) || table == nullptr) continue;
      // A shape's few numbers: no device sees this gather.
      if (!mil::is_float(function.type_of(*table))) continue;
      const std::vector<Extent> extents = function.extents(*table);
      const auto largest =
          std::max_element(extents.begin(), extents.end(),
                           [](const Extent& a, const Extent& b) { return a.lower < b.lower; });
      if (largest != extents.end() && largest->lower > kLargestTable) {
        findings.add(kGatherSize, function, *operation,
                     fmt::format("from {} rows", largest->lower));
      } else {
        findings.add(kGather, function, *operation);
      }
    }
  }
}

}  // namespace

const Group& gather_rules() {
  static const Group group = {{&kGather, &kGatherSize}, check_gathers};
  return group;
}

}  // namespace pippin::doctor
