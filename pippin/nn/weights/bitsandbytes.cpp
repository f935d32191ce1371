// bitsandbytes' matrices: nibbles that index a palette (nf4, fp4), in flat blocks of the whole
// matrix, whose scales may be 8-bit codes themselves; and rows of 8-bit integers.
#include <bit>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/io/json.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

// The scales of blocks: floats, or codes of a table, scaled again and shifted.
struct Maxima {
  PackedPart codes;
  std::optional<PackedPart> table, scales;
  int64_t block = 0;  // of the second scales
  float offset = 0;

  float number(int64_t index) const {
    if (!table) return codes.number(index);
    return table->number(codes.integer(index)) * scales->number(index / block) + offset;
  }
};

class NibbleMatrix : public PackedMatrix {
 public:
  NibbleMatrix(PackedLayout layout, PackedPart codes, Maxima maxima, int64_t block)
      : PackedMatrix(std::move(layout)),
        codes_(std::move(codes)),
        maxima_(std::move(maxima)),
        block_(block) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const int64_t first = row * layout().columns;
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t at = first + static_cast<int64_t>(i);
      const auto byte = static_cast<unsigned>(codes_.bytes()[at / 2]);
      out[i] = static_cast<uint8_t>(at % 2 == 0 ? byte >> 4 : byte & 15u);
    }
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> /*shifts*/) const override {
    for (size_t i = 0; i < scales.size(); ++i) {
      const int64_t column = static_cast<int64_t>(i) * layout().group;
      scales[i] = maxima_.number((row * layout().columns + column) / block_);
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("bitsandbytes").number(layout().columns).number(block_);
    codes_.describe(recipe);
    maxima_.codes.describe(recipe);
    if (maxima_.table) {
      maxima_.table->describe(recipe);
      maxima_.scales->describe(recipe);
      recipe.number(maxima_.block).number(std::bit_cast<int32_t>(maxima_.offset));
    }
    return true;
  }
  void release() const noexcept override { codes_.release(); }

 private:
  PackedPart codes_;
  Maxima maxima_;
  int64_t block_;
};

class ByteMatrix : public PackedMatrix {
 public:
  ByteMatrix(PackedLayout layout, PackedPart codes, PackedPart scales)
      : PackedMatrix(std::move(layout)), codes_(std::move(codes)), scales_(std::move(scales)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    const std::byte* bytes = codes_.bytes() + row * layout().columns;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(bytes[i]);
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> /*shifts*/) const override {
    scales[0] = scales_.number(row) / 127.0f;
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("bitsandbytes rows").number(layout().columns);
    codes_.describe(recipe);
    scales_.describe(recipe);
    return true;
  }
  void release() const noexcept override { codes_.release(); }
  ByteSpan stream() const override { return codes_.tensor().bytes; }

 private:
  PackedPart codes_, scales_;
};

std::string state_of(const Checkpoint& checkpoint, const std::string& name) {
  for (const char* kind : {"nf4", "fp4"}) {
    std::string state = name + ".quant_state.bitsandbytes__" + kind;
    if (checkpoint.contains(state)) return state;
  }
  return {};
}

class BitsandbytesWeights : public PackedWeights {
 public:
  std::vector<std::string> tensors(const Checkpoint& checkpoint,
                                   const std::string& name) const override {
    const std::string module = module_of(name);
    const TensorInfo* tensor = module.empty() ? nullptr : checkpoint.find(name);
    if (tensor == nullptr) return {};
    if (tensor->dtype == Dtype::I8) {
      return present(checkpoint, {name, module + ".SCB", module + ".weight_format"});
    }
    // Weights may be stored as other types of the same size.
    const std::string state = state_of(checkpoint, name);
    if (state.empty() && tensor->dtype != Dtype::U8) return {};
    return present(checkpoint, {name, name + ".absmax", name + ".quant_map",
                                name + ".nested_absmax", name + ".nested_quant_map", state});
  }

