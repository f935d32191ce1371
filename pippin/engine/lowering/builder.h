// The plan under construction, the interface of lowering rules.
//
// A rule turns one MIL operation into views and nodes. Values whose elements are known from shapes
// alone (shape arithmetic) get no node unless they are read at run time; constants are converted
// when the plan is made; nodes whose results are not read are dropped at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pippin/engine/lowering/common_operations.h"
#include "pippin/engine/nodes/buffer.h"
#include "pippin/engine/nodes/node.h"
#include "pippin/engine/nodes/target.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/run/step.h"
#include "pippin/engine/weights/cached_array.h"
#include "pippin/engine/weights/quantized_weight.h"
#include "pippin/mil/check/infer.h"
#include "pippin/mil/model.h"

namespace pippin::engine {

// An input of a region: a value computed outside it.
struct RegionInput {
  const mil::Var* var = nullptr;
  Port port;
  mil::Shape shape;
};

// A range of a function's operations that one plan runs: all of them, or those between two that
// cannot be planned.
struct Region {
  std::vector<const mil::Operation*> operations;  // in the order of their effects
  std::vector<RegionInput> inputs;
  std::vector<const mil::Var*> outputs;
  std::set<uint64_t> symbols;  // ids of all symbols that shapes may depend on
  mil::Opset opset = mil::Opset::CoreML5;
  ComputeOptions compute;
  CacheType cache_type = CacheType::F16;  // of the states that attention reads
  Target target;                          // of the device that will run the plan
};

class Builder {
 public:
  // All must outlive the builder.
  Builder(const Region& region, const mil::Inference& inference,
          const std::set<const mil::Operation*>& copied_reads);

  // Of the processor that makes the plan.
  const CpuFeatures& cpu() const { return region_.compute.cpu; }
  const Target& target() const { return region_.target; }
  mil::Opset opset() const { return region_.opset; }
  Precision precision() const { return region_.compute.precision; }
  bool batch_invariant() const { return region_.compute.batch_invariant; }
  LoadCache* cache() const { return region_.compute.cache.get(); }  // or null
  bool fusion() const { return region_.compute.fusion && precision() != Precision::Reference; }
  const mil::Inference& inference() const { return inference_; }
  // Throws Unsupported for a value of an earlier region, whose shape is not known in this one.
  const mil::ValueInfo& info(const mil::Var* var) const;

  // The parameter's view as it is stored (weights and states may be F16); throws if it is absent.
  View view(const mil::Operation& operation, std::string_view parameter);
  View view(const mil::Var* var);
  // The parameter's shape, without a view of it.
  mil::Shape shape(const mil::Operation& operation, std::string_view parameter) const;
  View view(const mil::Binding& binding);
  // The same in a given storage: converted at once for constants, else by a step, once for all
  // requests of the same elements.
  View view_as(const View& view, Storage storage);
  View floats(const mil::Operation& operation, std::string_view parameter);
  View ints(const mil::Operation& operation, std::string_view parameter);
  // The view itself or a copy without gaps, made like those of view_as().
  View contiguous(const View& view);
  // The view as rows of `column_axes` merged trailing axes, copied if necessary.
  View matrix(const View& view, int64_t column_axes);

  // A new value: contiguous memory, of which the plan keeps only live values.
  View allocate(Storage storage, const mil::Shape& shape);
  // The same with the axes in the order that they have in the memory of `like`, whose shape it
  // gets: elementwise results keep the layout that products and norms chose.
  View allocate_like(Storage storage, const View& like);
  View constant(Storage storage, const mil::Shape& shape, std::vector<std::byte> bytes);
  View constant(const mil::Value& value);
  // The same for bytes that are kept outside the plan: shared with other plans, or as long as the
  // program.
  View shared_constant(Storage storage, const mil::Shape& shape, SharedBytes bytes);
  // The same for the bytes that `make` returns for an operation's result, now or in an earlier
  // process (engine/weights/cached_array.h). `variant` names the properties of the processor that
  // decide their bits.
  View cached_constant(const mil::Var* var, Storage storage, uint64_t size,
                       const std::function<std::vector<std::byte>()>& make,
                       std::string_view variant = {});
  View borrowed_constant(Storage storage, const mil::Shape& shape, const std::byte* data);
  bool is_constant(const View& view) const {
    return buffers_[static_cast<size_t>(view.buffer)].kind == Buffer::Kind::Constant;
  }

  // The elements of a constant of floats or integers, at most `limit` of them; nothing if the
  // parameter or view is not constant or is larger.
  std::optional<std::vector<float>> constant_floats(const View& view, int64_t limit);
  // The element of a constant that has only one.
  std::optional<double> number(const mil::Operation& operation, std::string_view parameter);

