#include "pippin/mx/loops/product.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/cpu/computed_dot.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/loops/vector_product.h"

namespace pippin::mx {
namespace {

const engine::ComputedDot& dot_for(Dtype dtype) {
  using engine::ComputedDot;
  using engine::Storage;
  constexpr int64_t kManyRows = 48;
  static const ComputedDot floats(Storage::F32, cpu_features(), kManyRows);
  static const ComputedDot halves(Storage::F16, cpu_features(), ComputedDot::kNever);
  static const ComputedDot bfloats(Storage::BF16, cpu_features(), ComputedDot::kNever);
  return dtype == float16 ? halves : dtype == bfloat16 ? bfloats : floats;
}

// Calls body(begin, end) for all of [0, count), on all threads or on this one.
template <typename Body>
void in_parts(bool is_shared, int64_t count, int64_t work, const Body& body) {
  if (is_shared) return parallel(count, work, body);
  if (count > 0) body(int64_t{0}, count);
}

class Multiplier {
 public:
  explicit Multiplier(const ProductArgs& args)
      : args_(args),
        dot_(dot_for(args.dtype)),
        item_(static_cast<int64_t>(size_of(args.dtype))),
        is_one_row_(args.m == 1 && args.b_row != 1 && args.b_column == 1),
        reads_a_(args.dtype == float32 && (args.a_column == 1 || args.k == 1)),
        reads_b_(args.b_row == 1 || args.k == 1 || is_one_row_),
        writes_y_(args.dtype == float32) {
    if (!reads_a_) a_ = Buffer::allocate(static_cast<size_t>(args.m * args.k) * sizeof(float));
    if (!reads_b_) b_ = Buffer::allocate(static_cast<size_t>(args.n * args.k * item_));
    if (!writes_y_) y_ = Buffer::allocate(static_cast<size_t>(args.m * args.n) * sizeof(float));
  }

  // `is_shared`: uses all threads; otherwise only the calling one.
  void run(const ProductOffsets& at, std::byte* out, bool is_shared) {
    const float* x = rows_of_a(at[0], is_shared);
    const int64_t x_stride = reads_a_ ? args_.a_row : args_.k;
    const std::byte* w = args_.b + at[1] * item_;
    int64_t w_stride = args_.b_column;
    if (!reads_b_) {
      turn_b(at[1], is_shared);
      w = b_->data();
      w_stride = args_.k;
    }
    float* y = writes_y_ ? reinterpret_cast<float*>(out) : reinterpret_cast<float*>(y_->data());
    if (is_one_row_) {
      in_parts(is_shared, args_.n, args_.n * args_.k, [&](int64_t begin, int64_t end) {
        multiply_vector({x, w + begin * item_, args_.dtype, args_.b_row, args_.k, end - begin,
                         args_.bias == nullptr ? nullptr : args_.bias + begin, y + begin});
      });
    } else {
      const kernels::DotArgs dot{x, x_stride, w,       w_stride, args_.bias,
                                 y, args_.n,  args_.m, args_.n,  args_.k};
      const int64_t floats = dot_.scratch_floats(args_.m, args_.n, args_.k);
      if (floats > 0 && !scratch_) {
        const int64_t count = is_shared ? floats * pool().num_threads() : floats;
        scratch_ = Buffer::allocate(static_cast<size_t>(count) * sizeof(float));
      }
      auto* scratch = scratch_ ? reinterpret_cast<float*>(scratch_->data()) : nullptr;
      if (is_shared) {
        dot_.run(pool(), dot, scratch, floats);
      } else {
        dot_.run(dot, scratch);
      }
    }
    if (writes_y_) return;
    const int64_t count = args_.m * args_.n;
    in_parts(is_shared, count, count, [&](int64_t begin, int64_t end) {
      convert(reinterpret_cast<const std::byte*>(y + begin), float32, 1, out + begin * item_,
              args_.dtype, 1, end - begin);
    });
  }

 private:
  const float* rows_of_a(int64_t offset, bool is_shared) {
    const std::byte* from = args_.a + offset * item_;
    if (reads_a_) return reinterpret_cast<const float*>(from);
    auto* rows = reinterpret_cast<float*>(a_->data());
    in_parts(is_shared, args_.m, args_.m * args_.k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        convert(from + i * args_.a_row * item_, args_.dtype, args_.a_column,
                reinterpret_cast<std::byte*>(rows + i * args_.k), float32, 1, args_.k);
      }
    });
    return rows;
  }

  // Transposes b to (n, k), row-major. Once for consecutive products with the same b.
  void turn_b(int64_t offset, bool is_shared) {
    if (turned_ == offset) return;
    turned_ = offset;
    const Strides to{args_.k, 1}, from{args_.b_column, args_.b_row};
    in_parts(is_shared, args_.n, args_.n * args_.k, [&](int64_t begin, int64_t end) {
      std::byte* source =
          const_cast<std::byte*>(args_.b) + (offset + begin * args_.b_column) * item_;
      copy({end - begin, args_.k}, {source, args_.dtype, &from},
           {b_->data() + begin * args_.k * item_, args_.dtype, &to});
    });
  }

  const ProductArgs& args_;
  const engine::ComputedDot& dot_;
  int64_t item_;
  bool is_one_row_, reads_a_, reads_b_, writes_y_;
  Ref<Buffer> a_, b_, y_, scratch_;
  int64_t turned_ = -1;
};

void multiply_doubles(const ProductArgs& args, const ProductOffsets& at, std::byte* out) {
  const auto* a = reinterpret_cast<const double*>(args.a) + at[0];
  const auto* b = reinterpret_cast<const double*>(args.b) + at[1];
  auto* y = reinterpret_cast<double*>(out);
  for (int64_t i = 0; i < args.m; ++i) {
    double* row = y + i * args.n;
    for (int64_t j = 0; j < args.n; ++j) row[j] = args.bias == nullptr ? 0 : args.bias[j];
    for (int64_t k = 0; k < args.k; ++k) {
      const double value = a[i * args.a_row + k * args.a_column];
      const double* from = b + k * args.b_row;
      for (int64_t j = 0; j < args.n; ++j) row[j] += value * from[j * args.b_column];
    }
  }
}

}  // namespace

void multiply_matrices(const ProductArgs& args, std::span<const ProductOffsets> offsets) {
  const auto count = static_cast<int64_t>(offsets.size());
  const int64_t bytes = args.m * args.n * static_cast<int64_t>(size_of(args.dtype));
  if (bytes == 0 || count == 0) return;
  if (args.dtype == float64) {
    return parallel(count, count * args.m * args.n * args.k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        multiply_doubles(args, offsets[static_cast<size_t>(i)], args.out + i * bytes);
      }
    });
  }
  // The number of multiplications from which all threads are used.
  constexpr int64_t kWorthSharing = int64_t{1} << 19;
  const int64_t work = args.m * args.n * args.k;
  const bool is_shared = work >= kWorthSharing && (count == 1 || work >= 8 * kWorthSharing);
  const auto run = [&](int64_t begin, int64_t end) {
    Multiplier multiplier(args);
    for (int64_t i = begin; i < end; ++i) {
      multiplier.run(offsets[static_cast<size_t>(i)], args.out + i * bytes, is_shared);
    }
  };
  if (is_shared || count * work < kWorthSharing) return run(0, count);
  parallel(count, std::max(count * work, kParallelWork), run);
}

}  // namespace pippin::mx
