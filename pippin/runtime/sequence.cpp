#include "pippin/runtime/sequence.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/sequence_file.h"
#include "pippin/runtime/sequence_use.h"

namespace pippin::runtime {

Sequence::Sequence(std::shared_ptr<Model> model)
    : model_(std::move(model)), row_(static_cast<size_t>(model_->vocab_size())) {}

void Sequence::enter() const {
  if (is_used_.exchange(true, std::memory_order_acquire)) {
    fail(ErrorCode::InvalidArgument,
         "the sequence is in use: one thread at a time may call it, and nothing that it calls");
  }
}

std::span<const int32_t> Sequence::tokens() const {
  enter();
  leave();
  return tokens_;
}

void Sequence::check_room(int64_t added) const {
  if (!model_->capabilities().sliding_window && added > model_->context() - position()) {
    fail(ErrorCode::LimitExceeded,
         "the sequence would have {} tokens, the model's context holds {}", position() + added,
         model_->context());
  }
}

void Sequence::check(std::span<const int32_t> ids) const {
  check_fed_ids(*model_, ids);
  if (model_->rows()) check_rows(ids, model_->rows()->sight);
  check_room(std::ssize(ids));
}

void Sequence::check_rows(std::span<const int32_t> ids, RowForm::Sight sight) const {
  if (model_->rows()) runs_.check(ids, position(), sight);
}

void Sequence::provide(std::shared_ptr<const EmbeddedRows> rows) {
  if (!model_->rows()) {
    fail(ErrorCode::Unsupported, "the model reads tokens only and takes no rows of embeddings");
  }
  const Use use(*this);
  runs_.provide(*model_->rows(), std::move(rows));
}

void Sequence::withdraw_rows() {
  enter();
  runs_.withdraw();
  leave();
}

std::span<const RowRun> Sequence::row_runs() const {
  enter();
  leave();
  return runs_.runs();
}

std::span<const float> Sequence::prefill_prompt(std::span<const PromptPiece> prompt) {
  for (auto& rows : prompt_rows(prompt)) provide(std::move(rows));
  return prefill(prompt_ids(prompt));
}

std::span<float> Sequence::next_row(const Feeding& feeding) {
  if (feeding.every == nullptr) return row_;
  const size_t known = feeding.every->size();
  feeding.every->resize(known + row_.size());
  return std::span(*feeding.every).subspan(known);
}

void Sequence::begin(std::span<const int32_t> ids, bool token_suffices) {
  greedy_token_.reset();
  token_suffices_ = token_suffices;
  if (model_->rows()) runs_.begin(ids, std::ssize(tokens_));
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

void Sequence::keep(int64_t count) {
  if (!can_restore(count)) checkpoint_.reset();
  tokens_.resize(static_cast<size_t>(count));
  runs_.keep(count);
  finish();
}

void Sequence::feed_new(std::span<const int32_t> ids, Feeding feeding, bool token_suffices) {
  feeding.begin = position();
  begin(ids, token_suffices);
  try {
    feed(feeding);
  } catch (...) {
    keep(give_up(feeding.begin));
    throw;
  }
  finish();
  if (feeding.every != nullptr && feeding.every->size() >= row_.size()) {
    std::copy(feeding.every->end() - std::ssize(row_), feeding.every->end(), row_.begin());
  }
}

void Sequence::feed_last() {
  feed({.begin = position()});
  finish();
}

namespace {

void check_source(const SourceForm& form, const Source& source) {
  const int64_t bins = std::max<int64_t>(form.bins, 1);
  const size_t rank = form.bins == 0 ? 1 : 2;
  const int64_t frames = source.shape.size() == rank ? source.shape.back() : -1;
  const bool fits = frames >= form.least_frames && frames <= form.frames &&
                    (rank == 1 || source.shape.front() == bins) &&
                    std::ssize(source.values) == bins * frames;
  if (fits) return;
  const std::string wanted = rank == 1
                                 ? fmt::format("{} to {} samples", form.least_frames, form.frames)
                                 : fmt::format("{} bins of {} frames", bins, form.frames);
  fail(ErrorCode::InvalidArgument, "a source of shape [{}] with {} elements: the model takes {}",
       fmt::join(source.shape, ", "), source.values.size(), wanted);
}

}  // namespace

void Sequence::set_source(const Source& source) {
  const Use use(*this);
  const auto& form = model_->source();
  if (!form) fail(ErrorCode::Unsupported, "the model reads tokens only and takes no other source");
  if (position() > 0) {
    fail(ErrorCode::InvalidArgument, "a source for a sequence that has {} tokens already",
         position());
  }
  check_source(*form, source);
  encode(source);
}

CrossAttention Sequence::cross_attention(std::span<const int32_t> ids) {
  const Use use(*this);
  const auto& form = model_->source();
  if (!form || form->alignment_heads == 0) {
    fail(ErrorCode::Unsupported, "the model has no heads that align tokens with a source");
  }
  check_vocabulary(*model_, ids);
  if (std::ssize(ids) > model_->context()) {
    fail(ErrorCode::LimitExceeded, "{} tokens to align: the model's context holds {}", ids.size(),
         model_->context());
  }
  return align(ids);
}

std::span<const float> Sequence::prefill(std::span<const int32_t> ids) {
  const Use use(*this);
  check(ids);
  feed_new(ids, {});
  return row_;
}

std::span<const float> Sequence::prefill_greedy(std::span<const int32_t> ids) {
  const Use use(*this);
  check(ids);
  feed_new(ids, {}, /*token_suffices=*/true);
  return row_or_token();
}

std::span<const float> Sequence::row_or_token() const {
  if (greedy_token_) return {};
  return row_;
}

std::vector<float> Sequence::all_logits(std::span<const int32_t> ids) {
  const Use use(*this);
  if (model_->capabilities().greedy_only) {
    fail(ErrorCode::Unsupported,
         "this model chooses its most likely token itself and has no logits to give");
  }
  check(ids);
  std::vector<float> rows;
  rows.reserve(ids.size() * row_.size());
  feed_new(ids, {.rows = Rows::Every, .every = &rows});
  return rows;
}

std::vector<HiddenStates> Sequence::trace(std::span<const int32_t> ids) {
  const Use use(*this);
  check(ids);
  std::vector<HiddenStates> result = parts();
  if (!result.empty()) feed_new(ids, {.rows = Rows::None, .trace = &result});
  return result;
}

std::optional<int32_t> Sequence::greedy_token() {
  const Use use(*this);
  if (!greedy_token_) greedy_token_ = find_greedy_token();
  return greedy_token_;
}

void Sequence::reset() {
  const Use use(*this);
  greedy_token_.reset();
  keep(0);
  runs_.withdraw();
  forget();
  forget_source();
}

int64_t Sequence::earliest() const {
  const Use use(*this);
  const int64_t count = find_earliest().count;
  return checkpoint_ ? std::min(count, checkpoint_->count) : count;
}

int64_t Sequence::find_droppable() const {
  return model_->capabilities().truncate ? INT64_MAX : 0;
}

int64_t Sequence::droppable() const {
  enter();
  leave();
  return find_droppable();
}

void Sequence::truncate(int64_t count) {
  const Use use(*this);
  if (count < 0 || count > position()) {
    fail(ErrorCode::InvalidArgument, "a sequence of {} tokens cannot be cut to {}", position(),
         count);
  }
  if (count == position()) return;
  const Earliest earliest = find_earliest();
  const bool is_cut = count == 0 || count >= earliest.count;
  if (!is_cut && !can_restore(count)) {
    fail(ErrorCode::Unsupported,
         "a sequence of {} tokens cannot go back to {}, only to {} or 0: {}", position(), count,
         earliest.count, earliest.reason);
  }
  if (const RowRun* const run = runs_.around(count)) {
    fail(ErrorCode::Unsupported,
         "a sequence cannot be cut to {} tokens, within the {} rows of a run from {} on", count,
         run->count, run->begin);
  }
  greedy_token_.reset();
  if (!is_cut) return restore_checkpoint(count);
  if (count == 0) {
    forget();
  } else {
    cut(count);
  }
  keep(count);
}

void Sequence::checkpoint() {
  const Use use(*this);
  checkpoint_.reset();
  if (model_->capabilities().checkpoint) checkpoint_ = copy_rest_here();
}

void Sequence::restore_checkpoint(int64_t count) {
  const auto from = tokens_.begin() + checkpoint_->count;
  const std::vector<int32_t> again(from, tokens_.begin() + count);
  put_rest(arrays(checkpoint_->count), *checkpoint_);
  keep(checkpoint_->count);
  took_rows();
  if (!again.empty()) feed_new(again, {.rows = Rows::None});
}

std::unique_ptr<Sequence> Sequence::fork() const {
  std::unique_ptr<Sequence> result;  // on failure, destroyed after the model's lock is released
  const Use use(*this);
  if (!model_->capabilities().fork) {
    fail(ErrorCode::Unsupported, "a sequence of this model cannot be forked");
  }
  result = model_->make_sequence();
  result->copy(*this);
  result->tokens_ = tokens_;
  result->runs_ = runs_;
  result->row_ = row_;
  result->greedy_token_ = greedy_token_;
  result->finish();
  return result;
}

std::vector<CacheArray> Sequence::arrays(int64_t /*count*/) {
  return {};
}

void Sequence::read_cache(size_t /*index*/, const engine::StateRows& /*rows*/, std::byte* /*to*/,
                          uint64_t /*stride*/) {}

void Sequence::write_cache(size_t /*index*/, const engine::StateRows& /*rows*/,
                           const std::byte* /*from*/, uint64_t /*stride*/) {}

void Sequence::save(const std::filesystem::path& path) {
  std::vector<std::byte> bytes;
  SavedSequence saved{.digest = model_->digest(), .context = model_->context()};
  {
    const Use use(*this);
    if (!model_->capabilities().save) {
      fail(ErrorCode::Unsupported, "a sequence of this model cannot be saved");
    }
    saved.marks = marks();
    saved.tokens = tokens_;
    saved.runs = runs_.runs();
    const auto read = [&](size_t index, const engine::StateRows& rows, std::byte* to) {
      read_cache(index, rows, to, rows.group_bytes());
    };
    bytes = to_bytes(saved, arrays(position()), read);
  }
  PendingOutput output(path);
  FileWriter writer(output.path());
  writer.write(bytes);
  writer.close();
  // The file contains the text, so only its owner may read it.
  std::filesystem::permissions(
      output.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  output.commit();
}

void Sequence::check(const SavedSequence& saved, const std::string& path) const {
  if (saved.context != model_->context()) {
    fail(ErrorCode::InvalidArgument,
         "{}: a sequence in a context of {} tokens, the model's context holds {}", path,
         saved.context, model_->context());
  }
  const auto count = std::ssize(saved.tokens);
  if (!model_->capabilities().sliding_window && count > model_->context()) {
    fail(ErrorCode::InvalidFile, "{}: has {} tokens, the model's context holds {}", path, count,
         model_->context());
  }
  if (count > 0) with_context(path, [&] { check_fed_ids(*model_, saved.tokens); });
}

void Sequence::restore(const std::filesystem::path& path) {
  const SequenceFile file(path);
  const SavedSequence& saved = file.sequence();
  const std::string& digest = model_->digest();
  const Use use(*this);
  if (!model_->capabilities().save) {
    fail(ErrorCode::Unsupported, "a sequence of this model cannot be restored");
  }
  if (saved.digest != digest) {
    fail(ErrorCode::InvalidArgument,
         "{}: a sequence of another model: its digest begins with {}, this one's with {}",
         path.string(), saved.digest.substr(0, 12), digest.substr(0, 12));
  }
  check(saved, path.string());
  std::vector<int32_t> tokens = saved.tokens;
  const auto count = std::ssize(tokens);
  file.check(arrays(count));
  RowRuns runs;
  with_context(path.string(), [&] { runs.restore(saved.runs, tokens); });
  greedy_token_.reset();
  checkpoint_.reset();
  forget();
  file.read([&](size_t index, const engine::StateRows& rows, const std::byte* from) {
    write_cache(index, rows, from, rows.group_bytes());
  });
  set_marks(saved.marks);
  tokens_ = std::move(tokens);
  runs_ = std::move(runs);
  finish();
}

}  // namespace pippin::runtime
