#include "pippin/nn/decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"

namespace pippin::nn {

using array::Array;

namespace {

// Checkpoints of the bare model lack the base, or the first part of it ("model.decoder").
Parameters find_root(const Parameters& parameters, const DecoderOptions& options) {
  std::string_view base = options.base;
  while (!base.empty()) {
    Parameters root = parameters.at(base);
    if (root.at(options.embedding).contains("weight")) return root;
    const size_t dot = base.find('.');
    base = dot == base.npos ? std::string_view() : base.substr(dot + 1);
  }
  // If the embedding is absent, the error should have the usual name.
  const bool bare = parameters.at(options.embedding).contains("weight");
  return bare ? parameters : parameters.at(options.base);
}

// The frequencies of LearnedPositions::Sinusoids.
std::vector<double> sinusoid_frequencies(LearnedPositions::Sinusoids kind, int64_t count) {
  const bool whole = kind == LearnedPositions::Sinusoids::Whole;
  const auto steps = static_cast<double>(whole ? std::max<int64_t>(count - 1, 1) : count);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < count; ++i) {
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / steps));
  }
  return frequencies;
}

}  // namespace

Embedding position_table(const Parameters& root, const LearnedPositions& positions, int64_t width,
                         int64_t context) {
  const Parameters at = root.at(positions.path);
  // Some checkpoints have the table of sines too (Pegasus).
  const bool is_stored = positions.rows > 0 && at.holds("weight");
  if (positions.sinusoids == LearnedPositions::Sinusoids::None || is_stored) {
    return Embedding(at, positions.rows, width);
  }
  const std::vector<int64_t> dims = {context + positions.offset, width};
  const auto frequencies = sinusoid_frequencies(positions.sinusoids, width / 2);
  std::vector<double> values;
  for (int64_t row = 0; row < dims[0]; ++row) {
    const auto position = static_cast<double>(row);
    for (const double frequency : frequencies) values.push_back(std::sin(position * frequency));
    for (const double frequency : frequencies) values.push_back(std::cos(position * frequency));
  }
  return Embedding(at, at.made("weight", dims, [&](const std::string& full) {
    return array::constant(root.type(), dims, values, full);
  }));
}

namespace {

// Multi-token prediction layers are numbered after the others, so their path moves with the root.
void move_further_layers(DecoderOptions& options, const std::string& base) {
  const std::string own = options.base + "." + options.layers_path + ".";
  const auto move = [&](std::string& beginning) {
    if (beginning.starts_with(own)) beginning.replace(0, options.base.size(), base);
  };
  for (std::string& part : options.other_parts) move(part);
  if (options.prediction) move(options.prediction->beginning);
}

// The options with the root that the checkpoint has.
DecoderOptions placed(const Parameters& parameters, DecoderOptions options) {
  for (const DecoderOptions::Root& root : options.roots) {
    if (!parameters.at(root.base).at(options.embedding).contains("weight")) continue;
    move_further_layers(options, root.base);
    options.base = root.base;
    options.head = root.head;
    break;
  }
  if (options.tied_without_head && parameters.at(options.head).contains("weight")) {
    options.tied = false;
  }
  return options;
}

// The first rows of a matrix that has more.
WeightLayout first_rows(int64_t stored, int64_t used) {
  WeightLayout layout;
  if (stored == used) return layout;
  layout.stored_rows = stored;
  layout.rows.resize(static_cast<size_t>(used));
  std::iota(layout.rows.begin(), layout.rows.end(), 0);
  return layout;
}

void note_prediction(const Parameters& parameters, const DecoderOptions::Prediction& prediction) {
  if (parameters.has_beginning(prediction.beginning)) return;
  log_info("{}: {} is {}, and no tensor begins with '{}': no drafts can be made of them",
           parameters.file(), prediction.key, prediction.layers, prediction.beginning);
}

}  // namespace

std::vector<std::string> DecoderOptions::ignored_endings() const {
  std::vector<std::string> endings = {"rotary_emb.inv_freq",
                                      "rotary_emb.cos_cached",
                                      "rotary_emb.sin_cached",
                                      ".masked_bias",
                                      ".attn.bias",
                                      ".attention.bias",
                                      ".diagonal_decay",
                                      ".key_decay",
                                      ".query_decay",
                                      ".slope_rate"};
  if (tied) endings.push_back(head + ".weight");
  return endings;
}

