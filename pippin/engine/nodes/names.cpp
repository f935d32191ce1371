// The names of nodes in plans.
#include <algorithm>

#include "pippin/engine/cache_type.h"
#include "pippin/engine/nodes/node.h"

namespace pippin::engine {
namespace {

std::string with_kernel(std::string name, std::string_view kernel) {
  if (!kernel.empty()) name.append(" (").append(kernel).append(")");
  return name;
}

// For most kinds the kernel's name adds nothing.
struct Namer {
  const Node& node;
  std::string_view kernel;

  template <typename Kind>
  requires requires(const Kind& kind) { kind.name; }
  std::string operator()(const Kind& kind) const { return kind.name; }
  std::string operator()(const AffineNode&) const { return "affine"; }
  std::string operator()(const AllowedNode&) const { return "mask"; }
  std::string operator()(const AttentionNode& attention) const {
    std::string text = attention.has_sinks ? "attention with sinks" : "attention";
    if (attention.cache != CacheType::F16) text += " " + to_string(attention.cache);
    return with_kernel(text, kernel);
  }
  std::string operator()(const BandNode&) const { return "band_part"; }
  std::string operator()(const BatchedDotNode& dot) const { return with_kernel(dot.name, kernel); }
  std::string operator()(const CausalConvolutionNode& convolution) const {
    return with_kernel(convolution.has_silu ? "causal conv + silu" : "causal conv", kernel);
  }
  std::string operator()(const CodeNode& code) const {
    return code.op == CodeOp::Quantize     ? "quantize"
           : code.op == CodeOp::Dequantize ? "dequantize"
                                           : "quantize + dequantize";
  }
  std::string operator()(const CopyNode&) const {
    const Storage to = node.views[0].storage, from = node.views[1].storage;
    return to == from ? "copy" : "convert " + to_string(from) + " to " + to_string(to);
  }
  std::string operator()(const CropNode&) const { return "crop_resize"; }
  std::string operator()(const CumulativeSumNode&) const { return "cumsum"; }
  std::string operator()(const DecayedNode& decayed) const {
    return with_kernel(decayed.has_rates ? "delta products" : "decayed products", kernel);
  }
  std::string operator()(const DimsNode&) const { return "dims"; }
  std::string operator()(const DotNode& dot) const {
    const size_t count = dot.products.size();
    const std::string text = count == 1 ? dot.name : std::to_string(count) + " " + dot.name;
    const bool changed =
        std::any_of(dot.products.begin(), dot.products.end(),
                    [](const DotNode::Product& product) { return product.change.has_value(); });
    return with_kernel(text, kernel) + (changed ? " + low rank" : "") +
           (dot.has_residual ? " + residual" : "");
  }
  std::string operator()(const ExpertsNode&) const { return with_kernel("experts", kernel); }
  std::string operator()(const FillNode&) const { return "fill"; }
  std::string operator()(const FusedNode& fused) const {
    std::string name = "[";
    for (const Node& part : fused.parts) {
      if (name.size() > 1) name += ", ";
      name += node_name(part);
    }
    return name + "]";
  }
  std::string operator()(const GateNode& gate) const { return gate.name + " * up"; }
  std::string operator()(const GatherNode& gather) const { return gather.places.name; }
  std::string operator()(const InstanceNormNode&) const { return "instance_norm"; }
  std::string operator()(const HadamardNode&) const { return "hadamard"; }
  std::string operator()(const L2NormNode&) const { return "l2_norm"; }
  std::string operator()(const LayerNormNode&) const { return "layer_norm"; }
  std::string operator()(const LinearRecurrenceNode&) const {
    return with_kernel("linear recurrence", kernel);
  }
  std::string operator()(const LocalResponseNode&) const { return "local_response_norm"; }
  std::string operator()(const MaskSummaryNode&) const { return "mask summary"; }
  std::string operator()(const NarrowNode&) const { return "narrow"; }
  std::string operator()(const OneHotNode&) const { return "one_hot"; }
  std::string operator()(const PackConvNode&) const { return "pack conv"; }
  std::string operator()(const PairNode&) const { return "quantized pairs"; }
  std::string operator()(const PlaneNode& plane) const {
    std::string name = std::visit(*this, plane.work);
    for (const Finish& finish : plane.finishes) name += " + " + finish.name;
    return name;
  }
  std::string operator()(const ChannelNode&) const { return "by channel"; }
  std::string operator()(const ChannelsLastWindowNode& window) const {
    return with_kernel("channels-last " + window.name, kernel);
  }
  std::string operator()(const ConvNode& conv) const {
    const bool pairs = conv.operands == ConvNode::Operands::Pairs;
    return with_kernel(pairs ? "quantized conv" : "conv", kernel);
  }
  std::string operator()(const ChannelsLastConvNode&) const {
    return with_kernel("channels-last conv", kernel);
  }
  std::string operator()(const WindowNode& window) const {
    return with_kernel(window.name, kernel);
  }
  std::string operator()(const WinogradNode&) const {
    return with_kernel("conv by Winograd", kernel);
  }
  std::string operator()(const QuantizedGatherNode& gather) const {
    return with_kernel("gather " + gather.form, kernel);
  }
  std::string operator()(const RangeNode&) const { return "range_1d"; }
  std::string operator()(const RecurrentNode& layer) const {
    return with_kernel(layer.name, kernel);
  }
  std::string operator()(const ReferenceNode& reference) const {
    return reference.operation->type() + " (reference)";
  }
  std::string operator()(const ResampleNode&) const { return "resample"; }
  std::string operator()(const ReverseSequenceNode&) const { return "reverse_sequence"; }
  std::string operator()(const RmsNormNode&) const { return "rms_norm"; }
  std::string operator()(const RotaryNode& rotary) const {
    return rotary.pairs ? "rotary of pairs" : "rotary";
  }
  std::string operator()(const ScatterNode& scatter) const { return scatter.places.name; }
  std::string operator()(const SelectiveNode&) const {
    return with_kernel("selective recurrence", kernel);
  }
  std::string operator()(const SelectNode&) const { return "select"; }
  std::string operator()(const SoftmaxNode&) const { return "softmax"; }
  std::string operator()(const StackedDotNode& dot) const { return with_kernel(dot.name, kernel); }
  std::string operator()(const StoreCacheNode& store) const {
    return "store " + to_string(store.cache);
  }
  std::string operator()(const SuppressionNode&) const { return "non_maximum_suppression"; }
};

}  // namespace

std::string node_name(const Node& node, std::string_view kernel) {
  return std::visit(Namer{node, kernel}, node.kind);
}

}  // namespace pippin::engine
