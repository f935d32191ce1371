// Planning a region: lowering its operations to nodes, dropping those whose results are not read,
// one arena by lifetimes.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/planning/memory_plan.h"
#include "pippin/engine/planning/planning.h"
#include "pippin/engine/planning/quantize_caches.h"

namespace pippin::engine {
namespace {

using mil::Dim;

class RegionPlanner {
 public:
  RegionPlanner(const Region& region, const mil::Inference& inference, NodePlan& plan,
                const mil::Operation** operation_in_work)
      : region_(region),
        inference_(inference),
        plan_(&plan),
        operation_in_work_(operation_in_work) {}

  void run() {
    // Reads of a state that are used after a write become copies, and the lowering starts again.
    std::set<const mil::Operation*> copied_reads;
    std::vector<SharedBytes> computed;  // kept across attempts
    for (;;) {
      Builder builder(region_, inference_, copied_reads);
      lower_region(builder);
      if (builder.stale_reads().empty()) {
        finish(builder);
        return;
      }
      computed = std::move(builder.shared_constants());
      const size_t before = copied_reads.size();
      copied_reads.insert(builder.stale_reads().begin(), builder.stale_reads().end());
      if (copied_reads.size() == before) {
        fail(ErrorCode::Internal, "a state is read after it was written, also from a copy");
      }
    }
  }

 private:
  void lower_region(Builder& builder) {
    plan_->input_views.clear();
    plan_->output_views.clear();
    plan_->outputs.clear();
    for (const RegionInput& input : region_.inputs) {
      const Storage storage = run_storage(input.var->type.data_type);
      View view;
      view.storage = storage;
      view.shape = input.shape;
      view.strides = contiguous_strides(view.shape);
      Buffer buffer;
      buffer.kind = Buffer::Kind::Input;
      buffer.storage = storage;
      buffer.elements = mil::num_elements(view.shape);
      buffer.name = input.port.name;
      view.buffer = builder.add_buffer(std::move(buffer));
      plan_->input_views.push_back(view);
      builder.define(input.var, view);
    }
    for (const mil::Operation* operation : region_.operations) {
      if (operation_in_work_ != nullptr) *operation_in_work_ = operation;
      lower(builder, *operation);
    }
    if (operation_in_work_ != nullptr) *operation_in_work_ = nullptr;
    for (const mil::Var* var : region_.outputs) {
      const mil::DataType type = builder.info(var).type;
      View view = builder.view(var);
      const Storage storage = mil::is_float(type) ? Storage::F32 : Storage::I32;
      const bool own =
          builder.buffers()[static_cast<size_t>(view.buffer)].kind == Buffer::Kind::Arena;
      if (view.storage != storage || !own || !is_contiguous(view) || !(view.offset == Dim(0))) {
        View copy = builder.allocate(storage, view.shape);
        builder.emit_copy(copy, view);
        view = copy;
      }
      plan_->output_views.push_back(view);
      plan_->outputs.push_back({var->name, type, storage == Storage::F32});
    }
  }

  // Nodes in reverse: one is live if it writes a state, or a value that is read later.
  static void drop_dead_nodes(std::vector<Node>& nodes, const std::vector<Buffer>& buffers,
                              const std::vector<View>& outputs) {
    std::set<int> needed;
    for (const View& view : outputs) needed.insert(view.buffer);
    std::vector<Node> kept;
    for (size_t i = nodes.size(); i-- > 0;) {
      Node& node = nodes[i];
      bool alive = false;
      for (size_t k = 0; k < node.num_written; ++k) {
        const int buffer = node.views[k].buffer;
        alive = alive || needed.contains(buffer) ||
                buffers[static_cast<size_t>(buffer)].kind == Buffer::Kind::State;
      }
      if (!alive) continue;
      for (size_t k = node.num_written; k < node.views.size(); ++k)
        needed.insert(node.views[k].buffer);
      kept.push_back(std::move(node));
    }
    std::reverse(kept.begin(), kept.end());
    nodes = std::move(kept);
  }

