// Features of recordings, compared with those that transformers computed.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "pippin/sound/feature_extractor.h"
#include "pippin/sound/kinds.h"

namespace pippin::sound {
namespace {

namespace fs = std::filesystem;

// transformers transforms frames in floats, and its own rounding shows in the few sums that are 80
// dB below the loudest bin of their frame, mostly in the lowest band.
constexpr double kTolerance = 1e-4, kMostTolerance = 3e-4;

// Kinds of the stored data that are not supported.
bool is_supported(const fs::path& folder) {
  const Json json = Json::load(folder / "preprocessor_config.json", kPythonJson);
  const std::string type = json.get_string("feature_extractor_type");
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const KindRow& row) { return row.type == type; });
}

// Compares with an array that contains all values or, under the name with "__every", each
// `every`-th.
void expect_values(const NpzFile& golden, const std::string& key, size_t every,
                   const std::vector<float>& actual) {
  const bool sparse = golden.contains(key + "__every");
  const size_t step = sparse ? every : 1;
  const std::vector<float> expected = golden.read(sparse ? key + "__every" : key).to_floats();
  ASSERT_EQ(expected.size(), (actual.size() + step - 1) / step) << key;
  double worst = 0;
  size_t place = 0, num_above = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(double{expected[i]} - double{actual[i * step]});
    if (!(difference <= kTolerance)) ++num_above;
    if (difference <= worst) continue;
    worst = difference;
    place = i * step;
  }
  EXPECT_LE(worst, kMostTolerance) << key << " at " << place << ": " << actual[place];
  EXPECT_LE(num_above, expected.size() / 5000) << key << ": " << worst << " at " << place;
}

void expect_mask(const NpzFile& golden, const std::string& key, size_t every,
                 const std::vector<int32_t>& mask) {
  expect_values(golden, key, every, {mask.begin(), mask.end()});
}

TEST(FeatureGoldens, EqualTransformersOfAllExtractors) {
  PIPPIN_SHARED_OR_SKIP(recordings, "models2026/speech/fex_waves");
  const fs::path root = recordings.parent_path();
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path folder = entry.path();
    if (!folder.filename().string().starts_with("fex_") || folder.filename() == "fex_waves")
      continue;
    if (!is_supported(folder)) continue;
    SCOPED_TRACE(folder.filename().string());
    const auto extractor = FeatureExtractor::read(folder / "preprocessor_config.json");
    const auto golden = NpzFile::open(folder / "golden.npz");
    const Json info = Json::load(folder / "info.json");
    const auto waves = NpzFile::open(recordings / fmt::format("{}.npz", extractor.sampling_rate()));
    for (int i = 0; i < 2; ++i) {
      const auto wave = waves.read(fmt::format("wave{}", i)).to_floats();
      const Features features = extractor(wave);
      const std::string key = fmt::format("{}/{}", i, features.name);
      const Json facts = info.at(key);
      EXPECT_EQ(features.shape, facts.get_ints("shape"));
      expect_values(golden, key, static_cast<size_t>(facts.get_int_or("every", 1)),
                    features.values);
      // Some of the stored results were requested without a mask.
      const std::string mask = fmt::format("{}/{}", i, features.mask_name);
      if (const auto mask_facts = info.find(mask)) {
        expect_mask(golden, mask, static_cast<size_t>(mask_facts->get_int_or("every", 1)),
                    features.mask);
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 38u);
}

TEST(FeatureGoldens, EqualTransformersOfAllModels) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "models2026/speech");
  size_t compared = 0;
  for (const fs::path& folder : folders) {
    if (folder.filename().string().starts_with("fex_") || !is_supported(folder)) continue;
    SCOPED_TRACE(folder.filename().string());
    const auto extractor = FeatureExtractor::read(folder / "preprocessor_config.json");
    const auto golden = NpzFile::open(folder / "golden.npz");
    const Features features = extractor(golden.read("waveform").to_floats());
    const std::string key = "feat_" + features.name;
    EXPECT_EQ(features.shape, golden.read(key).shape);
    expect_values(golden, key, 1, features.values);
    // Some processors rename the extractor's mask.
    for (const std::string& name :
         {"feat_" + features.mask_name, std::string("feat_input_features_mask")}) {
      if (golden.contains(name) && !features.mask.empty()) {
        expect_mask(golden, name, 1, features.mask);
      }
    }
    ++compared;
  }
  // One of them is in the repository.
  const bool has_all = shared_data("models2026/speech/fex_waves").has_value();
  EXPECT_EQ(compared, has_all ? 19u : 1u);
}

}  // namespace
}  // namespace pippin::sound
