#include "pippin/nn/attention_with_mamba.h"

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;

Array scaled(const Array& x, double scale) {
  return scale == 1.0 ? x : x * scale;
}

class AttentionWithMamba final : public Mixer {
 public:
  AttentionWithMamba(const Parameters& parameters, const AttentionWithMambaOptions& options)
      : options_(options),
        attention_(options.attention.make(parameters.at(options.attention_path))),
        mamba_(options.mamba.make(parameters.at(options.mamba_path))) {}

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const Array state_space = scaled((*mamba_)(tokens, input), options_.mamba_output_scale);
    const Array seen = (*attention_)(scaled(tokens, options_.attention_input_scale), input);
    return state_space + scaled(seen, options_.attention_output_scale);
  }

 private:
  AttentionWithMambaOptions options_;
  std::unique_ptr<const Mixer> attention_, mamba_;
};

}  // namespace

MixerNeeds AttentionWithMambaOptions::needs() const {
  MixerNeeds needs = attention.needs();
  const MixerNeeds other = mamba.needs();
  needs.name = "parallel attention and state space";
  needs.states = other.states;
  needs.order = other.order;
  return needs;
}

std::unique_ptr<const Mixer> AttentionWithMambaOptions::make(const Parameters& parameters) const {
  return std::make_unique<AttentionWithMamba>(parameters, *this);
}

}  // namespace pippin::nn
