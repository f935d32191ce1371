// For tests only: a tiny attention model with known weights, written as packages of several
// families, and its expected logits, computed in double.
//
// Per layer: q = x Wq + p, k = x Wk + p, v = x Wv, x += softmax(q kᵀ / 2 + causal) v, where p is
// the position's row of a table.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/mil/package/package.h"

namespace pippin::testing_models {

constexpr int64_t kVocab = 23, kHidden = 8, kLayers = 3, kContext = 32;

inline std::vector<double> weights(int64_t count, uint32_t seed, double scale) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    // Multiples of 1/64: exact in half precision.
    values.push_back(std::round((static_cast<double>(seed >> 8) / (1 << 23) - 1) * scale * 64) /
                     64);
  }
  return values;
}

struct TinyWeights {
  std::vector<double> embedding = weights(kVocab * kHidden, 1, 1);
  std::vector<double> head = weights(kVocab * kHidden, 2, 1);
  std::vector<double> positions = weights(kContext * kHidden, 3, 1);
  std::vector<double> q[kLayers], k[kLayers], v[kLayers];

  TinyWeights() {
    for (uint32_t l = 0; l < kLayers; ++l) {
      q[l] = weights(kHidden * kHidden, 10 + l, 0.75);
      k[l] = weights(kHidden * kHidden, 20 + l, 0.75);
      v[l] = weights(kHidden * kHidden, 30 + l, 0.5);
    }
  }
};

// Rows of logits. Tokens at and after `window` get `offset` added after each of the layers that end
// a chunk, as the tests' rotated functions do.
inline std::vector<float> expected_logits(const std::vector<int32_t>& ids,
                                          const std::vector<int64_t>& chunk_ends = {},
                                          int64_t window = 1 << 30, double offset = 0) {
  const TinyWeights w;
  const size_t n = ids.size(), h = kHidden;
  const auto times = [&](const std::vector<double>& x, const std::vector<double>& m) {
    std::vector<double> y(n * h);
    for (size_t t = 0; t < n; ++t) {
      for (size_t o = 0; o < h; ++o) {
        for (size_t i = 0; i < h; ++i) y[t * h + o] += x[t * h + i] * m[o * h + i];
      }
    }
    return y;
  };
  std::vector<double> x;
  for (const int32_t id : ids) {
    const auto row = w.embedding.begin() + id * kHidden;
    x.insert(x.end(), row, row + kHidden);
  }
  for (size_t l = 0; l < kLayers; ++l) {
    auto q = times(x, w.q[l]), k = times(x, w.k[l]);
    const auto v = times(x, w.v[l]);
    for (size_t i = 0; i < n * h; ++i) {
      q[i] += w.positions[i];
      k[i] += w.positions[i];
    }
    auto next = x;
    for (size_t t = 0; t < n; ++t) {
      std::vector<double> score(t + 1);
      double sum = 0;
      for (size_t s = 0; s <= t; ++s) {
        for (size_t i = 0; i < h; ++i) score[s] += q[t * h + i] * k[s * h + i] / 2;
        sum += score[s] = std::exp(score[s]);
      }
      for (size_t s = 0; s <= t; ++s) {
        for (size_t i = 0; i < h; ++i) next[t * h + i] += score[s] / sum * v[s * h + i];
      }
      for (const int64_t end : chunk_ends) {
        if (end != static_cast<int64_t>(l) + 1 || static_cast<int64_t>(t) < window) continue;
        for (size_t i = 0; i < h; ++i) next[t * h + i] += offset;
      }
    }
    x = next;
  }
  std::vector<float> logits(n * kVocab);
  for (size_t t = 0; t < n; ++t) {
    for (size_t o = 0; o < kVocab; ++o) {
      double sum = 0;
      for (size_t i = 0; i < h; ++i) sum += x[t * h + i] * w.head[o * h + i];
      logits[t * kVocab + o] = static_cast<float>(sum);
    }
  }
  return logits;
}

// Gathers the functions of a package.
class PackageMaker {
 public:
  void input(const std::string& name, mil::DataType type, std::vector<int64_t> shape) {
    description_.inputs.push_back(feature(name, type, std::move(shape)));
  }
  void output(const std::string& name, mil::DataType type, std::vector<int64_t> shape) {
    description_.outputs.push_back(feature(name, type, std::move(shape)));
  }
  void state(const std::string& name, std::vector<int64_t> shape) {
    description_.states.push_back(feature(name, mil::DataType::Float16, std::move(shape)));
    description_.states.back().kind = mil::Feature::Kind::State;
  }
  void finish_function(const std::string& name, const array::Builder& builder) {
    description_.name = name;
    model.functions.push_back(std::move(description_));
    description_ = {};
    model.program.functions.emplace(name, builder.build());
  }
  void write(const std::filesystem::path& path) {
    model.specification_version = 9;
    model.multifunction = model.functions.size() > 1;
    model.default_function = model.functions.front().name;
    mil::write_package(model, path);
  }

