#include "pippin/models/family/anemll.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/families/anemll.h"
#include "pippin/families/package.h"
#include "pippin/models/config/common.h"
#include "pippin/models/model_source.h"

namespace pippin::models {
namespace {

namespace anemll = families::anemll;
using array::Array;

constexpr mil::DataType kType = mil::DataType::Float16;
constexpr mil::Opset kOpset = mil::Opset::CoreML8;
constexpr int64_t kBatch = 64;

// Gemma 3's residuals exceed fp16; norms cancel a common factor of the values between layers.
// ANEMLL's factors, for the sizes of the model.
double residual_factor(const Description& description) {
  if (description.model_type != "gemma3_text") return 1.0;
  const int64_t size = description.decoder.hidden_size;
  if (size == 640) return 0.48;
  if (size == 1152) return 0.82;
  return size >= 2560 ? 0.1875 : 1.0;
}

void scale_residual(nn::DecoderOptions& model, double factor) {
  model.embedding_scale *= factor;
  for (nn::LayerOptions& layer : model.layers) layer.post_norm_scale *= factor;
}

std::string default_prefix(const std::string& model_type) {
  if (model_type == "qwen2") return "qwen25";
  if (model_type == "qwen3") return "qwen";
  if (model_type == "gemma3_text") return "gemma3";
  return model_type;
}

}  // namespace

Anemll::Anemll(const std::filesystem::path& hf_folder, const AnemllOptions& options)
    : description_(describe(hf_folder)), options_(options) {
  nn::DecoderOptions& model = description_.decoder;
  if (options_.prefix.empty()) options_.prefix = default_prefix(description_.model_type);
  check_file_prefix(options_.prefix);
  options_.context = choose_context(model, options.context);
  if (const double factor = residual_factor(description_); factor != 1.0) {
    scale_residual(model, factor);
  }
  const nn::Style style{.convolutions = true, .doubled_norms = true};
  const nn::Parameters parameters =
      part_parameters(hf_folder, options.fused_adapter, description_.decoder, style);
  decoder_.emplace(parameters, model, options_.context);
  num_parameters_ = parameters.num_parameters();
  choose_cache();
  choose_batch();
  choose_head();
  sampling_ = recommended_sampling(text_folder(hf_folder));
}

int64_t Anemll::num_layers() const {
  return static_cast<int64_t>(description_.decoder.layers.size());
}

void Anemll::choose_cache() {
  const nn::DecoderOptions& model = description_.decoder;
  model.check_keys_and_values_only("anemll");
  cache_.context = options_.context;
  cache_.num_kv_heads = model.max_kv_heads();
  cache_.head_dim = model.layers.at(0).attention().head_dim;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const int64_t size = model.layers[i].attention().head_dim;
    if (size != cache_.head_dim) {
      fail(ErrorCode::Unsupported,
           "layer {} has heads of {} elements, layer 0 of {}: the family's state has one size", i,
           size, cache_.head_dim);
    }
  }
  cache_.local_layers.assign(model.layers.size(), false);
  const std::set<int64_t> windows = decoder_->windows();
  if (windows.size() != 2 || *windows.begin() != 0 || model.alibi) return;
  cache_.window = *windows.rbegin();
  for (size_t i = 0; i < model.layers.size(); ++i) {
    cache_.local_layers[i] = model.layers[i].attention().window == cache_.window;
  }
}

void Anemll::choose_batch() {
  int64_t& batch = options_.batch;
  if (batch == 0) {
    batch = std::min(kBatch, options_.context);
    while (rotates() && cache_.window % batch != 0) --batch;
    return;
  }
  if (batch < 1 || batch > options_.context) {
    fail(ErrorCode::InvalidArgument, "a batch of {} tokens: the context is {}", batch,
         options_.context);
  }
  // A batch lies before or after the end of the window, never across it.
  if (rotates() && cache_.window % batch != 0) {
    fail(ErrorCode::InvalidArgument,
         "a batch of {} tokens: it has to divide the model's sliding window of {}", batch,
         cache_.window);
  }
}

