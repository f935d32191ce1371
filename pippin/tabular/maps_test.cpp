// Tests of kinds that transform features, and of kinds without predictions.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pippin/base/error_testing.h"
#include "pippin/tabular/stage_testing.h"

namespace pippin::tabular {
namespace {

using Doubles = std::vector<double>;
using Texts = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Type = Field::Type;
const double kNotNumber = std::numeric_limits<double>::quiet_NaN();

Interface one_to_one(Field input, Field output) {
  Interface interface;
  interface.inputs = {std::move(input)};
  interface.outputs = {std::move(output)};
  return interface;
}

TEST(Scaler, ShiftsThenScales) {
  proto::Scaler message;
  message.add_shift(1);
  message.add_scale(2);
  message.add_scale(10);
  const Interface two = row_interface(2, field("y", Type::Array, {2}));
  EXPECT_EQ(numbers(run_one(*stage_of(604, message, two), row({3, 4}))), (Doubles{8, 50}));
  EXPECT_EQ(numbers(run_one(*stage_of(604, proto::Scaler(), two), row({3, 4}))), (Doubles{3, 4}));
  message.add_scale(1);
  EXPECT_EQ(thrown_message([&] { stage_of(604, message, two); }),
            "there are 3 shifts or scales for 2 numbers");
}

TEST(Normalizer, Norms) {
  const auto normalized = [](int norm, Doubles x) {
    proto::Normalizer message;
    message.set_norm(norm);
    return numbers(run_one(*stage_of(607, message, row_interface(2, field("y", Type::Array, {2}))),
                           row(std::move(x))));
  };
  EXPECT_EQ(normalized(0, {-8, 4}), (Doubles{-2, 1}));
  EXPECT_EQ(normalized(1, {-6, 2}), (Doubles{-0.75, 0.25}));
  EXPECT_EQ(normalized(2, {-3, 4}), (Doubles{-0.6, 0.8}));
  EXPECT_EQ(normalized(2, {0, 0}), (Doubles{0, 0}));
  EXPECT_EQ(thrown_message([&] { normalized(3, {0, 0}); }), "unknown normType 3");
}

TEST(ArrayFeatureExtractor, TakesPositions) {
  proto::ArrayFeatureExtractor message;
  message.add_indices(2);
  message.add_indices(0);
  const Interface three = row_interface(3, field("y", Type::Array, {2}));
  EXPECT_EQ(numbers(run_one(*stage_of(609, message, three), row({5, 6, 7}))), (Doubles{7, 5}));
  proto::ArrayFeatureExtractor one;
  one.add_indices(1);
  const Value whole =
      run_one(*stage_of(609, one, row_interface(3, field("y", Type::Int64))), row({5, 6, 7}));
  EXPECT_EQ(std::get<int64_t>(whole), 6);
  message.add_indices(3);
  EXPECT_EQ(thrown_message([&] { stage_of(609, message, three); }), "position 3 of 3 numbers");
}

TEST(OneHotEncoder, MarksTheCategory) {
  proto::OneHotEncoder message;
  for (const char* text : {"red", "green"}) message.mutable_strings()->add_values(text);
  const Interface dense = one_to_one(field("c", Type::String), field("y", Type::Array, {2}));
  const StagePtr stage = stage_of(600, message, dense);
  EXPECT_EQ(numbers(run_one(*stage, std::string("green"))), (Doubles{0, 1}));
  EXPECT_EQ(*stage->categories(), Labels(Texts{"red", "green"}));
  EXPECT_EQ(thrown_message([&] { run_one(*stage, std::string("blue")); }),
            "'blue' is not among the model's 2 categories");
  message.set_handle_unknown(1);
  EXPECT_EQ(numbers(run_one(*stage_of(600, message, dense), std::string("blue"))), (Doubles{0, 0}));
  proto::OneHotEncoder whole;
  for (const int number : {7, 9}) whole.mutable_ints()->add_values(number);
  const StagePtr sparse =
      stage_of(600, whole, one_to_one(field("c", Type::Double), dictionary_field("y", false)));
  const auto result = std::get<Dictionary>(run_one(*sparse, 9.0));
  EXPECT_EQ(std::get<Ints>(result.keys), Ints{1});
  EXPECT_EQ(result.values, Doubles{1});
}

TEST(DictVectorizer, PutsValuesAtTheirKeys) {
  proto::DictVectorizer message;
  for (const char* text : {"a", "b", "c"}) message.mutable_strings()->add_values(text);
  const Dictionary given{Texts{"c", "unknown", "a"}, {3, 4, 5}};
  const StagePtr dense =
      stage_of(603, message, one_to_one(dictionary_field("d", true), field("y", Type::Array, {3})));
  EXPECT_EQ(numbers(run_one(*dense, given)), (Doubles{5, 0, 3}));
  const auto sparse = std::get<Dictionary>(
      run_one(*stage_of(603, message,
                        one_to_one(dictionary_field("d", true), dictionary_field("y", false))),
              given));
  EXPECT_EQ(std::get<Ints>(sparse.keys), (Ints{2, 0}));
  EXPECT_EQ(sparse.values, (Doubles{3, 5}));
  // Keys as texts of a model that holds whole numbers.
  proto::DictVectorizer whole;
  for (const int number : {10, 20}) whole.mutable_ints()->add_values(number);
  const StagePtr converting =
      stage_of(603, whole, one_to_one(dictionary_field("d", true), field("y", Type::Array, {2})));
  EXPECT_EQ(numbers(run_one(*converting, Dictionary{Texts{"20"}, {1.5}})), (Doubles{0, 1.5}));
}

TEST(FeatureVectorizer, SpreadsDictionaries) {
  proto::FeatureVectorizer message;
  message.add_columns()->set_name("d");
  message.mutable_columns(0)->set_dimensions(3);
  message.add_columns()->set_name("n");
  message.mutable_columns(1)->set_dimensions(1);
  Interface interface = one_to_one(field("n", Type::Double), field("y", Type::Array, {4}));
  interface.inputs.push_back(dictionary_field("d", false));
  const StagePtr stage = stage_of(602, message, interface);
  const std::vector<Value> inputs = {0.5, Dictionary{Ints{2}, {7}}};
  EXPECT_EQ(numbers(stage->run(inputs).at(0)), (Doubles{0, 0, 7, 0.5}));
  const std::vector<Value> outside = {0.5, Dictionary{Ints{3}, {7}}};
  EXPECT_EQ(thrown_message([&] { stage->run(outside); }),
            "input 'd': the key 3 is not a position; there are 3");
}

TEST(Imputer, ReplacesMissingValues) {
  proto::Imputer message;
  for (const double value : {10.0, 20.0, 30.0}) message.mutable_double_array()->add_values(value);
  message.set_replace_double(kNotNumber);
  const Interface array = one_to_one(field("x", Type::Array, {3}), field("y", Type::Array, {3}));
  EXPECT_EQ(numbers(run_one(*stage_of(601, message, array), row({kNotNumber, 5, kNotNumber}))),
            (Doubles{10, 5, 30}));
  EXPECT_EQ(numbers(run_one(*stage_of(601, message, array), Value())), (Doubles{10, 20, 30}));
  proto::Imputer text;
  text.set_string_value("none");
  text.set_replace_string("");
  const StagePtr texts =
      stage_of(601, text, one_to_one(field("x", Type::String), field("y", Type::String)));
  EXPECT_EQ(std::get<std::string>(run_one(*texts, std::string())), "none");
  EXPECT_EQ(std::get<std::string>(run_one(*texts, std::string("a"))), "a");
  proto::Imputer whole;
  whole.set_int64_value(4);
  whole.set_replace_int64(-1);
  const StagePtr numbers_stage =
      stage_of(601, whole, one_to_one(field("x", Type::Int64), field("y", Type::Int64)));
  EXPECT_EQ(std::get<int64_t>(run_one(*numbers_stage, int64_t{-1})), 4);
  EXPECT_EQ(std::get<int64_t>(run_one(*numbers_stage, int64_t{3})), 3);
  proto::Imputer keyed;
  proto::TextDouble& entry = *keyed.mutable_string_dictionary()->add_entries();
  entry.set_key("a");
  entry.set_value(6);
  keyed.set_replace_double(0);
  const StagePtr dictionaries =
      stage_of(601, keyed, one_to_one(dictionary_field("x", true), dictionary_field("y", true)));
  EXPECT_EQ(numbers(run_one(*dictionaries, Dictionary{Texts{"a", "b"}, {0, 0}})), (Doubles{6, 0}));
  EXPECT_EQ(thrown_message([&] {
              stage_of(601, text, one_to_one(field("x", Type::Double), field("y", Type::Double)));
            }),
            "a string cannot be imputed in a double");
}

TEST(CategoricalMapping, BothWays) {
  proto::CategoricalMapping message;
  proto::TextInt& entry = *message.mutable_string_to_int64()->add_entries();
  entry.set_key("a");
  entry.set_value(3);
  const Interface to_number = one_to_one(field("c", Type::String), field("y", Type::Int64));
  EXPECT_EQ(std::get<int64_t>(run_one(*stage_of(606, message, to_number), std::string("a"))), 3);
  EXPECT_EQ(thrown_message([&] { run_one(*stage_of(606, message, to_number), std::string("b")); }),
            "'b' is not among the model's 1 categories");
  message.set_int64_value(-9);
  EXPECT_EQ(std::get<int64_t>(run_one(*stage_of(606, message, to_number), std::string("b"))), -9);
  proto::CategoricalMapping back;
  proto::IntText& other = *back.mutable_int64_to_string()->add_entries();
  other.set_key(3);
  other.set_value("a");
  const Interface to_text = one_to_one(field("c", Type::Int64), field("y", Type::String));
  EXPECT_EQ(std::get<std::string>(run_one(*stage_of(606, back, to_text), int64_t{3})), "a");
  EXPECT_EQ(thrown_message([&] { stage_of(606, back, to_number); }),
            "the output 'y' is an int64, the mapping returns a string");
}

TEST(Identity, GivesItsInputs) {
  Interface interface = one_to_one(field("x", Type::String), field("x", Type::String));
  interface.inputs.insert(interface.inputs.begin(), field("other", Type::Double));
  const std::vector<Value> inputs = {1.0, std::string("text")};
  EXPECT_EQ(std::get<std::string>(stage_of(900, proto::Empty(), interface)->run(inputs).at(0)),
            "text");
  interface.outputs[0].name = "z";
  EXPECT_EQ(thrown_message([&] { stage_of(900, proto::Empty(), interface); }),
            "no input with the name of the output 'z'");
}

TEST(Thresholding, KeepsAllClasses) {
  const Interface interface = row_interface(2, field("y", Type::Array, {2, 2}));
  EXPECT_EQ(numbers(run_one(*stage_of(560, proto::Thresholding(), interface), row({0.5, 0.25}))),
            (Doubles{0.5, 0.25, 1, 1}));
}

TEST(Closed, ShowParametersAndSayWhy) {
  proto::TextModel text;
  text.set_revision(2);
  text.set_language("en");
  text.set_data("12345");
  text.mutable_labels()->add_values("good");
  const StagePtr classifier =
      stage_of(2000, text, one_to_one(field("text", Type::String), field("label", Type::String)));
  EXPECT_EQ(*classifier->labels(), Labels(Texts{"good"}));
  EXPECT_EQ(classifier->parameters(),
            (Stage::Parameters{{"revision", "2"}, {"language", "en"}, {"parameters", "5 B"}}));
  EXPECT_NE(classifier->refusal().find("Natural Language"), std::string::npos);
  EXPECT_EQ(thrown_message([&] { run_one(*classifier, std::string("fine")); }),
            classifier->refusal());
  proto::CustomModel custom;
  custom.set_class_name("Mine");
  custom.add_parameters()->set_name("k");
  custom.mutable_parameters(0)->mutable_value()->set_double_value(0.5);
  const StagePtr mine = stage_of(555, custom, Interface());
  EXPECT_EQ(mine->parameters(), (Stage::Parameters{{"class", "Mine"}, {"k", "0.5"}}));
  EXPECT_NE(mine->refusal().find("'Mine'"), std::string::npos);
  for (const int64_t kind : {304, 501, 556, 2001, 2002, 2003, 2004, 2005, 2006, 3000}) {
    EXPECT_FALSE(stage_of(kind, proto::Empty(), Interface())->refusal().empty()) << kind;
  }
}

}  // namespace
}  // namespace pippin::tabular
