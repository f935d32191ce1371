// Models made by others, compared with outputs of other implementations.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/io/fault_test.h"
#include "pippin/io/json.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::vector<float> read_floats(const fs::path& path) {
  const std::string bytes = read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
void expect_near(const Tensor& actual, const std::vector<T>& expected, double tolerance) {
  const std::vector<double> values = actual.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    worst = std::max(worst, std::abs(values[i] - static_cast<double>(expected[i])));
  }
  EXPECT_LE(worst, tolerance);
}

TEST(Golden, BasicPitch) {
  PIPPIN_SHARED_OR_SKIP(root, "packages");
  const Function function = Model::load(root / "basic-pitch-nmp.mlpackage").function();
  const FeatureInfo& input = function.inputs().at(0);
  for (const std::string sound : {"sine440", "chord"}) {
    const std::string golden = (root / "golden/basic-pitch.").string() + sound + ".";
    const Values outputs =
        function.predict({{input.name, Tensor::from(read_floats(golden + "in.f32"), input.shape)}});
    for (const char* name : {"Identity", "Identity_1", "Identity_2"}) {
      SCOPED_TRACE(sound + " " + name);
      expect_near(tensor_at(outputs, name), read_floats(golden + name + ".f32"), 1e-3);
    }
  }
}

// A compiled model; the caller feeds its hidden states back.
TEST(Golden, SileroSequence) {
  PIPPIN_SHARED_OR_SKIP(root, "packages");
  const Function function = Model::load(root / "silero_vad.mlmodelc").function();
  const Json golden = Json::load(root / "golden/silero_vad.mlmodelc.sequence.json");
  Tensor hidden(DataType::Float32, {1, 128}), cell(DataType::Float32, {1, 128});
  const std::vector<Json> frames = golden.at("frames").elements();
  ASSERT_EQ(frames.size(), 24u);
  for (const Json& frame : frames) {
    const Values outputs =
        function.predict({{"audio_input", Tensor::from(frame.get_floats("audio_input"), {1, 576})},
                          {"hidden_state", hidden},
                          {"cell_state", cell}});
    expect_near(tensor_at(outputs, "vad_output"),
                std::vector<double>{frame.get_float("vad_output")}, 1e-2);
    hidden = tensor_at(outputs, "new_hidden_state");
    cell = tensor_at(outputs, "new_cell_state");
    expect_near(hidden, frame.get_floats("new_hidden_state"), 1e-2);
    expect_near(cell, frame.get_floats("new_cell_state"), 2e-2);
  }
}

TEST(Golden, AddModelCompiledByCoreMl) {
  PIPPIN_SHARED_OR_SKIP(root, "packages");
  const Function function = Model::load(root / "add_model.mlmodelc").function();
  std::vector<float> x, y, product;
  for (int i = 0; i < 10; ++i) {
    x.push_back(static_cast<float>(i) / 4);
    y.push_back(static_cast<float>(i - 5));
    product.push_back(x.back() * y.back());
  }
  const Values outputs =
      function.predict({{"x", Tensor::from(x, {1, 10})}, {"y", Tensor::from(y, {1, 10})}});
  expect_near(tensor_at(outputs, function.outputs().at(0).name), product, 0);
}

TEST(Golden, AbsentWeightsAreAnError) {
  PIPPIN_SHARED_OR_SKIP(root, "packages/graph-only");
  const std::string fault = fault_of([&] {
    const Function function = Model::load(root / "siamese-optimized.mlpackage").function();
    Values inputs;
    for (const FeatureInfo& input : function.inputs()) {
      inputs.emplace(input.name, Tensor(input.type, input.shape));
    }
    function.predict(inputs);
  });
  EXPECT_NE(fault.find(".bin"), std::string::npos) << fault;
}

}  // namespace
}  // namespace pippin
