#include "pippin/speech/whisperkit/model.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/families/whisperkit.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/package/package_ports.h"
#include "pippin/speech/whisperkit/split.h"

namespace pippin::speech {
namespace {

namespace whisperkit = families::whisperkit;

runtime::FixedPart open_part(runtime::PackageFolder& folder, const char* stem,
                             const engine::ComputeOptions& compute) {
  if (!folder.contains(stem)) {
    fail(ErrorCode::NotFound, "{}: holds no {}, a part of WhisperKit's models",
         folder.path().string(), stem);
  }
  return {folder.package(stem), folder.file_name(stem), compute};
}

}  // namespace

// The caches of a text so far, [rows, slots].
class WhisperKitDecoder final : public WindowDecoder {
 public:
  WhisperKitDecoder(WhisperKitModel& model, WhisperKitModel::Window window)
      : model_(model),
        window_(std::make_shared<const WhisperKitModel::Window>(std::move(window))),
        keys_(static_cast<size_t>(model.rows_ * model.slots_)),
        values_(keys_.size()) {}

  int64_t position() const override { return position_; }
  std::span<const float> feed(std::span<const int32_t> ids) override {
    if (position_ + std::ssize(ids) > model_.context()) {
      fail(ErrorCode::LimitExceeded, "{} tokens after {}: the decoder has {} slots", ids.size(),
           position_, model_.context());
    }
    for (const int32_t id : ids) {
      model_.step(id, position_, keys_, values_, *window_);
      ++position_;
    }
    return model_.logits();
  }
  void truncate(int64_t count) override { position_ = std::min(position_, count); }
  std::unique_ptr<WindowDecoder> fork() const override {
    return std::make_unique<WhisperKitDecoder>(*this);
  }

 private:
  WhisperKitModel& model_;
  std::shared_ptr<const WhisperKitModel::Window> window_;
  std::vector<float> keys_, values_;
  int64_t position_ = 0;
};

WhisperKitModel::WhisperKitModel(runtime::PackageFolder folder, ThreadPool& pool,
                                 const engine::ComputeOptions& compute)
    : folder_(std::move(folder)), encoder_(open_part(folder_, whisperkit::kEncoderPart, compute)) {
  open_decoder(compute);
  encoder_.prepare(pool);
  if (once_) once_->prepare(pool);
  decoder_->prepare(pool);
  find_ports();
}

void WhisperKitModel::check_inputs(const runtime::FixedPart& decoder) {
  constexpr const char* kEncoderInputs[] = {whisperkit::kFeatures};
  constexpr const char* kDecoderInputs[] = {
      whisperkit::kIds,        whisperkit::kLength, whisperkit::kKeys,       whisperkit::kValues,
      whisperkit::kUpdateMask, whisperkit::kStates, whisperkit::kPaddingMask};
  check_known_inputs(encoder_, kEncoderInputs);
  check_known_inputs(decoder, kDecoderInputs);
  const std::vector<int64_t> columns = {1, runtime::kAnySize, 1, runtime::kAnySize};
  const auto features = input_shape(encoder_, whisperkit::kFeatures, true, columns);
  bins_ = features[1];
  shape_.frames = features[3];
  const auto states = input_shape(decoder, whisperkit::kStates, true, columns);
  width_ = states[1];
  shape_.positions = states[3];
  if (shape_.frames % shape_.positions != 0) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has {} positions for {} frames", decoder.name(),
         whisperkit::kStates, shape_.positions, shape_.frames);
  }
  const auto caches = input_shape(decoder, whisperkit::kKeys, true, columns);
  rows_ = caches[1];
  slots_ = caches[3];
  if (rows_ % width_ != 0) {
    fail(ErrorCode::InvalidFile, "{}: '{}' has {} rows, which layers of {} do not divide",
         decoder.name(), whisperkit::kKeys, rows_, width_);
  }
  input_shape(decoder, whisperkit::kValues, true, caches);
  input_shape(decoder, whisperkit::kUpdateMask, true, {1, slots_});
  input_shape(decoder, whisperkit::kPaddingMask, true, {1, slots_});
  input_shape(decoder, whisperkit::kIds, false, {1});
  input_shape(decoder, whisperkit::kLength, false, {1});
}

void WhisperKitModel::open_decoder(const engine::ComputeOptions& compute) {
  constexpr const char* kPart = whisperkit::kDecoderPart;
  decoder_ = std::make_unique<runtime::FixedPart>(open_part(folder_, kPart, compute));
  check_inputs(*decoder_);
  mil::Model once = mil::read_package(folder_.package(kPart));
  mil::Model each = mil::read_package(folder_.package(kPart));
  between_ = split_at_input(once, each, whisperkit::kStates);
  if (between_.empty()) return;
  const std::string name = decoder_->name();
  once_ = std::make_unique<runtime::FixedPart>(std::move(once), name, compute);
  decoder_ = std::make_unique<runtime::FixedPart>(std::move(each), name, compute);
}

