// What runs a plan on its device: what an Execution (plan.h) asks for. Functions do, and throw,
// what they do there; one that throws an Error of the code Device is asked nothing more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/engine/plan.h"

namespace pippin::engine {

class DeviceExecution {
 public:
  virtual ~DeviceExecution() = default;

  virtual void reserve_lanes(size_t count) = 0;
  virtual size_t lanes() const = 0;  // from the beginning at least one
  // A plan without states takes any State. Shapes of outputs are known from here on, but for sizes
  // that the values of inputs decide.
  virtual void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) = 0;
  // What callers write stays until they write again: caches of a model may be inputs.
  virtual MutableByteSpan input_bytes(size_t index, size_t lane) = 0;
  // False where it cannot: the input has to be written.
  virtual bool lend_input(size_t /*index*/, ByteSpan /*bytes*/, size_t /*lane*/) { return false; }
  // May compute rows that are not wanted.
  virtual void run(size_t lane, std::optional<WantedRows> rows) = 0;
  // May end before the end.
  virtual void run_cancellable(size_t lane) { run(lane, std::nullopt); }
  // Two or more lanes, none twice, each with a State of its own.
  virtual void run_together(std::span<const size_t> lanes) = 0;
  virtual ByteSpan output_bytes(size_t index, size_t lane) const = 0;  // fp32 or int32
  virtual std::span<const int64_t> output_shape(size_t index, size_t lane) const = 0;
};

}  // namespace pippin::engine
