#include "pippin/cuda/run/weights.h"

#include <algorithm>
#include <utility>

namespace pippin::cuda {
namespace {

struct HeldWeights {
  std::shared_ptr<Timeline> timeline;  // of copies that may be in flight
  DeviceMemory memory;
  std::shared_ptr<std::atomic<uint64_t>> total;
  Uploaded uploaded;

  HeldWeights(std::shared_ptr<Timeline> copies, DeviceMemory given,
              std::shared_ptr<std::atomic<uint64_t>> counter)
      : timeline(std::move(copies)),
        memory(std::move(given)),
        total(std::move(counter)),
        uploaded{memory.data(), memory.size()} {
    *total += memory.size();
  }
  HeldWeights(const HeldWeights&) = delete;
  HeldWeights& operator=(const HeldWeights&) = delete;
  ~HeldWeights() {
    timeline->drain();
    *total -= memory.size();
  }
};

}  // namespace

DeviceWeights::DeviceWeights(GpuPointer gpu, uint64_t part)
    : gpu_(std::move(gpu)), part_(part), timeline_(std::make_shared<Timeline>(gpu_)) {}

bool DeviceWeights::has(const WeightKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(key);
  return known != known_.end() && !known->second.expired();
}

UploadedBytes DeviceWeights::upload(
    const void* host, std::string_view form, uint64_t size, uint64_t grain,
    const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) {
  const std::lock_guard lock(mutex_);
  WeightKey key(host, form, size);
  if (const auto known = known_.find(key); known != known_.end()) {
    if (auto uploaded = known->second.lock()) return uploaded;
  }
  std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  const auto in_order = timeline_->lock();
  const auto held =
      std::make_shared<HeldWeights>(timeline_, DeviceMemory(gpu_, size, "a weight"), bytes_);
  send(held->memory.address(), size, std::max<uint64_t>(grain, 1), fill);
  UploadedBytes uploaded(held, &held->uploaded);
  known_[std::move(key)] = uploaded;
  return uploaded;
}

void DeviceWeights::send(Address to, uint64_t size, uint64_t grain,
                         const std::function<void(std::byte*, uint64_t, uint64_t)>& fill) {
  const uint64_t most = std::max(part_ / grain, uint64_t{1}) * grain;
  for (uint64_t begin = 0; begin < size;) {
    const uint64_t end = begin + std::min(size - begin, most);
    Part& part = parts_[next_part_++ % parts_.size()];
    if (part.sent == nullptr) part.sent = std::make_unique<Mark>(gpu_);
    part.sent->wait();
    if (part.buffer.size() < end - begin) {
      part.buffer = PinnedMemory();
      part.buffer = PinnedMemory(gpu_, std::max(end - begin, std::min(most, uint64_t{1} << 20)),
                                 "a buffer for weights");
    }
    fill(part.buffer.data(), begin, end);
    timeline_->to_device(to + begin, part.buffer.data(), end - begin);
    part.sent->set(*timeline_);
    begin = end;
  }
}

void DeviceWeights::finish() {
  const std::lock_guard lock(mutex_);
  const auto in_order = timeline_->lock();
  timeline_->synchronize();
  for (Part& part : parts_) part.buffer = PinnedMemory();
}

UploadedBytes MeasuredWeights::upload(
    const void* host, std::string_view form, uint64_t size, uint64_t /*grain*/,
    const std::function<void(std::byte*, uint64_t, uint64_t)>& /*fill*/) {
  const WeightKey key(host, form, size);
  if (!store_.has(key) && counted_.insert(key).second) bytes_ += size;
  return std::make_shared<const Uploaded>(Uploaded{nullptr, size});
}

}  // namespace pippin::cuda
