// The protobuf form of models and programs (model.mlmodel), independent of files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/mil/model.h"

namespace pippin::mil::networks {
enum class NetworkKind : uint8_t;
}

namespace pippin::mil {

// Reads a serialized model. Weights in files keep their BlobReference and have no source. Resolves
// the programs' names but does not verify them. Throws Unsupported if the model, or a stage of a
// pipeline, has a kind that Pippin does not run, naming the kind.
// The weights of a neural network are read from the bytes on demand if `owner` keeps them valid,
// else from a copy.
Model parse_model(ByteSpan bytes, const std::shared_ptr<const void>& owner = nullptr);

// Makes thresholds optional that a pipeline declares as required though a stage has defaults for
// them. parse_model has already done this.
void take_defaults(Model& pipeline);

// Reads the interface alone, as in compiled packages: a ModelDescription message. The result has
// neither program nor stages.
Model parse_description(ByteSpan bytes);
std::string serialize_description(const Model& model);

// Whether models of this kind keep their message: tabular models, and kinds that are translated.
bool is_translated_kind(int64_t field);
// Whether models of this kind are neural networks, which become ML Programs when they are read.
bool is_network_kind(int64_t field);
networks::NetworkKind network_kind(int64_t field);
// Throws Unsupported with the message that every command prints for such a model.
[[noreturn]] void fail_model_kind(int64_t field, int64_t specification_version);
// The kind named in such a message; empty for other messages.
std::string refused_model_kind(std::string_view message);

// The fields of Model's oneof that Pippin reads.
inline constexpr int kPipelineField = 202;
inline constexpr int kGlmRegressorField = 300;
inline constexpr int kNeuralNetworkRegressorField = 303;
inline constexpr int kGlmClassifierField = 400;
inline constexpr int kNeuralNetworkClassifierField = 403;
inline constexpr int kNeuralNetworkField = 500;
inline constexpr int kMlProgramField = 502;
inline constexpr int kFeatureVectorizerField = 602;
inline constexpr int kNonMaximumSuppressionField = 610;

// The limit on nested pipelines.
inline constexpr int kMaxPipelineDepth = 4;

// The same model always gives the same bytes. `blob_of` returns the location of a constant's
// elements in a weight file; if it returns nullopt, they are written inline, from the source if
// there is one.
using BlobOf = std::function<std::optional<BlobReference>(const Value&)>;
std::string serialize_model(const Model& model, const BlobOf& blob_of);
// Writes each constant by its BlobReference, inline if it has none.
std::string serialize_model(const Model& model);

}  // namespace pippin::mil
