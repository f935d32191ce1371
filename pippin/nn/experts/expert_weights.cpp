#include "pippin/nn/experts/expert_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/weights/mxfp4.h"
#include "pippin/nn/weights/packed_forms.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

using array::Array;
using Layout = ExpertWeightsOptions::Layout;
enum class Part { Gate, Up, Down };

// One expert's matrix in the checkpoint.
struct Piece {
  std::string tensor;
  std::vector<int64_t> dims;  // of the tensor
  int64_t rows, columns;      // of each matrix in it
  int64_t index = 0;          // of this one
  bool transposed = false;
  std::vector<int64_t> taken = {};  // rows after that; empty: all
};

std::vector<int64_t> numbers(int64_t first, int64_t count, int64_t step = 1) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = first + i * step;
  return rows;
}

std::string name_of(const ExpertWeightsOptions& options, Part part) {
  return part == Part::Gate ? options.gate : part == Part::Up ? options.up : options.down;
}

Piece piece(const ExpertWeightsOptions& options, Part part, int64_t expert) {
  const int64_t count = options.num_experts, hidden = options.hidden_features,
                features = options.features;
  const bool down = part == Part::Down;
  const int64_t out = down ? features : hidden, in = down ? hidden : features;
  const std::string& joined = down ? options.down : options.gate;
  switch (options.layout) {
    case Layout::Modules:
      return {
          std::to_string(expert) + "." + name_of(options, part) + ".weight", {out, in}, out, in};
    case Layout::Apart:
      return {name_of(options, part), {count, out, in}, out, in, expert};
    case Layout::Rows:
      return {name_of(options, part), {count * hidden, features}, hidden, features, expert, down};
    case Layout::Stacked:
    case Layout::Transposed:
    case Layout::Interleaved:
      break;
  }
  const bool transposed = options.layout != Layout::Stacked;
  Piece piece{joined, {}, down ? out : 2 * out, in, expert, transposed};
  if (transposed) std::swap(piece.rows, piece.columns);
  piece.dims = {count, piece.rows, piece.columns};
  const int64_t up = part == Part::Up ? 1 : 0;
  if (down) return piece;
  piece.taken =
      options.layout == Layout::Interleaved ? numbers(up, out, 2) : numbers(up * out, out);
  return piece;
}

// The place and layout of the matrices.
struct Place {
  Parameters parameters;
  ExpertWeightsOptions options;
};

// As in the options, unless the checkpoint has mlx-lm's experts (one module each, next to or in
// place of the expected ones) or those of transformers 5, which are joined to two tensors.
Place place_of(const Parameters& parameters, const ExpertWeightsOptions& options) {
  ExpertWeightsOptions own = options;
  own.layout = Layout::Modules;
  own.mxfp4 = false;
  own.gate = "gate_proj";
  own.up = "up_proj";
  own.down = "down_proj";
  const std::string first = piece(own, Part::Up, 0).tensor;
  for (const Parameters& place :
       {parameters.parent().at("switch_mlp"), parameters.at("switch_mlp"), parameters}) {
    if (place.holds(first)) return {place, own};
  }
  if (options.layout == Layout::Modules && !options.bias && parameters.holds("gate_up_proj")) {
    const std::vector<int64_t> transposed = {own.num_experts, own.hidden_features, own.features};
    const bool square = own.hidden_features == own.features;
    const std::vector<int64_t> joined = {own.num_experts, own.features, 2 * own.hidden_features};
    const bool turned = square ? parameters.shape("gate_up_proj") == joined
                               : parameters.shape("down_proj") == transposed;
    own.layout = turned ? Layout::Transposed : Layout::Stacked;
    own.gate = "gate_up_proj";
    return {parameters, own};
  }
  const bool gateless = options.layout == Layout::Modules && !options.bias && !options.gated;
  if (gateless && parameters.holds(own.up)) {
    own.layout = Layout::Apart;
    return {parameters, own};
  }
  return {parameters, options};
}

std::shared_ptr<const mil::TensorSource> source_of(const Parameters::Found& found,
                                                   const Piece& piece, mil::DataType type) {
  const size_t element = static_cast<size_t>(mil::bit_width(type)) / 8;
  const auto rows = static_cast<uint64_t>(piece.rows),
             columns = static_cast<uint64_t>(piece.columns);
  auto source = weight_source(found.checkpoint, found.tensor.name, type);
  if (source->size() != rows * columns * element) {
    source = rows_source(std::move(source), rows * columns * element, {piece.index});
  }
  if (piece.transposed) source = transposed_source(std::move(source), columns, rows, element);
  if (!piece.taken.empty()) {
    const uint64_t row = piece.transposed ? rows : columns;
    source = rows_source(std::move(source), row * element, piece.taken);
  }
  return source;
}

// Packed matrices of modules, joined to one if they are alike, else their values.
Array stacked_packed(const std::string& full, std::vector<PackedPtr> parts,
                     const std::vector<int64_t>& dims, mil::DataType type) {
  // All experts get the same inputs, in one order.
  const PackedPtr all = parts.front()->layout().order.empty() ? packed_joined(parts) : nullptr;
  if (all != nullptr) return packed_array(full, all, dims, type);
  std::vector<std::shared_ptr<const mil::TensorSource>> sources;
  sources.reserve(parts.size());
  for (PackedPtr& part : parts) sources.push_back(packed_elements(std::move(part), type, full));
  return array::weight(full, type, dims, joined_source(std::move(sources)));
}

