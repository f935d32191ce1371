#include "pippin/generate/anemll_model.h"

#include <algorithm>
#include <limits>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/generate/anemll_shared.h"

namespace pippin::generate {
namespace {

// A run over some of the tokens that are being fed.
struct Segment {
  int64_t first = 0;  // among them
  int64_t count = 1;
  bool batch = false, rotated = false;
};

class AnemllModel final : public LanguageModel {
 public:
  explicit AnemllModel(std::shared_ptr<AnemllShared> shared)
      : shared_(std::move(shared)),
        state_(shared_->parts.states.features(), shared_->compute),
        row_(static_cast<size_t>(shared_->vocab_size)) {}

  int64_t context() const override { return shared_->context; }
  int64_t vocab_size() const override { return shared_->vocab_size; }
  int64_t position() const override { return position_; }
  uint64_t saved_bytes() const override {
    uint64_t bytes = 0;
    for (const Part* part : shared_->parts.all()) bytes += part->saved_bytes();
    return bytes;
  }
  bool greedy_only() const override { return shared_->greedy_only; }
  std::optional<int32_t> likeliest() override { return likeliest_; }

  std::unique_ptr<LanguageModel> new_sequence() override {
    return std::make_unique<AnemllModel>(shared_);
  }
  const void* shared() const override { return shared_.get(); }

  // Part after part, as feed(), each with a seat for every sequence.
  void decode_group(std::span<const NextToken> next,
                    std::vector<std::span<const float>>& logits) override {
    std::vector<AnemllModel*> sequences;
    std::vector<int32_t> ids;
    for (const NextToken& one : next) {
      sequences.push_back(static_cast<AnemllModel*>(one.sequence));
      ids.push_back(one.id);
    }
    try {
      embed_group(sequences, ids);
      for (size_t i = 0; i < shared_->parts.chunks.size(); ++i) chunk_group(i, sequences, ids);
      if (shared_->parts.head) head_group(sequences);
    } catch (...) {
      for (AnemllModel* one : sequences) one->give_up(1);
      throw;
    }
    for (AnemllModel* one : sequences) {
      ++one->position_;
      logits.push_back(one->logits_);
    }
  }

  void reset() override {
    state_.reset();
    position_ = 0;
    likeliest_.reset();
  }

  // ANEMLL's rule: all but two batches of the context.
  int64_t kept_by_shift() const override {
    const int64_t batch = std::max<int64_t>(shared_->declared_batch, 1);
    const int64_t kept = (shared_->context / batch - 2) * batch;
    return kept > 0 ? kept : (shared_->context + 1) / 2;
  }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    feed(ids, /*every=*/false, nullptr, [](std::span<const float>) {});
    return logits_;
  }
  std::span<const float> decode(int32_t id) override { return prefill({&id, 1}); }

  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    if (shared_->greedy_only) {
      fail(ErrorCode::Unsupported,
           "this model chooses its likeliest token itself and has no logits to give");
    }
    std::vector<float> rows;
    rows.reserve(ids.size() * static_cast<size_t>(shared_->vocab_size));
    feed(ids, /*every=*/true, nullptr,
         [&](std::span<const float> row) { rows.insert(rows.end(), row.begin(), row.end()); });
    return rows;
  }

  std::vector<HiddenStates> trace(std::span<const int32_t> ids) override {
    std::vector<HiddenStates> result;
    if (!shared_->parts.embeddings) return result;
    feed(ids, /*every=*/true, &result, [](std::span<const float>) {});
    return result;
  }

 private:
  std::vector<Segment> segments(int64_t count) const {
    std::vector<Segment> result;
    for (int64_t i = 0; i < count;) {
      const int64_t position = position_ + i;
      Segment segment;
      segment.first = i;
      segment.rotated = shared_->window > 0 && position >= shared_->window;
      // The last token has to go through a single step.
      int64_t left = count - 1 - i;
      if (shared_->window > 0 && !segment.rotated)
        left = std::min(left, shared_->window - position);
      const bool allowed = shared_->batch > 1 && (!segment.rotated || shared_->rotated_batches);
      const int64_t size =
          allowed ? shared_->batch_sizes.at_most(std::min(left, shared_->batch)) : 1;
      if (size > 1) {
        segment.count = size;
        segment.batch = true;
      }
      result.push_back(segment);
      i += segment.count;
    }
    return result;
  }

