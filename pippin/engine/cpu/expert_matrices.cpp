#include "pippin/engine/cpu/expert_matrices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pippin/base/numbers/checked.h"
#include "pippin/engine/weights/weight_stack.h"
#include "pippin/engine/weights/weight_type.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

using kernels::QuantizedDotKernels;
using kernels::QuantizedMatrix;
using kernels::QuantizedRows;

// Rows that stay fp32 are stored one after another.
int64_t plain_bytes(int64_t rows, int64_t k) {
  return align_up<int64_t>(rows * k * static_cast<int64_t>(sizeof(float)), 64);
}
void copy_rows(const ExpertMatrices::Source& from, int64_t k, std::byte* memory) {
  const size_t bytes = static_cast<size_t>(k) * sizeof(float);
  for (int64_t i = 0; i < from.count; ++i) {
    std::memcpy(memory + static_cast<size_t>(i) * bytes, from.row(i), bytes);
  }
}

class DenseExperts : public ExpertMatrices {
 public:
  DenseExperts(std::vector<const std::byte*> experts, int64_t rows, int64_t columns,
               const kernels::DotKernel& kernel)
      : ExpertMatrices(rows, columns), experts_(std::move(experts)), kernel_(kernel) {}

  std::string name() const override { return kernel_.name; }
  int64_t bytes() const override { return n * k * kernels::bytes_per_weight(kernel_.weight); }
  int64_t grain() const override { return kernel_.n_grain; }
  int64_t formed_bytes(int64_t rows) const override { return plain_bytes(rows, k); }
  void form(const Source& from, std::byte* memory) const noexcept override {
    copy_rows(from, k, memory);
  }
  bool forms_like(const ExpertMatrices& other) const override {
    return dynamic_cast<const DenseExperts*>(&other) != nullptr && other.k == k;
  }

  void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias, float* y,
           int64_t y_stride, int64_t begin, int64_t end,
           std::byte* /*scratch*/) const noexcept override {
    const kernels::DotArgs args = {reinterpret_cast<const float*>(formed),
                                   k,
                                   experts_[static_cast<size_t>(expert)],
                                   k,
                                   bias,
                                   y,
                                   y_stride,
                                   rows,
                                   n,
                                   k};
    kernel_.function(kernels::dot_columns(args, kernel_.weight, begin, end));
  }

 private:
  std::vector<const std::byte*> experts_;
  const kernels::DotKernel& kernel_;
};

// Memory for a few rows: the factors of their sums, the converted rows (E4M7Lifted), and the
// original rows for exceptions.
class E4M7Experts : public ExpertMatrices {
 public:
  E4M7Experts(std::shared_ptr<const E4M7Weight> weight, int64_t experts,
              const kernels::E4M7Kernels& kernels)
      : ExpertMatrices(weight->matrix.n / experts, weight->matrix.k),
        weight_(std::move(weight)),
        kernels_(kernels),
        experts_(experts) {}

  std::string name() const override { return kernels_.name; }
  int64_t bytes() const override { return weight_->read_bytes() / experts_; }
  int64_t saved_bytes() const override {
    return n * k * kernels::bytes_per_weight(kernels::WeightType::F16) - bytes();
  }
  const std::byte* key() const override { return weight_->bytes.get(); }
  int64_t grain() const override { return kernels::kE4M7Grain; }
  int64_t formed_bytes(int64_t rows) const override {
    return plain_bytes(rows, k) + (rows > kernels_.lifted_rows ? 0 : lifted_bytes(rows));
  }
  void form(const Source& from, std::byte* memory) const noexcept override {
    if (from.count > kernels_.lifted_rows) return copy_rows(from, k, memory);
    auto* back = reinterpret_cast<float*>(memory);
    auto* rows = reinterpret_cast<float*>(memory + kHead);
    for (int64_t i = 0; i < from.count; ++i) {
      kernels::E4M7Lifted one{rows + i * stride(), stride(), {}};
      kernels_.lift(from.row(i), 0, 1, k, one);
      back[i] = one.back[0];
    }
    copy_rows(from, k, memory + lifted_bytes(from.count));
  }
  bool forms_like(const ExpertMatrices& other) const override {
    return dynamic_cast<const E4M7Experts*>(&other) != nullptr && other.k == k;
  }
  void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias, float* y,
           int64_t y_stride, int64_t begin, int64_t end,
           std::byte* /*scratch*/) const noexcept override {
    kernels::E4M7Matrix w = weight_->matrix;
    w.n = n;
    w.codes += expert * n * w.row_bytes;
    w.scales += expert * n;
    w.begins += expert * n;  // which are those of all exceptions
    const bool lifted = rows <= kernels_.lifted_rows;
    kernels::E4M7Lifted few{};
    if (lifted) {
      const auto* lifted_rows = reinterpret_cast<const float*>(formed + kHead);
      few.rows = const_cast<float*>(lifted_rows);
      few.stride = stride();
      std::memcpy(few.back, formed, static_cast<size_t>(rows) * sizeof(float));
    }
    const std::byte* plain = formed + (lifted ? lifted_bytes(rows) : 0);
    kernels_.dot(
        {&w, reinterpret_cast<const float*>(plain), k, bias, y, y_stride, rows, begin, end, &few});
  }

 private:
  static constexpr int64_t kHead = kernels::kMostLiftedRows * sizeof(float);
  int64_t stride() const { return kernels::e4m7_lifted_stride(k); }
  int64_t lifted_bytes(int64_t rows) const { return kHead + plain_bytes(rows, stride()); }

  std::shared_ptr<const E4M7Weight> weight_;
  const kernels::E4M7Kernels& kernels_;
  int64_t experts_;
};

