// Packed matrices: the values of each form of checkpoints, and that a program's forms give the
// same.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/nn/weights/packed_forms.h"
#include "pippin/nn/weights/packed_weights.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;
using Codes = std::vector<std::vector<int>>;  // by rows

// Numbers in memory.
class PlainMatrix : public PackedMatrix {
 public:
  PlainMatrix(const PackedLayout& layout, std::mt19937& random) : PackedMatrix(layout) {
    const int low = layout.is_signed ? -(1 << (layout.bits - 1)) : 0;
    const int high = low + (1 << layout.bits) - 1;
    std::uniform_int_distribution<int> code(low, high), zero(std::max(0, low), high);
    std::normal_distribution<float> number;
    for (int64_t i = 0; i < layout.rows * layout.columns; ++i) codes_.push_back(code(random));
    const int64_t lines = ceil_div(layout.rows, layout.row_group);
    for (int64_t i = 0; i < lines * layout.groups(); ++i) {
      scales_.push_back(i % 7 == 3 ? 0.0f : number(random));
      shifts_.push_back(layout.shift == Shift::Integers ? static_cast<float>(zero(random))
                                                        : 5 * number(random));
    }
  }
  void codes(int64_t row, std::span<uint8_t> out) const override {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<uint8_t>(codes_[static_cast<size_t>(row * layout().columns) + i]);
    }
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    const auto first = static_cast<std::ptrdiff_t>(row / layout().row_group * layout().groups());
    std::copy_n(scales_.begin() + first, scales.size(), scales.begin());
    std::copy_n(shifts_.begin() + first, shifts.size(), shifts.begin());
  }
  bool describe(mil::Recipe& /*recipe*/) const override { return false; }

 private:
  std::vector<int> codes_;
  std::vector<float> scales_, shifts_;
};

// The value of the operation that packed_array() records, by its definition.
std::vector<double> value_of(const array::Array& packed, int64_t rows, int64_t columns) {
  array::Builder builder;
  builder.output("y", packed);
  const auto function = builder.build();
  const auto& operations = function->block().operations();
  const auto found = std::find_if(operations.begin(), operations.end(), [](const auto& one) {
    return one->type().starts_with("constexpr_");
  });
  if (found == operations.end()) return operations.front()->constant_value()->to_doubles();
  const mil::Operation& op = **found;
  const bool palette = op.type() == "constexpr_lut_to_dense";
  const mil::Value& codes = *op.constant_input(palette ? "indices" : "data");
  const mil::Value& scale = *op.constant_input(palette ? "lut" : "scale");
  const mil::Value* offset = palette ? nullptr : op.constant_input("offset");
  const std::vector<double> code = codes.to_doubles(), scales = scale.to_doubles();
  const std::vector<double> offsets = offset ? offset->to_doubles() : std::vector<double>();
  const int64_t lines = scale.type.dims[0], groups = scale.type.dims[1];
  const int64_t entries = palette ? scale.type.dims[2] : 1;
  std::vector<double> result;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto block = static_cast<size_t>(i / (rows / lines) * groups + j / (columns / groups));
      const double q = code[static_cast<size_t>(i * columns + j)];
      const double shift = offsets.empty() ? 0 : offsets[block];
      result.push_back(palette
                           ? scales[block * static_cast<size_t>(entries) + static_cast<size_t>(q)]
                           : (q - shift) * scales[block]);
    }
  }
  return result;
}

