// Kinds that map an array, or a number, to another: scaler, normalizer, arrayFeatureExtractor,
// identity, classConfidenceThresholding. Facts: Core ML's .proto files of these names.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/tabular/readers.h"

namespace pippin::tabular {
namespace {

// A model of one input and one output of numbers.
class NumberMap : public Stage {
 public:
  NumberMap(std::string_view kind, const Interface& interface)
      : input_(interface.only_input(kind)), output_(interface.only_output(kind)) {
    if (input_.type == Field::Type::String || input_.type == Field::Type::Dictionary ||
        input_.type == Field::Type::Other) {
      fail(ErrorCode::InvalidFile, "input '{}': neither a number nor an array", input_.name);
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    const Value& value = inputs.front();
    const auto* array = std::get_if<Array>(&value);
    std::vector<double> numbers =
        array != nullptr ? array->values : std::vector<double>{to_number(value)};
    map(numbers);
    Value result = number_output(output_, std::move(numbers));
    auto* mapped = std::get_if<Array>(&result);
    if (array != nullptr && mapped != nullptr && output_.shape.empty() &&
        mapped->values.size() == array->values.size()) {
      mapped->shape = array->shape;
    }
    return {std::move(result)};
  }

 protected:
  const Field& input() const { return input_; }
  // Throws InvalidFile unless the output can hold `size` numbers.
  void check_output(std::optional<int64_t> size) const { check_number_output(output_, size); }

 private:
  virtual void map(std::vector<double>& numbers) const = 0;

  const Field input_, output_;
};

class Scaler : public NumberMap {
 public:
  Scaler(const proto::Scaler& message, const Interface& interface)
      : NumberMap("scaler", interface),
        shift_(message.shift().begin(), message.shift().end()),
        scale_(message.scale().begin(), message.scale().end()) {
    check_output(input().size());
    for (const auto* values : {&shift_, &scale_}) {
      if (input().size()) check_size(*values, static_cast<size_t>(*input().size()), true);
    }
  }

  Parameters parameters() const override {
    return {{"shifts", fmt::format("{}", shift_.size())},
            {"scales", fmt::format("{}", scale_.size())}};
  }

 private:
  static void check_size(const std::vector<double>& values, size_t size, bool when_read) {
    if (values.size() <= 1 || values.size() == size) return;
    fail(when_read ? ErrorCode::InvalidFile : ErrorCode::InvalidArgument,
         "there are {} shifts or scales for {} numbers", values.size(), size);
  }

  static double at(const std::vector<double>& values, size_t index, double absent) {
    if (values.empty()) return absent;
    return values.size() == 1 ? values.front() : values[index];
  }

  void map(std::vector<double>& numbers) const override {
    check_size(shift_, numbers.size(), false);
    check_size(scale_, numbers.size(), false);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = (numbers[i] + at(shift_, i, 0)) * at(scale_, i, 1);
    }
  }

  const std::vector<double> shift_, scale_;
};

class Normalizer : public NumberMap {
 public:
  Normalizer(const proto::Normalizer& message, const Interface& interface)
      : NumberMap("normalizer", interface), norm_(static_cast<Norm>(message.norm())) {
    if (message.norm() < 0 || message.norm() > 2) {
      fail(ErrorCode::InvalidFile, "unknown normType {}", message.norm());
    }
    check_output(input().size());
  }

  Parameters parameters() const override {
    return {{"norm", norm_ == Norm::Max ? "max" : norm_ == Norm::L1 ? "L1" : "L2"}};
  }

 private:
  enum class Norm : uint8_t { Max, L1, L2 };

  double norm_of(const std::vector<double>& x) const {
    if (x.empty()) return 0;
    if (norm_ == Norm::Max) return *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double value : x) sum += norm_ == Norm::L1 ? std::abs(value) : value * value;
    return norm_ == Norm::L1 ? sum : std::sqrt(sum);
  }

  void map(std::vector<double>& numbers) const override {
    const double norm = norm_of(numbers);
    if (norm == 0) return;
    for (double& number : numbers) number /= norm;
  }

  const Norm norm_;
};

class ArrayExtractor : public NumberMap {
 public:
  ArrayExtractor(const proto::ArrayFeatureExtractor& message, const Interface& interface)
      : NumberMap("arrayFeatureExtractor", interface),
        indices_(message.indices().begin(), message.indices().end()) {
    if (indices_.empty()) fail(ErrorCode::InvalidFile, "no positions to extract");
    for (const uint64_t index : indices_) {
      if (input().size() && index >= static_cast<uint64_t>(*input().size())) {
        fail(ErrorCode::InvalidFile, "position {} of {} numbers", index, *input().size());
      }
    }
    check_output(static_cast<int64_t>(indices_.size()));
  }

  Parameters parameters() const override {
    return {{"positions", fmt::format("{}", indices_.size())}};
  }

 private:
  void map(std::vector<double>& numbers) const override {
    std::vector<double> result;
    result.reserve(indices_.size());
    for (const uint64_t index : indices_) {
      if (index >= numbers.size()) {
        fail(ErrorCode::InvalidArgument, "{} numbers, the model takes the one at {}",
             numbers.size(), index);
      }
      result.push_back(numbers[static_cast<size_t>(index)]);
    }
    numbers = std::move(result);
  }

  const std::vector<uint64_t> indices_;
};

// Keeps all classes: a second row of ones.
class Thresholding : public NumberMap {
 public:
  explicit Thresholding(const Interface& interface)
      : NumberMap("classConfidenceThresholding", interface) {
    const std::optional<int64_t> size = input().size();
    check_output(size ? checked_mul(*size, int64_t{2}) : std::nullopt);
  }

 private:
  void map(std::vector<double>& numbers) const override { numbers.resize(numbers.size() * 2, 1.0); }
};

class Identity : public Stage {
 public:
  explicit Identity(const Interface& interface) {
    for (const Field& output : interface.outputs) {
      const std::optional<size_t> input = interface.input_index(output.name);
      if (!input) {
        fail(ErrorCode::InvalidFile, "no input with the name of the output '{}'", output.name);
      }
      if (interface.inputs[*input].type != output.type) {
        fail(ErrorCode::InvalidFile, "the output '{}' is {}, the input {}", output.name,
             to_string(output.type), to_string(interface.inputs[*input].type));
      }
      inputs_.push_back(*input);
    }
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<Value> outputs;
    outputs.reserve(inputs_.size());
    for (const size_t input : inputs_) outputs.push_back(inputs[input]);
    return outputs;
  }

 private:
  std::vector<size_t> inputs_;
};

}  // namespace

StagePtr read_scaler(const proto::Scaler& message, const Interface& interface) {
  return std::make_unique<Scaler>(message, interface);
}

StagePtr read_normalizer(const proto::Normalizer& message, const Interface& interface) {
  return std::make_unique<Normalizer>(message, interface);
}

StagePtr read_array_extractor(const proto::ArrayFeatureExtractor& message,
                              const Interface& interface) {
  return std::make_unique<ArrayExtractor>(message, interface);
}

StagePtr read_thresholding(const proto::Thresholding& /*message*/, const Interface& interface) {
  return std::make_unique<Thresholding>(interface);
}

StagePtr read_identity(const proto::Empty& /*message*/, const Interface& interface) {
  return std::make_unique<Identity>(interface);
}

}  // namespace pippin::tabular
