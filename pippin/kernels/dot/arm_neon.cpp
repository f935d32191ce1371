#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/vec/multiply.h"
// Must precede its users.
#include "pippin/kernels/dot/panels.h"
#include "pippin/kernels/dot/tiles.h"

namespace pippin::kernels {

void dot_f32_neon(const DotArgs& args) noexcept {
  dot_tiles<StoredF32>(args);
}
void dot_f16_neon(const DotArgs& args) noexcept {
  dot_tiles<StoredF16>(args);
}
void dot_bf16_neon(const DotArgs& args) noexcept {
  dot_tiles<StoredBF16>(args);
}

void dot_f32_neon_many(const ManyRowsArgs& args) noexcept {
  dot_panels<StoredF32>(args);
}
void dot_f16_neon_many(const ManyRowsArgs& args) noexcept {
  dot_panels<StoredF16>(args);
}
void dot_bf16_neon_many(const ManyRowsArgs& args) noexcept {
  dot_panels<StoredBF16>(args);
}

}  // namespace pippin::kernels
