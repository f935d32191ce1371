// Elements at places that other elements name: the ops gather... read them, scatter... write them.
//
// The places are an array [A, B, C, coordinates] of indices. Each place names a slice of a table:
// index k says which element of an axis of sizes[k], strides[k] apart. The table's view gives the
// slices where all indices are 0: [A, B, C, slice], mostly with strides of 0 among the first three.
#pragma once

#include <string>
#include <vector>

#include "pippin/base/cpu_features.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

// What becomes of indices outside [0, size).
struct IndexRule {
  bool from_end = true;  // negative ones count from the end
  bool refuse = false;   // the run fails; else the nearest element counts
};

class LookupStep : public Step {
 public:
  // `where` names the operation in messages. scalars: sizes, then strides, of each coordinate.
  LookupStep(std::string name, std::string where, IndexRule rule)
      : name_(std::move(name)), where_(std::move(where)), rule_(rule) {}
  std::string name() const override { return name_; }

 protected:
  // Where the slice of a place begins in the table, in elements from its first one.
  int64_t offset(const StepContext& context, const Operand& table, const Operand& indices,
                 int64_t a, int64_t b, int64_t c) const noexcept;
  // Whether all indices may be used; else what is wrong becomes the run's error. An empty axis is
  // wrong whatever the rule says.
  bool check(const StepContext& context, const Operand& indices) const noexcept;

 private:
  int64_t resolved(int64_t index, int64_t size) const noexcept;
  void leave_error(const StepContext& context, int64_t index, int64_t size) const noexcept;

  std::string name_, where_;
  IndexRule rule_;
};

// views: y [A, B, C, slice] without gaps, the table, the indices. The table may be stored in
// another type of floats.
class GatherStep : public LookupStep {
 public:
  GatherStep(const CpuFeatures& cpu, std::string name, std::string where, IndexRule rule)
      : LookupStep(std::move(name), std::move(where), rule), cpu_(cpu) {}
  void run(const StepContext& context) const noexcept override;

 private:
  CpuFeatures cpu_;
};

enum class Combine { Update, Add, Sub, Mul, Div, Max, Min };

// views: the table, which is written; the updates [A, B, C, slice] without gaps, the indices. fp32
// or int32 (but for Div). Places act one after the other.
class ScatterStep : public LookupStep {
 public:
  ScatterStep(std::string name, std::string where, IndexRule rule, Combine combine)
      : LookupStep(std::move(name), std::move(where), rule), combine_(combine) {}
  void run(const StepContext& context) const noexcept override;

 private:
  template <typename T, typename Op>
  void write(const StepContext& context, Op op) const noexcept;
  template <typename T>
  void write_by_mode(const StepContext& context) const noexcept;

  Combine combine_;
};

}  // namespace pippin::engine
