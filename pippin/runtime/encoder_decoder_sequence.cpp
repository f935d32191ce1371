#include "pippin/runtime/encoder_decoder_sequence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin::runtime {
namespace {

// The target and the states; both kinds of sources use them.
class EncoderDecoderSequence : public Sequence {
 public:
  explicit EncoderDecoderSequence(const std::shared_ptr<EncoderDecoderModel>& model)
      : Sequence(model), family_(*model), state_(model->new_state()) {}
  ~EncoderDecoderSequence() override { family_.keep_state(std::move(state_)); }

  bool has_source() const { return source_ > 0; }
  // Its last token, which is new.
  EncoderDecoderModel::NextToken next_token() {
    return {fed().back(), place_of(position()), source_, state_};
  }
  void take_last(std::span<const float> logits) { ranges::copy(logits, next_row().begin()); }

 protected:
  // The place in the target of the token with that number.
  virtual int64_t place_of(int64_t token) const = 0;
  EncoderDecoderModel& family() const { return family_; }
  engine::State& state() { return state_; }
  uint64_t state_id() const { return state_.id(); }
  int64_t source() const { return source_; }
  void set_source_size(int64_t size) { source_ = size; }

  // Feeds tokens of the target.
  void feed_target(const Feeding& feeding) {
    const std::span<const int32_t> all = fed();
    const auto total = std::ssize(all);
    done_ = feeding.begin;
    while (done_ < total) {
      const int64_t count = std::min(total - done_, EncoderDecoderModel::kMostAtOnce);
      const auto part = all.subspan(static_cast<size_t>(done_), static_cast<size_t>(count));
      const bool every = feeding.rows == Rows::Every;
      const auto logits = family_.decode(part, place_of(done_), source_, state_, /*last=*/!every);
      done_ += count;
      if (every) {
        take_every(logits, count, feeding);
      } else if (done_ == total) {
        take_last(logits);
      }
    }
  }

  void forget() override { state_.reset(); }

  // The source is not written any more: it is shared. Of the target, only the filled rows.
  void copy(const Sequence& other) override {
    const auto& from = static_cast<const EncoderDecoderSequence&>(other);
    source_ = from.source_;
    if (source_ == 0) return;
    const int64_t most = family_.schema().most_target;
    const auto& features = state_.features();
    for (size_t i = 0; i < features.size(); ++i) {
      const mil::Feature& feature = features[i];
      if (EncoderDecoderModel::is_cross(feature)) {
        state_.share(i, from.state_);
        continue;
      }
      const CacheArray own = cache_array(feature.name, engine::state_bytes(feature), feature.shape,
                                         most, std::min(other.position() + 1, most));
      state_.copy_rows(i, own.filled_rows(), from.state_);
    }
  }

  int64_t give_up(int64_t before) override { return std::max(before, done_); }

 private:
  void take_every(std::span<const float> logits, int64_t count, const Feeding& feeding) {
    const size_t width = logits.size() / static_cast<size_t>(count);
    for (size_t at = 0; at < logits.size(); at += width) {
      ranges::copy(logits.subspan(at, width), next_row(feeding).begin());
    }
  }

  EncoderDecoderModel& family_;
  engine::State state_;
  int64_t source_ = 0;  // tokens or states of the source; 0: none yet
  int64_t done_ = 0;    // tokens that stay fed if feed() ends early
};

class TextSequence final : public EncoderDecoderSequence {
 public:
  using EncoderDecoderSequence::EncoderDecoderSequence;

 protected:
  // The decoder begins with a token that is not fed.
  int64_t place_of(int64_t token) const override { return token - source() + 1; }

  void check_room(int64_t added) const override {
    const bool is_source = position() == 0;
    const EncoderDecoderSchema& schema = family().schema();
    const int64_t used = is_source ? 0 : position() - source() + 1;
    const int64_t most = is_source ? schema.most_source : schema.most_target;
    if (used + added <= most) return;
    fail(ErrorCode::LimitExceeded, "{} tokens {}: the model takes {}", used + added,
         is_source ? "of a source" : "written", most);
  }

  void feed(const Feeding& feeding) override {
    if (feeding.trace != nullptr || (feeding.begin == 0 && feeding.rows == Rows::Every)) {
      fail(ErrorCode::Unsupported, "an encoder-decoder model has logits for generated tokens only");
    }
    if (feeding.begin == 0) {
      feed_source();
    } else {
      feed_target(feeding);
    }
  }

  void forget() override {
    EncoderDecoderSequence::forget();
    set_source_size(0);
  }

  // The source that is fed stays or goes as a whole.
  int64_t give_up(int64_t before) override {
    return before == 0 ? 0 : EncoderDecoderSequence::give_up(before);
  }

  Earliest find_earliest() const override {
    return {position(), "the source is encoded in one pass and cannot be cut"};
  }

 private:
  void feed_source() {
    set_source_size(std::ssize(fed()));
    family().encode(fed(), state());
    const int32_t start = family().schema().start, first = family().schema().first;
    const auto logits = family().decode({&start, 1}, 0, source(), state(), /*last=*/true);
    if (first < 0 || first >= std::ssize(logits)) return take_last(logits);
    const std::span<float> row = next_row();
    std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
    row[static_cast<size_t>(first)] = 0;
  }
};

class RecordingSequence final : public EncoderDecoderSequence {
 public:
  using EncoderDecoderSequence::EncoderDecoderSequence;

 protected:
  int64_t place_of(int64_t token) const override { return token; }

  void check_room(int64_t added) const override {
    if (source() == 0) fail_without_source();
    Sequence::check_room(added);
  }

  void encode(const Source& recording) override {
    forget_source();  // an earlier one may be shared with forks
    set_source_size(family().encode(recording, state()));
  }

  void forget_source() override {
    set_source_size(0);
    state().reset();
  }

  void feed(const Feeding& feeding) override {
    // Feeding does not encode: these are the states that parts() described.
    if (feeding.trace != nullptr) *feeding.trace = {*family().encoded(state_id())};
    feed_target(feeding);
  }

  // The encoder, unless it has run for another sequence since.
  std::vector<HiddenStates> parts() const override {
    auto states = family().encoded(state_id());
    if (!states) return {};
    return {{states->name, states->width, {}}};
  }

  CrossAttention align(std::span<const int32_t> ids) override {
    if (source() == 0) fail_without_source();
    return family().align(ids, state());
  }

  void forget() override {}  // rows beyond the target are never read

 private:
  [[noreturn]] static void fail_without_source() {
    fail(ErrorCode::InvalidArgument,
         "the sequence has no source: the model needs a recording before tokens");
  }
};

}  // namespace

std::unique_ptr<Sequence> make_encoder_decoder_sequence(
    const std::shared_ptr<EncoderDecoderModel>& model) {
  if (model->schema().source) return std::make_unique<RecordingSequence>(model);
  return std::make_unique<TextSequence>(model);
}

bool feed_encoder_decoders_together(EncoderDecoderModel& model,
                                    std::span<Sequence* const> sequences) {
  std::vector<EncoderDecoderModel::NextToken> tokens;
  tokens.reserve(sequences.size());
  for (Sequence* const sequence : sequences) {
    auto& one = static_cast<EncoderDecoderSequence&>(*sequence);
    if (!one.has_source()) return false;
    tokens.push_back(one.next_token());
  }
  model.decode_together(tokens);
  for (size_t i = 0; i < sequences.size(); ++i) {
    static_cast<EncoderDecoderSequence&>(*sequences[i]).take_last(model.logits_of(i));
  }
  return true;
}

}  // namespace pippin::runtime
