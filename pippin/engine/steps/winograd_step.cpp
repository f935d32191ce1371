#include "pippin/engine/steps/winograd_step.h"

#include <algorithm>

#include "pippin/base/checked.h"
#include "pippin/base/dealt_range.h"

namespace pippin::engine {
namespace {

using kernels::kWinogradProducts;
using kernels::kWinogradReach;
using kernels::kWinogradSide;

constexpr int64_t kOutputs = 32;       // whose products are kept at a time
constexpr int64_t kLeastOutputs = 64;  // that are worth transforming the elements anew
// Behind the panels of a product, so that those of the next begin in other sets of the caches.
constexpr int64_t kApart = 16;

}  // namespace

// Some outputs at some tiles of a plane, which are counted row by row.
struct WinogradStep::Job {
  int64_t batch;
  int64_t first, count;  // tiles
  int64_t begin, end;    // outputs
};

// What a thread has for itself.
struct WinogradStep::Scratch {
  float* elements;  // [36][channels][columns], transformed
  float* products;  // [36][outputs][columns]
  int64_t element_stride, product_stride;
  float* rows;     // of y
  float* patches;  // [columns][6][6]: tiles that reach over an edge
};

WinogradStep::WinogradStep(const CpuFeatures& cpu, Windows windows, bool bias)
    : PlaneStep(cpu),
      kernels_(kernels::choose_conv(cpu)),
      windows_(std::move(windows)),
      bias_(bias) {}

bool WinogradStep::fits(const Windows& windows) {
  const std::vector<int64_t> one = {0}, three = {0, 1, 2};
  return windows[0].taps == one && windows[0].pad == 0 && windows[0].stride == 1 &&
         std::all_of(windows.begin() + 1, windows.end(), [&](const WindowAxis& axis) {
           return axis.taps == three && axis.stride == 1;
         });
}

std::string WinogradStep::name() const {
  return finished_name(std::string("conv by Winograd (") + kernels_.name + ")");
}

WinogradStep::Scratch WinogradStep::scratch_of(std::byte* bytes, int64_t channels) const {
  Scratch scratch{};
  scratch.element_stride = channels * kernels_.columns + kApart;
  scratch.product_stride = kOutputs * kernels_.columns + kApart;
  if (bytes == nullptr) return scratch;
  scratch.elements = reinterpret_cast<float*>(bytes);
  scratch.products = scratch.elements + kWinogradProducts * scratch.element_stride;
  scratch.rows = scratch.products + kWinogradProducts * scratch.product_stride;
  scratch.patches =
      scratch.rows + kWinogradSide * (kWinogradSide * kernels_.columns + kernels::kWinogradSlack);
  return scratch;
}

int64_t WinogradStep::scratch_bytes() const {
  const Scratch scratch = scratch_of(nullptr, views[1].shape[1].upper());
  const int64_t floats =
      kWinogradProducts * (scratch.element_stride + scratch.product_stride) +
      kWinogradSide * (kWinogradSide * kernels_.columns + kernels::kWinogradSlack) +
      kWinogradProducts * kernels_.columns;
  return floats * element_size(Storage::F32);
}

int64_t WinogradStep::weight_bytes() const {
  return mil::num_elements(views[2].shape).upper() * element_size(Storage::F32);
}

void WinogradStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  if (y.size() == 0) return;
  const int64_t tiles = ceil_div(y.shape[3], kWinogradSide) * ceil_div(y.shape[4], kWinogradSide);
  const int64_t pieces = ceil_div(tiles, kernels_.columns), outputs = y.shape[1];
  const int64_t threads = context.pool.num_threads();
  // Enough jobs for all threads to end together.
  const int64_t wanted = ceil_div(4 * threads, y.shape[0] * pieces);
  const int64_t most = std::max<int64_t>(threads > 1 ? 2 : 1, outputs / kLeastOutputs);
  const int64_t panels = ceil_div(outputs, kernels_.rows);
  const int64_t parts = threads == 1 ? 1 : std::clamp<int64_t>(wanted, 1, std::min(most, panels));
  const int64_t each = ceil_div(panels, parts) * kernels_.rows;
  const auto make_worker = [&](int part) {
    return [&, part](Range share) {
      const Scratch scratch =
          scratch_of(context.scratch + part * scratch_bytes(), context.operands[1].shape[1]);
      for (int64_t index = share.begin; index < share.end; ++index) {
        Job job{};
        job.begin = index % parts * each;
        job.end = std::min(outputs, job.begin + each);
        job.first = index / parts % pieces * kernels_.columns;
        job.count = std::min(kernels_.columns, tiles - job.first);
        job.batch = index / parts / pieces;
        if (job.begin < job.end) compute(context, job, scratch);
      }
    };
  };
  const int64_t jobs = y.shape[0] * pieces * parts;
  deal_range(context.pool, jobs, 1, std::min(jobs / 8, 4 * threads), make_worker);
}

