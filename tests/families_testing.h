// For tests: packages of the families `anemll` and `windowed`, run with the engine by the loops
// that docs/families.md describes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/models/family/package_part.h"

namespace pippin {

inline engine::HostTensor ints(std::vector<int64_t> shape, std::span<const int32_t> values) {
  mil::Tensor tensor(mil::DataType::Int32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values.begin());
  return engine::to_host(tensor);
}

// The mask of query `row` of `queries` from `first` on, as 0 and -inf, (1, 1, queries, slots).
inline engine::HostTensor causal_mask(int64_t first, int64_t queries, int64_t slots) {
  mil::Tensor mask(mil::DataType::Float16, {1, 1, queries, slots});
  for (int64_t row = 0; row < queries; ++row) {
    for (int64_t slot = first + row + 1; slot < slots; ++slot) {
      mask.values[static_cast<size_t>(row * slots + slot)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  return engine::to_host(mask);
}

// Runs functions of packages, each with its own runner.
class PackageRunners {
 public:
  explicit PackageRunners(const std::vector<const mil::Model*>& models) : models_(models) {}

  engine::NamedHostTensors run(size_t package, const std::string& function,
                               const engine::NamedHostTensors& inputs, engine::State& state) {
    auto& runner = runners_[{package, function}];
    if (runner == nullptr) runner = engine::Runner::make(*models_.at(package), function, pool_);
    return runner->run(inputs, state);
  }

 private:
  ThreadPool pool_{1};
  std::vector<const mil::Model*> models_;
  std::map<std::pair<size_t, std::string>, std::unique_ptr<engine::Runner>> runners_;
};

// Embeddings, chunks, head; in this order.
class AnemllRun {
 public:
  explicit AnemllRun(const std::vector<const mil::Model*>& models)
      : models_(models), runners_(models), state_(models.at(1)->functions.at(0).states), none_({}) {
    const mil::FunctionDescription& infer = models.at(1)->description("infer");
    context_ = feature(infer, "causal_mask").shape.at(3);
    batch_ = feature(models.at(1)->description("prefill"), "causal_mask").shape.at(2);
    for (const mil::Feature& state : infer.states) {
      if (state.name.ends_with("local")) window_ = state.shape.at(2);
    }
  }
  int64_t batch() const { return batch_; }

  // The logits of the next token.
  std::vector<double> infer(int32_t id, int64_t position) {
    const auto hidden = layers({&id, 1}, position, name("infer", position));
    const auto outputs =
        runners_.run(models_.size() - 1, "main", {{"hidden_states", hidden}}, none_);
    std::vector<double> logits;
    for (size_t i = 1; outputs.contains("logits" + std::to_string(i)); ++i) {
      const auto part = to_tensor(outputs.at("logits" + std::to_string(i))).values;
      logits.insert(logits.end(), part.begin(), part.end());
    }
    return logits;
  }
  // Runs a full batch, which must not cross the end of the window.
  void prefill(std::span<const int32_t> ids, int64_t position) {
    layers(ids, position, name("prefill", position));
  }

 private:
  static const mil::Feature& feature(const mil::FunctionDescription& function,
                                     std::string_view name) {
    return *std::find_if(function.inputs.begin(), function.inputs.end(),
                         [&](const auto& input) { return input.name == name; });
  }
  std::string name(const char* function, int64_t position) const {
    const bool rotates = window_ > 0 && position >= window_;
    return std::string(function) + (rotates ? "_rotate" : "");
  }
  engine::HostTensor layers(std::span<const int32_t> ids, int64_t position,
                            const std::string& function) {
    const auto count = static_cast<int64_t>(ids.size());
    engine::HostTensor hidden =
        runners_.run(0, "main", {{"input_ids", ints({1, count}, ids)}}, none_).at("hidden_states");
    std::vector<int32_t> positions;
    for (int64_t i = 0; i < count; ++i) positions.push_back(static_cast<int32_t>(position + i));
    for (size_t chunk = 1; chunk + 1 < models_.size(); ++chunk) {
      const engine::NamedHostTensors inputs = {
          {"hidden_states", hidden},
          {"position_ids", ints({count}, positions)},
          {"causal_mask", causal_mask(position, count, context_)},
          {"current_pos", ints({1}, std::span(positions).first(1))}};
      hidden = runners_.run(chunk, function, inputs, state_).at("output_hidden_states");
    }
    return hidden;
  }

  std::vector<const mil::Model*> models_;
  PackageRunners runners_;
  engine::State state_, none_;
  int64_t context_ = 0, batch_ = 0, window_ = 0;
};

// Chunk 1, the layers' chunks, the head's chunk, cache-processor, logit-processor.
class WindowedRun {
 public:
  explicit WindowedRun(const std::vector<const mil::Model*>& models)
      : models_(models), runners_(models), none_({}) {
    window_ = models.at(0)->functions.at(0).inputs.at(0).shape.at(1);
    for (size_t chunk = 1; chunk < head(); ++chunk) {
      for (const mil::Feature& input : models[chunk]->functions.at(0).inputs) {
        if (input.name.find("cache") == input.name.npos) continue;
        caches_[chunk][input.name] =
            engine::to_host(mil::Tensor(mil::DataType::Float16, input.shape));
      }
    }
  }

  // The logits of all tokens of the window that ends the sequence `ids`, row by row; the caches
  // must hold the windows before. A full window is appended to the caches.
  std::vector<std::vector<double>> step(std::span<const int32_t> ids) {
    const auto length = static_cast<int64_t>(ids.size());
    const int64_t used = (length - 1) % window_ + 1;
    std::vector<int32_t> padded(ids.end() - used, ids.end());
    padded.resize(static_cast<size_t>(window_));
    const auto full = static_cast<int32_t>(length + window_ - used);
    engine::NamedHostTensors shared =
        runners_.run(0, "main",
                     {{"input_ids", ints({1, window_}, padded)},
                      {"full_sequence_length", ints({1}, {&full, 1})}},
                     none_);
    for (size_t chunk = 1; chunk < head(); ++chunk) {
      engine::NamedHostTensors inputs = caches_[chunk];
      for (const mil::Feature& input : models_[chunk]->functions.at(0).inputs) {
        if (!inputs.contains(input.name)) inputs[input.name] = shared.at(input.name);
      }
      const auto outputs = runners_.run(chunk, "main", inputs, none_);
      shared["x"] = outputs.at("new_x");
      if (length % window_ == 0) update(chunk, outputs);
    }
    const auto outputs = runners_.run(head(), "main", {{"x", shared.at("x")}}, none_);
    return rows_of(outputs, used);
  }
  // From the logit processor, for the last step.
  int64_t argmax(int64_t row) {
    const auto result = runners_.run(head() + 2, "main", logits_, none_).at("argmax");
    return static_cast<int64_t>(to_tensor(result).values.at(static_cast<size_t>(row)));
  }
  int64_t window() const { return window_; }

 private:
  size_t head() const { return models_.size() - 3; }

  void update(size_t chunk, const engine::NamedHostTensors& outputs) {
    auto& caches = caches_[chunk];
    for (size_t i = 0; i < caches.size() / 2; ++i) {
      const std::string k = "k_cache_" + std::to_string(i), v = "v_cache_" + std::to_string(i);
      const auto updated = runners_.run(head() + 1, "main",
                                        {{"old_k_cache", caches.at(k)},
                                         {"new_k_cache", outputs.at("new_" + k)},
                                         {"old_v_cache", caches.at(v)},
                                         {"new_v_cache", outputs.at("new_" + v)}},
                                        none_);
      caches[k] = updated.at("updated_k_cache");
      caches[v] = updated.at("updated_v_cache");
    }
  }
  std::vector<std::vector<double>> rows_of(const engine::NamedHostTensors& outputs, int64_t used) {
    logits_ = outputs;
    std::vector<std::vector<double>> rows(static_cast<size_t>(used));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string name = outputs.size() == 1 ? "logits" : "logits_" + std::to_string(i);
      const mil::Tensor part = to_tensor(outputs.at(name));
      const auto width = static_cast<ptrdiff_t>(part.shape.at(2));
      for (size_t row = 0; row < rows.size(); ++row) {
        const auto begin = part.values.begin() + static_cast<ptrdiff_t>(row) * width;
        rows[row].insert(rows[row].end(), begin, begin + width);
      }
    }
    return rows;
  }

  std::vector<const mil::Model*> models_;
  PackageRunners runners_;
  engine::State none_;
  int64_t window_ = 0;
  std::map<size_t, engine::NamedHostTensors> caches_;
  engine::NamedHostTensors logits_;
};

}  // namespace pippin
