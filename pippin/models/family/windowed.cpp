#include "pippin/models/family/windowed.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/package.h"
#include "pippin/families/windowed.h"
#include "pippin/io/json.h"
#include "pippin/models/config/common.h"
#include "pippin/nn/attention/window_cache.h"

namespace pippin::models {
namespace {

namespace windowed = families::windowed;
using array::Array;

constexpr mil::DataType kType = mil::DataType::Float16;
constexpr int64_t kMostContext = 131072;
// The Neural Engine's limit of elements along an axis.
constexpr int64_t kMostOutputs = 16384;

// 64 tokens as 8 x 8, so that both axes of a convolution are used. 0 if there is no such square.
int64_t fold_of(int64_t window) {
  const auto root = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(window))));
  return root * root == window && root >= 4 ? root : 0;
}

Array int_range(int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return array::constant(std::span<const int64_t>(values));
}

std::string default_prefix(const std::string& name) {
  std::string prefix = name.substr(name.rfind('/') + 1);
  for (char& c : prefix) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!plain && c != '_') c = '-';
  }
  return prefix.empty() ? "model" : prefix;
}

}  // namespace

Windowed::Windowed(const std::filesystem::path& hf_folder, const WindowedOptions& options)
    : description_(describe(hf_folder)), options_(options), fold_(fold_of(options.window)) {
  const nn::DecoderOptions& model = description_.decoder;
  if (options_.prefix.empty()) options_.prefix = default_prefix(description_.name);
  check_file_prefix(options_.prefix);
  options_.context = choose_context(
      model, options.context > 0 ? options.context : std::min(model.context, kMostContext));
  if (options_.context < options_.window) {
    fail(ErrorCode::InvalidArgument, "a window of {} tokens: the context is {}", options_.window,
         options_.context);
  }
  check_layers();
  nn::Style style{.layout = nn::Style::Layout::Channels,
                  .convolutions = true,
                  .doubled_norms = options.doubled_norms};
  style.fold = fold_;
  const nn::Parameters parameters =
      part_parameters(hf_folder, options.fused_adapter, description_.decoder, style);
  decoder_.emplace(parameters, model, options_.context);
  num_parameters_ = parameters.num_parameters();
  const int64_t vocab = model.vocab_size;
  head_sizes_ = balanced(vocab, (vocab + kMostOutputs - 1) / kMostOutputs);
}

// One cache processor serves all layers.
void Windowed::check_layers() const {
  const auto& layers = description_.decoder.layers;
  description_.decoder.check_keys_and_values_only("windowed");
  const nn::AttentionOptions& first = layers.at(0).attention();
  for (size_t i = 0; i < layers.size(); ++i) {
    const nn::AttentionOptions& own = layers[i].attention();
    if (own.num_kv_heads == first.num_kv_heads && own.head_dim == first.head_dim) continue;
    fail(ErrorCode::Unsupported,
         "layer {} has {} key-value heads of {} elements, layer 0 {} of {}: the family's one cache "
         "processor moves caches of one size",
         i, own.num_kv_heads, own.head_dim, first.num_kv_heads, first.head_dim);
  }
}

int64_t Windowed::num_chunks() const {
  const auto layers = static_cast<int64_t>(description_.decoder.layers.size());
  return 2 + (layers + options_.blocks_per_chunk - 1) / options_.blocks_per_chunk;
}

std::vector<int64_t> Windowed::stream_dims() const {
  const int64_t width = description_.decoder.hidden_size;
  if (fold_ > 0) return {1, width, fold_, options_.window / fold_};
  return {1, width, 1, options_.window};
}

std::string Windowed::mask_name(int64_t window) const {
  return windowed::numbered(windowed::kMask, window);
}

std::string Windowed::rope_name(const char* function, size_t rope) const {
  return windowed::numbered(function, static_cast<int64_t>(rope));
}

std::string Windowed::logits_name(size_t part) const {
  return windowed::logits(static_cast<int64_t>(part), static_cast<int64_t>(head_sizes_.size()));
}

mil::Model Windowed::model() const {
  mil::Model model = empty_model(description_, windowed::kName, options_.opset);
  auto& values = model.metadata.user_defined;
  values[windowed::kContextKey] = std::to_string(options_.context);
  values[windowed::kNumChunksKey] = std::to_string(num_chunks());
  return model;
}

PackagePart Windowed::start_part(PackagePart::Kind kind, int64_t number) const {
  PackagePart part{kind, windowed::chunk_stem(options_.prefix, number), model()};
  part.model.metadata.user_defined[windowed::kChunkKey] = std::to_string(number);
  return part;
}

