// The weights of a GGUF model by the names of modules (pippin/nn): blocks become MLX's packed
// weights if MLX has an equivalent group, floats otherwise.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/models/gguf/gguf.h"
#include "pippin/models/model_source.h"
#include "pippin/mx/io/io.h"
#include "pippin/mx/io/stored_array.h"
#include "pippin/nn/weights/packed_weights.h"
#include "pippin/python/bindings.h"
#include "pippin/python/core/object.h"
#include "pippin/python/interrupt.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

using Shapes = std::map<std::string, std::pair<int64_t, int64_t>>;
using nn::PackedLayout;

// The columns of a group in MLX's form; empty if MLX has no such group or the values come from a
// palette.
std::optional<int64_t> affine_group(const PackedLayout& layout) {
  const bool is_plain =
      layout.palette.empty() && layout.order.empty() && layout.row_group == 1 && layout.bits <= 8;
  if (!is_plain || layout.columns % layout.group != 0) return std::nullopt;
  for (const int64_t group : {128, 64, 32}) {
    if (layout.group % group == 0) return group;
  }
  return std::nullopt;
}

// Calls body(begin, end) for parts of the rows on all threads.
template <typename Body>
void each_row(int64_t rows, const Body& body) {
  ThreadPool pool(0, Pinning::Never);
  pool.run([&](int part, int parts) {
    const Range range = split_range(rows, part, parts);
    body(range.begin, range.end);
  });
}

void add_affine(mx::ArrayMap& arrays, const std::string& module, const nn::PackedMatrix& matrix,
                int64_t group) {
  const PackedLayout& layout = matrix.layout();
  const int64_t rows = layout.rows, columns = layout.columns, own = layout.groups();
  const int bits = layout.bits <= 4 ? 4 : 8;  // widths that kernels multiply in place
  const int64_t groups = columns / group, row_bytes = columns * bits / 8;
  const int offset = layout.is_signed ? 1 << (layout.bits - 1) : 0;
  std::vector<uint8_t> packed(static_cast<size_t>(rows * row_bytes));
  std::vector<float> scales(static_cast<size_t>(rows * groups)), biases(scales.size());
  each_row(rows, [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> codes(static_cast<size_t>(columns));
    std::vector<float> row_scales(static_cast<size_t>(own)), row_shifts(row_scales.size());
    const bool has_shifts = layout.shift != PackedLayout::Shift::None;
    for (int64_t i = begin; i < end; ++i) {
      matrix.codes(i, codes);
      matrix.scales(i, row_scales, has_shifts ? std::span(row_shifts) : std::span<float>());
      uint8_t* to = packed.data() + i * row_bytes;
      for (size_t c = 0; c < codes.size(); ++c) {
        const int code = (codes[c] + offset) & ((1 << layout.bits) - 1);
        uint8_t& byte = to[bits == 8 ? c : c / 2];
        byte = static_cast<uint8_t>(byte | code << (bits == 8 ? 0 : c % 2 * 4));
      }
      for (int64_t g = 0; g < groups; ++g) {
        const auto from = static_cast<size_t>(g * group / layout.group);
        const auto at = static_cast<size_t>(i * groups + g);
        const float scale = row_scales[from], shift = has_shifts ? row_shifts[from] : 0;
        scales[at] = scale;
        biases[at] = layout.shift == PackedLayout::Shift::Bias
                         ? shift - static_cast<float>(offset) * scale
                         : -(static_cast<float>(offset) + shift) * scale;
      }
    }
  });
  const mx::Shape words{rows, row_bytes / 4}, shape{rows, groups};
  arrays.emplace_back(module + ".weight", mx::array(packed.data(), mx::uint32, words, mx::uint32));
  arrays.emplace_back(module + ".scales", mx::array(scales, shape));
  arrays.emplace_back(module + ".biases", mx::array(biases, shape));
}

mx::array values_of(const nn::PackedMatrix& matrix) {
  const PackedLayout& layout = matrix.layout();
  std::vector<float> values(static_cast<size_t>(layout.rows * layout.columns));
  each_row(layout.rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto columns = static_cast<size_t>(layout.columns);
      nn::packed_values(matrix, i,
                        std::span(values).subspan(static_cast<size_t>(i) * columns, columns));
    }
  });
  return mx::array(values, mx::Shape{layout.rows, layout.columns});
}

mx::ArrayMap read_arrays(const std::filesystem::path& source, const Shapes& shapes) {
  const auto file = app::find_gguf(source);
  if (!file) fail(ErrorCode::InvalidArgument, "'{}' is not a GGUF file", source.string());
  const std::filesystem::path folder = app::gguf_folder(*file);
  const auto checkpoint = std::make_shared<const Checkpoint>(
      models::gguf_checkpoint(Checkpoint::open(folder), models::load_config(folder)));
  const nn::PackedWeightsPtr packed = nn::gguf_weights();
  mx::ArrayMap arrays;
  for (const auto& [name, shape] : shapes) {
    if (packed->tensors(*checkpoint, name).empty()) continue;
    const nn::PackedPtr matrix = packed->matrix(checkpoint, name, shape.first, shape.second);
    if (const auto group = affine_group(matrix->layout())) {
      add_affine(arrays, nn::module_of(name), *matrix, *group);
    } else {
      arrays.emplace_back(name, values_of(*matrix));
    }
    matrix->release();
  }
  for (const std::string& name : checkpoint->names()) {
    const TensorInfo& tensor = checkpoint->at(name);
    // Checked above for one matrix of the block's type.
    const bool is_packed =
        tensor.dtype == Dtype::U8 && shapes.contains(name.substr(0, name.rfind('.')));
    if (!is_packed)
      arrays.emplace_back(name, mx::stored_array(tensor, checkpoint, source.string()));
  }
  return arrays;
}

py::dict gguf_weights(const std::filesystem::path& source, const Shapes& shapes) {
  std::optional<mx::ArrayMap> arrays;
  run_call(nullptr, [&] { arrays.emplace(read_arrays(source, shapes)); });
  py::dict result;
  for (const auto& [name, value] : *arrays) {
    PyObject* object = core::wrap(value);
    if (object == nullptr) throw py::error_already_set();
    result[py::str(name)] = py::reinterpret_steal<py::object>(object);
  }
  return result;
}

}  // namespace

void bind_gguf_weights(py::module_& module) {
  module.def("_gguf_weights", &gguf_weights, py::arg("path"), py::arg("shapes"));
}

}  // namespace pippin::python
