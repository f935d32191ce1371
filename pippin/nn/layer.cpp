#include "pippin/nn/layer.h"

#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

using array::Array;

std::optional<Norm> make_norm(const Parameters& parameters, const std::string& name,
                              const LayerOptions& options, double scale = 1.0) {
  if (name.empty()) return std::nullopt;
  NormOptions norm = options.norm;
  norm.scale = scale;
  return Norm(parameters.at(name), options.features, norm);
}

Array normed(const std::optional<Norm>& norm, const Array& x) {
  return norm ? (*norm)(x) : x;
}

template <typename Kind, typename Options>
auto& known(Options& options, const char* kind) {
  if (auto* found = std::get_if<Kind>(&options)) return *found;
  fail(ErrorCode::Internal, "a layer without {} was asked for it", kind);
}

}  // namespace

AttentionOptions& LayerOptions::attention() {
  return known<AttentionOptions>(mixer, "attention");
}
const AttentionOptions& LayerOptions::attention() const {
  return known<AttentionOptions>(mixer, "attention");
}
MLPOptions& LayerOptions::mlp() {
  return known<MLPOptions>(feed_forward, "a dense feed-forward");
}
const MLPOptions& LayerOptions::mlp() const {
  return known<MLPOptions>(feed_forward, "a dense feed-forward");
}

MixerNeeds LayerOptions::needs() const {
  return std::visit([](const auto& options) { return options.needs(); }, mixer);
}

DecoderLayer::DecoderLayer(const Parameters& parameters, const LayerOptions& options)
    : path_(parameters.path()),
      options_(options),
      needs_(options.needs()),
      attention_norm_(make_norm(parameters, options.attention_norm, options)),
      attention_post_norm_(
          make_norm(parameters, options.attention_post_norm, options, options.post_norm_scale)),
      mlp_norm_(make_norm(parameters, options.mlp_norm, options)),
      mlp_post_norm_(
          make_norm(parameters, options.mlp_post_norm, options, options.post_norm_scale)) {
  const auto make = [](const Parameters& at) {
    return [&at](const auto& block) { return block.make(at); };
  };
  mixer_ = std::visit(make(parameters.at(options.attention_path)), options.mixer);
  feed_forward_ = std::visit(make(parameters.at(options.mlp_path)), options.feed_forward);
  if (options.altup) altup_.emplace(parameters, *options.altup);
  if (options.rows) row_.emplace(parameters, *options.rows);
  if (!options.output_scale.empty()) output_scale_ = parameters.get(options.output_scale, {1});
  if (options.shortcut) {
    shortcut_ = std::visit(make(parameters.at(options.shortcut_path)), *options.shortcut);
  }
}

Array DecoderLayer::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  Array result = residual(x, input);
  if (row_) result = result + (*row_)(result, row_of(input.carry.rows.value(), input.layer));
  return output_scale_ ? result * *output_scale_ : result;
}

Array DecoderLayer::residual(const Array& x, const MixerInput& input) const {
  using Form = LayerOptions::Form;
  const auto mix = [&](const Array& tokens) {
    const Array output = normed(attention_post_norm_, (*mixer_)(tokens, input));
    return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
  };
  const auto feed = [&](const Array& tokens) {
    const Array output = normed(mlp_post_norm_, (*feed_forward_)(tokens));
    return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
  };
  if (altup_) {
    const Array predictions = altup_->predict(x);
    const Array active = altup_->active(predictions);
    const Array tokens = normed(attention_norm_, active);
    const Array laurel = altup_->laurel(tokens);
    const Array h = (active + mix(tokens) + laurel) * std::sqrt(0.5);
    const Array row = row_of(input.carry.rows.value(), input.layer);
    return altup_->correct(predictions, h + feed(normed(mlp_norm_, h)), row);
  }
  switch (options_.form) {
    case Form::Parallel: {
      const Array tokens = normed(attention_norm_, x);
      const Array mixed = mix(tokens);
      return x + mixed + feed(mlp_norm_ ? (*mlp_norm_)(x) : tokens);
    }
    case Form::NormAfter: {
      const Array h = normed(attention_norm_, x + mix(x));
      return normed(mlp_norm_, h + feed(h));
    }
    case Form::NormCarried: {
      const auto times = [](const Array& y, double factor) {
        return factor == 1.0 ? y : y * factor;
      };
      const Array tokens = normed(attention_norm_, x);
      const Array mixed = times(mix(tokens), options_.attention_scale);
      const Array h = normed(mlp_norm_, times(tokens, options_.attention_carry) + mixed);
      const Array fed = times(feed(h), options_.mlp_scale);
      return times(h, options_.mlp_carry) + fed;
    }
    case Form::Serial:
      break;
  }
  Array h = mixer_ ? x + mix(normed(attention_norm_, x)) : x;
  if (feed_forward_ == nullptr) return h;
  const Array tokens = normed(mlp_norm_, h);
  if (shortcut_) input.carry.shortcut = (*shortcut_)(tokens);
  const Array result = h + feed(tokens);
  return options_.takes_shortcut ? result + input.carry.shortcut.value() : result;
}

}  // namespace pippin::nn
