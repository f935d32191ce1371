#include "pippin/nn/recurrent/short_convolution.h"

#include <numeric>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

class ShortConvolution final : public Mixer {
 public:
  ShortConvolution(const Parameters& parameters, const ShortConvolutionOptions& options)
      : path_(parameters.path()),
        b_(projection(parameters, options, "b", 0)),
        c_(projection(parameters, options, "c", 1)),
        v_(projection(parameters, options, "v", 2)),
        convolution_(parameters.at(options.kernel), options.features, options.length, options.bias),
        output_(parameters.at(options.output), options.features, options.features, options.bias) {}

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array mixed = convolution_(b_(x) * v_(x), input);
    return output_(c_(x) * mixed);
  }

 private:
  static Linear projection(const Parameters& parameters, const ShortConvolutionOptions& options,
                           const char* part, int64_t index) {
    WeightLayout layout;
    layout.stored_rows = 3 * options.features;
    layout.part = part;
    layout.rows.resize(static_cast<size_t>(options.features));
    std::iota(layout.rows.begin(), layout.rows.end(), index * options.features);
    return Linear(parameters.at(options.input), options.features, options.features, options.bias,
                  layout);
  }

  std::string path_;
  Linear b_, c_, v_;
  CausalConvolution convolution_;
  Linear output_;
};

}  // namespace

MixerNeeds ShortConvolutionOptions::needs() const {
  return {.name = "a short convolution", .states = {convolution_state(features, length)}};
}

std::unique_ptr<const Mixer> ShortConvolutionOptions::make(const Parameters& parameters) const {
  return std::make_unique<ShortConvolution>(parameters, *this);
}

}  // namespace pippin::nn
