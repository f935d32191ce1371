#include "pippin/nn/layers/rope.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/mil/derived_source.h"
#include "pippin/mil/elements.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {
namespace {

using array::Array;
using array::Index;
using Kind = RopeScaling::Kind;

// Hugging Face's _compute_llama3_parameters: wavelengths longer than the original context / low
// are stretched by `factor`, those shorter than original / high are kept.
double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const auto original = static_cast<double>(scaling.original_context);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength > original / scaling.low_frequency_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_frequency_factor) return frequency;
  const double smooth = (original / wavelength - scaling.low_frequency_factor) /
                        (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

// Hugging Face's _compute_yarn_parameters. A frequency that makes more than fast_turns turns within
// the original context is kept, one of fewer than slow_turns is divided by the factor.
std::vector<double> yarn_frequencies(const std::vector<double>& plain, const RopeOptions& options) {
  const RopeScaling& scaling = options.scaling;
  const auto dims = static_cast<double>(options.dims);
  const auto dim_of = [&](double turns) {
    const auto original = static_cast<double>(scaling.original_context);
    return dims * std::log(original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(options.theta));
  };
  double low = dim_of(scaling.fast_turns), high = dim_of(scaling.slow_turns);
  if (scaling.whole_dims) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;
  std::vector<double> result;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    result.push_back(plain[i] / scaling.factor * ramp + plain[i] * (1 - ramp));
  }
  return result;
}

std::vector<double> powers(int64_t dims, double theta) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < dims; i += 2) {
    frequencies.push_back(1.0 /
                          std::pow(theta, static_cast<double>(i) / static_cast<double>(dims)));
  }
  return frequencies;
}

// Cosines and sines of position * frequency, (positions, frequencies).
struct Turns {
  Turns(size_t first, size_t positions, const std::vector<double>& frequencies) {
    for (size_t position = first; position < first + positions; ++position) {
      for (const double frequency : frequencies) {
        cos.push_back(std::cos(static_cast<double>(position) * frequency));
        sin.push_back(std::sin(static_cast<double>(position) * frequency));
      }
    }
  }
  std::vector<double> cos, sin;
};

// The cosines or the sines of all positions, each row twice in sequence, computed while they are
// read: long contexts have millions. The rows of a block of positions are those of its first
// position, rotated by the rows of the first block.
class TurnTable final : public mil::DerivedSource {
 public:
  TurnTable(size_t rows, std::vector<double> frequencies, double scale, mil::DataType type,
            bool cosines)
      : rows_(rows),
        frequencies_(std::move(frequencies)),
        scale_(scale),
        type_(type),
        cosines_(cosines),
        row_bytes_(mil::packed_size(type, 2 * std::ssize(frequencies_))),
        inner_(0, std::min(kBlock, rows), frequencies_) {}

  uint64_t size() const override { return rows_ * row_bytes_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    std::vector<std::byte> row(row_bytes_);
    size_t r = offset / row_bytes_, inside = offset % row_bytes_, known_block = SIZE_MAX;
    for (std::optional<Turns> first; !out.empty(); ++r, inside = 0) {
      if (r / kBlock != std::exchange(known_block, r / kBlock)) {
        first.emplace(r / kBlock * kBlock, 1, frequencies_);
      }
      write_row(*first, r % kBlock, row);
      const size_t count = std::min(row.size() - inside, out.size());
      std::memcpy(out.data(), row.data() + inside, count);
      out = out.subspan(count);
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("turns").number(static_cast<int64_t>(rows_)).number(cosines_ ? 1 : 0);
    recipe.number(static_cast<int64_t>(type_)).number(std::bit_cast<int64_t>(scale_));
    for (const double frequency : frequencies_) recipe.number(std::bit_cast<int64_t>(frequency));
    return true;
  }

 private:
  static constexpr size_t kBlock = 256;

  void write_row(const Turns& first, size_t r, MutableByteSpan row) const {
    const size_t half = frequencies_.size();
    const double* const c = &inner_.cos[r * half];
    const double* const s = &inner_.sin[r * half];
    std::vector<double> values(half);
    for (size_t i = 0; i < half; ++i) {
      values[i] = scale_ * (cosines_ ? first.cos[i] * c[i] - first.sin[i] * s[i]
                                     : first.sin[i] * c[i] + first.cos[i] * s[i]);
    }
    mil::set_floats(type_, row, 0, values);
    mil::set_floats(type_, row, half, values);
  }

  const size_t rows_;
  const std::vector<double> frequencies_;
  const double scale_;
  const mil::DataType type_;
  const bool cosines_;
  const size_t row_bytes_;
  const Turns inner_;
};

Array table(int64_t context, const std::vector<double>& frequencies, double scale,
            mil::DataType type, bool cosines, const std::string& name) {
  const auto source =
      std::make_shared<TurnTable>(static_cast<size_t>(context), frequencies, scale, type, cosines);
  mil::Value value;
  value.type =
      mil::ValueType::tensor(type, {1, 1, context, 2 * static_cast<int64_t>(frequencies.size())});
  // Equal small tables become one constant; a large one is computed once for all plans, and kept in
  // the load cache.
  constexpr size_t kLarge = size_t{1} << 20;
  if (source->size() > kLarge) {
    value.source = source;
  } else {
    value.bytes.resize(source->size());
    source->read(0, value.bytes);
  }
  return array::constant(std::move(value), name);
}

}  // namespace

