#include "pippin/models/causal_lm.h"

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/models/package_part.h"

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

mil::FunctionDescription describe(const CacheShape& shape, mil::DataType type) {
  const mil::SizeRange one{1, 1}, flexible{1, shape.context};
  mil::FunctionDescription main;
  main.name = "main";
  main.inputs.push_back(feature("inputIds", "Token ids of the new positions", mil::DataType::Int32,
                                {1, 1}, {one, flexible}));
  main.inputs.push_back(feature(
      "causalMask", "Added to attention scores: 0 where a position is seen, -inf where it is not",
      type, {1, 1, 1, 1}, {one, one, flexible, flexible}));
  main.outputs.push_back(
      feature("logits", "Scores of the next token, for every new position", type, {}, {}));
  for (const char* name : {"keyCache", "valueCache"}) {
    mil::Feature state =
        feature(name, "", type,
                {shape.num_layers, 1, shape.num_kv_heads, shape.context, shape.head_dim}, {});
    state.kind = mil::Feature::Kind::State;
    main.states.push_back(std::move(state));
  }
  return main;
}

}  // namespace

nn::Precision precision(const BuildOptions& options) {
  if (options.compute == BuildOptions::Compute::Float32Direct) {
    return {mil::DataType::Float32, /*keep_weight_types=*/true};
  }
  return {mil::DataType::Float16, false};
}

mil::Model record_causal_lm(const nn::DecoderOptions& options, int64_t context,
                            const nn::Parameters& parameters) {
  const nn::Decoder decoder(parameters, options, context);
  const CacheShape shape{context, static_cast<int64_t>(options.layers.size()),
                         options.max_kv_heads(), options.layers.at(0).attention.head_dim};
  const mil::DataType type = parameters.type();
  array::Builder builder;
  const mil::Dim query = mil::Dim::symbol("query", 1, shape.context);
  const mil::Dim end = mil::Dim::symbol("end", 1, shape.context);
  const array::Array ids = builder.input("inputIds", mil::DataType::Int32, {1, query});
  const array::Array mask = builder.input("causalMask", type, {1, 1, query, end});
  nn::StatefulCache cache(builder, type, shape.num_layers, shape.num_kv_heads, shape.context,
                          shape.head_dim);
  const nn::Pass pass{end - query, query, end, mask};
  array::named(builder.dim_array(pass.past), "past");
  builder.output("logits", decoder(ids, cache, pass));

  mil::Model model;
  model.specification_version = mil::specification_version(builder.opset());
  model.functions.push_back(describe(shape, type));
  model.program.attributes.emplace("buildInfo", build_info());
  model.program.functions.emplace("main", builder.build());
  return model;
}

}  // namespace pippin::models
