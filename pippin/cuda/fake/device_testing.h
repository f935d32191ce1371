// Small programs on the fake driver.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/cuda/device.h"
#include "pippin/cuda/fake/fake_driver.h"
#include "pippin/cuda/run/resources.h"
#include "pippin/engine/plan_testing.h"

namespace pippin::cuda {

// A small decoder: x is projected, normalized by a gate and written to rows [past, end) of a cache;
// attention reads all of it under the mask. z is the next position.
inline constexpr const char* kTinyDecoder =
    R"(func main<ios18>(tensor<fp32, [?, 4]> x, tensor<int32, [1]> past, tensor<fp32, [1, 1, ?, 16]> mask,
                        state<tensor<fp16, [16, 4]>> cache) {
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 four = const()[name = string("four"), val = int32(4)];
    tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([0])];
    tensor<int32, [2]> front = const()[name = string("front"), val = tensor<int32, [2]>([0, 1])];
    bool no = const()[name = string("no"), val = bool(false)];
    string half = const()[name = string("half"), val = string("fp16")];
    string full = const()[name = string("full"), val = string("fp32")];
    tensor<fp32, [4, 4]> w = const()[name = string("w"), val = tensor<fp32, [4, 4]>([
      0x1p+0, 0x1p-1, -0x1p+0, 0x1p-2, 0x1p-1, -0x1p-1, 0x1p+0, 0x1p-2,
      -0x1p-2, 0x1p-1, 0x1p+0, 0x1p-1, 0x1p-3, 0x1p-1, -0x1p-2, 0x1p+0])];
    tensor<fp32, [4]> b = const()[name = string("b"), val = tensor<fp32, [4]>([0x1p-2, 0x0p+0, -0x1p-2, 0x1p-1])];
    tensor<int32, [2]> x_shape = shape(x = x)[name = string("x_shape")];
    int32 rows = gather(x = x_shape, indices = zero, axis = zero)[name = string("rows")];
    int32 first = squeeze(x = past, axes = axes)[name = string("first")];
    int32 end = add(x = first, y = rows)[name = string("end")];
    tensor<fp32, [?, 4]> projected = linear(x = x, weight = w, bias = b)[name = string("projected")];
    tensor<fp32, [?, 4]> sharp = sigmoid(x = projected)[name = string("sharp")];
    tensor<fp16, [?, 4]> row = cast(x = sharp, dtype = half)[name = string("row")];
    tensor<int32, [2]> begin = concat(values = (first, zero), axis = zero, interleave = no)[name = string("begin")];
    tensor<int32, [2]> stop = concat(values = (end, four), axis = zero, interleave = no)[name = string("stop")];
    tensor<fp16, [16, 4]> before = read_state(input = cache)[name = string("before")];
    tensor<fp16, [16, 4]> after = slice_update(x = before, update = row, begin = begin, end = stop)[name = string("after")];
    write_state(input = cache, data = after)[name = string("write")];
    tensor<fp16, [16, 4]> now = read_state(input = cache)[name = string("now")];
    tensor<fp32, [16, 4]> wide = cast(x = now, dtype = full)[name = string("wide")];
    tensor<fp32, [1, 1, 16, 4]> keys = expand_dims(x = wide, axes = front)[name = string("keys")];
    tensor<fp32, [1, 1, ?, 4]> query = expand_dims(x = projected, axes = front)[name = string("query")];
    tensor<fp32, [1, 1, ?, 4]> seen = scaled_dot_product_attention(query = query, key = keys, value = keys, attn_mask = mask)[name = string("seen")];
    tensor<fp32, [?, 4]> flat = squeeze(x = seen, axes = front)[name = string("flat")];
    tensor<fp32, [?, 4]> y = linear(x = flat, weight = w, bias = b)[name = string("y")];
    tensor<int32, [1]> z = add(x = past, y = rows)[name = string("z")];
  } -> (y, z);)";

inline engine::ComputeOptions on(std::shared_ptr<engine::Device> device) {
  engine::ComputeOptions compute;
  compute.precision = engine::Precision::Exact;
  compute.device = std::move(device);
  return compute;
}

inline engine::PlanOptions tiny_options(const engine::ComputeOptions& compute, int64_t rows = 8) {
  engine::PlanOptions options;
  options.compute = compute;
  options.input_ranges["x"] = {{1, rows}, {4, 4}};
  options.input_ranges["mask"] = {{1, 1}, {1, 1}, {1, rows}, {16, 16}};
  return options;
}

using engine::fault;

// A sequence of rows of random numbers for kTinyDecoder in one lane of an execution.
class TinySequence {
 public:
  TinySequence(const mil::Model& model, const engine::ComputeOptions& compute, uint32_t seed)
      : state_(model.functions[0].states, compute), random_(seed) {}
  // Goes on as `other` would.
  TinySequence(engine::State state, const TinySequence& other)
      : state_(std::move(state)), random_(other.random_), past_(other.past_) {}

  void prepare(engine::Execution& execution, size_t lane, int64_t rows, bool writes_mask = false) {
    execution.bind({{rows, 4}, {1}, {1, 1, rows, 16}}, state_, lane);
    std::normal_distribution<float> normal;
    for (float& x : execution.float_input(0, lane)) x = normal(random_);
    execution.int_input(1, lane)[0] = static_cast<int32_t>(past_);
    if (writes_mask || !execution.put_causal_mask(2, past_, lane)) {
      const auto mask = execution.float_input(2, lane);
      for (size_t i = 0; i < mask.size(); ++i) {
        const auto row = static_cast<int64_t>(i) / 16, key = static_cast<int64_t>(i) % 16;
        mask[i] = key <= past_ + row ? 0 : -std::numeric_limits<float>::infinity();
      }
    }
    past_ += rows;
  }
  engine::State& state() { return state_; }
  void rewind(int64_t past) { past_ = past; }

 private:
  engine::State state_;
  std::mt19937 random_;
  int64_t past_ = 0;
};

inline std::vector<float> result_of(const engine::Execution& execution, size_t lane) {
  const auto y = execution.float_output(0, lane);
  std::vector<float> all(y.begin(), y.end());
  all.push_back(static_cast<float>(execution.int_output(1, lane)[0]));
  return all;
}

}  // namespace pippin::cuda
