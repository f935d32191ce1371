// Dictionary vectorizers: the values of a dictionary at the positions of their keys. Facts: Core
// ML's DictVectorizer.proto. Unknown keys are dropped, as in scikit-learn.
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/tabular/category_index.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

class DictVectorizer : public Stage {
 public:
  DictVectorizer(const proto::DictVectorizer& message, const Interface& interface)
      : keys_(read_labels(message.has_strings() ? &message.strings() : nullptr,
                          message.has_ints() ? &message.ints() : nullptr)),
        output_(interface.only_output("dictVectorizer")) {
    const Field& input = interface.only_input("dictVectorizer");
    if (input.type != Field::Type::Dictionary) {
      fail(ErrorCode::InvalidFile, "the input '{}' is not a dictionary", input.name);
    }
    if (output_.type == Field::Type::Dictionary && !output_.string_keys) return;
    if (output_.type != Field::Type::Array) {
      fail(ErrorCode::InvalidFile,
           "the output '{}' is neither an array nor a dictionary of "
           "positions",
           output_.name);
    }
    check_number_output(output_, static_cast<int64_t>(keys_.size()));
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const Dictionary empty;
    const auto* given = std::get_if<Dictionary>(&inputs.front());
    const Dictionary& dictionary = given != nullptr ? *given : empty;
    const bool dense = output_.type == Field::Type::Array;
    std::vector<double> row(dense ? keys_.size() : 0, 0.0);
    std::vector<int64_t> positions;
    std::vector<double> values;
    const auto put = [&](std::optional<size_t> position, double value) {
      if (!position) return;
      if (dense) {
        row[*position] = value;
      } else {
        positions.push_back(static_cast<int64_t>(*position));
        values.push_back(value);
      }
    };
    std::visit(
        [&](const auto& keys) {
          for (size_t i = 0; i < keys.size(); ++i) put(keys_.find(keys[i]), dictionary.values[i]);
        },
        dictionary.keys);
    if (dense) return {number_output(output_, std::move(row))};
    return {Dictionary{std::move(positions), std::move(values)}};
  }

  const Labels* categories() const override { return &keys_.labels(); }

  Parameters parameters() const override { return {{"keys", fmt::format("{}", keys_.size())}}; }

 private:
  const CategoryIndex keys_;
  const Field output_;
};

}  // namespace

StagePtr read_dict_vectorizer(const proto::DictVectorizer& message, const Interface& interface) {
  return std::make_unique<DictVectorizer>(message, interface);
}

}  // namespace pippin::tabular