  mil::Model model;

 private:
  static mil::Feature feature(const std::string& name, mil::DataType type,
                              std::vector<int64_t> shape) {
    mil::Feature result;
    result.name = name;
    result.data_type = type;
    result.shape = std::move(shape);
    return result;
  }
  mil::FunctionDescription description_;
};

struct StepOptions {
  int64_t first = 0, last = kLayers;  // layers [first, last)
  int64_t query = 1;
  bool takes_ids = false, gives_logits = false, update_mask = false;
  bool first_row_only = false;  // of the output, as ANEMLL's last prefill
  double offset = 0;            // added to the output
  std::string state = "kv_cache_0";
  int64_t state_slots = kContext;
  std::string chosen_index = "argmax_idx", chosen_value = "argmax_val";
};

// Adds the logits of x (1, T, hidden) in `parts` of the vocabulary, the first ones larger, or the
// most likely token of each part.
inline void add_head(PackageMaker& maker, array::Builder& builder, const array::Array& x,
                     int64_t rows, int64_t parts, bool argmax, const StepOptions& o = {}) {
  using namespace array;
  const TinyWeights w;
  std::vector<Array> indices, values;
  int64_t begin = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t size = kVocab / parts + (i < kVocab % parts ? 1 : 0);
    const std::vector<double> part(w.head.begin() + begin * kHidden,
                                   w.head.begin() + (begin + size) * kHidden);
    const Array logits = linear(x, constant(mil::DataType::Float16, {size, kHidden}, part));
    begin += size;
    if (argmax) {
      const Array flat = reshape(logits, {size});
      const TopK top = topk(flat, 1, 0);
      indices.push_back(top.indices);
      values.push_back(top.values);
      continue;
    }
    const std::string name = parts == 1 ? "logits" : "logits" + std::to_string(i + 1);
    builder.output(name, logits);
    maker.output(name, mil::DataType::Float16, {1, rows, size});
  }
  if (!argmax) return;
  builder.output(o.chosen_index, concat(indices, 0));
  builder.output(o.chosen_value, concat(values, 0));
  maker.output(o.chosen_index, mil::DataType::Int32, {parts});
  maker.output(o.chosen_value, mil::DataType::Float16, {parts});
}

inline void add_step(PackageMaker& maker, const std::string& name, const StepOptions& o,
                     int64_t head_parts = 1, bool argmax = false) {
  using namespace array;
  constexpr auto kHalf = mil::DataType::Float16;
  constexpr auto kInt = mil::DataType::Int32;
  const TinyWeights w;
  const int64_t query = o.query;
  Builder builder;
  const auto matrix = [&](const std::vector<double>& values) {
    return constant(kHalf, {kHidden, kHidden}, values);
  };
  const auto input = [&](const std::string& input_name, mil::DataType type,
                         const std::vector<int64_t>& shape) {
    maker.input(input_name, type, shape);
    return builder.input(input_name, type, mil::to_shape(shape));
  };
  const Array tokens = o.takes_ids ? input("input_ids", kInt, {1, query})
                                   : input("hidden_states", kHalf, {1, query, kHidden});
  const Array positions = input("position_ids", kInt, {query});
  const Array mask = input("causal_mask", kHalf, {1, 1, query, kContext});
  const Array current = input("current_pos", kInt, {1});
  Array x =
      o.takes_ids ? gather(constant(kHalf, {kVocab, kHidden}, w.embedding), tokens, 0) : tokens;
  const Array p =
      expand_dims(gather(constant(kHalf, {kContext, kHidden}, w.positions), positions, 0), {0});
  std::optional<Array> written;
  if (o.update_mask) {
    const Array update = input("update_mask", kHalf, {1, 1, kContext, query});
    written = reshape(reduce_sum(update, {2}), {1, query, 1});
  }
  const std::vector<int64_t> state_shape = {2 * kLayers, 1, o.state_slots, kHidden};
  maker.state(o.state, state_shape);
  const array::State state = builder.state(o.state, kHalf, state_shape);
  const auto number = [](int64_t value) {
    return constant(std::span<const int64_t>(std::vector<int64_t>{value}));
  };
  for (int64_t l = o.first; l < o.last; ++l) {
    const auto layer = static_cast<size_t>(l);
    const Array q = linear(x, matrix(w.q[layer])) + p;
    Array k = linear(x, matrix(w.k[layer])) + p;
    const Array v = linear(x, matrix(w.v[layer]));
    if (written) k = k * *written;
    for (const auto& [row, values] : {std::pair(l, k), std::pair(kLayers + l, v)}) {
      const Array begin = concat({number(row), number(0), current, number(0)}, 0);
      const Array end = concat(
          {number(row + 1), number(1), current + static_cast<double>(query), number(kHidden)}, 0);
      const Array update = reshape(values, {1, 1, query, kHidden});
      const Array cache = read_state(state);
      write_state(state, record_one("slice_update", {Param("x", cache), Param("update", update),
                                                     Param("begin", begin), Param("end", end)}));
    }
    const Array cache = read_state(state);
    const Array keys = slice_axis(slice_axis(cache, 0, l, l + 1), 2, 0, kContext);
    const Array values =
        slice_axis(slice_axis(cache, 0, kLayers + l, kLayers + l + 1), 2, 0, kContext);
    const Array scores = matmul(reshape(q, {1, 1, query, kHidden}), keys, false, true) * 0.5;
    const Array seen = matmul(softmax(scores + mask), values);
    x = x + reshape(seen, {1, query, kHidden});
  }
  if (o.offset != 0) x = x + o.offset;
  if (o.gives_logits) {
    add_head(maker, builder, x, query, head_parts, argmax, o);
  } else {
    if (o.first_row_only) x = slice_axis(x, 1, 0, 1);
    builder.output("output_hidden_states", x);
    maker.output("output_hidden_states", kHalf, {1, o.first_row_only ? 1 : query, kHidden});
  }
  maker.finish_function(name, builder);
}

