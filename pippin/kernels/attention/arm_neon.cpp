#include "pippin/kernels/vec/neon.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/vec/math.h"
#include "pippin/kernels/vec/multiply.h"
// And these before their users.
#include "pippin/kernels/attention/tiles.h"

namespace pippin::kernels {

void attention_f32_neon(const AttentionArgs& args, const AttentionShare& share,
                        float* scratch) noexcept {
  attention_tiles<StoredF32>(args, share, scratch);
}
void attention_f16_neon(const AttentionArgs& args, const AttentionShare& share,
                        float* scratch) noexcept {
  attention_tiles<StoredF16>(args, share, scratch);
}

}  // namespace pippin::kernels
