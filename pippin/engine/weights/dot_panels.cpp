#include "pippin/engine/weights/dot_panels.h"

#include <utility>

#include <fmt/format.h>

#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {

// Packed once if packing for each run would take a good part of its time, and a cache keeps the
// panels: they replace the weights. For halves they are twice as large.
bool takes_panels(int64_t rows) {
  constexpr int64_t kFewRows = 128;
  return rows >= kernels::kManyRows && rows <= kFewRows;
}

std::optional<DotPanels> dot_panels(const PlainWeight& weight, mil::Opset opset, LoadCache* cache,
                                    const CpuFeatures& cpu) {
  const kernels::DotKernel& kernel = kernels::choose_dot(weight.type, cpu);
  if (!kernels::packs(kernel)) return std::nullopt;
  const int64_t n = weight.n, k = weight.k;
  const int64_t floats = kernels::all_packed_floats(kernel, n, k);
  const std::string variant = fmt::format("{} panels {} x {}", kernel.name, n, k);
  const ArrayRequest request{weight.var,
                             static_cast<uint64_t>(floats) * sizeof(float),
                             opset,
                             variant,
                             cache,
                             nullptr,
                             /*only_stored=*/true};
  SharedBytes bytes = shared_array(request, [&] {
    std::vector<std::byte> made(request.size);
    kernels::DotArgs args{};
    args.w = weight.data;
    args.w_stride = args.k = k;
    args.n = n;
    kernels::pack(kernel, args, reinterpret_cast<float*>(made.data()));
    return made;
  });
  if (bytes == nullptr) return std::nullopt;
  return DotPanels{std::move(bytes), floats / k};
}

}  // namespace pippin::engine