TEST(PackedForms, AreTheValues) {
  std::mt19937 random(3);
  std::vector<PackedLayout> layouts;
  for (const Shift shift : {Shift::None, Shift::Integers, Shift::Floats, Shift::Bias}) {
    for (const int bits : {4, 8}) {
      layouts.push_back({6, 96, bits, shift == Shift::None, shift, 32});
      layouts.push_back({6, 96, bits, false, shift, 96, 6});
      layouts.push_back({12, 40, bits, shift == Shift::None, shift, 16, 8});  // ragged
      layouts.push_back({3, 7, bits, false, shift, 7});                       // half bytes left
      layouts.push_back({5, 20, bits, shift == Shift::None, shift, 1});       // a scale each
    }
  }
  for (const int bits : {2, 4, 8}) {
    for (const int64_t row_group : {1, 4, 16}) {
      PackedLayout layout{16, 512, bits, false, Shift::None, 256, row_group};
      for (int i = 0; i < 1 << bits; ++i)
        layout.palette.push_back(0.37f * static_cast<float>(i - 2));
      layouts.push_back(layout);
      layout.columns = 24;
      layouts.push_back(layout);
    }
  }
  for (const PackedLayout& layout : layouts) {
    SCOPED_TRACE(fmt::format("[{}, {}], {} bits, shift {}, groups of {} x {}", layout.rows,
                             layout.columns, layout.bits, static_cast<int>(layout.shift),
                             layout.row_group, layout.group));
    const auto matrix = std::make_shared<PlainMatrix>(layout, random);
    std::vector<float> row(static_cast<size_t>(layout.columns));
    for (const auto& [type, tolerance] :
         {std::pair{mil::DataType::Float32, 1e-6}, std::pair{mil::DataType::Float16, 3e-3}}) {
      const std::vector<double> got =
          value_of(packed_array("w", matrix, {layout.rows, layout.columns}, type), layout.rows,
                   layout.columns);
      for (int64_t i = 0; i < layout.rows; ++i) {
        packed_values(*matrix, i, row);
        double most = 0;
        for (const float value : row) most = std::max(most, std::abs(double{value}));
        for (int64_t j = 0; j < layout.columns; ++j) {
          ASSERT_NEAR(got[static_cast<size_t>(i * layout.columns + j)], row[static_cast<size_t>(j)],
                      tolerance * most)
              << i << ", " << j;
        }
      }
    }
    const PackedError error = packed_error(*matrix, 1000);
    EXPECT_LE(std::sqrt(error.error), 3e-3 * std::sqrt(error.total));
  }
}

TEST(PackedForms, RowsAndPartsKeepTheirScales) {
  std::mt19937 random(4);
  const auto matrix =
      std::make_shared<PlainMatrix>(PackedLayout{16, 32, 8, true, Shift::None, 8, 4}, random);
  const std::vector<int64_t> rows = {4, 5, 6, 7, 0, 1, 2, 3, 15, 9};
  const PackedPtr some = packed_rows(matrix, rows), both = packed_joined({some, some});
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(packed_joined({some, matrix}), nullptr);
  std::vector<float> want(32), got(32);
  for (size_t i = 0; i < 2 * rows.size(); ++i) {
    packed_values(*matrix, rows[i % rows.size()], want);
    packed_values(*both, static_cast<int64_t>(i), got);
    EXPECT_EQ(got, want) << i;
  }
  const std::vector<double> form =
      value_of(packed_array("w", both, {20, 32}, mil::DataType::Float32), 20, 32);
  for (int64_t i = 0; i < 20; ++i) {
    packed_values(*both, i, want);
    for (size_t j = 0; j < 32; ++j) {
      EXPECT_FLOAT_EQ(static_cast<float>(form[static_cast<size_t>(i) * 32 + j]), want[j]);
    }
  }
}

// A checkpoint of tensors that a test packs.
class File {
 public:
  template <typename T>
  void add(const std::string& name, Dtype dtype, std::vector<int64_t> shape,
           const std::vector<T>& elements) {
    declared_.push_back({name, dtype, std::move(shape)});
    const auto bytes = std::as_bytes(std::span(elements));
    data_.emplace_back(bytes.begin(), bytes.end());
  }
  std::shared_ptr<const Checkpoint> open() {
    SafetensorsWriter writer(dir_ / "model.safetensors", declared_);
    for (const auto& one : data_) writer.append(one);
    writer.finish();
    return std::make_shared<const Checkpoint>(Checkpoint::open(dir_.path()));
  }

 private:
  TempDir dir_;
  std::vector<SafetensorsWriter::Declaration> declared_;
  std::vector<std::vector<std::byte>> data_;
};

// Numbers of `bits` in words of 32, the first one lowest; `straddle`: also across words.
std::vector<uint32_t> words_of(const std::vector<int>& numbers, int bits, bool straddle) {
  const size_t per_word = static_cast<size_t>(32 / bits);
  std::vector<uint32_t> words(straddle ? (numbers.size() * static_cast<size_t>(bits) + 31) / 32
                                       : (numbers.size() + per_word - 1) / per_word);
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (int bit = 0; bit < bits; ++bit) {
      const size_t at = straddle ? i * static_cast<size_t>(bits) + static_cast<size_t>(bit)
                                 : i / per_word * 32 + i % per_word * static_cast<size_t>(bits) +
                                       static_cast<size_t>(bit);
      if ((numbers[i] >> bit & 1) != 0) words[at / 32] |= 1u << (at % 32);
    }
  }
  return words;
}

