// The state of a sequence between runs: an array per declared state, zeros at first, in the memory
// of the device that runs it.
//
// A State belongs to a sequence, not to a plan: one may be used by the plans of several functions
// and shape classes of its device that declare states of the same name and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/engine/compute_options.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

// The arrays of a State on a device, by their index in State::features().
class StateMemory {
 public:
  virtual ~StateMemory() = default;
  virtual void reset() = 0;  // back to zeros
  // Like State::bytes(): a copy of the device's memory, which, without const, the next run copies
  // back.
  virtual ByteSpan bytes(size_t index) const = 0;
  virtual MutableByteSpan bytes(size_t index) = 0;
  // Throws LimitExceeded.
  virtual std::unique_ptr<StateMemory> clone() const = 0;
  // Whether bytes() is the memory that runs read and write, permanently, without copies.
  virtual bool is_here() const { return false; }
};

class State {
 public:
  // Zeros, on the device of the options. Two features of the same name are one state. Throws
  // LimitExceeded.
  explicit State(const std::vector<mil::Feature>& states, const ComputeOptions& compute = {});
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  // The same values in separate memory, for a second continuation of the sequence. Parts that were
  // never written take no memory in the copy either, if the device supports that. Throws
  // LimitExceeded.
  State clone() const;
  void reset();  // back to zeros

  // Name, element type and shape of each.
  const std::vector<mil::Feature>& features() const { return features_; }
  // The packed elements of a state, for reading, or for reading and writing before the next run.
  // Valid until the next run with this State. Throws NotFound.
  ByteSpan bytes(std::string_view name) const;
  MutableByteSpan bytes(std::string_view name);
  uint64_t size_bytes() const;
  // Whether bytes() stays valid as long as the state, and is the memory that runs read and write.
  bool is_here() const { return memory_->is_here(); }

  // --- for executions ---

  uint64_t id() const { return id_; }                       // unique among all states, from 1 on
  std::optional<size_t> find(std::string_view name) const;  // its index in features()
  // The memory in the type of the device that made it. Throws InvalidArgument if another device
  // did.
  template <typename Memory>
  Memory& memory(std::string_view device) {
    if (auto* const own = dynamic_cast<Memory*>(memory_.get())) return *own;
    fail_elsewhere(device);
  }

 private:
  State(std::vector<mil::Feature> states, std::string device, std::unique_ptr<StateMemory> memory);
  size_t at(std::string_view name) const;
  [[noreturn]] void fail_elsewhere(std::string_view device) const;

  std::vector<mil::Feature> features_;
  std::string device_;  // its name
  std::unique_ptr<StateMemory> memory_;
  uint64_t id_;
};

// The size of its packed elements.
uint64_t state_bytes(const mil::Feature& state);

}  // namespace pippin::engine
