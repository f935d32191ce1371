#include "pippin/mx/ops/create.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Full final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "full"; }
  void eval(Node& out) const override {
    const Node& value = *out.inputs[0];
    out.allocate();
    const Strides strides = broadcast_strides(value.shape, value.strides, out.shape);
    mx::copy(out.shape, {value.data, value.dtype, &strides}, {out.data, out.dtype, &out.strides});
  }
  void record(Recorder& recorder, const Node& out) const override {
    recorder.define(out, recorder.broadcast(recorder.input(out, 0), recorder.shape(out)));
  }
};

class Arange final : public PrimitiveWith<Arange> {
 public:
  Arange(double start, double step) : start_(start), step_(step) {}
  std::string_view name() const noexcept override { return "arange"; }
  void eval(Node& out) const override {
    out.allocate();
    const bool is_whole = is_integer(out.dtype);
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    parallel(out.size, out.size, [&](int64_t begin, int64_t end) {
      double piece[256];
      int64_t whole[256];
      for (int64_t i = begin; i < end; i += 256) {
        const int64_t count = std::min<int64_t>(256, end - i);
        for (int64_t j = 0; j < count; ++j) {
          const auto place = static_cast<double>(i + j);
          if (is_whole) {
            whole[j] = static_cast<int64_t>(start_) + (i + j) * static_cast<int64_t>(step_);
          } else {
            piece[j] = start_ + place * step_;
          }
        }
        std::byte* to = out.data + i * item;
        if (is_whole) {
          convert(reinterpret_cast<std::byte*>(whole), int64, 1, to, out.dtype, 1, count);
        } else {
          convert(reinterpret_cast<std::byte*>(piece), float64, 1, to, out.dtype, 1, count);
        }
      }
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    // Recorded only if its number of elements, or the first, depends on chosen sizes.
    if (!recorder.always(out, [&](const Node& node) {
          const auto& arange = static_cast<const Arange&>(*node.primitive);
          return arange.step_ == step_ &&
                 (arange.start_ == start_ || arange.start_ == std::floor(arange.start_));
        })) {
      refuse_record(name(), "with steps or fractions that depend on sizes ");
    }
    Recorder::Value x = Recorder::count(recorder.shape(out)[0]);
    const bool is_whole = start_ == std::floor(start_);
    if (is_whole && step_ == std::floor(step_)) {
      const mil::Dim start = recorder.dim_of(out, *this, [](const Arange& arange, const Node&) {
        return static_cast<int64_t>(arange.start_);
      });
      if (step_ != 1) x = pippin::array::multiply(x, step_);
      if (!(start == mil::Dim(0))) x = pippin::array::add(x, Recorder::scalar(start));
      return recorder.define(out, x);
    }
    x = pippin::array::cast(x, mil::DataType::Float32);
    recorder.define(out, pippin::array::add(pippin::array::multiply(x, step_), start_));
  }
  auto members() const { return std::tie(start_, step_); }
  bool records_numbers() const override { return true; }

 private:
  double start_, step_;
};

// Whether a position [i, j] of the last two axes is at or below a diagonal.
array below(int64_t n, int64_t m, int k) {
  const array rows = expand_dims(arange(0, static_cast<double>(n), 1, int32), 1);
  const array columns =
      expand_dims(arange(-static_cast<double>(k), static_cast<double>(m) - k, 1, int32), 0);
  return greater_equal(rows, columns);
}

void check_matrix(const char* op, const array& x) {
  if (x.ndim() < 2) {
    fail(ErrorCode::InvalidArgument, "[{}] An array of at least 2 dimensions is needed, not {}.",
         op, to_string(x.shape()));
  }
}

// alpha + beta cos(2 pi i / (m - 1)) + gamma cos(4 pi i / (m - 1))
array cosine_window(int m, double alpha, double beta, double gamma) {
  if (m < 1) return zeros({0});
  if (m == 1) return ones({1});
  std::vector<double> values(static_cast<size_t>(m));
  for (int i = 0; i < m; ++i) {
    const double angle = 2 * std::numbers::pi * i / (m - 1);
    values[static_cast<size_t>(i)] = alpha + beta * std::cos(angle) + gamma * std::cos(2 * angle);
  }
  return array(values, Shape{m}, float32);
}

}  // namespace

array full(const Shape& shape, const array& value, Dtype dtype) {
  for (const int64_t size : shape) {
    if (size < 0) {
      fail(ErrorCode::InvalidArgument, "[full] {} is not a size, in the shape {}.", size,
           to_string(shape));
    }
  }
  if (!(broadcast_shapes("full", value.shape(), shape) == shape)) {
    fail(ErrorCode::InvalidArgument, "[full] A value of shape {} does not fill {}.",
         to_string(value.shape()), to_string(shape));
  }
  const array typed = astype(value, dtype);
  return make(shared_primitive<Full>(), dtype, shape, {&typed});
}
array full(const Shape& shape, const array& value) {
  return full(shape, value, value.dtype());
}
array full_like(const array& a, const array& value) {
  return full(a.shape(), value, a.dtype());
}
array full_like(const array& a, const array& value, Dtype dtype) {
  return full(a.shape(), value, dtype);
}
array zeros(const Shape& shape, Dtype dtype) {
  return full(shape, array(0, dtype));
}
array zeros_like(const array& a) {
  return zeros(a.shape(), a.dtype());
}
array ones(const Shape& shape, Dtype dtype) {
  return full(shape, array(1, dtype));
}
array ones_like(const array& a) {
  return ones(a.shape(), a.dtype());
}

array arange(double start, double stop, double step, Dtype dtype) {
  if (dtype == bool_ || dtype == complex64) {
    fail(ErrorCode::InvalidArgument, "[arange] {} is not supported.", to_string(dtype));
  }
  if (std::isnan(start) || std::isnan(stop) || std::isnan(step)) {
    fail(ErrorCode::InvalidArgument, "[arange] Cannot count from {} to {} by {}.", start, stop,
         step);
  }
  if (step == 0) fail(ErrorCode::InvalidArgument, "[arange] The step is 0.");
  if (std::isinf(start) || std::isinf(stop)) {
    fail(ErrorCode::InvalidArgument, "[arange] Cannot count from {} to {}.", start, stop);
  }
  // An infinite step is taken at most once.
  const bool is_once = std::isinf(step);
  const double count =
      is_once ? ((step > 0) == (start < stop) ? 1 : 0) : std::ceil((stop - start) / step);
  if (count > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::InvalidArgument, "[arange] {} numbers from {} to {} are too many.", count,
         start, stop);
  }
  const int64_t size = count > 0 ? static_cast<int64_t>(count) : 0;
  // Integer ranges use integer steps.
  const double by = is_once ? 0 : is_integer(dtype) ? std::trunc(step) : step;
  const double from = is_integer(dtype) ? std::trunc(start) : start;
  return make(new_primitive<Arange>(from, by), dtype, Shape{size}, {});
}
array arange(double start, double stop, double step) {
  return arange(start, stop, step, float32);
}
array arange(double start, double stop, Dtype dtype) {
  return arange(start, stop, 1, dtype);
}
array arange(double stop, Dtype dtype) {
  return arange(0, stop, 1, dtype);
}
array arange(double stop) {
  return arange(0, stop, 1, float32);
}
array arange(int start, int stop, int step) {
  return arange(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step),
                int32);
}
array arange(int stop) {
  return arange(0, stop, 1);
}

