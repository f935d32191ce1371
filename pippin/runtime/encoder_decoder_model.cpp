#include "pippin/runtime/encoder_decoder_model.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/runtime/package/model_digest.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {
namespace {

namespace encoder_decoder = families::encoder_decoder;
namespace stateful = families::stateful;

constexpr int64_t kMostAtOnce = 64;  // tokens of the target that are given

const mil::FunctionDescription* find_function(const mil::Model& model, const char* name) {
  const auto found =
      std::find_if(model.functions.begin(), model.functions.end(),
                   [&](const mil::FunctionDescription& one) { return one.name == name; });
  return found == model.functions.end() ? nullptr : &*found;
}

bool has_input(const mil::FunctionDescription& function, const char* name, size_t rank) {
  return std::any_of(function.inputs.begin(), function.inputs.end(), [&](const auto& input) {
    return input.name == name && input.shape.size() == rank && input.ranges.size() == rank;
  });
}

int64_t most_tokens_of(const mil::Model& model, const LoadOptions& options) {
  if (!EncoderDecoderModel::takes(model)) {
    fail(ErrorCode::Unsupported,
         "not an encoder-decoder program: it must have the "
         "functions {} and {} of the family {}",
         encoder_decoder::kEncode, families::kMain, encoder_decoder::kName);
  }
  const int64_t most =
      find_function(model, encoder_decoder::kEncode)->inputs.front().ranges.at(1).upper;
  return options.context > 0 ? std::min(options.context, most) : most;
}

// The states of both functions; states that both have must agree in shape.
std::vector<mil::Feature> states_of(const mil::Model& model) {
  std::vector<mil::Feature> states;
  for (const char* name : {families::kMain, encoder_decoder::kEncode}) {
    for (const mil::Feature& state : find_function(model, name)->states) states.push_back(state);
  }
  return states;
}

int32_t token_of(const mil::Model& model, const char* key, int32_t fallback) {
  const auto found = model.metadata.user_defined.find(key);
  if (found == model.metadata.user_defined.end()) return fallback;
  return static_cast<int32_t>(std::strtol(found->second.c_str(), nullptr, 10));
}

class EncoderDecoderSequence final : public Sequence {
 public:
  explicit EncoderDecoderSequence(const std::shared_ptr<EncoderDecoderModel>& model)
      : Sequence(model), family_(*model), state_(model->new_state()) {}

 protected:
  void check_room(int64_t added) const override {
    const auto fed_before = position();
    const int64_t used = fed_before == 0 ? 0 : fed_before - source_ + 1;
    if (used + added <= family_.most_tokens()) return;
    fail(ErrorCode::LimitExceeded, "{} tokens {}: the model takes {}", used + added,
         fed_before == 0 ? "of a source" : "written", family_.most_tokens());
  }

  void feed(const Feeding& feeding) override {
    const std::span<const int32_t> all = fed();
    if (feeding.trace != nullptr || (feeding.begin == 0 && feeding.rows == Rows::Every)) {
      fail(ErrorCode::Unsupported, "an encoder-decoder model has logits for generated tokens only");
    }
    if (feeding.begin == 0) {
      source_ = std::ssize(all);
      family_.encode(all, state_);
      const int32_t start = family_.start();
      const std::span<const float> logits = family_.decode({&start, 1}, 0, source_, state_);
      if (family_.first() < 0 || family_.first() >= std::ssize(logits)) {
        take(logits, 1, feeding);
        return;
      }
      std::vector<float> forced(logits.size(), -std::numeric_limits<float>::infinity());
      forced[static_cast<size_t>(family_.first())] = 0;
      take(forced, 1, feeding);
      return;
    }
    const auto total = std::ssize(all);
    for (int64_t begin = feeding.begin; begin < total;) {
      const int64_t count = std::min(total - begin, kMostAtOnce);
      const auto part = all.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
      const auto logits = family_.decode(part, begin - source_ + 1, source_, state_);
      begin += count;
      if (feeding.rows == Rows::Every || begin == total) take(logits, count, feeding);
    }
  }

  int64_t give_up(int64_t before) override { return before; }
  void forget() override {
    state_.reset();
    source_ = 0;
  }
  Earliest find_earliest() const override {
    return {position(), "the source is encoded in one pass and cannot be cut"};
  }
  void copy(const Sequence& other) override {
    const auto& source = static_cast<const EncoderDecoderSequence&>(other);
    state_ = source.state_.clone();
    source_ = source.source_;
  }

