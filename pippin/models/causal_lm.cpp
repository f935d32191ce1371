#include "pippin/models/causal_lm.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/models/family/package_part.h"
#include "pippin/nn/attention/stateful_cache.h"
#include "pippin/nn/prediction_head.h"
#include "pippin/nn/weights/lora.h"
#include "pippin/nn/weights/run_adapters.h"

namespace pippin::models {
namespace {

namespace stateful = families::stateful;

// The numbers of tokens that a run of a function takes.
class QueryLengths {
 public:
  QueryLengths(std::vector<int64_t> lengths, int64_t context) : lengths_(std::move(lengths)) {
    std::sort(lengths_.begin(), lengths_.end());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
    for (const int64_t length : lengths_) {
      if (length < 1 || length > context) {
        fail(ErrorCode::InvalidArgument, "{} tokens at a time: 1 to {} (the context) are possible",
             length, context);
      }
    }
    range_ = lengths_.empty() ? mil::SizeRange{1, context}
                              : mil::SizeRange{lengths_.front(), lengths_.back()};
  }

  mil::SizeRange range() const { return range_; }
  mil::Dim dim() const {
    return range_.lower == range_.upper ? mil::Dim(range_.lower)
                                        : mil::Dim::symbol("query", range_.lower, range_.upper);
  }
  // The default shape is the smallest.
  mil::Feature ids() const {
    mil::Feature ids = mil::array_feature(stateful::kIds, "Token ids of the new positions",
                                          mil::DataType::Int32, {1, range_.lower}, {});
    if (lengths_.empty()) ids.ranges = {{1, 1}, range_};
    if (lengths_.size() > 1) {
      for (const int64_t length : lengths_) ids.enumerated_shapes.push_back({1, length});
    }
    return ids;
  }

