#include "pippin/mil/proto/serialize.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <google/protobuf/io/coded_stream.h>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/networks/translate.h"
#include "pippin/mil/proto/output_names.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {
namespace {

constexpr size_t kMaxModelBytes = size_t{1} << 30;
// Protobuf's default limit on nesting; our own limits stay below it. Pipelines around a program add
// to it.
constexpr int kMaxDepth = 100 + 3 * kMaxPipelineDepth;

// Skips a field's content; false if the bytes end or the wire type is invalid.
bool skip_field(google::protobuf::io::CodedInputStream& input, uint32_t tag) {
  uint64_t number = 0;
  switch (tag & 7) {
    case 0:
      return input.ReadVarint64(&number);
    case 1:
      return input.Skip(8);
    case 2:
      return input.ReadVarint64(&number) && number <= std::numeric_limits<int>::max() &&
             input.Skip(static_cast<int>(number));
    case 5:
      return input.Skip(4);
    default:
      return false;
  }
}

using google::protobuf::io::CodedInputStream;

CodedInputStream open_stream(ByteSpan bytes) {
  return CodedInputStream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

// Calls visit(field, content) for the length-delimited fields of a message and visit_number(field,
// value) for the varints. Stops at damaged data and passes empty content: the parser then reports
// the error.
template <typename Visit, typename VisitNumber>
void for_each_field(ByteSpan bytes, Visit&& visit, VisitNumber&& visit_number) {
  CodedInputStream input = open_stream(bytes);
  while (const uint32_t tag = input.ReadTag()) {
    const int field = static_cast<int>(tag >> 3);
    uint64_t number = 0;
    if ((tag & 7) == 0) {
      if (!input.ReadVarint64(&number)) return;
      visit_number(field, number);
    } else if ((tag & 7) == 2) {
      const bool counted = input.ReadVarint64(&number);
      const auto position = static_cast<size_t>(input.CurrentPosition());
      if (!counted || number > bytes.size() - position) return visit(field, ByteSpan());
      visit(field, bytes.subspan(position, number));
      if (!input.Skip(static_cast<int>(number))) return;
    } else if (!skip_field(input, tag)) {
      return;
    }
  }
}

[[noreturn]] void fail_empty() {
  fail(ErrorCode::InvalidFile, "not a Core ML model (no model in it)");
}

void check_kind(ByteSpan bytes, int depth);

void check_stages(ByteSpan pipeline, int depth) {
  if (depth > kMaxPipelineDepth) {
    fail(ErrorCode::LimitExceeded, "pipelines nest deeper than {}", kMaxPipelineDepth);
  }
  std::vector<ByteSpan> models, names;
  for_each_field(
      pipeline,
      [&](int field, ByteSpan content) {
        if (field == 1) models.push_back(content);
        if (field == 2) names.push_back(content);
      },
      [](int, uint64_t) {});
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string name =
        i < names.size() ? fmt::format(" '{}'", read_text(std::string(as_text(names[i])), "a name"))
                         : "";
    with_context(fmt::format("stage {}{}", i, name), [&] { check_kind(models[i], depth); });
  }
}

// Reads the outermost fields only, so that a large model of another kind is rejected at once.
void check_kind(ByteSpan bytes, int depth) {
  uint64_t version = 0;
  int kind = 0;
  ByteSpan body;
  for_each_field(
      bytes,
      [&](int field, ByteSpan content) {
        if (field < 200) return;
        if (kind != 0 && kind != field) {
          fail(ErrorCode::InvalidFile, "the model is of two kinds, {} and {}",
               model_kind_name(kind), model_kind_name(field));
        }
        kind = field;
        body = content;
      },
      [&](int field, uint64_t number) {
        if (field == 1) version = number;
      });
  if (kind == kMlProgramField || is_translated_kind(kind) || is_network_kind(kind)) return;
  if (kind == 0) fail_empty();
  if (!is_pipeline_kind(static_cast<ModelKind>(kind)))
    fail_model_kind(kind, static_cast<int64_t>(version));
  if (kind != kPipelineField) {
    ByteSpan pipeline;
    for_each_field(
        body,
        [&](int field, ByteSpan content) {
          if (field == 1) pipeline = content;
        },
        [](int, uint64_t) {});
    body = pipeline;
  }
  check_stages(body, depth + 1);
}

Model read_model(proto::Model& message, int depth);

void read_stages(proto::Pipeline& pipeline, Model& model, int depth) {
  if (depth > kMaxPipelineDepth) {
    fail(ErrorCode::LimitExceeded, "pipelines nest deeper than {}", kMaxPipelineDepth);
  }
  if (pipeline.models().empty()) fail(ErrorCode::InvalidFile, "a pipeline without stages");
  if (!pipeline.names().empty() && pipeline.names_size() != pipeline.models_size()) {
    fail(ErrorCode::InvalidFile, "a pipeline of {} stages with {} names", pipeline.models_size(),
         pipeline.names_size());
  }
  for (int i = 0; i < pipeline.models_size(); ++i) {
    PipelineStage& stage = model.stages.emplace_back();
    if (!pipeline.names().empty()) stage.name = read_text(pipeline.names(i), "a stage's name");
    with_context(stage_name(model, static_cast<size_t>(i)),
                 [&] { stage.model = read_model(*pipeline.mutable_models(i), depth); });
  }
}

// The default that every stage with this input uses when it is absent; nothing if they differ.
FeatureDefault common_default(const Model& pipeline, const std::string& input) {
  std::optional<FeatureDefault> common;
  for (const PipelineStage& stage : pipeline.stages) {
    for (const Feature& taken : stage.model.functions.front().inputs) {
      if (taken.name != input) continue;
      if (common && *common != taken.default_value) return {};
      common = taken.default_value;
    }
  }
  return common.value_or(FeatureDefault());
}

// Reads a model whose message is kept; consumes the message.
Model read_other_kind(proto::Model& message) {
  Model model;
  std::string bytes = message.SerializeAsString();
  const bool is_tabular = !message.has_non_maximum_suppression();
  // Without the content, which may be large.
  proto::Model head;
  head.set_specification_version(message.specification_version());
  head.mutable_description()->Swap(message.mutable_description());
  if (is_tabular) message.Clear();
  read_description(head, model);
  model.raw.clear();
  if (model.multifunction) fail(ErrorCode::InvalidFile, "a model of this kind with functions");
  if (is_tabular) {
    read_tabular(std::move(bytes), model);
    return model;
  }
  model.translated_from = std::move(bytes);
  model.kind = ModelKind::NonMaximumSuppression;
  model.program = translate_suppression(message.non_maximum_suppression(), model.functions.front());
  return model;
}

// Reads a network of this field's kind, whose message is `network`; `message` has the rest.
Model read_network(const proto::Model& message, int field, ByteSpan network,
                   const networks::Owner& owner) {
  Model model;
  read_description(message, model);
  if (model.multifunction) {
    fail(ErrorCode::InvalidFile, "a {} with functions", model_kind_name(field));
  }
  model.network_kind = model_kind_name(field);
  model.network_version = model.specification_version;
  const std::vector<Feature> declared = model.functions.front().outputs;
  model.program = with_context(model.network_kind, [&] {
    return networks::translate_network(network, network_kind(field), model.functions.front(),
                                       owner);
  });
  model.specification_version =
      specification_version(model.program.function(model.functions.front().name).opset_version());
  // The remaining fields are training parameters.
  model.raw.clear();
  model.functions.front().raw.clear();
  return with_output_names(std::move(model), declared);
}

Model read_network(proto::Model& message, int field, std::string bytes) {
  message.clear_kind();
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return read_network(message, field, as_byte_span(*owner), owner);
}

Model read_model(proto::Model& message, int depth) {
  Model model;
  switch (message.kind_case()) {
    case proto::Model::kNeuralNetwork:
      return read_network(message, kNeuralNetworkField,
                          std::move(*message.mutable_neural_network()));
    case proto::Model::kNeuralNetworkClassifier:
      return read_network(message, kNeuralNetworkClassifierField,
                          std::move(*message.mutable_neural_network_classifier()));
    case proto::Model::kNeuralNetworkRegressor:
      return read_network(message, kNeuralNetworkRegressorField,
                          std::move(*message.mutable_neural_network_regressor()));
    case proto::Model::kNonMaximumSuppression:
    case proto::Model::KIND_NOT_SET:  // kinds of pippin/tabular are unknown fields
      return read_other_kind(message);
    case proto::Model::kMlProgram:
      model.program = read_program(message.ml_program());
      break;
    case proto::Model::kPipeline:
      model.kind = ModelKind::Pipeline;
      read_stages(*message.mutable_pipeline(), model, depth + 1);
      break;
    case proto::Model::kPipelineClassifier:
      model.kind = ModelKind::PipelineClassifier;
      read_stages(*message.mutable_pipeline_classifier()->mutable_pipeline(), model, depth + 1);
      break;
    case proto::Model::kPipelineRegressor:
      model.kind = ModelKind::PipelineRegressor;
      read_stages(*message.mutable_pipeline_regressor()->mutable_pipeline(), model, depth + 1);
      break;
  }
  message.clear_kind();
  read_description(message, model);
  if (model.is_pipeline() && model.multifunction) {
    fail(ErrorCode::InvalidFile, "a pipeline with functions");
  }
  if (model.is_pipeline()) take_defaults(model);
  return model;
}

void write_model(const Model& model, const BlobOf& blob_of, proto::Model& message);

void write_stages(const Model& model, const BlobOf& blob_of, proto::Pipeline& pipeline) {
  const bool named = std::any_of(model.stages.begin(), model.stages.end(),
                                 [](const PipelineStage& stage) { return !stage.name.empty(); });
  for (const PipelineStage& stage : model.stages) {
    write_model(stage.model, blob_of, *pipeline.add_models());
    if (named) pipeline.add_names(stage.name);
  }
}

void write_translated(const Model& model, proto::Model& message) {
  if (!message.ParseFromString(model.translated_from)) {
    fail(ErrorCode::InvalidArgument, "the source of the {} is not a protobuf message",
         to_string(model.kind));
  }
  auto* metadata = message.mutable_description()->mutable_metadata();
  metadata->clear_user_defined();
  write_metadata(model.metadata, *metadata);
}

void write_model(const Model& model, const BlobOf& blob_of, proto::Model& message) {
  if (model.is_translated()) return write_translated(model, message);
  write_description(model, message);
  switch (model.kind) {
    case ModelKind::MlProgram:
      return write_program(model.program, blob_of, *message.mutable_ml_program());
    case ModelKind::Pipeline:
      return write_stages(model, blob_of, *message.mutable_pipeline());
    case ModelKind::PipelineClassifier:
      return write_stages(model, blob_of,
                          *message.mutable_pipeline_classifier()->mutable_pipeline());
    case ModelKind::PipelineRegressor:
      return write_stages(model, blob_of,
                          *message.mutable_pipeline_regressor()->mutable_pipeline());
    default:
      break;
  }
}

struct SplitModel {
  int field = 0;  // of the network, 0 for models of other kinds
  ByteSpan network;
  std::string rest;  // the other fields
};

SplitModel split_network(ByteSpan bytes) {
  SplitModel split;
  CodedInputStream input = open_stream(bytes);
  size_t start = 0;
  while (const uint32_t tag = input.ReadTag()) {
    const int field = static_cast<int>(tag >> 3);
    uint32_t size = 0;
    if (is_network_kind(field) && (tag & 7) == 2) {
      const bool whole = input.ReadVarint32(&size) && size <= bytes.size() &&
                         static_cast<size_t>(input.CurrentPosition()) <= bytes.size() - size;
      // A second one would be merged with the first; the parser reports damaged fields.
      if (!whole || split.field != 0) return {};
      split.field = field;
      split.network = bytes.subspan(static_cast<size_t>(input.CurrentPosition()), size);
      if (!input.Skip(static_cast<int>(size))) return {};
    } else {
      if (!skip_field(input, tag)) return {};
      const auto end = static_cast<size_t>(input.CurrentPosition());
      split.rest += as_text(bytes.subspan(start, end - start));
    }
    start = static_cast<size_t>(input.CurrentPosition());
  }
  return split;
}

template <typename Message>
void parse_message(ByteSpan bytes, Message& message) {
  CodedInputStream input = open_stream(bytes);
  input.SetRecursionLimit(kMaxDepth);
  if (!message.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    fail(ErrorCode::InvalidFile, "the protobuf message is cut off, damaged, or nested too deep");
  }
}

}  // namespace

