#include "pippin/kernels/blocks/blocks.h"

#include <iterator>

namespace pippin::kernels {
namespace {

constexpr Listed<BlockKernels> kKernels[] = {
#define PIPPIN_BLOCKS(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/blocks/kernels.inc"
#undef PIPPIN_BLOCKS
};

constexpr BlockForm kForms[] = {
    {BlockType::Q80, "q8_0", 32, 34, 32, 8, true, false},
    {BlockType::Q40, "q4_0", 32, 18, 32, 4, true, false},
    {BlockType::Q41, "q4_1", 32, 20, 32, 4, false, true},
    {BlockType::Q50, "q5_0", 32, 22, 32, 8, true, false},
    {BlockType::Q51, "q5_1", 32, 24, 32, 8, false, true},
    {BlockType::Iq4Nl, "iq4_nl", 32, 18, 32, 8, true, false},
    {BlockType::Iq4Xs, "iq4_xs", 256, 136, 32, 8, true, false},
    {BlockType::Mxfp4, "mxfp4", 32, 17, 32, 8, true, false},
    {BlockType::Q2K, "q2_k", 256, 84, 16, 4, false, true},
    {BlockType::Q3K, "q3_k", 256, 110, 16, 4, true, false},
    {BlockType::Q4K, "q4_k", 256, 144, 32, 4, false, true},
    {BlockType::Q5K, "q5_k", 256, 176, 32, 8, false, true},
    {BlockType::Q6K, "q6_k", 256, 210, 16, 8, true, false},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kForms); ++i) {
    if (kForms[i].type != static_cast<BlockType>(i)) return false;
  }
  return std::size(kForms) == static_cast<size_t>(BlockType::Q6K) + 1;
}
static_assert(in_order());

}  // namespace

std::span<const BlockForm> block_forms() {
  return kForms;
}

const BlockForm& block_form(BlockType type) {
  return kForms[static_cast<size_t>(type)];
}

int64_t row_bytes(const BlockMatrix& w) {
  const BlockForm& form = block_form(w.type);
  return w.k / form.columns * form.bytes;
}
const uint8_t* row_of(const BlockMatrix& w, int64_t i) {
  return w.bytes + (w.rows != nullptr ? w.rows[i] : i) * row_bytes(w);
}

std::span<const Listed<BlockKernels>> block_kernels() {
  return kKernels;
}

const BlockKernels& choose_blocks(const CpuFeatures& cpu) {
  return choose("blocks", block_kernels(), cpu);
}

}  // namespace pippin::kernels
