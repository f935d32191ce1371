// Attention: chooses the kernel by the number of rows and the layout of the cache.
#include <algorithm>
#include <bit>
#include <cmath>

#include "pippin/cuda/kernels/attention_args.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::AttentionNode;
using engine::Operand;
using engine::Storage;

constexpr int64_t kMostSize = int64_t{1} << 31;
constexpr int64_t kFewRows = 16;            // at most, of the kernels with parts
constexpr int64_t kPlainFloats = 256 + 96;  // kPlainChunk, and those of exchanges

int32_t tiles_of(int64_t size) {
  return static_cast<int32_t>((size + kTile - 1) / kTile);
}

CacheType cache_type_of(Storage storage) {
  return storage == Storage::F16    ? CacheType::F16
         : storage == Storage::BF16 ? CacheType::BF16
                                    : CacheType::F32;
}

template <typename T>
AttentionView<T> attention_view(const Operand& operand) {
  return {reinterpret_cast<T*>(operand.data), operand.strides[0], operand.strides[1],
          operand.strides[2], operand.strides[3]};
}

AttentionArgs attention_args(const AttentionNode& node, std::span<const Operand> operands) {
  const Operand& q = operands[1];
  const Operand& k = operands[2];
  const Operand& v = operands[3];
  AttentionArgs args{};
  args.out = attention_view<float>(operands[0]);
  args.q = attention_view<const float>(q);
  args.k = attention_view<const void>(k);
  args.v = attention_view<const void>(v);
  if (node.is_masked) args.mask = attention_view<const float>(operands[AttentionNode::kMask]);
  if (node.has_sinks) args.sinks = operands.back().floats();
  args.batch = static_cast<int32_t>(q.shape[0]);
  args.heads = static_cast<int32_t>(q.shape[1]);
  args.kv_heads = static_cast<int32_t>(k.shape[1]);
  args.rows = static_cast<int32_t>(q.shape[2]);
  args.keys = static_cast<int32_t>(k.shape[2]);
  args.head_dim = static_cast<int32_t>(q.shape[3]);
  args.value_dim = static_cast<int32_t>(v.shape[3]);
  const double root = node.over_root ? std::sqrt(static_cast<double>(args.head_dim)) : 1;
  args.scale = static_cast<float>(node.scale / root);
  args.softcap = static_cast<float>(node.softcap);
  args.inverse_softcap = node.softcap == 0 ? 0 : static_cast<float>(1 / node.softcap);
  args.cache = cache_type_of(k.storage);
  return args;
}

// Whether the keys or values are whole aligned words of 16 bytes.
bool in_words(const AttentionView<const void>& cache, int64_t columns, int64_t size) {
  const auto whole = [&](int64_t elements) { return elements * size % 16 == 0; };
  return cache.column_stride == 1 && reinterpret_cast<uintptr_t>(cache.data) % 16 == 0 &&
         whole(columns) && whole(cache.row_stride) && whole(cache.head_stride) &&
         whole(cache.batch_stride);
}
bool in_words(const AttentionArgs& args) {
  const int64_t size = args.cache == CacheType::F32 ? 4 : 2;
  return in_words(args.k, args.head_dim, size) && in_words(args.v, args.value_dim, size);
}

// The kernel for a few rows of one layout, if it is that one.
struct FewForm {
  int64_t key_lanes = 0;  // 0: another layout
  int64_t queries = 1;    // of a tile
  int64_t tiles = 1, chunks = 1;

  explicit FewForm(const AttentionArgs& args) {
    const int64_t size = args.cache == CacheType::F32 ? 4 : 2, columns = 16 / size;
    const int64_t widest = std::max(args.head_dim, args.value_dim);
    if (args.rows > kFewRows || args.keys == 0 || widest > 32 * columns) return;
    if (!in_words(args)) return;
    key_lanes = 8;
    while (key_lanes * columns < widest) key_lanes *= 2;
    const int64_t all = int64_t{args.heads / args.kv_heads} * args.rows;
    queries = all == 1 ? 1 : all <= 4 || key_lanes > 16 ? 4 : 8;
    tiles = (all + queries - 1) / queries;
    chunks = (args.keys + kFewChunk - 1) / kFewChunk;
  }

