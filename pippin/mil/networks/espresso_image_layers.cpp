// Layers of compiled networks on channels, rows and columns.
#include "pippin/base/error.h"
#include "pippin/mil/networks/espresso_layer.h"

namespace pippin::mil::networks {
namespace {

int64_t positive_size(const EspressoLayer& layer, std::string_view key) {
  const int64_t size = layer.number(key, 1);
  if (size < 1 || size > INT32_MAX) fail(ErrorCode::InvalidFile, "{} is {}", key, size);
  return size;
}

Message border(int64_t start, int64_t end) {
  return Message().integer(1, start).integer(2, end);
}

// BorderAmounts of rows and columns.
Message border_amounts(const EspressoLayer& layer, std::string_view prefix) {
  const auto edge = [&](std::string_view first, std::string_view last) {
    return border(layer.number(fmt::format("{}{}", prefix, first), 0),
                  layer.number(fmt::format("{}{}", prefix, last), 0));
  };
  return Message().message(10, edge("t", "b")).message(10, edge("l", "r"));
}

enum PadMode : int64_t { PadGiven, PadSame, PadNone, PadSameEvenly = 4 };

// Whether "same" adds as much before as after: then there is one way to do it.
bool pads_evenly(const EspressoNetwork& network, const EspressoLayer& layer, size_t axis_from_end,
                 int64_t kernel, int64_t stride, int64_t dilation) {
  if (layer.inputs.empty()) return false;
  const std::vector<int64_t>& sizes = network.sizes(layer.inputs.front());
  if (sizes.size() < axis_from_end) return false;
  const int64_t size = sizes[sizes.size() - axis_from_end];
  const int64_t extent = (kernel - 1) * dilation + 1;
  const int64_t total = ((size + stride - 1) / stride - 1) * stride + extent - size;
  return total <= 0 || total % 2 == 0;
}

struct Window {
  int64_t rows, columns, row_stride, column_stride, row_dilation = 1, column_dilation = 1;
};

// Adds the field `valid` or the next one, `same`.
void add_borders(const EspressoNetwork& network, const EspressoLayer& layer, const Window& window,
                 uint32_t valid, Message& parameters) {
  layer.require("pad_fill_mode", 0);
  layer.require_real("pad_value", 0);
  const int64_t mode = layer.number("pad_mode", PadGiven);
  switch (mode) {
    case PadGiven:
      parameters.message(valid, Message().message(1, border_amounts(layer, "pad_")));
      return;
    case PadSameEvenly:
      if (!pads_evenly(network, layer, 2, window.rows, window.row_stride, window.row_dilation) ||
          !pads_evenly(network, layer, 1, window.columns, window.column_stride,
                       window.column_dilation)) {
        fail(ErrorCode::Unsupported, "pad_mode 4 of an odd number of rows or columns");
      }
      [[fallthrough]];
    case PadSame:
      parameters.content(valid + 1, "");
      return;
    case PadNone:
      parameters.content(valid, "");
      return;
    default:
      layer.require("pad_mode", PadGiven);
  }
}

void add_convolution(EspressoNetwork& network, const EspressoLayer& layer, bool transposed) {
  constexpr uint32_t kConvolution = 100;
  layer.require_inputs(1);
  for (const std::string_view key : {"has_batch_norm", "has_prelu"}) layer.require(key, 0);
  const int64_t outputs = positive_size(layer, "C"), inputs = positive_size(layer, "K"),
                groups = positive_size(layer, "n_groups");
  if (inputs % groups != 0 || outputs % groups != 0) {
    fail(ErrorCode::InvalidFile, "{} inputs and {} outputs in {} groups", inputs, outputs, groups);
  }
  // The order of the weights is known if a group has one input or one output.
  if (transposed && inputs != groups && outputs != groups) {
    fail(ErrorCode::Unsupported, "{} inputs and {} outputs in {} groups are not supported", inputs,
         outputs, groups);
  }
  const auto blobs = layer.fields.find("weights");
  if (transposed && blobs && blobs->size() > 0) {
    fail(ErrorCode::Unsupported, "quantized weights are not supported");
  }
  if (transposed && layer.number("pad_mode", PadGiven) == PadSameEvenly) {
    layer.require("pad_mode", PadSame);
  }
  const Window window{positive_size(layer, "Ny"),         positive_size(layer, "Nx"),
                      positive_size(layer, "stride_y"),   positive_size(layer, "stride_x"),
                      positive_size(layer, "dilation_y"), positive_size(layer, "dilation_x")};
  Message parameters;
  parameters.integer(1, outputs).integer(2, transposed ? inputs : inputs / groups);
  parameters.integer(10, groups)
      .integers(20, {window.rows, window.columns})
      .integers(30, {window.row_stride, window.column_stride})
      .integers(40, {window.row_dilation, window.column_dilation});
  add_borders(network, layer, window, 50, parameters);
  if (transposed) {
    parameters.integer(60, 1);
    if (layer.flag("deconv_out_height")) {
      parameters.integers(100, {positive_size(layer, "deconv_out_height"),
                                positive_size(layer, "deconv_out_width")});
    }
  }
  parameters.message(90, espresso_weights(network, layer,
                                          {outputs, inputs / groups, window.rows, window.columns}));
  if (add_espresso_biases(network, layer, outputs, 91, parameters)) parameters.integer(70, 1);
  network.add(layer, kConvolution, parameters);
}

void add_forward(EspressoNetwork& network, const EspressoLayer& layer) {
  add_convolution(network, layer, false);
}
void add_transposed(EspressoNetwork& network, const EspressoLayer& layer) {
  add_convolution(network, layer, true);
}

void add_pool(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kPooling = 120;
  constexpr int64_t kTypes[] = {1, 0, 2};  // average, max, L2 in the published order
  constexpr int64_t kLastPixel = 2;
  layer.require_inputs(1);
  const int64_t kind = layer.number("avg_or_max", 0);
  if (kind < 0 || kind >= std::ssize(kTypes)) layer.require("avg_or_max", 0);
  Message parameters;
  parameters.integer(1, kTypes[kind]);
  if (layer.flag("is_global")) {
    return network.add(layer, kPooling, parameters.integer(60, 1));
  }
  const Window window{positive_size(layer, "size_y"), positive_size(layer, "size_x"),
                      positive_size(layer, "stride_y"), positive_size(layer, "stride_x")};
  parameters.integers(10, {window.rows, window.columns})
      .integers(20, {window.row_stride, window.column_stride});
  if (layer.number("top_shape_style", 0) == kLastPixel) {
    layer.require("pad_mode", PadGiven);
    layer.require("pad_b", layer.number("pad_t", 0));
    layer.require("pad_r", layer.number("pad_l", 0));
    parameters.message(
        32, Message().integers(10, {layer.number("pad_t", 0), layer.number("pad_l", 0)}));
  } else {
    layer.require("top_shape_style", 0);
    add_borders(network, layer, window, 30, parameters);
  }
  parameters.integer(50, layer.flag("average_count_exclude_padding"));
  network.add(layer, kPooling, parameters);
}

void add_upsample(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kUpsample = 210;
  constexpr int64_t kBilinear = 1, kAligned = 1, kNotAligned = 2;
  layer.require_inputs(1);
  const int64_t mode = layer.number("mode", 0);
  if (mode != 0) layer.require("mode", kBilinear);
  Message parameters;
  if (layer.flag("use_fractional_scale_factors")) {
    parameters.numbers(
        7, {layer.real("fractional_scaling_factor_y"), layer.real("fractional_scaling_factor_x")});
  } else {
    parameters.integers(
        1, {positive_size(layer, "scaling_factor_y"), positive_size(layer, "scaling_factor_x")});
  }
  if (mode == kBilinear) {
    layer.require("is_legacy_mode", 0);
    parameters.integer(5, kBilinear)
        .integer(6, layer.flag("align_corners") ? kAligned : kNotAligned);
  }
  network.add(layer, kUpsample, parameters);
}

void add_padding(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kPadding = 200;
  constexpr uint32_t kFields[] = {1, 2, 3};  // constant, reflection, replication
  layer.require_inputs(1);
  layer.require("pad_fill_mode", 0);
  const int64_t mode = layer.number("pad_pad_mode", 0);
  if (mode < 0 || mode >= std::ssize(kFields)) layer.require("pad_pad_mode", 0);
  Message kind;
  if (mode == 0) kind.number(1, layer.real("pad_value", 0));
  network.add(layer, kPadding,
              Message().message(kFields[mode], kind).message(10, border_amounts(layer, "pad_")));
}

void add_crop(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kCrop = 190;
  layer.require_inputs(1);
  network.add(layer, kCrop, Message().message(1, border_amounts(layer, "")));
}

void add_reorganization(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kReorganizeData = 345;
  constexpr int64_t kToDepth = 0, kToSpace = 1, kPixelShuffle = 2;
  layer.require_inputs(1);
  const bool shuffle = layer.flag("pixel_shuffle");
  if (shuffle) layer.require("reverse", 1);
  const int64_t back = shuffle ? kPixelShuffle : kToSpace;
  network.add(layer, kReorganizeData,
              Message()
                  .integer(1, layer.flag("reverse") ? back : kToDepth)
                  .integer(2, positive_size(layer, "block_size")));
}

}  // namespace

std::span<const EspressoKind> espresso_image_layers() {
  static constexpr EspressoKind kKinds[] = {
      {"convolution", add_forward,
       "C K Nx Ny n_groups n_parallel stride_x stride_y dilation_x dilation_y pad_mode pad_l pad_r "
       "pad_t pad_b pad_fill_mode pad_value has_biases has_batch_norm has_prelu fused_relu "
       "fused_tanh blob_weights blob_weights_f16 blob_biases quantization_lut_weights_blob "
       "quantization_ranges_blob quantization_mode"},
      {"deconvolution", add_transposed,
       "C K Nx Ny n_groups n_parallel stride_x stride_y dilation_x dilation_y pad_mode pad_l pad_r "
       "pad_t pad_b pad_fill_mode pad_value has_biases has_batch_norm has_prelu fused_relu "
       "fused_tanh blob_weights blob_weights_f16 blob_biases deconv_out_height deconv_out_width"},
      {"pool", add_pool,
       "avg_or_max is_global size_x size_y stride_x stride_y pad_mode pad_l pad_r pad_t pad_b "
       "pad_fill_mode pad_value top_shape_style average_count_exclude_padding"},
      {"upsample", add_upsample,
       "mode scaling_factor_x scaling_factor_y fractional_scaling_factor_x "
       "fractional_scaling_factor_y use_fractional_scale_factors align_corners is_legacy_mode"},
      {"general_padding", add_padding,
       "pad_l pad_r pad_t pad_b pad_value pad_fill_mode pad_pad_mode"},
      {"crop", add_crop, "l r t b"},
      {"space_to_depth", add_reorganization, "block_size reverse pixel_shuffle"}};
  return kKinds;
}

}  // namespace pippin::mil::networks
