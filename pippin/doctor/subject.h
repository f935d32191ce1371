// The subject of rules: a model, its functions with the sizes of their values, and additional
// information from the report.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/doctor/rule.h"
#include "pippin/doctor/target.h"
#include "pippin/mil/model.h"
#include "pippin/mil/ops/op.h"

namespace pippin::doctor {

// The size of an axis: one number, or a range.
struct Extent {
  int64_t lower = 0;
  int64_t upper = 0;
  bool fixed() const { return lower == upper; }
};
inline constexpr int64_t kNoLimit = INT32_MAX;  // an unbounded upper size
std::string to_string(const Extent& extent);    // "64", "1..512", "1.."

// One function and its operations.
class FunctionView {
 public:
  FunctionView(std::string name, const mil::Function& function,
               const mil::FunctionDescription& description);
  ~FunctionView();
  FunctionView(FunctionView&&) noexcept;

  const std::string& name() const { return name_; }
  const mil::Function& function() const { return *function_; }
  const mil::FunctionDescription& description() const { return *description_; }
  // Includes nested ones, in order.
  const std::vector<const mil::Operation*>& operations() const { return operations_; }
  // Operations executed by a run: neither constants nor results computed from constants alone.
  const std::vector<const mil::Operation*>& running() const { return running_; }

  // The axes of a value, or of a state's tensor; empty if the rank is unknown.
  std::vector<Extent> extents(const mil::Var& var) const;
  // Of the first output; as declared if inference has no result.
  std::vector<Extent> extents(const mil::Operation& operation) const;
  mil::DataType type_of(const mil::Var& var) const;
  // Whether the operation returns an fp16 tensor.
  bool is_half(const mil::Operation& operation) const;
  // Known when the program is loaded.
  bool is_constant(const mil::Binding& binding) const;
  bool is_constant(const mil::Var* var) const { return constants_.contains(var); }
  // Operations that take the value as one of their inputs.
  const std::vector<const mil::Operation*>& users(const mil::Var* var) const;

 private:
  struct Sizes;
  void sort_operations();

  std::string name_;
  const mil::Function* function_;
  const mil::FunctionDescription* description_;
  std::vector<const mil::Operation*> operations_, running_;
  std::map<const mil::Var*, std::vector<const mil::Operation*>> users_;
  std::map<const mil::Var*, bool> constants_;
  std::unique_ptr<Sizes> sizes_;
};

// The largest absolute values of norms' inputs and of results during a run, by function and value
// name (calibrate.h).
using Peaks = std::map<std::pair<std::string, std::string>, double>;

struct Subject {
  Subject(const mil::Model& examined, std::optional<Target> wanted);

  const mil::Model& model;
  std::optional<Target> target;
  // The basis of size limits without a target: phones have the lower ones.
  bool is_phone() const { return !target || target->is_phone; }
  std::vector<FunctionView> functions;
  std::string file_name;                 // of the package, for messages; may be empty
  std::optional<bool> has_tokenizer;     // nullopt: determined elsewhere (one of several parts)
  const mil::Model* pipeline = nullptr;  // if the model is one of its stages
  const Peaks* measured = nullptr;
};

// Collects places; those of one rule form one finding.
class Findings {
 public:
  void add(const Rule& rule, Place place);
  void add(const Rule& rule, const FunctionView& function, const mil::Operation& operation,
           std::string detail = {});
  // In the order of the rules' table.
  std::vector<Finding> take(const std::string& package);

 private:
  std::vector<Finding> found_;
};

// The rules on one subject, and their check.
struct Group {
  std::vector<const Rule*> rules;
  void (*check)(const Subject& subject, Findings& findings);
};

}  // namespace pippin::doctor
