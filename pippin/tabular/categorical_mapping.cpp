// Categorical mappings: strings to whole numbers, or the reverse. Facts: Core ML's
// CategoricalMapping.proto.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/category_index.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

Labels read_keys(const proto::CategoricalMapping& message) {
  if (message.has_int64_to_string()) {
    std::vector<int64_t> keys;
    for (const proto::IntText& entry : message.int64_to_string().entries()) {
      keys.push_back(entry.key());
    }
    return keys;
  }
  std::vector<std::string> keys;
  for (const proto::TextInt& entry : message.string_to_int64().entries()) {
    keys.push_back(read_text(entry.key(), "a category"));
  }
  return keys;
}

std::vector<Value> read_values(const proto::CategoricalMapping& message) {
  std::vector<Value> values;
  for (const proto::TextInt& entry : message.string_to_int64().entries()) {
    values.emplace_back(int64_t{entry.value()});
  }
  for (const proto::IntText& entry : message.int64_to_string().entries()) {
    values.emplace_back(read_text(entry.value(), "a category"));
  }
  return values;
}

class CategoricalMapping : public Stage {
 public:
  CategoricalMapping(const proto::CategoricalMapping& message, const Interface& interface)
      : keys_(read_keys(message)), values_(read_values(message)) {
    const bool to_text = message.has_int64_to_string();
    if (message.has_string_value()) {
      unknown_ = read_text(message.string_value(), "the value of unknown categories");
    } else if (message.has_int64_value()) {
      unknown_ = int64_t{message.int64_value()};
    }
    const Field& input = interface.only_input("categoricalMapping");
    const Field& output = interface.only_output("categoricalMapping");
    const auto wanted = to_text ? Field::Type::String : Field::Type::Int64;
    if (input.type == Field::Type::Dictionary || input.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "the input '{}' is neither a string nor a number", input.name);
    }
    const bool suits =
        unknown_.index() == 0 || std::holds_alternative<std::string>(unknown_) == to_text;
    if (output.type != wanted || !suits) {
      fail(ErrorCode::InvalidFile, "the output '{}' is {}, the mapping returns {}", output.name,
           to_string(output.type), to_string(wanted));
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const Value& value = inputs.front();
    const bool missing = std::holds_alternative<std::monostate>(value);
    const std::optional<size_t> position = missing ? std::nullopt : keys_.find(value);
    if (position) return {values_[*position]};
    if (unknown_.index() != 0) return {unknown_};
    fail(ErrorCode::InvalidArgument, "{} is not among the model's {} categories",
         missing ? "no value" : quoted(value), keys_.size());
  }

  const Labels* categories() const override { return &keys_.labels(); }

  Parameters parameters() const override {
    return {{"categories", fmt::format("{}", keys_.size())},
            {"unknown categories", unknown_.index() == 0 ? "an error" : quoted(unknown_)}};
  }

 private:
  const CategoryIndex keys_;
  const std::vector<Value> values_;
  Value unknown_;
};

}  // namespace

StagePtr read_categorical_mapping(const proto::CategoricalMapping& message,
                                  const Interface& interface) {
  return std::make_unique<CategoricalMapping>(message, interface);
}

}  // namespace pippin::tabular
