// cumsum: sums along an axis.
#include <algorithm>

#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

// views: y [outer, size, inner] without gaps, x [outer, size, inner]; fp32 or int32, which wraps.
class CumulativeSumStep : public Step {
 public:
  CumulativeSumStep(bool exclusive, bool reverse) : exclusive_(exclusive), reverse_(reverse) {}
  std::string name() const override { return "cumsum"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const int64_t blocks = (y.shape[2] + kBlock - 1) / kBlock, jobs = y.shape[0] * blocks;
    const auto share = [&](Range range) {
      for (int64_t job = range.begin; job < range.end; ++job) {
        if (y.storage == Storage::F32) {
          // As long as the lines are, single precision would lose the ends of them.
          sums<float, double>(context, job / blocks, job % blocks * kBlock);
        } else {
          sums<int32_t, uint32_t>(context, job / blocks, job % blocks * kBlock);
        }
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 15;
    if (y.size() < kWorthSharing || jobs == 1) {
      share(Range{0, jobs});
    } else {
      context.pool.run([&](int part, int parts) { share(split_range(jobs, part, parts)); });
    }
  }

 private:
  static constexpr int64_t kBlock = 64;  // lines that are summed side by side

  template <typename T, typename Sum>
  void sums(const StepContext& context, int64_t outer, int64_t first) const noexcept {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t size = y.shape[1], lines = std::min(kBlock, y.shape[2] - first);
    Sum sum[kBlock] = {};
    for (int64_t step = 0; step < size; ++step) {
      const int64_t i = reverse_ ? size - 1 - step : step;
      const T* from = reinterpret_cast<const T*>(x.data) + outer * x.strides[0] + i * x.strides[1] +
                      first * x.strides[2];
      T* to = reinterpret_cast<T*>(y.data) + (outer * size + i) * y.shape[2] + first;
      for (int64_t line = 0; line < lines; ++line) {
        const Sum before = sum[line];
        sum[line] += static_cast<Sum>(from[line * x.strides[2]]);
        to[line] = static_cast<T>(exclusive_ ? before : sum[line]);
      }
    }
  }

  bool exclusive_, reverse_;
};

void cumsum(Builder& builder, const mil::Operation& operation) {
  need_whole_integers(builder, operation);
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const View lines = around_axis(builder, x, axis);
  const View y = builder.allocate(storage, output.shape);
  builder.emit_step<CumulativeSumStep>({*reshape_view(y, lines.shape), lines},
                                       bool_param(builder, operation, "exclusive"),
                                       bool_param(builder, operation, "reverse"));
  builder.define_output(operation, y);
}

}  // namespace

void add_scan_rules(Rules& rules) {
  rules["cumsum"] = cumsum;
}

}  // namespace pippin::engine
