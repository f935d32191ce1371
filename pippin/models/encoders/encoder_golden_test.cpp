// Encoders without a class in transformers, compared with the forward passes of
// make_encoder_goldens.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder.h"
#include "pippin/io/json.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/models_testing.h"

namespace pippin::models {
namespace {

engine::HostTensor int_rows(const std::vector<std::vector<int32_t>>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  engine::HostTensor result{
      mil::DataType::Int32, {count, std::ssize(rows.front())}, {}, {}, {}, {}};
  for (const std::vector<int32_t>& row : rows) {
    const auto bytes = std::as_bytes(std::span(row));
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

// The states of the text twice: alone, and in a batch with two tokens of padding.
std::vector<std::vector<double>> states_of(const mil::Model& model,
                                           const std::vector<int32_t>& ids) {
  ThreadPool pool(1);
  const auto runner = engine::Runner::make(model, "main", pool, {});
  engine::State state(std::vector<mil::Feature>{});
  std::vector<std::vector<double>> results;
  for (const size_t padding : {size_t{0}, size_t{2}}) {
    std::vector<int32_t> row = ids, mask(ids.size(), 1);
    row.resize(ids.size() + padding);
    mask.resize(ids.size() + padding);
    engine::NamedHostTensors inputs;
    inputs.emplace(families::encoder::kIds, int_rows({row, row}));
    inputs.emplace(families::encoder::kMask, int_rows({mask, mask}));
    if (model.functions.front().inputs.size() > 2) {
      const std::vector<int32_t> types(row.size(), 0);
      inputs.emplace(families::encoder::kTokenTypes, int_rows({types, types}));
    }
    const auto outputs = runner->run(inputs, state);
    const auto all = engine::to_tensor(outputs.find(families::encoder::kStates)->second).values;
    // The second copy.
    const size_t width = all.size() / 2 / row.size();
    const auto first = all.begin() + static_cast<int64_t>(row.size() * width);
    results.emplace_back(first, first + static_cast<int64_t>(ids.size() * width));
  }
  return results;
}

TEST(EncoderGoldens, StatesAreThoseOfTheirForwardPasses) {
  const Json goldens = Json::load(source_dir() / "pippin/models/encoder_goldens.json");
  for (const Json& golden : goldens.at("cases").elements()) {
    SCOPED_TRACE(std::string(golden.at("config").at("model_type").as_string()));
    const TempDir folder;
    write_made_model(folder.path(), golden);
    const mil::Model model =
        build_encoder(folder.path(), {.compute = BuildOptions::Compute::Float32Direct});
    mil::verify(model.program);
    std::vector<double> expected;
    for (const Json& row : golden.at("states").elements()) {
      for (const Json& value : row.elements()) expected.push_back(value.as_float());
    }
    std::vector<int32_t> ids;
    for (const int64_t id : golden.get_ints("ids")) ids.push_back(static_cast<int32_t>(id));
    for (const std::vector<double>& states : states_of(model, ids)) {
      ASSERT_EQ(states.size(), expected.size());
      double worst = 0;
      for (size_t i = 0; i < states.size(); ++i) {
        worst = std::max(worst, std::abs(states[i] - expected[i]));
      }
      EXPECT_LE(worst, 1e-5);
    }
  }
}

}  // namespace
}  // namespace pippin::models
