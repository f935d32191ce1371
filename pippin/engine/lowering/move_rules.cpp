// Elements in another order or other company: reversed, in windows, without those off a band.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;

void reverse(Builder& builder, const mil::Operation& operation) {
  View x = builder.view(operation, "x");
  for (const int64_t axis : axes_param(builder, operation, x.rank())) {
    const auto i = static_cast<size_t>(axis);
    x.offset = x.offset + (x.shape[i] - Dim(1)) * x.strides[i];
    x.strides[i] = Dim(0) - x.strides[i];
  }
  builder.define_output(operation, x);
}

// Windows overlap: a copy, so that no two elements of a value share memory.
void sliding_windows(Builder& builder, const mil::Operation& operation) {
  View x = builder.view(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const auto i = static_cast<size_t>(axis);
  x.shape = builder.info(operation.output()).shape;
  const Dim apart = x.strides[i];
  x.strides[i] = apart * Dim(int_param(builder, operation, "stride"));
  x.strides.insert(x.strides.begin() + axis + 1, apart);
  const View y = builder.allocate(x.storage, x.shape);
  builder.emit_copy(y, x);
  builder.define_output(operation, y);
}

// views: y [matrices, rows, columns], x like it, both without gaps.
class BandStep : public Step {
 public:
  BandStep(int64_t lower, int64_t upper) : lower_(lower), upper_(upper) {}
  std::string name() const override { return "band_part"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t rows = y.shape[1], columns = y.shape[2], size = element_size(y.storage);
    const auto share = [&](Range range) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const int64_t row = i % rows;
        const int64_t begin = lower_ < 0 ? 0 : std::clamp<int64_t>(row - lower_, 0, columns);
        const int64_t end =
            upper_ < 0 ? columns
                       : std::clamp<int64_t>(std::min(upper_, columns) + row + 1, begin, columns);
        std::byte* to = y.data + i * columns * size;
        std::memset(to, 0, static_cast<size_t>(begin * size));
        std::memcpy(to + begin * size, x.data + (i * columns + begin) * size,
                    static_cast<size_t>((end - begin) * size));
        std::memset(to + end * size, 0, static_cast<size_t>((columns - end) * size));
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 16;
    const int64_t all = y.shape[0] * rows;
    if (columns == 0) return;
    if (y.size() < kWorthSharing) {
      share(Range{0, all});
    } else {
      context.pool.run([&](int part, int parts) { share(split_range(all, part, parts)); });
    }
  }

 private:
  int64_t lower_, upper_;  // negative: all
};

void band_part(Builder& builder, const mil::Operation& operation) {
  const Storage storage = run_storage(builder.info(operation.output()).type);
  const View x = builder.contiguous(builder.view_as(builder.view(operation, "x"), storage));
  const View y = builder.allocate(storage, x.shape);
  const auto matrices = [&](const View& view) {
    const int64_t axis = view.rank() - 2;
    return *reshape_view(
        view, {axes_product(view.shape, 0, axis), *(view.shape.end() - 2), view.shape.back()});
  };
  builder.emit_step<BandStep>({matrices(y), matrices(x)}, int_param(builder, operation, "lower"),
                              int_param(builder, operation, "upper"));
  builder.define_output(operation, y);
}

// views: y [batch, sequence, slice], x like it, both without gaps; lengths int32 [batch].
class ReverseSequenceStep : public Step {
 public:
  explicit ReverseSequenceStep(std::string where) : where_(std::move(where)) {}
  std::string name() const override { return "reverse_sequence"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& lengths = context.operands[2];
    const int64_t size = y.shape[1], bytes = y.shape[2] * element_size(y.storage);
    if (bytes == 0) return;
    for (int64_t b = 0; b < y.shape[0]; ++b) {
      const int64_t length = lengths.ints()[b * lengths.strides[0]];
      if (length < 0 || length > size) {
        return leave_errors(
            context, [&] { fail(ErrorCode::InvalidFile, "{}: a length is {}", where_, length); });
      }
      for (int64_t t = 0; t < size; ++t) {
        const int64_t from = t < length ? length - 1 - t : t;
        std::memcpy(y.data + (b * size + t) * bytes, x.data + (b * size + from) * bytes,
                    static_cast<size_t>(bytes));
      }
    }
  }

 private:
  std::string where_;
};

void reverse_sequence(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const int64_t sequence = normalize_axis(int_param(builder, operation, "seq_axis"), x.rank());
  const int64_t batch = normalize_axis(int_param(builder, operation, "batch_axis"), x.rank());
  std::vector<int64_t> perm = {batch, sequence};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != batch && i != sequence) perm.push_back(i);
  }
  const View from = builder.contiguous(transpose_view(x, perm));
  const View y = builder.allocate(x.storage, from.shape);
  const mil::Shape shape = {from.shape[0], from.shape[1], axes_product(from.shape, 2, x.rank())};
  builder.emit_step<ReverseSequenceStep>(
      {*reshape_view(y, shape), *reshape_view(from, shape), builder.ints(operation, "lengths")},
      builder.where(operation));
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

}  // namespace

void add_move_rules(Rules& rules) {
  rules["band_part"] = band_part;
  rules["reverse"] = reverse;
  rules["reverse_sequence"] = reverse_sequence;
  rules["sliding_windows"] = sliding_windows;
}

}  // namespace pippin::engine
