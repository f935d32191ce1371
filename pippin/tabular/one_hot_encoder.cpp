// One-hot encoders: a 1 at the position of a category. Facts: Core ML's OneHotEncoder.proto.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/category_index.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

class OneHotEncoder : public Stage {
 public:
  OneHotEncoder(const proto::OneHotEncoder& message, const Interface& interface)
      : categories_(read_labels(message.has_strings() ? &message.strings() : nullptr,
                                message.has_ints() ? &message.ints() : nullptr)),
        rejects_unknown_(message.handle_unknown() == 0),
        output_(interface.only_output("oneHotEncoder")) {
    const Field& input = interface.only_input("oneHotEncoder");
    if (input.type == Field::Type::Dictionary || input.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "the input '{}' is neither a string nor a number", input.name);
    }
    if (message.handle_unknown() < 0 || message.handle_unknown() > 1) {
      fail(ErrorCode::InvalidFile, "unknown handleUnknown {}", message.handle_unknown());
    }
    // The declared type decides: `outputSparse` says the same.
    if (output_.type == Field::Type::Dictionary && !output_.string_keys) return;
    if (output_.type != Field::Type::Array) {
      fail(ErrorCode::InvalidFile,
           "the output '{}' is neither an array nor a dictionary of "
           "positions",
           output_.name);
    }
    check_number_output(output_, static_cast<int64_t>(categories_.size()));
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const Value& value = inputs.front();
    const bool missing = std::holds_alternative<std::monostate>(value);
    const std::optional<size_t> position = missing ? std::nullopt : categories_.find(value);
    if (!position && rejects_unknown_) {
      fail(ErrorCode::InvalidArgument, "{} is not among the model's {} categories",
           missing ? "no value" : quoted(value), categories_.size());
    }
    if (output_.type == Field::Type::Dictionary) {
      if (!position) return {Dictionary{std::vector<int64_t>{}, {}}};
      return {Dictionary{std::vector<int64_t>{static_cast<int64_t>(*position)}, {1.0}}};
    }
    std::vector<double> row(categories_.size(), 0.0);
    if (position) row[*position] = 1.0;
    return {number_output(output_, std::move(row))};
  }

  const Labels* categories() const override { return &categories_.labels(); }

  Parameters parameters() const override {
    return {{"categories", fmt::format("{}", categories_.size())},
            {"unknown categories", rejects_unknown_ ? "an error" : "zeros"}};
  }

 private:
  const CategoryIndex categories_;
  const bool rejects_unknown_;
  const Field output_;
};

}  // namespace

StagePtr read_one_hot_encoder(const proto::OneHotEncoder& message, const Interface& interface) {
  return std::make_unique<OneHotEncoder>(message, interface);
}

}  // namespace pippin::tabular
