#include "pippin/engine/packed_step.h"

#include <algorithm>

#include "pippin/base/checked.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

using kernels::PackedKernels;
using kernels::PackedMatrix;
using kernels::QuantizedRows;

constexpr int64_t kWorthSharing = int64_t{1} << 19;  // multiplications: about 25 us of one thread

// Runs body(n_begin, n_end, thread) over the columns of y.
template <typename Body>
void share_columns(const StepContext& context, int64_t n, int64_t work, const Body& body) {
  if (work < kWorthSharing) return body(0, n, 0);
  context.pool.run([&](int part, int parts) {
    const Range share = split_range(n, part, parts, kernels::kPackedGrain);
    if (share.begin < share.end) body(share.begin, share.end, part);
  });
}

// 8-bit activations; the codes meet them as they are.
class FastDotStep : public Step {
 public:
  FastDotStep(std::string name, std::shared_ptr<const PackedWeight> weight,
              const PackedKernels& kernels)
      : name_(std::move(name)), weight_(std::move(weight)), kernels_(kernels) {}

  std::string name() const override { return name_ + " (" + kernels_.name + ", fast)"; }
  int64_t weight_bytes() const override { return weight_->bytes; }
  int row_axis() const override { return 0; }
  int64_t scratch_bytes() const override { return scratch_bytes_of(views[0].shape[0].upper()); }
  int64_t scratch_bytes_of(int64_t m) const override {
    return (m > kOwnRows ? shared_bytes(m) : 0) + thread_bytes(std::min(m, kOwnRows));
  }

  void run(const StepContext& context) const noexcept override {
    const PackedMatrix& w = weight_->matrix;
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t m = y.shape[0];
    if (m == 0) return;
    kernels::PackedDotArgs args{};
    args.w = &w;
    args.bias = context.operands.size() > 2 ? context.operands[2].floats() : nullptr;
    args.y = y.floats();
    args.y_stride = y.strides[0];
    const int64_t work = m * w.n * w.k;
    if (m <= kOwnRows) {
      // Every thread rounds the few rows for itself, which is quicker than to meet once more.
      share_columns(context, w.n, work, [&](int64_t begin, int64_t end, int thread) {
        std::byte* memory = context.scratch + thread * thread_bytes(m);
        QuantizedRows rows = kernels::quantized_form(kernels_, w, m);
        kernels::place_quantized(rows, memory);
        kernels_.quantize(x.floats(), x.strides[0], 0, m, rows);
        run_dot(args, rows, begin, end, memory + shared_bytes(m));
      });
      return;
    }
    QuantizedRows rows = kernels::quantized_form(kernels_, w, m);
    kernels::place_quantized(rows, context.scratch);
    context.pool.run([&](int part, int parts) {
      const Range share = split_range(m, part, parts);
      kernels_.quantize(x.floats(), x.strides[0], share.begin, share.end, rows);
    });
    const int64_t shared = shared_bytes(m);
    share_columns(context, w.n, work, [&](int64_t begin, int64_t end, int thread) {
      std::byte* memory = context.scratch + shared + thread * thread_bytes(kOwnRows);
      run_dot(args, rows, begin, end, memory);
    });
  }

 private:
  static constexpr int64_t kOwnRows = 8;

  int64_t shared_bytes(int64_t m) const {
    return align_up<int64_t>(
        kernels::quantized_bytes(kernels::quantized_form(kernels_, weight_->matrix, m)), 64);
  }
  int64_t thread_bytes(int64_t m) const {
    // A form of fewer rows may have finer groups.
    int64_t rows = 0;
    for (int64_t i = 1; i <= m; ++i) rows = std::max(rows, shared_bytes(i));
    return rows + align_up<int64_t>(kernels::packed_scratch_bytes(weight_->matrix), 64);
  }
  void run_dot(kernels::PackedDotArgs args, const QuantizedRows& rows, int64_t begin, int64_t end,
               std::byte* scratch) const {
    args.x = &rows;
    args.n_begin = begin;
    args.n_end = end;
    args.scratch = scratch;
    kernels_.dot(args);
  }