// One expert's rows of the stacked weight, whose codes begin on a byte boundary.
QuantizedMatrix matrix_of(const QuantizedMatrix& all, int64_t expert, int64_t n) {
  QuantizedMatrix one = all;
  one.n = n;
  one.codes += expert * n * all.k * all.bits / 8;
  const int64_t block = expert * n / all.block_rows * all.blocks_per_row;
  const auto later = [&](const void* from, int64_t bits) -> const void* {
    return from == nullptr ? nullptr : static_cast<const std::byte*>(from) + block * bits / 8;
  };
  one.scales = later(all.scales, 8 * kernels::bytes_per_weight(all.scale_type));
  one.offsets = later(all.offsets, offset_bits(all.offset_type));
  one.palettes = later(all.palettes, 8 * kernels::bytes_per_weight(all.palette_type) << all.bits);
  if (all.byte_palettes != nullptr) {
    one.byte_palettes += block * 2 * kernels::byte_palette_stride(all.bits);
    one.byte_scales += block;
  }
  return one;
}

class QuantizedExperts : public ExpertMatrices {
 public:
  QuantizedExperts(std::shared_ptr<const QuantizedWeight> weight, const QuantizedMatrix& all,
                   int64_t experts, int64_t rows, const QuantizedDotKernels& kernels)
      : ExpertMatrices(rows, all.k),
        weight_(std::move(weight)),
        all_(all),
        kernels_(kernels),
        bytes_(weight_->bytes / std::max<int64_t>(1, experts)) {}

  int64_t bytes() const override { return bytes_; }
  int64_t grain() const override { return kernels::kQuantizedDotGrain; }

 protected:
  std::shared_ptr<const QuantizedWeight> weight_;
  QuantizedMatrix all_;
  const QuantizedDotKernels& kernels_;
  int64_t bytes_;
};

// Like FastDotStep in quantized_dot.cpp.
class FastExperts : public QuantizedExperts {
 public:
  using QuantizedExperts::QuantizedExperts;
  std::string name() const override { return weight_->form + ", " + kernels_.name + ", fast"; }
  int64_t formed_bytes(int64_t rows) const override {
    return align_up<int64_t>(kernels::quantized_bytes(form_of(rows)), 64);
  }
  void form(const Source& from, std::byte* memory) const noexcept override {
    QuantizedRows to = form_of(from.count);
    kernels::place_quantized(to, memory);
    for (int64_t i = 0; i < from.count; ++i) kernels_.quantize(from.row(i), 0, i, i + 1, to);
  }
  bool forms_like(const ExpertMatrices& other) const override {
    const auto* fast = dynamic_cast<const FastExperts*>(&other);
    if (fast == nullptr || &fast->kernels_ != &kernels_) return false;
    const auto same = [&](int64_t rows) {
      return kernels::same_form(form_of(rows), fast->form_of(rows));
    };
    return same(1) && same(kernels_.few_rows + 1) && same(kernels_.few_nibble_rows + 1) &&
           same(kernels_.few_palette_rows + 1);
  }
  int64_t scratch_bytes() const override {
    return align_up<int64_t>(kernels::quantized_dot_scratch_bytes(), 64);
  }
  void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias, float* y,
           int64_t y_stride, int64_t begin, int64_t end,
           std::byte* scratch) const noexcept override {
    const QuantizedMatrix w = matrix_of(all_, expert, n);
    QuantizedRows x = form_of(rows);
    kernels::place_quantized(x, const_cast<std::byte*>(formed));
    kernels_.dot({&w, &x, bias, y, y_stride, begin, end, scratch});
  }

 private:
  QuantizedRows form_of(int64_t rows) const {
    return kernels::quantized_form(kernels_, all_, rows);
  }
};

