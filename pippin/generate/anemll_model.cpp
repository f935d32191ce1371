#include "pippin/generate/anemll_model.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/generate/part.h"

namespace pippin::generate {
namespace {

// The parts of a model; embeddings and head may be missing, a chunk then takes ids or gives logits.
struct Parts {
  std::unique_ptr<Part> embeddings, head;
  std::vector<std::unique_ptr<Part>> chunks, rotated;  // rotated: beside each chunk, or null
  SharedStates states;

  std::vector<Part*> all() const {
    std::vector<Part*> result;
    if (embeddings) result.push_back(embeddings.get());
    for (const auto& chunk : chunks) result.push_back(chunk.get());
    for (const auto& part : rotated) {
      if (part) result.push_back(part.get());
    }
    if (head) result.push_back(head.get());
    return result;
  }
};

std::optional<int64_t> metadata_number(const Part& part, const std::string& key) {
  const auto& entries = part.metadata().user_defined;
  const auto found = entries.find(key);
  if (found == entries.end()) return std::nullopt;
  int64_t number = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void fail_different(const Part& a, std::string_view what, int64_t a_value,
                                 const Part& b, int64_t b_value) {
  fail(ErrorCode::InvalidFile,
       "'{}' and '{}' are of different conversions: {} is {} in one and {} in the other", a.name(),
       b.name(), what, a_value, b_value);
}

// What all parts have to agree on.
void check_parts(const Parts& parts) {
  const auto all = parts.all();
  for (const char* key : {"com.anemll.context_length", "com.anemll.num_chunks",
                          "com.anemll.batch_size", "com.anemll.state_length"}) {
    const Part* first = nullptr;
    for (const Part* part : all) {
      const auto value = metadata_number(*part, key);
      if (!value) continue;
      if (first == nullptr) first = part;
      const int64_t known = *metadata_number(*first, key);
      if (known != *value) fail_different(*first, key, known, *part, *value);
    }
  }
  const Part& first = *parts.chunks.front();
  for (size_t i = 0; i < parts.chunks.size(); ++i) {
    const Part& part = *parts.chunks[i];
    if (!part.steps().one) {
      fail(ErrorCode::Unsupported, "{}: no function takes one token at a time", part.name());
    }
    const StepSchema& step = *part.steps().one;
    if (step.mask.empty() || step.end.is_range()) {
      fail(ErrorCode::Unsupported, "{}: function {} has no mask of a fixed length", part.name(),
           step.function);
    }
    if (!step.says_positions()) {
      fail(ErrorCode::Unsupported, "{}: function {} has no input that says the position",
           part.name(), step.function);
    }
    const int64_t length = step.end.largest();
    const int64_t known = first.steps().one->end.largest();
    if (length != known) fail_different(first, "the mask's length", known, part, length);
    if (const auto number = metadata_number(part, "com.anemll.chunk_no");
        number && *number != static_cast<int64_t>(i) + 1 && parts.chunks.size() > 1) {
      fail(ErrorCode::InvalidFile, "{}: its metadata says chunk {}, its name {}", part.name(),
           *number, i + 1);
    }
  }
}

// What one part gives has to be as wide as what the next one takes.
void check_widths(const Parts& parts) {
  const Part* before = parts.embeddings.get();
  std::vector<const Part*> line;
  for (const auto& chunk : parts.chunks) line.push_back(chunk.get());
  if (parts.head) line.push_back(parts.head.get());
  for (const Part* part : line) {
    if (!part->steps().one) {
      fail(ErrorCode::Unsupported, "{}: no function takes one token at a time", part->name());
    }
    const StepSchema& step = *part->steps().one;
    if (step.takes_ids != (before == nullptr)) {
      fail(ErrorCode::InvalidFile, "{}: takes {}, {}", part->name(),
           step.takes_ids ? "token ids" : "hidden states",
           before == nullptr ? "and is the first part" : "and comes after " + before->name());
    }
    if (before != nullptr) {
      const auto& steps = before->steps();
      const StepSchema& gives = steps.one ? *steps.one : *steps.batch;
      if (gives.hidden.empty()) {
        // Embeddings may call their output anything.
        fail(ErrorCode::InvalidFile, "{}: gives no hidden states for {}", before->name(),
             part->name());
      }
      if (gives.hidden_width != 0 && gives.hidden_width != step.width) {
        fail_different(*before, "the hidden size", gives.hidden_width, *part, step.width);
      }
    }
    before = part;
  }
}

// A run over some of the tokens that are being fed.
struct Segment {
  int64_t first = 0;  // among them
  int64_t count = 1;
  bool batch = false, rotated = false;
};

class AnemllModel final : public LanguageModel {
 public:
  AnemllModel(std::optional<PackageFolder> folder, Parts parts,
              const std::optional<AnemllMeta>& meta, const AnemllOptions& options)
      : folder_(std::move(folder)),
        parts_(std::move(parts)),
        low_memory_(options.low_memory),
        state_(parts_.states.features()) {
    check_widths(parts_);
    check_parts(parts_);
    check_adapter(options.adapter);
    const Part& first = *parts_.chunks.front();
    const StepSchema& step = *first.steps().one;
    context_ = step.end.largest();
    for (const std::optional<int64_t> limit :
         {meta && meta->context_length > 0 ? std::optional(meta->context_length) : std::nullopt,
          metadata_number(first, "com.anemll.context_length"),
          options.context > 0 ? std::optional(options.context) : std::nullopt}) {
      if (limit && *limit > 0) context_ = std::min(context_, *limit);
    }
    find_window(meta);
    decide_batches(meta, options.prefill);
    width_ = parts_.embeddings ? step.width : 0;
    for (Part* part : parts_.all()) part->prepare(batch_ > 1);
    find_vocabulary(meta);
  }

  int64_t context() const override { return context_; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t position() const override { return position_; }
  bool greedy_only() const override { return greedy_only_; }
  std::optional<int32_t> likeliest() override { return likeliest_; }

  void reset() override {
    state_.reset();
    position_ = 0;
    likeliest_.reset();
  }

  // ANEMLL's rule: all but two batches of the context.
  int64_t kept_by_shift() const override {
    const int64_t batch = std::max<int64_t>(declared_batch_, 1);
    const int64_t kept = (context_ / batch - 2) * batch;
    return kept > 0 ? kept : (context_ + 1) / 2;
  }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    feed(ids, /*every=*/false, nullptr, [](std::span<const float>) {});
    return logits_;
  }
  std::span<const float> decode(int32_t id) override { return prefill({&id, 1}); }

  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    if (greedy_only_) {
      fail(ErrorCode::Unsupported,
           "this model chooses its likeliest token itself and has no logits to give");
    }
    std::vector<float> rows;
    rows.reserve(ids.size() * static_cast<size_t>(vocab_size_));
    feed(ids, /*every=*/true, nullptr,
         [&](std::span<const float> row) { rows.insert(rows.end(), row.begin(), row.end()); });
    return rows;
  }

  std::vector<HiddenStates> trace(std::span<const int32_t> ids) override {
    std::vector<HiddenStates> result;
    if (!parts_.embeddings) return result;
    feed(ids, /*every=*/true, &result, [](std::span<const float>) {});
    return result;
  }

 private:
  void check_adapter(const std::string& adapter) const {
    if (adapter.empty()) return;
    std::vector<std::string> known;
    for (const Part* part : parts_.all()) {
      if (part->has_adapter()) return;
      known.insert(known.end(), part->adapters().begin(), part->adapters().end());
    }
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    fail_no_adapter(adapter, known);
  }

  // Where the rotated functions begin: the window as meta.yaml or the local cache's size says it.
  void find_window(const std::optional<AnemllMeta>& meta) {
    const Part& first = *parts_.chunks.front();
    const bool rotates =
        first.steps().one_rotated || (!parts_.rotated.empty() && parts_.rotated.front());
    if (!rotates) return;
    if (meta) window_ = meta->sliding_window;
    if (window_ == 0) {
      for (const mil::Feature& state : parts_.states.features()) {
        const bool local = state.name.find("local") != state.name.npos;
        if (local && state.shape.size() == 4) window_ = state.shape[2];
      }
    }
    if (window_ == 0) {
      fail(
          ErrorCode::InvalidFile,
          "{}: has functions for a full sliding window, and neither meta.yaml's sliding_window nor "
          "a state of local layers says its size",
          first.name());
    }
  }

  void decide_batches(const std::optional<AnemllMeta>& meta, PrefillMode mode) {
    for (const auto& chunk : parts_.chunks) {
      const auto& step = chunk->steps().batch;
      const int64_t batch = step ? step->query.largest() : 1;
      const bool fits = step && !step->end.is_range() && step->query.smallest() > 0;
      if (&chunk == &parts_.chunks.front()) {
        declared_batch_ = fits ? batch : 1;
      } else if (fits && declared_batch_ > 1 && batch != declared_batch_) {
        fail_different(*parts_.chunks.front(), "the batch of prefill", declared_batch_, *chunk,
                       batch);
      }
      if (!fits) declared_batch_ = 1;
    }
    if (parts_.chunks.front()->steps().batch) {
      batch_sizes_ = parts_.chunks.front()->steps().batch->query;
    }
    const bool safe = mode == PrefillMode::Batches || !meta || meta->prefill_is_safe;
    batch_ = mode == PrefillMode::Steps || !safe ? 1 : std::min<int64_t>(declared_batch_, 256);
    if (batch_sizes_.empty() || batch_sizes_.at_most(std::max<int64_t>(batch_, 1)) < 2) {
      batch_ = declared_batch_ > 256 && batch_ > 1 ? declared_batch_ : 1;
    }
    // In the originals' rotated prefill the tokens of a batch see later ones of the same batch.
    const Part& last = *parts_.chunks.back();
    rotated_batches_ = last.is_own() && last.steps().batch_rotated.has_value() && batch_ > 1;
  }

  void find_vocabulary(const std::optional<AnemllMeta>& meta) {
    Part& head = parts_.head ? *parts_.head : *parts_.chunks.back();
    StepRunner& runner = head.one();
    runner.bind(1, 0, state_);
    const StepSchema& step = runner.schema();
    if (!step.gives_logits() && !step.gives_argmax()) {
      fail(ErrorCode::Unsupported, "{}: gives neither logits nor the likeliest token", head.name());
    }
    greedy_only_ = !step.gives_logits();
    if (!greedy_only_) {
      vocab_size_ = runner.vocab_size();
    } else {
      find_offsets(runner, head, meta);
    }
    if (meta && meta->vocab_size > 0 && !greedy_only_ && meta->vocab_size < vocab_size_) {
      log_debug("{}: {} logits for a vocabulary of {}", head.name(), vocab_size_, meta->vocab_size);
    }
    head.release();
    row_.resize(static_cast<size_t>(vocab_size_));
  }

  // Where each part of the vocabulary begins: its sizes as the metadata says them, else equal parts
  // of which the first ones have what is left over.
  void find_offsets(StepRunner& runner, const Part& head, const std::optional<AnemllMeta>& meta) {
    const auto parts = static_cast<int64_t>(runner.argmax_indices().size());
    std::vector<int64_t> sizes;
    if (meta) sizes = meta->head_sizes;
    int64_t vocabulary = meta ? meta->vocab_size : 0;
    const auto& entries = head.metadata().user_defined;
    if (const auto listed = entries.find("com.anemll.lm_head_chunk_sizes");
        sizes.empty() && listed != entries.end()) {
      int64_t number = 0;
      bool digits = false;
      for (const char c : listed->second + ",") {
        if (c >= '0' && c <= '9') {
          number = std::min<int64_t>(number * 10 + (c - '0'), 1 << 30);
          digits = true;
        } else if (digits) {
          sizes.push_back(number);
          number = 0;
          digits = false;
        }
      }
    }
    if (vocabulary == 0) vocabulary = metadata_number(head, "com.anemll.vocab_size").value_or(0);
    if (sizes.empty() && vocabulary > 0) {
      for (int64_t i = 0; i < parts; ++i) {
        sizes.push_back(vocabulary / parts + (i < vocabulary % parts ? 1 : 0));
      }
    }
    if (static_cast<int64_t>(sizes.size()) != parts) {
      fail(ErrorCode::InvalidFile,
           "{}: gives the likeliest of {} parts of the vocabulary, meta.yaml's lm_head_chunk_sizes "
           "or vocab_size tell {}",
           head.name(), parts, sizes.size());
    }
    for (const int64_t size : sizes) {
      offsets_.push_back(vocab_size_);
      vocab_size_ += size;
      if (vocab_size_ > std::numeric_limits<int32_t>::max()) {
        fail(ErrorCode::InvalidFile, "{}: a vocabulary of {} tokens", head.name(), vocab_size_);
      }
    }
    offsets_.push_back(vocab_size_);
  }

  std::vector<Segment> segments(int64_t count) const {
    std::vector<Segment> result;
    for (int64_t i = 0; i < count;) {
      const int64_t position = position_ + i;
      Segment segment;
      segment.first = i;
      segment.rotated = window_ > 0 && position >= window_;
      // The last token has to go through a single step.
      int64_t left = count - 1 - i;
      if (window_ > 0 && !segment.rotated) left = std::min(left, window_ - position);
      const bool allowed = batch_ > 1 && (!segment.rotated || rotated_batches_);
      const int64_t size = allowed ? batch_sizes_.at_most(std::min(left, batch_)) : 1;
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
      for (size_t i = 0; i < parts_.chunks.size(); ++i) {
        const bool last = i + 1 == parts_.chunks.size();
        // Every token's row is needed: the last part's batches have none.
        const auto& mine = last && every ? singles(runs) : runs;
        hidden = run_chunk(i, mine, ids, hidden, every && last, use);
        if (trace != nullptr) {
          trace->push_back({parts_.chunks[i]->name(), width_, {hidden.begin(), hidden.end()}});
        }
      }
      if (parts_.head) run_head(hidden, every, use);
    } catch (...) {
      // Slots that were written are written again; a cache that rotated cannot be turned back.
      if (window_ > 0 && position_ + count > window_) reset();
      throw;
    }
    position_ += count;
  }

  // The hidden states of all tokens. Valid until the next use of the embeddings or hidden_.
  std::span<const float> embed(std::span<const int32_t> ids) {
    if (!parts_.embeddings) return {};
    Part& part = *parts_.embeddings;
    const auto width = static_cast<size_t>(width_);
    if (ids.size() == 1 && !low_memory_ && part.steps().one) {
      part.one().run_ids(ids, 0, state_);
      return part.one().hidden();
    }
    hidden_.resize(ids.size() * width);
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
      padded_.assign(ids.begin() + static_cast<int64_t>(i),
                     ids.begin() + static_cast<int64_t>(i + real));
      padded_.resize(size, 0);
      StepRunner& runner = size == 1 ? part.one() : part.batch(static_cast<int64_t>(size));
      runner.run_ids(padded_, 0, state_);
      std::copy_n(runner.hidden().begin(), real * width, hidden_.begin() + i * width);
      i += real;
    }
    part.release();
    return hidden_;
  }