 private:
  // Takes the logits after the last of `count` tokens, or after each.
  void take(std::span<const float> logits, int64_t count, const Feeding& feeding) {
    const size_t width = logits.size() / static_cast<size_t>(count);
    const auto row = [&](int64_t index) {
      return logits.subspan(static_cast<size_t>(index) * width, width);
    };
    if (feeding.rows == Rows::Last) ranges::copy(row(count - 1), next_row().begin());
    if (feeding.rows != Rows::Every) return;
    for (int64_t i = 0; i < count; ++i) ranges::copy(row(i), next_row(feeding).begin());
  }

  EncoderDecoderModel& family_;
  engine::State state_;
  int64_t source_ = 0;  // number of source tokens
};

}  // namespace

bool EncoderDecoderModel::takes(const mil::Model& model) {
  const auto* const encode = find_function(model, encoder_decoder::kEncode);
  const auto* const decode = find_function(model, families::kMain);
  return encode != nullptr && decode != nullptr &&
         has_input(*encode, encoder_decoder::kSourceIds, 2) &&
         has_input(*decode, stateful::kIds, 2) && has_input(*decode, stateful::kMask, 4) &&
         has_input(*decode, encoder_decoder::kSourceMask, 4);
}

EncoderDecoderModel::EncoderDecoderModel(const mil::Model& model, ThreadPool& pool,
                                         const LoadOptions& options)
    : program_(model),
      pool_(pool),
      compute_(options.compute),
      most_tokens_(most_tokens_of(model, options)),
      start_(token_of(model, encoder_decoder::kStartKey, 0)),
      first_(token_of(model, encoder_decoder::kFirstKey, -1)),
      encode_(make(encoder_decoder::kEncode, {1, most_tokens_})),
      step_(make(families::kMain, {1, 1})),
      several_(make(families::kMain, {2, std::min(kMostAtOnce, most_tokens_)})) {
  engine::State state = new_state();
  const int64_t vocabulary = std::ssize(decode({&start_, 1}, 0, 1, state));
  tell({.context = 2 * most_tokens_,
        .vocab_size = vocabulary,
        .capabilities = {.fork = true, .many_sequences = true}});
}

engine::Execution EncoderDecoderModel::make(const char* function, mil::SizeRange query) const {
  const mil::SizeRange one{1, 1}, any{1, most_tokens_};
  engine::PlanOptions options;
  options.compute = compute_;
  auto& ranges = options.input_ranges;
  if (std::string_view(function) == encoder_decoder::kEncode) {
    ranges[encoder_decoder::kSourceIds] = {one, query};
  } else {
    ranges[stateful::kIds] = {one, query};
    ranges[stateful::kMask] = {one, one, query, {query.lower, most_tokens_}};
    ranges[encoder_decoder::kSourceMask] = {one, one, one, any};
  }
  return engine::Execution(engine::Plan::make(program_, function, options), pool_);
}

engine::State EncoderDecoderModel::new_state() const {
  return engine::State(states_of(program_), compute_);
}

void EncoderDecoderModel::encode(std::span<const int32_t> source, engine::State& state) {
  encode_.bind({{1, std::ssize(source)}}, state);
  ranges::copy(source, encode_.int_input(0).begin());
  encode_.run_cancellable();
}

std::span<const float> EncoderDecoderModel::decode(std::span<const int32_t> ids, int64_t past,
                                                   int64_t source, engine::State& state) {
  const int64_t query = std::ssize(ids), end = past + query;
  engine::Execution& execution = query == 1 ? step_ : several_;
  const auto inputs = execution.plan().inputs();
  const size_t tokens = find_port(inputs, stateful::kIds);
  const size_t mask = find_port(inputs, stateful::kMask);
  const size_t source_mask = find_port(inputs, encoder_decoder::kSourceMask);
  std::vector<std::vector<int64_t>> shapes(inputs.size());
  shapes[tokens] = {1, query};
  shapes[mask] = {1, 1, query, end};
  shapes[source_mask] = {1, 1, 1, source};
  execution.bind(shapes, state);
  ranges::copy(ids, execution.int_input(tokens).begin());
  if (!execution.put_causal_mask(mask, past)) {
    fill_causal_mask(execution.float_input(mask), query, past, end);
  }
  const std::span<float> seen = execution.float_input(source_mask);
  std::fill(seen.begin(), seen.end(), 0.0f);
  execution.run_cancellable();
  return execution.float_output(find_port(execution.plan().outputs(), stateful::kLogits));
}

std::unique_ptr<Sequence> EncoderDecoderModel::make_sequence() {
  return std::make_unique<EncoderDecoderSequence>(
      std::static_pointer_cast<EncoderDecoderModel>(shared_from_this()));
}

void EncoderDecoderModel::add_to(Digest& digest) {
  digest.update(as_byte_span(std::string_view(encoder_decoder::kName)));
  add_program(digest, program_);
}

}  // namespace pippin::runtime
