#include "pippin/nn/prediction_head.h"

#include <string_view>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

const DecoderOptions::Prediction::Form& form_of(const Decoder& decoder) {
  return decoder.options().prediction.value().form.value();
}

// "model.layers.61" for "model.layers.61.".
Parameters head_root(const Parameters& parameters, const Decoder& decoder) {
  std::string_view path = decoder.options().prediction.value().beginning;
  if (path.ends_with('.')) path.remove_suffix(1);
  return parameters.unpacking(decoder.options().packed).at(path);
}

}  // namespace

bool PredictionHead::exists(const Parameters& parameters, const Decoder& decoder) {
  const auto& prediction = decoder.options().prediction;
  if (!prediction || !prediction->form) return false;
  return head_root(parameters, decoder).at(prediction->form->projection).contains("weight");
}

PredictionHead::PredictionHead(const Parameters& parameters, const Decoder& decoder)
    : decoder_(decoder),
      parameters_(head_root(parameters, decoder)),
      embedding_norm_(parameters_.at(form_of(decoder).embedding_norm),
                      decoder.options().hidden_size, decoder.options().norm),
      hidden_norm_(parameters_.at(form_of(decoder).hidden_norm), decoder.options().hidden_size,
                   decoder.options().norm),
      final_norm_(parameters_.at(form_of(decoder).final_norm), decoder.options().hidden_size,
                  decoder.options().norm),
      projection_(parameters_.at(form_of(decoder).projection), 2 * decoder.options().hidden_size,
                  decoder.options().hidden_size),
      layer_(parameters_.at(form_of(decoder).layer_path), form_of(decoder).layer) {}

PredictionHead::Result PredictionHead::operator()(const Array& ids, const Array& previous,
                                                  Cache& cache, const Pass& pass) const {
  const PassTables tables = decoder_.tables(pass);
  const Array embedded = embedding_norm_(decoder_.embed_ids(ids));
  Array x = projection_(array::concat({embedded, hidden_norm_(previous)}, 2));
  const MixerNeeds& needs = layer_.needs();
  const Rotation* const rotation = needs.rope ? &tables.rotations.at(*needs.rope) : nullptr;
  const Array mask = needs.window ? window_mask(pass, *needs.window) : pass.mask;
  tables.carry->ids = ids;
  x = layer_(x, {.layer = 0,
                 .rotation = rotation,
                 .mask = &mask,
                 .cache = cache,
                 .pass = pass,
                 .carry = *tables.carry,
                 .order = nullptr,
                 .embedded = nullptr});
  const Array hidden = final_norm_(x);
  return {hidden, decoder_.head_parts(hidden, {decoder_.options().vocab_size}).front()};
}

}  // namespace pippin::nn
