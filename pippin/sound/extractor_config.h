// The keys of a preprocessor_config.json: each has a default and limits, and a key that no rule
// reads is an error, because it could change the result.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/io/config_keys.h"

namespace pippin::sound {

class ExtractorConfig : public ConfigKeys {
 public:
  explicit ExtractorConfig(const Json& json);

  int64_t sampling_rate() const { return sampling_rate_; }

  // Throws InvalidFile unless the key is missing, null or has this value, which follows from other
  // keys.
  void check_derived(std::string_view key, int64_t value, std::string_view formula);

  // Throws Unsupported for a key that was not read, except in a file that also describes a
  // processor of pictures (Gemma 3n's).
  void check_all_read() const;

 private:
  int64_t sampling_rate_ = 0;
};

}  // namespace pippin::sound