void WinogradStep::compute(const StepContext& context, const Job& job,
                           const Scratch& scratch) const noexcept {
  const int64_t channels = context.operands[1].shape[1];
  transform(context, job, scratch);
  const float* weights = context.operands[2].floats();
  const int64_t panels =
      kernels::packed_conv_weights(kernels_, context.operands[0].shape[1], channels);
  constexpr int64_t kRow = kWinogradSide;
  for (int64_t output = job.begin; output < job.end; output += kOutputs) {
    kernels::ConvTileArgs args{};
    args.w_stride = kernels_.rows * channels;
    args.x_stride = args.y_stride = kernels_.columns;
    args.m = std::min(kOutputs, job.end - output);
    args.n = job.count;
    args.k = channels;
    for (int64_t i = 0; i < kWinogradProducts; ++i) {
      args.w = weights + i * panels + output * channels;
      args.x = scratch.elements + i * scratch.element_stride;
      args.y = scratch.products + i * scratch.product_stride;
      kernels_.tile(args);
    }
    for (int64_t i = 0; i < args.m; ++i) {
      const float bias = bias_ ? context.operands[3].floats()[output + i] : 0;
      kernels_.winograd_out({scratch.products + i * kernels_.columns, scratch.product_stride,
                             job.count, bias, scratch.rows,
                             kRow * kernels_.columns + kernels::kWinogradSlack});
      write(context, job, output + i, scratch.rows);
    }
  }
}

// The job's tiles of all channels.
void WinogradStep::transform(const StepContext& context, const Job& job,
                             const Scratch& scratch) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  constexpr int64_t kMostColumns = 64;
  struct Edge {
    float* to;
    int64_t from, rows, columns;  // of the plane
  };
  const float* starts[kMostColumns];
  int64_t strides[kMostColumns];
  Edge edges[kMostColumns];
  int64_t inside[kMostColumns];
  int64_t num_edges = 0, num_inside = 0;
  const float* plane = x.floats() + job.batch * x.strides[0];
  const int64_t top = windows_[1].start(x.shape[3], y.shape[3]);
  const int64_t left = windows_[2].start(x.shape[4], y.shape[4]);
  const int64_t width = ceil_div(y.shape[4], kWinogradSide);
  for (int64_t t = 0; t < job.count; ++t) {
    const int64_t h = (job.first + t) / width * kWinogradSide + top;
    const int64_t w = (job.first + t) % width * kWinogradSide + left;
    if (h >= 0 && h + kWinogradReach <= x.shape[3] && w >= 0 && w + kWinogradReach <= x.shape[4]) {
      starts[t] = plane + h * x.strides[3] + w;
      strides[t] = x.strides[3];
      inside[num_inside++] = t;
      continue;
    }
    float* patch = scratch.patches + t * kWinogradProducts;
    std::fill_n(patch, kWinogradProducts, 0.0F);
    starts[t] = patch;
    strides[t] = kWinogradReach;
    const int64_t h0 = std::max<int64_t>(h, 0), w0 = std::max<int64_t>(w, 0);
    const int64_t rows = std::min(h + kWinogradReach, x.shape[3]) - h0;
    const int64_t columns = std::min(w + kWinogradReach, x.shape[4]) - w0;
    if (rows <= 0 || columns <= 0) continue;
    edges[num_edges++] = {patch + (h0 - h) * kWinogradReach + (w0 - w), h0 * x.strides[3] + w0,
                          rows, columns};
  }
  for (int64_t channel = 0; channel < x.shape[1]; ++channel) {
    for (int64_t i = 0; i < num_edges; ++i) {
      const Edge& edge = edges[i];
      for (int64_t r = 0; r < edge.rows; ++r) {
        const float* from = plane + edge.from + r * x.strides[3];
        float* to = edge.to + r * kWinogradReach;
        for (int64_t c = 0; c < edge.columns; ++c) to[c] = from[c];
      }
    }
    kernels_.winograd_in({starts, strides, job.count, scratch.elements + channel * kernels_.columns,
                          scratch.element_stride});
    for (int64_t i = 0; i < num_inside; ++i) starts[inside[i]] += x.strides[1];
    plane += x.strides[1];
  }
}

// Rows of the job's tiles to their places in an output's plane.
void WinogradStep::write(const StepContext& context, const Job& job, int64_t channel,
                         const float* rows) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t width = ceil_div(y.shape[4], kWinogradSide);
  float* plane = y.floats() + job.batch * y.strides[0] + channel * y.strides[1];
  for (int64_t done = 0; done < job.count;) {
    const int64_t tile = job.first + done, h = tile / width * kWinogradSide;
    const int64_t some = std::min(width - tile % width, job.count - done);
    const int64_t w = tile % width * kWinogradSide;
    const int64_t count = std::min(some * kWinogradSide, y.shape[4] - w);
    for (int64_t r = 0; r < std::min(kWinogradSide, y.shape[3] - h); ++r) {
      const int64_t first = (h + r) * y.shape[4] + w;
      std::copy_n(rows + r * (kWinogradSide * kernels_.columns + kernels::kWinogradSlack) +
                      done * kWinogradSide,
                  count, plane + first);
      finish(context, job.batch, channel, first, count);
    }
    done += some;
  }
}

}  // namespace pippin::engine
