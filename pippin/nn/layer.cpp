#include "pippin/nn/layer.h"

#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

using array::Array;

std::optional<GatedNorm> make_norm(const Parameters& parameters, const std::string& name,
                                   const LayerOptions& options, int64_t rank) {
  if (name.empty()) return std::nullopt;
  return GatedNorm(parameters.at(name), options.features, options.norm, rank);
}

// One after the mixer or the feed-forward.
std::optional<GatedNorm> make_post_norm(const Parameters& parameters, const std::string& name,
                                        const LayerOptions& options) {
  if (name.empty()) return std::nullopt;
  NormOptions norm = options.norm;
  norm.scale = options.post_norm_scale;
  norm.epsilon = options.post_norm_epsilon.value_or(norm.epsilon);
  return GatedNorm(parameters.at(name), options.features, norm, 0);
}

Array normed(const std::optional<GatedNorm>& norm, const Array& x) {
  return norm ? (*norm)(x) : x;
}

std::optional<FeatureShift> make_shift(const Parameters& parameters,
                                       const FeatureShiftOptions& shift,
                                       const LayerOptions& options) {
  if (shift.bias.empty() && shift.scale.empty()) return std::nullopt;
  return FeatureShift(parameters, options.features, shift);
}

Array shifted(const std::optional<FeatureShift>& shift, const Array& x) {
  return shift ? (*shift)(x) : x;
}

// The names of the carried states of a layer's convolutions.
constexpr const char* kAttentionConvolution = "attentionConvCache";
constexpr const char* kMlpConvolution = "mlpConvCache";

std::optional<CausalConvolution> make_convolution(const Parameters& parameters,
                                                  const std::string& name, const char* state,
                                                  const LayerOptions& options) {
  if (name.empty()) return std::nullopt;
  return CausalConvolution(parameters.at(name), options.features, options.convolution_length,
                           /*bias=*/false, state);
}

Array convolved(const std::optional<CausalConvolution>& convolution, const Array& x,
                const MixerInput& input) {
  return convolution ? x + (*convolution)(x, input) : x;
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
  MixerNeeds needs = std::visit([](const auto& options) { return options.needs(); }, mixer);
  const auto add = [&](const std::string& name, const char* state) {
    if (!name.empty())
      needs.states.push_back(convolution_state(features, convolution_length, state));
  };
  add(attention_convolution, kAttentionConvolution);
  add(mlp_convolution, kMlpConvolution);
  return needs;
}

DecoderLayer::DecoderLayer(const Parameters& parameters, const LayerOptions& options)
    : path_(parameters.path()),
      options_(options),
      needs_(options.needs()),
      attention_norm_(
          make_norm(parameters, options.attention_norm, options, options.attention_norm_rank)),
      attention_second_norm_(make_norm(parameters, options.attention_second_norm, options, 0)),
      attention_post_norm_(make_post_norm(parameters, options.attention_post_norm, options)),
      mlp_norm_(make_norm(parameters, options.mlp_norm, options, options.mlp_norm_rank)),
      mlp_post_norm_(make_post_norm(parameters, options.mlp_post_norm, options)) {
  const auto make = [](const Parameters& at) {
    return [&at](const auto& block) { return block.make(at); };
  };
  mixer_ = std::visit(make(parameters.at(options.attention_path)), options.mixer);
  feed_forward_ = std::visit(make(parameters.at(options.mlp_path)), options.feed_forward);
  if (options.altup) altup_.emplace(parameters, *options.altup);
  if (options.rows) row_.emplace(parameters, *options.rows);
  if (!options.output_scale.empty()) output_scale_ = parameters.get(options.output_scale, {1});
  attention_residual_ = make_shift(parameters, options.attention_residual, options);
  attention_added_ = make_shift(parameters, options.attention_added, options);
  mlp_residual_ = make_shift(parameters, options.mlp_residual, options);
  mlp_added_ = make_shift(parameters, options.mlp_added, options);
  attention_convolution_ =
      make_convolution(parameters, options.attention_convolution, kAttentionConvolution, options);
  mlp_convolution_ =
      make_convolution(parameters, options.mlp_convolution, kMlpConvolution, options);
  if (options.hyper) {
    attention_streams_.emplace(parameters, "hc_attn", *options.hyper);
    mlp_streams_.emplace(parameters, "hc_ffn", *options.hyper);
  }
  if (options.turn && !options.turn->start.empty()) {
    start_ = parameters.parent().parent().parent().get(options.turn->start, {options.features});
  }
  if (options.turn && options.turn->ends) {
    end_norm_.emplace(parameters.at("final_norm"), options.features, without_weight(options.norm));
  }
  if (options.shortcut) {
    shortcut_ = std::visit(make(parameters.at(options.shortcut_path)), *options.shortcut);
  }
}

