// Runs a model's default function once, on zeros, and prints its inputs and outputs.
#include <cstdio>

#include "pippin/api/model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    return 2;
  }
  try {
    const pippin::Model model = pippin::Model::load(argv[1]);
    const pippin::Function function = model.function();

    pippin::Values inputs;
    for (const pippin::FeatureInfo& input : function.inputs()) {
      std::printf("%s: %s\n", input.name.c_str(), to_string(input).c_str());
      inputs.emplace(input.name, pippin::Tensor(input.type, input.shape));
    }

    pippin::State state = function.make_state();  // kept between the predictions of a sequence
    const pippin::Values outputs = function.predict(inputs, state);

    for (const pippin::FeatureInfo& output : function.outputs()) {
      std::printf("%s:", output.name.c_str());
      for (const double value : pippin::tensor_at(outputs, output.name).to_doubles()) {
        std::printf(" %g", value);
      }
      std::printf("\n");
    }
  } catch (const pippin::Error& error) {  // one line: problem, place, expected value
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