Codes random_codes(int64_t rows, int64_t columns, int low, int high, std::mt19937& random) {
  std::uniform_int_distribution<int> code(low, high);
  Codes codes(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(columns)));
  for (auto& row : codes) std::generate(row.begin(), row.end(), [&] { return code(random); });
  return codes;
}

std::vector<float> random_scales(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> scale(0.01f, 0.1f);
  std::vector<float> scales(static_cast<size_t>(count));
  std::generate(scales.begin(), scales.end(), [&] { return scale(random); });
  return scales;
}

// Compares with want(row, input), whatever the order of the columns.
template <typename Want>
void expect_values(const PackedMatrix& matrix, const Want& want) {
  const PackedLayout& layout = matrix.layout();
  std::vector<float> row(static_cast<size_t>(layout.columns));
  for (int64_t i = 0; i < layout.rows; ++i) {
    packed_values(matrix, i, row);
    for (int64_t j = 0; j < layout.columns; ++j) {
      const int64_t input = layout.order.empty() ? j : layout.order[static_cast<size_t>(j)];
      ASSERT_FLOAT_EQ(row[static_cast<size_t>(j)], want(i, input)) << i << ", " << input;
    }
  }
}

template <typename T>
T at(const std::vector<std::vector<T>>& rows, int64_t i, int64_t j) {
  return rows[static_cast<size_t>(i)][static_cast<size_t>(j)];
}

// A matrix of 4 bits that lies in memory, as codes of 8 columns or as blocks of 3 bytes a row.
class LyingMatrix : public PackedMatrix {
 public:
  explicit LyingMatrix(std::span<const std::byte> bytes)
      : PackedMatrix(
            PackedLayout{std::ssize(bytes) / 4, 8, 4, false, PackedLayout::Shift::None, 8}),
        stored_{"q4_0", bytes.first(static_cast<size_t>(layout().rows) * 3), layout().rows, 8},
        bytes_(bytes) {}

  void codes(int64_t, std::span<uint8_t> out) const override {
    std::fill(out.begin(), out.end(), uint8_t{1});
  }
  void scales(int64_t, std::span<float> scales, std::span<float>) const override {
    std::fill(scales.begin(), scales.end(), 1.0f);
  }
  bool describe(mil::Recipe&) const override { return true; }
  ByteSpan stream() const override { return bytes_; }
  const mil::StoredBlocks* blocks() const override { return &stored_; }

 private:
  mil::StoredBlocks stored_;
  ByteSpan bytes_;
};

TEST(PackedForms, FirstRowsLieWhereAllDo) {
  const std::vector<std::byte> bytes(24);
  const auto matrix = std::make_shared<LyingMatrix>(bytes);
  const PackedPtr first = packed_rows(matrix, {0, 1, 2, 3});
  EXPECT_EQ(first->stream().data(), bytes.data());
  EXPECT_EQ(first->stream().size(), 16u);
  ASSERT_NE(first->blocks(), nullptr);
  EXPECT_TRUE(first->blocks()->order.empty());
  EXPECT_EQ(first->blocks()->rows, 4);
  EXPECT_EQ(first->blocks()->bytes.size(), 12u);
  const PackedPtr others = packed_rows(matrix, {1, 2, 3});
  EXPECT_TRUE(others->stream().empty());
  EXPECT_EQ(others->blocks()->order, (std::vector<int64_t>{1, 2, 3}));
}

