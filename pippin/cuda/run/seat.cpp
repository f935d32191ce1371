#include "pippin/cuda/run/seat.h"

#include <cstring>

#include "pippin/cuda/launchers/masks.h"

namespace pippin::cuda {
namespace {

uint64_t most_bytes(const engine::NodePlan& plan, const engine::View& view) {
  const int64_t elements = mil::num_elements(view.shape).upper();
  return static_cast<uint64_t>(elements * engine::element_size(plan.buffer(view).storage));
}

}  // namespace

Seat::Seat(const CudaPlan& plan, std::byte* arena, std::byte* scratch_place, uint32_t* words)
    : lane(plan.layout(), arena),
      launches(*plan.layout(), plan.launchers()),
      scratch(scratch_place),
      failed(words),
      masks(plan.inputs().size()),
      outputs(plan.outputs().size()),
      plan_(plan),
      output_rows_(plan.output_rows()),
      inputs_(plan.inputs().size()) {}

void Seat::move_to(std::byte* arena, std::byte* scratch_place, uint32_t* words) {
  lane.move_to(arena);
  launches.forget();
  scratch = scratch_place;
  failed = words;
  choices = {};
}

void Seat::bind(const std::vector<std::vector<int64_t>>& shapes, engine::State& given) {
  forget_outputs();
  lane.bind(shapes, given);
  const bool has_states = !plan_.states().empty();
  state = has_states ? &given.memory<CudaState>(plan_.resources().name) : nullptr;
}

MutableByteSpan Seat::input_bytes(size_t index) {
  Input& input = inputs_.at(index);
  if (input.bytes.size() == 0) {
    input.bytes =
        PinnedMemory(plan_.resources().gpu,
                     most_bytes(plan_.nodes(), plan_.nodes().input_views[index]), "an input");
  }
  input.is_written = true;
  input.past.reset();
  return {input.bytes.data(), byte_size(lane.input(index))};
}

bool Seat::put_causal_mask(size_t index, int64_t past) {
  if (!plan_.only_masks(index)) return false;
  inputs_.at(index).past = past;
  return true;
}

void Seat::take_values() {
  lane.take_values([&](size_t input, size_t element) {
    int32_t number = 0;
    const PinnedMemory& bytes = inputs_[input].bytes;
    if (bytes.data() != nullptr) {
      std::memcpy(&number, bytes.data() + element * sizeof(number), sizeof(number));
    }
    return number;
  });
  for (size_t i = 0; i < inputs_.size(); ++i) {
    made_.clear();
    if (inputs_[i].past) add_causal_mask(lane.input(i), *inputs_[i].past, made_);
    masks[i].replace(made_);
  }
}

uint64_t Seat::look(size_t node) {
  std::span<const engine::Operand> operands = lane.operands(node);
  if (rows && output_rows_.may_skip(node)) {
    operands = output_rows_.only(node, lane, *rows).value_or(operands);
  }
  return launches.look(node, operands, lane.scalars(node));
}

void Seat::add_copies(std::vector<InputCopy>& copies) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (input.past || input.bytes.data() == nullptr || !plan_.is_read(i)) continue;
    const engine::Operand& target = lane.input(i);
    const size_t size = byte_size(target);
    if (!input.is_written && size <= input.copied) continue;
    if (size > 0) copies.push_back({address_of(target.data), input.bytes.data(), size});
    input.is_written = false;
    input.copied = size;
  }
}

void Seat::forget_outputs() {
  for (Output& output : outputs) output.fetched = {};
  choices = {};
}

}  // namespace pippin::cuda
