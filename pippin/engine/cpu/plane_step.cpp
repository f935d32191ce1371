#include "pippin/engine/cpu/plane_step.h"

#include <algorithm>

namespace pippin::engine {

using kernels::UnaryOp;

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

// The channels of one place from channel `begin` on.
void PlaneStep::finish_channels(const Finish& finish, float* y, int64_t begin,
                                int64_t count) const noexcept {
  const float* alphas = finish.alphas.data() + begin;
  if (finish.op == UnaryOp::Linear) {
    elementwise_.binary(kernels::BinaryOp::Mul, y, 1, alphas, 1, y, count);
    if (finish.betas.empty()) return;
    elementwise_.binary(kernels::BinaryOp::Add, y, 1, finish.betas.data() + begin, 1, y, count);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const float beta = finish.betas.empty() ? 0 : finish.betas[static_cast<size_t>(begin + i)];
      elementwise_.unary(finish.op, y + i, y + i, 1, alphas[i], beta);
    }
  }
}

bool PlaneStep::begins_with_bounds() const noexcept {
  if (finishes_.empty() || finishes_[0].kind != Finish::Kind::Unary) return false;
  const UnaryOp op = finishes_[0].op;
  return op == UnaryOp::Relu || op == UnaryOp::Relu6 || op == UnaryOp::Clip;
}

kernels::ConvBounds PlaneStep::bounds() const noexcept {
  kernels::ConvBounds bounds;
  if (!begins_with_bounds()) return bounds;
  const Finish& finish = finishes_[0];
  const bool clips = finish.op == UnaryOp::Clip;
  bounds.least = clips ? finish.alpha : 0;
  if (finish.op != UnaryOp::Relu) bounds.most = clips ? finish.beta : 6;
  return bounds;
}

void PlaneStep::finish_channels_last(const StepContext& context, int64_t first, int64_t count,
                                     int64_t begin, int64_t end, bool is_bounded) const noexcept {
  const Operand& y = context.operands[0];
  const int64_t channels = y.shape[1], from = first * channels + begin;
  float* const to = y.floats() + from;
  // All channels of all places form one run.
  const bool whole = begin == 0 && end == channels;
  const int64_t runs = whole ? 1 : count, length = whole ? count * channels : end - begin;
  for (size_t done = is_bounded && begins_with_bounds() ? 1 : 0; done < finishes_.size(); ++done) {
    const Finish& finish = finishes_[done];
    switch (finish.kind) {
      case Finish::Kind::Unary:
        for (int64_t i = 0; i < runs; ++i) {
          float* row = to + i * channels;
          elementwise_.unary(finish.op, row, row, length, finish.alpha, finish.beta);
        }
        break;
      case Finish::Kind::Channels:
        for (int64_t i = 0; i < count; ++i) {
          finish_channels(finish, to + i * channels, begin, end - begin);
        }
        break;
      case Finish::Kind::Add: {
        const float* residual = context.operands[finish.residual].floats() + from;
        for (int64_t i = 0; i < runs; ++i) {
          float* row = to + i * channels;
          elementwise_.binary(kernels::BinaryOp::Add, row, 1, residual + i * channels, 1, row,
                              length);
        }
        break;
      }
    }
  }
}

}  // namespace pippin::engine
