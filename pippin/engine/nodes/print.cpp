#include "pippin/engine/nodes/print.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/engine/cache_type.h"
#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

template <typename Visit>
void visit_windows(const Windows& windows, const Visit& visit) {
  std::vector<int64_t> taps, strides, pads;
  for (const WindowAxis& axis : windows) {
    taps.push_back(static_cast<int64_t>(axis.taps.size()));
    strides.push_back(axis.stride);
    pads.push_back(axis.pad);
  }
  visit("window", taps);
  visit("strides", strides);
  if (windows.back().same) {
    visit("pad", windows.back().same_lower ? "same_lower" : "same");
  } else {
    visit("pad", pads);
  }
}

// Calls visit(name, value) for the parameters of a kind that are not part of its name; values are
// numbers, bools, texts and vectors of them.
template <typename Visit>
struct Parameters {
  const Visit& visit;

  template <typename Kind>
  void operator()(const Kind&) const {}  // no parameters

  void operator()(const AttentionNode& node) const {
    visit("scale", node.scale);
    if (node.over_root) visit("over_root", true);
    if (node.softcap != 0) visit("softcap", node.softcap);
    if (node.is_masked) visit("masked", true);
    if (node.cache != CacheType::F16) visit("cache", to_string(node.cache));
  }
  void operator()(const BandNode& node) const {
    visit("lower", node.lower);
    visit("upper", node.upper);
  }
  void operator()(const CodeNode& node) const { visit("slices", node.slices.size()); }
  void operator()(const CumulativeSumNode& node) const {
    visit("exclusive", node.exclusive);
    visit("reverse", node.reverse);
  }
  void operator()(const DecayedNode& node) const {
    if (node.has_scales) visit("scales", true);
    if (node.has_skip) visit("skip", true);
  }
  void operator()(const DotNode& node) const {
    std::vector<int64_t> columns;
    std::vector<bool> biases;
    std::vector<int64_t> ranks;
    for (const DotNode::Product& product : node.products) {
      columns.push_back(product.n);
      biases.push_back(product.has_bias);
      ranks.push_back(product.change ? product.change->ranks : 0);
    }
    visit("columns", columns);
    visit("bias", biases);
    if (std::any_of(ranks.begin(), ranks.end(), [](int64_t count) { return count > 0; })) {
      visit("ranks", ranks);
    }
  }
  void operator()(const ExpertsNode& node) const {
    visit("experts", node.experts);
    if (node.chosen > 0) visit("chosen", node.chosen);
    visit("hidden", node.gate.n);
    if (node.limit) visit("limit", *node.limit);
  }
  void operator()(const InstanceNormNode& node) const { visit("epsilon", node.epsilon); }
  void operator()(const L2NormNode& node) const { visit("epsilon", node.epsilon); }
  void operator()(const LayerNormNode& node) const {
    visit("epsilon", node.epsilon);
    visit("gamma", node.has_gamma);
    visit("beta", node.has_beta);
  }
  void operator()(const LocalResponseNode& node) const {
    visit("size", node.size);
    visit("alpha", node.alpha);
    visit("beta", node.beta);
    visit("k", node.k);
  }
  void operator()(const MapNode& node) const {
    visit("alpha", node.alpha);
    visit("beta", node.beta);
  }
  void operator()(const NarrowNode& node) const {
    visit("bits", node.bits);
    visit("signed", node.is_signed);
    visit("saturates", node.saturates);
  }
  void operator()(const OneHotNode& node) const {
    visit("on", node.on);
    visit("off", node.off);
  }
  void operator()(const PlaneNode& node) const { std::visit(*this, node.work); }
  void operator()(const ChannelsLastWindowNode& node) const { visit_windows(node.windows, visit); }
  void operator()(const ConvNode& node) const {
    visit_windows(node.windows, visit);
    visit("groups", node.groups);
    visit("bias", node.has_bias);
  }
  void operator()(const ChannelsLastConvNode& node) const {
    visit_windows(node.windows, visit);
    visit("groups", node.groups);
    visit("bias", node.has_bias);
  }
  void operator()(const WindowNode& node) const { visit_windows(node.windows, visit); }
  void operator()(const WinogradNode& node) const { visit("bias", node.has_bias); }
  void operator()(const RecurrentNode& node) const {
    visit("directions", node.directions.size());
    visit("sequence", node.sequence);
  }
  void operator()(const RmsNormNode& node) const { visit("epsilon", node.epsilon); }
  void operator()(const SortNode& node) const { visit("ascending", node.ascending); }
  void operator()(const StackedDotNode& node) const { visit("matrices", node.weight.count); }
  void operator()(const StoreCacheNode& node) const { visit("cache", to_string(node.cache)); }
  void operator()(const UnaryNode& node) const {
    if (node.alpha != 0) visit("alpha", node.alpha);
    if (node.beta != 0) visit("beta", node.beta);
  }
};

