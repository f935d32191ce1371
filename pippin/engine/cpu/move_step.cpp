// Writing and picking elements by position.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class FillStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    const Operand& value = context.operands[1];
    const int64_t count = out.size();
    if (out.storage == Storage::Bool) {
      std::fill_n(out.bools(), count, value.bools()[0]);
    } else {
      std::fill_n(out.ints(), count, value.ints()[0]);  // 4 bytes of either type
    }
  }
};

class RangeStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override {
    const Operand& out = context.operands[0];
    for (int64_t i = 0; i < out.shape[0]; ++i) {
      if (out.storage == Storage::F32) {
        out.floats()[i] = context.operands[1].floats()[0] +
                          static_cast<float>(i) * context.operands[2].floats()[0];
      } else {
        out.ints()[i] =
            context.operands[1].ints()[0] + static_cast<int32_t>(i) * context.operands[2].ints()[0];
      }
    }
  }
};

class BandStep : public Step {
 public:
  explicit BandStep(const BandNode& band) : lower_(band.lower), upper_(band.upper) {}
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
    share_out(context, all, y.size() >= kWorthSharing, share);
  }

 private:
  int64_t lower_, upper_;  // negative: all
};

class ReverseSequenceStep : public Step {
 public:
  explicit ReverseSequenceStep(const std::string& where) : where_(where) {}
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
  const std::string& where_;
};

class PickStep : public Step {
 public:
  explicit PickStep(const PickNode& picks) : picks_(picks) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t outer = y.shape[0], count = y.shape[1], inner = y.shape[2], size = x.shape[1];
    const auto rows = [&](Range range) {
      for (int64_t row = range.begin; row < range.end;) {
        // One element each: the rest of a line at once.
        const int64_t o = row / count, i = row % count;
        const int64_t some = std::min(count - i, range.end - row);
        const float* from = x.floats() + o * size * inner;
        float* to = y.floats() + row * inner;
        if (inner == 1) {
          pick_elements(from, to, i, some);
        } else {
          for (int64_t k = 0; k < some; ++k) pick_row(from, to + k * inner, i + k, inner);
        }
        row += some;
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 15;
    share_out(context, outer * count, y.size() >= kWorthSharing, rows);
  }

 private:
  void pick_elements(const float* x, float* y, int64_t begin, int64_t count) const noexcept {
    const auto at = static_cast<size_t>(begin);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const float part = picks_.part.empty() ? 0 : picks_.part[at + i];
      // Copies the bits, of a float or an integer.
      std::memcpy(y + i, x + picks_.first[at + i], sizeof(float));
      if (part != 0) y[i] = y[i] * (1 - part) + x[picks_.second[at + i]] * part;
    }
  }
  void pick_row(const float* x, float* y, int64_t i, int64_t inner) const noexcept {
    const auto at = static_cast<size_t>(i);
    const float* a = x + picks_.first[at] * inner;
    const float part = picks_.part.empty() ? 0 : picks_.part[at];
    if (part == 0) {
      std::memcpy(y, a, static_cast<size_t>(inner) * sizeof(float));
      return;
    }
    const float* b = x + picks_.second[at] * inner;
    for (int64_t k = 0; k < inner; ++k) y[k] = a[k] * (1 - part) + b[k] * part;
  }

  const PickNode& picks_;
};

}  // namespace

StepPointer make_step_of(const BandNode& node, const StepSource&) {
  return std::make_unique<BandStep>(node);
}
StepPointer make_step_of(const FillNode&, const StepSource&) {
  return std::make_unique<FillStep>();
}
StepPointer make_step_of(const PickNode& node, const StepSource&) {
  return std::make_unique<PickStep>(node);
}
StepPointer make_step_of(const RangeNode&, const StepSource&) {
  return std::make_unique<RangeStep>();
}
StepPointer make_step_of(const ReverseSequenceNode& node, const StepSource&) {
  return std::make_unique<ReverseSequenceStep>(node.where);
}

}  // namespace pippin::engine
