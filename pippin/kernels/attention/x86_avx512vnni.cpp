#include "pippin/kernels/vec/avx512.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/math.h"
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/attention/tiles.h"
// Must follow tiles.h.
#include "pippin/kernels/attention/avx512_rounded.h"

namespace pippin::kernels {

void attention_q8_avx512vnni(const AttentionArgs& args, const AttentionTask& task,
                             float* scratch) noexcept {
  attention_tile<StoredQ8Rounded>(args, task, scratch);
}
void attention_q4_avx512vnni(const AttentionArgs& args, const AttentionTask& task,
                             float* scratch) noexcept {
  attention_tile<StoredQ4Rounded>(args, task, scratch);
}

}  // namespace pippin::kernels
