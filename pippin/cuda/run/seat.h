// The part of an execution that belongs to one sequence.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "pippin/cuda/run/node_launches.h"
#include "pippin/cuda/run/plan.h"
#include "pippin/cuda/run/state.h"
#include "pippin/engine/run/memory.h"

namespace pippin::cuda {

// A part of an array.
struct ByteRange {
  size_t begin = 0, end = 0;
};
// A copy of an input to the device.
struct InputCopy {
  Address to;
  const std::byte* from;
  uint64_t size;
  bool operator==(const InputCopy&) const = default;
};

class Seat {
 public:
  Seat(const CudaPlan& plan, std::byte* arena, std::byte* scratch, uint32_t* failed);
  void move_to(std::byte* arena, std::byte* scratch, uint32_t* failed);

  void bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& state);
  MutableByteSpan input_bytes(size_t index);
  bool put_causal_mask(size_t index, int64_t past);
  // Before a run, when the inputs have been written.
  void take_values();
  // The version of a node's operands: of the wanted rows alone, where nothing else reads them.
  uint64_t look(size_t node);
  void add_copies(std::vector<InputCopy>& copies);
  void forget_outputs();

  engine::Lane lane;
  LaneLaunches launches;
  std::byte* scratch;
  uint32_t* failed;                 // a word for each node, in the host's memory
  std::vector<NodeLaunches> masks;  // by input
  CudaState* state = nullptr;
  std::optional<engine::WantedRows> rows;  // of the next run
  struct Output {
    engine::Memory bytes;  // on the host, where they have been asked for
    ByteRange fetched;     // since the last run
  };
  std::vector<Output> outputs;
  // A choice made since the last run: the largest element, or the largest ones.
  struct Choice {
    size_t index, begin, count;
    bool is_ranked;
    std::optional<int32_t> largest;
    std::vector<engine::RankedElement> ranked;

    bool answers(const Choice& wanted) const {
      return index == wanted.index && begin == wanted.begin && count == wanted.count;
    }
  };
  std::array<std::optional<Choice>, 2> choices;  // by is_ranked

 private:
  struct Input {
    PinnedMemory bytes;       // from the first time on that it is written
    bool is_written = false;  // since it was copied to the device
    size_t copied = 0;        // bytes
    std::optional<int64_t> past;
  };

  const CudaPlan& plan_;
  engine::OutputRows output_rows_;
  std::vector<Input> inputs_;
  std::vector<Launch> made_;
};

inline size_t byte_size(const engine::Operand& operand) {
  return static_cast<size_t>(operand.size() * engine::element_size(operand.storage));
}

}  // namespace pippin::cuda
