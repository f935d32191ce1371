#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/attention/avx512_pairs.h"

namespace pippin::kernels {
namespace {

// Many queries by pairs if they may be rounded, all else by the kernel for the processors before.
template <typename Stored, typename Other>
PIPPIN_VEC void attend(const AttentionArgs& args, const AttentionTask& task, float* scratch,
                       Other other) {
  if (task.is_few || !args.may_round) return other(args, task, scratch);
  many_queries<PairProducts<Stored>>(args, task, scratch);
}

}  // namespace

void attention_f32_avx512bf16(const AttentionArgs& args, const AttentionTask& task,
                              float* scratch) noexcept {
  attend<StoredF32>(args, task, scratch, attention_f32_avx512);
}
void attention_f16_avx512bf16(const AttentionArgs& args, const AttentionTask& task,
                              float* scratch) noexcept {
  attend<StoredF16>(args, task, scratch, attention_f16_avx512);
}
void attention_bf16_avx512bf16(const AttentionArgs& args, const AttentionTask& task,
                               float* scratch) noexcept {
  attend<StoredBF16>(args, task, scratch, attention_bf16_avx512);
}
void attention_q8_avx512bf16(const AttentionArgs& args, const AttentionTask& task,
                             float* scratch) noexcept {
  attend<StoredQ8>(args, task, scratch, attention_q8_avx512vnni);
}
void attention_q4_avx512bf16(const AttentionArgs& args, const AttentionTask& task,
                             float* scratch) noexcept {
  attend<StoredQ4>(args, task, scratch, attention_q4_avx512vnni);
}

}  // namespace pippin::kernels
