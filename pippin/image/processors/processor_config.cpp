#include "pippin/image/processors/processor_config.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::image {
namespace {

constexpr int64_t kLongestSide = 1 << 14;
constexpr int64_t kLargestNumber = INT32_MAX;

// Files of before 2023 have the class of a feature extractor.
constexpr std::string_view kType = "image_processor_type", kOldType = "feature_extractor_type";
constexpr std::string_view kVideoType = "video_processor_type";

std::string_view type_key(const Json& json) {
  if (!json.is_object()) return kType;
  if (json.has(kVideoType)) return kVideoType;
  return !json.has(kType) && json.has(kOldType) ? kOldType : kType;
}

std::string current_name(std::string type) {
  constexpr std::string_view kOldEnding = "FeatureExtractor";
  if (type.ends_with(kOldEnding)) {
    return fmt::format("{}ImageProcessor",
                       std::string_view(type).substr(0, type.size() - kOldEnding.size()));
  }
  for (std::string_view ending : {"Fast", "Pil"}) {
    if (type.ends_with(ending)) type.resize(type.size() - ending.size());
  }
  return type;
}

}  // namespace

ProcessorConfig::ProcessorConfig(const Json& json, std::optional<Backend> backend,
                                 const Json& processor)
    : ConfigKeys(json, type_key(json)), processor_(processor) {
  const std::string written = type();
  rename_type(current_name(written));
  const bool lanczos = type() == "Idefics3ImageProcessor" || type() == "SmolVLMImageProcessor";
  backend_ =
      backend.value_or(lanczos || written.ends_with("Pil") ? Backend::Pil : Backend::Torchvision);
  // Every picture is converted.
  ignore("do_convert_rgb");
}

std::string ProcessorConfig::processor_class() const {
  const std::string own = json().get_string_or("processor_class", "");
  return processor_.is_object() ? processor_.get_string_or("processor_class", own) : own;
}

std::array<double, 3> ProcessorConfig::channels(std::string_view key,
                                                const std::array<double, 3>& fallback) {
  ignore(key);
  const auto found = json().find(key);
  if (!found) return fallback;
  std::array<double, 3> values{};
  if (found->is_number()) {
    values.fill(found->as_float());
  } else {
    const std::vector<double> numbers = found->as_floats();
    if (numbers.size() != 3) found->invalid(fmt::format("{} numbers, expected 3", numbers.size()));
    std::copy(numbers.begin(), numbers.end(), values.begin());
  }
  for (const double value : values) {
    if (!(std::abs(value) <= 1e6)) invalid(key, fmt::format("{} is not a usual value", value));
  }
  return values;
}

PixelOptions ProcessorConfig::pixels(Filter filter, const std::array<double, 3>& mean,
                                     const std::array<double, 3>& std, bool normalize) {
  PixelOptions options;
  options.backend = backend_;
  options.resize = flag("do_resize", true);
  options.filter = static_cast<Filter>(integer("resample", static_cast<int64_t>(filter), 0, 5));
  options.rescale = flag("do_rescale", true);
  options.factor = number("rescale_factor", 1 / 255.0, 1e-9, 1e9);
  options.normalize = flag("do_normalize", normalize);
  options.mean = channels("image_mean", mean);
  options.std = channels("image_std", std);
  for (const double value : options.std) {
    if (options.normalize && std::abs(value) < 1e-9) invalid("image_std", "a value is 0");
  }
  return options;
}

SizeRule ProcessorConfig::size(std::string_view key, const SizeRule& fallback, bool square) {
  ignore(key);
  const auto found = json().find(key);
  if (!found) return fallback;
  SizeRule rule;
  if (found->is_integer()) {
    const int64_t side = found->as_int(1, kLargestNumber);
    if (square) return {.height = side, .width = side};
    return {.shortest = side};
  }
  if (found->is_array()) {
    if (found->size() != 2) found->invalid(fmt::format("{} numbers, expected 2", found->size()));
    rule.height = found->at(0).as_int(1, kLargestNumber);
    rule.width = found->at(1).as_int(1, kLargestNumber);
    return rule;
  }
  const auto side = [&](std::string_view name, int64_t& value) {
    if (const auto number = found->find(name)) value = number->as_int(1, kLargestNumber);
  };
  side("height", rule.height);
  side("width", rule.width);
  side("shortest_edge", rule.shortest);
  side("longest_edge", rule.longest);
  side("max_height", rule.max_height);
  side("max_width", rule.max_width);
  side("min_pixels", rule.shortest);
  side("max_pixels", rule.longest);
  if ((rule.height == 0) != (rule.width == 0)) {
    found->invalid("expected both a height and a width");
  }
  if (rule.height + rule.shortest + rule.longest + rule.max_height == 0) {
    found->invalid("expected height and width, shortest_edge or longest_edge");
  }
  return rule;
}

Size ProcessorConfig::fixed_size(std::string_view key, Size fallback) {
  const SizeRule rule = size(key, {.height = fallback.height, .width = fallback.width});
  const int64_t height = rule.height != 0 ? rule.height : rule.shortest;
  const int64_t width = rule.width != 0 ? rule.width : rule.shortest;
  if (height <= 0 || width <= 0 || height > kLongestSide || width > kLongestSide) {
    invalid(key, fmt::format("expected a height and a width of 1 to {}", kLongestSide));
  }
  return {height, width};
}

int64_t ProcessorConfig::longest_edge(std::string_view key, int64_t fallback) {
  const int64_t edge = size(key, {.longest = fallback}).longest;
  if (edge <= 0 || edge > kLongestSide) {
    invalid(key, fmt::format("expected a longest_edge of 1 to {}", kLongestSide));
  }
  return edge;
}

std::vector<Size> ProcessorConfig::sizes(std::string_view key, std::vector<Size> fallback) {
  ignore(key);
  const auto found = json().find(key);
  if (!found) return fallback;
  std::vector<Size> list;
  list.reserve(found->size());
  for (const Json& element : found->elements()) {
    if (!element.is_array() || element.size() != 2) element.invalid("expected two numbers");
    list.push_back({element.at(0).as_int(1, kLongestSide), element.at(1).as_int(1, kLongestSide)});
  }
  if (list.empty()) invalid(key, "the list is empty");
  return list;
}

void ProcessorConfig::check_switches() const {
  for (const auto& [key, value] : json().members()) {
    if (key.starts_with("do_") && value.is_bool() && value.as_bool() && !was_read(key)) {
      unsupported(key, "true");
    }
  }
}

}  // namespace pippin::image