TEST(Gptq, EveryWidthOrderAndZero) {
  std::mt19937 random(5);
  const int64_t rows = 32, columns = 64, groups = 2;
  for (const auto& [bits, less_one, shuffled] :
       {std::tuple{2, true, false}, std::tuple{3, true, false}, std::tuple{3, false, true},
        std::tuple{4, true, true}, std::tuple{4, false, false}, std::tuple{8, true, false}}) {
    SCOPED_TRACE(fmt::format("{} bits", bits));
    const Codes codes = random_codes(rows, columns, 0, (1 << bits) - 1, random);
    const Codes zeros = random_codes(groups, rows, 0, (1 << bits) - 1, random);
    const std::vector<float> scales = random_scales(groups * rows, random);
    std::vector<int32_t> group_of(static_cast<size_t>(columns));
    for (int32_t i = 0; i < columns; ++i) group_of[static_cast<size_t>(i)] = i / 32;
    if (shuffled) std::shuffle(group_of.begin(), group_of.end(), random);
    // A column of words for each row.
    std::vector<uint32_t> packed(static_cast<size_t>(columns * bits / 32 * rows)), packed_zeros;
    for (int64_t i = 0; i < rows; ++i) {
      const auto words = words_of(codes[static_cast<size_t>(i)], bits, true);
      for (size_t j = 0; j < words.size(); ++j) {
        packed[j * static_cast<size_t>(rows) + static_cast<size_t>(i)] = words[j];
      }
    }
    for (const auto& one : zeros) {
      const auto words = words_of(one, bits, true);
      packed_zeros.insert(packed_zeros.end(), words.begin(), words.end());
    }
    File file;
    file.add("a.qweight", Dtype::I32, {columns * bits / 32, rows}, packed);
    file.add("a.qzeros", Dtype::I32, {groups, rows * bits / 32}, packed_zeros);
    file.add("a.scales", Dtype::F32, {groups, rows}, scales);
    file.add("a.g_idx", Dtype::I32, {columns}, group_of);
    const auto checkpoint = file.open();
    const auto weights = gptq_weights({.zeros_less_one = less_one});
    EXPECT_EQ(weights->tensors(*checkpoint, "a.weight").size(), 4u);
    EXPECT_TRUE(weights->tensors(*checkpoint, "b.weight").empty());
    const PackedPtr matrix = weights->matrix(checkpoint, "a.weight", rows, columns);
    expect_values(*matrix, [&, less_one = less_one](int64_t i, int64_t j) {
      const int64_t group = group_of[static_cast<size_t>(j)];
      const int zero = at(zeros, group, i) + (less_one ? 1 : 0);
      return static_cast<float>(at(codes, i, j) - zero) *
             scales[static_cast<size_t>(group * rows + i)];
    });
    EXPECT_ERROR(weights->matrix(checkpoint, "a.weight", rows, 2 * columns), ErrorCode::InvalidFile,
                 "tensor 'a.");
    EXPECT_ERROR(weights->matrix(checkpoint, "a.weight", 2 * rows, columns), ErrorCode::InvalidFile,
                 "tensor 'a.");
  }
}

TEST(Gptq, GroupsThatAreNone) {
  for (const int32_t wrong : {-1, 2}) {
    File file;
    std::vector<int32_t> group_of(64);
    for (size_t i = 0; i < 64; ++i) group_of[i] = static_cast<int32_t>(i / 32);
    group_of[40] = wrong;
    file.add("a.qweight", Dtype::I32, {8, 8}, std::vector<uint32_t>(64));
    file.add("a.qzeros", Dtype::I32, {2, 1}, std::vector<uint32_t>(2));
    file.add("a.scales", Dtype::F32, {2, 8}, std::vector<float>(16));
    file.add("a.g_idx", Dtype::I32, {64}, group_of);
    EXPECT_ERROR(gptq_weights({})->matrix(file.open(), "a.weight", 8, 64), ErrorCode::InvalidFile,
                 fmt::format("element 40 names group {}, there are 2", wrong));
  }
}