void take_defaults(Model& pipeline) {
  for (Feature& input : pipeline.functions.front().inputs) {
    if (input.kind != Feature::Kind::Double) continue;
    input.default_value = common_default(pipeline, input.name);
    if (std::holds_alternative<std::monostate>(input.default_value)) continue;
    input.declared_required = !std::exchange(input.optional, true);
  }
}

bool is_translated_kind(int64_t field) {
  return field == kNonMaximumSuppressionField || is_tabular_kind(field);
}

bool is_network_kind(int64_t field) {
  return field == kNeuralNetworkField || field == kNeuralNetworkClassifierField ||
         field == kNeuralNetworkRegressorField;
}

networks::NetworkKind network_kind(int64_t field) {
  if (field == kNeuralNetworkClassifierField) return networks::NetworkKind::Classifier;
  return field == kNeuralNetworkRegressorField ? networks::NetworkKind::Regressor
                                               : networks::NetworkKind::Network;
}

constexpr std::string_view kRefusal = "models of kind ";

void fail_model_kind(int64_t field, int64_t specification_version) {
  fail(ErrorCode::Unsupported, "{}{} are not supported (specification version {})", kRefusal,
       is_model_kind(field) ? model_kind_name(field) : fmt::format("{}", field),
       specification_version);
}

