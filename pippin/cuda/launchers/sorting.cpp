// The launcher of sorted rows.
#include <algorithm>
#include <bit>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/kernels/sort_args.h"
#include "pippin/cuda/launchers/element_grid.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::Operand;
using engine::View;

constexpr int64_t kKeyBytes = sizeof(uint64_t);

// The parts of rows of n elements, of which k are wanted.
struct Chunks {
  int64_t chunk, count, kept;

  Chunks(int64_t n, int64_t k)
      : chunk(std::max<int64_t>(64, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(
                                        std::min<int64_t>(n, SortArgs::kMostOfChunk)))))),
        count((n + chunk - 1) / chunk),
        kept(std::min(k, chunk)) {}
  int64_t keys_of_row() const { return count * kept; }
};

class SortLauncher : public Launcher {
 public:
  SortLauncher(bool ascending, int64_t scratch_bytes)
      : ascending_(ascending), scratch_bytes_(scratch_bytes) {}
  int64_t scratch_bytes() const override { return scratch_bytes_; }
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& x = context.operands.back();
    const Operand& indices = context.operands[0];
    if (indices.size() == 0) return;
    SortArgs args{};
    args.indices = indices.ints();
    args.index_stride = indices.strides[0];
    if (context.operands.size() > 2) {
      args.values = reinterpret_cast<uint32_t*>(context.operands[1].data);
      args.value_stride = context.operands[1].strides[0];
    }
    args.x = x.data;
    args.x_stride = x.strides[0];
    args.rows = x.shape[0];
    args.n = x.shape[1];
    args.k = indices.shape[1];
    args.integers = x.storage == engine::Storage::I32;
    args.ascending = ascending_;
    const Chunks chunks(args.n, args.k);
    args.chunk = chunks.chunk;
    args.chunks = chunks.count;
    args.kept = chunks.kept;
    args.keys = reinterpret_cast<uint64_t*>(context.scratch);
    const auto threads = static_cast<unsigned>(std::min<int64_t>(args.chunk / 2, 1024));
    launches.push_back(Launch::of(Kernel::sort_chunks, args, args.rows * args.chunks, threads,
                                  static_cast<size_t>(args.chunk * kKeyBytes)));
    if (args.chunks > 1) add_merges(args, chunks, launches);
  }

 private:
  static void add_merges(SortArgs args, const Chunks& chunks, std::vector<Launch>& launches) {
    uint64_t* room = args.keys + args.rows * chunks.keys_of_row();
    int64_t length = chunks.kept;
    int32_t level = 0;
    for (int64_t runs = chunks.count; runs > 1; runs = (runs + 1) / 2) {
      const int64_t merged = std::min(args.k, 2 * length);
      const MergeArgs merge{room,       args.keys, chunks.keys_of_row(),
                            args.rows,  args.n,    args.k,
                            args.chunk, runs,      length,
                            merged,     level};
      launches.push_back(element_launch(Kernel::merge_runs, merge, args.rows * runs * length));
      std::swap(room, args.keys);
      length = merged;
      ++level;
    }
    launches.push_back(element_launch(Kernel::write_sorted, args, args.rows * args.k));
  }

  bool ascending_;
  int64_t scratch_bytes_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::SortNode& node, const LauncherSource& source) {
  const View& x = source.node.views.back();
  const int64_t rows = x.shape[0].upper(), n = x.shape[1].upper();
  const int64_t k = source.node.views.front().shape[1].upper();
  const Chunks chunks(n, k);
  if (chunks.count == 1) return std::make_unique<SortLauncher>(node.ascending, 0);
  // Two arrays of keys; smaller sizes of a run need less.
  const auto keys = checked_mul(rows, chunks.count);
  const auto bytes = keys ? checked_mul(*keys, 2 * chunks.kept * kKeyBytes) : std::nullopt;
  return bytes ? std::make_unique<SortLauncher>(node.ascending, *bytes) : nullptr;
}

}  // namespace pippin::cuda