int64_t DecoderOptions::max_kv_heads() const {
  int64_t heads = 0;
  for (const LayerOptions& layer : layers) heads = std::max(heads, layer.needs().kv_heads);
  return heads;
}

bool DecoderOptions::has_sections() const {
  return std::any_of(ropes.begin(), ropes.end(),
                     [](const RopeOptions& rope) { return rope.has_sections(); });
}

int64_t DecoderOptions::head_rows_of(const Parameters& head) const {
  const std::vector<int64_t> stored = head.shape("weight");
  const bool is_padded = head_rows > vocab_size && (stored.empty() || stored[0] != vocab_size);
  return is_padded ? head_rows : vocab_size;
}

void DecoderOptions::check_keys_and_values_only(std::string_view family) const {
  for (size_t i = 0; i < layers.size(); ++i) {
    const MixerNeeds needs = layers[i].needs();
    if (needs.chunk) {
      fail(ErrorCode::Unsupported, "layer {} attends in chunks: the {} family has no form for that",
           i, family);
    }
    if (needs.kv_heads > 0 && needs.values && needs.stored && needs.states.empty()) continue;
    fail(ErrorCode::Unsupported, "layer {} is {}: the {} family keeps keys and values only", i,
         needs.name, family);
  }
}

Decoder::Decoder(const Parameters& given, const DecoderOptions& described, int64_t context)
    : options_(placed(given.unpacking(described.packed), described)), context_(context) {
  const DecoderOptions& options = options_;
  const Parameters parameters = given.unpacking(options.packed);
  for (const RopeOptions& rope : options.ropes)
    ropes_.emplace_back(context, rope, parameters.type());
  const Parameters root = find_root(parameters, options);
  const int64_t width = options.hidden_size;
  const int64_t embedding_size = options.embedding_size > 0 ? options.embedding_size : width;
  embedding_.emplace(root.at(options.embedding), options.table_rows(), embedding_size);
  if (options.positions)
    positions_.emplace(position_table(root, *options.positions, options.hidden_size, context));
  if (embedding_size != width) {
    project_in_.emplace(root.at(options.project_in), embedding_size, width);
    project_out_.emplace(root.at(options.project_out), width, embedding_size);
  }
  if (!options.embedding_norm.empty()) {
    embedding_norm_.emplace(root.at(options.embedding_norm), width,
                            options.embedding_norm_form.value_or(options.norm));
  }
  for (size_t i = 0; i < options.layers.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const Parameters all = root.at(options.layers_path);
    const std::string& path = options.layers[i].path;
    layers_.emplace_back(path.empty() ? all.at(index) : all.at(path), options.layers[i]);
  }
  if (options.altup) {
    streams_.emplace(root, *options.altup, static_cast<int64_t>(options.layers.size()));
  }
  if (options.hyper) hyper_.emplace(root, *options.hyper);
  if (const FeatureShiftOptions& shift = options.embedding_shift;
      !shift.bias.empty() || !shift.scale.empty()) {
    embedding_shift_.emplace(root, width, shift);
  }
  if (options.layer_rows) {
    rows_.emplace(root, *options.layer_rows, static_cast<int64_t>(options.layers.size()));
  }
  if (!options.final_norm.empty()) {
    final_norm_.emplace(root.at(options.final_norm), width, options.norm);
  }
  if (const auto& layer = options.head_layer; !layer.path.empty()) {
    head_layer_.emplace(parameters.at(layer.path), width, width, layer.bias);
    head_norm_.emplace(parameters.at(layer.norm.name), width, layer.norm.norm);
  }
  // A tied model has no separate head; a head in its file is a copy of the embedding.
  if (options.tied) {
    if (root.at(options.embedding).is_fused()) {
      fail(ErrorCode::Unsupported,
           "an adapter that changes the embedding, which the head shares, cannot be fused; keep it "
           "separate from the weights");
    }
    std::optional<Array> bias;
    if (options.head_bias) {
      bias = parameters.at(options.head).get("bias", {options.vocab_size});
    }
    head_ = embedding_->as_linear(options.head, std::move(bias));
    head_->choose(parameters.at(options.head), embedding_size, options.table_rows());
  } else {
    const Parameters head = parameters.at(options.head);
    head_.emplace(head, embedding_size, options.vocab_size, options.head_bias,
                  first_rows(options.head_rows_of(head), options.vocab_size));
  }
  check_all_used(parameters);
}

