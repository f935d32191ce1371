#include "pippin/kernels/ggml_blocks/ggml_blocks.h"

#include <iterator>

namespace pippin::kernels {
namespace {

constexpr Listed<GgmlBlockKernels> kKernels[] = {
#define PIPPIN_GGML_BLOCKS(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/ggml_blocks/kernels.inc"
#undef PIPPIN_GGML_BLOCKS
};

constexpr GgmlForm kForms[] = {
    {GgmlType::Q80, "q8_0", 32, 34, 32, 8, true, false},
    {GgmlType::Q40, "q4_0", 32, 18, 32, 4, true, false},
    {GgmlType::Q41, "q4_1", 32, 20, 32, 4, false, true},
    {GgmlType::Q50, "q5_0", 32, 22, 32, 8, true, false},
    {GgmlType::Q51, "q5_1", 32, 24, 32, 8, false, true},
    {GgmlType::Iq4Nl, "iq4_nl", 32, 18, 32, 8, true, false},
    {GgmlType::Iq4Xs, "iq4_xs", 256, 136, 32, 8, true, false},
    {GgmlType::Mxfp4, "mxfp4", 32, 17, 32, 8, true, false},
    {GgmlType::Q2K, "q2_k", 256, 84, 16, 4, false, true},
    {GgmlType::Q3K, "q3_k", 256, 110, 16, 4, true, false},
    {GgmlType::Q4K, "q4_k", 256, 144, 32, 4, false, true},
    {GgmlType::Q5K, "q5_k", 256, 176, 32, 8, false, true},
    {GgmlType::Q6K, "q6_k", 256, 210, 16, 8, true, false},
    {GgmlType::Iq2Xxs, "iq2_xxs", 256, 66, 32, 8, true, false},
    {GgmlType::Iq2Xs, "iq2_xs", 256, 74, 16, 8, true, false},
    {GgmlType::Iq2S, "iq2_s", 256, 82, 16, 8, true, false},
    {GgmlType::Iq3Xxs, "iq3_xxs", 256, 98, 32, 8, true, false},
    {GgmlType::Iq3S, "iq3_s", 256, 110, 32, 8, true, false},
    {GgmlType::Iq1S, "iq1_s", 256, 50, 32, 8, true, false},
    {GgmlType::Iq1M, "iq1_m", 256, 56, 16, 8, true, false},
    {GgmlType::Tq10, "tq1_0", 256, 54, 32, 4, true, false},
    {GgmlType::Tq20, "tq2_0", 256, 66, 32, 4, true, false},
    {GgmlType::Nvfp4, "nvfp4", 64, 36, 16, 8, true, false},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (kForms[i].type != static_cast<GgmlType>(i)) return false;
  }
  return std::size(kForms) == static_cast<size_t>(GgmlType::Nvfp4) + 1;
}
static_assert(in_order());

}  // namespace

std::span<const GgmlForm> ggml_forms() {
  return kForms;
}

const GgmlForm& ggml_form(GgmlType type) {
  return kForms[static_cast<size_t>(type)];
}

int64_t row_bytes(const GgmlMatrix& w) {
  const GgmlForm& form = ggml_form(w.type);
  return w.k / form.columns * form.bytes;
}
const uint8_t* row_of(const GgmlMatrix& w, int64_t i) {
  return w.bytes + (w.rows != nullptr ? w.rows[i] : i) * row_bytes(w);
}

std::span<const Listed<GgmlBlockKernels>> ggml_kernels() {
  return kKernels;
}

const GgmlBlockKernels& choose_blocks(const CpuFeatures& cpu) {
  return choose("ggml_blocks", ggml_kernels(), cpu);
}

}  // namespace pippin::kernels