void Anemll::choose_head() {
  const int64_t vocab = description_.decoder.vocab_size;
  const std::string& type = description_.model_type;
  constexpr int64_t kLarge = 131072;  // the vocabulary size of those families
  const bool sixteen =
      type.starts_with("qwen") || type.starts_with("gemma") || (type != "llama" && vocab >= kLarge);
  head_sizes_ = balanced(vocab, std::min<int64_t>(sixteen ? 16 : 8, vocab));
}

mil::Model Anemll::model(int64_t num_chunks, const PartPalette& palette) const {
  mil::Model model = empty_model(description_, anemll::kName, kOpset);
  auto& values = model.metadata.user_defined;
  values[anemll::kInfoKey] = "Converted with Pippin " PIPPIN_VERSION;
  values[anemll::kContextKey] = std::to_string(options_.context);
  values[anemll::kStateLengthKey] = std::to_string(options_.context);
  values[anemll::kBatchKey] = std::to_string(options_.batch);
  if (num_chunks > 0) values[anemll::kNumChunksKey] = std::to_string(num_chunks);
  if (palette.bits > 0) values[anemll::kLutBitsKey] = std::to_string(palette.bits);
  return model;
}

std::string Anemll::stem(const char* part, const PartPalette& palette) const {
  return anemll::stem(options_.prefix, part, palette.bits);
}

std::string Anemll::chunk_stem(int64_t index, int64_t count) const {
  return anemll::chunk_stem(stem(anemll::kChunksPart, options_.ffn), index + 1, count);
}

PackagePart Anemll::embeddings() const {
  PackagePart part{PackagePart::Kind::Embedding, stem(anemll::kEmbeddingsPart, options_.embeddings),
                   model(0, options_.embeddings)};
  FunctionRecorder function(families::kMain, kOpset);
  const Array ids =
      function.enumerated_input(anemll::kIds, mil::DataType::Int32, {1, options_.batch});
  // Learned positions and the norm after them need the positions, which the first chunk has.
  Array hidden = decoder_->embed_ids(ids);
  if (!decoder_->has_positions()) hidden = decoder_->normed_embedding(hidden);
  function.output(anemll::kHidden, hidden);
  function.add_to(part.model);
  return part;
}

Array Anemll::local_mask(const Array& mask, int64_t tokens, bool rotated) const {
  const int64_t window = cache_.window;
  if (!rotated) return array::slice_axis(mask, 3, 0, window);
  if (tokens == 1) return array::zeros(kType, {1, 1, 1, window}, "rotated_mask");
  // Keys are the window before the batch, then the batch: query t sees keys t + 1 to t + window.
  std::vector<double> values;
  for (int64_t query = 0; query < tokens; ++query) {
    for (int64_t key = 0; key < window + tokens; ++key) {
      const bool seen = key > query && key <= query + window;
      values.push_back(seen ? 0.0 : -std::numeric_limits<double>::infinity());
    }
  }
  return array::constant(kType, {1, 1, tokens, window + tokens}, values, "rotated_mask");
}

nn::PassTables Anemll::tables(const Array& positions, const Array& length, const Array& mask,
                              int64_t tokens, bool rotated) const {
  nn::PassTables tables;
  tables.rotations = decoder_->rotations(positions, length);
  std::vector<int64_t> slots(static_cast<size_t>(options_.context));
  std::iota(slots.begin(), slots.end(), 0);
  const Array distances =
      nn::key_distances(positions, array::constant(std::span<const int64_t>(slots)));
  Array base = mask;
  if (const auto& alibi = description_.decoder.alibi) {
    base = nn::alibi_mask(*alibi, options_.context, mask, distances);
  }
  for (const int64_t window : decoder_->windows()) {
    if (window == 0) {
      tables.masks.emplace(0, base);
    } else if (rotates()) {
      tables.masks.emplace(window, local_mask(mask, tokens, rotated));
    } else {
      tables.masks.emplace(window, nn::window_mask(base, distances, window));
    }
  }
  return tables;
}

