#include "pippin/engine/cpu/computed_dot.h"

#include "pippin/engine/weights/weight_type.h"

namespace pippin::engine {

ComputedDot::ComputedDot(Storage storage, const CpuFeatures& cpu, int64_t many_rows)
    : kernel_(kernels::choose_dot(weight_type(storage), cpu)), many_rows_(many_rows) {}

int64_t ComputedDot::scratch_floats(int64_t m, int64_t n, int64_t k) const {
  return repacks(m, k) ? kernels::packed_floats(kernel_, n, k) : 0;
}
int64_t ComputedDot::most_scratch_floats(int64_t m) const {
  return repacks(m, 0) ? kernels::kMostPacked : 0;
}

void ComputedDot::run(ThreadPool& pool, const kernels::DotArgs& args, float* scratch,
                      int64_t floats) const {
  pool.run([&](int part, int parts) {
    const Range columns = split_range(args.n, part, parts, kernel_.n_grain);
    if (columns.begin == columns.end) return;
    run(kernels::dot_columns(args, kernel_.weight, columns.begin, columns.end),
        scratch + part * floats);
  });
}

}  // namespace pippin::engine
