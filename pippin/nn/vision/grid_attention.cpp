#include "pippin/nn/vision/grid_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

// A table of distances for `places` instead of `table`, by linear interpolation.
std::vector<double> resized_table(const std::vector<double>& rows, int64_t features, int64_t from,
                                  int64_t to) {
  if (from == to) return rows;
  std::vector<double> result;
  result.reserve(static_cast<size_t>(to * features));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double place = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0,
                                    static_cast<double>(from - 1));
    const auto below = static_cast<int64_t>(place);
    const int64_t above = std::min(below + 1, from - 1);
    const double share = place - static_cast<double>(below);
    for (int64_t k = 0; k < features; ++k) {
      const double a = rows[static_cast<size_t>(below * features + k)];
      const double b = rows[static_cast<size_t>(above * features + k)];
      result.push_back(a + (b - a) * share);
    }
  }
  return result;
}

int64_t rounded_up(int64_t size, int64_t window) {
  return (size + window - 1) / window * window;
}

}  // namespace

GridAttention::GridAttention(const Parameters& parameters, const GridAttentionOptions& options)
    : options_(options),
      parameters_(parameters),
      qkv_(parameters.at(options.qkv), options.features, 3 * options.features, options.bias),
      output_(parameters.at(options.output), options.features, options.features, /*bias=*/true) {}

Array GridAttention::operator()(const Array& x) const {
  const array::Scope scope(parameters_.path());
  const int64_t window = options_.window;
  if (window == 0) return output_(attend(x, options_.height, options_.width));
  return output_(out_of_windows(attend(in_windows(x), window, window), x.dim(0)));
}

Array GridAttention::in_windows(const Array& x) const {
  const array::Scope scope("windows");
  const int64_t window = options_.window, features = options_.features;
  const int64_t height = rounded_up(options_.height, window);
  const int64_t width = rounded_up(options_.width, window), batch = x.dim(0).constant();
  Array planes = array::reshape(x, {batch, options_.height, options_.width, features});
  if (width > options_.width) {
    const Array zeros =
        array::zeros(x.type(), {batch, options_.height, width - options_.width, features});
    planes = array::concat({planes, zeros}, 2);
  }
  if (height > options_.height) {
    const Array zeros = array::zeros(x.type(), {batch, height - options_.height, width, features});
    planes = array::concat({planes, zeros}, 1);
  }
  const Array blocks = array::reshape(
      planes, {batch * (height / window), window, width / window, window * features});
  return array::reshape(array::transpose(blocks, {0, 2, 1, 3}),
                        {batch * (height / window) * (width / window), window * window, features});
}

Array GridAttention::out_of_windows(const Array& x, const mil::Dim& batch) const {
  const array::Scope scope("windows");
  const int64_t window = options_.window, features = options_.features;
  const int64_t height = rounded_up(options_.height, window);
  const int64_t width = rounded_up(options_.width, window), count = batch.constant();
  const Array blocks =
      array::reshape(x, {count * (height / window), width / window, window, window * features});
  Array planes =
      array::reshape(array::transpose(blocks, {0, 2, 1, 3}), {count, height, width, features});
  if (height > options_.height) planes = array::slice_axis(planes, 1, 0, options_.height);
  if (width > options_.width) planes = array::slice_axis(planes, 2, 0, options_.width);
  return array::reshape(planes, {count, options_.height * options_.width, features});
}

Array GridAttention::vectors(const char* name, int64_t places, int64_t table) const {
  const int64_t features = options_.head_dim(), rows = 2 * table - 1;
  const std::vector<int64_t> dims = {1, places, places, features};
  return parameters_.made(fmt::format("{}.{}", name, places), dims, [&](const std::string& full) {
    const std::vector<double> all =
        resized_table(parameters_.values(name, {rows, features}), features, rows, 2 * places - 1);
    std::vector<double> result;
    result.reserve(static_cast<size_t>(places * places * features));
    for (int64_t query = 0; query < places; ++query) {
      for (int64_t key = 0; key < places; ++key) {
        const auto row = all.begin() + (query - key + places - 1) * features;
        result.insert(result.end(), row, row + features);
      }
    }
    return array::constant(parameters_.type(), dims, result, full);
  });
}

Array GridAttention::distance_terms(const Array& queries, int64_t height, int64_t width) const {
  const mil::Dim& batch = queries.dim(0);
  const auto terms = [&](const Array& x, const char* name, int64_t places, int64_t table) {
    return array::matmul(x, vectors(name, places, table), false, /*transpose_y=*/true);
  };
  const Array of_rows = terms(queries, "rel_pos_h", height, options_.table_height);
  const Array turned = array::transpose(queries, {0, 2, 1, 3});
  const Array of_columns = terms(turned, "rel_pos_w", width, options_.table_width);
  const Array all = array::concat({of_rows, array::transpose(of_columns, {0, 2, 1, 3})}, 3);
  return array::reshape(all, {batch, height * width, height + width});
}

Array GridAttention::attend(const Array& x, int64_t height, int64_t width) const {
  const int64_t features = options_.features, heads = options_.num_heads, dim = options_.head_dim();
  const int64_t count = height * width, batch = x.dim(0).constant();
  const Array all = qkv_(x);
  const auto part = [&](int64_t index) {
    const Array own = array::slice_axis(all, 2, index * features, (index + 1) * features);
    return array::transpose(array::reshape(own, {batch, count, heads, dim}), {0, 2, 1, 3});
  };
  Array queries = part(0), keys = part(1);
  const Array values = part(2);
  if (options_.table_height > 0) {
    const Array terms =
        distance_terms(array::reshape(queries, {batch * heads, height, width, dim}), height, width);
    // The op divides by the root of the longer queries' size.
    const auto size = static_cast<double>(dim + height + width);
    const Array own = queries * std::sqrt(size / static_cast<double>(dim));
    const Array added =
        array::reshape(terms * std::sqrt(size), {batch, heads, count, height + width});
    queries = array::concat({own, added}, 3);
    std::vector<double> places(static_cast<size_t>(count * (height + width)), 0.0);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i * (height + width);
      places[static_cast<size_t>(row + i / width)] = 1;
      places[static_cast<size_t>(row + height + i % width)] = 1;
    }
    const Array one = array::constant(x.type(), {1, 1, count, height + width}, places, "places");
    keys = array::concat({keys, array::tile(one, {batch, heads, 1, 1})}, 3);
  }
  const Array attended = array::scaled_dot_product_attention(queries, keys, values);
  return array::reshape(array::transpose(attended, {0, 2, 1, 3}), {batch, count, features});
}

}  // namespace pippin::nn