void Decoder::check_all_used(const Parameters& parameters) const {
  const std::vector<std::string> ignored = options_.ignored_endings();
  const std::vector<std::string_view> ends(ignored.begin(), ignored.end());
  std::vector<std::string> others = options_.other_parts;
  for (const std::string& name : options_.unused) others.push_back(options_.base + "." + name);
  parameters.check_all_used(ends, others);
  if (options_.prediction) note_prediction(parameters, *options_.prediction);
}

int64_t Decoder::window_of(size_t layer) const {
  const MixerNeeds& needs = layers_.at(layer).needs();
  if (needs.chunk && *needs.chunk < context_) return -*needs.chunk;
  return needs.window && *needs.window < context_ ? *needs.window : 0;
}

int64_t Decoder::mask_of(size_t layer, const Pass& pass) const {
  const MixerNeeds& needs = layers_.at(layer).needs();
  const bool is_full = !needs.window && !needs.chunk;
  return pass.causal_full_layers && is_full ? PassTables::kCausalMask : window_of(layer);
}

std::set<int64_t> Decoder::windows() const {
  std::set<int64_t> windows;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].needs().kv_heads > 0) windows.insert(window_of(i));
  }
  return windows;
}

PassTables Decoder::tables(const Pass& pass) const {
  PassTables tables;
  for (const Rope& rope : ropes_) {
    tables.rotations.push_back(
        pass.coordinates
            ? rope.at_coordinates(*pass.coordinates, array::Builder::current().dim_array(pass.end))
            : rope.rows(pass.past, pass.end));
  }
  Pass biased = pass;
  if (options_.alibi) biased.mask = alibi_mask(*options_.alibi, context_, pass);
  for (const int64_t window : windows()) {
    tables.masks.emplace(window, window == 0  ? biased.mask
                                 : window < 0 ? chunk_mask(biased, -window)
                                              : window_mask(biased, window));
  }
  if (pass.causal_full_layers) {
    tables.masks.emplace(PassTables::kCausalMask, causal_mask(biased));
  }
  const bool order = std::any_of(layers_.begin(), layers_.end(),
                                 [](const DecoderLayer& layer) { return layer.needs().order; });
  if (order) tables.order.emplace(pass.query);
  return tables;
}

Array Decoder::embed(const Array& ids, const Pass& pass, const PassTables& tables,
                     const InputRows* rows) const {
  Array x = embed_ids(ids);
  const array::Scope scope("embedding");
  if (rows != nullptr) x = with_rows(x, *rows);
  tables.carry->ids = ids;
  if (positions_) {
    const mil::Dim offset = options_.positions->offset;
    x = x + positions_->rows(pass.past + offset, pass.end + offset);
  }
  x = normed_embedding(x);
  if (rows_) tables.carry->rows = (*rows_)(ids, x);
  if (hyper_) return hyper_->spread(x);
  if (!streams_) return x;
  tables.carry->rows = streams_->rows(ids, x);
  return streams_->spread(x);
}

Array Decoder::with_rows(const Array& x, const InputRows& rows) const {
  const RowInputOptions& options = options_.row_input.value();
  Array own =
      options.added > 0 ? array::slice_axis(rows.values, 2, 0, options_.hidden_size) : rows.values;
  if (options.scaled && options_.embedding_scale != 1.0) own = own * options_.embedding_scale;
  const Array half = array::constant(rows.are_rows.type(), 0.5);
  // In this order the result has the size of the ids, as the tables of positions have, so that
  // plans see that the sizes are equal.
  return array::select(array::less(rows.are_rows, half), x, own);
}

