#include "pippin/cuda/run/timeline.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pippin::cuda {

Timeline::Timeline(GpuPointer gpu) : gpu_(std::move(gpu)) {
  gpu_->enter();
  gpu_->call<&Driver::create_stream>(&stream_, kNonBlockingStream);
}

Timeline::~Timeline() {
  drain();
  gpu_->release<&Driver::destroy_stream>(stream_);
}

void Timeline::to_device(Address to, const void* pinned, uint64_t size) {
  gpu_->call<&Driver::copy_to_device>(to, pinned, size, stream_);
  is_busy_ = true;
}
void Timeline::to_host(void* pinned, Address from, uint64_t size) {
  gpu_->call<&Driver::copy_to_host>(pinned, from, size, stream_);
  is_busy_ = true;
}
void Timeline::inside(Address to, Address from, uint64_t size) {
  gpu_->call<&Driver::copy_inside>(to, from, size, stream_);
  is_busy_ = true;
}
void Timeline::fill(Address to, unsigned char value, uint64_t size) {
  gpu_->call<&Driver::fill>(to, value, size, stream_);
  is_busy_ = true;
}

void Timeline::synchronize() {
  if (!is_busy_) return;
  gpu_->call<&Driver::synchronize>(stream_);
  is_busy_ = false;
}

void Timeline::drain() noexcept {
  const auto held = lock();
  if (is_busy_) gpu_->release<&Driver::synchronize>(stream_);
  is_busy_ = false;
}

void Timeline::reserve_staging(std::span<const Piece> pieces) {
  uint64_t size = 0;
  for (const Piece& piece : pieces) size += piece.size;
  const uint64_t wanted = std::min(size, kStaging);
  if (staging_.size() >= wanted) return;
  synchronize();  // nothing uses the smaller one
  staging_ = PinnedMemory(gpu_, std::max(wanted, std::min(2 * staging_.size(), kStaging)),
                          "a buffer for copies");
}

template <typename Queue, typename Ended>
void Timeline::in_parts(std::span<const Piece> pieces, const Queue& queue, const Ended& ended) {
  const auto held = lock();
  reserve_staging(pieces);
  std::vector<std::pair<Piece, std::byte*>> queued;
  uint64_t used = 0;
  const auto flush = [&] {
    synchronize();
    for (const auto& [part, place] : queued) ended(part, place);
    queued.clear();
    used = 0;
  };
  for (Piece rest : pieces) {
    while (rest.size > 0) {
      if (used == staging_.size()) flush();
      const Piece part{rest.host, rest.device, std::min(rest.size, staging_.size() - used)};
      queue(part, staging_.data() + used);
      queued.emplace_back(part, staging_.data() + used);
      used += part.size;
      rest = {rest.host + part.size, rest.device + part.size, rest.size - part.size};
    }
  }
  flush();
}

void Timeline::download(std::span<const Piece> pieces) {
  in_parts(
      pieces, [&](const Piece& part, std::byte* at) { to_host(at, part.device, part.size); },
      [](const Piece& part, const std::byte* at) { std::memcpy(part.host, at, part.size); });
}

void Timeline::upload(std::span<const Piece> pieces) {
  in_parts(
      pieces,
      [&](const Piece& part, std::byte* at) {
        std::memcpy(at, part.host, part.size);
        to_device(part.device, at, part.size);
      },
      [](const Piece&, const std::byte*) {});
}

Mark::Mark(GpuPointer gpu) : gpu_(std::move(gpu)) {
  gpu_->call<&Driver::create_event>(&event_, kEventWithoutTime);
}
Mark::Mark(Mark&& other) noexcept
    : gpu_(std::move(other.gpu_)),
      event_(std::exchange(other.event_, nullptr)),
      is_set_(other.is_set_) {}
Mark::~Mark() {
  if (event_ != nullptr) gpu_->release<&Driver::destroy_event>(event_);
}
void Mark::set(Timeline& timeline) {
  gpu_->call<&Driver::record_event>(event_, timeline.stream());
  timeline.mark_busy();
  is_set_ = true;
}
void Mark::wait() {
  if (is_set_) gpu_->call<&Driver::wait_event>(event_);
  is_set_ = false;
}

}  // namespace pippin::cuda