TEST(Mlx, EveryWidth) {
  std::mt19937 random(6);
  const int64_t rows = 5, columns = 64;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    SCOPED_TRACE(fmt::format("{} bits", bits));
    const Codes codes = random_codes(rows, columns, 0, (1 << bits) - 1, random);
    const std::vector<float> scales = random_scales(2 * rows, random),
                             biases = random_scales(2 * rows, random);
    std::vector<uint32_t> packed;
    for (const auto& row : codes) {
      const auto words = words_of(row, bits, true);
      packed.insert(packed.end(), words.begin(), words.end());
    }
    File file;
    file.add("a.weight", Dtype::U32, {rows, columns * bits / 32}, packed);
    file.add("a.scales", Dtype::F32, {rows, 2}, scales);
    file.add("a.biases", Dtype::F32, {rows, 2}, biases);
    const auto checkpoint = file.open();
    const PackedPtr matrix = mlx_weights()->matrix(checkpoint, "a.weight", rows, columns);
    const auto want = [&](int64_t i, int64_t j) {
      const auto group = static_cast<size_t>(i * 2 + j / 32);
      return static_cast<float>(at(codes, i, j)) * scales[group] + biases[group];
    };
    expect_values(*matrix, want);
    // The bytes of the program are those of the file, or codes of more bits.
    const std::vector<double> form =
        value_of(packed_array("w", matrix, {rows, columns}, mil::DataType::Float32), rows, columns);
    for (int64_t i = 0; i < rows * columns; ++i) {
      EXPECT_NEAR(form[static_cast<size_t>(i)], want(i / columns, i % columns), 1e-5);
    }
    EXPECT_ERROR(mlx_weights()->matrix(checkpoint, "a.weight", rows, columns + 1),
                 ErrorCode::InvalidFile, "that is not a quantization");
    EXPECT_ERROR(mlx_weights()->matrix(checkpoint, "a.weight", rows + 1, columns),
                 ErrorCode::InvalidFile, "tensor 'a.");
  }
}