void Anemll::record_layers(mil::Model& model, const std::string& name, int64_t tokens, bool rotated,
                           int64_t first, int64_t last) const {
  FunctionRecorder function(name, kOpset);
  const int64_t width = description_.decoder.hidden_size;
  Array x = function.input(anemll::kHidden, kType, {1, tokens, width});
  const Array ids = function.input(anemll::kPositions, mil::DataType::Int32, {tokens});
  const Array mask = function.input(anemll::kMask, kType, {1, 1, tokens, options_.context});
  const Array current = function.input(anemll::kCurrentPosition, mil::DataType::Int32, {1});
  for (const auto& state : cache_.states()) function.declare(state.name, kType, state.dims, true);
  nn::FixedCache cache(function.builder(), kType, cache_, current, rotated);

  const Array& positions = tokens == 1 ? current : ids;
  const Array length = current + array::constant(static_cast<int32_t>(tokens));
  if (first == 0 && decoder_->has_positions()) {
    x = decoder_->normed_embedding(decoder_->add_positions(x, positions));
  }
  const nn::PassTables shared = tables(positions, length, mask, tokens, rotated);
  const nn::Pass pass{0, tokens, tokens, mask};
  for (int64_t i = first; i < last; ++i) {
    x = decoder_->layer(static_cast<size_t>(i), x, shared, cache, pass);
  }
  if (last == num_layers()) {
    if (tokens > 1) x = array::slice_axis(x, 1, tokens - 1, tokens);
    x = decoder_->normed(x);
  }
  function.output(anemll::kOutputHidden, x);
  function.add_to(model);
}

PackagePart Anemll::chunk(int64_t index, int64_t count, int64_t first, int64_t last) const {
  PackagePart part{PackagePart::Kind::Layers, chunk_stem(index, count), model(count, options_.ffn)};
  record_layers(part.model, anemll::kInfer, 1, false, first, last);
  record_layers(part.model, anemll::kPrefill, options_.batch, false, first, last);
  if (rotates()) {
    record_layers(part.model, anemll::kInferRotate, 1, true, first, last);
    record_layers(part.model, anemll::kPrefillRotate, options_.batch, true, first, last);
  }
  std::vector<std::string> names;
  for (const auto& function : part.model.functions) names.push_back(function.name);
  auto& values = part.model.metadata.user_defined;
  values[anemll::kChunkKey] = std::to_string(index + 1);
  values[anemll::kFunctionsKey] = fmt::format("{}", fmt::join(names, ","));
  return part;
}

PackagePart Anemll::chunk(int64_t index, int64_t count) const {
  const std::vector<int64_t> sizes = balanced(num_layers(), count);
  const int64_t first = std::accumulate(sizes.begin(), sizes.begin() + index, int64_t{0});
  return chunk(index, count, first, first + sizes.at(static_cast<size_t>(index)));
}

PackagePart Anemll::head() const {
  PackagePart part{PackagePart::Kind::Head, stem(anemll::kHeadPart, options_.head),
                   model(0, options_.head)};
  FunctionRecorder function(families::kMain, kOpset);
  const Array x = function.input(anemll::kHidden, kType, {1, 1, description_.decoder.hidden_size});
  std::vector<Array> parts;
  for (const Array& logits : decoder_->head_parts(nn::to_channels(x), head_sizes_)) {
    parts.push_back(nn::to_rows(logits));
  }
  if (options_.argmax_in_model) {
    std::vector<Array> indices, values;
    for (const Array& logits : parts) {
      indices.push_back(
          array::record_one("reduce_argmax", {{"x", logits}, {"axis", -1}, {"keep_dims", false}}));
      values.push_back(array::reduce_max(logits, {-1}));
    }
    function.output(anemll::kArgmaxIndex, array::squeeze(array::concat(indices, 0), {1}));
    function.output(anemll::kArgmaxValue, array::squeeze(array::concat(values, 0), {1}));
  } else {
    for (size_t i = 0; i < parts.size(); ++i) {
      function.output(anemll::logits(static_cast<int64_t>(i) + 1), parts[i]);
    }
  }
  function.add_to(part.model);
  auto& values = part.model.metadata.user_defined;
  values[anemll::kVocabularyKey] = std::to_string(description_.decoder.vocab_size);
  values[anemll::kHeadSizesKey] = fmt::format("{}", fmt::join(head_sizes_, ","));
  values[anemll::kArgmaxKey] = options_.argmax_in_model ? "true" : "false";
  return part;
}

}  // namespace pippin::models
