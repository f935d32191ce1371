#include "pippin/engine/planning/quantize_caches.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/engine/cache_type.h"
#include "pippin/engine/cpu/cache_rows.h"

namespace pippin::engine {
namespace {

using mil::Dim;

constexpr size_t kKeys = 2, kValues = 3;  // among the views of attention

bool is_cache_view(const Node& node, size_t view) {
  return node.as<AttentionNode>() != nullptr && (view == kKeys || view == kValues);
}

std::optional<Dim> divided(const Dim& dim, int64_t by) {
  Dim quotient = floor_div(dim, Dim(by));
  if (!(quotient * Dim(by) == dim)) return std::nullopt;
  return quotient;
}

// The view of an array that has `columns` elements for each `unit` of this one along its last axis.
std::optional<View> scaled(const View& view, int buffer, Storage storage, int64_t unit,
                           int64_t columns) {
  View result = view;
  result.buffer = buffer;
  result.storage = storage;
  const size_t last = view.shape.size() - 1;
  const auto scale = [&](Dim& dim) {
    const auto quotient = divided(dim, unit);
    if (quotient) dim = *quotient * Dim(columns);
    return quotient.has_value();
  };
  for (size_t axis = 0; axis < last; ++axis) {
    if (view.shape[axis] == Dim(1)) {
      result.strides[axis] = 0;
    } else if (!scale(result.strides[axis])) {
      return std::nullopt;
    }
  }
  const bool is_dense = view.strides[last] == Dim(1) || view.shape[last] == Dim(1);
  if (!is_dense || !scale(result.offset) || !scale(result.shape[last])) return std::nullopt;
  result.strides[last] = 1;
  return result;
}

class Quantizer {
 public:
  Quantizer(NodePlan& plan, CacheType type) : plan_(plan), type_(type) {}

  void run() {
    const size_t count = plan_.buffers.size();
    bool any = false;
    for (size_t i = 0; i < count; ++i) {
      if (plan_.buffers[i].kind != Buffer::Kind::State || !is_read_by_attention(i)) continue;
      replace(static_cast<int>(i));
      any = true;
    }
    if (!any) {
      fail(ErrorCode::Unsupported,
           "cache type {}: attention reads no state of function '{}', only f16 is supported",
           to_string(type_), plan_.function);
    }
    for (const Node& node : plan_.nodes) {
      const auto* const attention = node.as<AttentionNode>();
      if (attention == nullptr || attention->cache == CacheType::F16) continue;
      if (attention->k_group > 0 && attention->v_group > 0) continue;
      fail(ErrorCode::Unsupported,
           "cache type {}: attention of function '{}' reads keys or values outside its states",
           to_string(type_), plan_.function);
    }
    if (type_ == CacheType::Q4) rotate();
  }

 private:
  struct Form {
    int64_t row, group, bytes;
    int codes, scales;  // buffers
  };

  bool is_read_by_attention(size_t buffer) const {
    for (const Node& node : plan_.nodes) {
      for (const size_t view : {kKeys, kValues}) {
        if (view < node.views.size() && is_cache_view(node, view) &&
            node.views[view].buffer == static_cast<int>(buffer)) {
          return true;
        }
      }
    }
    return false;
  }

  void replace(int buffer) {
    const std::string name = plan_.buffers[static_cast<size_t>(buffer)].name;
    const Form form = declare(buffer, name);
    for (Node& node : plan_.nodes) {
      for (size_t i = 0; i < node.views.size(); ++i) {
        if (node.views[i].buffer != buffer || node.views[i].storage == Storage::I8) continue;
        if (!use(node, i, form)) {
          fail(ErrorCode::Unsupported,
               "cache type {}: '{}' of function '{}' uses the state '{}' in a way that needs f16",
               to_string(type_), node_name(node), plan_.function, name);
        }
      }
    }
  }

