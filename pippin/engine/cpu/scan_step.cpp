#include <algorithm>

#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class CumulativeSumStep : public Step {
 public:
  explicit CumulativeSumStep(const CumulativeSumNode& node) : node_(node) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const int64_t blocks = (y.shape[2] + kBlock - 1) / kBlock, jobs = y.shape[0] * blocks;
    const auto share = [&](Range range) {
      for (int64_t job = range.begin; job < range.end; ++job) {
        if (y.storage == Storage::F32) {
          // Over long lines, single precision would lose the last terms.
          sums<float, double>(context, job / blocks, job % blocks * kBlock);
        } else {
          sums<int32_t, uint32_t>(context, job / blocks, job % blocks * kBlock);
        }
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 15;
    share_out(context, jobs, y.size() >= kWorthSharing && jobs > 1, share);
  }

 private:
  static constexpr int64_t kBlock = 64;  // lines that are summed in parallel

  template <typename T, typename Sum>
  void sums(const StepContext& context, int64_t outer, int64_t first) const noexcept {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t size = y.shape[1], lines = std::min(kBlock, y.shape[2] - first);
    Sum sum[kBlock] = {};
    for (int64_t step = 0; step < size; ++step) {
      const int64_t i = node_.reverse ? size - 1 - step : step;
      const T* from = reinterpret_cast<const T*>(x.data) + outer * x.strides[0] + i * x.strides[1] +
                      first * x.strides[2];
      T* to = reinterpret_cast<T*>(y.data) + (outer * size + i) * y.shape[2] + first;
      for (int64_t line = 0; line < lines; ++line) {
        const Sum before = sum[line];
        sum[line] += static_cast<Sum>(from[line * x.strides[2]]);
        to[line] = static_cast<T>(node_.exclusive ? before : sum[line]);
      }
    }
  }

  const CumulativeSumNode& node_;
};

}  // namespace

StepPointer make_step_of(const CumulativeSumNode& node, const StepSource&) {
  return std::make_unique<CumulativeSumStep>(node);
}

}  // namespace pippin::engine
