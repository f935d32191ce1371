// Whole programs as MIL text: the engine loads, plans and runs them on inputs of their declared
// types, with small limits. Any program runs or is rejected.
#include <cstdint>
#include <string>

#include "pippin/base/error.h"
#include "pippin/engine/runner.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/text/text.h"

namespace {

using namespace pippin;

constexpr int64_t kMaxElements = 1 << 14;

// Returns small numbers: 0, 1, 2, ..., with repetitions.
engine::HostTensor input_value(const mil::Feature& feature, int turn) {
  mil::Tensor tensor(feature.data_type, feature.shape);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<double>((i * 7 + static_cast<size_t>(turn)) % 5);
  }
  return engine::to_host(tensor);
}

void run_function(const mil::Model& model, const mil::FunctionDescription& function,
                  ThreadPool& pool) {
  engine::RunnerOptions options;
  options.max_elements = kMaxElements;
  options.max_iterations = 20;
  const auto runner = engine::Runner::make(model, function.name, pool, options);
  const mil::ElementLimit limit(kMaxElements);
  for (const mil::Feature& state : function.states) mil::Tensor(state.data_type, state.shape);
  engine::State state(function.states);
  for (int turn = 0; turn < 2; ++turn) {
    engine::NamedHostTensors inputs;
    for (const mil::Feature& feature : function.inputs) {
      inputs.emplace(feature.name, input_value(feature, turn));
    }
    runner->run(inputs, state);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ThreadPool pool(1);
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    mil::Program program = mil::parse_text(text, "x");
    mil::verify(program);
    const mil::Model model = mil::describe_program(std::move(program));
    for (const auto& function : model.functions) {
      try {
        run_function(model, function, pool);
      } catch (const Error&) {
        continue;
      }
    }
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