Array DecoderLayer::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  Array result = attention_streams_ ? in_streams(x, input) : residual(begun(x, input.carry), input);
  if (row_) result = result + (*row_)(result, row_of(input.carry.rows.value(), input.layer));
  if (output_scale_) result = result * *output_scale_;
  return ended(result, input.carry);
}

Array DecoderLayer::begun(const Array& x, LayerCarry& carry) const {
  if (!options_.turn || !options_.turn->begins) return x;
  if (start_) {
    carry.high = x;
    carry.low = *start_;
  }
  return carry.high.value() + carry.low.value();
}

Array DecoderLayer::ended(const Array& x, LayerCarry& carry) const {
  if (!end_norm_) return x;
  Array result = (*end_norm_)(x);
  (options_.turn->high ? carry.high : carry.low) = result;
  return result;
}

Array DecoderLayer::in_streams(const Array& streams, const MixerInput& input) const {
  const HyperConnection::Weights first = (*attention_streams_)(streams);
  const Array between = attention_streams_->after(
      first, streams, mixed(normed(attention_norm_, first.collapsed), input));
  const HyperConnection::Weights second = (*mlp_streams_)(between);
  return mlp_streams_->after(second, between, fed(normed(mlp_norm_, second.collapsed), input));
}

// The result of the mixer for normalized tokens, ready to be added to the residual.
Array DecoderLayer::mixed(const Array& tokens, const MixerInput& input) const {
  const Array made = convolved(attention_convolution_, (*mixer_)(tokens, input), input);
  const Array output = shifted(attention_added_, normed(attention_post_norm_, made));
  return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
}

Array DecoderLayer::fed(const Array& tokens, const MixerInput& input) const {
  const Array made = convolved(mlp_convolution_, (*feed_forward_)(tokens, input.carry), input);
  const Array output = shifted(mlp_added_, normed(mlp_post_norm_, made));
  return options_.residual_scale == 1.0 ? output : output * options_.residual_scale;
}

Array DecoderLayer::residual(const Array& x, const MixerInput& input) const {
  using Form = LayerOptions::Form;
  const auto mix = [&](const Array& tokens) { return mixed(tokens, input); };
  const auto feed = [&](const Array& tokens) { return fed(tokens, input); };
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
      Array h = normed(attention_norm_, x + mix(x));
      if (attention_second_norm_) h = (*attention_second_norm_)(x + h);
      if (feed_forward_ == nullptr) return h;
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
  Array h = mixer_ ? shifted(attention_residual_, x) + mix(normed(attention_norm_, x)) : x;
  if (feed_forward_ == nullptr) return h;
  const Array tokens = normed(mlp_norm_, h);
  if (shortcut_) input.carry.shortcut = (*shortcut_)(tokens, input.carry);
  const Array result = shifted(mlp_residual_, h) + feed(tokens);
  return options_.takes_shortcut ? result + input.carry.shortcut.value() : result;
}

}  // namespace pippin::nn
