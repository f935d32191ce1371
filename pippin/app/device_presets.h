// Options of `pippin convert` that suit a device, in the words of the command line: a preset says
// nothing that its options do not say.
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
// Throws InvalidArgument, naming those there are.
const DevicePreset& find_device_preset(std::string_view name);

}  // namespace pippin::app
