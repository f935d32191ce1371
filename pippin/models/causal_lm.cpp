#include "pippin/models/causal_lm.h"

#include <algorithm>
#include <cctype>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/package_part.h"
#include "pippin/nn/lora.h"

namespace pippin::models {
namespace {

// What the states' shape is made of.
struct CacheShape {
  int64_t context, num_layers, num_kv_heads, head_dim;
};

mil::Feature feature(std::string name, std::string description, mil::DataType type,
                     std::vector<int64_t> shape, std::vector<mil::SizeRange> ranges) {
  mil::Feature result;
  result.name = std::move(name);
  result.description = std::move(description);
  result.data_type = type;
  result.shape = std::move(shape);
  result.ranges = std::move(ranges);
  return result;
}

// How many tokens a run of a function takes.
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
    mil::Feature ids = feature("inputIds", "Token ids of the new positions", mil::DataType::Int32,
                               {1, range_.lower}, {});
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

mil::FunctionDescription describe(const std::string& name, const CacheShape& shape,
                                  const QueryLengths& lengths, mil::DataType type) {
  const mil::SizeRange one{1, 1}, query = lengths.range();
  mil::FunctionDescription function;
  function.name = name;
  function.inputs.push_back(lengths.ids());
  function.inputs.push_back(feature(
      "causalMask", "Added to attention scores: 0 where a position is seen, -inf where it is not",
      type, {1, 1, query.lower, query.lower}, {one, one, query, {query.lower, shape.context}}));
  function.outputs.push_back(
      feature("logits", "Scores of the next token, for every new position", type, {}, {}));
  for (const char* state_name : {"keyCache", "valueCache"}) {
    mil::Feature state =
        feature(state_name, "", type,
                {shape.num_layers, 1, shape.num_kv_heads, shape.context, shape.head_dim}, {});
    state.kind = mil::Feature::Kind::State;
    function.states.push_back(std::move(state));
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
  CacheShape shape;
  mil::DataType type;
};

void record_function(const Recording& recording, const std::string& name,
                     const QueryLengths& lengths, mil::Model& model) {
  const CacheShape& shape = recording.shape;
  array::Builder builder;
  const mil::Dim query = lengths.dim();
  const mil::Dim end = mil::Dim::symbol("end", lengths.range().lower, shape.context);
  const array::Array ids = builder.input("inputIds", mil::DataType::Int32, {1, query});
  const array::Array mask = builder.input("causalMask", recording.type, {1, 1, query, end});
  nn::StatefulCache cache(builder, recording.type, shape.num_layers, shape.num_kv_heads,
                          shape.context, shape.head_dim);
  const nn::Pass pass{end - query, query, end, mask};
  array::named(builder.dim_array(pass.past), "past");
  builder.output("logits", recording.decoder(ids, cache, pass));

  model.specification_version = mil::specification_version(builder.opset());
  model.functions.push_back(describe(name, shape, lengths, recording.type));
  model.program.functions.emplace(name, builder.build());
}

// A name that MIL allows, and that is not taken.
void check_function_name(const std::string& name, const mil::Model& model) {
  const bool allowed = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                       array::to_identifier(name) == name;
  if (!allowed) {
    fail(ErrorCode::InvalidArgument,
         "\"{}\" is no name for a function: letters, digits and _, no digit in front", name);
  }
  if (model.program.functions.contains(name)) {
    fail(ErrorCode::InvalidArgument, "two functions are called \"{}\"", name);
  }
}

}  // namespace

mil::Model record_causal_lm(const nn::DecoderOptions& decoder, int64_t context,
                            const nn::Parameters& parameters, const BuildOptions& options) {
  const CacheShape shape{context, static_cast<int64_t>(decoder.layers.size()),
                         decoder.max_kv_heads(), decoder.layers.at(0).attention.head_dim};
  const QueryLengths lengths(options.query_lengths, context);
  mil::Model model;
  model.program.attributes.emplace("buildInfo", build_info());
  const auto record = [&](const nn::Parameters& source, const std::string& name,
                          const std::string& prefill_name) {
    const nn::Decoder recorded(source, decoder, context);
    const Recording recording{recorded, shape, parameters.type()};
    check_function_name(name, model);
    record_function(recording, name, lengths, model);
    if (options.prefill_length == 0) return;
    check_function_name(prefill_name, model);
    record_function(recording, prefill_name, {{options.prefill_length}, context}, model);
  };
  const auto open = [](const std::filesystem::path& folder) {
    return nn::LoraAdapter::open(folder);
  };
  using Adapting = nn::Parameters::Adapting;
  if (!options.fused_adapter.empty() && !options.adapters.empty()) {
    fail(ErrorCode::InvalidArgument,
         "an adapter that is fused and adapters beside the weights exclude each other");
  }
  record(options.fused_adapter.empty()
             ? parameters
             : parameters.adapted(open(options.fused_adapter), Adapting::Fuse),
         "main", "prefill");
  for (const auto& [name, folder] : options.adapters) {
    record(parameters.adapted(open(folder), Adapting::Beside), name, "prefill_" + name);
    std::string& names = model.metadata.user_defined[std::string(kAdaptersKey)];
    names += (names.empty() ? "" : ",") + name;
  }
  model.multifunction = model.functions.size() > 1;
  return model;
}

}  // namespace pippin::models
