#include "pippin/array/ops.h"
#include "pippin/nn/decoder.h"

namespace pippin::nn {
namespace {

using array::Array;

std::optional<Norm> make_norm(const Parameters& parameters, const std::string& name,
                              const LayerOptions& options, double scale = 1.0) {
  if (name.empty()) return std::nullopt;
  NormOptions norm = options.norm;
  norm.scale = scale;
  return Norm(parameters.at(name), options.attention.features, norm);
}

Array normed(const std::optional<Norm>& norm, const Array& x) {
  return norm ? (*norm)(x) : x;
}

}  // namespace

DecoderLayer::DecoderLayer(const Parameters& parameters, const LayerOptions& options, int64_t index)
    : path_(parameters.path()),
      options_(options),
      index_(index),
      attention_norm_(make_norm(parameters, options.attention_norm, options)),
      attention_post_norm_(
          make_norm(parameters, options.attention_post_norm, options, options.post_norm_scale)),
      mlp_norm_(make_norm(parameters, options.mlp_norm, options)),
      mlp_post_norm_(
          make_norm(parameters, options.mlp_post_norm, options, options.post_norm_scale)),
      attention_(parameters.at(options.attention_path), options.attention),
      mlp_(parameters.at(options.mlp_path), options.mlp) {}

Array DecoderLayer::operator()(const Array& x, const Rotation* rotation, const Array& mask,
                               KVCache& cache, const Pass& pass) const {
  using Form = LayerOptions::Form;
  const array::Scope scope(path_);
  const auto attention = [&](const Array& input) {
    const Array output =
        normed(attention_post_norm_, attention_(input, index_, rotation, mask, cache, pass));
    return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
  };
  const auto mlp = [&](const Array& input) {
    const Array output = normed(mlp_post_norm_, mlp_(input));
    return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
  };
  switch (options_.form) {
    case Form::Parallel: {
      const Array input = normed(attention_norm_, x);
      const Array attended = attention(input);
      return x + attended + mlp(mlp_norm_ ? (*mlp_norm_)(x) : input);
    }
    case Form::NormAfter: {
      const Array h = normed(attention_norm_, x + attention(x));
      return normed(mlp_norm_, h + mlp(h));
    }
    case Form::NormCarried: {
      const Array input = normed(attention_norm_, x);
      const Array h = normed(mlp_norm_, input + attention(input));
      return h + mlp(h);
    }
    case Form::Serial:
      break;
  }
  const Array h = x + attention(normed(attention_norm_, x));
  return h + mlp(normed(mlp_norm_, h));
}

}  // namespace pippin::nn
