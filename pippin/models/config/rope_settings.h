// The rope settings of a configuration, in three forms, which architectures need not distinguish:
//   rope_theta, partial_rotary_factor and rope_scaling {...}   before transformers 5
//   rope_parameters {rope_theta, rope_type, ...}               since then
//   rope_parameters {full_attention: {...}, sliding_attention: {...}}, where kinds of layers differ
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"

namespace pippin::models {

inline constexpr std::string_view kFullLayers = "full_attention",
                                  kSlidingLayers = "sliding_attention";

class RopeSettings {
 public:
  // For the layers of a kind (kFullLayers, kSlidingLayers), or, if it is empty, for all layers of
  // an architecture that has one rope. Throws Unsupported if the configuration nevertheless has one
  // for each kind.
  explicit RopeSettings(const Config& config, std::string_view kind = "");

  // Whether there are objects for kinds of layers, and null for this one.
  bool is_absent() const { return absent_; }
  // Whether there is an object for each kind.
  bool by_kind() const { return by_kind_; }
  // The value of the object, or else of older keys, which the caller reads.
  double theta(double fallback) const;
  double rotary_factor(double fallback) const;
  // Whether a part of the frequencies of whole heads is used; the others are 0.
  bool is_proportional() const { return object_.text("rope_type", "") == "proportional"; }
  // Throws Unsupported for a factor that rotates a part of each head.
  void require_whole_heads(double also_whole = 1.0) const;
  // The object; empty if absent.
  const Config& object() const { return object_; }
  bool has_object() const { return has_object_; }
  // Whether the object is rope_scaling, the older form.
  bool older() const { return older_; }

  // Throws Unsupported for an unread member of the object that some rope of transformers uses and
  // `known` does not name.
  void refuse_unread(const std::vector<std::string_view>& known) const;

 private:
  Config object_;
  std::optional<Config> parameters_;  // next to rope_scaling
  bool has_object_ = false, by_kind_ = false, older_ = false, absent_ = false;
};

}  // namespace pippin::models
