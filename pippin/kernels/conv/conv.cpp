#include "pippin/kernels/conv/conv.h"

namespace pippin::kernels {
namespace {

constexpr Listed<ConvKernels> kKernels[] = {
#define PIPPIN_CONV(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/conv/kernels.inc"
#undef PIPPIN_CONV
};

int64_t panels_of(int64_t width, int64_t outputs, int64_t k) {
  return (outputs + width - 1) / width * width * k;
}

void pack_panel(int64_t width, const float* w, int64_t channels, int64_t taps, int64_t output,
                float* panels) {
  if (channels * taps == 0) return;
  float* panel = panels + output / width * width * channels * taps + output % width;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t t = 0; t < taps; ++t) panel[(t * channels + c) * width] = w[c * taps + t];
  }
}

}  // namespace

std::span<const Listed<ConvKernels>> conv_kernels() {
  return kKernels;
}

const ConvKernels& choose_conv(const CpuFeatures& cpu) {
  return choose("conv", conv_kernels(), cpu);
}

int64_t packed_conv_weights(const ConvKernels& kernels, int64_t outputs, int64_t k) {
  return panels_of(kernels.rows, outputs, k);
}
int64_t packed_channels_last_weights(const ConvKernels& kernels, int64_t outputs, int64_t k) {
  return panels_of(kernels.outputs, outputs, k);
}

void pack_conv_weights(const ConvKernels& kernels, const float* w, int64_t channels, int64_t taps,
                       int64_t output, float* panels) {
  pack_panel(kernels.rows, w, channels, taps, output, panels);
}
void pack_channels_last_weights(const ConvKernels& kernels, const float* w, int64_t channels,
                                int64_t taps, int64_t output, float* panels) {
  pack_panel(kernels.outputs, w, channels, taps, output, panels);
}

void pack_winograd_weights(const ConvKernels& kernels, const float* w, int64_t channels,
                           int64_t outputs, int64_t output, float* panels) {
  constexpr double kMatrix[kWinogradReach][3] = {
      {1.0 / 4, 0, 0},
      {-1.0 / 6, -1.0 / 6, -1.0 / 6},
      {-1.0 / 6, 1.0 / 6, -1.0 / 6},
      {1.0 / 24, 1.0 / 12, 1.0 / 6},
      {1.0 / 24, -1.0 / 12, 1.0 / 6},
      {0, 0, 1},
  };
  const int64_t size = packed_channels_last_weights(kernels, outputs, channels),
                rows = kernels.outputs;
  float* panel = panels + output / rows * rows * channels + output % rows;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t i = 0; i < kWinogradProducts; ++i) {
      double sum = 0;
      for (int64_t tap = 0; tap < 9; ++tap) {
        sum += kMatrix[i / kWinogradReach][tap / 3] * kMatrix[i % kWinogradReach][tap % 3] *
               static_cast<double>(w[channel * 9 + tap]);
      }
      panel[i * size + channel * rows] = static_cast<float>(sum);
    }
  }
}

}  // namespace pippin::kernels
