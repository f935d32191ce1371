// The protobuf form of models and programs (model.mlmodel), without files around it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/mil/model.h"

namespace pippin::mil {

// Reads a serialized model. Weights in files keep their BlobReference and have no source. The
// programs' names are resolved but they are not verified. Throws Unsupported for a model, or a
// stage of a pipeline, of a kind that Pippin does not run, naming it.
Model parse_model(ByteSpan bytes);

// A pipeline may declare thresholds as required that a stage has defaults for: they may be omitted.
// parse_model has done it.
void take_defaults(Model& pipeline);

// The interface alone, as compiled packages have it: a ModelDescription message. The result has
// neither program nor stages.
Model parse_description(ByteSpan bytes);
std::string serialize_description(const Model& model);

// "neuralNetworkClassifier" for the field of Model's oneof, or "of kind 123".
std::string model_kind_name(int64_t field);
int64_t model_kind_field(ModelKind kind);
bool is_model_kind(int64_t field);
// Whether models of the kind are translated into programs.
bool is_translated_kind(int64_t field);
// Throws Unsupported: the line that every command gives for such a model.
[[noreturn]] void fail_model_kind(int64_t field, int64_t specification_version);
// The kind that such a line names; empty for other lines.
std::string refused_model_kind(std::string_view message);

// The fields of Model's oneof that Pippin reads.
inline constexpr int kPipelineClassifierField = 200;
inline constexpr int kPipelineRegressorField = 201;
inline constexpr int kPipelineField = 202;
inline constexpr int kGlmRegressorField = 300;
inline constexpr int kGlmClassifierField = 400;
inline constexpr int kMlProgramField = 502;
inline constexpr int kFeatureVectorizerField = 602;
inline constexpr int kNonMaximumSuppressionField = 610;

// Pipelines in pipelines, at most.
inline constexpr int kMaxPipelineDepth = 4;

// The same model always gives the same bytes. `blob_of` tells where a constant's elements stand in
// a weight file; nothing: they are written inline, read from the source if they have one.
using BlobOf = std::function<std::optional<BlobReference>(const Value&)>;
std::string serialize_model(const Model& model, const BlobOf& blob_of);
// With every constant where its BlobReference says, inline where it has none.
std::string serialize_model(const Model& model);

}  // namespace pippin::mil