void WhisperKitModel::find_ports() {
  output_shape(encoder_, whisperkit::kStates, {1, width_, 1, shape_.positions});
  features_ = encoder_.input_port(whisperkit::kFeatures);
  encoded_ = encoder_.output_port(whisperkit::kStates);

  vocab_size_ = output_shape(*decoder_, whisperkit::kLogits, {1, 1, runtime::kAnySize})[2];
  output_shape(*decoder_, whisperkit::kNewKeys, {1, rows_, 1, 1});
  output_shape(*decoder_, whisperkit::kNewValues, {1, rows_, 1, 1});
  ids_ = decoder_->input_port(whisperkit::kIds);
  length_ = decoder_->input_port(whisperkit::kLength);
  keys_ = decoder_->input_port(whisperkit::kKeys);
  values_ = decoder_->input_port(whisperkit::kValues);
  update_mask_ = decoder_->input_port(whisperkit::kUpdateMask);
  padding_mask_ = decoder_->input_port(whisperkit::kPaddingMask);
  if (!once_) given_.push_back(decoder_->input_port(whisperkit::kStates));
  for (const std::string& name : between_) given_.push_back(decoder_->input_port(name));
  logits_ = decoder_->output_port(whisperkit::kLogits);
  new_keys_ = decoder_->output_port(whisperkit::kNewKeys);
  new_values_ = decoder_->output_port(whisperkit::kNewValues);
  if (!has_output(*decoder_, whisperkit::kAlignment)) return;
  output_shape(*decoder_, whisperkit::kAlignment, {1, shape_.positions});
  alignment_ = decoder_->output_port(whisperkit::kAlignment);
}

void WhisperKitModel::step(int32_t id, int64_t position, std::span<float> keys,
                           std::span<float> values, const Window& window) {
  if (id < 0 || id >= vocab_size_) {
    fail(ErrorCode::InvalidArgument, "{} is not one of {} tokens", id, vocab_size_);
  }
  engine::Execution& execution = decoder_->execution();
  execution.int_input(ids_)[0] = id;
  execution.int_input(length_)[0] = static_cast<int32_t>(position);
  const std::span<float> place = decoder_->input(update_mask_),
                         padding = decoder_->input(padding_mask_);
  std::fill(place.begin(), place.end(), 0.0F);
  place[static_cast<size_t>(position)] = 1;
  std::fill(padding.begin(), padding.begin() + position + 1, 0.0F);
  std::fill(padding.begin() + position + 1, padding.end(), whisperkit::kHidden);
  give_input(*decoder_, keys_, keys);
  give_input(*decoder_, values_, values);
  for (size_t i = 0; i < given_.size(); ++i) give_input(*decoder_, given_[i], window[i]);
  execution.run();
  const auto put = [&](size_t port, std::span<float> cache) {
    const std::span<const float> column = decoder_->output(port);
    for (int64_t row = 0; row < rows_; ++row) {
      cache[static_cast<size_t>(row * slots_ + position)] = column[static_cast<size_t>(row)];
    }
  };
  put(new_keys_, keys);
  put(new_values_, values);
}

std::span<const float> WhisperKitModel::run_encoder(std::span<const float> features) {
  if (std::ssize(features) != bins_ * shape_.frames) {
    fail(ErrorCode::InvalidArgument, "{} features: {} takes {} bins of {} frames", features.size(),
         encoder_.name(), bins_, shape_.frames);
  }
  std::copy(features.begin(), features.end(), encoder_.input(features_).begin());
  encoder_.execution().run_cancellable();
  return encoder_.output(encoded_);
}

std::vector<float> WhisperKitModel::states(std::span<const float> features) {
  const std::span<const float> columns = run_encoder(features);
  const auto positions = static_cast<size_t>(shape_.positions);
  const auto width = static_cast<size_t>(width_);
  std::vector<float> rows(columns.size());
  for (size_t position = 0; position < positions; ++position) {
    for (size_t i = 0; i < width; ++i) {
      rows[position * width + i] = columns[i * positions + position];
    }
  }
  return rows;
}

std::unique_ptr<WindowDecoder> WhisperKitModel::encode(std::span<const float> features) {
  const std::span<const float> states = run_encoder(features);
  Window window;
  window.reserve(given_.size());
  const auto keep = [&](std::span<const float> values) {
    window.emplace_back(values.begin(), values.end());
  };
  if (once_) {
    give_input(*once_, once_->input_port(whisperkit::kStates), states);
    once_->execution().run_cancellable();
    for (const std::string& name : between_) keep(once_->output(once_->output_port(name)));
  } else {
    keep(states);
  }
  return std::make_unique<WhisperKitDecoder>(*this, std::move(window));
}

std::vector<std::span<const float>> WhisperKitModel::feed_each(
    std::span<WindowDecoder* const> decoders, std::span<const int32_t> ids) {
  return feed_one_by_one(decoders, ids, joined_);
}

// The packages give the mean over their heads, which counts as one head.
Alignment WhisperKitModel::align(WindowDecoder& decoder, std::span<const int32_t> ids) {
  if (!alignment_) return SpeechModel::align(decoder, ids);
  Alignment alignment{1, std::ssize(ids), shape_.positions, {}, {}};
  decoder.truncate(0);
  for (const int32_t id : ids) {
    const std::span<const float> row = decoder.feed({&id, 1});
    alignment.logits.insert(alignment.logits.end(), row.begin(), row.end());
    const std::span<const float> weights = decoder_->output(*alignment_);
    alignment.weights.insert(alignment.weights.end(), weights.begin(), weights.end());
  }
  decoder.truncate(0);
  return alignment;
}

}  // namespace pippin::speech
