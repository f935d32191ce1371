#include "pippin/engine/fallback.h"

#include "pippin/base/log.h"
#include "pippin/engine/device.h"

namespace pippin::engine {

bool falls_back(const ComputeOptions& compute, const Error& error) {
  if (compute.device == nullptr) return false;
  const ErrorCode code = error.code();
  const bool has_no_kernel = code == ErrorCode::Unsupported;
  const bool is_of_device = code == ErrorCode::LimitExceeded || code == ErrorCode::Device;
  const bool is_allowed = compute.fallback == Fallback::Always
                              ? has_no_kernel || is_of_device
                              : compute.fallback == Fallback::NoKernel && has_no_kernel;
  if (is_allowed) {
    log_warn("{}: {}; the model runs on the CPU", compute.device->name(), error.what());
  }
  return is_allowed;
}

}  // namespace pippin::engine
