#include "pippin/runtime/speech/speech_recognizer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/families/speech.h"
#include "pippin/runtime/package/step_runner.h"
#include "pippin/runtime/speech/ctc_decoding.h"

namespace pippin::runtime {
namespace {

namespace speech = families::speech;

// Only the result of that name; nothing, which means all results, if it is absent.
std::vector<const mil::Var*> output_of(const mil::Model& model, const std::string& function,
                                       std::string_view name) {
  const auto found = model.program.functions.find(function);
  if (found == model.program.functions.end()) return {};
  for (const mil::Var* var : found->second->block().outputs()) {
    if (var->name == name) return {var};
  }
  return {};
}

engine::Execution make_encode(const mil::Model& model, const SpeechSchema& schema, ThreadPool& pool,
                              const engine::ComputeOptions& compute) {
  engine::PlanOptions options;
  options.compute = compute;
  auto& range = options.input_ranges[schema.input];
  range = {{1, 1}, {schema.shortest, schema.longest}};
  if (schema.bins > 0) range.push_back({schema.bins, schema.bins});
  options.outputs =
      output_of(model, schema.function, schema.is_transducer ? speech::kEncoded : speech::kLogits);
  return engine::Execution(engine::Plan::make(model, schema.function, options), pool);
}

// A plan for the default shapes of the function's inputs: one token, one frame.
engine::Execution make_step(const mil::Model& model, const char* function, ThreadPool& pool,
                            const engine::ComputeOptions& compute) {
  engine::PlanOptions options;
  options.compute = compute;
  for (const mil::Feature& input : model.description(function).inputs) {
    auto& ranges = options.input_ranges[input.name];
    ranges.reserve(input.shape.size());
    for (const int64_t size : input.shape) ranges.push_back({size, size});
  }
  return engine::Execution(engine::Plan::make(model, function, options), pool);
}

size_t checked_port(std::span<const engine::Port> ports, const char* name, bool is_float = true) {
  const size_t port = find_port(ports, name);
  if (ports[port].is_float == is_float) return port;
  fail(ErrorCode::InvalidFile, "the package's {} is of type {}, {} is expected", name,
       mil::to_string(ports[port].declared), is_float ? "floats" : "integers");
}

size_t output_port(const engine::Execution& execution, const char* name) {
  return checked_port(execution.plan().outputs(), name);
}

size_t input_port(const engine::Execution& execution, const char* name, bool is_float = true) {
  return checked_port(execution.plan().inputs(), name, is_float);
}

// Input shapes of a plan with fixed sizes, in its order.
std::vector<std::vector<int64_t>> declared(const mil::Model& model, const char* function,
                                           const engine::Execution& execution) {
  return declared_shapes(execution.plan(), model.description(function));
}

void check_width(const char* what, int64_t width, int64_t needed) {
  if (width == needed) return;
  fail(ErrorCode::InvalidFile, "the package's functions do not fit: {} has {} numbers, not {}",
       what, width, needed);
}

// The last size of an output of three axes.
int64_t last_size(const engine::Execution& execution, size_t port, const char* name) {
  const auto dims = execution.output_dims(port);
  if (dims.size() == 3) return dims.back();
  fail(ErrorCode::InvalidFile, "the package's {} has {} axes, 3 are expected", name, dims.size());
}

}  // namespace

// The functions `predict` and `join`, one token and one frame at a time.
class SpeechRecognizer::Networks final : public TransducerNetworks {
 public:
  Networks(const mil::Model& model, ThreadPool& pool, const engine::ComputeOptions& compute)
      : state_(std::vector<mil::Feature>(), compute),
        predict_(make_step(model, speech::kPredict, pool, compute)),
        join_(make_step(model, speech::kJoin, pool, compute)),
        token_(input_port(predict_, speech::kToken, /*is_float=*/false)),
        hidden_(input_port(predict_, speech::kHidden)),
        cell_(input_port(predict_, speech::kCell)),
        result_(output_port(predict_, speech::kPredicted)),
        next_hidden_(output_port(predict_, speech::kNextHidden)),
        next_cell_(output_port(predict_, speech::kNextCell)),
        encoded_(input_port(join_, speech::kEncoded)),
        predicted_(input_port(join_, speech::kPredicted)),
        logits_(output_port(join_, speech::kLogits)) {
    predict_.bind(declared(model, speech::kPredict, predict_), state_);
    join_.bind(declared(model, speech::kJoin, join_), state_);
    check_width(speech::kNextHidden, std::ssize(predict_.float_output(next_hidden_)),
                std::ssize(predict_.float_input(hidden_)));
    check_width(speech::kNextCell, std::ssize(predict_.float_output(next_cell_)),
                std::ssize(predict_.float_input(cell_)));
    check_width(speech::kPredicted, std::ssize(predict_.float_output(result_)),
                std::ssize(join_.float_input(predicted_)));
    check_width(speech::kToken, std::ssize(predict_.int_input(token_)), 1);
    check_width(speech::kLogits, std::ssize(join_.float_output(logits_)), num_scores());
  }

