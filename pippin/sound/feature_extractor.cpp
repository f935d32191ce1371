#include "pippin/sound/feature_extractor.h"

#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/sound/kinds.h"

namespace pippin::sound {

RecordingFeatures FeatureKind::frames_of(std::span<const float>) const {
  fail(ErrorCode::Unsupported, "{} has no features of parts of a recording", type);
}

FeatureExtractor FeatureExtractor::read(const std::filesystem::path& path) {
  const Json json = Json::load(path, kPythonJson);
  return parse(json.is_object() && json.has("feature_extractor") ? json.at("feature_extractor")
                                                                 : json);
}

FeatureExtractor FeatureExtractor::open(const std::filesystem::path& folder) {
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    if (std::filesystem::exists(folder / name)) return read(folder / name);
  }
  fail(ErrorCode::NotFound,
       "{}: there is neither a preprocessor_config.json nor a processor_config.json",
       folder.string());
}

FeatureExtractor FeatureExtractor::parse(const Json& json) {
  ExtractorConfig config(json);
  std::vector<std::string_view> known;
  known.reserve(std::size(kKinds));
  for (const KindRow& row : kKinds) {
    known.push_back(row.type);
    if (row.type != config.type()) continue;
    auto kind = row.read(config);
    config.check_all_read();
    kind->type = config.type();
    kind->sampling_rate = config.sampling_rate();
    return FeatureExtractor(std::move(kind));
  }
  fail(ErrorCode::Unsupported, "{}: '{}' is not supported (supported: {})",
       json.where("feature_extractor_type"), config.type(), fmt::join(known, ", "));
}

const std::string& FeatureExtractor::type() const {
  return kind_->type;
}
int64_t FeatureExtractor::sampling_rate() const {
  return kind_->sampling_rate;
}
size_t FeatureExtractor::max_samples() const {
  return kind_->max_samples();
}
size_t FeatureExtractor::hop() const {
  return kind_->hop();
}

namespace {

// Computations with larger samples could leave the range of floats.
constexpr float kLoudest = 1e18F;

void check_range(std::span<const float> samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!(std::abs(samples[i]) <= kLoudest)) {
      fail(ErrorCode::InvalidArgument, "sample {} of {} is {} (limit: {})", i, samples.size(),
           samples[i], kLoudest);
    }
  }
}

}  // namespace

Features FeatureExtractor::operator()(std::span<const float> samples) const {
  const size_t used = max_samples();
  if (used != 0 && samples.size() > used) samples = samples.first(used);
  check_range(samples);
  return kind_->compute(samples);
}

RecordingFeatures FeatureExtractor::frames_of(std::span<const float> samples) const {
  check_range(samples);
  return kind_->frames_of(samples);
}

}  // namespace pippin::sound
