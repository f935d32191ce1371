// Keys that nearly all configurations share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

inline constexpr int64_t kMaxLayers = 10000, kMaxHeads = 1 << 16, kMaxHeadDim = 1 << 12,
                         kMaxExperts = 1 << 12, kMaxContext = int64_t{1} << 24;

// The defaults of an architecture's configuration class for absent keys: numbers from Hugging
// Face's library.
struct Defaults {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;  // 0: 4 * hidden_size
  std::string_view width_key = "intermediate_size";
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;  // 0: num_heads
  int64_t head_dim = 0;      // 0: hidden_size / num_heads
  int64_t context = 0;
  std::string_view epsilon_key = "rms_norm_eps";
  double epsilon = 1e-6;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
  double rope_theta = 10000.0;
  double rotary_factor = 0;         // of head_dim; 0: whole heads are rotated
  std::string_view rope_kind = "";  // as in RopeDefaults
  std::vector<std::string_view> rope_keys = {};
  bool tied = false;
};

struct RopeDefaults {
  double theta = 10000.0;
  double rotary_factor = 0;    // of head_dim; 0: whole heads are rotated, and other factors
                               // rejected
  double also_whole = 1.0;     // a factor with the same meaning
  std::string_view kind = "";  // of layers: rope_settings.h
  // Members of rope_scaling or rope_parameters that the architecture reads itself.
  std::vector<std::string_view> keys = {};
};

// A model with Llama's names and form (norm, attention over all keys with one rope, norm, gated
// feed-forward) and this configuration's sizes, which the caller then changes.
nn::DecoderOptions llama_like(const Config& config, const Defaults& defaults);

// Its parts. Sizes and norms, `num_layers` equal layers without ropes:
nn::DecoderOptions plain_decoder(const Config& config, const Defaults& defaults);
// One rope of the layers' rotary dimensions, used by all of them.
void add_rope(const Config& config, nn::DecoderOptions& model, const RopeDefaults& defaults = {});

// theta and scaling in their forms (rope_settings.h); throws Unsupported, by name, for an unknown
// kind or setting.
nn::RopeOptions rope_options(const Config& config, int64_t dims, const RopeDefaults& defaults);
// One rope for full layers and one for sliding layers, each for its own part of heads; kinds of
// layers that are declared without a rope get none.
void add_ropes_by_kind(const Config& config, nn::DecoderOptions& model,
                       const std::vector<bool>& sliding, RopeDefaults full, RopeDefaults slides);
// Keys of vision towers in configurations made of llama.cpp's files (gguf/gguf_projector.h):
// queries, keys and values have a matrix each; norms that add 1 to their weights have that sum.
inline constexpr std::string_view kSeparateQkv = "gguf_separate_qkv";
inline constexpr std::string_view kPlainNorms = "gguf_plain_norms";

// For models whose pictures have positions with three coordinates: mrope_section and
// mrope_interleaved, for all ropes. Throws InvalidFile for sections that are not the rope's
// frequencies.
void read_sections(const Config& config, nn::DecoderOptions& model,
                   const std::vector<int64_t>& fallback, bool interleaved);
// For sliding layers with a separate rope: without scaling, unless rope_parameters has an object
// for them.
nn::RopeOptions sliding_rope(const Config& config, int64_t dims, double theta);

// layer_rope_theta, a number for each layer; nothing where the key is absent.
std::optional<std::vector<double>> layer_thetas(const Config& config, size_t num_layers);
// A base of the first rope for each layer; 0 stands for no positions.
void turn_layers(nn::DecoderOptions& model, const std::vector<double>& thetas);

// "sliding_attention" and "full_attention" of layer_types, true for a sliding layer; nothing where
// the key is absent.
std::optional<std::vector<bool>> sliding_layers(const Config& config, size_t num_layers);
// Layer i slides unless i + 1 is a multiple of `pattern`.
std::vector<bool> sliding_pattern(size_t num_layers, int64_t pattern);
// sliding_window: none if null; the class's default if absent.
std::optional<int64_t> window_size(const Config& config, std::optional<int64_t> fallback);
// Gives sliding layers the window, if there is one.
void slide(nn::DecoderOptions& model, const std::vector<bool>& sliding,
           std::optional<int64_t> window);

// The context to build for: `wanted` or the model's own, by default at most 2048.
int64_t choose_context(const nn::DecoderOptions& model, int64_t wanted);
// The part of the model's own context that fits into `memory`, a power of two if smaller, so that a
// change of a few bytes does not make another program. At least the result of choose_context().
int64_t choose_context(const nn::DecoderOptions& model, uint64_t memory, mil::DataType type);

// Bytes for a position of a sequence: its rows of the caches and of the tables of angles.
uint64_t position_bytes(const nn::DecoderOptions& model, mil::DataType type);

}  // namespace pippin::models
