#include "pippin/engine/weights/quantized_weight.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "pippin/base/checked.h"
#include "pippin/base/float_convert.h"
#include "pippin/base/thread_pool.h"
#include "pippin/engine/weights/block_rows.h"
#include "pippin/engine/weights/weight_step.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

using kernels::QuantizedDotKernels;
using kernels::QuantizedMatrix;
using kernels::QuantizedRows;

using Weights = std::vector<std::shared_ptr<const QuantizedWeight>>;

WeightStep::Product product_of(const QuantizedWeight& weight, bool bias) {
  return {weight.matrix.n, /*weight_view=*/false, bias};
}

int64_t bytes_of(const Weights& weights) {
  int64_t bytes = 0;
  for (const auto& weight : weights) bytes += weight->bytes;
  return bytes;
}

void move_weights(Weights& from, Weights& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

// 8-bit activations; the codes meet them as they are.
class FastDotStep : public WeightStep {
 public:
  FastDotStep(const CpuFeatures& cpu, std::string name,
              std::shared_ptr<const QuantizedWeight> weight, bool bias)
      : WeightStep(cpu, std::move(name), product_of(*weight, bias), kernels::kQuantizedDotGrain),
        weights_{std::move(weight)},
        rows_(cpu),
        kernels_(rows_.kernels()) {}

  int64_t weight_bytes() const override { return bytes_of(weights_); }
  int64_t scratch_bytes() const override { return scratch_bytes_of(x().shape[0].upper()); }
  int64_t scratch_bytes_of(int64_t m) const override {
    return (m > kOwnRows ? shared_bytes(m) : 0) + thread_bytes(std::min(m, kOwnRows));
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const int64_t m = x.shape[0];
    if (m == 0) return;
    QuantizedRows all{};
    if (m > kOwnRows) {
      all = kernels::quantized_form(kernels_, weights_[0]->matrix, m);
      kernels::place_quantized(all, context.scratch);
      context.pool.run([&](int part, int parts) {
        const Range share = split_range(m, part, parts);
        kernels_.quantize(x.floats(), x.strides[0], share.begin, share.end, all);
      });
    }
    const int64_t shared = m > kOwnRows ? shared_bytes(m) : 0;
    const int64_t own = thread_bytes(std::min(m, kOwnRows));
    const int64_t own_rows = own - kernel_bytes() - unpacked_bytes();
    share_columns(context, [&](int thread) {
      std::byte* memory = context.scratch + shared + thread * own;
      QuantizedRows rows = all;
      if (m <= kOwnRows) {
        // Every thread rounds the few rows for itself, which is quicker than to meet once more.
        rows = kernels::quantized_form(kernels_, weights_[0]->matrix, m);
        kernels::place_quantized(rows, memory);
        kernels_.quantize(x.floats(), x.strides[0], 0, m, rows);
      }
      return [&, rows, memory](Range columns) {
        for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          const QuantizedWeight& weight = *weights_[operands.product];
          rows_.dot(weight,
                    {&weight.matrix, &rows, operands.bias, operands.y.floats(),
                     operands.y.strides[0], begin, end, memory + own_rows},
                    memory + own_rows + kernel_bytes());
        });
      };
    });
  }

 protected:
  std::string kernel_name() const override { return std::string(kernels_.name) + ", fast"; }
  std::unique_ptr<WeightStep> clone() const override {
    return std::make_unique<FastDotStep>(*this);
  }
  // The same rounded activations serve all.
  bool computes_like(const WeightStep& other) const override {
    const auto* step = dynamic_cast<const FastDotStep*>(&other);
    if (step == nullptr || &step->kernels_ != &kernels_) return false;
    const auto same = [&](int64_t m) {
      return kernels::same_form(kernels::quantized_form(kernels_, weights_[0]->matrix, m),
                                kernels::quantized_form(kernels_, step->weights_[0]->matrix, m));
    };
    return same(1) && same(kernels_.few_rows + 1) && same(kernels_.few_palette_rows + 1);
  }
  void take_weights(WeightStep& other) override {
    move_weights(static_cast<FastDotStep&>(other).weights_, weights_);
  }

 private:
  static constexpr int64_t kOwnRows = 8;

  // Of up to m rounded rows; the form of a few may take more than that of many.
  int64_t shared_bytes(int64_t m) const {
    int64_t bytes = 0;
    for (const int64_t rows :
         {m, std::min(m, kernels_.few_rows), std::min(m, kernels_.few_palette_rows)}) {
      bytes = std::max(bytes, kernels::quantized_bytes(
                                  kernels::quantized_form(kernels_, weights_[0]->matrix, rows)));
    }
    return align_up<int64_t>(bytes, 64);
  }
  static int64_t kernel_bytes() {
    return align_up<int64_t>(kernels::quantized_dot_scratch_bytes(), 64);
  }
  int64_t unpacked_bytes() const {
    int64_t bytes = 0;
    for (const auto& weight : weights_) {
      bytes = std::max(bytes, WeightRows::unpacked_bytes(*weight));
    }
    return align_up<int64_t>(bytes, 64);
  }
  // Rows of its own, then what the kernel needs, then unpacked rows of W.
  int64_t thread_bytes(int64_t m) const {
    return shared_bytes(m) + kernel_bytes() + unpacked_bytes();
  }

  Weights weights_;
  WeightRows rows_;
  const QuantizedDotKernels& kernels_;
};

