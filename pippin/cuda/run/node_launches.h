// The launches of nodes, made again only where something moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/cuda/launchers/launcher.h"
#include "pippin/engine/run/lane.h"

namespace pippin::cuda {

// The launches of one node. A version that is another number: these changed.
struct NodeLaunches {
  std::vector<Launch> launches;
  uint64_t grids = 0, arguments = 0;

  // Exchanges them with `made`.
  void replace(std::vector<Launch>& made);
};

// The nodes of a lane.
class LaneLaunches {
 public:
  LaneLaunches(const engine::LaneLayout& layout, const std::vector<LauncherPointer>& launchers);

  // After the arena moved.
  void forget();
  // A number that changes with the node's operands and scalars. Looks at them; needed only for
  // nodes that may move.
  uint64_t look(size_t node, std::span<const engine::Operand> operands,
                std::span<const int64_t> scalars);
  // As of the last look.
  const NodeLaunches& of(size_t node, std::byte* scratch, uint32_t* failed);

 private:
  struct Seen {
    std::vector<engine::Operand> operands;
    std::vector<int64_t> scalars;
    uint64_t version = 0, made = 0;  // 0: not looked at, not made
    NodeLaunches launches;
  };
  const std::vector<LauncherPointer>& launchers_;
  std::vector<Seen> nodes_;
  std::vector<Launch> made_;
};

// By node: whether its operands or scalars change with shapes, positions or states.
std::vector<bool> moving_nodes(const engine::LaneLayout& layout);

}  // namespace pippin::cuda
