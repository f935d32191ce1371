#include "pippin/compress/rewrite.h"

#include <unordered_set>
#include <utility>

namespace pippin::compress {
namespace {

using mil::Block;
using mil::DataType;
using mil::Operation;
using mil::Value;
using mil::ValueType;
using mil::Var;

bool has_offset(const Encoding& encoding) {
  return !encoding.linear.symmetric || encoding.linear.middle() != 0;
}

// A vector of elements along the channel axis shares one code.
Dims code_dims(const Encoding& encoding, Dims dims) {
  dims[encoding.channel_axis] /= encoding.cluster;
  return dims;
}

Value shape_value(const Dims& dims) {
  Value value;
  value.type = ValueType::tensor(DataType::UInt32, {static_cast<int64_t>(dims.size())});
  for (const int64_t size : dims) {
    const auto word = static_cast<uint32_t>(size);
    const auto bytes = std::as_bytes(std::span(&word, 1));
    value.bytes.insert(value.bytes.end(), bytes.begin(), bytes.end());
  }
  return value;
}

class Rewriter {
 public:
  explicit Rewriter(const std::unordered_map<const Operation*, Replacement>& replacements)
      : replacements_(replacements) {}

  void rewrite(Block& root) {
    collect_names(root);
    replace(root);
    redirect(root, new_vars_);
  }

 private:
  using Operations = std::vector<std::unique_ptr<Operation>>;

  void collect_names(const Block& block) {
    mil::for_each_operation(block, [&](const Operation& operation) {
      for (const auto& output : operation.outputs()) names_.insert(output->name);
      for (const auto& nested : operation.blocks()) {
        for (const auto& input : nested->inputs()) names_.insert(input->name);
      }
    });
  }

  std::string fresh_name(const std::string& base) {
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
    return name;
  }

  void replace(Block& block) {
    Operations result;
    for (auto& operation : block.operations()) {
      for (auto& nested : operation->blocks()) replace(*nested);
      const auto found = replacements_.find(operation.get());
      if (found == replacements_.end()) {
        result.push_back(std::move(operation));
        continue;
      }
      const Var* constant = operation->output();
      make(found->second, constant->type, result);
      new_vars_.emplace(constant, result.back()->output());
      old_.push_back(std::move(operation));
    }
    block.operations() = std::move(result);
  }

  static Operation& append(Operations& operations, std::string type, const std::string& name) {
    Operation& operation = *operations.emplace_back(std::make_unique<Operation>(std::move(type)));
    operation.attributes()["name"] = Value::of_string(name);
    return operation;
  }

  void make(const Replacement& to, const ValueType& type, Operations& operations) {
    if (to.opset >= mil::Opset::CoreML8) {
      make_operations(to, type, operations);
    } else {
      make_flat(to, type, operations);
    }
  }

  static Value value_of(const Replacement& to, Part part, DataType type, Dims dims) {
    return Value::of_source(ValueType::tensor(type, std::move(dims)), to.job->part(part));
  }

  // Before CoreML8: parameters are attributes, indices and masks are packed bytes.
  void make_flat(const Replacement& to, const ValueType& type, Operations& operations) {
    const Encoding& encoding = to.encoding;
    const auto flat = [&](Part part) {
      return value_of(to, part, DataType::UInt8, {static_cast<int64_t>(to.job->part_size(part))});
    };
    if (encoding.form == Encoding::Form::Linear) {
      Operation& operation = append(operations, "constexpr_affine_dequantize", to.name);
      const int64_t scales = encoding.blocks[to.channel_axis];
      const bool per_tensor = static_cast<int64_t>(to.job->part_size(Part::Offset)) == 1;
      const Dims dims = per_tensor ? Dims() : Dims{scales};
      auto& attributes = operation.attributes();
      attributes["quantized_data"] = value_of(to, Part::Codes, encoding.linear.data, type.dims);
      attributes["scale"] = value_of(to, Part::Scale, type.data_type, dims);
      attributes["zero_point"] = value_of(to, Part::Offset, encoding.linear.data, dims);
      attributes["axis"] = Value::of_int32(static_cast<int32_t>(to.channel_axis));
      operation.add_output(to.name, type);
    } else if (encoding.form == Encoding::Form::Palette) {
      Operation& operation = append(operations, "constexpr_lut_to_dense", to.name);
      operation.attributes()["indices"] = flat(Part::Codes);
      operation.attributes()["lut"] =
          value_of(to, Part::Lut, type.data_type, {int64_t{1} << encoding.bits});
      operation.attributes()["shape"] = shape_value(type.dims);
      operation.add_output(to.name, type);
    } else {
      Operation& operation = append(operations, "constexpr_sparse_to_dense", to.name);
      operation.attributes()["mask"] = flat(Part::Mask);
      operation.attributes()["nonzero_data"] =
          value_of(to, Part::Values, type.data_type, {encoding.kept});
      operation.attributes()["shape"] = shape_value(type.dims);
      operation.add_output(to.name, type);
    }
  }

