// Chooses the step of a node over planes.
#include <algorithm>

#include "pippin/engine/cpu/channels_last_step.h"
#include "pippin/engine/cpu/conv_step.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/cpu/window_step.h"
#include "pippin/engine/cpu/winograd_step.h"

namespace pippin::engine {
namespace {

// Applies finishes only: a copy of x by planes.
class ChannelStep : public PlaneStep {
 public:
  ChannelStep(const CpuFeatures& cpu, const std::vector<Finish>& finishes)
      : PlaneStep(cpu, finishes, /*has_weights=*/false) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t planes = y.shape[0] * y.shape[1], size = plane_size(y);
    constexpr int64_t kPiece = 4096;
    const int64_t pieces = (size + kPiece - 1) / kPiece;
    const auto share = [&](Range range) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const int64_t plane = i / pieces, first = i % pieces * kPiece;
        const int64_t count = std::min(kPiece, size - first);
        std::copy_n(x.floats() + plane * size + first, count, y.floats() + plane * size + first);
        finish(context, plane / y.shape[1], plane % y.shape[1], first, count);
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 15;
    share_out(context, planes * pieces, y.size() >= kWorthSharing, share);
  }
};

struct PlaneMaker {
  const std::vector<Finish>& finishes;
  const CpuFeatures& cpu;

  StepPointer operator()(const ChannelNode&) const {
    return std::make_unique<ChannelStep>(cpu, finishes);
  }
  StepPointer operator()(const ChannelsLastWindowNode& node) const {
    return std::make_unique<ChannelsLastWindowStep>(cpu, node, finishes);
  }
  StepPointer operator()(const ConvNode& node) const {
    return std::make_unique<ConvStep>(cpu, node, finishes);
  }
  StepPointer operator()(const ChannelsLastConvNode& node) const {
    return std::make_unique<ChannelsLastConvStep>(cpu, node, finishes);
  }
  StepPointer operator()(const WindowNode& node) const {
    return std::make_unique<WindowStep>(cpu, node, finishes);
  }
  StepPointer operator()(const WinogradNode& node) const {
    return std::make_unique<WinogradStep>(cpu, node, finishes);
  }
};

}  // namespace

StepPointer make_step_of(const PlaneNode& plane, const StepSource& source) {
  return std::visit(PlaneMaker{plane.finishes, source.cpu()}, plane.work);
}
StepPointer make_step_of(const PackConvNode& node, const StepSource& source) {
  return std::make_unique<PackConvStep>(source.cpu(), node);
}

}  // namespace pippin::engine
