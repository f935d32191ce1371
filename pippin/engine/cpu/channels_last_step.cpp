#include "pippin/engine/cpu/channels_last_step.h"

#include <algorithm>
#include <limits>

#include "pippin/base/numbers/checked.h"
#include "pippin/base/threads/dealt_range.h"

namespace pippin::engine {
namespace {

using kernels::kConvPlaces;

// Terms that are summed before they are added to the total: their weights stay in the L1 cache for
// all places of a job, and longer sums would lose digits.
constexpr int64_t kTerms = 128;
constexpr int64_t kTilesOfJob = 16;          // of a job at most
constexpr int64_t kPointersOfJob = 1 << 13;  // of a job, if a tile does not need more
constexpr int64_t kOutputsOfJob = 64;        // of a job: each job reads all of x
constexpr int64_t kChannelsAtATime = 128;    // of windows at a time, whose x stays in the L1 cache

int64_t most_tiles(int64_t taps) {
  return std::clamp<int64_t>(kPointersOfJob / (taps * kConvPlaces), 1, kTilesOfJob);
}

// The working memory of a thread.
struct ChannelsLastScratch {
  const float** pointers;
  int64_t* offsets;
  float* outside;
};
int64_t floats_in_front(int64_t taps) {
  return (most_tiles(taps) * kConvPlaces + 1) * taps * 2;
}
ChannelsLastScratch channels_last_scratch(std::byte* bytes, int64_t taps) {
  ChannelsLastScratch scratch{};
  scratch.pointers = reinterpret_cast<const float**>(bytes);
  scratch.offsets =
      reinterpret_cast<int64_t*>(scratch.pointers + most_tiles(taps) * kConvPlaces * taps);
  scratch.outside = reinterpret_cast<float*>(scratch.offsets + taps);
  return scratch;
}
int64_t channels_last_scratch_bytes(int64_t taps, int64_t channels) {
  const int64_t floats = floats_in_front(taps) + channels;
  return (floats * element_size(Storage::F32) + 63) / 64 * 64;
}

// Tiles of a job, chosen so that there are enough jobs.
int64_t tiles_for(int64_t taps, int64_t places, int64_t parts, int64_t wanted) {
  const int64_t all = ceil_div(places, kConvPlaces);
  return std::clamp<int64_t>(all * parts / wanted, 1, most_tiles(taps));
}

// Distributes jobs of `work` in total; one thread does `worth` of it in the time that waking
// another one takes: about 10 us.
template <typename MakeWorker>
void share_jobs(ThreadPool& pool, int64_t jobs, int64_t work, int64_t worth,
                const MakeWorker& make_worker) {
  if (work < worth || jobs < 2) {
    make_worker(0)(Range{0, jobs});
  } else {
    const int64_t most = std::max<int64_t>(1, jobs / (4 * pool.num_threads()));
    deal_items(pool, jobs, std::clamp<int64_t>(worth / (work / jobs + 1), 1, most), make_worker);
  }
}

}  // namespace

struct ChannelsLastConvStep::Job {
  int64_t group;
  int64_t begin, end;    // of the group's outputs
  int64_t first, count;  // places
};

ChannelsLastConvStep::ChannelsLastConvStep(const CpuFeatures& cpu, const ChannelsLastConvNode& node,
                                           const std::vector<Finish>& finishes)
    : PlaneStep(cpu, finishes, /*has_weights=*/true),
      kernels_(kernels::choose_conv(cpu)),
      windows_(node.windows),
      groups_(node.groups),
      bias_(node.has_bias) {}

int64_t ChannelsLastConvStep::scratch_bytes() const {
  return channels_last_scratch_bytes(num_taps(windows_), views[1].shape[1].upper());
}

void ChannelsLastConvStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  if (y.size() == 0) return;
  const PlacePointers places(windows_, x, y);
  const int64_t taps = num_taps(windows_);
  const int64_t count = y.shape[0] * plane_size(y), outputs = y.shape[1] / groups_;
  const int64_t threads = context.pool.num_threads(), wanted = threads > 1 ? 4 * threads : 1;
  // Fewer outputs for each job before fewer places, which keeps weights in the cache.
  const int64_t panels = ceil_div(outputs, kernels_.outputs);
  const int64_t whole = ceil_div(count, most_tiles(taps) * kConvPlaces) * groups_;
  int64_t parts = std::clamp<int64_t>(ceil_div(wanted, whole), 1,
                                      std::max<int64_t>(1, outputs / kOutputsOfJob));
  int64_t tiles = tiles_for(taps, count, groups_ * parts, wanted);
  const int64_t jobs_so = ceil_div(count, tiles * kConvPlaces) * groups_ * parts;
  if (jobs_so < threads) parts = std::min(panels, ceil_div(threads * parts, jobs_so));
  const int64_t each = ceil_div(panels, parts) * kernels_.outputs;
  const int64_t pieces = ceil_div(count, tiles * kConvPlaces);
  const auto make_worker = [&](int part) {
    return [&, part](Range share) {
      for (int64_t index = share.begin; index < share.end; ++index) {
        Job job{};
        job.begin = index % parts * each;
        job.end = std::min(outputs, job.begin + each);
        job.group = index / parts % groups_;
        job.first = index / parts / groups_ * tiles * kConvPlaces;
        job.count = std::min(tiles * kConvPlaces, count - job.first);
        if (job.begin < job.end) {
          compute(context, places, job, context.scratch + part * scratch_bytes());
        }
      }
    };
  };
  const int64_t jobs = pieces * groups_ * parts;
  const int64_t k = std::max<int64_t>(x.shape[1] / groups_ * taps, 8);
  share_jobs(context.pool, jobs, y.size() * k, int64_t{1} << 19, make_worker);
}

