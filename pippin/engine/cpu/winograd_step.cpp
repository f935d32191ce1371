#include "pippin/engine/cpu/winograd_step.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/dealt_range.h"

namespace pippin::engine {
namespace {

using kernels::kConvPlaces;
using kernels::kWinogradProducts;
using kernels::kWinogradReach;
using kernels::kWinogradSide;

constexpr int64_t kOutputs = 32;       // whose products are kept at a time; also those of a panel
constexpr int64_t kLeastOutputs = 64;  // that justify transforming the elements again
// Padding after the elements of a product, so that those of the next one map to other sets of the
// caches.
constexpr int64_t kApart = 16;

// Tiles of a plane along an axis.
int64_t num_tiles(int64_t size) {
  return ceil_div(size, kWinogradSide);
}

}  // namespace

// Some outputs of some tiles, which are counted row by row through all batches.
struct WinogradStep::Job {
  int64_t first, count;  // tiles
  int64_t begin, end;    // outputs
};

// The working memory of a thread.
struct WinogradStep::Scratch {
  const float** pointers;  // [kTiles / kConvPlaces][36][kConvPlaces], to elements of x
  const float** rows;      // [kTiles], to transformed elements
  int64_t* offsets;        // [36]
  float* outside;          // [channels]
  float* elements;         // [36][tiles][channels], transformed
  float* products;         // [36][tiles][outputs]
  int64_t element_stride, product_stride;
  int64_t bytes;
};

WinogradStep::WinogradStep(const CpuFeatures& cpu, const WinogradNode& node,
                           const std::vector<Finish>& finishes)
    : PlaneStep(cpu, finishes, /*has_weights=*/true),
      kernels_(kernels::choose_conv(cpu)),
      outputs_(std::max(kOutputs, kernels_.outputs)),
      bias_(node.has_bias) {
  for (size_t i = 1; i < kSpatialAxes; ++i) {
    tiles_[i].taps.clear();
    for (int64_t tap = 0; tap < kWinogradReach; ++tap) tiles_[i].taps.push_back(tap);
    tiles_[i].stride = kWinogradSide;
    tiles_[i].pad = node.windows[i].same ? 1 : node.windows[i].pad;
  }
}

WinogradStep::Scratch WinogradStep::scratch_of(std::byte* bytes, int64_t channels) const {
  Scratch scratch{};
  scratch.element_stride = kTiles * channels + kApart;
  scratch.product_stride = kTiles * outputs_ + kApart;
  constexpr int64_t kFront = (kTiles + 1) * kWinogradProducts + kTiles;  // of 8 bytes
  const int64_t floats =
      channels + kWinogradProducts * (scratch.element_stride + scratch.product_stride);
  scratch.bytes =
      (kFront * static_cast<int64_t>(sizeof(int64_t)) + floats * element_size(Storage::F32) + 63) /
      64 * 64;
  if (bytes == nullptr) return scratch;
  scratch.pointers = reinterpret_cast<const float**>(bytes);
  scratch.rows = scratch.pointers + kTiles * kWinogradProducts;
  scratch.offsets = reinterpret_cast<int64_t*>(scratch.rows + kTiles);
  scratch.outside = reinterpret_cast<float*>(scratch.offsets + kWinogradProducts);
  scratch.elements = scratch.outside + channels;
  scratch.products = scratch.elements + kWinogradProducts * scratch.element_stride;
  return scratch;
}

int64_t WinogradStep::scratch_bytes() const {
  return scratch_of(nullptr, views[1].shape[1].upper()).bytes;
}

void WinogradStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  if (y.size() == 0) return;
  Operand grid = y;
  grid.shape[3] = num_tiles(y.shape[3]);
  grid.shape[4] = num_tiles(y.shape[4]);
  const PlacePointers places(tiles_, x, grid);
  const int64_t tiles = grid.shape[0] * plane_size(grid);
  const int64_t pieces = ceil_div(tiles, kTiles), outputs = y.shape[1];
  const int64_t threads = context.pool.num_threads();
  // Enough jobs that all threads end together.
  const int64_t wanted = ceil_div(4 * threads, pieces);
  const int64_t most = std::max<int64_t>(threads > 1 ? 2 : 1, outputs / kLeastOutputs);
  const int64_t panels = ceil_div(outputs, kernels_.outputs);
  const int64_t parts = threads == 1 ? 1 : std::clamp<int64_t>(wanted, 1, std::min(most, panels));
  const int64_t each = ceil_div(panels, parts) * kernels_.outputs;
  const auto make_worker = [&](int part) {
    return [&, part](Range share) {
      const Scratch scratch = scratch_of(context.scratch + part * scratch_bytes(), x.shape[1]);
      for (int64_t index = share.begin; index < share.end; ++index) {
        Job job{};
        job.begin = index % parts * each;
        job.end = std::min(outputs, job.begin + each);
        job.first = index / parts * kTiles;
        job.count = std::min(kTiles, tiles - job.first);
        if (job.begin < job.end) compute(context, places, job, scratch);
      }
    };
  };
  const int64_t jobs = pieces * parts;
  deal_items(context.pool, jobs, 1, make_worker);
}

