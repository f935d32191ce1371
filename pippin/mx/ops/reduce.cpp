#include "pippin/mx/ops/reduce.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/nest.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/reduce_loops.h"
#include "pippin/mx/ops/axes.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/scan_sort.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// The axes of an input, separated into those kept and those reduced.
struct Axis {
  Shape shape;
  Strides strides;
};
struct Split {
  Axis kept, reduced;
  Split(const Node& x, const std::vector<int>& axes) {
    for (size_t i = 0; i < x.shape.size(); ++i) {
      const bool is_reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
      Axis& to = is_reduced ? reduced : kept;
      to.shape.push_back(x.shape[i]);
      to.strides.push_back(x.strides[i]);
    }
  }
};

// Loads runs of a node as numbers of a kind.
struct Reader {
  const Node& x;
  Kind kind;
  LoadFunction load = loader(x.dtype, kind);
  int64_t item = static_cast<int64_t>(size_of(x.dtype));

  const void* get(int64_t offset, int64_t step, int64_t count, std::byte* piece) const {
    const std::byte* from = x.data + offset * item;
    if (step == 1 && is_native(x.dtype, kind)) return from;
    load(from, step, piece, count);
    return piece;
  }
};

class Reduce final : public PrimitiveWith<Reduce> {
 public:
  Reduce(ReduceOp op, std::vector<int> axes) : op_(op), axes_(std::move(axes)) {}
  std::string_view name() const noexcept override { return to_string(op_); }

  void eval(Node& out) const override {
    const Node& x = *out.inputs[0];
    // Sums and products are computed in the result's type.
    const bool is_total = op_ == ReduceOp::Sum || op_ == ReduceOp::Prod;
    const Kind kind = kind_of(is_total ? out.dtype : x.dtype, to_string(op_).data());
    out.allocate();
    const Split split(x, axes_);
    const Strides places = row_major_strides(split.kept.shape);
    const Nest<2> kept(split.kept.shape, {&split.kept.strides, &places});
    const Nest<1> reduced(split.reduced.shape, {&split.reduced.strides});
    const Reader reader{x, kind};
    const ReduceFunctions& functions = reduce_functions(op_, kind);
    const StoreFunction store = storer(kind, out.dtype);
    const int64_t length = std::max<int64_t>(1, reduced.runs() * reduced.run());
    // Contiguous elements are processed together: along the reduced axes, or across them.
    const bool across =
        kept.steps()[0] == 1 && kept.run() > 1 && !(reduced.steps()[0] == 1 && reduced.run() > 1);
    const int64_t to_item = static_cast<int64_t>(size_of(out.dtype));
    kept.all(length, [&](const Nest<2>::Offsets& at, int64_t count) {
      alignas(64) std::byte piece[kPiece * 8], result[kPiece * 8];
      alignas(64) uint64_t totals[kPiece];
      for (int64_t i = 0; i < count; i += kPiece) {
        const int64_t n = std::min(kPiece, count - i);
        const int64_t from = at[0] + i * kept.steps()[0];
        for (int64_t j = 0; j < n; ++j) functions.begin(totals + j);
        if (across) {
          reduced.each(0, reduced.runs(), [&](const Nest<1>::Offsets& behind, int64_t rows) {
            for (int64_t row = 0; row < rows; ++row) {
              const int64_t offset = from + behind[0] + row * reduced.steps()[0];
              functions.each(reader.get(offset, 1, n, piece), n, totals);
            }
          });
        } else {
          for (int64_t j = 0; j < n; ++j) {
            const int64_t first = from + j * kept.steps()[0];
            reduced.each(0, reduced.runs(), [&](const Nest<1>::Offsets& behind, int64_t run) {
              reduce_run(reader, functions, first + behind[0], reduced.steps()[0], run, piece,
                         totals + j);
            });
          }
        }
        functions.end(totals, n, result);
        store(result, out.data + (at[1] + i) * to_item, 1, n);
      }
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    const std::vector<int64_t> axes(axes_.begin(), axes_.end());
    const auto reduced = [&](const char* op, const Recorder::Value& x) {
      return Recorder::one(op, {{"x", x}, {"axes", axes}, {"keep_dims", true}});
    };
    Recorder::Value x = recorder.input(out, 0);
    switch (op_) {
      case ReduceOp::All:
      case ReduceOp::Any: {
        if (x.type() != mil::DataType::Bool) {
          x = Recorder::one("not_equal", {{"x", x}, {"y", Recorder::number(x, 0)}});
        }
        const auto ones = pippin::array::cast(x, mil::DataType::Int32);
        const auto found = reduced(op_ == ReduceOp::All ? "reduce_min" : "reduce_max", ones);
        return recorder.define(out, found);
      }
      case ReduceOp::Sum:
      case ReduceOp::Prod:
        x = pippin::array::cast(x, mil_type(out.dtype));
        return recorder.define(out,
                               reduced(op_ == ReduceOp::Sum ? "reduce_sum" : "reduce_prod", x));
      case ReduceOp::Max:
        return recorder.define(out, reduced("reduce_max", x));
      default:
        return recorder.define(out, reduced("reduce_min", x));
    }
  }
  auto members() const { return std::tie(op_, axes_); }

 private:
  static void reduce_run(const Reader& reader, const ReduceFunctions& functions, int64_t offset,
                         int64_t step, int64_t count, std::byte* piece, void* total) {
    // Sums of pieces are added in double, so that the error stays that of a piece.
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      functions.run(reader.get(offset + i * step, step, n, piece), n, total);
    }
  }

  ReduceOp op_;
  std::vector<int> axes_;
};

array reduce(ReduceOp op, const array& a, const Axes& axes, bool keepdims, Dtype dtype) {
  const std::vector<int> normal = chosen_axes(to_string(op), axes, a);
  if (normal.empty()) return astype(a, dtype);
  if (op == ReduceOp::Max || op == ReduceOp::Min) {
    for (const int axis : normal) {
      if (a.shape(axis) == 0) {
        fail(ErrorCode::InvalidArgument, "[{}] Axis {} of {} has no elements.", to_string(op), axis,
             to_string(a.shape()));
      }
    }
  }
  return make(new_primitive<Reduce>(op, normal), dtype, reduced_shape(a.shape(), normal, keepdims),
              {&a});
}

Dtype total_type(Dtype dtype) {
  if (dtype == bool_) return int32;
  if (is_signed_integer(dtype)) return size_of(dtype) <= 4 ? int32 : int64;
  if (is_unsigned(dtype)) return size_of(dtype) <= 4 ? uint32 : uint64;
  return dtype;
}

int64_t reduced_count(const char* op, const array& a, const Axes& axes) {
  int64_t count = 1;
  for (const int axis : chosen_axes(op, axes, a)) count *= a.shape(axis);
  return count;
}

}  // namespace

