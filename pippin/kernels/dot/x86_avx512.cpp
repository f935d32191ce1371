#include "pippin/kernels/vec/avx512.h"
// The vectors come first: the tiles are written in terms of them.
#include "pippin/kernels/dot/tiles.h"

namespace pippin::kernels {

void dot_f32_avx512(const DotArgs& args) noexcept {
  dot_tiles<WeightsF32>(args);
}
void dot_f16_avx512(const DotArgs& args) noexcept {
  dot_tiles<WeightsF16>(args);
}
void dot_bf16_avx512(const DotArgs& args) noexcept {
  dot_tiles<WeightsBF16>(args);
}

}  // namespace pippin::kernels