  static std::vector<Segment> singles(const std::vector<Segment>& segments) {
    std::vector<Segment> result;
    for (const Segment& segment : segments) {
      for (int64_t i = 0; i < segment.count; ++i) {
        result.push_back({segment.first + i, 1, false, segment.rotated});
      }
    }
    return result;
  }

  // Part after part, each over all of the tokens: a part is needed once, whatever the prompt.
  template <typename Use>
  void feed(std::span<const int32_t> ids, bool every, std::vector<HiddenStates>* trace, Use&& use) {
    check_ids(*this, ids);
    const auto count = static_cast<int64_t>(ids.size());
    try {
      std::span<const float> hidden = embed(ids);
      const auto runs = segments(count);
      for (size_t i = 0; i < shared_->parts.chunks.size(); ++i) {
        const bool last = i + 1 == shared_->parts.chunks.size();
        // Every token's row is needed: the last part's batches have none.
        const auto& mine = last && every ? singles(runs) : runs;
        hidden = run_chunk(i, mine, ids, hidden, every && last, use);
        if (trace != nullptr) {
          trace->push_back(
              {shared_->parts.chunks[i]->name(), shared_->width, {hidden.begin(), hidden.end()}});
        }
      }
      if (shared_->parts.head) run_head(hidden, every, use);
    } catch (...) {
      give_up(count);
      throw;
    }
    position_ += count;
  }

  // After a failure. Slots that were written are written again; a cache that rotated cannot be
  // turned back.
  void give_up(int64_t count) {
    if (shared_->window > 0 && position_ + count > shared_->window) reset();
  }

  // A row of shared_->hidden for each sequence.
  void embed_group(std::span<AnemllModel* const> sequences, std::span<const int32_t> ids) {
    if (!shared_->parts.embeddings) return;
    Part& part = *shared_->parts.embeddings;
    const auto width = static_cast<size_t>(shared_->width);
    if (!part.steps().one) {
      embed(ids);  // as if they were one sequence's: rows do not depend on each other
      return;
    }
    shared_->hidden.resize(ids.size() * width);
    StepRunner& runner = part.one();
    runner.reserve_seats(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      runner.put_ids(ids.subspan(i, 1), 0, 1, sequences[i]->state_, i);
    }
    check_cancel();
    runner.run_together(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) keep_hidden(runner, i, i);
    part.release();
  }

  void keep_hidden(const StepRunner& runner, size_t seat, size_t row) {
    const auto width = static_cast<size_t>(shared_->width);
    std::copy_n(runner.hidden(seat).begin(), width, shared_->hidden.data() + row * width);
  }

  void chunk_group(size_t index, std::span<AnemllModel* const> sequences,
                   std::span<const int32_t> ids) {
    const bool gives_rows = !shared_->parts.head && index + 1 == shared_->parts.chunks.size();
    const auto width = static_cast<size_t>(shared_->width);
    for (const bool rotated : {false, true}) {
      std::vector<size_t> mine;  // of the sequences
      for (size_t i = 0; i < sequences.size(); ++i) {
        const bool past = shared_->window > 0 && sequences[i]->position_ >= shared_->window;
        if (past == rotated) mine.push_back(i);
      }
      if (mine.empty()) continue;
      StepRunner& runner = runner_of(index, {0, 1, false, rotated});
      runner.reserve_seats(mine.size());
      for (size_t seat = 0; seat < mine.size(); ++seat) {
        const size_t i = mine[seat];
        AnemllModel& one = *sequences[i];
        if (width == 0) {
          runner.put_ids(ids.subspan(i, 1), one.position_, 1, one.state_, seat);
        } else {
          runner.put_hidden(std::span(shared_->hidden).subspan(i * width, width), one.position_,
                            one.state_, seat);
        }
      }
      check_cancel();
      runner.run_together(mine.size());
      for (size_t seat = 0; seat < mine.size(); ++seat) {
        if (gives_rows) {
          sequences[mine[seat]]->take_row(
              runner, [](std::span<const float>) {}, seat);
        } else {
          keep_hidden(runner, seat, mine[seat]);
        }
      }
    }
    release_chunk(index);
  }

