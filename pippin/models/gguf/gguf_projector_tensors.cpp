#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/models/gguf/gguf_projector.h"

namespace pippin::models {
namespace {

using Bytes = std::vector<std::byte>;
using Renamed = Checkpoint::Renamed;

// "v.blk.*.ln1.weight" and "3" for "v.blk.3.ln1.weight".
std::pair<std::string, std::string> without_index(std::string_view name) {
  for (const std::string_view list : {"v.blk.", "v.deepstack.", "v.sam.blk."}) {
    const size_t end = name.starts_with(list) ? name.find('.', list.size()) : name.npos;
    if (end == name.npos) continue;
    return {fmt::format("{}*{}", list, name.substr(end)),
            std::string(name.substr(list.size(), end - list.size()))};
  }
  return {std::string(name), ""};
}

// Elements of `size` bytes: those of `axes`, slowest first, in the order `order` of their axes.
Bytes permuted(ByteSpan from, const std::vector<size_t>& axes, const std::vector<size_t>& order,
               size_t size) {
  std::vector<size_t> steps(axes.size(), size);
  for (size_t i = axes.size() - 1; i-- > 0;) steps[i] = steps[i + 1] * axes[i + 1];
  Bytes result;
  result.reserve(from.size());
  std::vector<size_t> at(axes.size(), 0);  // in the new order
  while (result.size() < from.size()) {
    size_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) offset += at[i] * steps[order[i]];
    const ByteSpan element = from.subspan(offset, size);
    result.insert(result.end(), element.begin(), element.end());
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < axes[order[i]]) break;
      at[i] = 0;
    }
  }
  return result;
}

class ProjectorTensors {
 public:
  ProjectorTensors(const Checkpoint& checkpoint, const Json& config)
      : checkpoint_(checkpoint), row_(row_of(config)) {
    const Json vision = config.at("vision_config");
    heads_ = vision.get_int_or("num_attention_heads", 1);
    const int64_t width = vision.get_int_or("embed_dim", vision.get_int_or("hidden_size", 0));
    for (const std::string& name : checkpoint.names()) {
      // Blocks leave the number of rows as it is.
      if (row_.may_be_swapped && name.starts_with("v.blk.0.ffn_up.weight")) {
        is_swapped_ =
            checkpoint.at(name).shape.at(0) == width && inner_of(vision, checkpoint) != width;
      }
    }
    if (const auto layers = vision.find("deepstack_visual_indexes")) deepstack_ = layers->as_ints();
  }

  Renamed operator()(const TensorInfo& tensor) const {
    // The towers of sound, and rows of the language model's table.
    for (const char* const other : {"a.", "mm.a.", "v.token_embd."}) {
      if (tensor.name.starts_with(other)) return {};
    }
    if (row_.patches == PatchLayout::TwoFrames && tensor.name == kSecondFrame) return {};
    Renamed result{name_of(tensor.name)};
    if (result.name.empty()) return {tensor.name};
    change_layout(tensor, result);
    return result;
  }

 private:
  static constexpr std::string_view kPatches = "v.patch_embd.weight";
  static constexpr std::string_view kSecondFrame = "v.patch_embd.weight.1";

  static const GgufProjector& row_of(const Json& config) {
    const std::string type = config.get_string(kGgufProjector);
    const GgufProjector* const row = find_projector(type);
    if (row == nullptr) config.at(kGgufProjector).invalid(fmt::format("'{}' is not known", type));
    return *row;
  }

  // The width between the matrices of a feed-forward.
  static int64_t inner_of(const Json& vision, const Checkpoint& checkpoint) {
    for (const std::string& name : checkpoint.names()) {
      if (name.starts_with("v.blk.0.ffn_down.weight")) return checkpoint.at(name).shape.at(0);
    }
    return vision.get_int_or("intermediate_size", 0);
  }

  // Empty for a tensor that the tower does not have.
  std::string name_of(std::string_view name) const {
    std::string pattern, index;
    std::tie(pattern, index) = without_index(name);
    if (is_swapped_) swap_feed_forward(pattern);
    if (pattern.starts_with("v.deepstack.")) {
      const auto found = std::find_if(deepstack_.begin(), deepstack_.end(), [&](int64_t layer) {
        return std::to_string(layer) == index;
      });
      if (found == deepstack_.end()) return {};
      index = std::to_string(found - deepstack_.begin());
    }
    for (const std::span<const ProjectorName> names : row_.names) {
      for (const ProjectorName& one : names) {
        if (!pattern.starts_with(one.module)) continue;
        std::string_view rest = std::string_view(pattern).substr(one.module.size());
        if (!rest.empty() && rest.front() != '.') continue;
        return placed(one, index, rest);
      }
    }
    return {};
  }

  std::string placed(const ProjectorName& one, const std::string& index,
                     std::string_view rest) const {
    constexpr std::string_view kWeight = ".weight";
    std::string name = one.name.starts_with('.') ? std::string(row_.tower) : std::string();
    name += one.name;
    if (const size_t star = name.find('*'); star != name.npos) name.replace(star, 1, index);
    if (rest.starts_with(kWeight)) {
      if (one.kind == ProjectorName::Kind::Whole) rest.remove_prefix(kWeight.size());
      if (one.kind == ProjectorName::Kind::Linear) name += ".linear";
    }
    return name + std::string(rest);
  }