struct AnemllForm {
  std::string prefix = "tiny";
  int64_t batch = 4;
  int64_t head_parts = 3;
  bool argmax = false, update_mask = false;
  double prefill_offset = 0;  // not 0: a wrong prefill
  double rotated_offset = 0;  // not 0: functions for a full window
  std::string ffn = "_FFN_PF_lut6";
};

// Embeddings, chunks of two layers and one, head.
inline void write_anemll(const std::filesystem::path& folder, const AnemllForm& form = {}) {
  using namespace array;
  const TinyWeights w;
  std::filesystem::create_directories(folder);
  {
    PackageMaker maker;
    Builder builder;
    const mil::Dim query = mil::Dim::symbol("query", 1, form.batch);
    const Array ids = builder.input("input_ids", mil::DataType::Int32, {1, query});
    builder.output(
        "hidden_states",
        gather(constant(mil::DataType::Float16, {kVocab, kHidden}, w.embedding), ids, 0));
    maker.input("input_ids", mil::DataType::Int32, {1, 1});
    maker.output("hidden_states", mil::DataType::Float16, {});
    maker.finish_function("main", builder);
    maker.model.functions[0].inputs[0].enumerated_shapes = {{1, 1}, {1, form.batch}};
    maker.write(folder / (form.prefix + "_embeddings.mlpackage"));
  }
  for (const int64_t chunk : {0, 1}) {
    PackageMaker maker;
    StepOptions step;
    step.first = chunk == 0 ? 0 : 2;
    step.last = chunk == 0 ? 2 : 3;
    step.update_mask = form.update_mask;
    // Two spellings, as converters write them.
    step.state = chunk == 0 ? "model_model_kv_cache_0" : "modelmodel_kvcache0";
    add_step(maker, "infer", step);
    StepOptions prefill = step;
    prefill.query = form.batch;
    prefill.first_row_only = chunk == 1;
    prefill.offset = form.prefill_offset;
    add_step(maker, "prefill", prefill);
    if (form.rotated_offset != 0) {
      step.offset = form.rotated_offset;
      add_step(maker, "infer_rotate", step);
    }
    maker.write(folder / (form.prefix + form.ffn +
                          (chunk == 0 ? "_chunk_01of02.mlpackage" : "_chunk_02of02.mlpackage")));
  }
  PackageMaker maker;
  Builder builder;
  maker.input("hidden_states", mil::DataType::Float16, {1, 1, kHidden});
  const Array x = builder.input("hidden_states", mil::DataType::Float16, {1, 1, kHidden});
  add_head(maker, builder, x, 1, form.head_parts, form.argmax);
  maker.finish_function("main", builder);
  maker.write(folder / (form.prefix + "_lm_head.mlpackage"));
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace pippin::testing_models