namespace {

std::vector<double> scaled_frequencies(const RopeOptions& options, int64_t length) {
  const RopeScaling& scaling = options.scaling;
  std::vector<double> frequencies = powers(options.dims, options.theta);
  switch (scaling.kind) {
    case Kind::Default:
      break;
    case Kind::Linear:
      for (double& frequency : frequencies) frequency /= scaling.factor;
      break;
    case Kind::Llama3:
      for (double& frequency : frequencies) frequency = llama3_frequency(frequency, scaling);
      break;
    case Kind::Yarn:
      return yarn_frequencies(frequencies, options);
    case Kind::Dynamic: {
      if (length <= scaling.original_context) break;
      const double ratio =
          static_cast<double>(length) / static_cast<double>(scaling.original_context);
      const auto dims = static_cast<double>(options.dims);
      return powers(options.dims,
                    options.theta *
                        std::pow(scaling.factor * ratio - (scaling.factor - 1), dims / (dims - 2)));
    }
    case Kind::Proportional:
      for (size_t i = 0; i < frequencies.size(); ++i) {
        frequencies[i] =
            static_cast<int64_t>(i) < scaling.turned ? frequencies[i] / scaling.factor : 0;
      }
      break;
    case Kind::LongRope: {
      const auto& divisors =
          length > scaling.original_context ? scaling.long_factors : scaling.short_factors;
      for (size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= divisors.at(i);
      break;
    }
  }
  return frequencies;
}

}  // namespace

std::vector<double> rope_frequencies(const RopeOptions& options, int64_t length) {
  std::vector<double> frequencies = scaled_frequencies(options, length);
  if (options.reversed) {
    for (double& frequency : frequencies) frequency = -frequency;
  }
  return frequencies;
}

std::vector<int> rope_coordinates(const RopeOptions& options) {
  const auto count = static_cast<size_t>(options.dims / 2);
  std::vector<int> result(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<int64_t>(i);
    const auto coordinate = static_cast<size_t>(index % 3);
    if (options.interleaved) {
      const bool follows = coordinate > 0 && index < 3 * options.sections[coordinate];
      result[i] = follows ? static_cast<int>(coordinate) : 0;
    } else if (index >= options.sections[0]) {
      result[i] = index < options.sections[0] + options.sections[1] ? 1 : 2;
    }
  }
  return result;
}

std::vector<int64_t> deinterleaved(int64_t head_dim, int64_t dims) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < dims; i += 2) order.push_back(i);
  for (int64_t i = 1; i < dims; i += 2) order.push_back(i);
  for (int64_t i = dims; i < head_dim; ++i) order.push_back(i);
  return order;
}

Array rotate(const Array& x, const Rotation& rotation, int64_t axis) {
  const int64_t head_dim = x.dim(axis).constant(), dims = rotation.cos.dim(axis).constant();
  const bool partial = head_dim != dims;
  const Array turned = partial ? array::slice_axis(x, axis, 0, dims) : x;
  const Array low = array::slice_axis(turned, axis, 0, dims / 2);
  const Array high = array::slice_axis(turned, axis, dims / 2, dims);
  const Array rotated = array::concat({high * -1.0, low}, axis);
  const Array along = turned * rotation.cos;
  Array result = along + rotated * rotation.sin;
  if (!partial) return result;
  return array::concat({result, array::slice_axis(x, axis, dims, head_dim)}, axis);
}