array linspace(double start, double stop, int num, Dtype dtype) {
  if (num < 0) {
    fail(ErrorCode::InvalidArgument, "[linspace] Cannot make {} numbers.", num);
  }
  if (num == 1) return astype(array({start}, float64), dtype);
  const array t = divide(arange(0, num, 1, float64), array(num > 1 ? num - 1.0 : 1.0, float64));
  const array from(start, float64), to(stop, float64);
  const array line = add(multiply(subtract(array(1.0, float64), t), from), multiply(t, to));
  return astype(line, dtype);
}

array eye(int n, int m, int k, Dtype dtype) {
  if (n < 0 || m < 0) {
    fail(ErrorCode::InvalidArgument, "[eye] invalid shape ({}, {}).", n, m);
  }
  const array rows = expand_dims(arange(0, n, 1, int32), 1);
  const array columns = expand_dims(arange(-k, m - k, 1, int32), 0);
  return astype(equal(rows, columns), dtype);
}
array eye(int n, Dtype dtype) {
  return eye(n, n, 0, dtype);
}
array identity(int n, Dtype dtype) {
  return eye(n, n, 0, dtype);
}
array tri(int n, int m, int k, Dtype dtype) {
  return astype(below(n, m, k), dtype);
}
array tril(const array& x, int k) {
  check_matrix("tril", x);
  return where(below(x.shape(-2), x.shape(-1), k), x, zeros({}, x.dtype()));
}
array triu(const array& x, int k) {
  check_matrix("triu", x);
  return where(below(x.shape(-2), x.shape(-1), k - 1), zeros({}, x.dtype()), x);
}

array hanning(int m) {
  return cosine_window(m, 0.5, -0.5, 0);
}
array hamming(int m) {
  return cosine_window(m, 0.54, -0.46, 0);
}
array blackman(int m) {
  return cosine_window(m, 0.42, -0.5, 0.08);
}
array bartlett(int m) {
  if (m < 1) return zeros({0});
  if (m == 1) return ones({1});
  std::vector<double> values(static_cast<size_t>(m));
  const double half = (m - 1) / 2.0;
  for (int i = 0; i < m; ++i) values[static_cast<size_t>(i)] = 1 - std::abs(i - half) / half;
  return array(values, Shape{m}, float32);
}

std::vector<array> meshgrid(const std::vector<array>& arrays, bool sparse,
                            const std::string& indexing) {
  if (indexing != "xy" && indexing != "ij") {
    fail(ErrorCode::InvalidArgument, "[meshgrid] Indexing is \"xy\" or \"ij\", not \"{}\".",
         indexing);
  }
  const size_t count = arrays.size();
  const bool is_turned = indexing == "xy" && count > 1;  // swaps the first two axes
  std::vector<array> result;
  Shape whole(count, 1);
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = is_turned && i < 2 ? 1 - i : i;
    Shape shape(count, 1);
    shape[axis] = whole[axis] = arrays[i].size();
    result.push_back(reshape(arrays[i], shape));
  }
  if (!sparse) {
    for (array& each : result) each = broadcast_to(each, whole);
  }
  return result;
}

}  // namespace pippin::mx
