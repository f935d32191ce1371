// States: requirements of the Neural Engine and Core ML on shapes and types.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/doctor/rules.h"

namespace pippin::doctor {
namespace {

constexpr int64_t kStateMultiple = 32;

constexpr Rule kStateAxis = {
    .id = "state-last-axis",
    .severity = Severity::Error,
    .what = "A state's last axis is not a multiple of 32",
    .why =
        "On the Neural Engine such a model fails when it is loaded or first asked, on the CPU "
        "and the GPU it runs",
    .source = "apple/coremltools#2631, #2553",
    .remedy =
        "Choose a size of heads or a context that is a multiple of 32, or ask for "
        "cpuAndGPU when the model is loaded"};

constexpr Rule kStateType = {.id = "state-type",
                             .severity = Severity::Error,
                             .what = "A state is not fp16",
                             .why = "Core ML keeps states in fp16 alone",
                             .source = "Core ML Tools guide, Stateful Models (StateType)",
                             .remedy = "Declare the state as fp16 and convert where it is read"};

void check_states(const Subject& subject, Findings& findings) {
  for (const FunctionView& function : subject.functions) {
    for (const mil::Feature& state : function.description().states) {
      const std::string name = fmt::format("state '{}'", state.name);
      if (!state.shape.empty() && state.shape.back() % kStateMultiple != 0) {
        findings.add(kStateAxis,
                     {function.name(), name, fmt::format("[{}]", fmt::join(state.shape, ", "))});
      }
      if (state.data_type != mil::DataType::Float16) {
        findings.add(kStateType,
                     {function.name(), name, std::string(mil::to_string(state.data_type))});
      }
    }
  }
}

}  // namespace

const Group& state_rules() {
  static const Group group = {{&kStateAxis, &kStateType}, check_states};
  return group;
}

}  // namespace pippin::doctor