// For keys at positions from `start` - cache on and queries at `positions`, (1, 1, keys, window):
// hides keys after the query, before the sequence's first token or outside a layer's window. With
// ALiBi a mask for each head.
Array Windowed::mask(const Array& positions, const Array& start, int64_t window) const {
  const Array begin = start - array::constant(static_cast<int32_t>(options_.cache));
  const Array key_positions = int_range(keys()) + begin;
  const Array keys = array::expand_dims(key_positions, {1});
  const Array queries = array::expand_dims(positions, {0});
  Array hidden = array::logical_or(array::greater(keys, queries),
                                   array::less(keys, array::constant(int32_t{0})));
  if (window > 0) {
    const Array far =
        array::greater_equal(queries - keys, array::constant(static_cast<int32_t>(window)));
    hidden = array::logical_or(hidden, far);
  }
  const Array out = array::constant(kType, -std::numeric_limits<double>::infinity());
  // Zeros of the mask's shape, where they are chosen: coremltools gives a select its branches'
  // shape.
  const Array flat = array::select(hidden, out, array::cast(hidden, kType));
  Array mask = array::expand_dims(array::expand_dims(flat, {0}), {0});
  const auto& alibi = description_.decoder.alibi;
  if (!alibi) return mask;
  const Array distances = array::expand_dims(queries - keys, {0, 1});
  return nn::alibi_mask(*alibi, options_.context, mask, distances, key_positions);
}

PackagePart Windowed::embedding() const {
  PackagePart part = start_part(PackagePart::Kind::Embedding, 1);
  FunctionRecorder function(families::kMain, options_.opset);
  const int64_t window = options_.window;
  const Array ids = function.input(windowed::kIds, mil::DataType::Int32, {1, window});
  const Array length = function.input(windowed::kLength, mil::DataType::Int32, {1});
  const Array start = length - array::constant(static_cast<int32_t>(window));
  Array positions = int_range(window) + start;
  // Padding at the end of the context has no positions.
  if (options_.context % window != 0) {
    positions =
        array::minimum(positions, array::constant(static_cast<int32_t>(options_.context - 1)));
  }

  Array x = decoder_->embed_ids(ids);
  if (decoder_->has_positions()) x = decoder_->add_positions(x, positions);
  x = nn::to_channels(x);
  if (fold_ > 0) x = array::reshape(x, mil::to_shape(stream_dims()));
  function.output(windowed::kStream, decoder_->normed_embedding(x));
  const std::vector<nn::Rotation> rotations = decoder_->rotations(positions, length);
  for (size_t i = 0; i < rotations.size(); ++i) {
    function.output(rope_name(windowed::kCos, i), array::transpose(rotations[i].cos, {0, 1, 3, 2}));
    function.output(rope_name(windowed::kSin, i), array::transpose(rotations[i].sin, {0, 1, 3, 2}));
  }
  for (const int64_t own : decoder_->windows()) {
    function.output(mask_name(own), mask(positions, start, own));
  }
  function.add_to(part.model);
  return part;
}

PackagePart Windowed::layers(int64_t number, int64_t first, int64_t last) const {
  PackagePart part = start_part(PackagePart::Kind::Layers, number);
  FunctionRecorder function(families::kMain, options_.opset);
  const nn::DecoderOptions& model = description_.decoder;
  const nn::AttentionOptions& attention = model.layers.at(0).attention();
  std::set<size_t> ropes;
  std::set<int64_t> windows;
  for (int64_t i = first; i < last; ++i) {
    const nn::AttentionOptions& own = model.layers[static_cast<size_t>(i)].attention();
    if (own.rope) ropes.insert(*own.rope);
    windows.insert(decoder_->window_of(static_cast<size_t>(i)));
  }

  Array x = function.input(windowed::kStream, kType, stream_dims());
  nn::PassTables tables;
  for (size_t i = 0; i < model.ropes.size(); ++i) {
    const std::vector<int64_t> dims = {1, 1, model.ropes[i].dims, options_.window};
    if (ropes.count(i) == 0) {
      const Array none = array::zeros(kType, dims);  // of other chunks
      tables.rotations.push_back({none, none});
      continue;
    }
    const Array cos = function.input(rope_name(windowed::kCos, i), kType, dims);
    tables.rotations.push_back({cos, function.input(rope_name(windowed::kSin, i), kType, dims)});
  }
  const int64_t mask_heads = model.alibi ? attention.num_heads : 1;
  for (const int64_t window : windows) {
    tables.masks.emplace(
        window, function.input(mask_name(window), kType, {1, mask_heads, keys(), options_.window}));
  }
  const int64_t width = attention.num_kv_heads * attention.head_dim;
  nn::WindowCache cache(function.builder(), kType, first, last - first, attention.num_kv_heads,
                        attention.head_dim, options_.cache);
  for (int64_t i = 0; i < last - first; ++i) {
    for (const std::string& name : {windowed::key_cache(i), windowed::value_cache(i)}) {
      function.declare(name, kType, {1, width, 1, options_.cache}, false);
    }
  }
  const nn::Pass pass{0, options_.window, options_.window, tables.masks.begin()->second};
  for (int64_t i = first; i < last; ++i) {
    x = decoder_->layer(static_cast<size_t>(i), x, tables, cache, pass);
  }
  function.output(windowed::updated(windowed::kStream), x);
  for (int64_t i = 0; i < last - first; ++i) {
    const auto& [keys, values] = cache.updated(first + i);
    function.output(windowed::updated(windowed::key_cache(i)), keys);
    function.output(windowed::updated(windowed::value_cache(i)), values);
  }
  function.add_to(part.model);
  return part;
}