Array Decoder::embed_ids(const Array& ids) const {
  Array rows = ids;
  for (const int32_t id : options_.embedded_as_first) {
    rows = array::select(array::equal(rows, array::constant(id)), array::constant(0), rows);
  }
  Array x = (*embedding_)(rows);
  const array::Scope scope("embedding");
  if (project_in_) x = (*project_in_)(x);
  if (options_.embedding_scale != 1.0) x = x * options_.embedding_scale;
  return x;
}

Array Decoder::add_positions(const Array& x, const Array& positions) const {
  const array::Scope scope("embedding");
  Array rows = positions;
  if (const int64_t offset = options_.positions->offset; offset != 0) {
    rows = rows + array::constant(static_cast<int32_t>(offset));
  }
  return x + array::expand_dims((*positions_)(rows), {0});
}

Array Decoder::normed_embedding(const Array& x) const {
  const Array normed = embedding_norm_ ? (*embedding_norm_)(x) : x;
  return embedding_shift_ ? (*embedding_shift_)(normed) : normed;
}

std::vector<Rotation> Decoder::rotations(const Array& positions, const Array& length) const {
  std::vector<Rotation> rotations;
  for (const Rope& rope : ropes_) rotations.push_back(rope.at(positions, length));
  return rotations;
}

Array Decoder::layer(size_t index, const Array& x, const PassTables& tables, Cache& cache,
                     const Pass& pass) const {
  const DecoderLayer& layer = layers_.at(index);
  const MixerNeeds& needs = layer.needs();
  const Rotation* rotation = needs.rope ? &tables.rotations.at(*needs.rope) : nullptr;
  const Array* mask = needs.kv_heads > 0 ? &tables.masks.at(mask_of(index, pass)) : nullptr;
  const auto shared = [](const auto& table) { return table ? &*table : nullptr; };
  return layer(x, {static_cast<int64_t>(index), rotation, mask, cache, pass, *tables.carry,
                   shared(tables.order), shared(tables.embedded)});
}

Array Decoder::normed(const Array& given) const {
  const Array x = streams_ ? streams_->merge(given) : hyper_ ? hyper_->merge(given) : given;
  return final_norm_ ? (*final_norm_)(x) : x;
}

Array Decoder::logits(const Array& x) const {
  return finished((*head_)(headed(normed(x))));
}

Array Decoder::headed(const Array& x) const {
  Array h = project_out_ ? (*project_out_)(x) : x;
  if (!head_layer_) return h;
  return head_norm_->between(apply(options_.head_layer.activation, (*head_layer_)(h)));
}

std::vector<Array> Decoder::head_parts(const Array& x, const std::vector<int64_t>& sizes) const {
  const Array h = headed(x);
  std::vector<Array> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t end = begin + sizes[i];
    const Linear part =
        sizes.size() == 1 ? *head_ : head_->outputs(static_cast<int64_t>(i), begin, end);
    parts.push_back(finished(part(h)));
    begin = end;
  }
  return parts;
}

Array Decoder::finished(const Array& x) const {
  Array logits = x;
  const array::Scope scope(options_.head);
  if (options_.logit_scale != 1.0) logits = logits * options_.logit_scale;
  if (options_.logit_softcap) {
    logits = array::tanh(logits * (1 / *options_.logit_softcap)) * *options_.logit_softcap;
  }
  return logits;
}

Array Decoder::operator()(const Array& ids, Cache& cache, const Pass& pass) const {
  return logits(body(ids, nullptr, cache, pass));
}

Array Decoder::operator()(const Array& ids, const InputRows& rows, Cache& cache,
                          const Pass& pass) const {
  return logits(body(ids, &rows, cache, pass));
}

Array Decoder::body(const Array& ids, const InputRows* rows, Cache& cache, const Pass& pass) const {
  PassTables shared = tables(pass);
  Array x = embed(ids, pass, shared, rows);
  shared.embedded = x;
  const int64_t added = rows != nullptr ? options_.row_input.value().added : 0;
  const int64_t width = options_.hidden_size;
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layer(i, x, shared, cache, pass);
    const int64_t part = static_cast<int64_t>(i) + 1;
    if (part <= added) x = x + array::slice_axis(rows->values, 2, part * width, (part + 1) * width);
  }
  return x;
}

}  // namespace pippin::nn
