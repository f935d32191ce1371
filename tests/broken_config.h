// For tests: checkpoints whose config.json has one wrong value are refused.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"

namespace pippin {

struct BrokenConfig {
  std::string folder, key, value, message;
};

// Expects that `open` throws an Error with the message, and with the code if there is one, for a
// folder with config.json changed and the weights of the shared folder `place`/`folder`. Returns
// how many of the folders exist.
inline int expect_refused(const std::string& place, std::span<const BrokenConfig> broken,
                          const std::function<void(const std::filesystem::path&)>& open,
                          std::optional<ErrorCode> code = std::nullopt) {
  int refused = 0;
  for (const BrokenConfig& one : broken) {
    SCOPED_TRACE(one.folder + ": " + one.key + " = " + one.value);
    const auto folder = shared_data(place + one.folder);
    if (!folder) continue;
    ++refused;
    const TempDir dir;
    std::string text = "{";
    for (const auto& [key, value] : Json::load(*folder / "config.json", kPythonJson).members()) {
      if (key != one.key) text += "\"" + std::string(key) + "\": " + value.dump() + ", ";
    }
    write_file(dir / "config.json", text + "\"" + one.key + "\": " + one.value + "}");
    std::filesystem::create_symlink(*folder / "model.safetensors", dir / "model.safetensors");
    try {
      open(dir.path());
      ADD_FAILURE() << "nothing is thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(one.message), std::string::npos) << error.what();
      EXPECT_EQ(error.code(), code.value_or(error.code())) << error.what();
    }
  }
  return refused;
}

}  // namespace pippin