// fp32 throughout: some rows of the weight at a time are expanded and multiplied while they are in
// the cache.
class ExactDotStep : public WeightStep {
 public:
  ExactDotStep(const CpuFeatures& cpu, std::string name,
               std::shared_ptr<const QuantizedWeight> weight, bool bias)
      : WeightStep(cpu, std::move(name), product_of(*weight, bias), kernels::kQuantizedDotGrain),
        weights_{std::move(weight)},
        rows_(cpu),
        dot_(kernels::choose_dot(kernels::WeightType::F32, cpu)) {
    constexpr int64_t kTileFloats = int64_t{1} << 16;  // 256 KB: half of a small L2
    tile_ = std::clamp<int64_t>(kTileFloats / std::max<int64_t>(1, weights_[0]->matrix.k) / 4 * 4,
                                4, 64);
  }

  int64_t weight_bytes() const override { return bytes_of(weights_); }
  int64_t scratch_bytes() const override {
    const int64_t k = weights_[0]->matrix.k;
    return align_up<int64_t>(tile_ * k * static_cast<int64_t>(sizeof(float)), 64);
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    share_columns(context, [&](int thread) {
      float* rows = reinterpret_cast<float*>(context.scratch + thread * scratch_bytes());
      return [&, rows](Range columns) {
        for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          const QuantizedWeight& weight = *weights_[operands.product];
          const int64_t k = weight.matrix.k;
          for (int64_t n = begin; n < end; n += tile_) {
            const int64_t count = std::min(tile_, end - n);
            for (int64_t i = 0; i < count; ++i) rows_.expand(weight, n + i, 0, k, rows + i * k);
            dot_.function({x.floats(), x.strides[0], rows, k,
                           operands.bias != nullptr ? operands.bias + n : nullptr,
                           operands.y.floats() + n, operands.y.strides[0], x.shape[0], count, k});
          }
        });
      };
    });
  }

 protected:
  std::string kernel_name() const override { return std::string(rows_.kernels().name) + ", exact"; }
  std::unique_ptr<WeightStep> clone() const override {
    return std::make_unique<ExactDotStep>(*this);
  }
  bool computes_like(const WeightStep& other) const override {
    const auto* step = dynamic_cast<const ExactDotStep*>(&other);
    return step != nullptr && &step->rows_.kernels() == &rows_.kernels() &&
           step->weights_[0]->matrix.k == weights_[0]->matrix.k;
  }
  void take_weights(WeightStep& other) override {
    move_weights(static_cast<ExactDotStep&>(other).weights_, weights_);
  }

 private:
  Weights weights_;
  WeightRows rows_;
  const kernels::DotKernel& dot_;
  int64_t tile_;
};

class QuantizedGatherStep : public Step {
 public:
  QuantizedGatherStep(std::shared_ptr<const QuantizedWeight> weight, const CpuFeatures& cpu)
      : weight_(std::move(weight)), rows_(cpu) {}

  std::string name() const override {
    return "gather " + weight_->form + " (" + rows_.kernels().name + ")";
  }

  void run(const StepContext& context) const noexcept override {
    const QuantizedMatrix& w = weight_->matrix;
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      int64_t index = indices.ints()[i * indices.strides[0]];
      if (index < 0) index += w.n;
      index = std::clamp<int64_t>(index, 0, w.n - 1);
      rows_.expand(*weight_, index, 0, w.k, y.floats() + i * y.strides[0]);
    }
  }

 private:
  std::shared_ptr<const QuantizedWeight> weight_;
  WeightRows rows_;
};

}  // namespace

std::unique_ptr<Step> make_quantized_dot(std::string name,
                                         std::shared_ptr<const QuantizedWeight> weight, bool bias,
                                         const CpuFeatures& cpu, Precision precision) {
  name += " " + weight->form;
  if (precision == Precision::Fast && kernels::can_dot(weight->matrix)) {
    return std::make_unique<FastDotStep>(cpu, std::move(name), std::move(weight), bias);
  }
  return std::make_unique<ExactDotStep>(cpu, std::move(name), std::move(weight), bias);
}

std::unique_ptr<Step> make_quantized_gather(std::shared_ptr<const QuantizedWeight> weight,
                                            const CpuFeatures& cpu) {
  return std::make_unique<QuantizedGatherStep>(std::move(weight), cpu);
}

std::vector<std::byte> expand_weight(const QuantizedWeight& weight, const CpuFeatures& cpu) {
  const QuantizedMatrix& w = weight.matrix;
  const WeightRows rows(cpu);
  const bool half = weight.type == mil::DataType::Float16;
  const int64_t element = half ? 2 : 4;
  std::vector<std::byte> bytes(static_cast<size_t>(w.n * w.k * element));
  // Pieces of rows: a value may be one long row.
  constexpr int64_t kPiece = 4096;
  const int64_t pieces = ceil_div(w.k, kPiece);
  const auto expand = [&](int64_t begin, int64_t end) {
    std::vector<float> numbers(static_cast<size_t>(std::min(w.k, kPiece)));
    for (int64_t job = begin; job < end; ++job) {
      const int64_t i = job / pieces, from = job % pieces * kPiece;
      const int64_t to = std::min(from + kPiece, w.k);
      std::byte* out = bytes.data() + (i * w.k + from) * element;
      float* target = half ? numbers.data() : reinterpret_cast<float*>(out);
      rows.expand(weight, i, from, to, target);
      if (half) {
        convert_f32_to_f16(reinterpret_cast<const std::byte*>(numbers.data()), out,
                           static_cast<size_t>(to - from));
      }
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 20;  // elements: about a millisecond
  if (w.n * w.k < kWorthSharing) {
    expand(0, w.n * pieces);
  } else {
    ThreadPool pool;
    pool.run([&](int part, int parts) {
      const Range share = split_range(w.n * pieces, part, parts);
      expand(share.begin, share.end);
    });
  }
  return bytes;
}

}  // namespace pippin::engine
