#include "pippin/api/device.h"

#include "pippin/base/error.h"
#include "pippin/coreml/device.h"

namespace pippin {

bool has_core_ml() {
  return coreml::system_framework() != nullptr;
}

std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units) {
  coreml::DeviceOptions options;
  options.units = coreml::parse_units(compute_units);
  return coreml::open_device(options);
}

std::shared_ptr<engine::Device> open_device(std::string_view backend,
                                            std::string_view compute_units) {
  if (backend == "coreml") {
    return compute_units.empty() ? core_ml_device() : core_ml_device(compute_units);
  }
  if (backend != "cpu") {
    fail(ErrorCode::InvalidArgument, "backend: \"{}\" is not cpu or coreml", backend);
  }
  if (!compute_units.empty()) {
    fail(ErrorCode::InvalidArgument,
         "compute_units: \"{}\" goes with the backend coreml, this is cpu", compute_units);
  }
  return nullptr;
}

}  // namespace pippin
