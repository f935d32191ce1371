// Layers of compiled networks that compute elements from elements, and along axes.
#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/mil/networks/espresso_layer.h"

namespace pippin::mil::networks {
namespace {

constexpr uint32_t kUnary = 220, kClip = 660;
constexpr int64_t kThreshold = 7;

// Functions by "mode"; their fields in ActivationParams, and their numbers.
struct ActivationMode {
  int64_t mode;
  uint32_t field;
  int numbers;
};
constexpr ActivationMode kActivationModes[] = {{0, 10, 0}, {1, 30, 0},  {2, 15, 1}, {3, 40, 0},
                                               {5, 31, 2}, {6, 5, 2},   {7, 41, 2}, {8, 50, 1},
                                               {9, 20, 1}, {10, 70, 0}, {12, 60, 0}};
// Others, and their mode in the published gelu layer.
constexpr std::pair<int64_t, int64_t> kGeluModes[] = {{19, 0}, {21, 1}, {22, 2}};
constexpr int64_t kErfMode = 20;

void add_activation(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kActivation = 130, kErf = 790, kGelu = 795;
  layer.require_inputs(1);
  const auto blobs = layer.fields.find("weights");
  if (blobs && blobs->size() > 0) {
    fail(ErrorCode::Unsupported, "factors by channel are not supported");
  }
  const int64_t mode = layer.number("mode");
  for (const ActivationMode& known : kActivationModes) {
    if (known.mode != mode) continue;
    Message numbers;
    if (known.numbers > 0) numbers.number(1, layer.real("alpha"));
    if (known.numbers > 1) numbers.number(2, layer.real("beta"));
    return network.add(layer, kActivation, Message().message(known.field, numbers));
  }
  for (const auto& [known, published] : kGeluModes) {
    if (known == mode) return network.add(layer, kGelu, Message().integer(1, published));
  }
  if (mode == kErfMode) return network.add(layer, kErf, {});
  fail(ErrorCode::Unsupported, "mode {} is not supported", mode);
}

// Operations by code, and the published layer.
struct ElementwiseCode {
  int64_t code;
  uint32_t field;
};
constexpr ElementwiseCode kOfTensors[] = {
    {0, 230},   {1, 231},   {13, 885},  {22, 261},  {23, 260},  {33, 905},  {36, 865},  {100, 815},
    {102, 890}, {103, 825}, {104, 827}, {105, 830}, {106, 832}, {107, 820}, {1021, 895}};
constexpr ElementwiseCode kOfOne[] = {{35, 700},  {37, 685},  {38, 680},  {112, 850}, {114, 715},
                                      {115, 710}, {117, 670}, {118, 665}, {121, 720}, {122, 755},
                                      {123, 750}, {124, 760}, {125, 735}, {126, 730}, {127, 740},
                                      {128, 775}, {129, 770}, {130, 780}};
// Comparisons with alpha.
constexpr ElementwiseCode kWithAlpha[] = {{131, 825}, {132, 827}, {133, 830},
                                          {134, 832}, {135, 820}, {136, 815}};
// Functions of the published unary layer, by type.
constexpr std::pair<int64_t, int64_t> kUnaryTypes[] = {{10, 2}, {11, 0}, {12, 1},
                                                       {24, 6}, {26, 5}, {27, 4}};
constexpr int64_t kWhere = 101, kAddAlpha = 2, kMultiplyAlpha = 3, kThresholdAlpha = 25,
                  kClipped = 119;

uint32_t find_field(std::span<const ElementwiseCode> codes, int64_t code) {
  const auto found = std::find_if(codes.begin(), codes.end(),
                                  [&](const ElementwiseCode& one) { return one.code == code; });
  return found == codes.end() ? 0 : found->field;
}

// Codes of sums and products have their own factor and term, which compilers leave at 1 and 0.
void require_neutral(const EspressoLayer& layer) {
  layer.require_real("alpha", 1);
  layer.require_real("beta", 0);
}

void add_of_one(EspressoNetwork& network, const EspressoLayer& layer, int64_t code) {
  constexpr uint32_t kAdd = 230, kMultiply = 231, kEqual = 815, kNotEqual = 820;
  if (code == kAddAlpha || code == kMultiplyAlpha) {
    return network.add(layer, code == kAddAlpha ? kAdd : kMultiply,
                       Message().number(1, layer.real("alpha")));
  }
  if (code == kThresholdAlpha) {
    return network.add(layer, kUnary,
                       Message().integer(1, kThreshold).number(2, layer.real("alpha")));
  }
  if (code == kClipped) {
    return network.add(layer, kClip,
                       Message().number(1, layer.real("alpha")).number(2, layer.real("beta")));
  }
  if (const uint32_t field = find_field(kWithAlpha, code); field != 0) {
    const uint32_t alpha = field == kEqual || field == kNotEqual ? 1 : 2;
    return network.add(layer, field, Message().number(alpha, layer.real("alpha")));
  }
  for (const auto& [known, type] : kUnaryTypes) {
    if (known != code) continue;
    require_neutral(layer);
    return network.add(layer, kUnary,
                       Message().integer(1, type).number(3, layer.real("eps", 0)).number(5, 1));
  }
  const uint32_t field = find_field(kOfOne, code);
  if (field == 0) fail(ErrorCode::Unsupported, "operation {} of one tensor", code);
  network.add(layer, field, {});
}

void add_elementwise(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kAdd = 230, kMultiply = 231, kWhereBroadcastable = 1330;
  const int64_t code = layer.number("operation");
  if (layer.inputs.size() < 2) {
    layer.require_inputs(1);
    return add_of_one(network, layer, code);
  }
  if (code == kWhere) {
    layer.require_inputs(3);
    return network.add(layer, kWhereBroadcastable, {});
  }
  const uint32_t field = find_field(kOfTensors, code);
  if (field == 0) fail(ErrorCode::Unsupported, "operation {} of tensors", code);
  if (field == kAdd || field == kMultiply) {
    require_neutral(layer);
  } else {
    layer.require_inputs(2);
  }
  network.add(layer, field, {});
}

// The published layers of reductions, by "mode".
constexpr ElementwiseCode kReductions[] = {{0, 1270},  {1, 1280}, {2, 1275}, {4, 1290},
                                           {5, 1255},  {8, 1250}, {9, 1260}, {10, 1265},
                                           {11, 1025}, {12, 1020}};

// The axis stays if the result has as many axes as the input.
void add_reduction(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kFirstReduction = 1250;
  layer.require_inputs(1);
  const int64_t mode = layer.number("mode");
  const uint32_t field = find_field(kReductions, mode);
  if (field == 0) fail(ErrorCode::Unsupported, "mode {} is not supported", mode);
  if (!layer.flag("nd_mode") || layer.outputs.empty()) {
    fail(ErrorCode::Unsupported, "a reduction without nd_mode");
  }
  const int64_t axis = layer.number("nd_axis");
  const bool keep = network.rank(layer.inputs.front()) == network.rank(layer.outputs.front());
  Message parameters;
  parameters.integer(1, axis).integer(2, field < kFirstReduction ? !keep : keep);
  network.add(layer, field, parameters);
}

// "C" is the axis, counted from the last one.
void add_softmax(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kSoftmax = 175;
  constexpr int64_t kChannels = 2;
  layer.require_inputs(1);
  layer.require("C", kChannels);
  network.add(layer, kSoftmax, {});
}

void add_softmax_nd(EspressoNetwork& network, const EspressoLayer& layer) {
  constexpr uint32_t kSoftmaxNd = 950;
  layer.require_inputs(1);
  network.add(layer, kSoftmaxNd, Message().integer(1, layer.number("nd_axis")));
}

}  // namespace

std::span<const EspressoKind> espresso_value_layers() {
  static constexpr EspressoKind kKinds[] = {
      {"activation", add_activation, "mode alpha beta"},
      {"elementwise", add_elementwise, "operation alpha beta eps fused_relu nd_mode"},
      {"reduce", add_reduction, "mode nd_mode nd_axis use_version"},
      {"softmax", add_softmax, "C"},
      {"softmax_nd", add_softmax_nd, "nd_axis"}};
  return kKinds;
}

}  // namespace pippin::mil::networks
