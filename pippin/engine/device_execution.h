// A plan's execution on its device, behind Execution (plan.h). Functions do, and throw, as
// documented there; after an Error of the code Device, Execution calls nothing more.
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
  virtual size_t lanes() const = 0;  // at least one from the beginning
  // A plan without states takes any State. From then on the shapes of outputs are known, except for
  // sizes that depend on the values of inputs.
  virtual void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) = 0;
  // The bytes written by the caller stay until it writes again: caches of a model may be inputs.
  virtual MutableByteSpan input_bytes(size_t index, size_t lane) = 0;
  // Returns false if the device cannot; the caller must then write the input.
  virtual bool lend_input(size_t /*index*/, ByteSpan /*bytes*/, size_t /*lane*/) { return false; }
  // Returns false if it cannot, for example if the program uses the input for more than masking.
  virtual bool put_causal_mask(size_t /*index*/, int64_t /*past*/, size_t /*lane*/) {
    return false;
  }
  // May compute rows that are not wanted.
  virtual void run(size_t lane, std::optional<WantedRows> rows) = 0;
  // May return early.
  virtual void run_cancellable(size_t lane) { run(lane, std::nullopt); }
  // Two or more distinct lanes, each with a State of its own.
  virtual void run_together(std::span<const size_t> lanes) = 0;
  virtual ByteSpan output_bytes(size_t index, size_t lane) const = 0;  // fp32 or int32
  // Bytes [begin, begin + size) of an output, for devices that can fetch them alone.
  virtual ByteSpan output_part(size_t index, size_t begin, size_t size, size_t lane) const {
    return output_bytes(index, lane).subspan(begin, size);
  }
  // Nullopt if the device leaves it to the caller.
  virtual std::optional<int32_t> largest(size_t /*index*/, size_t /*begin*/, size_t /*count*/,
                                         size_t /*lane*/) const {
    return std::nullopt;
  }
  virtual std::vector<RankedElement> largest_ones(size_t /*index*/, size_t /*begin*/,
                                                  size_t /*count*/, size_t /*lane*/) const {
    return {};
  }
  virtual std::span<const int64_t> output_shape(size_t index, size_t lane) const = 0;
};

}  // namespace pippin::engine