  void head_group(std::span<AnemllModel* const> sequences) {
    const auto width = static_cast<size_t>(shared_->width);
    StepRunner& runner = shared_->parts.head->one();
    runner.reserve_seats(sequences.size());
    for (size_t i = 0; i < sequences.size(); ++i) {
      runner.put_hidden(std::span(shared_->hidden).subspan(i * width, width), 0,
                        sequences[i]->state_, i);
    }
    check_cancel();
    runner.run_together(sequences.size());
    for (size_t i = 0; i < sequences.size(); ++i) {
      sequences[i]->take_row(
          runner, [](std::span<const float>) {}, i);
    }
    shared_->parts.head->release();
  }

  void release_chunk(size_t index) {
    const AnemllParts& parts = shared_->parts;
    parts.chunks[index]->release();
    if (!parts.rotated.empty() && parts.rotated[index]) parts.rotated[index]->release();
  }

  // The hidden states of all tokens. Valid until the next use of the embeddings or shared_->hidden.
  std::span<const float> embed(std::span<const int32_t> ids) {
    if (!shared_->parts.embeddings) return {};
    Part& part = *shared_->parts.embeddings;
    const auto width = static_cast<size_t>(shared_->width);
    if (ids.size() == 1 && !shared_->low_memory && part.steps().one) {
      part.one().run_ids(ids, 0, state_);
      return part.one().hidden();
    }
    shared_->hidden.resize(ids.size() * width);
    const auto& steps = part.steps();
    for (size_t i = 0; i < ids.size();) {
      check_cancel();
      size_t size = 1, real = 1;
      const size_t left = ids.size() - i;
      if (steps.batch) {
        size = static_cast<size_t>(
            steps.batch->query.at_most(std::min(static_cast<int64_t>(left), kMostIds)));
        if (size < 2 && !steps.one) size = static_cast<size_t>(steps.batch->query.smallest());
        real = std::min(std::max<size_t>(size, 1), left);
        size = std::max<size_t>(size, 1);
      }
      shared_->padded.assign(ids.begin() + static_cast<int64_t>(i),
                             ids.begin() + static_cast<int64_t>(i + real));
      shared_->padded.resize(size, 0);
      StepRunner& runner = size == 1 ? part.one() : part.batch(static_cast<int64_t>(size));
      runner.run_ids(shared_->padded, 0, state_);
      std::copy_n(runner.hidden().begin(), real * width, shared_->hidden.data() + i * width);
      i += real;
    }
    part.release();
    return shared_->hidden;
  }

  StepRunner& runner_of(size_t chunk, const Segment& segment) {
    Part& part = *shared_->parts.chunks[chunk];
    if (!segment.rotated) return segment.batch ? part.batch(segment.count) : part.one();
    Part* rotated = shared_->parts.rotated.empty() ? nullptr : shared_->parts.rotated[chunk].get();
    if (rotated == nullptr) {
      return segment.batch ? part.batch_rotated(segment.count) : part.one_rotated();
    }
    if (rotated->steps().one_rotated) {
      return segment.batch ? rotated->batch_rotated(segment.count) : rotated->one_rotated();
    }
    return segment.batch ? rotated->batch(segment.count) : rotated->one();
  }

  template <typename Use>
  std::span<const float> run_chunk(size_t index, const std::vector<Segment>& runs,
                                   std::span<const int32_t> ids, std::span<const float> hidden,
                                   bool every, Use&& use) {
    const auto width = static_cast<size_t>(shared_->width);
    const bool gives_rows = !shared_->parts.head && index + 1 == shared_->parts.chunks.size();
    std::span<const float> result;
    if (runs.size() > 1 || shared_->low_memory) shared_->hidden.resize(ids.size() * width);
    for (const Segment& segment : runs) {
      check_cancel();
      StepRunner& runner = runner_of(index, segment);
      const auto first = static_cast<size_t>(segment.first);
      const auto count = static_cast<size_t>(segment.count);
      const int64_t position = position_ + segment.first;
      if (shared_->width == 0) {
        runner.run_ids(ids.subspan(first, count), position, state_);
      } else {
        runner.run_hidden(hidden.subspan(first * width, count * width), position, state_);
      }
      const bool final = segment.first + segment.count == static_cast<int64_t>(ids.size());
      if (gives_rows) {
        if (every || final) take_row(runner, use);
        continue;
      }
      result = runner.hidden();
      if (runs.size() == 1 && !shared_->low_memory) continue;
      // The rows lie where they came from; a prefill of the last chunk has one that nobody needs.
      const size_t rows = std::min(count * width, result.size());
      std::copy_n(result.begin(), rows, shared_->hidden.data() + first * width);
      result = shared_->hidden;
    }
    release_chunk(index);
    return result;
  }

