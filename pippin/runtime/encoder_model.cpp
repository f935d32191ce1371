#include "pippin/runtime/encoder_model.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/encoder.h"
#include "pippin/runtime/package/step_schema.h"
#include "pippin/runtime/package/vocabulary.h"

namespace pippin::runtime {
namespace {

namespace family = families::encoder;

// Tokens per run: few enough that their widest values fit the cache of a core or two.
constexpr int64_t kTokensAtOnce = 1024;
constexpr int64_t kLogitsAtOnce = int64_t{1}
                                  << 23;  // of all tokens, if each has a row of the vocabulary
constexpr int64_t kShortest = 32;         // longest text of the first class

int64_t number_of(const mil::Model& model, const char* key, int64_t fallback) {
  const auto found = model.metadata.user_defined.find(key);
  if (found == model.metadata.user_defined.end()) return fallback;
  const int64_t number = std::strtoll(found->second.c_str(), nullptr, 10);
  return number > 0 ? number : fallback;
}

EncoderSchema schema_of(const mil::Model& model) {
  auto schema = encoder_schema(model);
  if (schema) return std::move(*schema);
  fail(ErrorCode::Unsupported,
       "the program neither embeds nor scores texts: it has to take {} and {} (batch, length) and "
       "give {}, {} or states",
       family::kIds, family::kMask, family::kEmbedding, family::kLogits);
}

// Only the result of that name; nothing, which means all results, if it is absent.
std::vector<const mil::Var*> output_of(const mil::Model& model, std::string_view name) {
  const auto function = model.program.functions.find(model.default_function);
  if (function == model.program.functions.end()) return {};
  for (const mil::Var* var : function->second->block().outputs()) {
    if (var->name == name) return {var};
  }
  return {};
}

// The number of rows of the table that ids are looked up in.
int64_t table_rows(const mil::Model& model, const EncoderSchema& schema, int64_t fallback) {
  StepSchema step;
  step.function = model.default_function;
  step.tokens = schema.ids;
  step.takes_ids = true;
  return embedding_rows(model, step).value_or(fallback);
}

}  // namespace

// A plan for texts within a range of lengths.
struct EncoderModel::LengthClass {
  int64_t min_length, max_length, max_batch;
  engine::Execution execution;
  size_t output;
};

bool EncoderModel::takes(const mil::Model& model) {
  return encoder_schema(model).has_value();
}

EncoderModel::EncoderModel(std::shared_ptr<const mil::Model> model,
                           std::shared_ptr<ThreadPool> pool, const LoadOptions& options)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      compute_(options.compute),
      schema_(schema_of(*model_)),
      state_(std::vector<mil::Feature>(), options.compute) {
  const auto score = model_->metadata.user_defined.find(family::kScoreKey);
  sigmoid_ = schema_.scores &&
             (score == model_->metadata.user_defined.end() || score->second == family::kSigmoid);
  skips_prompts_ = !schema_.pooling_mask.empty();
  const auto padding = model_->metadata.user_defined.find(family::kPaddingKey);
  sees_padding_ =
      padding != model_->metadata.user_defined.end() && padding->second == family::kSeen;
  max_batch_ = schema_.batch.largest();
  const int64_t longest = schema_.length.largest();
  max_tokens_ = std::min(longest, number_of(*model_, family::kMaxTokensKey, longest));
  if (options.context > 0) max_tokens_ = std::min(max_tokens_, options.context);
  constexpr int64_t kAny = std::numeric_limits<int32_t>::max();
  vocabulary_ = number_of(*model_, family::kVocabularyKey, table_rows(*model_, schema_, kAny));
  types_ = number_of(*model_, family::kTypesKey, kAny);
  const auto kind = model_->metadata.user_defined.find(family::kEmbeddingKey);
  const bool is_sparse =
      kind != model_->metadata.user_defined.end() && kind->second == family::kSparse;
  tokens_at_once_ = is_sparse ? std::clamp<int64_t>(kLogitsAtOnce / vocabulary_, 1, kTokensAtOnce)
                              : kTokensAtOnce;
}

EncoderModel::~EncoderModel() = default;

void EncoderModel::check(const EncoderText& text, size_t number) const {
  const auto length = static_cast<int64_t>(text.ids.size());
  if (length < 1 || length > max_tokens_) {
    fail(ErrorCode::InvalidArgument, "text {} has {} tokens: 1 to {} are possible", number, length,
         max_tokens_);
  }
  if (!text.types.empty() && text.types.size() != text.ids.size()) {
    fail(ErrorCode::InvalidArgument, "text {} has {} tokens and {} types of them", number, length,
         text.types.size());
  }
  const auto refuse = [&](const std::vector<int32_t>& values, int64_t count, const char* what) {
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [&](int32_t value) { return value < 0 || value >= count; });
    if (bad == values.end()) return;
    fail(ErrorCode::InvalidArgument, "text {}: {} {}, the model has {}", number, what, *bad, count);
  };
  refuse(text.ids, vocabulary_, "token id");
  refuse(text.types, types_, "token type");
}

