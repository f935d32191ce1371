// Selects the weights of a model to compress, and their schemes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/data_type.h"

namespace pippin::compress {

// The compression of one weight; by default, none.
struct Scheme {
  enum class Kind : uint8_t { None, Linear, Palette };
  enum class Per : uint8_t {
    Default,  // Block for 4 bits if the opset supports it, otherwise Channel
    Tensor,
    Channel,
    Block,
  };

  Kind kind = Kind::None;
  mil::DataType data = mil::DataType::Int4;  // Linear: Int4 UInt4 Int8 UInt8
  bool symmetric = true;
  Per per = Per::Default;
  int64_t block = 32;          // Block: elements along the input axis
  int64_t block_channels = 1;  // Block: channels
  int bits = 4;                // Palette
  int64_t group = 0;           // Palette: channels that share one; 0: all
  // Palette, named as in coremltools: values per entry, along the channels; 8-bit entries; a scale
  // per channel.
  int cluster_dim = 1;
  bool int8_lut = false;
  bool channel_scale = false;
  double prune = 0;  // fraction of the elements set to 0, smallest first; in [0, 1)
  // The n smallest of every m elements along the input axis become 0; 0: off.
  int64_t ratio_n = 0, ratio_m = 0;
  bool operator==(const Scheme&) const = default;

  bool prunes() const { return prune > 0 || ratio_m > 0; }
  bool is_none() const { return kind == Kind::None && !prunes(); }
};

// Words joined by colons: "none", "int4", "uint8:asymmetric:channel", "int4:block:64",
// "int4:block:8x32" (8 channels, 32 inputs), "lut6", "lut4:16" (groups of 16 channels),
// "lut6:16:cluster_dim:2", "lut4:lut_dtype:int8:per_channel_scale", "prune:0.5", "n_m_ratio:2:4",
// "int8:tensor:prune:0.5". Throws InvalidArgument.
Scheme parse_scheme(std::string_view text);
// The reason why a scheme is impossible, if it is.
std::optional<std::string> contradiction(const Scheme& scheme);
// A scheme as the command line spells it for parts: "none", "6", "4,8" (bits, channels of a group).
Scheme parse_lut(std::string_view text);
// "int4 per block of 32", "palette of 4 bits per 16 channels, 50% pruned".
std::string to_string(const Scheme& scheme);

struct Recipe {
  Scheme scheme;  // for weights that nothing below selects
  // Parts of a language model: tables of gathers; weights whose results reach an output with
  // "logits" in its name without passing another weight; all others.
  std::optional<Scheme> embeddings, head, ffn;
  // Patterns of names ('*' any text, '?' one character); a later one overrides.
  std::vector<std::pair<std::string, Scheme>> tensors;
  std::vector<std::string> only, except;  // others keep their values, and so do weights in `except`
  std::vector<std::string> exempt;        // like `except`, but may match none
  int64_t min_elements = 2048;
  bool recompress = false;  // also weights that are already compressed
  // Rounds that improve codes, scales and palettes of weights with known inputs after error
  // feedback (improve.h).
  int rounds = 4;
};

// Whether the whole name matches the pattern.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace pippin::compress
