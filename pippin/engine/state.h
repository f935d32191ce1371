// What a sequence remembers between runs: an array per declared state, zeros at first, in the
// memory of the device that runs it.
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
  // As State::bytes(): where memory of the device's own is copied to, or, without const, to and
  // before the next run back from.
  virtual ByteSpan bytes(size_t index) const = 0;
  virtual MutableByteSpan bytes(size_t index) = 0;
  // Throws LimitExceeded.
  virtual std::unique_ptr<StateMemory> clone() const = 0;
  // Whether bytes() are what runs read and write, and stay so: there are no copies.
  virtual bool is_here() const { return false; }
};

class State {
 public:
  // Zeros, on the device of the options. A name that is there twice is one state. Throws
  // LimitExceeded.
  explicit State(const std::vector<mil::Feature>& states, const ComputeOptions& compute = {});
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  // The same values in memory of its own: a sequence that goes on in two ways. What was never
  // written takes no memory in the copy either, where the device can tell. Throws LimitExceeded.
  State clone() const;
  void reset();  // back to zeros

  // Name, element type and shape of each.
  const std::vector<mil::Feature>& features() const { return features_; }
  // The packed elements of a state, for reading, or for reading and writing before the next run.
  // Valid until the next run with this State. Throws NotFound.
  ByteSpan bytes(std::string_view name) const;
  MutableByteSpan bytes(std::string_view name);
  uint64_t size_bytes() const;
  // Whether bytes() stay valid as long as the state, and are what runs read and write.
  bool is_here() const { return memory_->is_here(); }

  // --- for executions ---

  uint64_t id() const { return id_; }                       // no other state's, ever; from 1 on
  std::optional<size_t> find(std::string_view name) const;  // its index in features()
  // The memory as the device that made it knows it. Throws InvalidArgument where another one did.
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

// Of its packed elements.
uint64_t state_bytes(const mil::Feature& state);

}  // namespace pippin::engine
