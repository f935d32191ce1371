// Launchers of elements written or picked by position.
#include <bit>

#include "pippin/cuda/kernels/move_args.h"
#include "pippin/cuda/launchers/element_grid.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/weight_store.h"

namespace pippin::cuda {
namespace {

using engine::Operand;
using engine::Storage;

int32_t element_bytes(const Operand& operand) {
  return static_cast<int32_t>(engine::element_size(operand.storage));
}

// A thread for each element.
template <typename Args>
void add_elements(Kernel kernel, const Args& args, std::vector<Launch>& launches) {
  if (args.count > 0) launches.push_back(element_launch(kernel, args, args.count));
}

class RangeLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const RangeArgs args{y.data, context.operands[1].data, context.operands[2].data, y.shape[0],
                         y.storage != Storage::F32};
    add_elements(Kernel::range, args, launches);
  }
};

class BandLauncher : public Launcher {
 public:
  explicit BandLauncher(const engine::BandNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const BandArgs args{
        y.data,      context.operands[1].data, y.shape[1], y.shape[2], y.size(), node_.lower,
        node_.upper, element_bytes(y)};
    add_elements(Kernel::band, args, launches);
  }

 private:
  engine::BandNode node_;
};

class ReverseLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& lengths = context.operands[2];
    const ReverseArgs args{y.data,
                           context.operands[1].data,
                           lengths.ints(),
                           context.failed,
                           lengths.strides[0],
                           y.shape[1],
                           y.shape[2],
                           y.size(),
                           element_bytes(y)};
    add_elements(Kernel::reverse_sequence, args, launches);
  }
};

class PickLauncher : public Launcher {
 public:
  PickLauncher(const engine::PickNode& node, const LauncherSource& source)
      : first_(upload(node.first, source)) {
    if (node.part.empty()) return;
    second_ = upload(node.second, source);
    part_ = upload(node.part, source);
  }
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    PickArgs args{};
    args.y = y.floats();
    args.x = context.operands[1].floats();
    args.first = reinterpret_cast<const int64_t*>(first_->data);
    if (part_ != nullptr) {
      args.second = reinterpret_cast<const int64_t*>(second_->data);
      args.part = reinterpret_cast<const float*>(part_->data);
    }
    args.picks = y.shape[1];
    args.size = context.operands[1].shape[1];
    args.inner = y.shape[2];
    args.count = y.size();
    add_elements(Kernel::pick, args, launches);
  }

 private:
  template <typename T>
  static UploadedBytes upload(const std::vector<T>& numbers, const LauncherSource& source) {
    return source.weights.upload(numbers.data(), numbers.size() * sizeof(T));
  }

  UploadedBytes first_, second_, part_;
};

// The bits of a number as an element.
uint32_t bits_of(double value, Storage storage) {
  switch (storage) {
    case Storage::F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case Storage::I32:
      return static_cast<uint32_t>(static_cast<int32_t>(value));
    default:
      return value != 0 ? 1 : 0;
  }
}

class OneHotLauncher : public Launcher {
 public:
  explicit OneHotLauncher(const engine::OneHotNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    OneHotArgs args{};
    args.y = y.data;
    args.indices = indices.ints();
    args.y_stride = y.strides[0];
    args.index_stride = indices.strides[0];
    args.columns = y.shape[1];
    args.count = y.size();
    args.on = bits_of(node_.on, y.storage);
    args.off = bits_of(node_.off, y.storage);
    args.element_size = element_bytes(y);
    add_elements(Kernel::one_hot, args, launches);
  }

 private:
  engine::OneHotNode node_;
};

class CumulativeSumLauncher : public Launcher {
 public:
  explicit CumulativeSumLauncher(const engine::CumulativeSumNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    constexpr int64_t kManyLines = 8;  // next to each other
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (y.size() == 0) return;
    TotalsArgs args{};
    args.y = y.data;
    args.x = x.data;
    args.lines = y.shape[0] * y.shape[2];
    args.size = y.shape[1];
    args.inner = y.shape[2];
    std::copy_n(x.strides, 3, args.x_strides);
    args.integers = y.storage != Storage::F32;
    args.exclusive = node_.exclusive;
    args.reverse = node_.reverse;
    args.by_warps = args.inner < kManyLines;
    const int64_t threads = args.lines * (args.by_warps ? 32 : 1);
    launches.push_back(element_launch(Kernel::totals, args, threads));
  }

 private:
  engine::CumulativeSumNode node_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::BandNode& node, const LauncherSource&) {
  return std::make_unique<BandLauncher>(node);
}
LauncherPointer make_launcher_of(const engine::CumulativeSumNode& node, const LauncherSource&) {
  return std::make_unique<CumulativeSumLauncher>(node);
}
LauncherPointer make_launcher_of(const engine::OneHotNode& node, const LauncherSource&) {
  return std::make_unique<OneHotLauncher>(node);
}
LauncherPointer make_launcher_of(const engine::PickNode& node, const LauncherSource& source) {
  return node.first.empty() ? nullptr : std::make_unique<PickLauncher>(node, source);
}
LauncherPointer make_launcher_of(const engine::RangeNode&, const LauncherSource&) {
  return std::make_unique<RangeLauncher>();
}
LauncherPointer make_launcher_of(const engine::ReverseSequenceNode&, const LauncherSource&) {
  return std::make_unique<ReverseLauncher>();
}

}  // namespace pippin::cuda
