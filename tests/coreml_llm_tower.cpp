// The vision tower of CoreML-LLM's bundle: that of Gemma 4 for the positions that it is given.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/package_part.h"
#include "tests/coreml_llm_bundle.h"
#include "tests/coreml_llm_weights.h"

namespace pippin::testing_models {
namespace {

using array::Array;

constexpr auto kFloat = mil::DataType::Float32;
constexpr int64_t kRows = 70, kPool = 3, kPatches = kRows * kPool * kPool;
constexpr int64_t kHead = kTowerWidth / kTowerHeads;

// (1, patches, count): 1 where the patch has that number.
Array one_hot(const Array& numbers, int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  const Array row = array::reshape(array::constant(std::span<const int64_t>(all)), {1, 1, count});
  return array::cast(array::equal(numbers, row), kFloat);
}

// The tower under construction.
struct Tower {
  BundleWeights weights;
  Array columns, rows;          // (1, patches, 1) int32: -1 for free places
  Array seen;                   // (1, 1, 1, patches): 0, and very little for these
  std::vector<Array> cos, sin;  // (1, 1, patches, half a head): of columns, of rows

  Tower(const std::filesystem::path& checkpoint, const Array& places);
  Array heads(const Array& x, const std::string& name) const;
  Array rotated(const Array& x) const;
  Array layer(const Array& x, int64_t index) const;
  Array pooled(const Array& x) const;
};

Tower::Tower(const std::filesystem::path& checkpoint, const Array& places)
    : weights(checkpoint, kVisionPrefix, kFloat),
      columns(array::slice_axis(places, 2, 0, 1)),
      rows(array::slice_axis(places, 2, 1, 2)),
      seen(columns) {
  const Array free = array::cast(array::less(columns, array::constant(int32_t{0})), kFloat);
  seen = array::reshape(free * -1e4, {1, 1, 1, kPatches});
  for (const Array& numbers : {columns, rows}) {
    // One frequency, of which both numbers of half a head turn by the same angle.
    const Array angles = array::reshape(array::cast(numbers, kFloat), {1, 1, kPatches, 1});
    cos.push_back(array::tile(array::cos(angles), {1, 1, 1, kHead / 2}));
    sin.push_back(array::tile(array::sin(angles), {1, 1, 1, kHead / 2}));
  }
}

Array Tower::heads(const Array& x, const std::string& name) const {
  const Array made = product(x, weights.get(name + ".linear.weight"));
  return array::transpose(array::reshape(made, {1, kPatches, kTowerHeads, kHead}), {0, 2, 1, 3});
}

Array Tower::rotated(const Array& x) const {
  return array::concat({turned(array::slice_axis(x, 3, 0, kHead / 2), cos[0], sin[0]),
                        turned(array::slice_axis(x, 3, kHead / 2, kHead), cos[1], sin[1])},
                       3);
}

Array Tower::layer(const Array& x, int64_t index) const {
  const std::string at = fmt::format("encoder.layers.{}.", index);
  const Array in = weights.normed(x, at + "input_layernorm");
  const std::string own = at + "self_attn.";
  const Array q = rotated(weights.normed(heads(in, own + "q_proj"), own + "q_norm"));
  const Array k = rotated(weights.normed(heads(in, own + "k_proj"), own + "k_norm"));
  const Array v = rms(heads(in, own + "v_proj"));
  const Array mixed = array::matmul(array::softmax(array::matmul(q, k, false, true) + seen), v);
  const Array joined =
      array::reshape(array::transpose(mixed, {0, 2, 1, 3}), {1, kPatches, kTowerHeads * kHead});
  const Array h = x + weights.normed(product(joined, weights.get(own + "o_proj.linear.weight")),
                                     at + "post_attention_layernorm");
  const Array m = weights.normed(h, at + "pre_feedforward_layernorm");
  const Array gate = array::gelu(product(m, weights.get(at + "mlp.gate_proj.linear.weight")),
                                 "TANH_APPROXIMATION");
  const Array inner = gate * product(m, weights.get(at + "mlp.up_proj.linear.weight"));
  return h + weights.normed(product(inner, weights.get(at + "mlp.down_proj.linear.weight")),
                            at + "post_feedforward_layernorm");
}

// (1, rows, features): means of squares of patches, then zeros.
Array Tower::pooled(const Array& x) const {
  const Array side = array::constant(int32_t{kPool});
  const Array width = array::floor_divide(
      array::reduce_max(columns, {1}, true) + array::constant(int32_t{1}), side);
  const Array square = array::floor_divide(columns, side) + width * array::floor_divide(rows, side);
  return array::matmul(one_hot(square, kRows), x, true, false) *
         (std::sqrt(static_cast<double>(kTowerWidth)) / (kPool * kPool));
}

}  // namespace

void write_bundle_tower(const std::filesystem::path& checkpoint,
                        const std::filesystem::path& path) {
  models::FunctionRecorder recorder("main", mil::Opset::CoreML8);
  const Array pixels = recorder.input("pixel_values", kFloat, {1, kPatches, kPatchNumbers});
  const Array places = recorder.input("pixel_position_ids", mil::DataType::Int32, {1, kPatches, 2});
  const Tower tower(checkpoint, places);
  Array x = product(pixels * 2.0 - 1.0, tower.weights.get("patch_embedder.input_proj.weight"));
  const Array tables = tower.weights.get("patch_embedder.position_embedding_table");
  for (const int64_t axis : {0, 1}) {
    const Array table =
        array::reshape(array::slice_axis(tables, 0, axis, axis + 1), {1, kPatchSide, kTowerWidth});
    x = x + array::matmul(one_hot(axis == 0 ? tower.columns : tower.rows, kPatchSide), table);
  }
  for (int64_t i = 0; i < kTowerLayers; ++i) x = tower.layer(x, i);
  const BundleWeights end(checkpoint, kProjectorPrefix, kFloat);
  const Array rows = product(rms(tower.pooled(x)), end.get("embedding_projection.weight"));
  recorder.output("image_features", array::cast(rows, mil::DataType::Float16));
  mil::Model model = models::empty_model({}, "vision", mil::Opset::CoreML8);
  recorder.add_to(model);
  model.functions.front().outputs.front().shape.clear();  // as coremltools writes it
  mil::write_package(model, path);
}

}  // namespace pippin::testing_models
