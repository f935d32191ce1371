#include "pippin/engine/steps/window_step.h"

#include <algorithm>
#include <limits>

namespace pippin::engine {
namespace {

constexpr int64_t kWidth = 1024;     // columns of y at a time
constexpr int64_t kBlock = 1 << 13;  // floats of x, if a row of y needs no more
constexpr int64_t kMostFloats = int64_t{1} << 20;
constexpr int64_t kMostWindowTaps = 1 << 14;

// From the start of a window to its last element.
int64_t reach(const WindowAxis& axis) {
  return *std::max_element(axis.taps.begin(), axis.taps.end());
}

// A row of x is kept as the elements 0, s, 2s, ..., then 1, s + 1, ..., so that what a tap reads
// for all columns lies side by side.
int64_t row_floats(const WindowAxis& axis, int64_t width) {
  return axis.stride * (width + reach(axis) / axis.stride);
}

// The floats for `rows` rows of y.
int64_t block_floats(const Windows& windows, int64_t width, int64_t rows) {
  return static_cast<int64_t>(windows[0].taps.size()) *
         ((rows - 1) * windows[1].stride + reach(windows[1]) + 1) * row_floats(windows[2], width);
}

}  // namespace

struct WindowStep::Block {
  int64_t batch, channel, depth;  // channel of x
  int64_t row, rows;
  int64_t column, columns;
  int64_t row_floats, plane_rows;  // of the scratch
  std::array<int64_t, kSpatialAxes> start;
};

WindowStep::WindowStep(const CpuFeatures& cpu, std::string name, WindowOp op, Windows windows,
                       std::array<int64_t, kSpatialAxes> pad_end, bool bias)
    : PlaneStep(cpu),
      kernels_(kernels::choose_conv(cpu)),
      name_(std::move(name)),
      op_(op),
      windows_(std::move(windows)),
      pad_end_(pad_end),
      bias_(bias) {
  for (WindowAxis& axis : windows_) {
    const int64_t least = *std::min_element(axis.taps.begin(), axis.taps.end());
    for (int64_t& tap : axis.taps) tap -= least;
    axis.pad -= least;
  }
}

bool WindowStep::fits(const Windows& windows, const View& x) {
  // A row may be as long as the tile of y that it is for, whatever x is.
  const int64_t width = std::min(kWidth, x.shape[4].upper());
  if (num_taps(windows) > kMostWindowTaps) return false;
  for (const WindowAxis& axis : windows) {
    const auto [least, most] = std::minmax_element(axis.taps.begin(), axis.taps.end());
    if (*most - *least > kMostFloats || axis.stride > kMostFloats) return false;
  }
  Windows moved = windows;
  for (WindowAxis& axis : moved) {
    const int64_t least = *std::min_element(axis.taps.begin(), axis.taps.end());
    for (int64_t& tap : axis.taps) tap -= least;
  }
  const int64_t row = row_floats(moved[2], width);
  return row <= kMostFloats && reach(moved[1]) < kMostFloats / row &&
         block_floats(moved, width, 1) <= kMostFloats;
}

std::string WindowStep::name() const {
  return finished_name(name_ + " (" + kernels_.name + ")");
}

int64_t WindowStep::scratch_bytes() const {
  const int64_t width = std::min(kWidth, views[0].shape[4].upper());
  const int64_t floats = std::max(kBlock, block_floats(windows_, width, 1));
  const int64_t offsets = num_taps(windows_) * static_cast<int64_t>(sizeof(int64_t));
  // The counts of a row and the ones that sums are multiplied with, too.
  const int64_t bytes = (floats + kWidth + num_taps(windows_)) * element_size(Storage::F32);
  return (bytes + offsets + 63) / 64 * 64;
}

int64_t WindowStep::weight_bytes() const {
  if (op_ != WindowOp::Weights) return 0;
  return mil::num_elements(views[2].shape).upper() * element_size(Storage::F32);
}

void WindowStep::run(const StepContext& context) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  if (y.size() == 0) return;
  Block all{};
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    all.start[i] = windows_[i].start(x.shape[i + 2], y.shape[i + 2]);
  }
  const int64_t width = std::min(kWidth, y.shape[4]);
  int64_t rows = y.shape[3];
  while (rows > 1 && block_floats(windows_, width, rows) > kBlock) rows = (rows + 1) / 2;
  const int64_t bands = (y.shape[3] + rows - 1) / rows, tiles = (y.shape[4] + width - 1) / width;
  const int64_t jobs = x.shape[0] * x.shape[1] * y.shape[2] * bands * tiles;
  const auto share = [&](Range range, int part) {
    auto* scratch = reinterpret_cast<float*>(context.scratch + part * scratch_bytes());
    for (int64_t index = range.begin; index < range.end; ++index) {
      Block block = all;
      int64_t rest = index;
      block.column = rest % tiles * width;
      block.columns = std::min(width, y.shape[4] - block.column);
      rest /= tiles;
      block.row = rest % bands * rows;
      block.rows = std::min(rows, y.shape[3] - block.row);
      rest /= bands;
      block.depth = rest % y.shape[2];
      rest /= y.shape[2];
      block.channel = rest % x.shape[1];
      block.batch = rest / x.shape[1];
      block.row_floats = row_floats(windows_[2], block.columns);
      block.plane_rows = (block.rows - 1) * windows_[1].stride + reach(windows_[1]) + 1;
      compute(context, block, scratch);
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 17;
  if (y.size() * (num_taps(windows_) + 4) < kWorthSharing) {
    share(Range{0, jobs}, 0);
  } else {
    context.pool.run([&](int part, int parts) { share(split_range(jobs, part, parts), part); });
  }
}

void WindowStep::compute(const StepContext& context, const Block& block,
                         float* scratch) const noexcept {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  const int64_t taps = num_taps(windows_);
  auto* offsets = reinterpret_cast<int64_t*>(scratch);
  float* ones = scratch + taps * 2;
  float* counts = ones + taps;
  float* rows = counts + kWidth;
  const int64_t floats =
      static_cast<int64_t>(windows_[0].taps.size()) * block.plane_rows * block.row_floats;
  fill(x, block, rows);
  if (op_ == WindowOp::Norm) {
    elementwise().unary(kernels::UnaryOp::Square, rows, rows, floats, 0, 0);
  }
  std::fill_n(ones, taps, 1.0F);
  const int64_t stride = windows_[2].stride, phase = block.row_floats / stride;
  int64_t next = 0;
  for (size_t d = 0; d < windows_[0].taps.size(); ++d) {
    for (const int64_t h : windows_[1].taps) {
      for (const int64_t w : windows_[2].taps) {
        offsets[next++] = (static_cast<int64_t>(d) * block.plane_rows + h) * block.row_floats +
                          w % stride * phase + w / stride;
      }
    }
  }
  const int64_t each = y.shape[1] / x.shape[1];
  for (int64_t i = 0; i < each; ++i) {
    const int64_t channel = block.channel * each + i;
    for (int64_t row = 0; row < block.rows; ++row) {
      const int64_t first =
          (block.depth * y.shape[3] + block.row + row) * y.shape[4] + block.column;
      kernels::ConvWindowArgs args{};
      args.x = rows + row * windows_[1].stride * block.row_floats;
      args.offsets = offsets;
      args.w = op_ == WindowOp::Weights
                   ? context.operands[2].floats() + channel * context.operands[2].strides[0]
                   : ones;
      args.taps = taps;
      args.start = op_ == WindowOp::Max ? -std::numeric_limits<float>::infinity()
                   : bias_              ? context.operands[3].floats()[channel]
                                        : 0;
      args.y = y.floats() + block.batch * y.strides[0] + channel * y.strides[1] + first;
      args.n = block.columns;
      if (op_ == WindowOp::Max) {
        kernels_.window_max(args);
      } else {
        kernels_.window_sum(args);
      }
      if (op_ == WindowOp::Average || op_ == WindowOp::Inside) {
        count(context, block, block.row + row, counts);
        elementwise().binary(kernels::BinaryOp::Div, args.y, 1, counts, 1, args.y, args.n);
      } else if (op_ == WindowOp::Norm) {
        elementwise().unary(kernels::UnaryOp::Sqrt, args.y, args.y, args.n, 0, 0);
      }
      finish(context, block.batch, channel, first, args.n);
    }
  }
}

// The rows of x that the block's windows reach, with what does not count around them.
void WindowStep::fill(const Operand& x, const Block& block, float* rows) const noexcept {
  const float* plane = x.floats() + block.batch * x.strides[0] + block.channel * x.strides[1];
  const int64_t stride = windows_[2].stride, phase = block.row_floats / stride;
  const int64_t left = block.column * stride + block.start[2];
  kernels::ConvPackArgs args{};
  args.channels = 1;
  args.x_step = stride * x.strides[4];
  args.fill = op_ == WindowOp::Max ? -std::numeric_limits<float>::infinity() : 0;
  float* row = rows;
  for (const int64_t tap : windows_[0].taps) {
    const int64_t d = block.depth * windows_[0].stride + block.start[0] + tap;
    for (int64_t r = 0; r < block.plane_rows; ++r, row += block.row_floats) {
      const int64_t h = block.row * windows_[1].stride + block.start[1] + r;
      const bool inside = d >= 0 && d < x.shape[2] && h >= 0 && h < x.shape[3];
      for (int64_t p = 0; p < stride; ++p) {
        const int64_t w = left + p;
        args.before = args.count = 0;
        if (inside) {
          args.before = w >= 0 ? 0 : std::min(phase, (stride - 1 - w) / stride);
          const int64_t end = w < x.shape[4] ? (x.shape[4] - w + stride - 1) / stride : 0;
          args.count = std::max<int64_t>(0, std::min(phase, end) - args.before);
          args.x = plane + d * x.strides[2] + h * x.strides[3] +
                   (w + args.before * stride) * x.strides[4];
        }
        args.after = phase - args.before - args.count;
        args.y = row + p * phase;
        kernels_.pack(args);
      }
    }
  }
}

int64_t WindowStep::places(const StepContext& context, size_t axis, int64_t i) const noexcept {
  const WindowAxis& windows = windows_[axis];
  const int64_t in = context.operands[1].shape[axis + 2], out = context.operands[0].shape[axis + 2];
  const int64_t start = windows.start(in, out) + i * windows.stride;
  const int64_t end = start + reach(windows) + 1;
  if (op_ == WindowOp::Inside) {
    return std::clamp<int64_t>(end, 0, in) - std::clamp<int64_t>(start, 0, in);
  }
  return (windows.same ? end : std::min(end, in + pad_end_[axis])) - start;
}

void WindowStep::count(const StepContext& context, const Block& block, int64_t row,
                       float* counts) const noexcept {
  const int64_t others = places(context, 0, block.depth) * places(context, 1, row);
  for (int64_t i = 0; i < block.columns; ++i) {
    counts[i] = static_cast<float>(others * places(context, 2, block.column + i));
  }
}

}  // namespace pippin::engine
