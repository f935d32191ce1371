#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/speech/speech_front.h"

namespace pippin::nn {
namespace {

using array::Array;

// Modules of "layers" have the numbers of a list in which activations count.
class SpectrogramFront final : public SpeechFront {
 public:
  SpectrogramFront(const Parameters& parameters, const SpectrogramFrontOptions& options,
                   int64_t features)
      : linear_(parameters.at("linear"), options.channels * (options.bins / options.stride()),
                features, /*bias=*/true) {
    const int64_t channels = options.channels, size = options.size, beside = (size - 1) / 2;
    const std::vector<int64_t> padding(4, beside);
    const Parameters layers = parameters.at("layers");
    const auto add = [&](int64_t index, std::vector<int64_t> dims, int64_t groups) {
      const bool pointwise = dims.back() == 1 && groups == 1;
      convolutions_.emplace_back(
          layers.at(index),
          ConvolutionOptions{.dims = std::move(dims),
                             .strides = {pointwise ? 1 : 2},
                             .groups = groups,
                             .padding = pointwise ? std::vector<int64_t>() : padding});
    };
    convolutions_.reserve(static_cast<size_t>(2 * options.layers));
    add(0, {channels, 1, size, size}, 1);
    for (int64_t layer = 1; layer < options.layers; ++layer) {
      add(3 * layer - 1, {channels, 1, size, size}, channels);
      add(3 * layer, {channels, channels, 1, 1}, 1);
    }
  }

  Array operator()(const Array& input) const override {
    const array::Scope scope("subsampling");
    Array x = array::expand_dims(input, {1});
    for (size_t i = 0; i < convolutions_.size(); ++i) {
      x = convolutions_[i](x);
      if (i % 2 == 0) x = array::relu(x);  // after the first one and each pointwise one
    }
    const Array rows = array::transpose(x, {0, 2, 1, 3});
    return linear_(array::reshape(rows, {1, rows.dim(1), rows.dim(2) * rows.dim(3)}));
  }

 private:
  std::vector<Convolution> convolutions_;
  Linear linear_;
};

class ProjectionFront final : public SpeechFront {
 public:
  ProjectionFront(const Parameters& parameters, const ProjectionFrontOptions& options,
                  int64_t features)
      : norm_(parameters.at("layer_norm"), options.bins, options.norm),
        linear_(parameters.at("projection"), options.bins, features, /*bias=*/true) {}

  Array operator()(const Array& input) const override { return linear_(norm_(input)); }

 private:
  Norm norm_;
  Linear linear_;
};

class RowsFront final : public SpeechFront {
 public:
  RowsFront(const Parameters& parameters, const RowsFrontOptions& options, int64_t features)
      : first_(parameters.at("dense_0"), options.bins, features, /*bias=*/true),
        convolutions_{
            {parameters.at("conv_0"),
             {.dims = {features, features, options.size}, .strides = {options.step}}},
            {parameters.at("conv_1"),
             {.dims = {options.channels, features, options.size}, .strides = {options.step}}}},
        last_(parameters.at("dense_1"), options.channels, features, /*bias=*/true) {}

  Array operator()(const Array& input) const override {
    Array x = array::transpose(array::relu(first_(input)), {0, 2, 1});
    for (const Convolution& convolution : convolutions_) x = array::relu(convolution(x));
    return last_(array::transpose(x, {0, 2, 1}));
  }

 private:
  Linear first_;
  std::vector<Convolution> convolutions_;
  Linear last_;
};

}  // namespace

std::unique_ptr<const SpeechFront> SpectrogramFrontOptions::make(const Parameters& parameters,
                                                                 int64_t features) const {
  return std::make_unique<SpectrogramFront>(parameters.at("subsampling"), *this, features);
}

std::unique_ptr<const SpeechFront> ProjectionFrontOptions::make(const Parameters& parameters,
                                                                int64_t features) const {
  return std::make_unique<ProjectionFront>(parameters.at("feature_projection"), *this, features);
}

std::unique_ptr<const SpeechFront> RowsFrontOptions::make(const Parameters& parameters,
                                                          int64_t features) const {
  return std::make_unique<RowsFront>(parameters.at("subsampler"), *this, features);
}

}  // namespace pippin::nn