PackagePart Windowed::head() const {
  PackagePart part = start_part(PackagePart::Kind::Head, num_chunks());
  FunctionRecorder function(families::kMain, options_.opset);
  const Array x = decoder_->normed(function.input(windowed::kStream, kType, stream_dims()));
  const std::vector<Array> parts = decoder_->head_parts(x, head_sizes_);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Array columns = fold_ > 0 ? array::reshape(parts[i], {1, head_sizes_[i], options_.window})
                                    : array::squeeze(parts[i], {2});
    function.output(logits_name(i), array::transpose(columns, {0, 2, 1}));
  }
  function.add_to(part.model);
  return part;
}

PackagePart Windowed::cache_processor() const {
  PackagePart part{PackagePart::Kind::Helper, windowed::kCacheProcessor, model()};
  FunctionRecorder function(families::kMain, options_.opset);
  const nn::AttentionOptions& attention = description_.decoder.layers.at(0).attention();
  const int64_t width = attention.num_kv_heads * attention.head_dim;
  std::vector<std::pair<std::string, Array>> updated;
  struct Kind {
    const char *old_name, *new_name, *updated_name;
  };
  for (const Kind& kind :
       {Kind{windowed::kOldKeys, windowed::kNewKeys, windowed::kUpdatedKeys},
        Kind{windowed::kOldValues, windowed::kNewValues, windowed::kUpdatedValues}}) {
    const Array old = function.input(kind.old_name, kType, {1, width, 1, options_.cache});
    const Array recent = function.input(kind.new_name, kType, {1, width, 1, options_.window});
    const Array all = array::concat({old, recent}, -1);
    updated.emplace_back(kind.updated_name, array::slice_axis(all, 3, options_.window, keys()));
  }
  for (const auto& [name, value] : updated) function.output(name, value);
  function.add_to(part.model);
  return part;
}

PackagePart Windowed::logit_processor() const {
  PackagePart part{PackagePart::Kind::Helper, windowed::kLogitProcessor, model()};
  FunctionRecorder function(families::kMain, options_.opset);
  std::vector<Array> parts;
  for (size_t i = 0; i < head_sizes_.size(); ++i) {
    parts.push_back(function.input(logits_name(i), kType, {1, options_.window, head_sizes_[i]}));
  }
  const Array all = parts.size() == 1 ? parts[0] : array::concat(parts, -1);
  function.output(
      windowed::kArgmax,
      array::record_one("reduce_argmax", {{"x", all}, {"axis", -1}, {"keep_dims", false}}));
  function.add_to(part.model);
  return part;
}

std::vector<PackagePart> Windowed::parts() const {
  std::vector<PackagePart> parts;
  parts.push_back(embedding());
  const auto count = static_cast<int64_t>(description_.decoder.layers.size());
  int64_t number = 2;
  for (int64_t first = 0; first < count; first += options_.blocks_per_chunk) {
    parts.push_back(layers(number++, first, std::min(count, first + options_.blocks_per_chunk)));
  }
  parts.push_back(head());
  parts.push_back(cache_processor());
  parts.push_back(logit_processor());
  return parts;
}

// Runners infer everything from the packages; this is for readers, and for converting again.
std::string Windowed::meta_json() const {
  JsonWriter json(2);
  json.begin_object()
      .member(windowed::meta::kFamily, windowed::kName)
      .member("name", description_.name)
      .member("architecture", description_.class_name)
      .member("model_type", description_.model_type)
      .member("prefix", options_.prefix)
      .member("num_chunks", num_chunks())
      .member("blocks_per_chunk", options_.blocks_per_chunk)
      .member("window", options_.window)
      .member("cache", options_.cache)
      .member(windowed::meta::kContext, options_.context)
      .member("vocab_size", description_.decoder.vocab_size)
      .member("pippin_version", PIPPIN_VERSION)
      .end_object();
  return json.text() + "\n";
}

}  // namespace pippin::models