  PackedPtr matrix(const std::shared_ptr<const Checkpoint>& checkpoint, const std::string& name,
                   int64_t rows, int64_t columns) const override {
    if (checkpoint->at(name).dtype == Dtype::I8) return bytes(checkpoint, name, rows, columns);
    const std::string state_name = state_of(*checkpoint, name);
    if (state_name.empty()) {
      fail(ErrorCode::NotFound, "{}: tensor '{}' has no quant_state of nf4 or fp4",
           checkpoint->path().filename().string(), name);
    }
    const TensorInfo& state_tensor = checkpoint->at(state_name);
    const Json state = Json::parse(
        {reinterpret_cast<const char*>(state_tensor.bytes.data()), state_tensor.bytes.size()},
        state_name);
    check_shape(state, rows, columns);
    const int64_t block = size_of(state, "blocksize");
    const int64_t count = rows * columns, bytes = ceil_div<int64_t>(count, 2);
    const TensorInfo& stored = checkpoint->at(name);
    if (static_cast<int64_t>(stored.bytes.size()) != bytes) {
      fail(ErrorCode::InvalidFile, "tensor '{}' has {} bytes, [{}, {}] of 4 bits needs {}", name,
           stored.bytes.size(), rows, columns, bytes);
    }
    PackedLayout layout{rows,        columns,
                        4,           false,
                        Shift::None, columns % block == 0 ? block : std::gcd(columns, block)};
    const PackedPart map(checkpoint, name + ".quant_map", {16}, {Dtype::F32});
    for (int64_t i = 0; i < 16; ++i) layout.palette.push_back(map.number(i));
    Maxima maxima = maxima_of(checkpoint, name, state, ceil_div(count, block));
    return std::make_shared<NibbleMatrix>(
        std::move(layout), PackedPart(checkpoint, name, stored.shape, {stored.dtype}),
        std::move(maxima), block);
  }

 private:
  static int64_t size_of(const Json& state, const char* key) {
    const int64_t size = state.at(key).as_int();
    if (size < 1 || size > int64_t{1} << 24) {
      fail(ErrorCode::InvalidFile, "{}: {} is not a block size", state.where(key), size);
    }
    return size;
  }

  static void check_shape(const Json& state, int64_t rows, int64_t columns) {
    const std::vector<int64_t> shape = state.at("shape").as_ints();
    if (shape == std::vector<int64_t>{rows, columns}) return;
    fail(ErrorCode::InvalidFile, "{}: not the shape [{}, {}] that the configuration needs",
         state.where("shape"), rows, columns);
  }

  static Maxima maxima_of(const std::shared_ptr<const Checkpoint>& checkpoint,
                          const std::string& name, const Json& state, int64_t count) {
    const std::string absmax = name + ".absmax";
    if (!state.contains("nested_blocksize")) {
      return {PackedPart(checkpoint, absmax, {count}, float_types()), {}, {}};
    }
    const int64_t block = size_of(state, "nested_blocksize");
    return {PackedPart(checkpoint, absmax, {count}, {Dtype::U8}),
            PackedPart(checkpoint, name + ".nested_quant_map", {256}, {Dtype::F32}),
            PackedPart(checkpoint, name + ".nested_absmax", {ceil_div(count, block)}, {Dtype::F32}),
            block, static_cast<float>(state.at("nested_offset").as_float())};
  }

  static PackedPtr bytes(const std::shared_ptr<const Checkpoint>& checkpoint,
                         const std::string& name, int64_t rows, int64_t columns) {
    const std::string module = module_of(name), format = module + ".weight_format";
    if (checkpoint->contains(format)) {
      const PackedPart order(checkpoint, format, checkpoint->at(format).shape, {Dtype::U8});
      if (order.tensor().num_elements() != 1 || order.integer(0) != 0) {
        fail(ErrorCode::Unsupported, "tensor '{}': only rows one after another are read", format);
      }
    }
    return std::make_shared<ByteMatrix>(
        PackedLayout{rows, columns, 8, true, Shift::None, columns},
        PackedPart(checkpoint, name, {rows, columns}, {Dtype::I8}),
        PackedPart(checkpoint, module + ".SCB", {rows}, float_types()));
  }
};

}  // namespace

PackedWeightsPtr bitsandbytes_weights() {
  return std::make_shared<BitsandbytesWeights>();
}

}  // namespace pippin::nn