  std::string name_;
  std::shared_ptr<const PackedWeight> weight_;
  const PackedKernels& kernels_;
};

// fp32 throughout: some rows of the weight at a time are expanded and multiplied while they are in
// the cache.
class ExactDotStep : public Step {
 public:
  ExactDotStep(std::string name, std::shared_ptr<const PackedWeight> weight,
               const PackedKernels& kernels, const CpuFeatures& cpu)
      : name_(std::move(name)),
        weight_(std::move(weight)),
        kernels_(kernels),
        dot_(kernels::choose_dot(kernels::WeightType::F32, cpu)) {
    constexpr int64_t kTileFloats = int64_t{1} << 16;  // 256 KB: half of a small L2
    tile_ =
        std::clamp<int64_t>(kTileFloats / std::max<int64_t>(1, weight_->matrix.k) / 4 * 4, 4, 64);
  }

  std::string name() const override { return name_ + " (" + kernels_.name + ", exact)"; }
  int64_t weight_bytes() const override { return weight_->bytes; }
  int row_axis() const override { return 0; }
  int64_t scratch_bytes() const override {
    return align_up<int64_t>(tile_ * weight_->matrix.k * static_cast<int64_t>(sizeof(float)), 64);
  }

  void run(const StepContext& context) const noexcept override {
    const PackedMatrix& w = weight_->matrix;
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const float* bias = context.operands.size() > 2 ? context.operands[2].floats() : nullptr;
    const int64_t m = y.shape[0];
    share_columns(context, w.n, m * w.n * w.k, [&](int64_t begin, int64_t end, int thread) {
      float* rows = reinterpret_cast<float*>(context.scratch + thread * scratch_bytes());
      for (int64_t n = begin; n < end; n += tile_) {
        const int64_t count = std::min(tile_, end - n);
        for (int64_t i = 0; i < count; ++i) kernels_.expand(w, n + i, 0, w.k, rows + i * w.k);
        dot_.function({x.floats(), x.strides[0], rows, w.k, bias != nullptr ? bias + n : nullptr,
                       y.floats() + n, y.strides[0], m, count, w.k});
      }
    });
  }

 private:
  std::string name_;
  std::shared_ptr<const PackedWeight> weight_;
  const PackedKernels& kernels_;
  const kernels::DotKernel& dot_;
  int64_t tile_;
};

class PackedGatherStep : public Step {
 public:
  PackedGatherStep(std::shared_ptr<const PackedWeight> weight, const PackedKernels& kernels)
      : weight_(std::move(weight)), kernels_(kernels) {}

  std::string name() const override {
    return "gather " + weight_->form + " (" + kernels_.name + ")";
  }

  void run(const StepContext& context) const noexcept override {
    const PackedMatrix& w = weight_->matrix;
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      int64_t index = indices.ints()[i * indices.strides[0]];
      if (index < 0) index += w.n;
      index = std::clamp<int64_t>(index, 0, w.n - 1);
      kernels_.expand(w, index, 0, w.k, y.floats() + i * y.strides[0]);
    }
  }

 private:
  std::shared_ptr<const PackedWeight> weight_;
  const PackedKernels& kernels_;
};

}  // namespace

std::unique_ptr<Step> make_packed_dot(std::string name, std::shared_ptr<const PackedWeight> weight,
                                      const CpuFeatures& cpu, Precision precision) {
  const PackedKernels& kernels = kernels::choose_packed(cpu);
  name += " " + weight->form;
  if (precision == Precision::Fast && kernels::can_dot(weight->matrix)) {
    return std::make_unique<FastDotStep>(std::move(name), std::move(weight), kernels);
  }
  return std::make_unique<ExactDotStep>(std::move(name), std::move(weight), kernels, cpu);
}

std::unique_ptr<Step> make_packed_gather(std::shared_ptr<const PackedWeight> weight,
                                         const CpuFeatures& cpu) {
  return std::make_unique<PackedGatherStep>(std::move(weight), kernels::choose_packed(cpu));
}

}  // namespace pippin::engine
