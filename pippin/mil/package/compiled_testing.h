// For tests only: the files of compiled models, byte by byte.
#pragma once

#include <filesystem>
#include <fstream>

#include "pippin/base/error.h"
#include "pippin/mil/model.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {

inline void put_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string little_endian(uint64_t number, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(number >> (8 * i));
  return result;
}

inline std::string counted(std::string_view text) {
  return little_endian(text.size(), 8) + std::string(text);
}

// The bytes of a coremldata.bin. `target` is "generic" for everything except pipelines.
inline std::string coreml_data(uint32_t kind, uint32_t version, std::string_view description,
                               std::string_view target = "generic") {
  return little_endian(kind, 4) + little_endian(5, 4) + std::string(20, '\0') + counted(target) +
         little_endian(version, 4) + std::string(28, '\0') + counted(description) +
         little_endian(kind, 8) + little_endian(0, 8);
}

}  // namespace pippin::mil
