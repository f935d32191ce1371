#include "pippin/nn/shared_block.h"

#include "pippin/array/ops.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

class SharedBlock final : public Mixer {
 public:
  SharedBlock(const Parameters& layer, const Parameters& block, const SharedBlockOptions& options)
      : path_(layer.path()),
        input_norm_(block.at("input_layernorm"), 2 * options.features, options.norm),
        attention_(options.attention.make(block.at("self_attn"))),
        middle_norm_(block.at("pre_ff_layernorm"), options.features, options.norm),
        feed_forward_(options.mlp.make(block.at("feed_forward"))),
        output_(layer.at("linear"), options.features, options.features),
        mamba_norm_(layer.at("mamba_decoder.input_layernorm"), options.features, options.norm),
        mamba_(std::visit(
            [&](const auto& mamba) { return mamba.make(layer.at("mamba_decoder.mamba")); },
            options.mamba)) {}

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array both = array::concat({x, *input.embedded}, 2);
    const Array attended = (*attention_)(input_norm_(both), input);
    const Array made = output_((*feed_forward_)(middle_norm_(attended), input.carry));
    return (*mamba_)(mamba_norm_(x + made), input);
  }

 private:
  std::string path_;
  Norm input_norm_;
  std::unique_ptr<const Mixer> attention_;
  Norm middle_norm_;
  std::unique_ptr<const FeedForward> feed_forward_;
  Linear output_;
  Norm mamba_norm_;
  std::unique_ptr<const Mixer> mamba_;
};

}  // namespace

MixerNeeds SharedBlockOptions::needs() const {
  MixerNeeds needs = attention.needs();
  const MixerNeeds other = std::visit([](const auto& own) { return own.needs(); }, mamba);
  needs.name = "attention before a state space";
  needs.states = other.states;
  needs.order = other.order;
  needs.embedded = true;
  return needs;
}

std::unique_ptr<const Mixer> SharedBlockOptions::make(const Parameters& parameters) const {
  const Parameters shared = parameters.parent().at(home).at(block);
  return std::make_unique<SharedBlock>(parameters, shared, *this);
}

}  // namespace pippin::nn