  int64_t threads() const { return 16 * key_lanes; }
  int64_t shared_floats(CacheType cache) const {
    const int64_t columns = key_lanes * (cache == CacheType::F32 ? 4 : 8);
    return queries * (kFewChunk + 2 + columns * std::max<int64_t>(threads() / 64, 1)) + 32;
  }
  Kernel kernel(CacheType cache) const {
    static constexpr Kernel kKernels[][3] = {
        {Kernel::attention_1_f32, Kernel::attention_1_f16, Kernel::attention_1_bf16},
        {Kernel::attention_4_f32, Kernel::attention_4_f16, Kernel::attention_4_bf16},
        {Kernel::attention_8_f32, Kernel::attention_8_f16, Kernel::attention_8_bf16}};
    return kKernels[queries / 4][static_cast<size_t>(cache)];
  }
};

// The kernel for many rows of one layout, if it is that one.
struct TileForm {
  int64_t slice = 0;  // columns of values; 0: another layout
  int64_t stages = 2;

  TileForm(const AttentionArgs& args, int64_t most_shared) {
    if (args.cache == CacheType::F32 || args.keys == 0 || !in_words(args)) return;
    slice = args.value_dim <= 64 ? 64 : 128;
    if (shared_bytes(args) > most_shared) stages = 1;
    if (shared_bytes(args) > most_shared) slice = 0;
  }

  int64_t shared_bytes(const AttentionArgs& args) const {
    const int64_t columns = (args.head_dim + 15) / 16 * 16 + 8;  // tile_columns()
    const int64_t halves = 2 * columns + stages * (columns + slice + 8);
    return kTile * (4 + 2 * halves);
  }
  Kernel kernel(CacheType cache) const {
    if (slice == 64) {
      return cache == CacheType::F16 ? Kernel::attention_tiles_64_f16
                                     : Kernel::attention_tiles_64_bf16;
    }
    return cache == CacheType::F16 ? Kernel::attention_tiles_128_f16
                                   : Kernel::attention_tiles_128_bf16;
  }
};

class AttentionLauncher : public Launcher {
 public:
  AttentionLauncher(const AttentionNode& node, int64_t scratch, const LauncherSource& source)
      : node_(node),
        scratch_(scratch),
        most_shared_(source.limits.shared_bytes),
        uses_tiles_(!source.is_exact() && source.limits.has_tensor_cores()) {}

