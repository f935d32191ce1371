#include "pippin/models/encoders/sentence_pooling.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"

namespace pippin::models {
namespace {

namespace fs = std::filesystem;

struct Way {
  std::string_view key, name;
  nn::Pooling way;
};
// In the order of older configurations, which have a separate key for each.
constexpr std::array kWays = {
    Way{"pooling_mode_cls_token", "cls", nn::Pooling::First},
    Way{"pooling_mode_max_tokens", "max", nn::Pooling::Max},
    Way{"pooling_mode_mean_tokens", "mean", nn::Pooling::Mean},
    Way{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", nn::Pooling::MeanSqrt},
    Way{"pooling_mode_weightedmean_tokens", "weightedmean", nn::Pooling::WeightedMean},
    Way{"pooling_mode_lasttoken", "lasttoken", nn::Pooling::Last},
};

nn::Pooling way_called(const Json& config, std::string_view name) {
  const auto* const way = std::find_if(kWays.begin(), kWays.end(),
                                       [&](const Way& known) { return known.name == name; });
  if (way != kWays.end()) return way->way;
  fail(ErrorCode::Unsupported,
       "{}: '{}' is not supported (known: cls, max, mean, mean_sqrt_len_tokens, weightedmean, "
       "lasttoken)",
       config.where("pooling_mode"), name);
}

// pooling_mode: a name or a list, whose order is that of the parts of an embedding.
nn::PoolingOptions named_ways(const Json& config, const Json& mode) {
  if (!mode.is_array()) return {way_called(config, mode.as_string())};
  nn::PoolingOptions pooling;
  for (const std::string& name : mode.as_strings()) pooling.push_back(way_called(config, name));
  return pooling;
}

// If pooling_mode is given, older keys are ignored; if nothing is given, the mean is used.
nn::PoolingOptions ways_of(const Json& config) {
  if (const auto mode = config.find("pooling_mode")) return named_ways(config, *mode);
  nn::PoolingOptions pooling;
  for (const Way& way : kWays) {
    if (config.get_bool_or(way.key, false)) pooling.push_back(way.way);
  }
  for (const auto& [key, value] : config.members()) {
    constexpr std::string_view kPrefix = "pooling_mode_";
    const bool known = std::any_of(kWays.begin(), kWays.end(),
                                   [&key = key](const Way& way) { return way.key == key; });
    if (known || !key.starts_with(kPrefix) || !value.as_bool()) continue;
    fail(ErrorCode::Unsupported, "{}: this pooling mode is not supported", config.where(key));
  }
  if (pooling.empty()) pooling.push_back(nn::Pooling::Mean);
  return pooling;
}

}  // namespace

Json module_config(const fs::path& folder) {
  return Json::parse(read_file(folder / "config.json", kPythonJson.max_bytes),
                     (folder.filename() / "config.json").string(), kPythonJson);
}

SentencePooling read_pooling(const fs::path& folder) {
  const Json config = module_config(folder);
  SentencePooling pooling{ways_of(config), config.get_bool_or("include_prompt", true)};
  if (pooling.ways.empty()) {
    fail(ErrorCode::InvalidFile, "{}: no pooling mode is set", config.where("pooling_mode"));
  }
  return pooling;
}

nn::SpladeOptions read_splade_pooling(const fs::path& folder) {
  const Json config = module_config(folder);
  const std::string way = config.get_string_or("pooling_strategy", "max");
  const std::string activation = config.get_string_or("activation_function", "relu");
  if (way != "max" && way != "sum") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: max, sum)",
         config.where("pooling_strategy"), way);
  }
  if (activation != "relu" && activation != "log1p_relu") {
    fail(ErrorCode::Unsupported, "{}: '{}' is not supported (known: relu, log1p_relu)",
         config.where("activation_function"), activation);
  }
  return {.sum = way == "sum", .twice = activation == "log1p_relu"};
}

}  // namespace pippin::models