  void make_operations(const Replacement& to, const ValueType& type, Operations& operations) {
    const Encoding& encoding = to.encoding;
    const bool sparse = encoding.kept >= 0;
    const ValueType mask_type = ValueType::tensor(DataType::UInt1, type.dims);
    const ValueType kept_type = ValueType::tensor(type.data_type, {encoding.kept});
    const auto mask = [&] { return Value::of_source(mask_type, to.job->part(Part::Mask)); };
    const auto codes = [&] {
      return value_of(to, Part::Codes, encoding.code_type(),
                      sparse ? Dims{encoding.kept} : code_dims(encoding, type.dims));
    };
    Operation* inner = nullptr;  // produces the unpruned values
    const auto begin = [&](std::string_view dense, std::string_view joint) -> Operation& {
      if (!sparse) {
        Operation& operation = append(operations, std::string(dense), to.name);
        operation.add_output(to.name, type);
        return operation;
      }
      const std::string values = fresh_name(to.name + "_nonzero");
      inner = &append(operations, std::string(joint), values);
      inner->add_output(fresh_name(to.name + "_mask"), mask_type);
      inner->add_output(values, kept_type);
      return *inner;
    };
    if (encoding.form == Encoding::Form::Linear) {
      Operation& operation =
          begin("constexpr_blockwise_shift_scale", "constexpr_sparse_blockwise_shift_scale");
      auto& inputs = operation.inputs();
      if (sparse) inputs["data_mask"].push_back(mask());
      inputs[sparse ? "nonzero_data" : "data"].push_back(codes());
      inputs["scale"].push_back(value_of(to, Part::Scale, type.data_type, encoding.blocks));
      if (has_offset(encoding)) {
        inputs["offset"].push_back(
            value_of(to, Part::Offset, encoding.linear.data, encoding.blocks));
      }
    } else if (encoding.form == Encoding::Form::Palette) {
      Dims lut = encoding.lut_blocks(type.dims);
      lut.push_back(int64_t{1} << encoding.bits);
      lut.push_back(encoding.cluster);
      const DataType entry = encoding.int8_lut ? DataType::Int8 : type.data_type;
      const Value palettes = value_of(to, Part::Lut, entry, lut);
      // Scales of palettes are applied to them first, the form that Core ML of iOS 18 supports.
      Var* scaled = nullptr;
      if (encoding.has_lut_scale()) {
        const std::string name = fresh_name(to.name + "_lut");
        Operation& operation = append(operations, "constexpr_blockwise_shift_scale", name);
        Dims scales = encoding.lut_blocks(type.dims);
        scales.insert(scales.end(), {1, 1});
        operation.inputs()["data"].push_back(palettes);
        operation.inputs()["scale"].push_back(
            value_of(to, Part::Scale, type.data_type, std::move(scales)));
        scaled = operation.add_output(name, ValueType::tensor(type.data_type, lut));
      }
      Operation& operation = begin("constexpr_lut_to_dense", "constexpr_lut_to_sparse");
      auto& inputs = operation.inputs();
      if (sparse) inputs["indices_mask"].push_back(mask());
      inputs[sparse ? "indices_nonzero_data" : "indices"].push_back(codes());
      if (scaled != nullptr) {
        inputs["lut"].push_back(scaled);
      } else {
        inputs["lut"].push_back(palettes);
      }
      if (encoding.cluster > 1) {
        inputs["vector_axis"].push_back(
            Value::of_int32(static_cast<int32_t>(encoding.channel_axis)));
      }
    }
    if (!sparse) return;
    Operation& dense = append(operations, "constexpr_sparse_to_dense", to.name);
    dense.inputs()["mask"].push_back(mask());
    if (inner != nullptr) {
      dense.inputs()["nonzero_data"].push_back(inner->output(1));
    } else {
      dense.inputs()["nonzero_data"].push_back(
          value_of(to, Part::Values, type.data_type, {encoding.kept}));
    }
    dense.add_output(to.name, type);
  }

  const std::unordered_map<const Operation*, Replacement>& replacements_;
  std::unordered_set<std::string> names_;
  std::unordered_map<const Var*, Var*> new_vars_;
  Operations old_;  // alive until no pointers to their results remain
};

}  // namespace

std::vector<Part> parts_of(const Encoding& encoding) {
  std::vector<Part> parts;
  if (encoding.kept >= 0) parts.push_back(Part::Mask);
  switch (encoding.form) {
    case Encoding::Form::Linear:
      parts.insert(parts.end(), {Part::Codes, Part::Scale});
      if (has_offset(encoding)) parts.push_back(Part::Offset);
      break;
    case Encoding::Form::Palette:
      parts.insert(parts.end(), {Part::Codes, Part::Lut});
      if (encoding.has_lut_scale()) parts.push_back(Part::Scale);
      break;
    case Encoding::Form::Plain:
      parts.push_back(Part::Values);
      break;
  }
  return parts;
}

void redirect(Block& block, const std::unordered_map<const Var*, Var*>& vars) {
  const auto follow = [&](Var*& var) {
    if (const auto found = vars.find(var); found != vars.end()) var = found->second;
  };
  for (auto& operation : block.operations()) {
    for (auto& [parameter, argument] : operation->inputs()) {
      for (mil::Binding& binding : argument) {
        if (Var** var = std::get_if<Var*>(&binding)) follow(*var);
      }
    }
    for (auto& nested : operation->blocks()) redirect(*nested, vars);
  }
  for (Var*& output : block.outputs()) follow(output);
}

void rewrite(Block& block, const std::unordered_map<const Operation*, Replacement>& replacements) {
  Rewriter(replacements).rewrite(block);
}

}  // namespace pippin::compress
