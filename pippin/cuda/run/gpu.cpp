#include "pippin/cuda/run/gpu.h"

#include <utility>

#include "pippin/base/error.h"

namespace pippin::cuda {

Gpu::Gpu(const Driver& driver, int index) : driver_(driver) {
  int count = 0;
  call<&Driver::device_count>(&count);
  if (index < 0 || index >= count) {
    fail(ErrorCode::NotFound, "there is no GPU {}: the NVIDIA driver finds {}", index, count);
  }
  call<&Driver::device_get>(&number_, index);
  call<&Driver::driver_version>(&driver_version_);
  limits_.major = attribute(DeviceAttribute::Major);
  limits_.minor = attribute(DeviceAttribute::Minor);
  if (std::pair(limits_.major, limits_.minor) < std::pair(kLeastMajor, kLeastMinor)) {
    fail(ErrorCode::Unsupported, "GPU {} has compute capability {}.{}; {}.{} or later is needed",
         index, limits_.major, limits_.minor, kLeastMajor, kLeastMinor);
  }
  limits_.shared_bytes = attribute(DeviceAttribute::SharedBytesOptIn);
  limits_.cache_bytes = attribute(DeviceAttribute::CacheBytes);
  call<&Driver::retain_context>(&context_, number_);
}

Gpu::~Gpu() {
  driver_.release_context(number_);
}

int Gpu::attribute(DeviceAttribute what) const {
  int value = 0;
  call<&Driver::device_attribute>(&value, what, number_);
  return value;
}

void Gpu::enter() const {
  if (is_dead_) {
    const std::lock_guard lock(mutex_);
    fail(ErrorCode::Device, "the GPU has failed earlier: {}", failure_);
  }
  call<&Driver::set_context>(context_);
}

void Gpu::refuse(Result result, std::string_view function) const {
  if (is_sticky(result)) {
    const std::lock_guard lock(mutex_);
    if (!is_dead_) failure_ = fmt::format("{}: {}", function, driver_.words(result));
    is_dead_ = true;
  }
  driver_.check(result, function);
  fail(ErrorCode::Internal, "{} did not fail", function);
}

uint64_t Gpu::free_bytes() const {
  size_t free = 0, total = 0;
  call<&Driver::memory_info>(&free, &total);
  return free;
}

}  // namespace pippin::cuda
