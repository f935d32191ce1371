// The launcher of rotary embedding.
#include "pippin/cuda/kernels/rotary_args.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/walk.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

class RotaryLauncher : public Launcher {
 public:
  explicit RotaryLauncher(bool pairs) : pairs_(pairs) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    std::array<Operand, 4> halves;  // the first elements of all pairs
    std::copy_n(context.operands.begin(), halves.size(), halves.begin());
    const int last = halves[0].rank - 1;
    const int64_t n = halves[1].shape[last], angles = halves[2].shape[last];
    RotaryArgs args{};
    args.second = pairs_ ? 1 : n / 2;
    args.second_angle = angles == n ? args.second : 0;
    for (size_t k = 0; k < halves.size(); ++k) {
      halves[k].shape[last] = n / 2;
      const bool steps_over = pairs_ && (k < 2 || angles == n);
      halves[k].strides[last] = steps_over ? 2 : 1;
    }
    for_walks(halves, !pairs_, [&](const Walk& walk) {
      const auto floats = [&](size_t k) { return reinterpret_cast<float*>(walk.data[k]); };
      args.y = floats(0);
      args.x = floats(1);
      args.cos = floats(2);
      args.sin = floats(3);
      args.axes = walk.axes;
      launches.push_back(Launch::of(Kernel::rotary, args, blocks_of(walk), threads_of(walk)));
    });
  }

 private:
  bool pairs_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::RotaryNode& node, const LauncherSource&) {
  return std::make_unique<RotaryLauncher>(node.pairs);
}

}  // namespace pippin::cuda