// Those of all experts; none if the first is not packed.
std::vector<PackedPtr> packed_parts(const Parameters& parameters,
                                    const ExpertWeightsOptions& options, Part part) {
  std::vector<PackedPtr> parts;
  if (options.layout != Layout::Modules) return parts;
  for (int64_t i = 0; i < options.num_experts; ++i) {
    const Piece one = piece(options, part, i);
    PackedPtr matrix = parameters.packed(one.tensor, one.rows, one.columns);
    if (matrix == nullptr && i == 0) return {};
    if (matrix == nullptr) parameters.tensor(one.tensor, {});  // throws
    parts.push_back(std::move(matrix));
  }
  return parts;
}

Array stacked(const Parameters& parameters, const Place& place, Part part, const std::string& name,
              const std::vector<int64_t>& dims) {
  const ExpertWeightsOptions& options = place.options;
  return parameters.made(name, dims, [&](const std::string& full) {
    if (auto packed = packed_parts(place.parameters, options, part); !packed.empty()) {
      return stacked_packed(full, std::move(packed), dims, parameters.type());
    }
    std::vector<Piece> pieces;
    std::vector<Parameters::Found> found;
    for (int64_t i = 0; i < options.num_experts; ++i) {
      pieces.push_back(piece(options, part, i));
      found.push_back(place.parameters.tensor(pieces.back().tensor, pieces.back().dims));
    }
    const mil::DataType compute = parameters.type();
    const mil::DataType first = weight_type(found.front().tensor);
    const bool alike = std::all_of(found.begin(), found.end(), [&](const auto& one) {
      return weight_type(one.tensor) == first;
    });
    const mil::DataType stored = parameters.keeps_weight_types() && alike ? first : compute;
    std::vector<std::shared_ptr<const mil::TensorSource>> sources;
    for (size_t i = 0; i < pieces.size(); ++i) {
      sources.push_back(source_of(found[i], pieces[i], stored));
    }
    const Array weight = array::weight(full, stored, dims, joined_source(std::move(sources)));
    const array::Scope scope(full);
    return stored == compute ? weight
                             : array::named(array::cast(weight, compute), mil::to_string(compute));
  });
}

Array matrices(const Parameters& parameters, const Place& place, Part part) {
  const ExpertWeightsOptions& options = place.options;
  const bool down = part == Part::Down;
  const std::string name = part == Part::Gate ? "gate" : part == Part::Up ? "up" : "down";
  std::vector<int64_t> dims = {options.num_experts, options.hidden_features, options.features};
  if (down) std::swap(dims[1], dims[2]);
  if (!options.mxfp4) return stacked(parameters, place, part, name + ".weight", dims);
  const Mxfp4Rows rows =
      down ? Mxfp4Rows{options.down, options.features, 0, 1}
           : Mxfp4Rows{options.gate, 2 * options.hidden_features, part == Part::Up ? 1 : 0, 2};
  return mxfp4_matrices(parameters, name + ".weight", rows, dims);
}

// (experts, 1, out) from (experts, stored), of which every `step`th is used from `first` on.
std::optional<Array> biases(const Parameters& parameters, const Place& place, Part part) {
  const ExpertWeightsOptions& options = place.options;
  if (!options.bias) return std::nullopt;
  const bool down = part == Part::Down;
  const int64_t count = options.num_experts;
  const int64_t out = down ? options.features : options.hidden_features;
  const int64_t stored = down ? out : 2 * out, step = down ? 1 : 2,
                first = part == Part::Up ? 1 : 0;
  const std::string name = part == Part::Gate ? "gate" : part == Part::Up ? "up" : "down";
  const std::vector<int64_t> dims = {count, 1, out};
  return parameters.made(name + ".bias", dims, [&](const std::string& full) {
    std::vector<double> values;
    if (options.layout == Layout::Modules) {
      for (int64_t expert = 0; expert < count; ++expert) {
        const Parameters module = place.parameters.at(expert).at(name_of(options, part));
        const std::vector<double> own = module.values("bias", {out});
        values.insert(values.end(), own.begin(), own.end());
      }
      return array::constant(parameters.type(), dims, values, full);
    }
    const std::string tensor = (down ? options.down : options.gate) + "_bias";
    const std::vector<double> all = parameters.values(tensor, {count, stored});
    for (int64_t expert = 0; expert < count; ++expert) {
      for (const int64_t i : numbers(expert * stored + first, out, step)) {
        values.push_back(all[static_cast<size_t>(i)]);
      }
    }
    return array::constant(parameters.type(), dims, values, full);
  });
}

}  // namespace

ExpertWeights expert_weights(const Parameters& parameters, const ExpertWeightsOptions& options) {
  const Place place = place_of(parameters, options);
  const bool gated = options.gated;
  return {gated ? std::optional(matrices(parameters, place, Part::Gate)) : std::nullopt,
          matrices(parameters, place, Part::Up),
          matrices(parameters, place, Part::Down),
          gated ? biases(parameters, place, Part::Gate) : std::nullopt,
          biases(parameters, place, Part::Up),
          biases(parameters, place, Part::Down)};
}

}  // namespace pippin::nn
