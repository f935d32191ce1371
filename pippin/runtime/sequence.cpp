#include "pippin/runtime/sequence.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/sequence_file.h"
#include "pippin/runtime/sequence_use.h"

namespace pippin::runtime {

Sequence::Sequence(std::shared_ptr<Model> model)
    : model_(std::move(model)), row_(static_cast<size_t>(model_->vocab_size())) {
  adapters_.reserve(model_->adapters().size());
  for (const RunAdapter& one : model_->adapters()) {
    adapters_.push_back(one.applied ? one.scale : 0.0F);
  }
}

void Sequence::set_adapters(std::span<const float> numbers) {
  const Use use(*this);
  check_adapters(*model_, numbers);
  if (!tokens_.empty()) {
    fail(ErrorCode::InvalidArgument, "adapters are set before the first token; there are {} tokens",
         tokens_.size());
  }
  adapters_.assign(numbers.begin(), numbers.end());
}

std::string Sequence::digest() const {
  const auto is_none = [](float number) { return number == 0; };
  if (std::all_of(adapters_.begin(), adapters_.end(), is_none)) return model_->digest();
  Digest digest = Digest::sha256();
  digest.update(as_byte_span(fmt::format("{} adapters", model_->digest())));
  digest.update(std::as_bytes(std::span(adapters_)));
  return digest.finish();
}

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

void Sequence::forget_choice() {
  greedy_token_.reset();
  most_likely_.clear();
}

void Sequence::begin(std::span<const int32_t> ids, Rows last_row) {
  forget_choice();
  last_row_ = last_row;
  if (model_->rows()) runs_.begin(ids, std::ssize(tokens_));
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

void Sequence::keep(int64_t count) {
  unfed_ = 0;
  if (!can_restore(count)) checkpoint_.reset();
  tokens_.resize(static_cast<size_t>(count));
  runs_.keep(count);
  finish();
}

void Sequence::feed_new(std::span<const int32_t> ids, Feeding feeding, Rows last_row) {
  // More tokens in one pass would not have the bits that they had.
  const bool together = unfed_ + std::ssize(ids) <= model_->capabilities().equal_rows;
  if (feeding.trace != nullptr || !together) settle();
  const int64_t before = position(), again = unfed_;
  const size_t known = feeding.every != nullptr ? feeding.every->size() : 0;
  feeding.begin = before - again;
  begin(ids, last_row);
  feed_or_give_up(feeding, before);
  finish();
  if (feeding.every == nullptr || feeding.every->size() < row_.size()) return;
  if (again > 0) {
    const auto rows = feeding.every->begin() + static_cast<std::ptrdiff_t>(known);
    feeding.every->erase(rows, rows + again * std::ssize(row_));
  }
  std::copy(feeding.every->end() - std::ssize(row_), feeding.every->end(), row_.begin());
}

// After an error, the tokens from `before` on that were not fed are dropped.
void Sequence::feed_or_give_up(const Feeding& feeding, int64_t before) {
  try {
    feed(feeding);
  } catch (...) {
    const int64_t stay = give_up(feeding.begin);
    if (stay < feeding.begin || stay >= before) {
      keep(stay);
    } else {
      tokens_.resize(static_cast<size_t>(before));
      runs_.keep(before);
      unfed_ = before - stay;
      finish();
    }
    throw;
  }
  unfed_ = 0;
}

void Sequence::settle() {
  if (unfed_ == 0) return;
  CallContext context = CallContext::current();
  context.cancel = nullptr;  // the tokens are not new
  const ContextScope scope(context);
  feed_or_give_up({.begin = position() - unfed_, .rows = Rows::None}, position());
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

std::span<const float> Sequence::prefill_choice(std::span<const int32_t> ids, Rows rows) {
  const Use use(*this);
  check(ids);
  feed_new(ids, {}, rows);
  return row_unless_chosen();
}

std::span<const float> Sequence::row_unless_chosen() const {
  if ((last_row_ == Rows::Token && greedy_token_) || !most_likely_.empty()) return {};
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
  rows.reserve((static_cast<size_t>(unfed_) + ids.size()) * row_.size());
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

std::optional<PredictedToken> Sequence::predict(std::span<const int32_t> ids) {
  const Use use(*this);
  if (!model_->capabilities().predicts) {
    fail(ErrorCode::Unsupported, "the model has no prediction layer, or it is not used");
  }
  check_vocabulary(*model_, ids);
  return predict_next(ids);
}

void Sequence::reset() {
  const Use use(*this);
  forget_choice();
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
  if (count >= position() - unfed_) {
    forget_choice();
    unfed_ -= position() - count;
    tokens_.resize(static_cast<size_t>(count));
    return finish();
  }
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
  forget_choice();
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
  const bool is_recent = checkpoint_ && checkpoint_->count == position() - unfed_;
  if (unfed_ > 0 && is_recent && 2 * unfed_ < model_->capabilities().equal_rows) return;
  settle();
  checkpoint_.reset();
  if (model_->capabilities().checkpoint) checkpoint_ = copy_rest_here();
}

void Sequence::restore_checkpoint(int64_t count) {
  if (model_->capabilities().feeds_late && runs_.is_empty()) {
    put_rest(arrays(checkpoint_->count), *checkpoint_);
    tokens_.resize(static_cast<size_t>(count));
    unfed_ = count - checkpoint_->count;
    finish();
    return took_rows(count);
  }
  const auto from = tokens_.begin() + checkpoint_->count;
  const std::vector<int32_t> again(from, tokens_.begin() + count);
  put_rest(arrays(checkpoint_->count), *checkpoint_);
  keep(checkpoint_->count);
  took_rows(position());
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
  result->adapters_ = adapters_;
  result->row_ = row_;
  result->greedy_token_ = greedy_token_;
  result->most_likely_ = most_likely_;
  result->unfed_ = unfed_;
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

std::vector<CacheArray> Sequence::saved_arrays(int64_t count) {
  std::vector<CacheArray> all = arrays(count);
  all.resize(num_saved(all.size()));
  return all;
}

void Sequence::save(const std::filesystem::path& path) {
  std::vector<std::byte> bytes;
  SavedSequence saved{.digest = digest(), .context = model_->context()};
  {
    const Use use(*this);
    if (!model_->capabilities().save) {
      fail(ErrorCode::Unsupported, "a sequence of this model cannot be saved");
    }
    settle();
    saved.marks = marks();
    saved.tokens = tokens_;
    saved.runs = runs_.runs();
    const auto read = [&](size_t index, const engine::StateRows& rows, std::byte* to) {
      read_cache(index, rows, to, rows.group_bytes());
    };
    bytes = to_bytes(saved, saved_arrays(position()), read);
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
  const std::string digest = this->digest();
  const Use use(*this);
  if (!model_->capabilities().save) {
    fail(ErrorCode::Unsupported, "a sequence of this model cannot be restored");
  }
  if (saved.digest != digest) {
    fail(ErrorCode::InvalidArgument,
         "{}: a sequence of another model{}: its digest begins with {}, this one's with {}",
         path.string(), adapters_.empty() ? "" : " or other adapters", saved.digest.substr(0, 12),
         digest.substr(0, 12));
  }
  check(saved, path.string());
  std::vector<int32_t> tokens = saved.tokens;
  const auto count = std::ssize(tokens);
  file.check(saved_arrays(count));
  RowRuns runs;
  with_context(path.string(), [&] { runs.restore(saved.runs, tokens); });
  forget_choice();
  checkpoint_.reset();
  unfed_ = 0;
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