array sum(const array& a, const Axes& axes, bool keepdims) {
  if (a.dtype() == complex64) {
    return make_complex(sum(real(a), axes, keepdims), sum(imag(a), axes, keepdims));
  }
  return reduce(ReduceOp::Sum, a, axes, keepdims, total_type(a.dtype()));
}
array prod(const array& a, const Axes& axes, bool keepdims) {
  if (a.dtype() == complex64) {
    const std::vector<int> normal = chosen_axes("prod", axes, a);
    array result = a;
    for (const int axis : normal) result = complex_prod(result, axis);
    return keepdims || normal.empty() ? result : squeeze(result, normal);
  }
  return reduce(ReduceOp::Prod, a, axes, keepdims, total_type(a.dtype()));
}
array max(const array& a, const Axes& axes, bool keepdims) {
  return reduce(ReduceOp::Max, a, axes, keepdims, a.dtype());
}
array min(const array& a, const Axes& axes, bool keepdims) {
  return reduce(ReduceOp::Min, a, axes, keepdims, a.dtype());
}
array all(const array& a, const Axes& axes, bool keepdims) {
  return reduce(ReduceOp::All, a, axes, keepdims, bool_);
}
array any(const array& a, const Axes& axes, bool keepdims) {
  return reduce(ReduceOp::Any, a, axes, keepdims, bool_);
}

array mean(const array& a, const Axes& axes, bool keepdims) {
  const Dtype dtype = at_least_float(a.dtype());
  const auto count = static_cast<double>(reduced_count("mean", a, axes));
  // Halves are summed and divided in float32: a sum may exceed their range.
  const Dtype computed = size_of(dtype) == 2 ? float32 : dtype;
  const array total = sum(astype(a, computed), axes, keepdims);
  return astype(divide(total, array(count, computed)), dtype);
}

array var(const array& a, const Axes& axes, bool keepdims, int ddof) {
  if (a.dtype() == complex64) {
    return add(var(real(a), axes, keepdims, ddof), var(imag(a), axes, keepdims, ddof));
  }
  const Dtype dtype = at_least_float(a.dtype());
  const Dtype computed = size_of(dtype) == 2 ? float32 : dtype;
  const array x = astype(a, computed);
  const array deviation = subtract(x, mean(x, axes, true));
  const auto count = static_cast<double>(reduced_count("var", a, axes));
  const array total = sum(square(deviation), axes, keepdims);
  const array divisor(std::max(count - ddof, 0.0), computed);
  return astype(divide(total, divisor), dtype);
}

array std(const array& a, const Axes& axes, bool keepdims, int ddof) {
  return sqrt(var(a, axes, keepdims, ddof));
}

array count_nonzero(const array& a, const Axes& axes, bool keepdims) {
  return sum(astype(not_equal(a, array(0, a.dtype())), int32), axes, keepdims);
}

array median(const array& a, const Axes& axes, bool keepdims) {
  const std::vector<int> normal = chosen_axes("median", axes, a);
  if (reduced_count("median", a, axes) == 0) {
    fail(ErrorCode::InvalidArgument, "[median] No elements in {}.", to_string(a.shape()));
  }
  const Dtype dtype = at_least_float(a.dtype());
  const array sorted = sort(to_last(astype(a, dtype), normal).x, -1);
  const int64_t count = sorted.shape(-1);
  const auto at = [&](int64_t place) {
    return slice_axis(sorted, static_cast<int>(sorted.ndim()) - 1, place, place + 1);
  };
  array middle = count % 2 == 1
                     ? at(count / 2)
                     : multiply(add(at(count / 2 - 1), at(count / 2)), array(0.5, dtype));
  // NaN sorts last; the median is then NaN.
  const array last = at(count - 1);
  middle = where(isnan(last), last, middle);
  return reshape(middle, reduced_shape(a.shape(), normal, keepdims));
}

}  // namespace pippin::mx
