// Translates featureVectorizer models into programs: concatenates numbers and arrays. Facts: Core
// ML's FeatureVectorizer.proto.
#include <algorithm>
#include <limits>
#include <set>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/proto/translation.h"

namespace pippin::mil {
namespace {

RowPiece piece_of(const proto::InputColumn& column, const FunctionDescription& description) {
  const std::string name = read_text(column.name(), "a feature's name");
  const auto input = std::find_if(description.inputs.begin(), description.inputs.end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  if (input == description.inputs.end()) {
    fail(ErrorCode::InvalidFile, "no input '{}', which featureVectorizer names", name);
  }
  if (input->kind == Feature::Kind::Dictionary) {
    fail(ErrorCode::Unsupported,
         "input '{}': a dictionary, which Pippin does not vectorize (numbers and arrays only)",
         name);
  }
  if (column.dimensions() == 0 || column.dimensions() > std::numeric_limits<int32_t>::max()) {
    fail(ErrorCode::InvalidFile, "input '{}': {} dimensions", name, column.dimensions());
  }
  return {&*input, static_cast<int64_t>(column.dimensions())};
}

}  // namespace

Program translate_feature_vectorizer(const proto::FeatureVectorizer& message,
                                     const FunctionDescription& description) {
  std::vector<RowPiece> pieces;
  std::set<const Feature*> known;
  int64_t size = 0;
  for (const auto& column : message.columns()) {
    pieces.push_back(piece_of(column, description));
    size += pieces.back().size;
    if (!known.insert(pieces.back().input).second) {
      fail(ErrorCode::InvalidFile, "the input '{}' is in featureVectorizer twice",
           pieces.back().input->name);
    }
  }
  for (const Feature& input : description.inputs) {
    if (known.count(&input) == 0) {
      fail(ErrorCode::InvalidFile, "the input '{}' is not in featureVectorizer", input.name);
    }
  }
  if (description.outputs.size() != 1 ||
      description.outputs.front().kind != Feature::Kind::MultiArray) {
    fail(ErrorCode::InvalidFile, "featureVectorizer gives one array");
  }
  const Feature& output = description.outputs.front();
  const bool is_fixed = output.ranges.empty() && output.enumerated_shapes.empty();
  if (is_fixed && !output.shape.empty() && output.shape != std::vector<int64_t>{size}) {
    fail(ErrorCode::InvalidFile, "the output '{}' does not have the {} numbers of the inputs",
         output.name, size);
  }
  Translation to(description);
  Var* row = to.add_row(pieces);
  Operation& last = to.append("identity", {{"x", {row}}});
  return to.finish({last.add_output(output.name, row->type)});
}

}  // namespace pippin::mil