EncoderModel::LengthClass& EncoderModel::class_of(int64_t length) {
  int64_t upper = kShortest, lower = 1;
  while (upper < length) {
    lower = upper + 1;
    upper *= 2;
  }
  upper = std::min(upper, max_tokens_);
  if (schema_.length.is_range()) {
    // Shorter texts are padded to the least length.
    lower = std::max(lower, schema_.length.smallest());
    upper = std::max(upper, lower);
  } else {
    lower = upper = schema_.length.at_least(length);
  }
  auto& slot = classes_[upper];
  if (slot != nullptr) return *slot;
  const int64_t fit = std::min(max_batch_, std::max<int64_t>(tokens_at_once_ / lower, 1));
  const int64_t batch = std::max(schema_.batch.at_most(fit), schema_.batch.smallest());
  engine::PlanOptions options;
  options.compute = compute_;
  for (const mil::Feature& input : model_->description(model_->default_function).inputs) {
    options.input_ranges[input.name] = {{schema_.batch.smallest(), batch}, {lower, upper}};
  }
  options.outputs = output_of(*model_, schema_.output);
  auto plan = engine::Plan::make(*model_, model_->default_function, options);
  const auto outputs = plan->outputs();
  const auto port = std::find_if(outputs.begin(), outputs.end(), [&](const engine::Port& one) {
    return one.name == schema_.output;
  });
  if (port == outputs.end() || !port->is_float) {
    fail(ErrorCode::Unsupported, "the output {} is not of floats", schema_.output);
  }
  log_debug("{} to {} tokens, {} texts:\n{}", lower, upper, batch, plan->describe());
  const auto index = static_cast<size_t>(port - outputs.begin());
  slot = std::make_unique<LengthClass>(
      LengthClass{lower, upper, batch, engine::Execution(std::move(plan), *pool_), index});
  return *slot;
}

// Fills a row of an input with the text's numbers, then zeros.
void EncoderModel::fill(engine::Execution& execution, size_t port, const EncoderText& text,
                        size_t row, size_t length) const {
  const std::string& name = execution.plan().inputs()[port].name;
  std::vector<int32_t> values(length, 0);
  if (name == schema_.ids) {
    std::copy(text.ids.begin(), text.ids.end(), values.begin());
  } else if (name == schema_.types) {
    std::copy(text.types.begin(), text.types.end(), values.begin());
  } else if (name == schema_.positions) {
    std::iota(values.begin(), values.end(), 0);
  } else if (name == schema_.mask || name == schema_.pooling_mask) {
    std::fill_n(values.begin(), text.ids.size() - std::min(text.unseen, text.ids.size() - 1), 1);
    // At least one token is pooled.
    const bool pools = name == schema_.pooling_mask;
    std::fill_n(values.begin(), pools ? std::min(text.unpooled, text.ids.size() - 1) : 0, 0);
  }
  const auto put = [&](auto input) {
    std::copy(values.begin(), values.end(), input.subspan(row * length, length).begin());
  };
  if (execution.plan().inputs()[port].is_float) {
    put(execution.float_input(port));
  } else {
    put(execution.int_input(port));
  }
}

// The mean of the first rows, which belong to tokens.
std::vector<float> EncoderModel::pooled(std::span<const float> states, size_t tokens) const {
  const size_t width = states.size() / tokens;
  std::vector<float> mean(width);
  for (size_t i = 0; i < width; ++i) {
    double sum = 0;
    for (size_t token = 0; token < tokens; ++token) sum += double{states[token * width + i]};
    mean[i] = static_cast<float>(sum / static_cast<double>(tokens));
  }
  return mean;
}

void EncoderModel::run_together(std::span<const EncoderText> texts, std::span<const size_t> rows,
                                std::vector<std::vector<float>>& results) {
  size_t length = 0;
  for (const size_t row : rows) length = std::max(length, texts[row].ids.size());
  LengthClass& own = class_of(static_cast<int64_t>(length));
  length = std::max(length, static_cast<size_t>(own.min_length));
  // If the batch needs more rows, the last text is repeated.
  const auto count = static_cast<size_t>(schema_.batch.at_least(static_cast<int64_t>(rows.size())));
  engine::Execution& execution = own.execution;
  const auto inputs = execution.plan().inputs();
  const std::vector<int64_t> shape = {static_cast<int64_t>(count), static_cast<int64_t>(length)};
  execution.bind(std::vector<std::vector<int64_t>>(inputs.size(), shape), state_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t k = 0; k < count; ++k) {
      fill(execution, i, texts[rows[std::min(k, rows.size() - 1)]], k, length);
    }
  }
  execution.run_cancellable();
  const auto values = execution.float_output(own.output);
  const size_t width = values.size() / count;
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto row = values.subspan(k * width, width);
    const size_t tokens = texts[rows[k]].ids.size();
    if (schema_.of_tokens) {
      const auto own = row.first(width / length * tokens);
      results[rows[k]].assign(own.begin(), own.end());
    } else if (schema_.gives_states) {
      results[rows[k]] = pooled(row.first(width / length * tokens), tokens);
    } else {
      results[rows[k]].assign(row.begin(), row.end());
    }
  }
}

std::vector<std::vector<float>> EncoderModel::run(std::span<const EncoderText> texts) {
  for (size_t i = 0; i < texts.size(); ++i) check(texts[i], i);
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].ids.size() > texts[b].ids.size(); });
  std::vector<std::vector<float>> results(texts.size());
  const std::lock_guard lock(mutex_);
  for (size_t begin = 0; begin < order.size();) {
    check_cancel();
    const auto longest = static_cast<int64_t>(texts[order[begin]].ids.size());
    const LengthClass& own = class_of(longest);
    const int64_t fit = std::min(own.max_batch, std::max<int64_t>(tokens_at_once_ / longest, 1));
    size_t count = std::min(order.size() - begin, static_cast<size_t>(fit));
    if (sees_padding_) {
      const auto first = order.begin() + static_cast<int64_t>(begin);
      const auto other = std::find_if(first, first + static_cast<int64_t>(count), [&](size_t text) {
        return std::ssize(texts[text].ids) != longest;
      });
      count = static_cast<size_t>(other - first);
    }
    run_together(texts, std::span(order).subspan(begin, count), results);
    begin += count;
  }
  return results;
}

}  // namespace pippin::runtime
