#include "pippin/engine/cpu/conv_step.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/dealt_range.h"

namespace pippin::engine {
namespace {

// Rows of a panel of x that are multiplied by all weights: 24 KB at most stay in the L1 cache, and
// longer sums would lose digits.
constexpr int64_t kPiece = 128;
constexpr int64_t kPanels =
    4;  // panels of x that are multiplied by a piece of the weights while it is in L2
constexpr int64_t kLeastOutputs = 64;  // of a job: for fewer, packing x takes too long

}  // namespace

// Some outputs of a group at some places.
struct ConvStep::Job {
  int64_t batch, group;
  int64_t begin, end;    // of the group's outputs
  int64_t first, count;  // places
  int64_t k;             // taps times the group's channels
  std::array<int64_t, kSpatialAxes> start;
};

ConvStep::ConvStep(const CpuFeatures& cpu, const ConvNode& node,
                   const std::vector<Finish>& finishes)
    : PlaneStep(cpu, finishes, /*has_weights=*/true),
      kernels_(kernels::choose_conv(cpu)),
      pairs_(node.operands == ConvNode::Operands::Pairs),
      windows_(node.windows),
      groups_(node.groups),
      bias_(node.has_bias),
      pointwise_(is_pointwise(windows_)) {}

int64_t ConvStep::scratch_bytes() const {
  return kPiece * kernels_.columns * element_size(Storage::F32);
}

void ConvStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  if (y.size() == 0) return;
  const int64_t outputs = y.shape[1] / groups_, k = x.shape[1] / groups_ * num_taps(windows_);
  const int64_t places = plane_size(y), threads = context.pool.num_threads();
  // Enough jobs for all threads: first fewer outputs for each, which keeps weights in the cache for
  // all places, then fewer places, down to the size at which packing still pays off.
  const int64_t wanted = threads > 1 ? 4 * threads : 1;
  int64_t width = std::min(kPanels, ceil_div(places, kernels_.columns)) * kernels_.columns;
  const auto tiles = [&] { return y.shape[0] * groups_ * ceil_div(places, width); };
  const int64_t panels = ceil_div(outputs, kernels_.rows);
  const auto parts_of = [&](int64_t jobs, int64_t most) {
    return std::clamp<int64_t>(ceil_div(jobs, tiles()), 1, std::max<int64_t>(1, most));
  };
  int64_t parts = parts_of(wanted, outputs / kLeastOutputs);
  while (width > kernels_.columns && tiles() * parts < wanted) width -= kernels_.columns;
  if (tiles() * parts < threads) parts = parts_of(threads, panels);
  const int64_t rows = ceil_div(panels, parts) * kernels_.rows;

  Job all{};
  all.k = k;
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    all.start[i] = windows_[i].start(x.shape[i + 2], y.shape[i + 2]);
  }
  const int64_t pieces = ceil_div(places, width);
  const auto make_worker = [&](int part) {
    return [&, part](Range share) {
      auto* scratch = reinterpret_cast<float*>(context.scratch + part * scratch_bytes());
      for (int64_t index = share.begin; index < share.end; ++index) {
        Job job = all;
        int64_t rest = index;
        job.begin = rest % parts * rows;
        job.end = std::min(outputs, job.begin + rows);
        rest /= parts;
        job.first = rest % pieces * width;
        job.count = std::min(width, places - job.first);
        rest /= pieces;
        job.group = rest % groups_;
        job.batch = rest / groups_;
        if (job.begin < job.end) compute(context, job, scratch);
      }
    };
  };
  const int64_t jobs = tiles() * parts;
  constexpr int64_t kWorthSharing = int64_t{1} << 19;  // multiplications: about 10 us of one thread
  if (y.shape[0] * y.shape[1] * places * std::max<int64_t>(k, 8) < kWorthSharing) {
    make_worker(0)(Range{0, jobs});
  } else {
    deal_items(context.pool, jobs, 1, make_worker);
  }
}

void ConvStep::compute(const StepContext& context, const Job& job, float* scratch) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t columns = kernels_.columns, outputs = y.shape[1] / groups_;
  const int64_t panel = kernels_.rows * job.k;
  const int64_t channel = job.group * outputs + job.begin;
  const float* w = context.operands[2].floats() +
                   job.group * kernels::packed_conv_weights(kernels_, outputs, job.k) +
                   job.begin / kernels_.rows * panel;
  for (int64_t k = 0; k == 0 || k < job.k; k += kPiece) {
    kernels::ConvTileArgs args{};
    args.w = w + k * kernels_.rows;
    args.w_stride = panel;
    args.bias = bias_ ? context.operands[pairs_ ? 4 : 3].floats() + channel : nullptr;
    args.add = k > 0;
    args.y_stride = y.strides[1];
    args.m = job.end - job.begin;
    args.k = std::min(kPiece, job.k - k);
    const bool last = k + args.k == job.k;
    if (pairs_ && last) args.scales = context.operands[3].floats() + channel;
    float* plane = y.floats() + job.batch * y.strides[0] + channel * y.strides[1];
    for (int64_t done = 0; done < job.count; done += columns) {
      args.n = std::min(columns, job.count - done);
      args.y = plane + job.first + done;
      const float* there = as_it_lies(context, job, job.first + done, k);
      args.x = there != nullptr ? there : scratch;
      args.x_stride = there != nullptr ? context.operands[1].strides[1] : columns;
      if (there == nullptr) pack(context, job, job.first + done, args.n, k, args.k, scratch);
      pairs_ ? kernels_.tile_pairs(args) : kernels_.tile(args);
    }
  }
  for (int64_t i = 0; i < job.end - job.begin; ++i) {
    finish(context, job.batch, channel + i, job.first, job.count);
  }
}

