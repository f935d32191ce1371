// A node of tokenizer.json together with its place in the file, so that every complaint names both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace pippin::tokenizers {

class Config {
 public:
  // `place` reads like "llama3/tokenizer.json: normalizer.normalizers[1]".
  Config(const nlohmann::json& node, std::string place) : node_(&node), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  const nlohmann::json& node() const { return *node_; }

  bool is_null() const;
  // Whether the object has `key`, and not as null.
  bool has(std::string_view key) const;
  // The value of `key`; throws InvalidFile where it is absent.
  Config at(std::string_view key) const;
  // The elements of an array; throws InvalidFile for anything else.
  std::vector<Config> elements() const;
  // The keys of an object, sorted.
  std::vector<std::string> keys() const;

  // This node as a value of one type; throws InvalidFile for another.
  std::string as_string() const;
  bool as_bool() const;
  int64_t as_integer(int64_t min, int64_t max) const;

  std::string string(std::string_view key) const { return at(key).as_string(); }
  bool boolean(std::string_view key) const { return at(key).as_bool(); }
  bool boolean_or(std::string_view key, bool fallback) const;
  std::optional<std::string> optional_string(std::string_view key) const;
  // One code point in UTF-8.
  std::string character(std::string_view key) const;

  // Throws InvalidFile about this node: "place: message".
  [[noreturn]] void invalid(std::string_view message) const;
  // Throws Unsupported: "place: normalizer 'Nmt' is not supported".
  [[noreturn]] void unsupported_kind(std::string_view role, std::string_view kind) const;

 private:
  const nlohmann::json* node_;
  std::string place_;
};

// Throws LimitExceeded for a section ("normalizer", "decoder" ...) of more stages than any pipeline
// has: each may go through all of a text.
void check_stages(const Config& section);

// A kind of stage and what makes it: to add a kind is to add a line to its file's table.
template <typename Stage>
struct Kind {
  std::string_view name;
  Stage (*make)(const Config& config);
};

template <typename Stage, size_t N>
Stage make_stage(const Kind<Stage> (&kinds)[N], std::string_view role, const Config& config) {
  const std::string type = config.string("type");
  for (const auto& kind : kinds) {
    if (kind.name == type) return kind.make(config);
  }
  config.unsupported_kind(role, type);
}

}  // namespace pippin::tokenizers
