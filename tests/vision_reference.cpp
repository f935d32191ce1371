#include "tests/vision_reference.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "pippin/app/open/vision_model.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::vision_reference {

Table sum(Table a, const Table& b) {
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values.at(i);
  return a;
}

Table mapped(Table x, const std::function<double(double)>& function) {
  for (double& value : x.values) value = function(value);
  return x;
}

double exact_gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}
double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double silu(double x) {
  return x / (1 + std::exp(-x));
}

Table linear(const TableSource& tensors, const std::string& name, const Table& x) {
  const Table weight = tensors.get(name + ".weight");
  Table result(x.rows, weight.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t o = 0; o < weight.rows; ++o) {
      for (int64_t k = 0; k < x.columns; ++k) result.at(i, o) += x.at(i, k) * weight.at(o, k);
      if (tensors.has(name + ".bias")) result.at(i, o) += tensors.get(name + ".bias").at(o, 0);
    }
  }
  return result;
}

Table normed(const TableSource& tensors, const std::string& name, const Table& x, double epsilon) {
  const bool centered = tensors.has(name + ".bias");
  const Table weight = tensors.get(name + ".weight");
  Table result = x;
  for (int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, variance = 0;
    for (int64_t k = 0; centered && k < x.columns; ++k) mean += x.at(i, k) / x.columns;
    for (int64_t k = 0; k < x.columns; ++k) {
      variance += (x.at(i, k) - mean) * (x.at(i, k) - mean) / x.columns;
    }
    for (int64_t k = 0; k < x.columns; ++k) {
      result.at(i, k) = (x.at(i, k) - mean) / std::sqrt(variance + epsilon) * weight.at(k, 0);
      if (centered) result.at(i, k) += tensors.get(name + ".bias").at(k, 0);
    }
  }
  return result;
}

Table attended(const Table& queries, const Table& keys, const Table& values, int64_t heads,
               int64_t size) {
  const int64_t shared = heads / (keys.columns / size);
  Table result(queries.rows, heads * size);
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t own = head * size, other = head / shared * size;
    for (int64_t i = 0; i < queries.rows; ++i) {
      std::vector<double> scores(static_cast<size_t>(keys.rows));
      double total = 0;
      for (int64_t j = 0; j < keys.rows; ++j) {
        double score = 0;
        for (int64_t k = 0; k < size; ++k) score += queries.at(i, own + k) * keys.at(j, other + k);
        total += scores[static_cast<size_t>(j)] = std::exp(score / std::sqrt(double(size)));
      }
      for (int64_t j = 0; j < keys.rows; ++j) {
        for (int64_t k = 0; k < size; ++k) {
          result.at(i, own + k) += scores[static_cast<size_t>(j)] / total * values.at(j, other + k);
        }
      }
    }
  }
  return result;
}

Table patches_of(const float* pixels, int64_t height, int64_t width, int64_t rows, int64_t columns,
                 int64_t side) {
  Table result(rows * columns, 3 * side * side);
  for (int64_t place = 0; place < rows * columns; ++place) {
    for (int64_t k = 0; k < result.columns; ++k) {
      const int64_t channel = k / (side * side);
      const int64_t y = place / columns * side + k / side % side;
      const int64_t x = place % columns * side + k % side;
      result.at(place, k) = static_cast<double>(pixels[(channel * height + y) * width + x]);
    }
  }
  return result;
}

void write_model(const std::filesystem::path& folder, const std::string& config,
                 const image::ImageInputs& inputs) {
  models::write_random_model(folder, config, [&](const auto& path) {
    const models::VisionModel model(path);
    for (const auto& pass : model.passes(inputs).passes) model.build(pass.shape);
  });
  redraw(folder);
}

void redraw(const std::filesystem::path& folder) {
  const auto made = SafetensorsFile::open(folder / "model.safetensors");
  std::vector<SafetensorsWriter::Declaration> declarations;
  for (const TensorInfo& one : made->tensors()) {
    if (one.name != "unused") declarations.push_back({one.name, one.dtype, one.shape});
  }
  SafetensorsWriter writer(folder / "model.safetensors", declarations);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const auto& tensor : declarations) {
    int64_t count = 1;
    for (const int64_t dim : tensor.shape) count *= dim;
    const int64_t inputs_of_row = count / tensor.shape.at(0);
    const bool is_vector = inputs_of_row == 1;  // also factors of planes
    const float scale = is_vector ? 0.3F : 1 / std::sqrt(static_cast<float>(inputs_of_row));
    const float middle = is_vector && tensor.name.ends_with("weight") ? 1.0F : 0.0F;
    const bool is_variance = tensor.name.ends_with("running_var");
    for (int64_t i = 0; i < count; ++i) {
      const float drawn = scale * normal(random);
      const float value = is_variance ? 1 + std::abs(drawn) : middle + drawn;
      writer.append(std::as_bytes(std::span(&value, 1)));
    }
  }
  writer.finish();
}

image::ImageInputs random_pixels(std::vector<int64_t> shape) {
  image::ImageInputs inputs;
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  inputs.pixel_values = {std::move(shape), std::vector<float>(count)};
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (float& value : inputs.pixel_values.values) value = normal(random);
  return inputs;
}

void expect_rows(const std::filesystem::path& folder, const image::ImageInputs& inputs,
                 const std::vector<Table>& expected, double bound) {
  const auto runs = app::open_vision_tower(folder, std::make_shared<ThreadPool>(1))->encode(inputs);
  ASSERT_EQ(runs.size(), expected.size());
  for (size_t run = 0; run < runs.size(); ++run) {
    ASSERT_EQ(runs[run]->count, expected[run].rows);
    ASSERT_EQ(runs[run]->width, expected[run].columns);
    double largest = 0, worst = 0;
    for (size_t i = 0; i < expected[run].values.size(); ++i) {
      const double value = expected[run].values[i];
      largest = std::max(largest, std::abs(value));
      worst = std::max(worst, std::abs(double{runs[run]->values[i]} - value));
    }
    EXPECT_GT(largest, 0.1);
    EXPECT_LE(worst / largest, bound) << "run " << run;
  }
}

}  // namespace pippin::vision_reference