  StepRunner& runner_of(size_t chunk, const Segment& segment) {
    Part& part = *parts_.chunks[chunk];
    if (!segment.rotated) return segment.batch ? part.batch(segment.count) : part.one();
    Part* rotated = parts_.rotated.empty() ? nullptr : parts_.rotated[chunk].get();
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
    Part& part = *parts_.chunks[index];
    const auto width = static_cast<size_t>(width_);
    const bool gives_rows = !parts_.head && index + 1 == parts_.chunks.size();
    std::span<const float> result;
    if (runs.size() > 1 || low_memory_) hidden_.resize(ids.size() * width);
    for (const Segment& segment : runs) {
      check_cancel();
      StepRunner& runner = runner_of(index, segment);
      const auto first = static_cast<size_t>(segment.first);
      const auto count = static_cast<size_t>(segment.count);
      const int64_t position = position_ + segment.first;
      if (width_ == 0) {
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
      if (runs.size() == 1 && !low_memory_) continue;
      // The rows lie where they came from; a prefill of the last chunk has one that nobody needs.
      const size_t rows = std::min(count * width, result.size());
      std::copy_n(result.begin(), rows, hidden_.begin() + first * width);
      result = hidden_;
    }
    part.release();
    if (!parts_.rotated.empty() && parts_.rotated[index]) parts_.rotated[index]->release();
    return result;
  }

  template <typename Use>
  void run_head(std::span<const float> hidden, bool every, Use&& use) {
    const auto width = static_cast<size_t>(width_);
    for (size_t row = every ? 0 : hidden.size() / width - 1; row < hidden.size() / width; ++row) {
      check_cancel();
      StepRunner& runner = parts_.head->one();
      runner.run_hidden(hidden.subspan(row * width, width), 0, state_);
      take_row(runner, use);
    }
    parts_.head->release();
  }

  template <typename Use>
  void take_row(const StepRunner& runner, Use&& use) {
    if (greedy_only_) {
      take_likeliest(runner);
    } else {
      runner.copy_logits(runner.logit_rows() - 1, row_.data());
    }
    logits_ = row_;
    use(logits_);
  }

  void take_likeliest(const StepRunner& runner) {
    const auto values = runner.argmax_values();
    const auto indices = runner.argmax_indices();
    const auto best =
        static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    const int64_t id = indices[best] + offsets_[best];
    if (indices[best] < 0 || id >= offsets_[best + 1]) {
      fail(ErrorCode::InvalidFile, "argmax_idx {} is {}; that part of the vocabulary has {} tokens",
           best + 1, indices[best], offsets_[best + 1] - offsets_[best]);
    }
    std::fill(row_.begin(), row_.end(), -std::numeric_limits<float>::infinity());
    row_[static_cast<size_t>(id)] = values[best];
    likeliest_ = static_cast<int32_t>(id);
  }

  static constexpr int64_t kMostIds = 256;  // of a run of embeddings
  std::optional<PackageFolder> folder_;     // what was unpacked stays
  Parts parts_;
  bool low_memory_;
  engine::State state_;
  int64_t context_ = 0, vocab_size_ = 0, position_ = 0;
  int64_t width_ = 0;           // of hidden states; 0: the only chunk takes ids
  int64_t window_ = 0;          // 0: no rotated functions
  int64_t declared_batch_ = 1;  // the largest of prefill
  int64_t batch_ = 1;           // used at most; 1: token by token
  AxisSizes batch_sizes_;
  bool rotated_batches_ = false;
  bool greedy_only_ = false;
  std::vector<int64_t> offsets_;  // of the vocabulary's parts, with the end; argmax only
  std::vector<float> hidden_, row_;
  std::vector<int32_t> padded_;
  std::span<const float> logits_;
  std::optional<int32_t> likeliest_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_anemll_model(PackageFolder folder, const AnemllFiles& files,
                                                 const std::optional<AnemllMeta>& meta,
                                                 ThreadPool& pool, const AnemllOptions& options) {
  Parts parts;
  const Part::Options part_options{options.adapter, options.low_memory, options.cache};
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
  return std::make_unique<AnemllModel>(std::move(folder), std::move(parts), meta, options);
}

std::unique_ptr<LanguageModel> make_single_anemll_model(const std::filesystem::path& package,
                                                        ThreadPool& pool,
                                                        const AnemllOptions& options) {
  Parts parts;
  parts.chunks.push_back(std::make_unique<Part>(
      package, package.filename().string(),
      Part::Options{options.adapter, options.low_memory, options.cache}, parts.states, pool));
  return std::make_unique<AnemllModel>(std::nullopt, std::move(parts), std::nullopt, options);
}

}  // namespace pippin::generate