void WinogradStep::compute(const StepContext& context, const PlacePointers& tiles, const Job& job,
                           const Scratch& scratch) const noexcept {
  const int64_t channels = context.operands[1].shape[1], outputs = context.operands[0].shape[1];
  std::fill_n(scratch.outside, channels, 0.0F);
  tiles.write(job.first, job.count, 0, scratch.outside, scratch.offsets, scratch.pointers);
  for (int64_t tile = 0; tile < job.count; tile += kConvPlaces) {
    kernels_.winograd_in({scratch.pointers + tile * kWinogradProducts,
                          std::min(kConvPlaces, job.count - tile), channels,
                          scratch.elements + tile * channels, scratch.element_stride, channels});
  }
  for (int64_t tile = 0; tile < kTiles; ++tile) {
    scratch.rows[tile] = scratch.elements + std::min(tile, job.count - 1) * channels;
  }
  const int64_t panels = kernels::packed_channels_last_weights(kernels_, outputs, channels);
  kernels::ChannelsLastConvArgs args{};
  args.x = scratch.rows;
  args.x_stride = kConvPlaces;
  args.taps = 1;
  args.channels = channels;
  args.y_stride = outputs_;
  args.places = job.count;
  for (int64_t begin = job.begin; begin < job.end; begin += outputs_) {
    const int64_t end = std::min(job.end, begin + outputs_);
    for (int64_t i = 0; i < kWinogradProducts; ++i) {
      args.first = i * scratch.element_stride;
      for (int64_t output = begin; output < end; output += kernels_.outputs) {
        args.w = context.operands[2].floats() + i * panels + output * channels;
        args.y = scratch.products + i * scratch.product_stride + output - begin;
        args.n = std::min(kernels_.outputs, end - output);
        kernels_.channels_last_tile(args);
      }
    }
    write(context, job, begin, end, scratch);
  }
}

// Writes the outputs [begin, end) of the job's tiles to their places.
void WinogradStep::write(const StepContext& context, const Job& job, int64_t begin, int64_t end,
                         const Scratch& scratch) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t height = y.shape[3], width = y.shape[4], outputs = y.shape[1];
  const int64_t in_row = num_tiles(width), in_column = num_tiles(height);
  for (int64_t done = 0; done < job.count;) {
    // Tiles of one row.
    const int64_t tile = job.first + done, column = tile % in_row;
    const int64_t some = std::min(in_row - column, job.count - done);
    const int64_t h = tile / in_row % in_column * kWinogradSide, w = column * kWinogradSide;
    const int64_t first = (tile / in_row / in_column * height + h) * width + w;
    kernels::WinogradOutArgs args{};
    args.x_stride = scratch.product_stride;
    args.bias = bias_ ? context.operands[3].floats() + begin : nullptr;
    args.outputs = end - begin;
    args.column_stride = outputs;
    args.row_stride = width * outputs;
    args.rows = std::min(kWinogradSide, height - h);
    for (int64_t i = 0; i < some; ++i) {
      args.x = scratch.products + (done + i) * outputs_;
      args.y = y.floats() + (first + i * kWinogradSide) * outputs + begin;
      args.columns = std::min(kWinogradSide, width - w - i * kWinogradSide);
      kernels_.winograd_out(args);
    }
    const int64_t count = std::min(some * kWinogradSide, width - w);
    for (int64_t r = 0; r < args.rows; ++r) {
      finish_channels_last(context, first + r * width, count, begin, end);
    }
    done += some;
  }
}

}  // namespace pippin::engine