// Returns row k of the unfolded input at the places from `first` on if they lie in memory like a
// panel of x that is multiplied by few outputs only; else null.
const float* ConvStep::as_it_lies(const StepContext& context, const Job& job, int64_t first,
                                  int64_t k) const noexcept {
  constexpr int64_t kMostOutputs = 32;
  const Operand& x = context.operands[1];
  const int64_t places = plane_size(context.operands[0]);
  const bool as_panel = pointwise_ && job.end - job.begin <= kMostOutputs && x.strides[4] == 1 &&
                        x.shape[4] == places && first + kernels_.columns <= places;
  if (!as_panel) return nullptr;
  const int64_t channel = job.group * (x.shape[1] / groups_) + k;
  return x.floats() + job.batch * x.strides[0] + channel * x.strides[1] + first;
}

// The rows [k, k + k_count) of the unfolded input at the `count` places from `first` on.
void ConvStep::pack(const StepContext& context, const Job& job, int64_t first, int64_t count,
                    int64_t k, int64_t k_count, float* panel) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  const int64_t channels = x.shape[1] / groups_, columns = kernels_.columns;
  const int64_t width = y.shape[4], last = k + k_count;
  const auto taps_of = [&](size_t i) { return static_cast<int64_t>(windows_[i].taps.size()); };
  const float* base = x.floats() + job.batch * x.strides[0];
  for (int64_t row = k; row < last;) {
    const int64_t tap = row / channels, channel = row % channels;
    const int64_t some = std::min(channels - channel, last - row);
    const std::array<int64_t, kSpatialAxes> index = {
        tap / taps_of(2) / taps_of(1), tap / taps_of(2) % taps_of(1), tap % taps_of(2)};
    std::array<int64_t, kSpatialAxes> from;  // of window 0
    for (size_t i = 0; i < kSpatialAxes; ++i) {
      from[i] = job.start[i] + windows_[i].taps[static_cast<size_t>(index[i])];
    }
    // One row of y at a time.
    for (int64_t done = 0; done < count;) {
      const int64_t place = first + done;
      const int64_t ow = place % width, oh = place / width % y.shape[3];
      const int64_t od = place / width / y.shape[3];
      const int64_t length = std::min(width - ow, count - done);
      const int64_t d = od * windows_[0].stride + from[0], h = oh * windows_[1].stride + from[1];
      const int64_t stride = windows_[2].stride, w = ow * stride + from[2];
      kernels::ConvPackArgs args{};
      if (d >= 0 && d < x.shape[2] && h >= 0 && h < x.shape[3]) {
        // Elements w, w + stride, ... that are in [0, x.shape[4]).
        args.before = w >= 0 ? 0 : std::min(length, ceil_div(-w, stride));
        const int64_t inside = w < x.shape[4] ? ceil_div(x.shape[4] - w, stride) : 0;
        args.count = std::max<int64_t>(0, std::min(length, inside) - args.before);
        args.x = base + (job.group * channels + channel) * x.strides[1] + d * x.strides[2] +
                 h * x.strides[3] + (w + args.before * stride) * x.strides[4];
      }
      args.after = length - args.before - args.count;
      args.x_step = stride * x.strides[4];
      args.x_stride = x.strides[1];
      args.y = panel + (row - k) * columns + done;
      args.y_stride = columns;
      args.channels = some;
      kernels_.pack(args);
      done += length;
    }
    row += some;
  }
}

void PackConvStep::run(const StepContext& context) const noexcept {
  const Operand& panels = context.operands[0];
  const Operand& w = context.operands[1];
  std::fill_n(panels.floats(), panels.size(), 0.0F);
  const int64_t outputs = w.shape[0] / groups_, k = w.shape[1];
  for (int64_t i = 0; i < w.shape[0]; ++i) {
    kernels::pack_conv_weights(
        kernels_, w.floats() + i * k, k / taps_, taps_, i % outputs,
        panels.floats() + i / outputs * kernels::packed_conv_weights(kernels_, outputs, k));
  }
}

}  // namespace pippin::engine
