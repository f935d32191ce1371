#include "pippin/api/device.h"

#include <optional>

#include "pippin/base/error.h"
#include "pippin/coreml/device.h"
#include "pippin/cuda/backend.h"
#include "pippin/cuda/device.h"

namespace pippin {

bool has_core_ml() {
  return coreml::system_framework() != nullptr;
}

std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units) {
  coreml::DeviceOptions options;
  options.units = coreml::parse_units(compute_units);
  return coreml::open_device(options);
}

bool has_cuda() {
  return cuda::choose_device().device != nullptr;
}

std::shared_ptr<engine::Device> cuda_device(int index) {
  if (index < 0) fail(ErrorCode::InvalidArgument, "cuda: {} is not the number of a GPU", index);
  return cuda::open_device(index);
}

std::shared_ptr<engine::Device> open_device(std::string_view backend,
                                            std::string_view compute_units) {
  if (backend == "coreml") {
    return compute_units.empty() ? core_ml_device() : core_ml_device(compute_units);
  }
  const std::optional<int> gpu = cuda::gpu_number(backend);
  if (backend != "cpu" && backend != "auto" && !gpu) {
    fail(ErrorCode::InvalidArgument, "backend: \"{}\" is not cpu, cuda, cuda:N, auto or coreml",
         backend);
  }
  if (!compute_units.empty()) {
    fail(ErrorCode::InvalidArgument,
         "compute_units: \"{}\" goes with the backend coreml, this is {}", compute_units, backend);
  }
  if (gpu) return cuda_device(*gpu);
  return backend == "auto" ? cuda::choose_device().device : nullptr;
}

void set_backend(engine::ComputeOptions& options, std::string_view backend,
                 std::string_view compute_units) {
  options.device = open_device(backend, compute_units);
  options.fallback = backend == "auto"             ? engine::Fallback::Always
                     : backend.starts_with("cuda") ? engine::Fallback::NoKernel
                                                   : engine::Fallback::Never;
}

}  // namespace pippin
