#include "pippin/mil/serialize.h"

#include <limits>

#include <google/protobuf/io/coded_stream.h>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/proto.h"

namespace pippin::mil {
namespace {

constexpr size_t kMaxModelBytes = size_t{1} << 30;
// The deepest file that protobuf accepts by default; our own limits on nesting stay below it.
constexpr int kMaxDepth = 100;

struct ModelKind {
  int field;
  std::string_view name;
};
// Field numbers of Model's types that are not ML Programs.
constexpr ModelKind kOtherKinds[] = {
    {200, "pipelineClassifier"},
    {201, "pipelineRegressor"},
    {202, "pipeline"},
    {300, "glmRegressor"},
    {301, "supportVectorRegressor"},
    {302, "treeEnsembleRegressor"},
    {303, "neuralNetworkRegressor"},
    {304, "bayesianProbitRegressor"},
    {400, "glmClassifier"},
    {401, "supportVectorClassifier"},
    {402, "treeEnsembleClassifier"},
    {403, "neuralNetworkClassifier"},
    {404, "kNearestNeighborsClassifier"},
    {500, "neuralNetwork"},
    {501, "itemSimilarityRecommender"},
    {555, "customModel"},
    {556, "linkedModel"},
    {600, "oneHotEncoder"},
    {601, "imputer"},
    {602, "featureVectorizer"},
    {603, "dictVectorizer"},
    {604, "scaler"},
    {606, "categoricalMapping"},
    {607, "normalizer"},
    {609, "arrayFeatureExtractor"},
    {610, "nonMaximumSuppression"},
    {900, "identity"},
    {2000, "textClassifier"},
    {2001, "wordTagger"},
    {2002, "visionFeaturePrint"},
    {2003, "soundAnalysisPreprocessing"},
    {2004, "gazetteer"},
    {2005, "wordEmbedding"},
    {2006, "audioFeaturePrint"},
    {3000, "serializedModel"},
};
constexpr int kMlProgram = 502;

// Skips a field's content; false where the bytes end or the wire type is none.
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

// Looks at the outermost fields only, so that a large model of another kind is refused at once.
void check_kind(ByteSpan bytes) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  uint64_t version = 0;
  int kind = 0;
  while (const uint32_t tag = input.ReadTag()) {
    const int field = static_cast<int>(tag >> 3);
    if (tag == (1 << 3)) {
      if (!input.ReadVarint64(&version)) break;
      continue;
    }
    if (field >= 200) kind = field;
    if (!skip_field(input, tag)) break;
  }
  if (kind == kMlProgram) return;
  if (kind == 0) fail(ErrorCode::InvalidFile, "not a Core ML model (no model in it)");
  std::string name = fmt::format("of kind {}", kind);
  for (const ModelKind& other : kOtherKinds) {
    if (other.field == kind) name = other.name;
  }
  fail(ErrorCode::Unsupported,
       "the model is not an ML Program but {} (specification version {}); Pippin runs ML Programs",
       name, version);
}

}  // namespace

Model parse_model(ByteSpan bytes, std::string_view name) {
  return with_context(name, [&] {
    if (bytes.size() > kMaxModelBytes) {
      fail(ErrorCode::LimitExceeded, "{} bytes, at most {} are read", bytes.size(), kMaxModelBytes);
    }
    check_kind(bytes);
    google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                 static_cast<int>(bytes.size()));
    input.SetRecursionLimit(kMaxDepth);
    proto::Model message;
    if (!message.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
      fail(ErrorCode::InvalidFile, "the protobuf message is cut off, damaged, or nested too deep");
    }
    Model model;
    model.program = read_program(message.ml_program());
    message.clear_ml_program();
    read_description(message, model);
    return model;
  });
}

std::string serialize_model(const Model& model, const BlobOf& blob_of) {
  proto::Model message;
  write_description(model, message);
  write_program(model.program, blob_of, *message.mutable_ml_program());
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
