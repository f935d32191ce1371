#include "pippin/engine/steps/plane_step.h"

#include <algorithm>

namespace pippin::engine {

int64_t WindowAxis::start(int64_t in, int64_t out) const {
  if (!same) return -pad;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + taps.back() + 1 - in);
  return same_lower ? total / 2 - total : -(total / 2);
}

int64_t num_taps(const Windows& windows) {
  int64_t count = 1;
  for (const WindowAxis& axis : windows) count *= static_cast<int64_t>(axis.taps.size());
  return count;
}

bool is_pointwise(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.taps.size() == 1 && axis.stride == 1 && (axis.pad == 0 || axis.same);
  });
}

void PlaneStep::add_finish(Finish finish, const View* residual) {
  if (residual != nullptr) {
    finish.residual = views.size();
    views.push_back(*residual);
  }
  finishes_.push_back(std::move(finish));
}

std::string PlaneStep::finished_name(const std::string& name) const {
  std::string result = name;
  for (const Finish& finish : finishes_) result += " + " + finish.name;
  return result;
}

void PlaneStep::finish(const StepContext& context, int64_t batch, int64_t channel, int64_t first,
                       int64_t count) const noexcept {
  const Operand& y = context.operands[0];
  float* to = y.floats() + batch * y.strides[0] + channel * y.strides[1] + first;
  const auto index = static_cast<size_t>(channel);
  for (const Finish& finish : finishes_) {
    switch (finish.kind) {
      case Finish::Kind::Unary:
        elementwise_.unary(finish.op, to, to, count, finish.alpha, finish.beta);
        break;
      case Finish::Kind::Channels:
        elementwise_.unary(finish.op, to, to, count, finish.alphas[index],
                           finish.betas.empty() ? 0 : finish.betas[index]);
        break;
      case Finish::Kind::Add: {
        const Operand& residual = context.operands[finish.residual];
        const float* other =
            residual.floats() + batch * residual.strides[0] + channel * residual.strides[1] + first;
        elementwise_.binary(kernels::BinaryOp::Add, to, 1, other, 1, to, count);
        break;
      }
    }
  }
}

}  // namespace pippin::engine
