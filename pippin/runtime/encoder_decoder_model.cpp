#include "pippin/runtime/encoder_decoder_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/encoder_decoder.h"
#include "pippin/families/ggml.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/runtime/encoder_decoder_sequence.h"
#include "pippin/runtime/package/fixed_part.h"
#include "pippin/runtime/package/functions.h"
#include "pippin/runtime/package/model_digest.h"
#include "pippin/runtime/package/package_ports.h"
#include "pippin/runtime/package/step_runner.h"

namespace pippin::runtime {
namespace {

namespace encoder_decoder = families::encoder_decoder;
namespace stateful = families::stateful;

EncoderDecoderSchema limited_schema(const mil::Model& model, const LoadOptions& options) {
  EncoderDecoderSchema schema = encoder_decoder_schema(model);
  if (options.context == 0) return schema;
  schema.most_target = std::min(options.context, schema.most_target);
  if (!schema.source) schema.most_source = std::min(options.context, schema.most_source);
  return schema;
}

std::optional<size_t> look_for_port(std::span<const engine::Port> ports, std::string_view name) {
  const auto found =
      std::find_if(ports.begin(), ports.end(), [&](const auto& port) { return port.name == name; });
  if (found == ports.end()) return std::nullopt;
  return static_cast<size_t>(found - ports.begin());
}

}  // namespace

EncoderDecoderModel::Step::Step(engine::Execution made)
    : execution(std::move(made)),
      ids(find_port(execution.plan().inputs(), stateful::kIds)),
      mask(find_port(execution.plan().inputs(), stateful::kMask)),
      logits(find_port(execution.plan().outputs(), stateful::kLogits)),
      source_mask(look_for_port(execution.plan().inputs(), encoder_decoder::kSourceMask)),
      shapes(execution.plan().inputs().size()) {}

EncoderDecoderModel::EncoderDecoderModel(const mil::Model& model, ThreadPool& pool,
                                         const LoadOptions& options)
    : program_(model),
      pool_(pool),
      compute_(options.compute),
      schema_(limited_schema(model, options)),
      encoder_(open_encoder(options.encoder)),
      encode_(make(encoder_ ? encoder_decoder::kAttend : encoder_decoder::kEncode,
                   {1, schema_.most_source})),
      step_(make(families::kMain, {1, 1})),
      several_(make(families::kMain, {2, std::min(kMostAtOnce, schema_.most_target)})) {
  engine::State state = new_state();
  const int64_t source = schema_.masks_source ? 1 : schema_.most_source;
  const int64_t vocabulary = std::ssize(decode({&schema_.start, 1}, 0, source, state, true));
  const bool hears = schema_.source.has_value();
  tell({.context = schema_.most_target + (hears ? 0 : schema_.most_source),
        .vocab_size = vocabulary,
        .capabilities =
            {.truncate = hears, .fork = true, .many_sequences = true, .shares_passes = true},
        .source = schema_.source});
}

engine::Execution EncoderDecoderModel::make(const char* function, mil::SizeRange query) const {
  const mil::SizeRange one{1, 1};
  engine::PlanOptions options;
  options.compute = compute_;
  // Sequences share passes of one token, which needs rows that do not depend on their number.
  options.compute.batch_invariant = query.upper == 1;
  auto& ranges = options.input_ranges;
  if (std::string_view(function) == encoder_decoder::kEncode) {
    if (!schema_.source) ranges[encoder_decoder::kSourceIds] = {one, query};
  } else if (std::string_view(function) != encoder_decoder::kAttend) {
    ranges[stateful::kIds] = {one, query};
  }
  if (std::string_view(function) == encoder_decoder::kAlign) {
    ranges[stateful::kMask] = {one, one, query, query};
  }
  if (std::string_view(function) == families::kMain) {
    ranges[stateful::kMask] = {one, one, query, {query.lower, schema_.most_target}};
    if (schema_.masks_source) {
      ranges[encoder_decoder::kSourceMask] = {one, one, one, {1, schema_.most_source}};
    }
  }
  return engine::Execution(engine::Plan::make(program_, function, options), pool_);
}

EncoderDecoderModel::~EncoderDecoderModel() = default;

std::unique_ptr<FixedPart> EncoderDecoderModel::open_encoder(const std::string& package) const {
  if (package.empty()) return nullptr;
  const mil::FunctionDescription* const attend =
      find_description(program_, encoder_decoder::kAttend);
  if (attend == nullptr || !schema_.source) {
    fail(ErrorCode::Unsupported,
         "{}: the model has no function {}, which takes an encoder's states", package,
         encoder_decoder::kAttend);
  }
  auto part = std::make_unique<FixedPart>(package, package, compute_);
  constexpr const char* kInputs[] = {families::ggml::kFeatures};
  check_known_inputs(*part, kInputs);
  const SourceForm& source = *schema_.source;
  input_shape(*part, families::ggml::kFeatures, true, {1, source.bins, source.frames});
  part->prepare(pool_);
  output_shape(*part, families::ggml::kStates, attend->inputs.front().shape);
  return part;
}

engine::State EncoderDecoderModel::new_state() {
  std::vector<mil::Feature> states;
  for (const mil::FunctionDescription& function : program_.functions) {
    states.insert(states.end(), function.states.begin(), function.states.end());
  }
  return spare_states_.take(states, compute_);
}

bool EncoderDecoderModel::is_cross(const mil::Feature& state) {
  return state.name == encoder_decoder::kCrossKeys || state.name == encoder_decoder::kCrossValues;
}

void EncoderDecoderModel::encode(std::span<const int32_t> source, engine::State& state) {
  encode_.bind({{1, std::ssize(source)}}, state);
  ranges::copy(source, encode_.int_input(0).begin());
  encode_.run_cancellable();
}

int64_t EncoderDecoderModel::encode(const Source& source, engine::State& state) {
  std::vector<int64_t> shape = {1};
  shape.insert(shape.end(), source.shape.begin(), source.shape.end());
  std::span<const float> values = source.values;
  encoded_ = 0;
  if (encoder_) {
    give_input(*encoder_, 0, values);
    encoder_->execution().run_cancellable();
    const size_t states = encoder_->output_port(families::ggml::kStates);
    values = encoder_->output(states);
    const std::span<const int64_t> dims = encoder_->execution().output_dims(states);
    shape.assign(dims.begin(), dims.end());
  }
  encode_.bind({shape}, state);
  ranges::copy(values, encode_.float_input(0).begin());
  encode_.run_cancellable();
  encoded_ = state.id();
  if (!schema_.masks_source) return schema_.most_source;
  const auto dims =
      encode_.output_dims(find_port(encode_.plan().outputs(), encoder_decoder::kStates));
  if (dims.size() != 3 || dims[1] < 1 || dims[1] > schema_.most_source) {
    fail(ErrorCode::InvalidFile, "function {}: output {} of shape [{}] with up to {} states",
         encoder_decoder::kEncode, encoder_decoder::kStates, fmt::join(dims, ", "),
         schema_.most_source);
  }
  return dims[1];
}

std::optional<HiddenStates> EncoderDecoderModel::encoded(uint64_t state) const {
  if (encoded_ != state) return std::nullopt;
  const size_t port = find_port(encode_.plan().outputs(), encoder_decoder::kStates);
  const std::span<const float> states = encode_.float_output(port);
  return HiddenStates{
      encoder_decoder::kEncode, encode_.output_dims(port).back(), {states.begin(), states.end()}};
}

void EncoderDecoderModel::Step::put(std::span<const int32_t> tokens, int64_t past, int64_t source,
                                    engine::State& state, size_t lane) {
  const int64_t query = std::ssize(tokens), end = past + query;
  shapes[ids].assign({1, query});
  shapes[mask].assign({1, 1, query, end});
  if (source_mask) shapes[*source_mask].assign({1, 1, 1, source});
  execution.bind(shapes, state, lane);
  ranges::copy(tokens, execution.int_input(ids, lane).begin());
  if (!execution.put_causal_mask(mask, past, lane)) {
    fill_causal_mask(execution.float_input(mask, lane), query, past, end);
  }
  if (!source_mask) return;
  const std::span<float> seen = execution.float_input(*source_mask, lane);
  std::fill(seen.begin(), seen.end(), 0.0f);
}

std::span<const float> EncoderDecoderModel::Step::last_logits(int64_t query, size_t lane) const {
  const auto width = static_cast<size_t>(execution.output_dims(logits, lane).back());
  return execution.float_output(logits, static_cast<size_t>(query - 1) * width, width, lane);
}

std::span<const float> EncoderDecoderModel::decode(std::span<const int32_t> ids, int64_t past,
                                                   int64_t source, engine::State& state,
                                                   bool last) {
  const int64_t query = std::ssize(ids);
  Step& step = query == 1 ? step_ : several_;
  step.put(ids, past, source, state, 0);
  check_cancel();
  if (!last) {
    step.execution.run();
    return step.execution.float_output(step.logits);
  }
  step.execution.run(0, engine::WantedRows{query - 1, query});
  return step.last_logits(query, 0);
}

void EncoderDecoderModel::decode_together(std::span<const NextToken> tokens) {
  step_.execution.reserve_lanes(tokens.size());
  while (lanes_.size() < tokens.size()) lanes_.push_back(lanes_.size());
  for (size_t lane = 0; lane < tokens.size(); ++lane) {
    const NextToken& token = tokens[lane];
    step_.put({&token.id, 1}, token.past, token.source, token.state, lane);
  }
  check_cancel();
  step_.execution.run_together(std::span(lanes_).first(tokens.size()));
}

CrossAttention EncoderDecoderModel::align(std::span<const int32_t> ids, engine::State& state) {
  if (!align_) align_.emplace(make(encoder_decoder::kAlign, {1, schema_.most_target}));
  const int64_t count = std::ssize(ids);
  const auto inputs = align_->plan().inputs();
  const size_t tokens = find_port(inputs, stateful::kIds),
               mask = find_port(inputs, stateful::kMask);
  std::vector<std::vector<int64_t>> shapes(inputs.size());
  shapes[tokens] = {1, count};
  shapes[mask] = {1, 1, count, count};
  align_->bind(shapes, state);
  ranges::copy(ids, align_->int_input(tokens).begin());
  if (!align_->put_causal_mask(mask, 0)) {
    fill_causal_mask(align_->float_input(mask), count, 0, count);
  }
  align_->run_cancellable();
  const size_t port = find_port(align_->plan().outputs(), encoder_decoder::kAttention);
  const std::span<const float> weights = align_->float_output(port);
  return {.heads = schema_.source->alignment_heads,
          .tokens = count,
          .positions = schema_.most_source,
          .weights = {weights.begin(), weights.end()}};
}

std::unique_ptr<Sequence> EncoderDecoderModel::make_sequence() {
  return make_encoder_decoder_sequence(
      std::static_pointer_cast<EncoderDecoderModel>(shared_from_this()));
}

void EncoderDecoderModel::feed_together(std::span<Sequence* const> sequences) {
  if (!feed_encoder_decoders_together(*this, sequences)) Model::feed_together(sequences);
}

void EncoderDecoderModel::add_to(Digest& digest) {
  digest.update(as_byte_span(std::string_view(encoder_decoder::kName)));
  add_program(digest, program_);
  if (encoder_) encoder_->add_to(digest);
}

}  // namespace pippin::runtime