Rope::Rope(int64_t context, const RopeOptions& options, mil::DataType type)
    : context_(context), options_(options), type_(type) {
  const RopeScaling& scaling = options.scaling;
  const bool crosses = context > scaling.original_context;
  if (scaling.kind == Kind::Dynamic && crosses) {
    // A row for the lengths up to the original context, and one for each above it.
    std::vector<double> rows;
    for (int64_t length = scaling.original_context; length <= context; ++length) {
      const auto row = rope_frequencies(options, length);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    frequencies_ = array::constant(mil::DataType::Float32,
                                   {context - scaling.original_context + 1, options.dims / 2}, rows,
                                   "rope_frequencies");
    return;
  }
  tables_ = tables(1, "rope");
  if (scaling.kind == Kind::LongRope && crosses) long_tables_ = tables(context, "rope_long");
}

Rope::Tables Rope::tables(int64_t length, const char* prefix) const {
  const auto frequencies = rope_frequencies(options_, length);
  const RopeScaling& scaling = options_.scaling;
  const bool is_long = scaling.kind == Kind::LongRope && length > scaling.original_context;
  const double scale = is_long ? scaling.long_attention_factor.value_or(scaling.attention_factor)
                               : scaling.attention_factor;
  const std::string name = prefix;
  return {table(context_, frequencies, scale, type_, true, name + "_cos"),
          table(context_, frequencies, scale, type_, false, name + "_sin")};
}

Rotation Rope::rows(const mil::Dim& past, const mil::Dim& end) const {
  const array::Scope scope("rope");
  if (frequencies_) return computed(past, end);
  Rotation rotation{array::named(array::slice_axis(tables_->cos, 2, past, end), "cos_rows"),
                    array::named(array::slice_axis(tables_->sin, 2, past, end), "sin_rows")};
  if (!long_tables_) return rotation;
  const Array is_long =
      array::greater(array::Builder::current().dim_array(end),
                     array::constant(static_cast<int32_t>(options_.scaling.original_context)));
  const Array cos = array::slice_axis(long_tables_->cos, 2, past, end);
  const Array sin = array::slice_axis(long_tables_->sin, 2, past, end);
  return {array::named(array::select(is_long, cos, rotation.cos), "cos_of_length"),
          array::named(array::select(is_long, sin, rotation.sin), "sin_of_length")};
}

Rotation Rope::at(const Array& positions, const Array& length) const {
  const array::Scope scope("rope");
  const auto original = array::constant(static_cast<int32_t>(options_.scaling.original_context));
  if (frequencies_) {
    const Array most = array::constant(static_cast<int32_t>(context_));
    const Array row = array::maximum(array::minimum(length, most), original) - original;
    // Not a gather of rows of a matrix: compression would take that for an embedding.
    const Array frequencies = with_dims(*frequencies_, "rope_frequencies",
                                        {1, frequencies_->dim(0).constant(), options_.dims / 2});
    return turned(positions, array::gather(frequencies, row, 1));
  }
  const Array cos = array::named(array::gather(tables_->cos, positions, 2), "cos_rows");
  const Array sin = array::named(array::gather(tables_->sin, positions, 2), "sin_rows");
  if (!long_tables_) return {cos, sin};
  const Array is_long = array::greater(length, original);
  const Array long_cos = array::gather(long_tables_->cos, positions, 2);
  const Array long_sin = array::gather(long_tables_->sin, positions, 2);
  return {array::named(array::select(is_long, long_cos, cos), "cos_of_length"),
          array::named(array::select(is_long, long_sin, sin), "sin_of_length")};
}

Rotation Rope::at_coordinates(const Array& positions, const Array& length) const {
  const auto of = [&](int64_t coordinate) {
    return at(array::slice(positions, {Index::at(coordinate)}), length);
  };
  Rotation result = of(0);
  if (!options_.has_sections()) return result;
  const array::Scope scope("rope");
  const std::vector<int> coordinates = rope_coordinates(options_);
  for (const int coordinate : {1, 2}) {
    std::vector<double> follows;
    follows.reserve(coordinates.size() * 2);
    for (const int half : {0, 1}) {
      static_cast<void>(half);
      for (const int own : coordinates) follows.push_back(own == coordinate ? 1 : 0);
    }
    const Array weights =
        array::constant(mil::DataType::Float32, {1, 1, 1, std::ssize(follows)}, follows);
    const Array chosen = array::greater(weights, array::constant(mil::DataType::Float32, 0.5));
    const Rotation own = of(coordinate);
    result = {array::select(chosen, own.cos, result.cos),
              array::select(chosen, own.sin, result.sin)};
  }
  return result;
}

Rotation Rope::computed(const mil::Dim& past, const mil::Dim& end) const {
  const mil::Dim original = options_.scaling.original_context;
  const mil::Dim row = maximum(end, original) - original;
  const Array frequencies = array::slice(*frequencies_, {Index::at(row)});
  array::Builder& builder = array::Builder::current();
  const Array begin = builder.dim_array(past), stop = builder.dim_array(end);
  return turned(array::range(begin, stop), frequencies);
}

Rotation Rope::turned(const Array& positions, const Array& frequencies) const {
  const Array numbers = array::cast(positions, mil::DataType::Float32);
  const Array half = array::expand_dims(numbers, {0, 1, 3}) * frequencies;
  const Array angles = array::concat({half, half}, -1);
  const Array cos = array::cast(array::cos(angles), type_);
  const Array sin = array::cast(array::sin(angles), type_);
  return {array::named(cos, "cos_rows"), array::named(sin, "sin_rows")};
}

}  // namespace pippin::nn
