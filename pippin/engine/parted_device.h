// Devices of several machines, which run the packages of a model one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "pippin/engine/device.h"

namespace pippin::engine {

class PartedDevice : public Device {
 public:
  // The device of the package with that index of `count`.
  virtual std::shared_ptr<Device> of_part(size_t index, size_t count) = 0;
  // The device of the first or of the last machine, for a package that runs before or after these.
  virtual std::shared_ptr<Device> of_end(bool is_last) = 0;
  // The most tokens of a prompt that pass through the machines together, if the results do not
  // depend on it.
  virtual int64_t prompt_piece() const = 0;
  // The runs of a plan, in lanes of their own, that keep all machines busy: so many are started
  // before the outputs of the first one are read.
  virtual int64_t runs_in_flight() const = 0;
};

// The options for a package of a model of several: PartedDevice::of_part() and of_end(), or the
// same device.
ComputeOptions options_of_part(const ComputeOptions& compute, size_t index, size_t count);
ComputeOptions options_of_end(const ComputeOptions& compute, bool is_last);
// The smaller of `tokens` and PartedDevice::prompt_piece(), or `tokens` on other devices.
int64_t prompt_piece(const ComputeOptions& compute, int64_t tokens);
// PartedDevice::runs_in_flight(), or 1 on other devices.
int64_t runs_in_flight(const ComputeOptions& compute);

}  // namespace pippin::engine
