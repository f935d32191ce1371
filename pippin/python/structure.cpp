// The structure of a model as Python dicts and lists, and compiled models.
#include <memory>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pippin/app/convert/compile.h"
#include "pippin/app/facts/operation_cost.h"
#include "pippin/base/error.h"
#include "pippin/mil/elements.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// Larger literals are reported with their type only.
constexpr int64_t kMaxElements = 1000;

py::dict named(const mil::Var& var) {
  py::dict result;
  result["name"] = var.name;
  result["type"] = mil::to_string(var.type);
  return result;
}

py::list named(const std::vector<std::unique_ptr<mil::Var>>& vars) {
  py::list result;
  for (const auto& var : vars) result.append(named(*var));
  return result;
}

py::object element(const mil::Value& value, const std::vector<std::byte>& bytes, size_t index) {
  const mil::DataType type = value.type.data_type;
  if (type == mil::DataType::String) return py::str(value.strings.at(index));
  const uint64_t bits = mil::element_bits(type, bytes, index);
  if (type == mil::DataType::Bool) return py::bool_(bits != 0);
  if (mil::is_float(type)) return py::float_(mil::bits_to_double(type, bits));
  if (type == mil::DataType::UInt64) return py::int_(bits);
  return py::int_(mil::bits_to_int(type, bits));
}

// Nested lists of the axes from `axis` on.
py::object elements(const mil::Value& value, const std::vector<std::byte>& bytes, size_t axis,
                    size_t& index) {
  if (axis == value.type.dims.size()) return element(value, bytes, index++);
  py::list result;
  for (int64_t i = 0; i < value.type.dims[axis]; ++i) {
    result.append(elements(value, bytes, axis + 1, index));
  }
  return result;
}

py::object literal(const mil::Value& value) {
  if (value.type.kind == mil::ValueType::Kind::Tuple ||
      value.type.kind == mil::ValueType::Kind::List) {
    py::list result;
    for (const mil::Value& item : value.elements) result.append(literal(item));
    return result;
  }
  if (!value.type.is_tensor() || !value.type.is_static() || value.blob || value.source != nullptr ||
      value.type.num_elements() > kMaxElements) {
    return py::none();
  }
  const bool strings = value.type.data_type == mil::DataType::String;
  const std::vector<std::byte> bytes = strings ? std::vector<std::byte>() : value.read_bytes();
  size_t index = 0;
  return elements(value, bytes, 0, index);
}

py::dict bound(const mil::Binding& binding) {
  py::dict result;
  if (mil::Var* const* var = std::get_if<mil::Var*>(&binding)) {
    result["name"] = (*var)->name;
    return result;
  }
  const auto& value = std::get<mil::Value>(binding);
  result["value"] = literal(value);
  result["type"] = mil::to_string(value.type);
  return result;
}

py::dict structure_of(const mil::Block& block);

py::dict structure_of(const mil::Operation& operation) {
  py::dict inputs;
  for (const auto& [parameter, argument] : operation.inputs()) {
    py::list bindings;
    for (const mil::Binding& binding : argument) bindings.append(bound(binding));
    inputs[py::str(parameter)] = bindings;
  }
  py::list blocks;
  for (const auto& block : operation.blocks()) blocks.append(structure_of(*block));
  py::dict result;
  result["operator_name"] = operation.type();
  result["inputs"] = inputs;
  result["outputs"] = named(operation.outputs());
  result["blocks"] = blocks;
  return result;
}

py::dict structure_of(const mil::Block& block) {
  py::list operations, outputs;
  for (const auto& operation : block.operations()) operations.append(structure_of(*operation));
  for (const mil::Var* output : block.outputs()) outputs.append(output->name);
  py::dict result;
  result["inputs"] = named(block.inputs());
  result["operations"] = operations;
  result["output_names"] = outputs;
  return result;
}

py::dict structure_of(const mil::Model& model) {
  py::dict result;
  result["kind"] = model.kind == mil::ModelKind::MlProgram
                       ? "program"
                       : mil::model_kind_name(mil::model_kind_field(model.kind));
  if (model.is_pipeline()) {
    py::list stages;
    for (size_t i = 0; i < model.stages.size(); ++i) {
      py::dict stage;
      stage["name"] = model.stages[i].name;
      stage["model"] = structure_of(model.stages[i].model);
      stages.append(stage);
    }
    result["stages"] = stages;
  } else if (!model.is_translated()) {
    py::dict functions;
    for (const auto& [name, function] : model.program.functions) {
      py::dict one;
      one["inputs"] = named(function->inputs);
      one["block"] = structure_of(function->block());
      functions[py::str(name)] = one;
    }
    result["functions"] = functions;
  }
  return result;
}

mil::Model read(const std::string& path) {
  mil::Model model;
  without_lock([&] { model = mil::read_package(path); });
  return model;
}

const mil::Model& stage_of(const mil::Model& model, const std::vector<size_t>& stage) {
  const mil::Model* found = &model;
  for (const size_t index : stage) {
    if (index >= found->stages.size()) {
      fail(ErrorCode::NotFound, "no stage {}; the model has {}", index, found->stages.size());
    }
    found = &found->stages[index].model;
  }
  return *found;
}

py::list costs_of(const std::string& path, const std::string& function,
                  const std::vector<size_t>& stage) {
  const mil::Model whole = read(path);
  const mil::Model& model = stage_of(whole, stage);
  std::vector<app::OperationCost> costs;
  without_lock([&] {
    costs = app::operation_costs(model, function.empty() ? model.default_function : function);
  });
  py::list result;
  for (const app::OperationCost& cost : costs) {
    result.append(cost.constant ? py::object(py::none()) : py::object(py::float_(cost.share)));
  }
  return result;
}

}  // namespace

void bind_structure(py::module_& module) {
  module.def(
      "compile_model",
      [](const std::string& path, const std::string& output) {
        without_lock([&] { app::compile_model(path, output); });
        return output;
      },
      py::arg("path"), py::arg("output"), docs::kCompile);
  module.def(
      "structure", [](const std::string& path) { return structure_of(read(path)); },
      py::arg("path"), docs::kStructure);
  module.def("operation_costs", &costs_of, py::arg("path"), py::arg("function") = "", py::kw_only(),
             py::arg("stage") = std::vector<size_t>(), docs::kOperationCosts);
}

}  // namespace pippin::python