void ChannelsLastConvStep::compute(const StepContext& context, const PlacePointers& places,
                                   const Job& job, std::byte* bytes) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  const int64_t taps = num_taps(windows_);
  const int64_t channels = x.shape[1] / groups_;
  const int64_t outputs = y.shape[1] / groups_, width = kernels_.outputs;
  const ChannelsLastScratch scratch = channels_last_scratch(bytes, taps);
  std::fill_n(scratch.outside, channels, 0.0F);
  const PlacePointers::Run run = places.run(job.first, job.count);
  const bool is_run = run.step > 0 && run.count == job.count;
  if (is_run) {
    places.write_first(job.first, job.group * channels, scratch.offsets, scratch.pointers);
  } else {
    places.write(job.first, job.count, job.group * channels, scratch.outside, scratch.offsets,
                 scratch.pointers);
  }
  const float* panels =
      context.operands[2].floats() +
      job.group * kernels::packed_channels_last_weights(kernels_, outputs, taps * channels);
  const int64_t offset = job.group * outputs;
  float* to = y.floats() + job.first * y.shape[1] + offset;
  const int64_t some_channels = ceil_div(channels, ceil_div(channels, kTerms));
  const int64_t some_taps = std::max<int64_t>(1, kTerms / some_channels);
  kernels::ChannelsLastConvArgs args{};
  args.w_stride = channels * width;
  args.y_stride = y.shape[1];
  args.places = job.count;
  args.x_stride = taps * kConvPlaces;
  args.x_step = is_run ? run.step : 0;
  for (int64_t tap = 0; tap < taps; tap += some_taps) {
    args.taps = std::min(some_taps, taps - tap);
    for (int64_t channel = 0; channel < channels; channel += some_channels) {
      args.first = channel;
      args.channels = std::min(some_channels, channels - channel);
      args.add = tap > 0 || channel > 0;
      const bool is_last = tap + args.taps == taps && channel + args.channels == channels;
      args.bounds = is_last ? bounds() : kernels::ConvBounds{};
      for (int64_t output = job.begin; output < job.end; output += width) {
        args.n = std::min(width, job.end - output);
        args.w = panels + (output * taps + tap * width) * channels + channel * width;
        args.bias = bias_ ? context.operands[3].floats() + offset + output : nullptr;
        args.x = scratch.pointers + tap * (is_run ? 1 : kConvPlaces);
        args.y = to + output;
        kernels_.channels_last_tile(args);
      }
    }
  }
  finish_channels_last(context, job.first, job.count, offset + job.begin, offset + job.end, true);
}

ChannelsLastWindowStep::ChannelsLastWindowStep(const CpuFeatures& cpu,
                                               const ChannelsLastWindowNode& node,
                                               const std::vector<Finish>& finishes)
    : PlaneStep(cpu, finishes, node.op == WindowOp::Weights),
      kernels_(kernels::choose_conv(cpu)),
      op_(node.op),
      windows_(node.windows),
      pad_end_(node.pad_end),
      bias_(node.has_bias) {}

