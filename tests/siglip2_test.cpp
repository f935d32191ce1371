// SigLIP 2 for images of any size, computed a second time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/image/image_inputs.h"
#include "tests/vision_reference.h"

namespace pippin {
namespace {

using vision_reference::attended;
using vision_reference::linear;
using vision_reference::mapped;
using vision_reference::normed;
using vision_reference::sum;
using vision_reference::Table;
using vision_reference::TableSource;
using vision_reference::tanh_gelu;

constexpr int64_t kSiglipTable = 3, kSiglipPatches = 12, kSiglipNumbers = 12, kSiglipHeads = 2,
                  kSiglipSize = 4;
constexpr double kSiglipEpsilon = 1e-6;

// The weight of a place of `from` places for one of `to`: a triangle as wide as the step between
// places, but at least 1. Not normalized.
double triangle(int64_t place, int64_t from, int64_t target, int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double distance =
      static_cast<double>(place) + 0.5 - (static_cast<double>(target) + 0.5) * step;
  return std::max(0.0, 1 - std::abs(distance) / std::max(step, 1.0));
}

// The table of positions of a square, for a grid.
Table resized(const Table& table, int64_t rows, int64_t columns) {
  Table result(rows * columns, table.columns);
  for (int64_t place = 0; place < result.rows; ++place) {
    double total = 0;
    for (int64_t other = 0; other < table.rows; ++other) {
      const double weight = triangle(other / kSiglipTable, kSiglipTable, place / columns, rows) *
                            triangle(other % kSiglipTable, kSiglipTable, place % columns, columns);
      total += weight;
      for (int64_t k = 0; k < table.columns; ++k) {
        result.at(place, k) += weight * table.at(other, k);
      }
    }
    for (int64_t k = 0; k < table.columns; ++k) result.at(place, k) /= total;
  }
  return result;
}

// A third of the rows of a table.
Table third(const Table& table, int64_t index) {
  const int64_t rows = table.rows / 3;
  Table part(rows, table.columns);
  const auto first = table.values.begin() + index * rows * table.columns;
  std::copy(first, first + rows * table.columns, part.values.begin());
  return part;
}

Table product(const Table& x, const Table& weight, const Table& bias) {
  Table result(x.rows, weight.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t o = 0; o < weight.rows; ++o) {
      result.at(i, o) = bias.at(o, 0);
      for (int64_t k = 0; k < x.columns; ++k) result.at(i, o) += x.at(i, k) * weight.at(o, k);
    }
  }
  return result;
}

Table feed_forward(const TableSource& tensors, const std::string& name, const Table& x) {
  return linear(tensors, name + "fc2", mapped(linear(tensors, name + "fc1", x), tanh_gelu));
}

Table siglip2_pooled(const TableSource& tensors, const float* pixels, int64_t rows,
                     int64_t columns) {
  const std::string base = "vision_model.";
  Table patches(rows * columns, kSiglipNumbers);
  std::copy(pixels, pixels + patches.values.size(), patches.values.begin());
  Table x = linear(tensors, base + "embeddings.patch_embedding", patches);
  x = sum(std::move(x),
          resized(tensors.get(base + "embeddings.position_embedding.weight"), rows, columns));
  for (int64_t i = 0; i < 2; ++i) {
    const std::string layer = base + "encoder.layers." + std::to_string(i) + ".";
    const Table n = normed(tensors, layer + "layer_norm1", x, kSiglipEpsilon);
    const auto projected = [&](const char* name) {
      return linear(tensors, layer + "self_attn." + name, n);
    };
    const Table seen = attended(projected("q_proj"), projected("k_proj"), projected("v_proj"),
                                kSiglipHeads, kSiglipSize);
    x = sum(std::move(x), linear(tensors, layer + "self_attn.out_proj", seen));
    const Table m = normed(tensors, layer + "layer_norm2", x, kSiglipEpsilon);
    x = sum(std::move(x), feed_forward(tensors, layer + "mlp.", m));
  }
  x = normed(tensors, base + "post_layernorm", x, kSiglipEpsilon);
  const std::string head = base + "head.";
  const Table weight = tensors.get(head + "attention.in_proj_weight");
  const Table bias = tensors.get(head + "attention.in_proj_bias");
  Table probe(1, x.columns);
  probe.values = tensors.get(head + "probe").values;
  const Table seen =
      attended(product(probe, third(weight, 0), third(bias, 0)),
               product(x, third(weight, 1), third(bias, 1)),
               product(x, third(weight, 2), third(bias, 2)), kSiglipHeads, kSiglipSize);
  const Table y = linear(tensors, head + "attention.out_proj", seen);
  return sum(y, feed_forward(tensors, head + "mlp.",
                             normed(tensors, head + "layernorm", y, kSiglipEpsilon)));
}

// Grids that are smaller, larger and narrower than the table of positions, all but one with
// padding, which must not be seen.
TEST(Siglip2, FollowsItsDefinition) {
  const std::vector<std::pair<int64_t, int64_t>> grids = {{2, 2}, {3, 4}, {5, 2}, {1, 11}, {3, 3}};
  image::ImageInputs inputs = vision_reference::random_pixels(
      {static_cast<int64_t>(grids.size()), kSiglipPatches, kSiglipNumbers});
  image::IntArray& shapes = inputs.sizes["spatial_shapes"];
  shapes.shape = {static_cast<int64_t>(grids.size()), 2};
  for (const auto& [rows, columns] : grids) {
    shapes.values.push_back(rows);
    shapes.values.push_back(columns);
  }
  const TempDir folder;
  vision_reference::write_model(folder.path(),
                                R"({"model_type": "siglip2", "vision_config": {"hidden_size": 8,
        "intermediate_size": 12, "num_attention_heads": 2, "num_hidden_layers": 2,
        "num_patches": 9, "patch_size": 2, "vision_use_head": true}})",
                                inputs);
  const TableSource tensors(folder.path());
  std::vector<Table> expected;
  const float* pixels = inputs.pixel_values.values.data();
  for (const auto& [rows, columns] : grids) {
    expected.push_back(siglip2_pooled(tensors, pixels, rows, columns));
    pixels += kSiglipPatches * kSiglipNumbers;
  }
  vision_reference::expect_rows(folder.path(), inputs, expected);
}

}  // namespace
}  // namespace pippin
