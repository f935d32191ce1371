// Options of `pippin convert` that suit a device, as on the command line: a preset is only
// shorthand for its options.
#pragma once

#include <string_view>
#include <vector>

namespace pippin::app {

struct PresetOption {
  std::string_view name, value;  // "--max-chunk-mb", "ios"
};

struct DevicePreset {
  std::string_view name;  // "iphone15"
  std::string_view what;
  std::vector<PresetOption> options;
};

const std::vector<DevicePreset>& device_presets();
// Throws InvalidArgument, listing the presets.
const DevicePreset& find_device_preset(std::string_view name);

}  // namespace pippin::app