  int64_t scratch_bytes() const override { return scratch_; }

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (context.operands[0].size() == 0) return;
    const AttentionArgs args = attention_args(node_, context.operands);
    const FewForm few(args);
    if (few.key_lanes != 0 && (few.chunks + 64) * kFloat <= most_shared_) {
      add_few(args, few, context, launches);
      return;
    }
    const TileForm tile(args, most_shared_);
    if (uses_tiles_ && args.rows > kFewRows && tile.slice != 0) {
      add_tiles(args, tile, context, launches);
      return;
    }
    const int64_t blocks = int64_t{args.batch} * args.heads * args.rows;
    launches.push_back(Launch::of(Kernel::attention_plain, args, blocks, 128,
                                  bytes_of(args.head_dim + args.value_dim + kPlainFloats)));
  }

 private:
  static constexpr int64_t kFloat = sizeof(float);

  static size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats * kFloat); }

  void add_few(const AttentionArgs& attention, const FewForm& form, const LaunchContext& context,
               std::vector<Launch>& launches) const {
    FewAttentionArgs args{};
    args.attention = attention;
    args.chunks = static_cast<int32_t>(form.chunks);
    args.key_lanes = static_cast<int32_t>(form.key_lanes);
    args.tiles = static_cast<int32_t>(form.tiles);
    if (form.chunks > 1) args.parts = reinterpret_cast<float*>(context.scratch);
    // Blocks without keys end at once: so the grid rarely changes while keys are added.
    const auto depth = std::bit_ceil(static_cast<uint64_t>(form.chunks));
    launches.push_back(Launch::of(form.kernel(attention.cache), args,
                                  int64_t{attention.batch} * attention.kv_heads * form.tiles,
                                  static_cast<unsigned>(form.threads()),
                                  bytes_of(form.shared_floats(attention.cache)),
                                  static_cast<int64_t>(depth)));
    if (form.chunks == 1) return;
    const int64_t queries = int64_t{attention.batch} * attention.heads * attention.rows;
    const int64_t threads = std::clamp<int64_t>((attention.value_dim + 31) / 32 * 32, 64, 256);
    launches.push_back(Launch::of(Kernel::combine_attention, args, queries,
                                  static_cast<unsigned>(threads), bytes_of(form.chunks + 64)));
  }

  void add_tiles(const AttentionArgs& attention, const TileForm& form, const LaunchContext& context,
                 std::vector<Launch>& launches) const {
    TileAttentionArgs args{};
    args.attention = attention;
    args.row_tiles = tiles_of(attention.rows);
    args.key_tiles = tiles_of(attention.keys);
    args.slices = static_cast<int32_t>((attention.value_dim + form.slice - 1) / form.slice);
    args.stages = static_cast<int32_t>(form.stages);
    if (attention.mask.data != nullptr) {
      args.sight = reinterpret_cast<uint32_t*>(context.scratch);
      args.sight_batches = attention.mask.batch_stride == 0 ? 1 : attention.batch;
      args.sight_heads = attention.mask.head_stride == 0 ? 1 : attention.heads;
      const int64_t blocks = int64_t{args.sight_batches} * args.sight_heads * args.row_tiles;
      launches.push_back(
          Launch::of(Kernel::attention_sight, args, blocks, kTile, 0, args.key_tiles));
    }
    const int64_t blocks =
        int64_t{args.row_tiles} * attention.batch * attention.heads * args.slices;
    launches.push_back(Launch::of(form.kernel(attention.cache), args, blocks, 128,
                                  static_cast<size_t>(form.shared_bytes(attention))));
  }

  AttentionNode node_;
  int64_t scratch_, most_shared_;
  bool uses_tiles_;
};

// Of the parts of a few rows, or the sight of tiles.
int64_t scratch_for(const AttentionNode& node, const std::vector<engine::View>& views) {
  const auto most = [&](size_t view, size_t axis) { return views[view].shape[axis].upper(); };
  const int64_t queries = most(1, 0) * most(1, 1) * std::min(most(1, 2), kFewRows);
  const int64_t chunks = (most(2, 2) + kFewChunk - 1) / kFewChunk;
  const int64_t parts = chunks <= 1 ? 0 : queries * chunks * (most(3, 3) + 2) * 4;
  if (!node.is_masked || most(1, 2) <= kFewRows) return parts;
  int64_t tiles = tiles_of(most(1, 2)) * int64_t{tiles_of(most(2, 2))};
  for (const size_t axis : {0, 1}) {
    const bool repeats = views[AttentionNode::kMask].strides[axis] == mil::Dim(0);
    if (!repeats) tiles *= most(1, axis);
  }
  return std::max(parts, tiles * 16);
}

}  // namespace

LauncherPointer make_launcher_of(const AttentionNode& node, const LauncherSource& source) {
  const auto& views = source.node.views;
  const auto most = [&](size_t view, size_t axis) { return views[view].shape[axis].upper(); };
  for (size_t i = 0; i < 4; ++i) {
    const bool is_cache = i == 2 || i == 3;
    const Storage storage = views[i].storage;
    if (is_cache ? !engine::is_float(storage) || storage != views[2].storage
                 : storage != Storage::F32) {
      return nullptr;
    }
    for (size_t axis = 0; axis < 4; ++axis) {
      if (most(i, axis) >= kMostSize) return nullptr;
    }
  }
  const int64_t floats = most(1, 3) + most(3, 3) + kPlainFloats;
  if (floats * engine::element_size(Storage::F32) > source.limits.shared_bytes) return nullptr;
  return std::make_unique<AttentionLauncher>(node, scratch_for(node, views), source);
}

}  // namespace pippin::cuda
