// Sorting of rows, and one-hot rows.
#include <algorithm>

#include "pippin/base/numbers/checked.h"
#include "pippin/engine/cpu/sort_keys.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class SortStep : public Step {
 public:
  explicit SortStep(const SortNode& node) : node_(node) {}

  int64_t scratch_bytes() const override {
    const int64_t n = views.back().shape[1].upper(), k = views.front().shape[1].upper();
    return align_up<int64_t>(num_sort_keys(n, k) * static_cast<int64_t>(sizeof(uint64_t)), 64);
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands.back();
    const auto share = [&](Range rows, int part) {
      auto* keys = reinterpret_cast<uint64_t*>(context.scratch + part * scratch_bytes());
      for (int64_t row = rows.begin; row < rows.end; ++row) sort_row(context, row, keys);
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 14;  // elements
    if (x.size() < kWorthSharing || x.shape[0] == 1) {
      share(Range{0, x.shape[0]}, 0);
    } else {
      context.pool.run(
          [&](int part, int parts) { share(split_range(x.shape[0], part, parts), part); });
    }
  }

 private:
  void sort_row(const StepContext& context, int64_t row, uint64_t* keys) const noexcept {
    const Operand& indices = context.operands[0];
    const Operand& x = context.operands.back();
    const int64_t n = x.shape[1], k = indices.shape[1];
    const int32_t* from = x.ints() + row * x.strides[0];
    if (x.storage == Storage::F32) {
      smallest_keys(x.floats() + row * x.strides[0], n, k, node_.ascending, keys);
    } else {
      smallest_keys(from, n, k, node_.ascending, keys);
    }
    int32_t* places = indices.ints() + row * indices.strides[0];
    for (int64_t i = 0; i < k; ++i) places[i] = static_cast<int32_t>(place_of(keys[i]));
    if (num_written == 1) return;
    // As bits, whatever the element type.
    int32_t* values = context.operands[1].ints() + row * context.operands[1].strides[0];
    for (int64_t i = 0; i < k; ++i) values[i] = from[places[i]];
  }

  const SortNode& node_;
};

template <typename T>
class OneHotStep : public Step {
 public:
  OneHotStep(T on, T off) : on_(on), off_(off) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      T* row = reinterpret_cast<T*>(y.data) + i * y.strides[0];
      std::fill_n(row, y.shape[1], off_);
      const int32_t place = indices.ints()[i * indices.strides[0]];
      if (place >= 0 && place < y.shape[1]) row[place] = on_;
    }
  }

 private:
  T on_, off_;
};

}  // namespace

StepPointer make_step_of(const OneHotNode& node, const StepSource& source) {
  switch (source.node.views[0].storage) {
    case Storage::F32:
      return std::make_unique<OneHotStep<float>>(static_cast<float>(node.on),
                                                 static_cast<float>(node.off));
    case Storage::I32:
      return std::make_unique<OneHotStep<int32_t>>(static_cast<int32_t>(node.on),
                                                   static_cast<int32_t>(node.off));
    default:
      return std::make_unique<OneHotStep<uint8_t>>(node.on != 0, node.off != 0);
  }
}
StepPointer make_step_of(const SortNode& node, const StepSource&) {
  return std::make_unique<SortStep>(node);
}

}  // namespace pippin::engine
