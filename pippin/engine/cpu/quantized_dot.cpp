// Products with compressed weights, from the bytes of the package or the file.
#include <algorithm>

#include "pippin/base/numbers/checked.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/cpu/weight_step.h"
#include "pippin/engine/weights/block_rows.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

using kernels::QuantizedDotKernels;
using kernels::QuantizedRows;

using QuantizedPointer = std::shared_ptr<const QuantizedWeight>;

const QuantizedWeight& weight_of(const DotNode& dot, size_t product) {
  return *std::get<QuantizedPointer>(dot.products[product].weight);
}

int64_t bytes_of(const DotNode& dot) {
  int64_t bytes = 0;
  for (size_t i = 0; i < dot.products.size(); ++i) bytes += weight_of(dot, i).bytes;
  return bytes;
}

// 8-bit activations times the stored codes.
class FastDotStep : public WeightStep {
 public:
  FastDotStep(const CpuFeatures& cpu, const DotNode& dot)
      : WeightStep(cpu, dot, kernels::kQuantizedDotGrain), rows_(cpu), kernels_(rows_.kernels()) {}

  std::string kernel_name() const override { return std::string(kernels_.name) + ", fast"; }
  int64_t product_bytes() const override { return bytes_of(dot()); }
  int64_t thread_scratch(int64_t m) const override {
    return (m > kOwnRows ? shared_bytes(m) : 0) + thread_bytes(std::min(m, kOwnRows));
  }

  void multiply(const WeightContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const int64_t m = x.shape[0];
    if (m == 0) return;
    QuantizedRows all{};
    if (m > kOwnRows) {
      all = kernels::quantized_form(kernels_, first().matrix, m);
      kernels::place_quantized(all, context.scratch);
      context.pool.run([&](int part, int parts) {
        const Range share = split_range(m, part, parts);
        kernels_.quantize(x.floats(), x.strides[0], share.begin, share.end, all);
      });
    }
    const int64_t shared = m > kOwnRows ? shared_bytes(m) : 0;
    const int64_t own = thread_bytes(std::min(m, kOwnRows));
    const int64_t own_rows = own - kernel_bytes() - unpacked_bytes();
    // With few columns for many threads, rows are divided as well, into parts of more than a few.
    constexpr int64_t kRowsOfAPart = 64;
    const int64_t copies = even_copies(context, m / kRowsOfAPart);
    const auto make_worker = [&](int thread) {
      std::byte* memory = context.scratch + shared + thread * own;
      QuantizedRows rows = all;
      if (m <= kOwnRows) {
        // Every thread rounds the few rows for itself, which is quicker than another barrier.
        rows = kernels::quantized_form(kernels_, first().matrix, m);
        kernels::place_quantized(rows, memory);
        kernels_.quantize(x.floats(), x.strides[0], 0, m, rows);
      }
      return [&, rows, memory](Range shared_columns) {
        for_copies(shared_columns, [&](int64_t copy, Range columns) {
          const Range part = split_range(m, static_cast<int>(copy), static_cast<int>(copies), 2);
          const QuantizedRows some = kernels::part_of(rows, part.begin, part.end);
          const auto multiply = [&](const Operands& operands, int64_t begin, int64_t end) {
            const QuantizedWeight& weight = weight_of(dot(), operands.product);
            float* const y = operands.y.floats() + part.begin * operands.y.strides[0];
            rows_.dot(weight,
                      {&weight.matrix, &some, operands.bias, y, operands.y.strides[0], begin, end,
                       memory + own_rows},
                      memory + own_rows + kernel_bytes());
            finish(context, operands, part, {begin, end});
          };
          for_unfinished(context, columns, multiply);
        });
      };
    };
    share_columns(context, make_worker, {0, is_few(m) ? kernels::kFewRowsGrain : 0, copies});
  }

 private:
  const QuantizedWeight& first() const { return weight_of(dot(), 0); }

  static constexpr int64_t kOwnRows = 8;

  bool is_few(int64_t m) const {
    return kernels::quantized_form(kernels_, first().matrix, m).repeat > 1;
  }

