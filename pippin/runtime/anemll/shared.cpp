#include "pippin/runtime/anemll/shared.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/anemll.h"
#include "pippin/runtime/package/vocabulary.h"

namespace pippin::runtime {
namespace {

namespace anemll = families::anemll;

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

// Checks the sizes that all parts must agree on.
void check_parts(const AnemllParts& parts) {
  const auto all = parts.all();
  for (const char* key :
       {anemll::kContextKey, anemll::kNumChunksKey, anemll::kBatchKey, anemll::kStateLengthKey}) {
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
    if (const auto number = metadata_number(part, anemll::kChunkKey);
        number && *number != static_cast<int64_t>(i) + 1 && parts.chunks.size() > 1) {
      fail(ErrorCode::InvalidFile, "{}: its metadata says chunk {}, its name {}", part.name(),
           *number, i + 1);
    }
  }
}

// Checks that each part's output has the width of the next part's input.
void check_widths(const AnemllParts& parts) {
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
        // Embeddings may have an output of any name.
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

}  // namespace

std::vector<Part*> AnemllParts::all() const {
  std::vector<Part*> result;
  if (embeddings) result.push_back(embeddings.get());
  for (const auto& chunk : chunks) result.push_back(chunk.get());
  for (const auto& part : rotated) {
    if (part) result.push_back(part.get());
  }
  if (head) result.push_back(head.get());
  return result;
}

AnemllShared::AnemllShared(std::optional<PackageFolder> given_folder, AnemllParts given_parts,
                           const std::optional<AnemllMeta>& meta, const LoadOptions& given_options)
    : folder(std::move(given_folder)), parts(std::move(given_parts)), options(given_options) {
  check_widths(parts);
  check_parts(parts);
  check_adapter(options.adapter);
  const Part& first = *parts.chunks.front();
  const StepSchema& step = *first.steps().one;
  context = step.end.largest();
  for (const std::optional<int64_t> limit :
       {meta && meta->context_length > 0 ? std::optional(meta->context_length) : std::nullopt,
        metadata_number(first, anemll::kContextKey),
        options.context > 0 ? std::optional(options.context) : std::nullopt}) {
    if (limit && *limit > 0) context = std::min(context, *limit);
  }
  find_window(meta);
  decide_batches(meta, options.prefill);
  width = parts.embeddings ? step.width : 0;
  for (Part* part : parts.all()) part->prepare(batch > 1);
  find_vocabulary(meta);
}

void AnemllShared::check_adapter(const std::string& adapter) const {
  if (adapter.empty()) return;
  std::vector<std::string> known;
  for (const Part* part : parts.all()) {
    if (part->has_adapter()) return;
    known.insert(known.end(), part->adapters().begin(), part->adapters().end());
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  fail_no_adapter(adapter, known);
}

// Finds where the rotated functions begin: at the window in meta.yaml, or at the local cache's
// size.
void AnemllShared::find_window(const std::optional<AnemllMeta>& meta) {
  const Part& first = *parts.chunks.front();
  const bool rotates =
      first.steps().one_rotated || (!parts.rotated.empty() && parts.rotated.front());
  if (!rotates) return;
  if (meta) window = meta->sliding_window;
  if (window == 0) {
    for (const mil::Feature& state : parts.states.features()) {
      const bool local = state.name.find("local") != state.name.npos;
      if (local && state.shape.size() == 4) window = state.shape[2];
    }
  }
  if (window == 0) {
    fail(ErrorCode::InvalidFile,
         "{}: has functions for a full sliding window, and neither meta.yaml's sliding_window nor "
         "a state of local layers says its size",
         first.name());
  }
}

void AnemllShared::decide_batches(const std::optional<AnemllMeta>& meta, PrefillMode mode) {
  for (const auto& chunk : parts.chunks) {
    const auto& step = chunk->steps().batch;
    const int64_t size = step ? step->query.largest() : 1;
    const bool fits = step && !step->end.is_range() && step->query.smallest() > 0;
    if (&chunk == &parts.chunks.front()) {
      declared_batch = fits ? size : 1;
    } else if (fits && declared_batch > 1 && size != declared_batch) {
      fail_different(*parts.chunks.front(), "the batch of prefill", declared_batch, *chunk, size);
    }
    if (!fits) declared_batch = 1;
  }
  if (parts.chunks.front()->steps().batch) {
    batch_sizes = parts.chunks.front()->steps().batch->query;
  }
  const int64_t most = std::max<int64_t>(options.prompt_run(), 1);
  const bool safe = mode == PrefillMode::Batches || !meta || meta->prefill_is_safe;
  batch = mode == PrefillMode::Steps || !safe ? 1 : std::min(declared_batch, most);
  if (batch_sizes.empty() || batch_sizes.at_most(std::max<int64_t>(batch, 1)) < 2) {
    batch = declared_batch > most && batch > 1 ? declared_batch : 1;
  }
  // In the rotated prefill of ANEMLL's own packages, tokens of a batch see later tokens of that
  // batch.
  const Part& last = *parts.chunks.back();
  rotated_batches = last.is_own() && last.steps().batch_rotated.has_value() && batch > 1;
}

void AnemllShared::find_vocabulary(const std::optional<AnemllMeta>& meta) {
  Part& head = parts.head ? *parts.head : *parts.chunks.back();
  StepRunner& runner = head.one();
  engine::State state(parts.states.features(), options.compute);
  runner.bind(1, 0, state);
  const StepSchema& step = runner.schema();
  if (!step.gives_logits() && !step.gives_argmax()) {
    fail(ErrorCode::Unsupported, "{}: gives neither logits nor the most likely token", head.name());
  }
  greedy_only = !step.gives_logits();
  if (!greedy_only) {
    vocab_size = runner.vocab_size();
  } else {
    find_argmax(runner, head, meta);
  }
  if (meta && meta->vocab_size > 0 && !greedy_only && meta->vocab_size < vocab_size) {
    log_debug("{}: {} logits for a vocabulary of {}", head.name(), vocab_size, meta->vocab_size);
  }
  head.release();
}

// Takes the sizes of the vocabulary's parts from the metadata, else equal parts, of which the first
// ones hold the remainder. A vocabulary in one part is as large as its table.
void AnemllShared::find_argmax(StepRunner& runner, const Part& head,
                               const std::optional<AnemllMeta>& meta) {
  const auto count = static_cast<int64_t>(runner.argmax_indices().size());
  std::vector<int64_t> sizes;
  if (meta) sizes = meta->head_sizes;
  int64_t vocabulary = meta ? meta->vocab_size : 0;
  const auto& entries = head.metadata().user_defined;
  if (const auto listed = entries.find(anemll::kHeadSizesKey);
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
  if (vocabulary == 0) vocabulary = metadata_number(head, anemll::kVocabularyKey).value_or(0);
  if (vocabulary == 0 && count == 1) {
    const Part& first = parts.embeddings ? *parts.embeddings : *parts.chunks.front();
    const StepSchema& step = first.steps().one ? *first.steps().one : first.steps().batch.value();
    vocabulary = embedding_rows(first.model(), step).value_or(0);
  }
  if (sizes.empty() && vocabulary > 0) {
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(vocabulary / count + (i < vocabulary % count ? 1 : 0));
    }
  }
  if (static_cast<int64_t>(sizes.size()) != count) {
    fail(ErrorCode::InvalidFile,
         "{}: gives the most likely of {} parts of the vocabulary, meta.yaml's lm_head_chunk_sizes "
         "or vocab_size tell {}",
         head.name(), count, sizes.size());
  }
  if (count > 1 && runner.argmax_values().empty()) {
    fail(ErrorCode::Unsupported,
         "{}: '{}' has the most likely tokens of {} parts of the vocabulary, and no output their "
         "logits",
         head.name(), runner.schema().argmax_index, count);
  }
  argmax = with_context(head.name(), [&] { return ArgmaxHead(sizes); });
  vocab_size = argmax.vocab_size();
}

}  // namespace pippin::runtime