std::string refused_model_kind(std::string_view message) {
  const size_t start = message.find(kRefusal);
  if (start == std::string_view::npos) return {};
  message.remove_prefix(start + kRefusal.size());
  return std::string(message.substr(0, message.find(" are ")));
}

Model parse_model(ByteSpan bytes, const std::shared_ptr<const void>& owner) {
  if (bytes.size() > kMaxModelBytes) {
    fail(ErrorCode::LimitExceeded, "{} bytes, at most {} are read", bytes.size(), kMaxModelBytes);
  }
  check_kind(bytes, 0);
  proto::Model message;
  if (owner != nullptr) {
    // The weights of a network stay in place.
    const auto [field, network, rest] = split_network(bytes);
    if (field != 0) {
      parse_message(as_byte_span(rest), message);
      return read_network(message, field, network, owner);
    }
  }
  parse_message(bytes, message);
  return read_model(message, 0);
}

Model parse_description(ByteSpan bytes) {
  if (bytes.size() > kMaxModelBytes) {
    fail(ErrorCode::LimitExceeded, "{} bytes, at most {} are read", bytes.size(), kMaxModelBytes);
  }
  proto::Model message;
  parse_message(bytes, *message.mutable_description());
  Model model;
  read_description(message, model);
  return model;
}

std::string serialize_description(const Model& model) {
  proto::Model message;
  write_description(model, message);
  return message.description().SerializeAsString();
}

std::string serialize_model(const Model& model, const BlobOf& blob_of) {
  proto::Model message;
  write_model(model, blob_of, message);
  if (message.ByteSizeLong() > kMaxModelBytes) {
    fail(ErrorCode::LimitExceeded, "the program takes {} bytes, at most {} are written",
         message.ByteSizeLong(), kMaxModelBytes);
  }
  return message.SerializeAsString();
}

std::string serialize_model(const Model& model) {
  return serialize_model(model, [](const Value& value) { return value.blob; });
}

}  // namespace pippin::mil
