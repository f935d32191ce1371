// Imputers: replacement of missing values. Facts: Core ML's Imputer.proto.
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

Value read_imputed(const proto::Imputer& message) {
  using Message = proto::Imputer;
  switch (message.imputed_case()) {
    case Message::kDoubleValue:
      return message.double_value();
    case Message::kInt64Value:
      return int64_t{message.int64_value()};
    case Message::kStringValue:
      return read_text(message.string_value(), "the imputed value");
    case Message::kDoubleArray:
    case Message::kInt64Array: {
      Array array;
      if (message.has_double_array()) {
        const auto& values = message.double_array().values();
        array.values.assign(values.begin(), values.end());
      }
      for (const int64_t value : message.int64_array().values()) {
        array.values.push_back(static_cast<double>(value));
      }
      array.shape = {static_cast<int64_t>(array.values.size())};
      return array;
    }
    case Message::kStringDictionary: {
      std::vector<std::string> keys;
      std::vector<double> values;
      for (const proto::TextDouble& entry : message.string_dictionary().entries()) {
        keys.push_back(read_text(entry.key(), "a key"));
        values.push_back(entry.value());
      }
      return Dictionary{std::move(keys), std::move(values)};
    }
    case Message::kInt64Dictionary: {
      std::vector<int64_t> keys;
      std::vector<double> values;
      for (const proto::IntDouble& entry : message.int64_dictionary().entries()) {
        keys.push_back(entry.key());
        values.push_back(entry.value());
      }
      return Dictionary{std::move(keys), std::move(values)};
    }
    case Message::IMPUTED_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "the imputer has no value to impute");
}

Value read_replaced(const proto::Imputer& message) {
  switch (message.replace_case()) {
    case proto::Imputer::kReplaceDouble:
      return message.replace_double();
    case proto::Imputer::kReplaceInt64:
      return int64_t{message.replace_int64()};
    case proto::Imputer::kReplaceString:
      return read_text(message.replace_string(), "the replaced value");
    case proto::Imputer::REPLACE_NOT_SET:
      break;
  }
  return {};
}

class Imputer : public Stage {
 public:
  Imputer(const proto::Imputer& message, const Interface& interface)
      : imputed_(read_imputed(message)),
        replaced_(read_replaced(message)),
        input_(interface.only_input("imputer")),
        output_(interface.only_output("imputer")) {
    const bool same = input_.type == output_.type || (is_number(input_) && is_number(output_));
    if (!same || input_.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "the output '{}' is {}, the input {}", output_.name,
           to_string(output_.type), to_string(input_.type));
    }
    if (!suits()) {
      fail(ErrorCode::InvalidFile, "{} cannot be imputed in {}", describe(imputed_),
           to_string(input_.type));
    }
    const auto* array = std::get_if<Array>(&imputed_);
    const std::optional<int64_t> size = input_.size();
    if (array != nullptr && size && static_cast<int64_t>(array->values.size()) != *size) {
      fail(ErrorCode::InvalidFile, "{} values to impute in {} numbers", array->values.size(),
           *size);
    }
    if (const auto* dictionary = std::get_if<Dictionary>(&imputed_)) {
      const std::vector<std::string> keys = text_keys(*dictionary);
      for (size_t i = 0; i < keys.size(); ++i) by_key_[keys[i]] = dictionary->values[i];
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const Value& value = inputs.front();
    if (std::holds_alternative<std::monostate>(value)) return {whole()};
    if (const auto* array = std::get_if<Array>(&value)) return {filled_array(*array)};
    if (const auto* dictionary = std::get_if<Dictionary>(&value)) return {filled(*dictionary)};
    if (const auto* text = std::get_if<std::string>(&value)) {
      const auto* replaced = std::get_if<std::string>(&replaced_);
      return {replaced != nullptr && *text == *replaced ? imputed_ : value};
    }
    if (is_missing(to_number(value))) return {whole()};
    return {as_output(value)};
  }

