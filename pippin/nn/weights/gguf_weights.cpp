// GGUF's blocks as packed matrices: io/weight_file.h names a tensor "NAME" of such a type
// "NAME.q4_k", bytes by rows. kernels/ggml_blocks/ decodes them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;
using kernels::GgmlForm;

PackedLayout layout_of(const GgmlForm& form, int64_t rows, int64_t columns) {
  const Shift shift = form.has_offsets ? Shift::Bias : Shift::None;
  return {rows, columns, form.code_bits, form.is_signed, shift, form.group};
}

class GgmlMatrix : public PackedMatrix {
 public:
  GgmlMatrix(const GgmlForm& form, int64_t rows, int64_t columns, PackedPart part, float factor)
      : PackedMatrix(layout_of(form, rows, columns)),
        form_(form),
        part_(std::move(part)),
        factor_(factor),
        blocks_{form.name, part_.tensor().bytes, rows, columns} {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    std::vector<float> scales(numbers()), offsets(numbers());
    unpack(row, out.data(), scales.data(), offsets.data());
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    std::vector<uint8_t> codes(static_cast<size_t>(layout().columns));
    unpack(row, codes.data(), scales.data(), shifts.data());
    for (float& scale : scales) scale *= factor_;
    for (float& shift : shifts) shift = -shift * factor_;
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step(form_.name).number(layout().columns);
    if (factor_ != 1) recipe.number(static_cast<int64_t>(std::bit_cast<uint32_t>(factor_)));
    part_.describe(recipe);
    return true;
  }
  void release() const noexcept override { part_.release(); }
  // Kernels that read blocks in place have no place for a factor.
  const mil::StoredBlocks* blocks() const override { return factor_ == 1 ? &blocks_ : nullptr; }

 private:
  size_t numbers() const { return static_cast<size_t>(layout().groups()); }
  void unpack(int64_t row, uint8_t* codes, float* scales, float* offsets) const {
    const int64_t count = layout().columns / form_.columns;
    const auto* bytes = reinterpret_cast<const uint8_t*>(part_.bytes());
    kernels::choose_blocks(cpu_features())
        .unpack(form_.type, {bytes + row * count * form_.bytes, count, nullptr, codes, scales,
                             form_.has_offsets ? offsets : nullptr});
  }

  const GgmlForm& form_;
  PackedPart part_;
  float factor_;
  mil::StoredBlocks blocks_;
};

std::string tensor_name(const std::string& name, const GgmlForm& form) {
  return name + "." + std::string(form.name);
}

const GgmlForm* form_of(const Checkpoint& checkpoint, const std::string& name) {
  const auto forms = kernels::ggml_forms();
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const GgmlForm& form) {
    return checkpoint.contains(tensor_name(name, form));
  });
  return found == forms.end() ? nullptr : &*found;
}

// The tensor with a factor of a whole matrix, which NVFP4 has: "q_proj.scale".
std::string factor_name(const std::string& name) {
  constexpr std::string_view kEnding = ".weight";
  const bool ends = name.ends_with(kEnding);
  return (ends ? name.substr(0, name.size() - kEnding.size()) : name) + ".scale";
}

float factor_of(const Checkpoint& checkpoint, const std::string& name) {
  const TensorInfo* const tensor = checkpoint.find(factor_name(name));
  if (tensor == nullptr) return 1.0f;
  float factor = 0;
  if (tensor->dtype != Dtype::F32 || tensor->bytes.size() != sizeof(factor)) {
    fail(ErrorCode::InvalidFile, "tensor '{}' is not one number of F32", tensor->name);
  }
  std::memcpy(&factor, tensor->bytes.data(), sizeof(factor));
  if (!std::isfinite(factor)) {
    fail(ErrorCode::InvalidFile, "tensor '{}' is {}, a finite factor is needed", tensor->name,
         factor);
  }
  return factor;
}

class GgufWeights : public PackedWeights {
 public:
  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const GgmlForm* form = form_of(checkpoint, name);
    if (form == nullptr) return {};
    std::vector<std::string> used = {tensor_name(name, *form)};
    if (checkpoint.contains(factor_name(name))) used.push_back(factor_name(name));
    return used;
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    const GgmlForm& form = *form_of(*checkpoint, name);
    const std::string tensor = tensor_name(name, form);
    if (columns % form.columns != 0) {
      fail(ErrorCode::InvalidFile, "tensor '{}': rows of {} are not whole blocks of {}", tensor,
           columns, form.columns);
    }
    PackedPart part(checkpoint, tensor, {rows, columns / form.columns * form.bytes}, {Dtype::U8});
    return std::make_shared<GgmlMatrix>(form, rows, columns, std::move(part),
                                        factor_of(*checkpoint, name));
  }
};

}  // namespace

PackedWeightsPtr gguf_weights() {
  return std::make_shared<GgufWeights>();
}

}  // namespace pippin::nn
