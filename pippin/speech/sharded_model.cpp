#include "pippin/speech/sharded_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/numbers/number.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/ggml.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::speech {
namespace {

namespace fs = std::filesystem;
namespace ggml = families::ggml;

// The first layer that a stem names after `begin`.
std::optional<int64_t> first_layer(std::string_view stem, std::string_view begin) {
  if (!stem.starts_with(begin)) return std::nullopt;
  const std::string_view rest = stem.substr(begin.size());
  int64_t first = 0;
  if (!parse_number(rest.substr(0, rest.find('-')), first)) return std::nullopt;
  return first;
}

// The stems of a decoder's packages, in the order of the layers.
std::map<int64_t, std::string> shard_stems(const runtime::PackageFolder& folder,
                                           const fs::path& shard) {
  const std::string name = shard.filename().string();
  const size_t mark = name.rfind(ggml::kShardMark);
  if (mark == name.npos) {
    fail(ErrorCode::InvalidArgument, "{}: not a shard of a decoder: the name has no '{}'",
         shard.string(), ggml::kShardMark);
  }
  const std::string begin = name.substr(0, mark + std::string_view(ggml::kShardMark).size());
  std::map<int64_t, std::string> stems;
  for (const std::string& stem : folder.stems()) {
    if (const auto first = first_layer(stem, begin)) stems.emplace(*first, stem);
  }
  return stems;
}

std::vector<float> to_floats(ByteSpan bytes, mil::DataType type) {
  if (type == mil::DataType::Float32) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<float> values(bytes.size() / sizeof(float16));
  for (size_t i = 0; i < values.size(); ++i) {
    float16 half;
    std::memcpy(&half, bytes.data() + i * sizeof(half), sizeof(half));
    values[i] = to_float(half);
  }
  return values;
}

}  // namespace

// Shared by the decoders of a window.
struct ShardedModel::Window {
  engine::State state;                    // of the whole model
  std::vector<std::vector<float>> cross;  // keys and values of each layer, [width, positions]
};

class ShardedModel::Decoder final : public WindowDecoder {
 public:
  Decoder(ShardedModel& model, std::shared_ptr<Window> window)
      : model_(model), window_(std::move(window)) {
    caches_.reserve(model.shards_.size());
    for (const DecoderShard& shard : model.shards_)
      caches_.push_back(shard.new_caches(model.compute_));
  }

  int64_t position() const override { return position_; }
  std::span<const float> feed(std::span<const int32_t> ids) override {
    if (position_ + std::ssize(ids) > model_.context()) {
      fail(ErrorCode::LimitExceeded, "{} tokens after {}: the decoder has {} slots", ids.size(),
           position_, model_.context());
    }
    for (const int32_t id : ids) model_.step(id, position_++, caches_, *window_);
    return model_.logits();
  }
  void truncate(int64_t count) override { position_ = std::min(position_, count); }
  std::unique_ptr<WindowDecoder> fork() const override {
    auto copy = std::make_unique<Decoder>(model_, window_);
    copy->position_ = position_;
    for (size_t i = 0; i < caches_.size(); ++i) copy->caches_[i] = caches_[i].clone();
    return copy;
  }
  Window& window() { return *window_; }

 private:
  ShardedModel& model_;
  std::shared_ptr<Window> window_;
  std::vector<engine::State> caches_;  // of each shard
  int64_t position_ = 0;
};

ShardedModel::ShardedModel(std::shared_ptr<runtime::EncoderDecoderModel> whole,
                           const fs::path& shard, ThreadPool& pool,
                           const engine::ComputeOptions& compute)
    : whole_(std::move(whole)), base_(whole_), compute_(compute) {
  if (!fs::exists(shard)) fail(ErrorCode::NotFound, "{}: no such package", shard.string());
  const fs::path parent = fs::absolute(shard).parent_path();
  runtime::PackageFolder folder(parent);
  const engine::State state = whole_->new_state();
  const size_t keys = *state.find(families::encoder_decoder::kCrossKeys);
  const std::vector<int64_t>& dims = state.features()[keys].shape;
  const DecoderSizes sizes{dims[0], dims[2] * dims[4], dims[3], vocab_size()};
  int64_t next = 0;
  for (const auto& [first, stem] : shard_stems(folder, shard)) {
    if (first != next) break;
    const DecoderShard& added = shards_.emplace_back(folder.package(stem), folder.file_name(stem),
                                                     first, sizes, pool, compute);
    next = added.end();
  }
  if (next != sizes.layers) {
    fail(ErrorCode::NotFound, "{}: the shards next to it have {} of {} layers", shard.string(),
         next, sizes.layers);
  }
  slots_ = whole_->context();
  for (const DecoderShard& one : shards_) slots_ = std::min(slots_, one.slots());
}

std::unique_ptr<WindowDecoder> ShardedModel::encode(std::span<const float> features) {
  auto window = std::make_shared<Window>(Window{whole_->new_state(), {}});
  whole_->encode(runtime::Source{features, {whole_->source()->bins, shape().frames}},
                 window->state);
  namespace encoder_decoder = families::encoder_decoder;
  const mil::Feature& feature =
      window->state.features()[*window->state.find(encoder_decoder::kCrossKeys)];
  const auto layers = static_cast<size_t>(feature.shape[0]),
             heads = static_cast<size_t>(feature.shape[2]),
             positions = static_cast<size_t>(feature.shape[3]),
             size = static_cast<size_t>(feature.shape[4]);
  const size_t count = heads * positions * size;
  window->cross.assign(2 * layers, std::vector<float>(count));
  size_t place = 0;  // keys, then values
  for (const char* name : {encoder_decoder::kCrossKeys, encoder_decoder::kCrossValues}) {
    const std::vector<float> rows = to_floats(window->state.read(name), feature.data_type);
    for (size_t layer = 0; layer < layers; ++layer) {
      const float* from = rows.data() + layer * count;
      std::vector<float>& to = window->cross[2 * layer + place];
      for (size_t head = 0; head < heads; ++head) {
        for (size_t position = 0; position < positions; ++position) {
          for (size_t i = 0; i < size; ++i) {
            to[(head * size + i) * positions + position] = *from++;
          }
        }
      }
    }
    ++place;
  }
  return std::make_unique<Decoder>(*this, std::move(window));
}

void ShardedModel::step(int32_t id, int64_t position, std::span<engine::State> caches,
                        const Window& window) {
  if (id < 0 || id >= vocab_size()) {
    fail(ErrorCode::InvalidArgument, "{} is not one of {} tokens", id, vocab_size());
  }
  std::span<const float> row;
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i].run(id, position, row, caches[i], window.cross);
    row = shards_[i].result();
  }
}

std::span<const float> ShardedModel::logits() const {
  return shards_.back().result();
}

std::vector<std::span<const float>> ShardedModel::feed_each(
    std::span<WindowDecoder* const> decoders, std::span<const int32_t> ids) {
  return feed_one_by_one(decoders, ids, joined_);
}

Alignment ShardedModel::align(WindowDecoder& decoder, std::span<const int32_t> ids) {
  runtime::CrossAttention attention =
      whole_->align(ids, static_cast<Decoder&>(decoder).window().state);
  Alignment alignment{
      attention.heads, attention.tokens, attention.positions, std::move(attention.weights), {}};
  decoder.truncate(0);
  for (const int32_t id : ids) {
    const std::span<const float> row = decoder.feed({&id, 1});
    alignment.logits.insert(alignment.logits.end(), row.begin(), row.end());
  }
  decoder.truncate(0);
  return alignment;
}

}  // namespace pippin::speech