  static void swap_feed_forward(std::string& pattern) {
    constexpr std::string_view kUp = "v.blk.*.ffn_up", kDown = "v.blk.*.ffn_down";
    if (pattern.starts_with(kUp)) {
      pattern.replace(0, kUp.size(), kDown);
    } else if (pattern.starts_with(kDown)) {
      pattern.replace(0, kDown.size(), kUp);
    }
  }

  void change_layout(const TensorInfo& tensor, Renamed& result) const {
    if (tensor.name == kPatches) return change_patches(tensor, result);
    const bool is_pair = tensor.name.find(".attn_q.") != std::string::npos ||
                         tensor.name.find(".attn_k.") != std::string::npos;
    if (row_.has_pairs && is_pair) return separate_pairs(tensor, result);
    // Vectors with further axes of 1, and numbers.
    if (result.name.ends_with(".cls_token") && tensor.shape.size() == 1) {
      result.shape = {1, 1, tensor.shape[0]};
    } else if (result.name.ends_with(".position_embeddings") && tensor.shape.size() == 2) {
      result.shape = {1, tensor.shape[0], tensor.shape[1]};
    } else if (result.name.ends_with(".pos_embed") && tensor.shape.size() == 3) {
      result.shape = {1, tensor.shape[0], tensor.shape[1], tensor.shape[2]};
    } else if (result.name.ends_with(".view_seperator") && tensor.shape.size() == 2) {
      result.shape = {tensor.shape[0] * tensor.shape[1]};
    } else if (tensor.shape == std::vector<int64_t>{1} &&
               (result.name.ends_with("put_min") || result.name.ends_with("put_max"))) {
      result.shape = std::vector<int64_t>();
    }
  }

  void change_patches(const TensorInfo& tensor, Renamed& result) const {
    if (row_.patches == PatchLayout::Convolution) return;
    if (tensor.shape.size() != 4) invalid(tensor, "convolution");
    std::vector<size_t> axes;
    for (const int64_t size : tensor.shape) axes.push_back(static_cast<size_t>(size));
    const size_t elements = axes[0] * axes[1] * axes[2] * axes[3];
    if (elements == 0) invalid(tensor, "convolution");
    const size_t size = tensor.bytes.size() / elements;
    if (row_.patches == PatchLayout::ChannelsLast) {
      result.bytes = permuted(tensor.bytes, axes, {0, 2, 3, 1}, size);
      const int64_t patch = tensor.shape[1] * tensor.shape[2] * tensor.shape[3];
      result.shape = std::vector<int64_t>{tensor.shape[0], patch};
      return;
    }
    const TensorInfo* const second = checkpoint_.find(kSecondFrame);
    const bool fits = second != nullptr && second->shape == tensor.shape &&
                      second->bytes.size() == tensor.bytes.size();
    if (!fits) invalid(tensor, "first of two frames' convolutions of equal shapes");
    const size_t plane = axes[2] * axes[3] * size;
    result.bytes.reserve(2 * tensor.bytes.size());
    for (size_t i = 0; i < axes[0] * axes[1]; ++i) {
      for (const TensorInfo* const frame : {&tensor, second}) {
        const ByteSpan part = frame->bytes.subspan(i * plane, plane);
        result.bytes.insert(result.bytes.end(), part.begin(), part.end());
      }
    }
    result.shape =
        std::vector<int64_t>{tensor.shape[0], tensor.shape[1], 2, tensor.shape[2], tensor.shape[3]};
  }

  // Rows of a head, of which the file has those in pairs that are half a head apart.
  void separate_pairs(const TensorInfo& tensor, Renamed& result) const {
    const int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (rows == 0 || heads_ < 1 || rows % (2 * heads_) != 0) {
      invalid(tensor, fmt::format("matrix of {} heads with an even number of rows", heads_));
    }
    const auto count = static_cast<size_t>(rows), heads = static_cast<size_t>(heads_);
    result.bytes = permuted(tensor.bytes, {heads, count / heads / 2, 2, 1}, {0, 2, 1, 3},
                            tensor.bytes.size() / count);
  }

  [[noreturn]] void invalid(const TensorInfo& tensor, const std::string& what) const {
    fail(ErrorCode::InvalidFile, "{}: tensor {} of shape [{}] is not a {}",
         checkpoint_.file_of(tensor.name).file().path().filename().string(), tensor.name,
         fmt::join(tensor.shape, ", "), what);
  }

  const Checkpoint& checkpoint_;
  const GgufProjector& row_;
  int64_t heads_ = 1;
  bool is_swapped_ = false;
  std::vector<int64_t> deepstack_;
};

}  // namespace

Checkpoint with_projector_names(const Checkpoint& checkpoint, const Json& config) {
  return checkpoint.renamed(ProjectorTensors(checkpoint, config));
}

}  // namespace pippin::models