template <typename Visit>
void visit_parameters(const Node& node, const Visit& visit) {
  std::visit(Parameters<Visit>{visit}, node.kind);
}

std::string memory_of(const View& view, std::span<const Buffer> buffers) {
  const Buffer& buffer = buffers[static_cast<size_t>(view.buffer)];
  switch (buffer.kind) {
    case Buffer::Kind::Constant:
      return "const";
    case Buffer::Kind::State:
    case Buffer::Kind::Input:
      return buffer.name;
    case Buffer::Kind::Arena:
      break;
  }
  return fmt::format("%{}", view.buffer);
}

std::string text_of(const View& view, std::span<const Buffer> buffers) {
  return fmt::format("{} {}{}", memory_of(view, buffers), to_string(view.storage),
                     mil::to_string(view.shape));
}

std::vector<std::string> texts_of(const mil::Shape& shape) {
  std::vector<std::string> texts;
  for (const mil::Dim& dim : shape) texts.push_back(dim.to_string());
  return texts;
}

void write_view(JsonWriter& json, const View& view, std::span<const Buffer> buffers) {
  json.begin_object();
  json.member("memory", memory_of(view, buffers));
  json.member("storage", to_string(view.storage));
  json.member("shape", texts_of(view.shape));
  json.member("strides", texts_of(view.strides));
  json.member("offset", view.offset.to_string());
  json.end_object();
}

}  // namespace

std::string node_text(const Node& node, std::span<const Buffer> buffers) {
  std::string text;
  for (size_t i = 0; i < node.views.size(); ++i) {
    if (i == node.num_written) text += " = " + node_name(node) + "(";
    text += i == 0 || i == node.num_written ? "" : ", ";
    text += text_of(node.views[i], buffers);
  }
  if (node.num_written == node.views.size()) text += " = " + node_name(node) + "(";
  text += ")";
  for (size_t i = 0; i < node.scalars.size(); ++i) {
    text += (i == 0 ? " of " : ", ") + node.scalars[i].to_string();
  }
  const char* before = " ";
  visit_parameters(node, [&](std::string_view name, const auto& value) {
    text += fmt::format("{}{} = {}", std::exchange(before, ", "), name, value);
  });
  return text;
}

void write_node(JsonWriter& json, const Node& node, std::span<const Buffer> buffers) {
  json.begin_object();
  json.member("node", node_name(node));
  json.key("parameters").begin_object();
  visit_parameters(node,
                   [&](std::string_view name, const auto& value) { json.member(name, value); });
  json.end_object();
  if (!node.scalars.empty()) json.member("scalars", texts_of(node.scalars));
  for (const bool written : {true, false}) {
    json.key(written ? "writes" : "reads").begin_array();
    for (size_t i = 0; i < node.views.size(); ++i) {
      if ((i < node.num_written) == written) write_view(json, node.views[i], buffers);
    }
    json.end_array();
  }
  json.end_object();
}

}  // namespace pippin::engine
