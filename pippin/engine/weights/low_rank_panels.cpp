#include "pippin/engine/weights/low_rank_panels.h"

#include <string>

#include <fmt/format.h>

#include "pippin/base/numbers/checked.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/low_rank/low_rank.h"

namespace pippin::engine {

LowRankPanels low_rank_panels(const PlainWeight& b, mil::Opset opset) {
  const int64_t columns = align_up(b.n, kernels::kLowRankColumns);
  const int64_t element = kernels::bytes_per_weight(b.type);
  const std::string variant = fmt::format("low rank panels of {} bytes", element);
  const ArrayRequest request{b.var, static_cast<uint64_t>(columns * b.k * element), opset, variant};
  return {shared_array(request, [&] { return kernels::pack_low_rank(b.data, b.type, b.n, b.k); }),
          {mil::Dim(columns / kernels::kLowRankColumns), mil::Dim(b.k),
           mil::Dim(kernels::kLowRankColumns)}};
}

}  // namespace pippin::engine
