// Inputs of vision towers, compared with those that transformers computed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/image/processors/image_processor.h"
#include "pippin/io/npz.h"

namespace pippin::image {
namespace {

namespace fs = std::filesystem;

// One level of 8 bits in normalized units, and how many numbers may differ by one.
struct Tolerance {
  double level = 1 / 255.0;
  double mean = 1e-3;
};

Tolerance tolerance_of(const fs::path& config) {
  const Json json = Json::load(config, kPythonJson);
  double least = 1;
  if (json.get_bool_or("do_normalize", true) && json.has("image_std")) {
    const Json std = json.at("image_std");
    for (const double value : std.is_array() ? std.as_floats() : std::vector{std.as_float()}) {
      least = std::min(least, value);
    }
  }
  return {1.01 / 255 / least, 1e-3};
}

struct Expected {
  std::vector<int64_t> shape;
  std::vector<float> values;  // each `every`-th
  size_t every = 1;
};

// Compares an output with a stored one.
template <typename T>
void expect_values(const std::string& key, const std::vector<int64_t>& shape,
                   const std::vector<T>& actual, const Expected& expected,
                   const Tolerance& tolerance) {
  ASSERT_EQ(shape, expected.shape) << key;
  ASSERT_EQ((actual.size() + expected.every - 1) / expected.every, expected.values.size()) << key;
  double worst = 0, sum = 0;
  size_t place = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double difference =
        std::abs(double{expected.values[i]} - static_cast<double>(actual[i * expected.every]));
    sum += difference;
    if (difference > worst) {
      worst = difference;
      place = i * expected.every;
    }
  }
  EXPECT_LE(worst, tolerance.level)
      << key << " at " << place << ": " << static_cast<double>(actual[place]);
  EXPECT_LE(sum, tolerance.mean * static_cast<double>(expected.values.size())) << key;
}

// Returns the stored array `name`, whole or sparse.
std::optional<Expected> stored(const NpzFile& golden, const Json& info, const std::string& name) {
  Expected expected;
  if (golden.contains(name)) {
    const NpyArray array = golden.read(name);
    return Expected{array.shape, array.to_floats(), 1};
  }
  if (!golden.contains(name + "__every")) return std::nullopt;
  const Json facts = info.at(name);
  return Expected{facts.get_ints("shape"), golden.read(name + "__every").to_floats(),
                  static_cast<size_t>(facts.get_int("every"))};
}

std::string pixels_name(const std::string& type) {
  if (type == "FuyuImageProcessor") return "images";
  return type == "Phi4MultimodalImageProcessor" ? "image_pixel_values" : "pixel_values";
}

void compare_backend(const fs::path& folder, const fs::path& pictures, Backend backend,
                     const std::string& prefix) {
  const auto processor = ImageProcessor::read(folder / "preprocessor_config.json", backend);
  const Tolerance tolerance = tolerance_of(folder / "preprocessor_config.json");
  const NpzFile golden = NpzFile::open(folder / "golden.npz");
  const Json info = Json::load(folder / "info.json");
  size_t index = 0;
  for (const std::string& title : info.get_strings("__images__")) {
    SCOPED_TRACE(prefix + title);
    std::string name = title;
    std::replace(name.begin(), name.end(), ':', '_');
    std::erase(name, ' ');
    const ImageInputs inputs = processor.process(read_picture(pictures / name));
    const auto compare = [&](const std::string& key, const auto& array) {
      const auto expected = stored(golden, info, fmt::format("{}/{}/{}", prefix, index, key));
      // Some outputs appear only on request.
      if (expected) expect_values(key, array.shape, array.values, *expected, tolerance);
    };
    const std::string pixels = pixels_name(processor.type());
    EXPECT_TRUE(stored(golden, info, fmt::format("{}/{}/{}", prefix, index, pixels)));
    compare(pixels, inputs.pixel_values);
    for (const auto& [key, array] : inputs.sizes) compare(key, array);
    for (const auto& [key, array] : inputs.further) compare(key, array);
    // All stored outputs exist.
    for (const auto& [key, value] : info.members()) {
      const std::string start = fmt::format("{}/{}/", prefix, index);
      if (!key.starts_with(start)) continue;
      const std::string output(key.substr(start.size()));
      EXPECT_TRUE(output == pixels || inputs.sizes.contains(output) ||
                  inputs.further.contains(output))
          << output;
    }
    ++index;
  }
}

TEST(ImageGoldens, EqualTransformersOfAllProcessors) {
  PIPPIN_SHARED_OR_SKIP(pictures, "models2026/proc/images");
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(pictures.parent_path())) {
    const fs::path folder = entry.path();
    if (!fs::exists(folder / "golden.npz")) continue;
    SCOPED_TRACE(folder.filename().string());
    const NpzFile golden = NpzFile::open(folder / "golden.npz");
    for (const auto& [backend, prefix] :
         {std::pair{Backend::Torchvision, "torchvision"}, std::pair{Backend::Pil, "pil"}}) {
      const bool present = std::any_of(
          golden.names().begin(), golden.names().end(),
          [&begin = prefix](const std::string& name) { return name.starts_with(begin); });
      if (!present) continue;
      try {
        compare_backend(folder, pictures, backend, prefix);
      } catch (const Error& error) {
        ADD_FAILURE() << prefix << ": " << error.what();
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 95u);
}

// Pictures of different sizes have zeros below and to the right.
void append_padded(const FloatArray& pixels, int64_t height, int64_t width,
                   std::vector<float>& values) {
  const int64_t own_height = pixels.shape.at(2), own_width = pixels.shape.at(3);
  for (int64_t i = 0; i < 3 * height * width; ++i) {
    const int64_t channel = i / (height * width), y = i / width % height, x = i % width;
    const bool inside = y < own_height && x < own_width;
    values.push_back(
        inside ? pixels.values[static_cast<size_t>((channel * own_height + y) * own_width + x)]
               : 0);
  }
}

// The inputs of several images are those of each, one after the other.
std::vector<float> joined(const std::vector<ImageInputs>& inputs, const std::string& key,
                          const std::vector<int64_t>& shape) {
  std::vector<float> values;
  for (const ImageInputs& image : inputs) {
    if (key == "pixel_values" && image.sizes.contains("image_sizes") && shape.size() == 4) {
      append_padded(image.pixel_values, shape[2], shape[3], values);
    } else if (key == "pixel_values") {
      values.insert(values.end(), image.pixel_values.values.begin(),
                    image.pixel_values.values.end());
    } else if (const auto found = image.sizes.find(key); found != image.sizes.end()) {
      for (const int64_t value : found->second.values) values.push_back(static_cast<float>(value));
    } else {
      const FloatArray& array = image.further.at(key);
      values.insert(values.end(), array.values.begin(), array.values.end());
    }
  }
  return values;
}

TEST(ImageGoldens, EqualTransformersOfAllModels) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "models2026/vlm");
  size_t compared = 0;
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    const auto processor = ImageProcessor::open(folder);
    std::vector<ImageInputs> inputs;
    while (fs::exists(folder / fmt::format("image{}.png", inputs.size()))) {
      inputs.push_back(
          processor.process(read_picture(folder / fmt::format("image{}.png", inputs.size()))));
    }
    const NpzFile golden = NpzFile::open(folder / "golden.npz");
    const Tolerance tolerance = tolerance_of(folder / "preprocessor_config.json");
    for (const std::string& name : golden.names()) {
      const bool of_processor = name.starts_with("proc_");
      if (!of_processor && !name.starts_with("in_")) continue;
      const std::string key = name.substr(of_processor ? 5 : 3);
      // Of the text.
      if (key.ends_with("token_type_ids")) continue;
      const NpyArray expected = golden.read(name);
      expect_values(key, expected.shape, joined(inputs, key, expected.shape),
                    {expected.shape, expected.to_floats(), 1}, tolerance);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 25u);
}

}  // namespace
}  // namespace pippin::image
