#include "pippin/kernels/vec/avx512.h"
// The vectors come first: what follows is written in terms of them.
#include "pippin/kernels/quantized_dot/avx512vnni_expand.h"
#include "pippin/kernels/quantized_dot/avx512vnni_rows.h"
#include "pippin/kernels/quantized_dot/avx512vnni_tiles.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kFewRows = 4;

template <typename Codes>
void dot_codes(const QuantizedDotArgs& a) {
  if (a.x->m > kFewRows) return many_rows<Codes>(a);
  if constexpr (Codes::kWhole) {
    if (a.w->blocks_per_row == 1) return few_rows<Codes, false, 32>(a);
  }
  if constexpr (Codes::kBlocks) {
    return a.x->unit == 16 ? few_rows<Codes, true, 16>(a) : few_rows<Codes, true, 32>(a);
  }
}

void dot(const QuantizedDotArgs& a) noexcept {
  if (a.x->m == 0 || a.n_begin >= a.n_end) return;
  const QuantizedMatrix& w = *a.w;
  if (w.scales != nullptr) {
    if (w.bits == 4) return dot_codes<AffineNibbles>(a);
    return w.blocks_per_row == 1 ? dot_codes<AffineBytes<2>>(a) : dot_codes<AffineBytes<1>>(a);
  }
  switch (w.bits) {
    case 1:
      return dot_codes<PaletteBytes<1>>(a);
    case 2:
      return dot_codes<PaletteBytes<2>>(a);
    case 3:
      return dot_codes<PaletteBytes<3>>(a);
    case 4:
      return dot_codes<PaletteNibbles>(a);
    case 6:
      return dot_codes<PaletteBytes<6>>(a);
    default:
      return dot_codes<PaletteBytes<8>>(a);
  }
}

}  // namespace

const QuantizedDotKernels quantized_dot_avx512vnni = {
    .name = "quantized_dot_avx512vnni",
    .expand = expand,
    .quantize = quantize,
    .dot = dot,
    .few_rows = kFewRows,
    .pairs = true,
};

}  // namespace pippin::kernels
