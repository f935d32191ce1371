// Rotary embeddings and copies as one launch.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "pippin/cuda/kernels/parallel_moves_args.h"
#include "pippin/cuda/launchers/parts_launcher.h"
#include "pippin/cuda/launchers/walk.h"

namespace pippin::cuda {
namespace {

using engine::CopyNode;
using engine::FusedNode;
using engine::Operand;
using engine::RotaryNode;

// The copy's y, where the elements of `turned` go that the copy would read: with the axes of
// `turned`. Nothing if the copy has other axes.
std::optional<Operand> destination_of(const Operand& turned, std::span<const Operand> copy) {
  const Operand& y = copy[0];
  const Operand& x = copy[1];
  if (turned.data != x.data || turned.size() != x.size()) return std::nullopt;
  Operand to = turned;
  to.data = y.data;
  to.storage = y.storage;
  for (int axis = 0; axis < turned.rank; ++axis) {
    to.strides[axis] = 0;
    if (turned.shape[axis] == 1) continue;
    const auto matches = [&](int other) {
      return x.shape[other] == turned.shape[axis] && x.strides[other] == turned.strides[axis];
    };
    int other = 0;
    while (other < x.rank && !matches(other)) ++other;
    if (other == x.rank) return std::nullopt;
    to.strides[axis] = y.strides[other];
  }
  return to;
}

// The moves of a run; false if one does not fit.
class Moves {
 public:
  bool add(std::span<const Operand> operands, bool turns, int64_t second, int64_t second_angle) {
    bool fits = true;
    const int64_t most = std::numeric_limits<int32_t>::max();
    for_walks(operands, second != 1, [&](const Walk& walk) {
      fits = fits && args_.count < ParallelMovesArgs::kMost &&
             walk.axes.rank <= ParallelMove::kMostAxes;
      if (!fits) return;
      ParallelMove& move = args_.moves[args_.count++];
      move.y = walk.data[0];
      move.x = walk.data[1];
      move.cos = turns ? reinterpret_cast<const float*>(walk.data[2]) : nullptr;
      move.sin = turns ? reinterpret_cast<const float*>(walk.data[3]) : nullptr;
      move.count = walk.axes.count;
      move.first_block = static_cast<uint32_t>(blocks_);
      move.rank = walk.axes.rank;
      move.width = walk.axes.width;
      move.to = element_of(operands[0].storage);
      move.from = element_of(operands[1].storage);
      move.second = static_cast<int32_t>(second);
      move.second_angle = static_cast<int32_t>(second_angle);
      for (int axis = 0; axis < walk.axes.rank; ++axis) {
        move.shape[axis] = walk.axes.shape[axis];
        for (size_t k = 0; k < operands.size(); ++k) {
          const int64_t stride = walk.axes.strides[k][axis];
          fits = fits && std::abs(stride) <= most;
          move.strides[k][axis] = static_cast<int32_t>(stride);
        }
      }
      blocks_ += (int64_t{move.count} + kThreads - 1) / kThreads;
    });
    return fits && blocks_ <= most;
  }
  void launch(std::vector<Launch>& launches) const {
    if (blocks_ > 0) {
      launches.push_back(Launch::of(Kernel::parallel_moves, args_, blocks_, kThreads));
    }
  }

 private:
  static constexpr unsigned kThreads = 128;
  ParallelMovesArgs args_{};
  int64_t blocks_ = 0;
};

class ParallelMovesLauncher : public PartsLauncher {
 public:
  using PartsLauncher::PartsLauncher;

 protected:
  bool add_fused(const std::vector<Operands>& parts, std::byte* /*scratch*/,
                 std::vector<Launch>& launches) const override {
    std::vector<Operands> moves;  // of those that are launched
    moves.reserve(parts.size());
    Moves made;
    for (size_t i = 0; i < parts.size(); ++i) {
      Operands operands = parts[i];
      if (node_.parts[i].as<CopyNode>() != nullptr) {
        if (is_stored_before(parts, i)) continue;
        if (!made.add(operands, false, 0, 0)) return false;
      } else {
        if (!store_at_once(parts, i, operands)) return false;
        if (!add_rotary(node_.parts[i].as<RotaryNode>()->pairs, operands, made)) return false;
      }
      moves.push_back(std::move(operands));
    }
    if (!are_apart(moves)) return false;
    made.launch(launches);
    return true;
  }

 private:
  // Whether part i copies what an earlier part computes.
  bool is_stored_before(const std::vector<Operands>& parts, size_t i) const {
    for (size_t j = 0; j < i; ++j) {
      if (node_.is_internal[j] && node_.parts[j].as<RotaryNode>() != nullptr &&
          parts[j][0].data == parts[i][1].data) {
        return true;
      }
    }
    return false;
  }
  // Replaces y of an embedding whose results are only copied.
  bool store_at_once(const std::vector<Operands>& parts, size_t i, Operands& operands) const {
    if (!node_.is_internal[i]) return true;
    for (size_t j = i + 1; j < parts.size(); ++j) {
      if (node_.parts[j].as<CopyNode>() == nullptr || parts[j][1].data != operands[0].data)
        continue;
      const auto to = destination_of(operands[0], parts[j]);
      if (!to || !engine::is_float(to->storage)) return false;
      operands[0] = *to;
      return true;
    }
    return false;
  }
  static bool add_rotary(bool pairs, const Operands& operands, Moves& made) {
    std::array<Operand, 4> halves;  // as of Kernel::rotary
    std::copy_n(operands.begin(), halves.size(), halves.begin());
    const int last = halves[0].rank - 1;
    const int64_t n = halves[1].shape[last], angles = halves[2].shape[last];
    if (halves[0].shape[last] > 1 && halves[0].strides[last] != 1) return false;
    const int64_t second = pairs ? 1 : n / 2;
    for (size_t k = 0; k < halves.size(); ++k) {
      halves[k].shape[last] = n / 2;
      halves[k].strides[last] = pairs && (k < 2 || angles == n) ? 2 : 1;
    }
    return made.add(halves, true, second, angles == n ? second : 0);
  }
  // Whether no move writes what another one reads or writes.
  static bool are_apart(const std::vector<Operands>& moves) {
    for (size_t i = 0; i < moves.size(); ++i) {
      for (size_t j = 0; j < moves.size(); ++j) {
        for (size_t k = 0; k < moves[j].size() && i != j; ++k) {
          if (may_overlap(moves[i][0], moves[j][k])) return false;
        }
      }
    }
    return true;
  }
};

}  // namespace

LauncherPointer make_parallel_moves(const FusedNode& node, std::vector<LauncherPointer> parts) {
  return std::make_unique<ParallelMovesLauncher>(node, std::move(parts));
}

}  // namespace pippin::cuda