  // For up to m rounded rows; the form of a few rows may need more memory than that of many.
  int64_t shared_bytes(int64_t m) const {
    int64_t bytes = 0;
    for (const int64_t rows :
         {m, std::min(m, kernels_.few_rows), std::min(m, kernels_.few_nibble_rows),
          std::min(m, kernels_.few_palette_rows)}) {
      bytes = std::max(
          bytes, kernels::quantized_bytes(kernels::quantized_form(kernels_, first().matrix, rows)));
    }
    return align_up<int64_t>(bytes, 64);
  }
  static int64_t kernel_bytes() {
    return align_up<int64_t>(kernels::quantized_dot_scratch_bytes(), 64);
  }
  int64_t unpacked_bytes() const {
    int64_t bytes = 0;
    for (size_t i = 0; i < dot().products.size(); ++i) {
      bytes = std::max(bytes, WeightRows::unpacked_bytes(weight_of(dot(), i)));
    }
    return align_up<int64_t>(bytes, 64);
  }
  // The thread's own rows, then the kernel's working memory, then unpacked rows of W.
  int64_t thread_bytes(int64_t m) const {
    return shared_bytes(m) + kernel_bytes() + unpacked_bytes();
  }

  WeightRows rows_;
  const QuantizedDotKernels& kernels_;
};

// fp32 throughout: a few rows of the weight at a time are expanded and multiplied while they are in
// the cache.
class ExactDotStep : public WeightStep {
 public:
  ExactDotStep(const CpuFeatures& cpu, const DotNode& dot)
      : WeightStep(cpu, dot, kernels::kQuantizedDotGrain),
        rows_(cpu),
        dot_(kernels::choose_dot(kernels::WeightType::F32, cpu)) {
    constexpr int64_t kTileFloats = int64_t{1} << 16;  // 256 KB: half of a small L2
    tile_ =
        std::clamp<int64_t>(kTileFloats / std::max<int64_t>(1, first().matrix.k) / 4 * 4, 4, 64);
  }

  std::string kernel_name() const override { return std::string(rows_.kernels().name) + ", exact"; }
  int64_t product_bytes() const override { return bytes_of(dot()); }
  int64_t thread_scratch(int64_t /*rows*/) const override {
    const int64_t k = first().matrix.k;
    return align_up<int64_t>(tile_ * k * static_cast<int64_t>(sizeof(float)), 64);
  }

  void multiply(const WeightContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    share_columns(context, [&](int thread) {
      float* rows = reinterpret_cast<float*>(context.scratch + thread * thread_scratch(x.shape[0]));
      return [&, rows](Range columns) {
        for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          const QuantizedWeight& weight = weight_of(dot(), operands.product);
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

 private:
  const QuantizedWeight& first() const { return weight_of(dot(), 0); }

  WeightRows rows_;
  const kernels::DotKernel& dot_;
  int64_t tile_;
};

bool is_fast(const DotNode& dot, const ComputeOptions& options) {
  return options.precision == Precision::Fast && kernels::can_dot(weight_of(dot, 0).matrix);
}

}  // namespace

StepPointer make_quantized_dot(const DotNode& dot, const StepSource& source) {
  if (is_fast(dot, source.options)) return std::make_unique<FastDotStep>(source.cpu(), dot);
  return std::make_unique<ExactDotStep>(source.cpu(), dot);
}

// If activations are rounded, all products must use the same rounded ones.
bool share_quantized_input(const DotNode& a, const DotNode& b, const ComputeOptions& options) {
  if (is_fast(a, options) != is_fast(b, options)) return false;
  if (!is_fast(a, options)) return true;
  const QuantizedDotKernels& kernels = WeightRows(options.cpu).kernels();
  const auto same = [&](int64_t m) {
    return kernels::same_form(kernels::quantized_form(kernels, weight_of(a, 0).matrix, m),
                              kernels::quantized_form(kernels, weight_of(b, 0).matrix, m));
  };
  return same(1) && same(kernels.few_rows + 1) && same(kernels.few_nibble_rows + 1) &&
         same(kernels.few_palette_rows + 1);
}

}  // namespace pippin::engine
