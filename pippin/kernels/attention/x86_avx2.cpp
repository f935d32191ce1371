#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/attention/tiles.h"

namespace pippin::kernels {

void attention_f32_avx2(const AttentionArgs& args, const AttentionTask& task,
                        float* scratch) noexcept {
  attention_tile<StoredF32>(args, task, scratch);
}
void attention_f16_avx2(const AttentionArgs& args, const AttentionTask& task,
                        float* scratch) noexcept {
  attention_tile<StoredF16>(args, task, scratch);
}
void attention_bf16_avx2(const AttentionArgs& args, const AttentionTask& task,
                         float* scratch) noexcept {
  attention_tile<StoredBF16>(args, task, scratch);
}
void attention_q8_avx2(const AttentionArgs& args, const AttentionTask& task,
                       float* scratch) noexcept {
  attention_tile<StoredQ8>(args, task, scratch);
}
void attention_q4_avx2(const AttentionArgs& args, const AttentionTask& task,
                       float* scratch) noexcept {
  attention_tile<StoredQ4>(args, task, scratch);
}

}  // namespace pippin::kernels