  void finish(Builder& builder) {
    drop_dead_nodes(builder.nodes(), builder.buffers(), plan_->output_views);
    if (region_.compute.fusion && region_.target.shares_input) {
      merge_products(builder.nodes(), builder.buffers(), region_.target.shares_input);
    }
    plan_->nodes = std::move(builder.nodes());
    plan_->buffers = std::move(builder.buffers());
    plan_->constants = std::move(builder.constants());
    plan_->shared_constants = std::move(builder.shared_constants());
    if (region_.cache_type != CacheType::F16) quantize_caches(*plan_, region_.cache_type);
    drop_unknown_constraints();
    drop_unused_values();
    place_buffers();
  }

  // The rules of data-dependent values check them against the declared size.
  void drop_unknown_constraints() {
    std::set<uint64_t> known = region_.symbols;
    for (const auto& value : plan_->values) known.insert(value.symbol);
    const auto unknown = [&](const Dim& dim) {
      const auto symbols = dim.symbols();
      return std::any_of(symbols.begin(), symbols.end(),
                         [&](const auto& symbol) { return !known.contains(symbol->id); });
    };
    std::erase_if(plan_->constraints, [&](const mil::Constraint& constraint) {
      return unknown(constraint.a) || unknown(constraint.b);
    });
  }

  // Keeps the values of inputs that a view, a scalar or a constraint depends on.
  void drop_unused_values() {
    std::set<uint64_t> used;
    const auto use = [&](const Dim& dim) {
      for (const Dim::AtomPtr& symbol : dim.symbols()) used.insert(symbol->id);
    };
    const auto use_view = [&](const View& view) {
      for (const Dim& dim : view.shape) use(dim);
      for (const Dim& dim : view.strides) use(dim);
      use(view.offset);
    };
    for (const Node& node : plan_->nodes) {
      for (const View& view : node.views) use_view(view);
      for (const Dim& dim : node.scalars) use(dim);
    }
    for (const View& view : plan_->output_views) use_view(view);
    for (const mil::Constraint& constraint : plan_->constraints) {
      use(constraint.a);
      use(constraint.b);
    }
    std::erase_if(plan_->values, [&](const auto& value) { return !used.contains(value.symbol); });
  }

  void place_buffers() {
    const auto& buffers = plan_->buffers;
    const int64_t end = static_cast<int64_t>(plan_->nodes.size());
    std::vector<ArenaSlot> slots(buffers.size());
    std::vector<bool> used(buffers.size(), false);
    const auto use = [&](const View& view, int64_t step) {
      const auto index = static_cast<size_t>(view.buffer);
      ArenaSlot& slot = slots[index];
      if (!used[index]) slot.first = step;
      slot.last = step;
      used[index] = true;
    };
    for (const View& view : plan_->input_views) use(view, -1);
    for (int64_t i = 0; i < end; ++i) {
      for (const View& view : plan_->nodes[static_cast<size_t>(i)].views) use(view, i);
    }
    for (const View& view : plan_->output_views) use(view, end);
    for (const View& view : plan_->input_views)
      use(view, end);  // callers may keep the values they
                       // wrote
    std::vector<ArenaSlot> placed;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const bool in_arena =
          buffers[i].kind == Buffer::Kind::Arena || buffers[i].kind == Buffer::Kind::Input;
      if (!in_arena || !used[i]) continue;
      const int64_t elements = buffers[i].elements.upper();
      const auto bytes = checked_mul<int64_t>(elements, element_size(buffers[i].storage));
      if (!bytes || *bytes > (int64_t{1} << 46)) {
        fail(ErrorCode::LimitExceeded, "a value of {} elements does not fit into memory",
             buffers[i].elements.to_string());
      }
      slots[i].buffer = static_cast<int>(i);
      slots[i].size = *bytes;
      placed.push_back(slots[i]);
    }
    plan_->arena_size = plan_memory(placed);
    plan_->offsets.assign(buffers.size(), -1);
    for (const ArenaSlot& slot : placed) {
      plan_->offsets[static_cast<size_t>(slot.buffer)] = slot.offset;
    }
  }

  const Region& region_;
  const mil::Inference& inference_;
  NodePlan* plan_;
  const mil::Operation** operation_in_work_;
};

}  // namespace

void plan_region(const Region& region, const mil::Inference& inference, NodePlan& plan,
                 const mil::Operation** operation_in_work) {
  RegionPlanner(region, inference, plan, operation_in_work).run();
}

}  // namespace pippin::engine
