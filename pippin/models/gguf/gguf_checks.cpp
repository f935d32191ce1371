#include "pippin/models/gguf/gguf_checks.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include <fmt/format.h>

#include "pippin/base/numbers/checked.h"

namespace pippin::models {
namespace {

// A metadata key that gives the size of an axis of a block's tensor.
struct Axis {
  std::string_view tensor;
  size_t from_end;  // 0: the last one, columns of a matrix
  std::string_view key;
  std::string_view times = {};  // another key that multiplies it
};
constexpr Axis kAxes[] = {
    {"attn_norm.weight", 0, "embedding_length"},
    {"attn_q.weight", 0, "embedding_length"},
    {"attn_k.weight", 1, "attention.head_count_kv", "attention.key_length"},
    {"attn_v.weight", 1, "attention.head_count_kv", "attention.value_length"},
    {"attn_output.weight", 1, "embedding_length"},
    {"attn_q_a.weight", 1, "attention.q_lora_rank"},
    {"attn_kv_a_norm.weight", 0, "attention.kv_lora_rank"},
    {"ffn_down.weight", 1, "embedding_length"},
    {"ffn_gate.weight", 0, "embedding_length"},
    {"ffn_gate_inp.weight", 1, "expert_count"},
    {"ffn_up_exps.weight", 2, "expert_count"},
    {"ffn_down_exps.weight", 2, "expert_count"},
    {"ffn_up_exps.weight", 1, "expert_feed_forward_length"},
    {"ssm_conv1d.weight", 0, "ssm.conv_kernel"},
    {"ssm_out.weight", 0, "ssm.inner_size"},
    {"shortconv.conv.weight", 0, "shortconv.l_cache"},
};

class Checks {
 public:
  Checks(const GgufConfig& config, bool varies)
      : config_(config), keys_(config.keys()), metadata_(keys_.metadata()), varies_(varies) {}

  void run() const {
    check_blocks();
    check_vocabulary();
    check_width();
    for (const GgufTensor& tensor : metadata_.tensors()) check_axes(tensor);
  }

 private:
  // Blocks are numbered from 0 to block_count, each with tensors.
  void check_blocks() const {
    std::set<int64_t> blocks;
    for (const GgufTensor& tensor : metadata_.tensors()) {
      if (!tensor.name.starts_with("blk.")) continue;
      const std::string number = tensor.name.substr(4, tensor.name.find('.', 4) - 4);
      const bool digits =
          !number.empty() && number.size() < 8 &&
          std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (digits) blocks.insert(std::stoll(number));
    }
    const int64_t stated = keys_.required_size("block_count");
    const int64_t found = blocks.empty() ? 0 : *blocks.rbegin() + 1;
    if (found != stated) {
      contradiction("block_count", stated, fmt::format("tensors are of {} blocks", found));
    }
    for (int64_t i = 0; i < stated; ++i) {
      if (!blocks.contains(i)) {
        contradiction("block_count", stated, fmt::format("block {} has no tensors", i));
      }
    }
  }

  void check_vocabulary() const {
    const GgufTensor* const table = metadata_.tensor("token_embd.weight");
    const GgufValue* const tokens = metadata_.find("tokenizer.ggml.tokens");
    if (table != nullptr && table->shape.back() != keys_.required_size("embedding_length")) {
      contradiction("embedding_length", keys_.required_size("embedding_length"),
                    fmt::format("token_embd.weight has {} columns", table->shape.back()));
    }
    if (tokens == nullptr || table == nullptr) return;
    const auto count = static_cast<int64_t>(tokens->count);
    if (count > table->shape.front()) {
      metadata_.invalid(
          "tokenizer.ggml.tokens",
          fmt::format("{} of them, token_embd.weight has {} rows", count, table->shape.front()));
    }
  }

  // Compares the configuration's number, which may come from the tensors.
  void check_width() const {
    const GgufTensor* const gate = config_.find_in_blocks("ffn_gate.weight");
    const auto width = config_.size("intermediate_size");
    if (gate == nullptr || !width || varies_ || config_.has_in_blocks("ffn_gate_inp")) return;
    if (gate->shape.size() == 2 && gate->shape[0] != *width) {
      contradiction("feed_forward_length", *width,
                    fmt::format("{} has {} rows", gate->name, gate->shape[0]));
    }
  }

  void check_axes(const GgufTensor& tensor) const {
    if (!tensor.name.starts_with("blk.")) return;
    const size_t dot = tensor.name.find('.', 4);
    if (dot == tensor.name.npos) return;
    const std::string_view name = std::string_view(tensor.name).substr(dot + 1);
    for (const Axis& axis : kAxes) {
      if (name != axis.tensor || tensor.shape.size() <= axis.from_end) continue;
      const auto stated = value_of(axis);
      const int64_t found = tensor.shape[tensor.shape.size() - 1 - axis.from_end];
      if (!stated || *stated == found) continue;
      contradiction(
          axis.key, *stated,
          fmt::format("{} of {} says {}", axis.from_end == 0 ? "the last axis" : "an axis",
                      tensor.name, found));
    }
  }

  std::optional<int64_t> value_of(const Axis& axis) const {
    for (const std::string_view key : {axis.key, axis.times}) {
      const bool by_layer = !key.empty() && metadata_.is_array(keys_.full(key));
      if (by_layer || (!key.empty() && !keys_.has_key(key))) return std::nullopt;
    }
    const int64_t size = keys_.required_size(axis.key);
    const bool latent = keys_.has_key("attention.kv_lora_rank");
    if (axis.times.empty()) return size;
    if (varies_ || latent) return std::nullopt;
    constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
    return checked_mul(size, keys_.required_size(axis.times)).value_or(kLargest);
  }

  [[noreturn]] void contradiction(std::string_view key, int64_t stated,
                                  const std::string& found) const {
    metadata_.invalid(keys_.full(key), fmt::format("{}, but {}", stated, found));
  }

  const GgufConfig& config_;
  const GgufKeys& keys_;
  const GgufMetadata& metadata_;
  bool varies_;
};

}  // namespace

void check_gguf_tensors(const GgufConfig& config, bool varies) {
  Checks(config, varies).run();
}

}  // namespace pippin::models
