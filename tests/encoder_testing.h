// Goldens of encoders: texts with the outputs of Hugging Face's and sentence-transformers' code,
// and a program that runs on them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/families/encoder.h"
#include "pippin/io/npz.h"

namespace pippin::testing_encoders {

// Three texts of a folder's golden.npz, padded to one length.
struct Texts {
  NpzFile golden;
  int64_t rows, length;
  std::vector<int32_t> ids, mask, types, tasks;

  explicit Texts(const std::filesystem::path& folder)
      : golden(NpzFile::open(folder / "golden.npz")) {
    const NpyArray all = golden.read("input_ids");
    rows = static_cast<int64_t>(all.shape.at(0));
    length = static_cast<int64_t>(all.shape.at(1));
    ids = ints("input_ids");
    mask = golden.contains("attention_mask") ? ints("attention_mask")
                                             : std::vector<int32_t>(ids.size(), 1);
    types = golden.contains("token_type_ids") ? ints("token_type_ids")
                                              : std::vector<int32_t>(ids.size());
    tasks =
        golden.contains("task_type_ids") ? ints("task_type_ids") : std::vector<int32_t>(ids.size());
  }
  std::vector<int32_t> ints(const std::string& name) const {
    const NpyArray array = golden.read(name);
    return {array.as<int32_t>().begin(), array.as<int32_t>().end()};
  }
  std::vector<double> doubles(const std::string& name) const {
    return golden.read(name).to_doubles();
  }
};

inline engine::HostTensor tensor(const std::vector<int32_t>& values, int64_t rows, int64_t length) {
  engine::HostTensor result{mil::DataType::Int32, {rows, length}, {}, {}, {}, {}};
  result.bytes.resize(values.size() * sizeof(int32_t));
  std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

class RunningEncoder {
 public:
  explicit RunningEncoder(const mil::Model& model, engine::Precision precision = {})
      : model_(model),
        pool_(1),
        runner_(engine::Runner::make(model, "main", pool_, {.compute = {.precision = precision}})),
        state_(std::vector<mil::Feature>{}) {}

  std::vector<double> run(const Texts& texts, const std::string& output) {
    return run(texts, 0, texts.rows, 0, texts.length, output);
  }
  // Runs rows [first, first + count) of the texts, columns [from, to) of each.
  std::vector<double> run(const Texts& texts, int64_t first, int64_t count, int64_t from,
                          int64_t to, const std::string& output) {
    engine::NamedHostTensors inputs;
    for (const mil::Feature& feature : model_.functions.front().inputs) {
      const auto& all = feature.name == families::encoder::kIds          ? texts.ids
                        : feature.name == families::encoder::kTokenTypes ? texts.types
                        : feature.name == families::encoder::kTaskTypes  ? texts.tasks
                                                                         : texts.mask;
      std::vector<int32_t> part;
      for (int64_t row = first; row < first + count; ++row) {
        const auto begin = all.begin() + row * texts.length;
        part.insert(part.end(), begin + from, begin + to);
      }
      inputs.emplace(feature.name, tensor(part, count, to - from));
    }
    return engine::to_tensor(runner_->run(inputs, state_).find(output)->second).values;
  }

 private:
  const mil::Model& model_;
  ThreadPool pool_;
  std::unique_ptr<engine::Runner> runner_;
  engine::State state_;
};

inline double cosine(const double* a, const double* b, size_t size) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < size; ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

// The largest difference of values at tokens; values at padding are undefined.
inline double difference_at_tokens(const Texts& texts, const std::vector<double>& values,
                                   const std::vector<double>& expected) {
  const size_t width = expected.size() / texts.ids.size();
  double worst = 0;
  for (size_t token = 0; token < texts.ids.size(); ++token) {
    if (texts.mask[token] == 0) continue;
    for (size_t i = token * width; i < (token + 1) * width; ++i) {
      worst = std::max(worst, std::abs(values[i] - expected[i]));
    }
  }
  return worst;
}

inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

// Where a text's tokens begin and end in its row.
inline std::pair<int64_t, int64_t> tokens_of(const Texts& texts, int64_t row) {
  const auto begin = texts.mask.begin() + row * texts.length, end = begin + texts.length;
  const auto first = std::find(begin, end, 1);
  const auto last = std::find(first, end, 0);
  return {first - begin, last - begin};
}

}  // namespace pippin::testing_encoders