// The modes of small floats: codes of E2M1 or E4M3, scales of one byte.
TEST(Mlx, ModesOfSmallFloats) {
  const struct {
    MlxMode mode;
    int bits;
    int64_t group;
    uint8_t scale;       // a byte
    double scale_value;  // its value
  } modes[] = {{MlxMode::Mxfp4, 4, 32, 129, 4.0},
               {MlxMode::Mxfp8, 8, 32, 126, 0.5},
               {MlxMode::Nvfp4, 4, 16, 0x3C, 1.5}};
  std::mt19937 random(8);
  const int64_t rows = 3, columns = 64;
  const std::vector<double> e2m1 = {0,    0.5,  1,  1.5,  2,  3,  4,  6,
                                    -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  for (const auto& one : modes) {
    SCOPED_TRACE(static_cast<int>(one.mode));
    const Codes codes = random_codes(rows, columns, 0, one.bits == 4 ? 15 : 0x7E, random);
    std::vector<uint32_t> packed;
    for (const auto& row : codes) {
      const auto words = words_of(row, one.bits, true);
      packed.insert(packed.end(), words.begin(), words.end());
    }
    const int64_t groups = columns / one.group;
    std::vector<uint8_t> scales(static_cast<size_t>(rows * groups), 127);
    if (one.mode == MlxMode::Nvfp4) std::fill(scales.begin(), scales.end(), 0x38);  // 1
    scales[1] = one.scale;
    File file;
    file.add("a.weight", Dtype::U32, {rows, columns * one.bits / 32}, packed);
    file.add("a.scales", Dtype::U8, {rows, groups}, scales);
    const auto checkpoint = file.open();
    const PackedWeightsPtr weights = mlx_weights({.mode = one.mode});
    EXPECT_EQ(weights->tensors(*checkpoint, "a.weight").size(), 2u);
    const PackedPtr matrix = weights->matrix(checkpoint, "a.weight", rows, columns);
    expect_values(*matrix, [&](int64_t i, int64_t j) {
      const int code = at(codes, i, j);
      const double scale = i == 0 && j / one.group == 1 ? one.scale_value : 1.0;
      const int fraction = code & 7, exponent = code >> 3;
      const double e4m3 =
          exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
      return static_cast<float>((one.bits == 4 ? e2m1[static_cast<size_t>(code)] : e4m3) * scale);
    });
    // Of a module with a mode of its own.
    EXPECT_ERROR(mlx_weights({.mode = one.mode, .modes = {{"a", MlxMode::Affine}}})
                     ->matrix(checkpoint, "a.weight", rows, columns),
                 ErrorCode::InvalidFile, "tensor 'a.scales' has type U8");
  }
}

// Scales that are powers of two, like those of DeepSeek's later files.
TEST(Scaled, ScalesOfOneByte) {
  File file;
  file.add("a.weight", Dtype::F8E4M3, {2, 4}, std::vector<uint8_t>(8, 0x38));  // 1
  file.add("a.weight_scale_inv", Dtype::F8E8M0, {1, 1}, std::vector<uint8_t>{130});
  const PackedPtr matrix = scaled_weights({})->matrix(file.open(), "a.weight", 2, 4);
  expect_values(*matrix, [](int64_t, int64_t) { return 8.0f; });
}

TEST(Gptq, BiasesOfZerosBelongToNoLayer) {
  File file;
  file.add("a.qweight", Dtype::I32, {8, 8}, std::vector<uint32_t>(64));
  file.add("a.bias", Dtype::F16, {8}, std::vector<uint16_t>(8));
  file.add("b.bias", Dtype::F16, {8}, std::vector<uint16_t>(8));
  std::vector<uint16_t> own(8);
  own[7] = 1;
  file.add("c.qweight", Dtype::I32, {8, 8}, std::vector<uint32_t>(64));
  file.add("c.bias", Dtype::F16, {8}, own);
  const auto checkpoint = file.open();
  const PackedWeightsPtr weights = gptq_weights({});
  EXPECT_TRUE(weights->is_unused(*checkpoint, checkpoint->at("a.bias")));
  EXPECT_FALSE(weights->is_unused(*checkpoint, checkpoint->at("b.bias")));
  EXPECT_FALSE(weights->is_unused(*checkpoint, checkpoint->at("c.bias")));
}

TEST(PackedForms, InfinitiesOfHalfPrecisionAreNamed) {
  File file;
  file.add("a.weight", Dtype::F8E4M3, {1, 64}, std::vector<uint8_t>(64, 0x7E));  // 448
  file.add("a.weight_scale", Dtype::F32, {1}, std::vector<float>{1000});
  const PackedPtr matrix = scaled_weights({})->matrix(file.open(), "a.weight", 1, 64);
  std::string warnings;
  const LogScope log(LogLevel::Warn, [&](LogLevel, std::string_view text) { warnings += text; });
  const auto source = packed_elements(matrix, mil::DataType::Float16, "a.weight");
  std::vector<std::byte> bytes(source->size());
  source->read(0, bytes);
  source->read(0, bytes);
  EXPECT_EQ(warnings, "a.weight: some values are beyond fp16 (65504) and become infinite");
}

TEST(Scaled, PackedIntegersWithZerosAndOrder) {
  std::mt19937 random(7);
  const int64_t rows = 10, columns = 64;
  for (const auto& [bits, zero_points, shuffled] :
       {std::tuple{4, false, false}, std::tuple{4, true, true}, std::tuple{8, true, false},
        std::tuple{8, false, true}}) {
    const int middle = 1 << (bits - 1);
    const Codes codes = random_codes(rows, columns, -middle, middle - 1, random);
    const Codes zeros = random_codes(2, rows, -middle, middle - 1, random);  // by groups
    const std::vector<float> scales = random_scales(2 * rows, random);
    std::vector<int32_t> group_of(static_cast<size_t>(columns));
    for (int32_t i = 0; i < columns; ++i) group_of[static_cast<size_t>(i)] = i / 32;
    if (shuffled) std::shuffle(group_of.begin(), group_of.end(), random);
    std::vector<uint32_t> packed, packed_zeros;
    const auto raised = [&, bits = bits](std::vector<int> row) {
      for (int& code : row) code += middle;
      return words_of(row, bits, false);
    };
    for (const auto& row : codes) {
      const auto words = raised(row);
      packed.insert(packed.end(), words.begin(), words.end());
    }
    std::vector<std::vector<uint32_t>> columns_of_zeros = {raised(zeros[0]), raised(zeros[1])};
    for (size_t i = 0; i < columns_of_zeros[0].size(); ++i) {
      packed_zeros.insert(packed_zeros.end(), {columns_of_zeros[0][i], columns_of_zeros[1][i]});
    }
    File file;
    file.add("a.weight_packed", Dtype::I32, {rows, columns * bits / 32}, packed);
    file.add("a.weight_scale", Dtype::F32, {rows, 2}, scales);
    file.add("a.weight_shape", Dtype::I64, {2}, std::vector<int64_t>{rows, columns});
    if (zero_points) {
      const auto lines = static_cast<int64_t>(packed_zeros.size()) / 2;
      file.add("a.weight_zero_point", Dtype::I32, {lines, 2}, packed_zeros);
    }
    if (shuffled) file.add("a.weight_g_idx", Dtype::I32, {columns}, group_of);
    const auto checkpoint = file.open();
    const auto weights = scaled_weights({.bits = {bits}, .block = {}});
    expect_values(*weights->matrix(checkpoint, "a.weight", rows, columns),
                  [&, zero_points = zero_points](int64_t i, int64_t j) {
                    const int64_t group = group_of[static_cast<size_t>(j)];
                    const int zero = zero_points ? at(zeros, group, i) : 0;
                    return static_cast<float>(at(codes, i, j) - zero) *
                           scales[static_cast<size_t>(i * 2 + group)];
                  });
    EXPECT_ERROR(weights->matrix(checkpoint, "a.weight", rows + 1, columns), ErrorCode::InvalidFile,
                 "says [10, 64]");
  }
  // A word too few in a row: codes of 3 bits, which the configuration does not name, would fit.
  File file;
  file.add("a.weight_packed", Dtype::I32, {rows, columns / 8 - 1},
           std::vector<uint32_t>(static_cast<size_t>(rows * (columns / 8 - 1))));
  file.add("a.weight_scale", Dtype::F32, {rows, 2}, random_scales(2 * rows, random));
  EXPECT_ERROR(
      scaled_weights({.bits = {4}, .block = {}})->matrix(file.open(), "a.weight", rows, columns),
      ErrorCode::InvalidFile, "'a.weight_packed' has 7 words a row for 64 columns of 4 bits");
}

TEST(Scaled, FloatsOfEightBitsInBlocks) {
  const int64_t rows = 20, columns = 24;
  std::vector<uint8_t> codes(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 7 % 127);
  const auto value = [](uint8_t code) {  // of a positive e4m3
    const int exponent = code >> 3;
    const auto fraction = static_cast<float>(code & 7) / 8;
    return exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1 + fraction, exponent - 7);
  };
  std::mt19937 random(8);
  const std::vector<float> scales = random_scales(6, random);
  File file;
  file.add("a.weight", Dtype::F8E4M3, {rows, columns}, codes);
  file.add("a.weight_scale_inv", Dtype::F32, {3, 2}, scales);
  const auto checkpoint = file.open();
  const auto weights = scaled_weights({.bits = {}, .block = {{8, 16}}});
  expect_values(*weights->matrix(checkpoint, "a.weight", rows, columns), [&](int64_t i, int64_t j) {
    return value(codes[static_cast<size_t>(i * columns + j)]) *
           scales[static_cast<size_t>(i / 8 * 2 + j / 16)];
  });
  EXPECT_ERROR(scaled_weights({})->matrix(checkpoint, "a.weight", rows, columns),
               ErrorCode::InvalidFile, "'a.weight_scale_inv' has shape [3, 2]");
}

