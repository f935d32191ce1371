// The keys of an image processor in preprocessor_config.json.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/image/processors/pixels.h"
#include "pippin/io/config_keys.h"

namespace pippin::image {

// The sides of a picture, as the objects of `size` and `crop_size` give them; 0: absent.
struct SizeRule {
  int64_t height = 0, width = 0;
  int64_t shortest = 0, longest = 0;  // shortest_edge, longest_edge
  int64_t max_height = 0, max_width = 0;
};

inline constexpr std::array<double, 3> kHalf = {0.5, 0.5, 0.5};
inline constexpr std::array<double, 3> kClipMean = {0.48145466, 0.4578275, 0.40821073};
inline constexpr std::array<double, 3> kClipStd = {0.26862954, 0.26130258, 0.27577711};
inline constexpr std::array<double, 3> kImageNetMean = {0.485, 0.456, 0.406};
inline constexpr std::array<double, 3> kImageNetStd = {0.229, 0.224, 0.225};

class ProcessorConfig : public ConfigKeys {
 public:
  // Without a backend: transformers' default, torchvision except for the models that were trained
  // with Lanczos.
  // `processor` has the settings of the model's processor (processor_config.json), some of which
  // have precedence; it may be an empty object.
  ProcessorConfig(const Json& json, std::optional<Backend> backend, const Json& processor);

  Backend backend() const { return backend_; }
  const Json& processor() const { return processor_; }
  // Returns the class of the model's processor, or an empty text if no file names it.
  std::string processor_class() const;

  // Reads do_resize, resample, do_rescale, rescale_factor, do_normalize, image_mean, image_std.
  PixelOptions pixels(Filter filter, const std::array<double, 3>& mean,
                      const std::array<double, 3>& std, bool normalize = true);
  // A number is the side of a square, or the shortest edge if `square` is false. Numbers are at
  // most 2^31 - 1 (Qwen's edges are areas).
  SizeRule size(std::string_view key, const SizeRule& fallback, bool square = true);
  // The same for sizes that must have a height and a width of at most 2^14.
  Size fixed_size(std::string_view key, Size fallback);
  int64_t longest_edge(std::string_view key, int64_t fallback);
  // A list of {height, width}.
  std::vector<Size> sizes(std::string_view key, std::vector<Size> fallback);

  // Throws Unsupported for an unread switch ("do_...") that is on. transformers ignores other keys
  // that a class does not have, and published files contain many of them.
  void check_switches() const;

 private:
  std::array<double, 3> channels(std::string_view key, const std::array<double, 3>& fallback);

  Backend backend_ = Backend::Torchvision;
  Json processor_;
};

}  // namespace pippin::image