  int64_t features() { return std::ssize(join_.float_input(encoded_)); }
  int64_t num_scores() const { return last_size(join_, logits_, speech::kLogits); }

  // For rows of features(), which must outlive the decoding, as must the rules.
  void begin(std::span<const float> encoded, const TransducerRules& rules) {
    rows_ = encoded;
    rules_ = &rules;
    for (const size_t port : {hidden_, cell_}) {
      const std::span<float> state = predict_.float_input(port);
      std::fill(state.begin(), state.end(), 0.0f);
    }
  }

  void predict(int32_t token) override {
    predict_.int_input(token_).front() = token;
    predict_.run();
    ranges::copy(predict_.float_output(next_hidden_), predict_.float_input(hidden_).begin());
    ranges::copy(predict_.float_output(next_cell_), predict_.float_input(cell_).begin());
    ranges::copy(predict_.float_output(result_), join_.float_input(predicted_).begin());
  }

  TransducerChoice choose(int64_t frame) override {
    const auto width = static_cast<size_t>(features());
    ranges::copy(rows_.subspan(static_cast<size_t>(frame) * width, width),
                 join_.float_input(encoded_).begin());
    join_.run();
    return best_choice(*rules_, join_.float_output(logits_));
  }

 private:
  engine::State state_;  // without contents
  engine::Execution predict_, join_;
  size_t token_, hidden_, cell_, result_, next_hidden_, next_cell_, encoded_, predicted_, logits_;
  std::span<const float> rows_;
  const TransducerRules* rules_ = nullptr;
};

bool SpeechRecognizer::takes(const mil::Model& model) {
  return is_speech(model);
}

SpeechRecognizer::SpeechRecognizer(std::shared_ptr<const mil::Model> model,
                                   std::shared_ptr<ThreadPool> pool,
                                   const engine::ComputeOptions& compute)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      schema_(speech_schema(*model_)),
      state_(std::vector<mil::Feature>(), compute),
      encode_(make_encode(*model_, schema_, *pool_, compute)),
      input_(input_port(encode_, schema_.input.c_str())),
      output_(output_port(encode_, schema_.is_transducer ? speech::kEncoded : speech::kLogits)) {
  bind(schema_.shortest);
  const int64_t width =
      last_size(encode_, output_, schema_.is_transducer ? speech::kEncoded : speech::kLogits);
  TransducerRules& rules = schema_.rules;
  rules.vocab_size = width;
  if (schema_.is_transducer) {
    networks_ = std::make_unique<Networks>(*model_, *pool_, compute);
    check_width(speech::kEncoded, width, networks_->features());
    rules.vocab_size = networks_->num_scores() - std::ssize(rules.durations);
  }
  if (rules.blank >= rules.vocab_size) {
    fail(ErrorCode::InvalidFile, "the package's metadata: {} {} is not one of {} tokens",
         speech::kBlankKey, rules.blank, rules.vocab_size);
  }
}

SpeechRecognizer::~SpeechRecognizer() = default;

void SpeechRecognizer::bind(int64_t length) {
  std::vector<int64_t> shape = {1, length};
  if (schema_.bins > 0) shape.push_back(schema_.bins);
  encode_.bind({std::move(shape)}, state_);
}

SpeechRecognizer::Input SpeechRecognizer::input() const {
  return {schema_.bins, schema_.shortest, schema_.longest, schema_.sampling_rate,
          schema_.row_samples};
}

double SpeechRecognizer::seconds_per_frame() const {
  return static_cast<double>(schema_.frame_samples) / static_cast<double>(schema_.sampling_rate);
}

std::span<const float> SpeechRecognizer::run_encoder(std::span<const float> values) {
  const int64_t row = std::max<int64_t>(schema_.bins, 1);
  if (std::ssize(values) % row != 0) {
    fail(ErrorCode::InvalidArgument, "{} numbers are not rows of {} features", values.size(), row);
  }
  const int64_t length = std::ssize(values) / row;
  const char* const unit = schema_.bins > 0 ? "rows of features" : "samples";
  if (length < schema_.shortest) {
    fail(ErrorCode::InvalidArgument, "{} {}: the model takes {} at least", length, unit,
         schema_.shortest);
  }
  if (length > schema_.longest) {
    fail(ErrorCode::LimitExceeded, "{} {}: the model takes {} at most", length, unit,
         schema_.longest);
  }
  bind(length);
  ranges::copy(values, encode_.float_input(input_).begin());
  encode_.run_cancellable();
  return encode_.float_output(output_);
}

EncodedSpeech SpeechRecognizer::encode(std::span<const float> values) {
  const std::span<const float> output = run_encoder(values);
  return {encode_.output_dims(output_).back(),
          {output.begin(), output.end()},
          /*are_scores=*/networks_ == nullptr};
}

std::vector<SpeechToken> SpeechRecognizer::recognize(std::span<const float> values) {
  const std::span<const float> output = run_encoder(values);
  if (networks_ == nullptr) return decode_ctc(output, vocab_size(), blank());
  networks_->begin(output, schema_.rules);
  return decode_transducer(schema_.rules, encode_.output_dims(output_)[1], *networks_);
}

}  // namespace pippin::runtime
