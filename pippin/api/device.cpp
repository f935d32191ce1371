#include "pippin/api/device.h"

#include "pippin/coreml/device.h"

namespace pippin {

std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units) {
  coreml::DeviceOptions options;
  options.units = coreml::parse_units(compute_units);
  return coreml::open_device(options);
}

}  // namespace pippin
