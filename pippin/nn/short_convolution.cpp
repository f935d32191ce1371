#include "pippin/nn/short_convolution.h"

#include <numeric>
#include <optional>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/linear.h"

namespace pippin::nn {
namespace {

using array::Array;
using array::Index;

class ShortConvolution final : public Mixer {
 public:
  ShortConvolution(const Parameters& parameters, const ShortConvolutionOptions& options)
      : path_(parameters.path()),
        options_(options),
        b_(projection(parameters, options, "b", 0)),
        c_(projection(parameters, options, "c", 1)),
        v_(projection(parameters, options, "v", 2)),
        kernel_(parameters.at(options.kernel).get("weight", {options.features, 1, options.length})),
        output_(parameters.at(options.output), options.features, options.features, options.bias) {
    if (options.bias) bias_ = parameters.at(options.kernel).get("bias", {options.features});
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': a short convolution has no form for this package family",
           path_);
    }
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const CarriedState state = options_.needs().states.front();
    const int64_t kept = options_.length - 1;
    const Array gated = array::transpose(b_(x) * v_(x), {0, 2, 1});  // (1, features, q)
    const Array columns = array::concat({input.cache.carried(input.layer, state), gated}, 2);
    const mil::Dim& tokens = x.dim(1);
    input.cache.carry(input.layer, state,
                      array::slice_axis(columns, 2, tokens, tokens + mil::Dim(kept)));
    const Array mixed = convolve(columns);
    return output_(c_(x) * array::transpose(mixed, {0, 2, 1}));
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

  Array convolve(const Array& columns) const {
    std::vector<array::Param> arguments = {
        {"x", columns}, {"weight", kernel_}, {"groups", options_.features}, {"pad_type", "valid"}};
    if (bias_) arguments.emplace_back("bias", *bias_);
    return array::record_one("conv", arguments);
  }

  std::string path_;
  ShortConvolutionOptions options_;
  Linear b_, c_, v_;
  Array kernel_;
  std::optional<Array> bias_;
  Linear output_;
};

}  // namespace

MixerNeeds ShortConvolutionOptions::needs() const {
  return {.name = "a short convolution", .states = {{"convCache", {1, features, length - 1}}}};
}

std::unique_ptr<const Mixer> ShortConvolutionOptions::make(const Parameters& parameters) const {
  return std::make_unique<ShortConvolution>(parameters, *this);
}

}  // namespace pippin::nn
