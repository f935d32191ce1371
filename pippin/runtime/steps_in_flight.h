// Steps of a model that are started before earlier ones are finished, because its device computes
// them on several machines at a time (engine/parted_device.h). A Batch (batch.h) uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "pippin/runtime/model.h"

namespace pippin::runtime {

class Sequence;

// Implemented by models whose device has several runs in flight; called as the functions that
// families implement (model.h).
class StepsInFlight {
 public:
  virtual ~StepsInFlight() = default;

  virtual int64_t most_in_flight() const = 0;
  // Starts what Model::feed_together() does. Returns the step for finish_step(); nothing, and does
  // nothing, if as many as possible are in flight or these sequences need other steps.
  virtual std::optional<size_t> start_step(std::span<Sequence* const> sequences) = 0;
  // Waits for the logits of a step with these sequences. After an Error of one sequence, others may
  // have been fed.
  virtual void finish_step(size_t step, std::span<Sequence* const> sequences) = 0;
};

// The most steps of a model in flight: 1 on most devices, whose steps end before another begins.
inline int64_t most_in_flight(const Model& model) {
  const auto* const steps = dynamic_cast<const StepsInFlight*>(&model);
  return steps == nullptr ? 1 : steps->most_in_flight();
}

}  // namespace pippin::runtime
