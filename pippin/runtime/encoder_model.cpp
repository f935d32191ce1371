#include "pippin/runtime/encoder_model.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"

namespace pippin::runtime {
namespace {

namespace family = families::encoder;

// Tokens of one run: their widest values then fit the cache of a core or two.
constexpr int64_t kTokensAtOnce = 1024;
constexpr int64_t kShortest = 32;  // the longest text of the first class

const mil::Feature* find_feature(const std::vector<mil::Feature>& features, const char* name) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const mil::Feature& one) { return one.name == name; });
  return found == features.end() ? nullptr : &*found;
}

int64_t number_of(const mil::Model& model, const char* key, int64_t fallback) {
  const auto found = model.metadata.user_defined.find(key);
  if (found == model.metadata.user_defined.end()) return fallback;
  const int64_t number = std::strtoll(found->second.c_str(), nullptr, 10);
  return number > 0 ? number : fallback;
}

// The most along an axis of the ids.
int64_t most(const mil::Feature& ids, size_t axis) {
  if (ids.ranges.empty()) return ids.shape.at(axis);
  const int64_t upper = ids.ranges.at(axis).upper;
  return upper < 0 ? std::numeric_limits<int32_t>::max() : upper;
}

const mil::FunctionDescription& function_of(const mil::Model& model) {
  return model.description(model.default_function);
}

}  // namespace

// A plan for texts of some lengths.
struct EncoderModel::LengthClass {
  int64_t max_length, max_batch;
  engine::Execution execution;
  size_t output;
};

bool EncoderModel::takes(const mil::Model& model) {
  if (model.kind != mil::ModelKind::MlProgram) return false;
  const mil::FunctionDescription& function = function_of(model);
  const mil::Feature* ids = find_feature(function.inputs, family::kIds);
  const mil::Feature* mask = find_feature(function.inputs, family::kMask);
  return ids != nullptr && mask != nullptr && ids->shape.size() == 2 && mask->shape.size() == 2 &&
         function.states.empty() &&
         (find_feature(function.outputs, family::kEmbedding) != nullptr ||
          find_feature(function.outputs, family::kLogits) != nullptr);
}

EncoderModel::EncoderModel(std::shared_ptr<const mil::Model> model,
                           std::shared_ptr<ThreadPool> pool, const LoadOptions& options)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      compute_(options.compute),
      state_(std::vector<mil::Feature>(), options.compute) {
  if (!takes(*model_)) {
    fail(
        ErrorCode::Unsupported,
        "the program neither embeds nor scores texts: it has to take {} and {} (batch, length) and "
        "give {} or {}",
        family::kIds, family::kMask, family::kEmbedding, family::kLogits);
  }
  const mil::FunctionDescription& function = function_of(*model_);
  const mil::Feature& ids = *find_feature(function.inputs, family::kIds);
  scores_ = find_feature(function.outputs, family::kEmbedding) == nullptr;
  const auto score = model_->metadata.user_defined.find(family::kScoreKey);
  sigmoid_ = scores_ &&
             (score == model_->metadata.user_defined.end() || score->second == family::kSigmoid);
  skips_prompts_ = find_feature(function.inputs, family::kPoolingMask) != nullptr;
  max_batch_ = most(ids, 0);
  max_tokens_ = std::min(most(ids, 1), number_of(*model_, family::kMaxTokensKey, most(ids, 1)));
  if (options.context > 0) max_tokens_ = std::min(max_tokens_, options.context);
  constexpr int64_t kAny = std::numeric_limits<int32_t>::max();
  vocabulary_ = number_of(*model_, family::kVocabularyKey, kAny);
  types_ = number_of(*model_, family::kTypesKey, kAny);
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
  auto& slot = classes_[upper];
  if (slot != nullptr) return *slot;
  const mil::FunctionDescription& function = function_of(*model_);
  const mil::Feature& ids = *find_feature(function.inputs, family::kIds);
  const int64_t batch = std::min(max_batch_, std::max<int64_t>(kTokensAtOnce / lower, 1));
  engine::PlanOptions options;
  options.compute = compute_;
  for (const mil::Feature& input : function.inputs) {
    // What is fixed stays so.
    mil::SizeRange rows{1, batch}, columns{lower, upper};
    if (ids.ranges.empty()) {
      rows = {ids.shape[0], ids.shape[0]};
      columns = {ids.shape[1], ids.shape[1]};
    }
    options.input_ranges[input.name] = {rows, columns};
  }
  const char* wanted = scores_ ? family::kLogits : family::kEmbedding;
  auto plan = engine::Plan::make(*model_, model_->default_function, options);
  const auto outputs = plan->outputs();
  const auto port = std::find_if(outputs.begin(), outputs.end(),
                                 [&](const engine::Port& one) { return one.name == wanted; });
  if (port == outputs.end() || !port->is_float) {
    fail(ErrorCode::Unsupported, "the output {} is none of floats", wanted);
  }
  log_debug("{} to {} tokens, {} texts:\n{}", lower, upper, batch, plan->describe());
  const auto index = static_cast<size_t>(port - outputs.begin());
  slot = std::make_unique<LengthClass>(
      LengthClass{upper, batch, engine::Execution(std::move(plan), *pool_), index});
  return *slot;
}

void EncoderModel::run_together(std::span<const EncoderText> texts, std::span<const size_t> rows,
                                std::vector<std::vector<float>>& results) {
  size_t length = 0;
  for (const size_t row : rows) length = std::max(length, texts[row].ids.size());
  LengthClass& own = class_of(static_cast<int64_t>(length));
  engine::Execution& execution = own.execution;
  const auto inputs = execution.plan().inputs();
  const std::vector<int64_t> shape = {static_cast<int64_t>(rows.size()),
                                      static_cast<int64_t>(length)};
  execution.bind(std::vector<std::vector<int64_t>>(inputs.size(), shape), state_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::span<int32_t> values = execution.int_input(i);
    std::fill(values.begin(), values.end(), 0);
    for (size_t k = 0; k < rows.size(); ++k) {
      const EncoderText& text = texts[rows[k]];
      const auto place = values.subspan(k * length, text.ids.size());
      if (inputs[i].name == family::kIds) {
        std::copy(text.ids.begin(), text.ids.end(), place.begin());
      } else if (inputs[i].name == family::kTokenTypes) {
        std::copy(text.types.begin(), text.types.end(), place.begin());
      } else {
        std::fill(place.begin(), place.end(), 1);
        // At least one token is pooled.
        const bool pools = inputs[i].name == family::kPoolingMask;
        const size_t skipped = pools ? std::min(text.unpooled, text.ids.size() - 1) : 0;
        std::fill_n(place.begin(), skipped, 0);
      }
    }
  }
  execution.run_cancellable();
  const auto values = execution.float_output(own.output);
  const size_t width = values.size() / rows.size();
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto row = values.subspan(k * width, width);
    results[rows[k]].assign(row.begin(), row.end());
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
    const int64_t fit = std::min(own.max_batch, std::max<int64_t>(kTokensAtOnce / longest, 1));
    const size_t count = std::min(order.size() - begin, static_cast<size_t>(fit));
    run_together(texts, std::span(order).subspan(begin, count), results);
    begin += count;
  }
  return results;
}

}  // namespace pippin::runtime