  // Keeps bytes as long as the plan lives.
  const std::byte* keep(std::vector<std::byte> bytes);
  // The bytes of a constant whose source computes them, shared like those of cached_constant().
  const std::byte* computed_bytes(const mil::Var* var, const mil::Value& value);

  // The weight that a parameter is bound to if it stays compressed, else null. view() expands it.
  std::shared_ptr<const QuantizedWeight> quantized(const mil::Operation& operation,
                                                   std::string_view parameter) const;
  // The same for a value.
  std::shared_ptr<const QuantizedWeight> quantized(const mil::Var* var) const;
  // Keeps the result of a constexpr op compressed. Returns false if kernels do not support its
  // form, or it is so small that a rule may need its numbers.
  bool keep_quantized(const mil::Operation& operation);

  // Expands the results of a constexpr op by expand_constexpr(); returns false like
  // keep_quantized().
  bool expand_large(const mil::Operation& operation);
  // Defines a value on its first use: intermediate values may not be needed once the result is
  // known.
  void defer(const mil::Var* var, std::function<void()> define);
  bool is_deferred(const mil::Var* var) const { return deferred_.contains(var); }
  // Whether only operations of that kind read the operation's results, and none is a result of the
  // region.
  bool all_users(const mil::Operation& operation,
                 const std::function<bool(const mil::Operation&)>& is_kind) const;

  // Whether the value has a view: it was lowered, and is not unread shape arithmetic.
  bool is_lowered(const mil::Var* var) const { return views_.contains(var); }
  // Whether one operation of the region reads the value, once, and nothing else needs it.
  bool read_once(const mil::Var* var) const;
  // The operations of the region that read the value, in its order.
  std::vector<const mil::Operation*> users(const mil::Var* var) const;

  // Throws Unsupported if a result's size depends on data: only the inputs' dimensions can be
  // planned with.
  void check_planned_sizes(const mil::Operation& operation) const;
  // Evaluates an operation whose inputs are all constant by its value rule, when the plan is made:
  // compressed weights, and small arithmetic on constants. Returns false if that does not apply.
  bool fold(const mil::Operation& operation);

  // Defines the results of an operation as those of an earlier one that computes the same; returns
  // false if none does.
  bool reuse(const mil::Operation& operation);

  void define(const mil::Var* var, View view);
  void define_output(const mil::Operation& operation, View view) {
    define(operation.output(), std::move(view));
  }
  Node& emit(NodeKind kind, std::vector<View> views, size_t num_written = 1) {
    return add({std::move(kind), std::move(views), num_written});
  }
  Node& add(Node node);
  void emit_copy(const View& to, const View& from);  // shapes broadcast; storages may differ

  // States. A view of a state stands for its contents until the state is written.
  View read_state(const mil::Operation& operation);
  void write_state(const mil::Operation& operation);
  // The state's memory, where `slice_update` may write its update straight into the state because
  // its result is what the state is written with next; else nothing.
  std::optional<View> update_in_place(const mil::Operation& slice_update);

  // The reads that turned out to be used after their state was written: they must be copies.
  // Lowering is repeated with them until none is left.
  const std::set<const mil::Operation*>& stale_reads() const { return stale_reads_; }

  std::vector<Node>& nodes() { return nodes_; }
  std::vector<Buffer>& buffers() { return buffers_; }
  std::vector<std::vector<std::byte>>& constants() { return constants_; }
  std::vector<SharedBytes>& shared_constants() { return shared_constants_; }
  int add_buffer(Buffer buffer);

  // "linear 'logits'"
  std::string where(const mil::Operation& operation) const;

 private:
  bool fold_kept(const mil::Var* var);
  View expand(const mil::Var* var, const QuantizedWeight& weight);
  View state_view(const mil::Var* state, const mil::Operation& reader);
  View copied(const View& view, Storage storage);
  std::optional<View> copied_constant(const View& view, Storage storage);

  const Region& region_;
  const mil::Inference& inference_;
  const std::set<const mil::Operation*>& copied_reads_;
  std::set<const mil::Operation*> stale_reads_;
  std::unordered_map<const mil::Var*, View> views_;
  std::unordered_map<const mil::Var*, std::function<void()>> deferred_;
  std::unordered_map<const mil::Value*, View> literals_;
  std::unordered_map<const mil::Var*, mil::Tensor> folded_;
  std::unordered_map<const mil::Var*, int> reads_;
  CommonOperations common_;
  struct Copy {
    View from, to;
  };
  std::unordered_map<int, std::vector<Copy>> copies_;  // by the buffer that they are of
  std::vector<Buffer> buffers_;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::byte>> constants_;
  std::vector<SharedBytes> shared_constants_;
  std::unordered_map<const mil::Var*, std::shared_ptr<const QuantizedWeight>> quantized_;
  struct StateInfo {
    int buffer;
    int version;
  };
  std::unordered_map<const mil::Var*, StateInfo> states_;
};

}  // namespace pippin::engine