int64_t ChannelsLastWindowStep::scratch_bytes() const {
  return channels_last_scratch_bytes(num_taps(windows_), views[1].shape[1].upper());
}

void ChannelsLastWindowStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  if (y.size() == 0) return;
  const PlacePointers places(windows_, context.operands[1], y);
  const int64_t taps = num_taps(windows_), count = y.shape[0] * plane_size(y);
  const int64_t threads = context.pool.num_threads(), wanted = threads > 1 ? 4 * threads : 1;
  const int64_t each = tiles_for(taps, count, 1, wanted) * kConvPlaces;
  const int64_t jobs = ceil_div(count, each);
  const auto make_worker = [&](int part) {
    return [&, part](Range share) {
      for (int64_t job = share.begin; job < share.end; ++job) {
        compute(context, places, job * each, std::min(each, count - job * each),
                context.scratch + part * scratch_bytes());
      }
    };
  };
  share_jobs(context.pool, jobs, y.size() * (taps + 4), int64_t{1} << 17, make_worker);
}

void ChannelsLastWindowStep::compute(const StepContext& context, const PlacePointers& places,
                                     int64_t first, int64_t count,
                                     std::byte* bytes) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t taps = num_taps(windows_), channels = y.shape[1];
  const ChannelsLastScratch scratch = channels_last_scratch(bytes, taps);
  float outside = 0;
  if (op_ == WindowOp::Max) outside = -std::numeric_limits<float>::infinity();
  std::fill_n(scratch.outside, channels, outside);
  kernels::ConvChannelsArgs args{};
  args.x = scratch.pointers;
  args.taps = taps;
  args.y_stride = args.w_stride = channels;
  args.x_stride = taps * kConvPlaces;
  const bool is_bounded = op_ == WindowOp::Weights;
  if (is_bounded) args.bounds = bounds();
  for (int64_t done = 0; done < count; done += args.places) {
    const PlacePointers::Run run = places.run(first + done, count - done);
    args.x_step = run.step;
    args.together = places.together();
    args.places = run.count;
    if (run.step > 0) {
      places.write_first(first + done, 0, scratch.offsets, scratch.pointers);
    } else {
      args.places = std::min(run.count, most_tiles(taps) * kConvPlaces);
      places.write(first + done, args.places, 0, scratch.outside, scratch.offsets,
                   scratch.pointers);
    }
    compute_run(context, args, first + done);
  }
  if (op_ == WindowOp::Average || op_ == WindowOp::Inside) divide(context, first, count);
  finish_channels_last(context, first, count, 0, channels, is_bounded);
}

// All channels of the places from `first` on that `args` describes.
void ChannelsLastWindowStep::compute_run(const StepContext& context, kernels::ConvChannelsArgs args,
                                         int64_t first) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t channels = y.shape[1];
  for (int64_t channel = 0; channel < channels; channel += kChannelsAtATime) {
    args.first = channel;
    args.n = std::min(kChannelsAtATime, channels - channel);
    if (op_ == WindowOp::Weights) args.w = context.operands[2].floats() + channel;
    if (bias_) args.bias = context.operands[3].floats() + channel;
    args.y = y.floats() + first * channels + channel;
    op_ == WindowOp::Max ? kernels_.channels_max(args) : kernels_.channels_sum(args);
  }
}

// Divides sums by the number of places that count.
void ChannelsLastWindowStep::divide(const StepContext& context, int64_t first,
                                    int64_t count) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  for (int64_t place = first; place < first + count; ++place) {
    int64_t rest = place, counted = 1;
    for (size_t axis = kSpatialAxes; axis-- > 0;) {
      const int64_t in = x.shape[axis + 2], out = y.shape[axis + 2];
      counted *= counted_places(windows_[axis], op_, pad_end_[axis], in, out, rest % out);
      rest /= out;
    }
    float* row = y.floats() + place * y.shape[1];
    const auto number = static_cast<float>(counted);
    elementwise().binary(kernels::BinaryOp::Div, row, 1, &number, 0, row, y.shape[1]);
  }
}

}  // namespace pippin::engine