 private:
  std::vector<int64_t> lengths_;
  mil::SizeRange range_;
};

mil::FunctionDescription describe(const std::string& name, int64_t context,
                                  const nn::StatefulCacheShape& cache, const QueryLengths& lengths,
                                  mil::DataType type) {
  const mil::SizeRange one{1, 1}, query = lengths.range();
  mil::FunctionDescription function;
  function.name = name;
  function.inputs.push_back(lengths.ids());
  function.inputs.push_back(mil::array_feature(
      stateful::kMask,
      "Added to attention scores: 0 where a position is seen, -inf where it is not", type,
      {1, 1, query.lower, query.lower}, {one, one, query, {query.lower, context}}));
  function.outputs.push_back(mil::array_feature(
      stateful::kLogits, "Scores of the next token, for every new position", type));
  for (const auto& shape : cache.states) {
    function.states.push_back(mil::state_feature(cache.prefix + shape.name, type, shape.dims));
  }
  return function;
}

}  // namespace

nn::Precision precision(const BuildOptions& options) {
  if (options.compute == BuildOptions::Compute::Float32Direct) {
    return {mil::DataType::Float32, /*keep_weight_types=*/true};
  }
  return {mil::DataType::Float16, false};
}

namespace {

struct Recording {
  const nn::Decoder& decoder;
  int64_t context;
  const nn::StatefulCacheShape& cache;
  mil::DataType type;
  const nn::PredictionHead* prediction;  // null: none
  nn::RunAdapters* adapters;             // null: none
};

// Declares the input of adapters that runs choose from.
void begin_adapters(const Recording& recording, array::Builder& builder,
                    mil::FunctionDescription& function) {
  if (recording.adapters == nullptr) return;
  const int64_t count = recording.adapters->count();
  function.inputs.push_back(mil::array_feature(stateful::kAdapterNumbers,
                                               "How much of each adapter's change is added",
                                               recording.type, {count}));
  recording.adapters->begin_function(
      builder.input(stateful::kAdapterNumbers, recording.type, {count}));
}

void describe_hidden(mil::FunctionDescription& function, mil::DataType type) {
  function.outputs.push_back(mil::array_feature(
      stateful::kHiddenStates, "What the head reads, for every new position", type));
}

// Like Decoder's operator(), with the results of the embedding, each layer and the final norm as
// outputs.
void record_layers(const Recording& recording, const array::Array& ids, nn::Cache& cache,
                   const nn::Pass& pass, array::Builder& builder,
                   mil::FunctionDescription& description) {
  const nn::Decoder& decoder = recording.decoder;
  int64_t count = 0;
  const auto give = [&](const array::Array& x) {
    const std::string name = stateful::hidden(count++);
    builder.output(name, x);
    description.outputs.push_back(
        mil::array_feature(name, "What leaves this part of the model", recording.type));
  };
  nn::PassTables shared = decoder.tables(pass);
  array::Array x = decoder.embed(ids, pass, shared);
  shared.embedded = x;
  give(x);
  for (size_t i = 0; i < decoder.options().layers.size(); ++i) {
    x = decoder.layer(i, x, shared, cache, pass);
    give(x);
  }
  give(decoder.normed(x));
  builder.output(stateful::kLogits, decoder.logits(x));
}

// The value of kLengthDependentKey, or nothing.
std::string length_dependence(const nn::DecoderOptions& decoder, int64_t context) {
  using Kind = nn::RopeScaling::Kind;
  for (const nn::RopeOptions& rope : decoder.ropes) {
    const bool crosses = context > rope.scaling.original_context;
    if (!crosses) continue;
    if (rope.scaling.kind == Kind::Dynamic) {
      return fmt::format("{} {}", stateful::kDynamic, rope.scaling.original_context);
    }
    if (rope.scaling.kind == Kind::LongRope) {
      return fmt::format("{} {}", stateful::kLongRope, rope.scaling.original_context);
    }
  }
  return "";
}

// The value of kCarriedStatesKey, or nothing.
std::string carried_states(const std::vector<nn::MixerNeeds>& layers) {
  std::set<std::string> names;
  for (const nn::MixerNeeds& layer : layers) {
    for (const nn::CarriedState& state : layer.states) names.insert(state.name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

// The value of kPromptRunKey, or nothing: twice as many rows for each expert.
std::string prompt_run(const nn::DecoderOptions& decoder) {
  const bool experts =
      std::any_of(decoder.layers.begin(), decoder.layers.end(), [](const nn::LayerOptions& layer) {
        return std::holds_alternative<nn::ExpertsOptions>(layer.feed_forward) ||
               std::holds_alternative<nn::MlpWithExpertsOptions>(layer.feed_forward);
      });
  return experts ? "512" : "";
}

void record_function(const Recording& recording, const std::string& name,
                     const QueryLengths& lengths, bool layer_outputs, mil::Model& model) {
  array::Builder builder;
  const mil::Dim query = lengths.dim();
  const mil::Dim end = mil::Dim::symbol("end", lengths.range().lower, recording.context);
  const array::Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, query});
  const array::Array mask = builder.input(stateful::kMask, recording.type, {1, 1, query, end});
  nn::StatefulCache cache(builder, recording.type, recording.cache);
  const nn::Pass pass{end - query, query, end, mask};
  array::named(builder.dim_array(pass.past), "past");
  model.specification_version = mil::specification_version(builder.opset());
  model.functions.push_back(
      describe(name, recording.context, recording.cache, lengths, recording.type));
  begin_adapters(recording, builder, model.functions.back());
  if (layer_outputs) {
    record_layers(recording, ids, cache, pass, builder, model.functions.back());
  } else if (recording.prediction != nullptr) {
    const nn::Decoder& decoder = recording.decoder;
    const array::Array hidden = decoder.normed(decoder.body(ids, nullptr, cache, pass));
    const auto logits = decoder.head_parts(hidden, {decoder.options().vocab_size});
    builder.output(stateful::kLogits, logits.front());
    builder.output(stateful::kHiddenStates, hidden);
    describe_hidden(model.functions.back(), recording.type);
  } else {
    builder.output(stateful::kLogits, recording.decoder(ids, cache, pass));
  }
  model.program.functions.emplace(name, builder.build());
}

std::optional<std::string> row_sight(const nn::DecoderOptions& decoder) {
  using Sight = nn::RowInputOptions::Sight;
  if (!decoder.row_input || decoder.row_input->sight == Sight::Causal) return std::nullopt;
  return decoder.row_input->sight == Sight::Runs ? stateful::kSightRuns : stateful::kSightPrompt;
}

// The function that takes rows in place of tokens.
void record_rows(const Recording& recording, const std::string& name, const QueryLengths& lengths,
                 mil::Model& model) {
  const nn::DecoderOptions& options = recording.decoder.options();
  const int64_t width = options.row_width();
  const mil::SizeRange query_range = lengths.range();
  array::Builder builder;
  const mil::Dim query = lengths.dim();
  const mil::Dim end = mil::Dim::symbol("end", query_range.lower, recording.context);
  mil::FunctionDescription function =
      describe(name, recording.context, recording.cache, lengths, recording.type);
  const auto declare = [&](const char* input, const char* text, mil::DataType type,
                           const mil::Shape& shape, const std::vector<int64_t>& sizes,
                           std::vector<mil::SizeRange> ranges) {
    function.inputs.push_back(mil::array_feature(input, text, type, sizes, std::move(ranges)));
    return builder.input(input, type, shape);
  };
  const mil::SizeRange one{1, 1};
  const array::Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, query});
  const array::Array mask = builder.input(stateful::kMask, recording.type, {1, 1, query, end});
  const array::Array rows =
      declare(stateful::kInputRows, "Embeddings of new positions in place of ids", recording.type,
              {1, query, width}, {1, query_range.lower, width}, {one, query_range, {width, width}});
  const array::Array are_rows =
      declare(stateful::kAreRows, "1 for embeddings, 0 for ids", recording.type, {1, query, 1},
              {1, query_range.lower, 1}, {one, query_range, one});
  nn::StatefulCache cache(builder, recording.type, recording.cache);
  nn::Pass pass{end - query, query, end, mask};
  pass.causal_full_layers = options.row_input->causal_full_layers;
  if (options.has_sections()) {
    pass.coordinates =
        declare(stateful::kCoordinates, "Frames, rows and columns of the positions",
                mil::DataType::Int32, {3, query}, {3, query_range.lower}, {{3, 3}, query_range});
  }
  // Windows hide no row of a run if all layers let rows see each other.
  const std::set<int64_t> windows = recording.decoder.windows();
  const bool has_windows = !windows.empty() && *windows.rbegin() > 0;
  if (row_sight(options) && has_windows && !pass.causal_full_layers) {
    pass.run_starts = declare(stateful::kRunStarts, "First slots that windows may not hide",
                              mil::DataType::Int32, {query}, {query_range.lower}, {query_range});
  }
  array::named(builder.dim_array(pass.past), "past");
  begin_adapters(recording, builder, function);
  model.functions.push_back(std::move(function));
  builder.output(stateful::kLogits, recording.decoder(ids, {rows, are_rows}, cache, pass));
  model.program.functions.emplace(name, builder.build());
}

// The function of the prediction layer.
void record_prediction(const Recording& recording, const std::string& name,
                       const QueryLengths& lengths, mil::Model& model) {
  const nn::StatefulCacheShape shape({recording.prediction->needs()}, recording.context,
                                     stateful::kPredictStates);
  const int64_t width = recording.decoder.options().hidden_size;
  const mil::SizeRange range = lengths.range();
  array::Builder builder;
  const mil::Dim query = lengths.dim();
  const mil::Dim end = mil::Dim::symbol("end", range.lower, recording.context);
  mil::FunctionDescription function =
      describe(name, recording.context, shape, lengths, recording.type);
  const array::Array ids = builder.input(stateful::kIds, mil::DataType::Int32, {1, query});
  const array::Array mask = builder.input(stateful::kMask, recording.type, {1, 1, query, end});
  function.inputs.push_back(mil::array_feature(
      stateful::kPreviousStates, "hiddenStates of the tokens before the new positions",
      recording.type, {1, range.lower, width}, {{1, 1}, range, {width, width}}));
  const array::Array previous =
      builder.input(stateful::kPreviousStates, recording.type, {1, query, width});
  nn::StatefulCache cache(builder, recording.type, shape);
  const nn::Pass pass{end - query, query, end, mask};
  array::named(builder.dim_array(pass.past), "past");
  describe_hidden(function, recording.type);
  model.functions.push_back(std::move(function));
  const auto result = (*recording.prediction)(ids, previous, cache, pass);
  builder.output(stateful::kLogits, result.logits);
  builder.output(stateful::kHiddenStates, result.hidden);
  model.program.functions.emplace(name, builder.build());
}

// Null if the checkpoint has no prediction layer, or none that is complete.
std::unique_ptr<const nn::PredictionHead> prediction_head(const nn::Parameters& source,
                                                          const nn::Decoder& decoder) {
  if (!nn::PredictionHead::exists(source, decoder)) return nullptr;
  try {
    return std::make_unique<nn::PredictionHead>(source, decoder);
  } catch (const Error& error) {
    log_warn("no drafts of the prediction layer: {}", error.what());
    return nullptr;
  }
}

// Requires a name that MIL allows and that is not in use.
void check_function_name(const std::string& name, const mil::Model& model) {
  const bool allowed = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                       array::to_identifier(name) == name;
  if (!allowed) {
    fail(ErrorCode::InvalidArgument,
         "\"{}\" is not a valid function name: letters, digits and _, no digit in front", name);
  }
  if (model.program.functions.contains(name)) {
    fail(ErrorCode::InvalidArgument, "two functions are called \"{}\"", name);
  }
}

}  // namespace