  // Replaces the state by its codes and their scales.
  Form declare(int buffer, const std::string& name) {
    const auto state = std::find_if(plan_.states.begin(), plan_.states.end(),
                                    [&](const auto& feature) { return feature.name == name; });
    const int64_t row = state->shape.back();
    const CacheRows rows = cache_rows(type_, row);
    const Form form = {row, rows.group, rows.bytes, buffer, static_cast<int>(plan_.buffers.size())};
    if (form.bytes == 0) {
      fail(ErrorCode::Unsupported, "cache type {}: state '{}' has rows of {} values, an odd number",
           to_string(type_), name, row);
    }
    std::vector<int64_t> codes = state->shape, scales = state->shape;
    codes.back() = form.bytes;
    scales.back() = row / form.group;
    const std::string codes_name = fmt::format("{} ({})", name, to_string(type_));
    const std::string scales_name = fmt::format("{} ({} scales)", name, to_string(type_));
    *state = mil::state_feature(codes_name, mil::DataType::Int8, codes);
    plan_.states.insert(state + 1, mil::state_feature(scales_name, mil::DataType::Float16, scales));
    Buffer& own = plan_.buffers[static_cast<size_t>(buffer)];
    Buffer of_scales = own;
    of_scales.storage = Storage::F16;
    of_scales.name = scales_name;
    of_scales.elements = mil::num_elements(mil::to_shape(scales));
    own.storage = Storage::I8;
    own.name = codes_name;
    own.elements = mil::num_elements(mil::to_shape(codes));
    plan_.buffers.push_back(std::move(of_scales));
    return form;
  }

  bool use(Node& node, size_t view, const Form& form) {
    if (auto* const attention = node.as<AttentionNode>()) {
      return read(node, *attention, view, form);
    }
    return node.as<CopyNode>() != nullptr && view == 0 && write(node, form);
  }

  bool read(Node& node, AttentionNode& attention, size_t view, const Form& form) {
    if (view != kKeys && view != kValues) return false;
    // Halves of bytes belong to values at both ends of a row.
    const int64_t unit = type_ == CacheType::Q4 ? form.row : form.group;
    const int64_t per_unit = unit / form.group;
    const auto codes =
        scaled(node.views[view], form.codes, Storage::I8, unit, unit * form.bytes / form.row);
    const auto scales = scaled(node.views[view], form.scales, Storage::F16, unit, per_unit);
    if (!codes || !scales) return false;
    if (attention.cache == CacheType::F16) {
      attention.cache = type_;
      node.views.resize(node.views.size() + 2);
    }
    node.views[view] = *codes;
    node.views[node.views.size() - (view == kKeys ? 2 : 1)] = *scales;
    (view == kKeys ? attention.k_group : attention.v_group) = form.group;
    return true;
  }

  bool write(Node& node, const Form& form) {
    const View to = node.views[0], x = node.views[1];
    const auto codes = scaled(to, form.codes, Storage::I8, form.row, form.bytes);
    const auto scales = scaled(to, form.scales, Storage::F16, form.row, form.row / form.group);
    const bool takes = x.storage == Storage::F32 || x.storage == Storage::F16;
    if (!codes || !scales || !takes || !(to.shape.back() == Dim(form.row))) return false;
    node.kind = StoreCacheNode{type_};
    node.views = {*codes, *scales, x};
    node.num_written = 2;
    return true;
  }

  View allocate(const mil::Shape& shape) {
    Buffer buffer;
    buffer.elements = mil::num_elements(shape);
    plan_.buffers.push_back(std::move(buffer));
    View view;
    view.buffer = static_cast<int>(plan_.buffers.size()) - 1;
    view.shape = shape;
    view.strides = contiguous_strides(shape);
    return view;
  }

  // Rotates queries like the keys, and rotates sums of values back.
  void rotate() {
    std::vector<Node> nodes;
    nodes.reserve(plan_.nodes.size());
    for (Node& node : plan_.nodes) {
      const auto* const attention = node.as<AttentionNode>();
      if (attention == nullptr || attention->cache == CacheType::F16) {
        nodes.push_back(std::move(node));
        continue;
      }
      const View out = node.views[0], q = node.views[1];
      node.views[0] = allocate(out.shape);
      node.views[1] = allocate(q.shape);
      nodes.push_back({HadamardNode{}, {node.views[1], q}});
      const View rotated = node.views[0];
      nodes.push_back(std::move(node));
      nodes.push_back({HadamardNode{}, {out, rotated}});
    }
    plan_.nodes = std::move(nodes);
  }

  NodePlan& plan_;
  const CacheType type_;
};

}  // namespace

void quantize_caches(NodePlan& plan, CacheType type) {
  Quantizer(plan, type).run();
}

}  // namespace pippin::engine
