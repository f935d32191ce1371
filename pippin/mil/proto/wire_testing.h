// For tests only: models of kinds that Pippin reads but does not write, encoded byte by byte from
// the format's field numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::mil::wire {

inline std::string varint(uint64_t number) {
  std::string result;
  for (; number >= 0x80; number >>= 7) result += static_cast<char>(number | 0x80);
  return result + static_cast<char>(number);
}

inline std::string field(uint32_t field, std::string_view content) {
  return varint(field << 3 | 2) + varint(content.size()) + std::string(content);
}

inline std::string field(uint32_t field, uint64_t number) {
  return varint(field << 3) + varint(number);
}

inline std::string eight_bytes(double number) {
  std::string result;
  for (int i = 0; i < 64; i += 8) {
    result += static_cast<char>(std::bit_cast<uint64_t>(number) >> i);
  }
  return result;
}

inline std::string field(uint32_t field, double number) {
  return varint(field << 3 | 1) + eight_bytes(number);
}

inline std::string doubles(uint32_t number, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) packed += eight_bytes(value);
  return field(number, packed);
}

inline std::string four_bytes(float number) {
  std::string result;
  for (int i = 0; i < 32; i += 8) result += static_cast<char>(std::bit_cast<uint32_t>(number) >> i);
  return result;
}

inline std::string floats(uint32_t number, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values) packed += four_bytes(value);
  return field(number, packed);
}

inline std::string single(uint32_t number, float value) {
  return varint(number << 3 | 5) + four_bytes(value);
}

// A layer of a neural network, by the field of its type.
inline std::string layer(const std::string& name, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, uint32_t type,
                         const std::string& parameters) {
  std::string body = field(1, name);
  for (const std::string& input : inputs) body += field(2, input);
  for (const std::string& output : outputs) body += field(3, output);
  return field(1, body + field(type, parameters));
}

inline constexpr uint64_t kDouble = 0x10040, kFloat = 0x10020, kInt32 = 0x20020;

// Types of features.
inline std::string int64_type() {
  return field(1, "");
}
inline std::string double_type() {
  return field(2, "");
}
inline std::string string_type() {
  return field(3, "");
}
inline std::string dictionary_type(bool string_keys) {
  return field(6, field(string_keys ? 2 : 1, ""));
}
inline std::string array_type(const std::vector<uint64_t>& shape, uint64_t element = kDouble) {
  std::string sizes;
  for (const uint64_t size : shape) sizes += field(1, size);
  return field(5, sizes + field(2, element));
}
// The type of `least` to `most` rows; unbounded if `most` is below 0.
inline std::string rows_type(uint64_t least, int64_t most, uint64_t columns,
                             uint64_t element = kDouble) {
  const auto range = [](uint64_t from, int64_t to) {
    return field(1, field(1, from) + field(2, static_cast<uint64_t>(to)));
  };
  return field(5, field(2, element) + field(31, range(least, most) +
                                                    range(columns, static_cast<int64_t>(columns))));
}
inline std::string optional(const std::string& type) {
  return type + field(1000, uint64_t{1});
}

struct Feature {
  std::string name, type;
};

inline std::string description(const std::vector<Feature>& inputs,
                               const std::vector<Feature>& outputs,
                               const std::string& predicted = "",
                               const std::string& probabilities = "") {
  std::string result;
  for (const Feature& each : inputs) result += field(1, field(1, each.name) + field(3, each.type));
  for (const Feature& each : outputs) {
    result += field(10, field(1, each.name) + field(3, each.type));
  }
  if (!predicted.empty()) result += field(11, predicted);
  if (!probabilities.empty()) result += field(12, probabilities);
  return result;
}

inline std::string string_labels(const std::vector<std::string>& labels) {
  std::string list;
  for (const std::string& label : labels) list += field(1, label);
  return field(100, list);
}

inline std::string int64_labels(const std::vector<int64_t>& labels) {
  std::string list;
  for (const int64_t label : labels) list += field(1, static_cast<uint64_t>(label));
  return field(101, list);
}

// The fields shared by the two kinds of GLMs.
inline std::string linear_model(const std::vector<std::vector<double>>& weights,
                                const std::vector<double>& offsets, uint64_t transform = 0,
                                uint64_t encoding = 0) {
  std::string result;
  for (const auto& row : weights) result += field(1, doubles(1, row));
  result += doubles(2, offsets);
  if (transform != 0) result += field(3, transform);
  if (encoding != 0) result += field(4, encoding);
  return result;
}

inline std::string model(const std::string& description, uint32_t kind, std::string_view body) {
  return field(1, uint64_t{5}) + field(2, description) + field(kind, body);
}

struct Suppression {
  double iou = 0.5, confidence = 0.25;
  bool per_class = false;
  std::string labels, iou_input = "iou", confidence_input = "conf";
  std::string scores = "scores", boxes = "boxes", out_scores = "confidence",
              out_boxes = "coordinates";
};

inline std::string suppression_body(const Suppression& from) {
  return field(1, from.per_class ? field(1, uint64_t{1}) : std::string()) + from.labels +
         field(110, from.iou) + field(111, from.confidence) + field(200, from.scores) +
         field(201, from.boxes) + field(202, from.iou_input) + field(203, from.confidence_input) +
         field(210, from.out_scores) + field(211, from.out_boxes);
}

// `columns` holds the names of inputs and their numbers of elements.
inline std::string vectorizer(const std::vector<std::pair<std::string, uint64_t>>& columns) {
  std::string result;
  for (const auto& [name, size] : columns) result += field(1, field(1, name) + field(2, size));
  return result;
}

inline std::string pipeline(const std::vector<std::string>& stages) {
  std::string result;
  for (const std::string& stage : stages) result += field(1, stage);
  return result;
}

}  // namespace pippin::mil::wire
