#include "pippin/engine/cpu/window_step.h"

#include <algorithm>
#include <limits>

#include "pippin/engine/cpu/limits.h"

namespace pippin::engine {
namespace {

constexpr int64_t kWidth = 1024;     // columns of y at a time
constexpr int64_t kBlock = 1 << 13;  // floats of x, unless a row of y needs more
constexpr int64_t kNarrow = 64;      // columns; fewer do not justify a call for each row
constexpr int64_t kMostFloats = int64_t{1} << 20;
constexpr int64_t kMostWindowTaps = 1 << 14;

// Distance from the start of a window to its last element.
int64_t reach(const WindowAxis& axis) {
  return *std::max_element(axis.taps.begin(), axis.taps.end());
}

// Number of positions modulo the stride at which windows have taps.
int64_t phases_of(const WindowAxis& axis) {
  return std::min(axis.stride, reach(axis) + 1);
}
// Elements of a phase for that many places of y.
int64_t phase_size(const WindowAxis& axis, int64_t places) {
  return places + reach(axis) / axis.stride;
}

// The rows and columns of x are stored as the elements 0, s, 2s, ..., then 1, s + 1, ..., one plane
// for each pair of phases, so that the elements of a tap for all places are adjacent.
int64_t row_floats(const WindowAxis& axis, int64_t width) {
  return phases_of(axis) * phase_size(axis, width);
}

// Number of floats for `rows` rows of y.
int64_t block_floats(const Windows& windows, int64_t width, int64_t rows) {
  return static_cast<int64_t>(windows[0].taps.size()) * row_floats(windows[1], rows) *
         row_floats(windows[2], width);
}

// The range of indices of first, first + stride, ... (`count` of them) that lie in [0, size).
struct Span {
  int64_t begin, end;
};
Span span_of(int64_t first, int64_t stride, int64_t size, int64_t count) {
  const int64_t begin = first < 0 ? (stride - 1 - first) / stride : 0;
  const int64_t end = first < size ? (size - first + stride - 1) / stride : 0;
  return {std::min(begin, count), std::max(std::min(begin, count), std::min(end, count))};
}

}  // namespace

int64_t counted_places(const WindowAxis& windows, WindowOp op, int64_t pad_end, int64_t in,
                       int64_t out, int64_t i) {
  const int64_t start = windows.start(in, out) + i * windows.stride;
  const int64_t end = start + reach(windows) + 1;
  if (op == WindowOp::Inside) {
    return std::clamp<int64_t>(end, 0, in) - std::clamp<int64_t>(start, 0, in);
  }
  return (windows.same ? end : std::min(end, in + pad_end)) - start;
}

struct WindowStep::Block {
  int64_t batch, channel, depth;  // channel of x
  int64_t row, rows;
  int64_t column, columns;
  int64_t phase_rows, phase_columns;  // of each plane in the scratch
  std::array<int64_t, kSpatialAxes> start;
};

WindowStep::WindowStep(const CpuFeatures& cpu, const WindowNode& node,
                       const std::vector<Finish>& finishes)
    : PlaneStep(cpu, finishes, node.op == WindowOp::Weights),
      kernels_(kernels::choose_conv(cpu)),
      op_(node.op),
      windows_(node.windows),
      pad_end_(node.pad_end),
      bias_(node.has_bias) {
  for (WindowAxis& axis : windows_) {
    const int64_t least = *std::min_element(axis.taps.begin(), axis.taps.end());
    for (int64_t& tap : axis.taps) tap -= least;
    axis.pad -= least;
  }
}

bool fits_windows(const Windows& windows, const View& x) {
  // A row can be as long as the tile of y that it is for, whatever the size of x.
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
  return row <= kMostFloats && row_floats(moved[1], 1) < kMostFloats / row &&
         block_floats(moved, width, 1) <= kMostFloats;
}

int64_t WindowStep::scratch_bytes() const {
  const int64_t width = std::min(kWidth, views[0].shape[4].upper());
  const int64_t floats = std::max(kBlock, block_floats(windows_, width, 1));
  const int64_t offsets = num_taps(windows_) * static_cast<int64_t>(sizeof(int64_t));
  // Includes the counts of a row and the factors of sums; narrow rows of y like x.
  const int64_t bytes = (2 * floats + kWidth + num_taps(windows_)) * element_size(Storage::F32);
  return (bytes + offsets + 63) / 64 * 64;
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
      block.phase_rows = phase_size(windows_[1], block.rows);
      block.phase_columns = phase_size(windows_[2], block.columns);
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
  const int64_t plane = block.phase_rows * block.phase_columns;
  const int64_t h_phases = phases_of(windows_[1]), w_phases = phases_of(windows_[2]);
  const int64_t floats =
      static_cast<int64_t>(windows_[0].taps.size()) * h_phases * w_phases * plane;
  float* strip = rows + floats;
  fill(x, block, rows);
  if (op_ == WindowOp::Norm) {
    elementwise().unary(kernels::UnaryOp::Square, rows, rows, floats, 0, 0);
  }
  std::fill_n(ones, taps, 1.0F);
  const int64_t h_stride = windows_[1].stride, w_stride = windows_[2].stride;
  int64_t next = 0;
  for (size_t d = 0; d < windows_[0].taps.size(); ++d) {
    for (const int64_t h : windows_[1].taps) {
      for (const int64_t w : windows_[2].taps) {
        const int64_t phase =
            (static_cast<int64_t>(d) * h_phases + h % h_stride) * w_phases + w % w_stride;
        offsets[next++] = phase * plane + h / h_stride * block.phase_columns + w / w_stride;
      }
    }
  }
  const int64_t each = y.shape[1] / x.shape[1];
  for (int64_t i = 0; i < each; ++i) {
    const int64_t channel = block.channel * each + i;
    const int64_t first = (block.depth * y.shape[3] + block.row) * y.shape[4] + block.column;
    float* to = y.floats() + block.batch * y.strides[0] + channel * y.strides[1] + first;
    kernels::ConvWindowArgs args{};
    args.offsets = offsets;
    args.w = op_ == WindowOp::Weights
                 ? context.operands[2].floats() + channel * context.operands[2].strides[0]
                 : ones;
    args.taps = taps;
    args.start = op_ == WindowOp::Max ? -std::numeric_limits<float>::infinity()
                 : bias_              ? context.operands[3].floats()[channel]
                                      : 0;
    const auto window = op_ == WindowOp::Max ? kernels_.window_max : kernels_.window_sum;
    if (block.columns < kNarrow) {
      // All rows as one, including unused places between them; a call for each row would take most
      // of the time.
      args.x = rows;
      args.y = strip;
      args.n = (block.rows - 1) * block.phase_columns + block.columns;
      window(args);
      kernels_.pack(
          {strip, 1, block.phase_columns, to, y.shape[4], block.rows, 0, block.columns, 0, 0});
    } else {
      args.n = block.columns;
      for (int64_t row = 0; row < block.rows; ++row) {
        args.x = rows + row * block.phase_columns;
        args.y = to + row * y.shape[4];
        window(args);
      }
    }
    const bool whole = block.columns == y.shape[4];
    for (int64_t row = 0; row < block.rows; ++row) {
      float* line = to + row * y.shape[4];
      if (op_ == WindowOp::Average || op_ == WindowOp::Inside) {
        count(context, block, block.row + row, counts);
        elementwise().binary(kernels::BinaryOp::Div, line, 1, counts, 1, line, block.columns);
      } else if (op_ == WindowOp::Norm) {
        elementwise().unary(kernels::UnaryOp::Sqrt, line, line, block.columns, 0, 0);
      }
      if (!whole) {
        finish(context, block.batch, channel, first + row * y.shape[4], block.columns);
      }
    }
    if (whole) finish(context, block.batch, channel, first, block.rows * block.columns);
  }
}

// Copies the rows of x under the block's windows, with neutral values around them.
void WindowStep::fill(const Operand& x, const Block& block, float* rows) const noexcept {
  const float* plane = x.floats() + block.batch * x.strides[0] + block.channel * x.strides[1];
  const int64_t w_stride = windows_[2].stride, h_stride = windows_[1].stride;
  kernels::ConvPackArgs args{};
  args.x_step = w_stride * x.strides[4];
  args.x_stride = h_stride * x.strides[3];
  args.y = rows;
  args.y_stride = block.phase_columns;
  args.fill = op_ == WindowOp::Max ? -std::numeric_limits<float>::infinity() : 0;
  const auto put = [&](int64_t lines) {
    args.channels = lines;
    if (lines > 0) kernels_.pack(args);
    args.y += lines * block.phase_columns;
  };
  for (const int64_t tap : windows_[0].taps) {
    const int64_t d = block.depth * windows_[0].stride + block.start[0] + tap;
    const bool inside = d >= 0 && d < x.shape[2];
    for (int64_t p = 0; p < phases_of(windows_[1]); ++p) {
      const Span lines = span_of(block.row * h_stride + block.start[1] + p, h_stride, x.shape[3],
                                 inside ? block.phase_rows : 0);
      for (int64_t q = 0; q < phases_of(windows_[2]); ++q) {
        const int64_t w = block.column * w_stride + block.start[2] + q;
        const Span columns = span_of(w, w_stride, x.shape[4], block.phase_columns);
        const auto put_nothing = [&](int64_t count) {
          args.before = args.count = 0;
          args.after = block.phase_columns;
          put(count);
        };
        put_nothing(lines.begin);
        args.before = columns.begin;
        args.count = columns.end - columns.begin;
        args.after = block.phase_columns - columns.end;
        if (args.count > 0 && lines.begin < lines.end) {
          const int64_t h = block.start[1] + p + (block.row + lines.begin) * h_stride;
          args.x = plane + d * x.strides[2] + h * x.strides[3] +
                   (w + columns.begin * w_stride) * x.strides[4];
        }
        put(lines.end - lines.begin);
        put_nothing(block.phase_rows - lines.end);
      }
    }
  }
}

void WindowStep::count(const StepContext& context, const Block& block, int64_t row,
                       float* counts) const noexcept {
  const auto places = [&](size_t axis, int64_t i) {
    return counted_places(windows_[axis], op_, pad_end_[axis], context.operands[1].shape[axis + 2],
                          context.operands[0].shape[axis + 2], i);
  };
  const int64_t others = places(0, block.depth) * places(1, row);
  for (int64_t i = 0; i < block.columns; ++i) {
    counts[i] = static_cast<float>(others * places(2, block.column + i));
  }
}

}  // namespace pippin::engine