mil::Model record_causal_lm(const nn::DecoderOptions& decoder, int64_t context,
                            const nn::Parameters& parameters, const BuildOptions& options,
                            const AdapterOpener& adapters) {
  std::vector<nn::MixerNeeds> layers;
  for (const nn::LayerOptions& layer : decoder.layers) layers.push_back(layer.needs());
  const nn::StatefulCacheShape cache(layers, context);
  const QueryLengths lengths(options.query_lengths, context);
  const std::string carried = carried_states(layers);
  if (!carried.empty() && lengths.range().lower > 1) {
    fail(ErrorCode::InvalidArgument,
         "runs of {} tokens at least: the model carries '{}' from one to the next, so that one "
         "token at a time has to be possible",
         lengths.range().lower, carried);
  }
  mil::Model model;
  if (!carried.empty()) model.metadata.user_defined[stateful::kCarriedStatesKey] = carried;
  model.program.attributes.emplace(families::kBuildInfo, build_info());
  if (const std::string dependence = length_dependence(decoder, context); !dependence.empty()) {
    model.metadata.user_defined[stateful::kLengthDependentKey] = dependence;
  }
  if (const std::string run = prompt_run(decoder); !run.empty()) {
    model.metadata.user_defined[stateful::kPromptRunKey] = run;
  }
  const bool takes_rows = options.rows && decoder.row_input;
  if (takes_rows && lengths.range().lower > 1) {
    fail(ErrorCode::InvalidArgument,
         "runs of {} tokens at least: rows of pictures need runs of one token as well",
         lengths.range().lower);
  }
  if (const auto sight = row_sight(decoder); takes_rows && sight) {
    model.metadata.user_defined[stateful::kRowSightKey] = *sight;
  }
  if (takes_rows && decoder.row_input->placeholder >= 0) {
    model.metadata.user_defined[stateful::kRowPlaceholderKey] =
        std::to_string(decoder.row_input->placeholder);
  }
  // A draft is one token. Adapters that runs choose from have no part for the prediction layer.
  const bool predicts = options.prediction && options.run_adapters.empty() &&
                        !options.layer_outputs && lengths.range().lower == 1;
  const auto record = [&](const nn::Parameters& source, const std::string& name,
                          const std::string& prefill_name, const std::string& rows_name,
                          const std::string& predict_name) {
    const nn::Decoder recorded(source, decoder, context);
    const auto prediction = predicts ? prediction_head(source, recorded) : nullptr;
    const Recording recording{recorded,          context,          cache,
                              parameters.type(), prediction.get(), parameters.run_adapters().get()};
    check_function_name(name, model);
    record_function(recording, name, lengths, options.layer_outputs, model);
    if (takes_rows) {
      check_function_name(rows_name, model);
      record_rows(recording, rows_name, lengths, model);
    }
    if (prediction != nullptr) {
      check_function_name(predict_name, model);
      record_prediction(recording, predict_name, lengths, model);
    }
    if (options.prefill_length == 0) return;
    check_function_name(prefill_name, model);
    record_function(recording, prefill_name, {{options.prefill_length}, context},
                    options.layer_outputs, model);
  };
  using Adapting = nn::Parameters::Adapting;
  if (!options.fused_adapter.empty() && !options.adapters.empty()) {
    fail(ErrorCode::InvalidArgument, "a fused adapter and separate adapters exclude each other");
  }
  if (!options.run_adapters.empty()) {
    std::vector<std::shared_ptr<const nn::LoraAdapter>> opened;
    opened.reserve(options.run_adapters.size());
    for (const auto& folder : options.run_adapters) opened.push_back(adapters.open(folder));
    parameters.choose(std::make_shared<nn::RunAdapters>(std::move(opened), options.half_adapters));
  }
  record(options.fused_adapter.empty()
             ? parameters
             : parameters.adapted(adapters.open(options.fused_adapter), Adapting::Fuse),
         families::kMain, stateful::kPrefill, stateful::kRows, stateful::kPredict);
  for (const auto& [name, folder] : options.adapters) {
    record(parameters.adapted(adapters.open(folder), Adapting::Separate), name,
           stateful::prefill_of(name), stateful::rows_of(name), stateful::predict_of(name));
    std::string& names = model.metadata.user_defined[stateful::kAdaptersKey];
    names += (names.empty() ? "" : ",") + name;
  }
  model.multifunction = model.functions.size() > 1;
  return model;
}

int64_t context_of(const mil::FunctionDescription& function) {
  const auto mask =
      std::find_if(function.inputs.begin(), function.inputs.end(),
                   [](const mil::Feature& input) { return input.name == stateful::kMask; });
  if (mask == function.inputs.end()) return 0;
  return mask->ranges.empty() ? mask->shape.back() : mask->ranges.back().upper;
}

}  // namespace pippin::models
