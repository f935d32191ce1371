#include "pippin/app/convert/device_presets.h"

#include <string>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::app {

const std::vector<DevicePreset>& device_presets() {
  static const std::vector<DevicePreset> all = {
      {"ios17",
       "iPhones and iPads with iOS 17: no states, 8 bits per channel",
       {{"--family", "windowed"}, {"--blocks-per-chunk", "3"}, {"--quantize", "int8"}}},
      {"iphone15",
       "iPhones with 6 GB: the Neural Engine, 4 bits",
       {{"--family", "anemll"},
        {"--max-chunk-mb", "ios"},
        {"--lut-ffn", "4,16"},
        {"--lut-head", "6"}}},
      {"iphone16",
       "iPhones with 8 GB: the Neural Engine, 6 bits",
       {{"--family", "anemll"},
        {"--max-chunk-mb", "ios"},
        {"--lut-ffn", "6"},
        {"--lut-head", "6"}}},
      {"ipad-m1",
       "iPads with M1 or later: the Neural Engine, 6 bits",
       {{"--family", "anemll"},
        {"--max-chunk-mb", "ios"},
        {"--lut-ffn", "6"},
        {"--lut-head", "6"}}},
      {"mac-m1",
       "Macs with M1 or later: the Neural Engine, larger chunks",
       {{"--family", "anemll"},
        {"--max-chunk-mb", "macos"},
        {"--lut-ffn", "6"},
        {"--lut-head", "6"}}},
      {"mac-gpu",
       "Macs, through the GPU: one package, 4 bits per block of 32",
       {{"--family", "stateful"}, {"--norms", "safe"}, {"--quantize", "int4"}}},
  };
  return all;
}

const DevicePreset& find_device_preset(std::string_view name) {
  std::string known;
  for (const DevicePreset& preset : device_presets()) {
    if (preset.name == name) return preset;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  fail(ErrorCode::InvalidArgument, "--device {}: there are {}", name, known);
}

}  // namespace pippin::app
