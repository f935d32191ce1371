// Reads config.json: every value with its default and its limits, every error with key and number;
// no key that changes the result is ignored.
//
// A Config remembers which keys were read. refuse_unread() then checks the others: a key that
// changes the result (in any architecture of Hugging Face) and that this architecture does not read
// is rejected by name, unless its value means "off".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/nn/layers/mlp.h"

namespace pippin::models {

// No model is wider, and products of two sizes stay far from overflow.
inline constexpr int64_t kMaxSize = int64_t{1} << 24;

class Config {
 public:
  explicit Config(Json json) : json_(std::move(json)) {}

  // From now on an absent `key` has the value of `other`: configurations name some sizes in two
  // ways. The first alias of a key counts.
  void alias(std::string_view key, std::string_view other);

  // Integers between 1 and `max`.
  int64_t size(std::string_view key, int64_t fallback, int64_t max = kMaxSize) const;
  std::optional<int64_t> find_size(std::string_view key, int64_t max = kMaxSize) const;
  // Finite numbers above zero.
  double number(std::string_view key, double fallback) const;
  std::optional<double> find_number(std::string_view key) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  std::optional<Json> find(std::string_view key) const;  // nothing where absent or null
  bool contains(std::string_view key) const;             // also for null
  // A number for each layer: a list of them, or one for all.
  std::vector<double> numbers(std::string_view key, int64_t count, double fallback) const;

  // hidden_act and the like; throws Unsupported for one that Pippin does not know.
  nn::Activation activation(std::string_view key, std::string_view fallback) const;
  // An activation named in a part of a key's value.
  nn::Activation activation_called(std::string_view name, std::string_view key) const;

  // Throws Unsupported if the value is not the only supported one.
  void require_flag(std::string_view key, bool fallback, bool only) const;
  void require_absent(std::string_view key) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view why) const;
  // Throws InvalidFile: "config.json: num_attention_heads: 8 is not a multiple of
  // num_key_value_heads 3".
  void require_multiple(std::string_view key, int64_t value, std::string_view divisor_key,
                        int64_t divisor) const;
  [[noreturn]] void invalid(std::string_view key, std::string_view what) const;

  // The configuration with a layer's values of per_layer_config (transformers 5) in place of the
  // common ones.
  Config of_layer(size_t layer) const;
  // Throws Unsupported if a layer's values there differ in other keys than `keys`.
  bool differs_by_layer(std::initializer_list<std::string_view> keys, size_t num_layers) const;

  // The configuration with another value of a key, JSON text.
  Config with_value(std::string_view key, std::string_view value) const;
  // The same where it is absent or null.
  Config with_default(std::string_view key, std::string_view value) const;
  // That for rope_parameters, unless the configuration has rope_scaling.
  Config with_default_rope(std::string_view value) const;

  bool was_read(std::string_view key) const { return read_->contains(key); }
  // Marks keys as read whose values make no difference here.
  void ignore(std::initializer_list<std::string_view> keys) const;
  // Throws Unsupported as described above.
  void refuse_unread() const;

  const Json& json() const { return json_; }

 private:
  std::string resolve(std::string_view key) const;
  std::optional<Json> layer_object(size_t layer) const;

  Json json_;
  std::map<std::string, std::string, std::less<>> aliases_;
  // Shared with copies, which an architecture makes for its aliases.
  std::shared_ptr<std::set<std::string, std::less<>>> read_ =
      std::make_shared<std::set<std::string, std::less<>>>();
};

}  // namespace pippin::models
