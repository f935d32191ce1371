// For the tests of models: small checkpoints made on the spot, and Hugging Face's golden logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/file.h"
#include "pippin/base/output.h"
#include "pippin/engine/reference.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/package.h"

namespace pippin::models {

using Tensors = std::map<std::string, std::vector<int64_t>>;

// fp32 tensors of small random numbers.
inline void write_checkpoint(const std::filesystem::path& folder, const Tensors& tensors) {
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const auto& [name, shape] : tensors) declarations.push_back({name, Dtype::F32, shape});
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  for (const auto& declaration : declarations) {
    int64_t count = 1;
    for (const int64_t dim : declaration.shape) count *= dim;
    for (int64_t i = 0; i < count; ++i) {
      const float value = normal(random);
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
}

// The logits of tokens at positions [past, past + ids.size()), by the reference interpreter.
inline std::vector<double> run_reference(const engine::ReferenceInterpreter& interpreter,
                                         engine::ReferenceState& state,
                                         std::span<const int32_t> ids, int64_t past) {
  const auto query = static_cast<int64_t>(ids.size());
  const int64_t end = past + query;
  mil::Tensor tokens(mil::DataType::Int32, {1, query});
  std::copy(ids.begin(), ids.end(), tokens.values.begin());
  mil::Tensor mask(mil::DataType::Float32, {1, 1, query, end});
  for (int64_t row = 0; row < query; ++row) {
    for (int64_t column = past + row + 1; column < end; ++column) {
      mask.values[static_cast<size_t>(row * end + column)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  return interpreter.run({{"inputIds", tokens}, {"causalMask", mask}}, state).at("logits").values;
}

inline double max_difference(std::span<const double> a, std::span<const double> b) {
  double worst = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    worst = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                   : std::max(worst, difference);
  }
  return worst;
}

}  // namespace pippin::models
