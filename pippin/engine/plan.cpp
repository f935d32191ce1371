#include "pippin/engine/plan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pippin/base/checked.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/text.h"
#include "pippin/engine/plan_impl.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The ranges that the model declares for an input: one per axis.
std::vector<mil::SizeRange> declared_ranges(const mil::Feature& feature) {
  if (!feature.ranges.empty()) return feature.ranges;
  std::vector<mil::SizeRange> ranges;
  for (size_t axis = 0; axis < feature.shape.size(); ++axis) {
    mil::SizeRange range{feature.shape[axis], feature.shape[axis]};
    for (const auto& shape : feature.enumerated_shapes) {
      if (axis >= shape.size()) continue;
      range.lower = std::min(range.lower, shape[axis]);
      range.upper = std::max(range.upper, shape[axis]);
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::string to_string(const mil::SizeRange& range) {
  return range.upper < 0 ? fmt::format("{} or more", range.lower)
                         : fmt::format("{} to {}", range.lower, range.upper);
}

class Maker {
 public:
  Maker(const mil::Model& model, std::string_view function_name, const PlanOptions& options)
      : function_(model.program.function(function_name)),
        description_(model.description(function_name)),
        options_(options),
        plan_(std::make_shared<PlanImpl>()) {}

  std::shared_ptr<const Plan> make() {
    declare_inputs();
    const mil::Inference inference = mil::infer(function_, input_shapes_);
    plan_->constraints = inference.constraints;
    plan_->state_features = description_.states;
    // Reads of a state that are used after it was written become copies, and the lowering starts
    // anew.
    std::set<const mil::Operation*> copied_reads;
    for (;;) {
      Builder builder(function_, inference, options_.cpu, symbols_, copied_reads);
      lower_function(builder);
      if (builder.stale_reads().empty()) {
        finish(builder);
        return plan_;
      }
      const size_t before = copied_reads.size();
      copied_reads.insert(builder.stale_reads().begin(), builder.stale_reads().end());
      if (copied_reads.size() == before) {
        fail(ErrorCode::Internal, "a state is read after it was written, also from a copy");
      }
    }
  }

 private:
  void declare_inputs() {
    for (const mil::Feature& feature : description_.inputs) {
      const size_t index = plan_->input_ports.size();
      if (feature.kind != mil::Feature::Kind::MultiArray) {
        fail(ErrorCode::Unsupported, "input '{}' is not a multi-array", feature.name);
      }
      const mil::Var* var = function_.find_input(feature.name);
      if (var == nullptr) {
        fail(ErrorCode::InvalidFile, "the description names an input '{}' that the program lacks",
             feature.name);
      }
      std::vector<mil::SizeRange> ranges = declared_ranges(feature);
      const auto chosen = options_.input_ranges.find(feature.name);
      if (chosen != options_.input_ranges.end()) narrow(feature.name, ranges, chosen->second);
      Shape shape;
      for (size_t axis = 0; axis < ranges.size(); ++axis) {
        if (ranges[axis].upper < 0) {
          fail(ErrorCode::InvalidArgument, "input '{}': axis {} has no upper bound; give one",
               feature.name, axis);
        }
        shape.push_back(Dim::symbol(fmt::format("{}[{}]", feature.name, axis), ranges[axis].lower,
                                    ranges[axis].upper));
        plan_->axes.push_back({index, axis, shape.back(), ranges[axis]});
        for (const auto& symbol : shape.back().symbols()) symbols_.insert(symbol->id);
      }
      // A scalar of the program is described as one element.
      if (var->type.ranked && var->type.dims.empty() && shape.size() == 1) shape.clear();
      plan_->input_ports.push_back(
          {feature.name, feature.data_type, mil::is_float(feature.data_type)});
      input_shapes_[feature.name] = std::move(shape);
    }
  }

  static void narrow(const std::string& name, std::vector<mil::SizeRange>& ranges,
                     const std::vector<mil::SizeRange>& chosen) {
    if (chosen.size() != ranges.size()) {
      fail(ErrorCode::InvalidArgument, "input '{}' has {} axes, {} were given", name, ranges.size(),
           chosen.size());
    }
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      const bool below = chosen[axis].lower < ranges[axis].lower;
      const bool above = ranges[axis].upper >= 0 &&
                         (chosen[axis].upper < 0 || chosen[axis].upper > ranges[axis].upper);
      if (below || above) {
        fail(ErrorCode::InvalidArgument, "input '{}': axis {} takes {}, not {}", name, axis,
             to_string(ranges[axis]), to_string(chosen[axis]));
      }
      ranges[axis] = chosen[axis];
    }
  }

  void lower_function(Builder& builder) {
    plan_->input_views.clear();
    plan_->output_views.clear();
    plan_->output_ports.clear();
    for (const Port& port : plan_->input_ports) {
      const mil::Var* var = function_.find_input(port.name);
      const Storage storage = run_storage(var->type.data_type);
      View view;
      view.storage = storage;
      view.shape = input_shapes_.at(port.name);
      view.strides = contiguous_strides(view.shape);
      Buffer buffer;
      buffer.kind = Buffer::Kind::Input;
      buffer.storage = storage;
      buffer.elements = mil::num_elements(view.shape);
      buffer.name = port.name;
      view.buffer = builder.add_buffer(std::move(buffer));
      plan_->input_views.push_back(view);
      builder.define(var, view);
    }
    const mil::Block& block = function_.block();
    for (const auto& operation : block.operations()) lower(builder, *operation);
    for (const mil::Var* var : block.outputs()) {
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
      plan_->output_ports.push_back({var->name, type, storage == Storage::F32});
    }
  }

  // Steps in reverse: one lives if it writes a state or something that is read later.
  static void drop_dead_steps(std::vector<std::unique_ptr<Step>>& steps,
                              const std::vector<Buffer>& buffers,
                              const std::vector<View>& outputs) {
    std::set<int> needed;
    for (const View& view : outputs) needed.insert(view.buffer);
    std::vector<std::unique_ptr<Step>> kept;
    for (size_t i = steps.size(); i-- > 0;) {
      Step& step = *steps[i];
      bool alive = false;
      for (size_t k = 0; k < step.num_written; ++k) {
        const int buffer = step.views[k].buffer;
        alive = alive || needed.contains(buffer) ||
                buffers[static_cast<size_t>(buffer)].kind == Buffer::Kind::State;
      }
      if (!alive) continue;
      for (size_t k = step.num_written; k < step.views.size(); ++k)
        needed.insert(step.views[k].buffer);
      kept.push_back(std::move(steps[i]));
    }
    std::reverse(kept.begin(), kept.end());
    steps = std::move(kept);
  }

  void finish(Builder& builder) {
    drop_dead_steps(builder.steps(), builder.buffers(), plan_->output_views);
    plan_->steps = std::move(builder.steps());
    plan_->buffers = std::move(builder.buffers());
    plan_->constants = std::move(builder.constants());
    place_buffers();
    for (const auto& step : plan_->steps) {
      plan_->scratch_size =
          std::max(plan_->scratch_size, align_up<int64_t>(step->scratch_bytes(), 64));
      plan_->weights_read += step->weight_bytes();
    }
    log_debug("plan: {} steps, arena {}, {} of weights a run", plan_->steps.size(),
              format_bytes(plan_->arena_bytes()), format_bytes(plan_->weight_bytes()));
  }

  void place_buffers() {
    const auto& buffers = plan_->buffers;
    const int64_t end = static_cast<int64_t>(plan_->steps.size());
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
      for (const View& view : plan_->steps[static_cast<size_t>(i)]->views) use(view, i);
    }
    for (const View& view : plan_->output_views) use(view, end);
    for (const View& view : plan_->input_views) use(view, end);  // callers may keep what they wrote
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
    plan_->buffer_offsets.assign(buffers.size(), -1);
    for (const ArenaSlot& slot : placed) {
      plan_->buffer_offsets[static_cast<size_t>(slot.buffer)] = slot.offset;
    }
  }

  const mil::Function& function_;
  const mil::FunctionDescription& description_;
  const PlanOptions& options_;
  std::shared_ptr<PlanImpl> plan_;
  std::map<std::string, Shape> input_shapes_;
  std::set<uint64_t> symbols_;
};

}  // namespace

std::shared_ptr<const Plan> Plan::make(const mil::Model& model, std::string_view function,
                                       const PlanOptions& options) {
  return Maker(model, function, options).make();
}

std::string PlanImpl::describe() const {
  std::string text;
  for (const auto& step : steps) {
    text += step->name();
    for (size_t i = 0; i < step->views.size(); ++i) {
      text += fmt::format("{}{}{}",
                          i == step->num_written ? " <- "
                          : i == 0               ? " "
                                                 : ", ",
                          engine::to_string(step->views[i].storage),
                          mil::to_string(step->views[i].shape));
    }
    text += "\n";
  }
  return text;
}

}  // namespace pippin::engine