  template <typename Use>
  void run_head(std::span<const float> hidden, bool every, Use&& use) {
    const auto width = static_cast<size_t>(shared_->width);
    for (size_t row = every ? 0 : hidden.size() / width - 1; row < hidden.size() / width; ++row) {
      check_cancel();
      StepRunner& runner = shared_->parts.head->one();
      runner.run_hidden(hidden.subspan(row * width, width), 0, state_);
      take_row(runner, use);
    }
    shared_->parts.head->release();
  }

  template <typename Use>
  void take_row(const StepRunner& runner, Use&& use, size_t seat = 0) {
    if (shared_->greedy_only) {
      take_likeliest(runner, seat);
    } else {
      runner.copy_logits(runner.logit_rows() - 1, row_.data(), seat);
    }
    logits_ = row_;
    use(logits_);
  }

  void take_likeliest(const StepRunner& runner, size_t seat) {
    const auto values = runner.argmax_values(seat);
    const auto indices = runner.argmax_indices(seat);
    const auto best =
        static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    const int64_t id = indices[best] + shared_->offsets[best];
    if (indices[best] < 0 || id >= shared_->offsets[best + 1]) {
      fail(ErrorCode::InvalidFile, "argmax_idx {} is {}; that part of the vocabulary has {} tokens",
           best + 1, indices[best], shared_->offsets[best + 1] - shared_->offsets[best]);
    }
    std::fill(row_.begin(), row_.end(), -std::numeric_limits<float>::infinity());
    row_[static_cast<size_t>(id)] = values[best];
    likeliest_ = static_cast<int32_t>(id);
  }

  static constexpr int64_t kMostIds = 256;  // of a run of embeddings
  std::shared_ptr<AnemllShared> shared_;
  engine::State state_;
  int64_t position_ = 0;
  std::vector<float> row_;
  std::span<const float> logits_;
  std::optional<int32_t> likeliest_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_anemll_model(PackageFolder folder, const AnemllFiles& files,
                                                 const std::optional<AnemllMeta>& meta,
                                                 ThreadPool& pool, const AnemllOptions& options) {
  AnemllParts parts;
  const Part::Options part_options{
      .adapter = options.adapter, .low_memory = options.low_memory, .compute = options.compute};
  const auto open = [&](const std::string& stem) {
    return std::make_unique<Part>(folder.package(stem), folder.file_name(stem), part_options,
                                  parts.states, pool);
  };
  if (!files.embeddings.empty()) parts.embeddings = open(files.embeddings);
  for (const std::string& chunk : files.chunks) parts.chunks.push_back(open(chunk));
  for (const std::string& rotated : files.rotated) {
    parts.rotated.push_back(rotated.empty() ? nullptr : open(rotated));
  }
  if (!files.lm_head.empty()) parts.head = open(files.lm_head);
  return std::make_unique<AnemllModel>(
      std::make_shared<AnemllShared>(std::move(folder), std::move(parts), meta, options));
}

std::unique_ptr<LanguageModel> make_single_anemll_model(const std::filesystem::path& package,
                                                        ThreadPool& pool,
                                                        const AnemllOptions& options) {
  AnemllParts parts;
  parts.chunks.push_back(std::make_unique<Part>(
      package, package.filename().string(),
      Part::Options{
          .adapter = options.adapter, .low_memory = options.low_memory, .compute = options.compute},
      parts.states, pool));
  return std::make_unique<AnemllModel>(
      std::make_shared<AnemllShared>(std::nullopt, std::move(parts), std::nullopt, options));
}

}  // namespace pippin::generate