TEST(Bitsandbytes, FlatBlocksOfNibbles) {
  std::mt19937 random(9);
  const int64_t rows = 6, columns = 24, block = 32;
  const Codes codes = random_codes(1, rows * columns, 0, 15, random);
  std::vector<uint8_t> packed;
  for (size_t i = 0; i < codes[0].size(); i += 2) {
    packed.push_back(static_cast<uint8_t>(codes[0][i] << 4 | codes[0][i + 1]));
  }
  const std::vector<float> map = random_scales(16, random);
  const std::vector<float> maxima = random_scales(ceil_div(rows * columns, block), random);
  const std::string state =
      R"({"quant_type": "fp4", "blocksize": 32, "dtype": "float16", "shape": [6, 24]})";
  File file;
  file.add("a.weight", Dtype::U8, {rows * columns / 2, 1}, packed);
  file.add("a.weight.absmax", Dtype::F32, {static_cast<int64_t>(maxima.size())}, maxima);
  file.add("a.weight.quant_map", Dtype::F32, {16}, map);
  file.add("a.weight.quant_state.bitsandbytes__fp4", Dtype::U8,
           {static_cast<int64_t>(state.size())}, std::vector<char>(state.begin(), state.end()));
  const auto checkpoint = file.open();
  const auto weights = bitsandbytes_weights();
  EXPECT_EQ(weights->tensors(*checkpoint, "a.weight").size(), 4u);
  expect_values(*weights->matrix(checkpoint, "a.weight", rows, columns), [&](int64_t i, int64_t j) {
    const auto place = static_cast<size_t>(i * columns + j);
    return map[static_cast<size_t>(codes[0][place])] * maxima[place / static_cast<size_t>(block)];
  });
  EXPECT_ERROR(weights->matrix(checkpoint, "a.weight", columns, rows), ErrorCode::InvalidFile,
               "shape");
}

}  // namespace
}  // namespace pippin::nn
