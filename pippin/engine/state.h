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

// Rows [first, first + count) of each group of a state that is [groups, rows, row_bytes].
struct StateRows {
  uint64_t groups = 1, rows = 1, row_bytes = 0;
  uint64_t first = 0, count = 0;

  uint64_t group_bytes() const { return count * row_bytes; }
  uint64_t size() const { return groups * group_bytes(); }
};

// Copies rows of the packed array at `array`. In the other memory a group begins `stride` bytes
// after the one before.
void read_rows(const std::byte* array, const StateRows& rows, std::byte* to, uint64_t stride);
void write_rows(std::byte* array, const StateRows& rows, const std::byte* from, uint64_t stride);

// The arrays of a State on a device, by their index in State::features(). Rows lie within their
// array: State checks them.
class StateMemory {
 public:
  virtual ~StateMemory() = default;
  // Back to zeros; a shared array is replaced. Throws LimitExceeded.
  virtual void reset() = 0;
  // As State's: these rows are copied from and to the device, and no others.
  virtual void read_rows(size_t index, const StateRows& rows, std::byte* to,
                         uint64_t stride) const = 0;
  virtual void write_rows(size_t index, const StateRows& rows, const std::byte* from,
                          uint64_t stride) = 0;
  // From memory of the same device. By default by way of the host.
  virtual void copy_rows(size_t index, const StateRows& rows, const StateMemory& from);
  // As State's, of one array. Returns false, and changes nothing, on devices that cannot.
  virtual bool share(size_t /*index*/, const StateMemory& /*from*/) { return false; }
  // Throws LimitExceeded.
  virtual std::unique_ptr<StateMemory> clone() const = 0;
  // The array itself, as long as the state lives, where the host can read and write what runs do;
  // elsewhere empty.
  virtual MutableByteSpan here(size_t /*index*/) const { return {}; }
  // As State's.
  virtual std::optional<uint64_t> bytes_present() const { return std::nullopt; }
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
  // Makes the array with that index the one of `from`, a State of this device with the same
  // features: for values that neither writes any more. It is shared until one of the two is reset;
  // devices that cannot share copy it.
  void share(size_t index, const State& from);
  // Back to zeros, in memory that is not shared, and with another id. Throws LimitExceeded.
  void reset();

  // Name, element type and shape of each.
  const std::vector<mil::Feature>& features() const { return features_; }
  // All packed elements of a state. Throw NotFound; InvalidArgument for another size.
  std::vector<std::byte> read(std::string_view name) const;
  void write(std::string_view name, ByteSpan bytes);
  // Rows of the state with that index in features(), from or to memory in which a group begins
  // `stride` bytes after the one before. Nothing else is transferred between host and device. Throw
  // InvalidArgument for rows that the state does not have.
  void read_rows(size_t index, const StateRows& rows, std::byte* to, uint64_t stride) const;
  void write_rows(size_t index, const StateRows& rows, const std::byte* from, uint64_t stride);
  // The same rows of another State of this device.
  void copy_rows(size_t index, const StateRows& rows, const State& from);
  // The elements where runs read and write them, valid as long as the state; empty where the host
  // cannot. Throws NotFound.
  MutableByteSpan here(std::string_view name) const;
  uint64_t size_bytes() const;
  // The memory that the arrays take now, which is less as long as parts were never written. Nothing
  // on devices that do not tell.
  std::optional<uint64_t> bytes_present() const { return memory_->bytes_present(); }

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
  void check(size_t index, const StateRows& rows) const;
  [[noreturn]] void fail_elsewhere(std::string_view device) const;

  std::vector<mil::Feature> features_;
  std::string device_;  // its name
  std::unique_ptr<StateMemory> memory_;
  uint64_t id_;
};

// The size of its packed elements.
uint64_t state_bytes(const mil::Feature& state);

}  // namespace pippin::engine
