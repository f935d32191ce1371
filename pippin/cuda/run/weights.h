// Constant data in the GPU's memory, shared by all plans of a device.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "pippin/cuda/launchers/weight_store.h"
#include "pippin/cuda/run/timeline.h"

namespace pippin::cuda {

using WeightKey = std::tuple<const void*, std::string, uint64_t>;  // address, form, size

class DeviceWeights final : public WeightStore {
 public:
  static constexpr uint64_t kPart = uint64_t{32} << 20;
  explicit DeviceWeights(GpuPointer gpu, uint64_t part = kPart);

  using WeightStore::upload;
  UploadedBytes upload(const void* host, std::string_view form, uint64_t size, uint64_t grain,
                       const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) override;
  bool has(const WeightKey& key) const;
  // Waits for the copies and releases the buffers. Called before uploaded data are used.
  void finish();

  uint64_t bytes() const { return *bytes_; }  // on the GPU now

 private:
  struct Part {  // alternates with another one
    PinnedMemory buffer;
    std::unique_ptr<Mark> sent;
  };
  void send(Address to, uint64_t size, uint64_t grain,
            const std::function<void(std::byte*, uint64_t, uint64_t)>& fill);

  GpuPointer gpu_;
  const uint64_t part_;
  mutable std::mutex mutex_;
  const std::shared_ptr<Timeline> timeline_;
  std::array<Part, 2> parts_;
  size_t next_part_ = 0;
  std::map<WeightKey, std::weak_ptr<const Uploaded>> known_;
  std::shared_ptr<std::atomic<uint64_t>> bytes_ = std::make_shared<std::atomic<uint64_t>>(0);
};

// Counts what a plan would upload to a store, and uploads nothing.
class MeasuredWeights final : public WeightStore {
 public:
  explicit MeasuredWeights(const DeviceWeights& store) : store_(store) {}

  using WeightStore::upload;
  UploadedBytes upload(const void* host, std::string_view form, uint64_t size, uint64_t grain,
                       const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) override;
  uint64_t bytes() const { return bytes_; }

 private:
  const DeviceWeights& store_;
  std::set<WeightKey> counted_;
  uint64_t bytes_ = 0;
};

}  // namespace pippin::cuda