// Like ExactDotStep in quantized_dot.cpp.
class ExactExperts : public QuantizedExperts {
 public:
  ExactExperts(std::shared_ptr<const QuantizedWeight> weight, const QuantizedMatrix& all,
               int64_t experts, int64_t rows, const QuantizedDotKernels& kernels,
               const CpuFeatures& cpu)
      : QuantizedExperts(std::move(weight), all, experts, rows, kernels),
        dot_(kernels::choose_dot(kernels::WeightType::F32, cpu)) {}

  std::string name() const override { return weight_->form + ", " + kernels_.name + ", exact"; }
  bool forms_like(const ExpertMatrices& other) const override {
    return dynamic_cast<const ExactExperts*>(&other) != nullptr && other.k == k;
  }
  int64_t scratch_bytes() const override {
    return align_up<int64_t>(kTile * k * static_cast<int64_t>(sizeof(float)), 64);
  }
  int64_t formed_bytes(int64_t rows) const override { return plain_bytes(rows, k); }
  void form(const Source& from, std::byte* memory) const noexcept override {
    copy_rows(from, k, memory);
  }
  void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias, float* y,
           int64_t y_stride, int64_t begin, int64_t end,
           std::byte* scratch) const noexcept override {
    const QuantizedMatrix w = matrix_of(all_, expert, n);
    const auto* x = reinterpret_cast<const float*>(formed);
    auto* expanded = reinterpret_cast<float*>(scratch);
    for (int64_t first = begin; first < end; first += kTile) {
      const int64_t count = std::min(kTile, end - first);
      for (int64_t i = 0; i < count; ++i) kernels_.expand(w, first + i, 0, k, expanded + i * k);
      dot_.function({x, k, expanded, k, bias != nullptr ? bias + first : nullptr, y + first,
                     y_stride, rows, count, k});
    }
  }

 private:
  static constexpr int64_t kTile = 8;  // rows of the weight that are expanded at a time
  const kernels::DotKernel& dot_;
};

}  // namespace

std::unique_ptr<ExpertMatrices> dense_experts(std::vector<const std::byte*> experts, int64_t n,
                                              int64_t k, kernels::WeightType type,
                                              const CpuFeatures& cpu) {
  return std::make_unique<DenseExperts>(std::move(experts), n, k, kernels::choose_dot(type, cpu));
}

std::unique_ptr<ExpertMatrices> e4m7_experts(std::shared_ptr<const E4M7Weight> weight,
                                             int64_t experts, const CpuFeatures& cpu) {
  return std::make_unique<E4M7Experts>(std::move(weight), experts, kernels::choose_e4m7(cpu));
}

std::unique_ptr<ExpertMatrices> quantized_experts(std::shared_ptr<const QuantizedWeight> weight,
                                                  int64_t experts, int64_t n, int64_t k,
                                                  const CpuFeatures& cpu, Precision precision) {
  const auto stacked = stacked_matrix(*weight, experts, n, k);
  if (!stacked) return nullptr;
  QuantizedMatrix all = *stacked;
  if (all.palettes != nullptr && all.blocks_per_row == 1 && all.byte_palettes == nullptr) {
    auto own = std::make_shared<QuantizedWeight>(*weight);
    own->byte_palettes = kernels::make_byte_palettes(all.palettes, all.palette_type, all.bits,
                                                     all.n / all.block_rows);
    all.byte_palettes = own->byte_palettes.bytes.data();
    all.byte_scales = own->byte_palettes.scales.data();
    weight = std::move(own);
  }
  const QuantizedDotKernels& kernels = kernels::choose_quantized_dot(cpu);
  if (precision == Precision::Fast && kernels::can_dot(all)) {
    return std::make_unique<FastExperts>(std::move(weight), all, experts, n, kernels);
  }
  return std::make_unique<ExactExperts>(std::move(weight), all, experts, n, kernels, cpu);
}

std::unique_ptr<ExpertMatrices> make_experts(const WeightStack& stack,
                                             const ComputeOptions& options) {
  if (const auto* dense = std::get_if<DenseStack>(&stack.weight)) {
    return dense_experts(dense->matrices, stack.n, stack.k, weight_type(dense->storage),
                         options.cpu);
  }
  if (const auto* narrow = std::get_if<std::shared_ptr<const E4M7Weight>>(&stack.weight)) {
    return e4m7_experts(*narrow, stack.count, options.cpu);
  }
  return quantized_experts(std::get<std::shared_ptr<const QuantizedWeight>>(stack.weight),
                           stack.count, stack.n, stack.k, options.cpu, options.precision);
}

}  // namespace pippin::engine
