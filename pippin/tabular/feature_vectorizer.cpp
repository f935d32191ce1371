// Feature vectorizers: numbers, arrays and dictionaries become one array. Facts: Core ML's
// FeatureVectorizer.proto.
#include <limits>
#include <set>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/feature_row.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

struct Piece {
  size_t input;
  Field field;
  size_t size;
};

Piece read_piece(const proto::InputColumn& column, const Interface& interface) {
  const std::string name = read_text(column.name(), "a feature's name");
  const std::optional<size_t> index = interface.input_index(name);
  if (!index) fail(ErrorCode::InvalidFile, "no input '{}', which featureVectorizer names", name);
  const Field& field = interface.inputs[*index];
  with_context(fmt::format("input '{}'", name), [&] {
    if (field.type == Field::Type::String || field.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "its type is neither a number nor an array");
    }
    if (column.dimensions() == 0 || column.dimensions() > static_cast<uint64_t>(kMaxRowSize)) {
      fail(ErrorCode::InvalidFile, "inputDimensions is {}, not 1 to {}", column.dimensions(),
           kMaxRowSize);
    }
    const std::optional<int64_t> size = field.size();
    if (size && static_cast<uint64_t>(*size) != column.dimensions()) {
      fail(ErrorCode::InvalidFile, "{} numbers, the model takes {}", *size, column.dimensions());
    }
  });
  return {*index, field, static_cast<size_t>(column.dimensions())};
}

class FeatureVectorizer : public Stage {
 public:
  FeatureVectorizer(const proto::FeatureVectorizer& message, const Interface& interface) {
    std::set<size_t> known;
    for (const proto::InputColumn& column : message.columns()) {
      pieces_.push_back(read_piece(column, interface));
      size_ += pieces_.back().size;
      if (!known.insert(pieces_.back().input).second) {
        fail(ErrorCode::InvalidFile, "the input '{}' is in featureVectorizer twice",
             pieces_.back().field.name);
      }
      if (size_ > static_cast<size_t>(kMaxRowSize)) {
        fail(ErrorCode::LimitExceeded, "a row of {} numbers, at most {} are possible", size_,
             kMaxRowSize);
      }
    }
    for (size_t i = 0; i < interface.inputs.size(); ++i) {
      if (known.count(i) == 0) {
        fail(ErrorCode::InvalidFile, "the input '{}' is not in featureVectorizer",
             interface.inputs[i].name);
      }
    }
    output_ = interface.only_output("featureVectorizer");
    if (output_.type != Field::Type::Array) {
      fail(ErrorCode::InvalidFile, "the output of featureVectorizer must be an array");
    }
    const std::optional<int64_t> declared = output_.size();
    if (declared && static_cast<size_t>(*declared) != size_) {
      fail(ErrorCode::InvalidFile, "the output '{}' does not have the {} numbers of the inputs",
           output_.name, size_);
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<double> row(size_, 0.0);
    std::span<double> rest(row);
    for (const Piece& piece : pieces_) {
      with_context(fmt::format("input '{}'", piece.field.name),
                   [&] { fill(inputs[piece.input], rest.first(piece.size)); });
      rest = rest.subspan(piece.size);
    }
    return {number_output(output_, std::move(row))};
  }

  Parameters parameters() const override { return {{"features", fmt::format("{}", size_)}}; }

 private:
  static void fill(const Value& value, std::span<double> part) {
    if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
      const std::vector<int64_t> keys = integer_keys(*dictionary);
      for (size_t i = 0; i < keys.size(); ++i) {
        check_position(keys[i], part.size());
        part[static_cast<size_t>(keys[i])] = dictionary->values[i];
      }
    } else if (const auto* array = std::get_if<Array>(&value)) {
      if (array->values.size() != part.size()) {
        fail(ErrorCode::InvalidArgument, "{} numbers, the model takes {}", array->values.size(),
             part.size());
      }
      std::copy(array->values.begin(), array->values.end(), part.begin());
    } else if (std::holds_alternative<std::monostate>(value)) {
      std::fill(part.begin(), part.end(), std::numeric_limits<double>::quiet_NaN());
    } else {
      part.front() = to_number(value);
    }
  }

  std::vector<Piece> pieces_;
  size_t size_ = 0;
  Field output_;
};

}  // namespace

StagePtr read_feature_vectorizer(const proto::FeatureVectorizer& message,
                                 const Interface& interface) {
  return std::make_unique<FeatureVectorizer>(message, interface);
}

}  // namespace pippin::tabular