  Parameters parameters() const override {
    const auto text = [](const Value& value) {
      const auto* string = std::get_if<std::string>(&value);
      return string != nullptr ? *string : describe(value);
    };
    return {{"imputed", text(imputed_)},
            {"replaced", replaced_.index() == 0 ? "missing values" : text(replaced_)}};
  }

 private:
  bool suits() const {
    const bool number =
        std::holds_alternative<double>(imputed_) || std::holds_alternative<int64_t>(imputed_);
    switch (input_.type) {
      case Field::Type::String:
        return std::holds_alternative<std::string>(imputed_);
      case Field::Type::Array:
        return number || std::holds_alternative<Array>(imputed_);
      case Field::Type::Dictionary:
        return number || std::holds_alternative<Dictionary>(imputed_);
      default: {
        const auto* array = std::get_if<Array>(&imputed_);
        return number || (array != nullptr && array->values.size() == 1);
      }
    }
  }

  static bool is_number(const Field& field) {
    return field.type == Field::Type::Double || field.type == Field::Type::Int64 ||
           field.type == Field::Type::Array;
  }

  // A number in the type of the output; whole numbers stay exact.
  Value as_output(const Value& value) const {
    const bool exact = output_.type == Field::Type::Int64 && std::holds_alternative<int64_t>(value);
    return exact ? value : number_output(output_, {to_number(value)});
  }

  // In the given shape, if the output is an array.
  Value filled_array(const Array& array) const {
    Array result = filled(array);
    if (output_.type == Field::Type::Array) return result;
    return number_output(output_, std::move(result.values));
  }

  // NaN stands for every NaN, and for the missing value if the model names none.
  bool is_missing(double number) const {
    if (replaced_.index() == 0) return std::isnan(number);
    if (std::holds_alternative<std::string>(replaced_)) return false;
    const double replaced = to_number(replaced_);
    return number == replaced || (std::isnan(number) && std::isnan(replaced));
  }

  // The value in place of an absent or missing one.
  Value whole() const {
    if (input_.type == Field::Type::String) return imputed_;
    if (input_.type == Field::Type::Dictionary) {
      return std::holds_alternative<Dictionary>(imputed_) ? imputed_ : Dictionary();
    }
    if (const auto* array = std::get_if<Array>(&imputed_)) return filled_array(*array);
    if (input_.type == Field::Type::Array && input_.size() != 1) {
      fail(ErrorCode::InvalidArgument, "no value; the model imputes the numbers of an array");
    }
    return as_output(imputed_);
  }

  Array filled(Array array) const {
    const auto* by_position = std::get_if<Array>(&imputed_);
    if (by_position != nullptr && by_position->values.size() != array.values.size()) {
      fail(ErrorCode::InvalidArgument, "{} numbers, the model imputes {}", array.values.size(),
           by_position->values.size());
    }
    for (size_t i = 0; i < array.values.size(); ++i) {
      if (!is_missing(array.values[i])) continue;
      array.values[i] = by_position != nullptr ? by_position->values[i] : to_number(imputed_);
    }
    return array;
  }

  Dictionary filled(Dictionary dictionary) const {
    const std::vector<std::string> keys = text_keys(dictionary);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!is_missing(dictionary.values[i])) continue;
      if (!std::holds_alternative<Dictionary>(imputed_)) {
        dictionary.values[i] = to_number(imputed_);
      } else if (const auto found = by_key_.find(keys[i]); found != by_key_.end()) {
        dictionary.values[i] = found->second;
      }
    }
    return dictionary;
  }

  const Value imputed_, replaced_;
  const Field input_, output_;
  std::map<std::string, double> by_key_;  // of an imputed dictionary
};

}  // namespace

StagePtr read_imputer(const proto::Imputer& message, const Interface& interface) {
  return std::make_unique<Imputer>(message, interface);
}

}  // namespace pippin::tabular
