#include "pippin/cuda/launchers/parts_launcher.h"

#include <algorithm>

#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::FusedNode;
using engine::Operand;

// The addresses of an operand that has elements.
struct Extent {
  const std::byte *begin, *end;

  explicit Extent(const Operand& operand) : begin(operand.data), end(operand.data) {
    const int64_t size = engine::element_size(operand.storage);
    for (int axis = 0; axis < operand.rank; ++axis) {
      const int64_t last = (operand.shape[axis] - 1) * operand.strides[axis] * size;
      (last < 0 ? begin : end) += last;
    }
    end += size;
  }
};

}  // namespace

bool may_overlap(const Operand& a, const Operand& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const Extent one(a), other(b);
  return one.begin < other.end && other.begin < one.end;
}

void PartsLauncher::add(const LaunchContext& context, std::vector<Launch>& launches) const {
  std::vector<Operands> operands;
  operands.reserve(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    operands.push_back(engine::part_of(node_, i, context.operands));
  }
  if (add_fused(operands, context.scratch, launches)) return;
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i]->add({operands[i], engine::scalars_of_part(node_, i, context.scalars),
                    context.scratch, context.failed},
                   launches);
  }
}

int64_t PartsLauncher::scratch_bytes() const {
  int64_t most = 0;
  for (const LauncherPointer& part : parts_) most = std::max(most, part->scratch_bytes());
  return most;
}
int64_t PartsLauncher::scratch_bytes_of(int64_t rows) const {
  int64_t most = 0;
  for (const LauncherPointer& part : parts_) most = std::max(most, part->scratch_bytes_of(rows));
  return most;
}
int64_t PartsLauncher::weight_bytes() const {
  int64_t bytes = 0;
  for (const LauncherPointer& part : parts_) bytes += part->weight_bytes();
  return bytes;
}

LauncherPointer make_launcher_of(const FusedNode& node, const LauncherSource& source) {
  std::vector<LauncherPointer> parts;
  parts.reserve(node.parts.size());
  bool multiplies = false;
  for (const engine::Node& part : node.parts) {
    multiplies = multiplies || part.as<engine::DotNode>() != nullptr;
    parts.push_back(make_launcher({part, source.options, source.limits, source.weights}));
    if (parts.back() == nullptr) return nullptr;
  }
  return multiplies ? make_fused_dot(node, std::move(parts), source)
                    : make_parallel_moves(node, std::move(parts));
}

}  // namespace pippin::cuda
