#include "pippin/speech/decoder_shard.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/families/ggml.h"
#include "pippin/runtime/package/package_ports.h"

namespace pippin::speech {
namespace {

namespace ggml = families::ggml;

std::string of_layer(const char* begin, int64_t layer) {
  return fmt::format("{}{}", begin, layer);
}

}  // namespace

DecoderShard::DecoderShard(const std::filesystem::path& path, std::string name, int64_t first,
                           const DecoderSizes& sizes, ThreadPool& pool,
                           const engine::ComputeOptions& compute)
    : part_(path, std::move(name), compute), first_(static_cast<size_t>(first)) {
  check_states(sizes.width);
  const bool is_first = first == 0, is_last = end() == sizes.layers;
  if (is_first) {
    input_shape(part_, ggml::kToken, false, {1, 1});
    input_shape(part_, ggml::kPosition, false, {1});
    position_ = part_.input_port(ggml::kPosition);
  } else {
    input_shape(part_, ggml::kRow, true, {1, sizes.width, 1, 1});
  }
  const int64_t inputs = std::ssize(part_.description().inputs), others = 3 + (is_first ? 1 : 0);
  if (inputs != others + 2 * layers_) {
    fail(ErrorCode::Unsupported, "{}: has {} inputs: {} and two for each layer are expected",
         part_.name(), inputs, others);
  }
  input_ = part_.input_port(is_first ? ggml::kToken : ggml::kRow);
  input_shape(part_, ggml::kSlotMask, true, {1, 1, 1, slots_});
  input_shape(part_, ggml::kSelfMask, true, {1, slots_, 1, 1});
  slot_mask_ = part_.input_port(ggml::kSlotMask);
  self_mask_ = part_.input_port(ggml::kSelfMask);
  engine::State state = new_caches(compute);
  part_.prepare(pool, state);
  const std::vector<int64_t> column = {1, sizes.width, 1, 1};
  for (int64_t layer = first; layer < end(); ++layer) {
    for (const char* begin : {ggml::kCrossKeys, ggml::kCrossValues}) {
      const std::string input = of_layer(begin, layer);
      input_shape(part_, input.c_str(), true, {1, sizes.width, 1, sizes.positions});
      cross_.push_back(part_.input_port(input));
    }
    for (const auto& [begin, cache] :
         {std::pair(ggml::kNewKeys, ggml::kKeys), std::pair(ggml::kNewValues, ggml::kValues)}) {
      const std::string output = of_layer(begin, layer);
      output_shape(part_, output.c_str(), column);
      columns_.push_back(part_.output_port(output));
      caches_.push_back(*state.find(of_layer(cache, layer)));
    }
  }
  const char* const result = is_last ? ggml::kLogits : ggml::kNewRow;
  output_shape(part_, result, is_last ? std::vector<int64_t>{1, 1, sizes.vocab_size} : column);
  result_ = part_.output_port(result);
}

void DecoderShard::check_states(int64_t width) {
  const std::vector<mil::Feature>& states = part_.description().states;
  if (!states.empty() && states.front().shape.size() == 4) slots_ = states.front().shape[3];
  layers_ = std::ssize(states) / 2;
  const std::vector<int64_t> shape = {1, width, 1, slots_};
  for (int64_t layer = static_cast<int64_t>(first_); layer < end(); ++layer) {
    for (const char* begin : {ggml::kKeys, ggml::kValues}) {
      const std::string name = of_layer(begin, layer);
      const auto found = std::find_if(states.begin(), states.end(), [&](const mil::Feature& state) {
        return state.name == name;
      });
      if (found != states.end() && found->shape == shape && slots_ > 1 &&
          found->data_type == mil::DataType::Float16) {
        continue;
      }
      fail(ErrorCode::InvalidFile, "{}: has no state '{}' in fp16 of the shape [1, {}, 1, slots]",
           part_.name(), name, width);
    }
  }
  if (layers_ > 0 && std::ssize(states) == 2 * layers_) return;
  fail(ErrorCode::InvalidFile, "{}: has {} states, not two for each layer", part_.name(),
       states.size());
}

void DecoderShard::run(int32_t id, int64_t position, std::span<const float> row,
                       engine::State& caches, std::span<const std::vector<float>> cross) {
  part_.bind(caches);
  if (first_ == 0) {
    part_.execution().int_input(input_).front() = id;
    part_.execution().int_input(position_).front() = static_cast<int32_t>(position);
  } else {
    give_input(part_, input_, row);
  }
  const std::span<float> slot = part_.input(slot_mask_), seen = part_.input(self_mask_);
  std::fill(slot.begin(), slot.end(), 0.0F);
  slot[static_cast<size_t>(position)] = 1;
  std::fill(seen.begin(), seen.begin() + position + 1, 0.0F);
  std::fill(seen.begin() + position + 1, seen.end(), ggml::kHidden);
  for (size_t i = 0; i < cross_.size(); ++i) {
    give_input(part_, cross_[i], cross[2 * first_ + i]);
  }
  part_.execution().run();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::span<const float> column = part_.output(columns_[i]);
    halves_.resize(column.size());
    std::transform(column.begin(), column.end(), halves_.begin(),
                   [](float value) { return to_float16(value); });
    caches.write_rows(caches_[i],
                      {.groups = column.size(),
                       .rows = static_cast<uint64_t>(slots_),
                       .row_bytes = sizeof(float16),
                       .first = static_cast<uint64_t>(position),
                       .count = 1},
                      std::as_bytes(std::span(halves_)).data(), sizeof(float16));
  }
}

}  // namespace pippin::speech
