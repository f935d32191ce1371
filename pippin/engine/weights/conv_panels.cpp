#include "pippin/engine/weights/conv_panels.h"

#include <algorithm>

#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

ConvPanels::ConvPanels(Form form, int64_t groups, int64_t outputs, int64_t channels, int64_t taps,
                       const CpuFeatures& cpu)
    : form_(form),
      groups_(groups),
      outputs_(outputs),
      channels_(channels),
      taps_(taps),
      cpu_(cpu) {}

int64_t ConvPanels::group_floats() const {
  const kernels::ConvKernels& kernels = kernels::choose_conv(cpu_);
  switch (form_) {
    case Form::Rows:
      return kernels::packed_conv_weights(kernels, each(), channels_ * taps_);
    case Form::ChannelsLast:
      return kernels::packed_channels_last_weights(kernels, each(), channels_ * taps_);
    case Form::Winograd:
      break;
  }
  return kernels::packed_channels_last_weights(kernels, each(), channels_) *
         kernels::kWinogradProducts;
}

int64_t ConvPanels::floats() const {
  return std::max<int64_t>(1, groups_ * group_floats());
}

std::vector<std::byte> ConvPanels::pack(const std::vector<float>& rows) const {
  const kernels::ConvKernels& kernels = kernels::choose_conv(cpu_);
  const int64_t k = channels_ * taps_, panels = group_floats();
  std::vector<std::byte> bytes(static_cast<size_t>(floats()) * sizeof(float));
  for (int64_t i = 0; i < outputs_; ++i) {
    const float* row = rows.data() + i * k;
    float* to = reinterpret_cast<float*>(bytes.data()) + i / each() * panels;
    switch (form_) {
      case Form::Rows:
        kernels::pack_conv_weights(kernels, row, channels_, taps_, i % each(), to);
        break;
      case Form::ChannelsLast:
        kernels::pack_channels_last_weights(kernels, row, channels_, taps_, i % each(), to);
        break;
      case Form::Winograd:
        kernels::pack_winograd_weights(kernels, row, channels_, outputs_, i, to);
        break;
    }
  }
  return bytes;
}

std::string ConvPanels::kernel() const {
  return kernels::choose_conv(cpu_).name;
}

int64_t winograd_products() {
  return kernels::kWinogradProducts;
}
int64_t winograd_side() {
  return kernels::kWinogradSide;
}

}  // namespace pippin::engine
