#include "pippin/kernels/ggml_blocks/ggml_blocks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/kernels/quantized_dot/quantized_dot.h"

namespace pippin::kernels {
namespace {

struct Unpacked {
  std::vector<uint8_t> codes;
  std::vector<float> scales, offsets;

  Unpacked(const GgmlForm& form, int64_t count)
      : codes(static_cast<size_t>(count * form.columns)),
        scales(static_cast<size_t>(count * form.columns / form.group)),
        offsets(form.has_offsets ? scales.size() : 0) {}

  UnpackArgs args(const std::vector<uint8_t>& blocks, int64_t count) {
    return {blocks.data(), count,         nullptr,
            codes.data(),  scales.data(), offsets.empty() ? nullptr : offsets.data()};
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Bytes of all values, so scales may also be infinite, NaN or subnormal. Memory ends with the last
// block, for sanitizers.
TEST(Blocks, KernelsGiveWhatTheReferenceGives) {
  std::mt19937 random(5);
  for (const GgmlForm& form : ggml_forms()) {
    for (const int64_t count : {1, 2, 7, 8, 9, 70}) {
      std::vector<uint8_t> blocks(static_cast<size_t>(count * form.bytes));
      for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
      Unpacked expected(form, count);
      ggml_blocks_scalar.unpack(form.type, expected.args(blocks, count));
      for (const GgmlBlockKernels* kernels : runnable(ggml_kernels(), detect_cpu())) {
        Unpacked unpacked(form, count);
        UnpackArgs args = unpacked.args(blocks, count);
        args.next = count == 7 ? blocks.data() : nullptr;
        kernels->unpack(form.type, args);
        const std::string what = std::string(kernels->name) + " " + std::string(form.name);
        EXPECT_EQ(unpacked.codes, expected.codes) << what << " " << count;
        for (size_t i = 0; i < expected.scales.size(); ++i) {
          if (std::isnan(expected.scales[i])) {
            EXPECT_TRUE(std::isnan(unpacked.scales[i])) << what;
            unpacked.scales[i] = expected.scales[i];
          }
          if (!expected.offsets.empty() && std::isnan(expected.offsets[i])) {
            EXPECT_TRUE(std::isnan(unpacked.offsets[i])) << what;
            unpacked.offsets[i] = expected.offsets[i];
          }
        }
        EXPECT_TRUE(same_bits(unpacked.scales, expected.scales)) << what << " " << count;
        EXPECT_TRUE(same_bits(unpacked.offsets, expected.offsets)) << what << " " << count;
      }
    }
  }
}

std::vector<std::byte> aligned_memory(int64_t bytes) {
  return std::vector<std::byte>(static_cast<size_t>(bytes) + 64);
}
void* aligned(std::vector<std::byte>& memory) {
  return memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
}

// A matrix of random blocks whose scales are finite, and one row of activations.
struct Product {
  Product(const GgmlForm& of, int64_t n, int64_t k, bool reversed)
      : form(of), w{of.type, nullptr, n, k, nullptr} {
    std::mt19937 random(static_cast<uint32_t>(n + k));
    bytes.resize(static_cast<size_t>(n * row_bytes(w)));
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(form.bytes)) {
      fill_finite(&bytes[at], random);
    }
    w.bytes = bytes.data();
    for (int64_t i = n; reversed && i-- > 0;) order.push_back(i);
    if (reversed) w.rows = order.data();
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < k; ++i) x.push_back(normal(random));
    for (int64_t i = 0; i < n; ++i) bias.push_back(normal(random));
  }

  // Bytes of all values, repeated until the scales are finite.
  void fill_finite(uint8_t* block, std::mt19937& random) const {
    Unpacked one(form, 1);
    const auto finite = [](const std::vector<float>& numbers) {
      return std::all_of(numbers.begin(), numbers.end(),
                         [](float number) { return std::isfinite(number); });
    };
    do {
      for (int64_t i = 0; i < form.bytes; ++i) block[i] = static_cast<uint8_t>(random());
      ggml_blocks_scalar.unpack(form.type, {block, 1, nullptr, one.codes.data(), one.scales.data(),
                                            form.has_offsets ? one.offsets.data() : nullptr});
    } while (!finite(one.scales) || !finite(one.offsets));
  }

  QuantizedMatrix unpack() {
    unpacked = std::make_unique<Unpacked>(form, w.n * w.k / form.columns);
    const int64_t count = w.k / form.columns, groups = w.k / form.group;
    for (int64_t i = 0; i < w.n; ++i) {
      ggml_blocks_scalar.unpack(
          form.type,
          {row_of(w, i), count, nullptr, &unpacked->codes[static_cast<size_t>(i * w.k)],
           &unpacked->scales[static_cast<size_t>(i * groups)],
           form.has_offsets ? &unpacked->offsets[static_cast<size_t>(i * groups)] : nullptr});
    }
    QuantizedMatrix matrix{};
    matrix.codes = unpacked->codes.data();
    matrix.n = w.n;
    matrix.k = w.k;
    matrix.bits = 8;
    matrix.is_signed = form.is_signed;
    matrix.block_rows = 1;
    matrix.block_columns = form.group;
    matrix.blocks_per_row = groups;
    matrix.scales = unpacked->scales.data();
    matrix.scale_type = WeightType::F32;
    matrix.offsets = unpacked->offsets.data();
    matrix.offset_type = form.has_offsets ? OffsetType::F32 : OffsetType::None;
    matrix.scaled_offsets = form.has_offsets;
    return matrix;
  }

  GgmlForm form;
  GgmlMatrix w;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> order;
  std::vector<float> x, bias;
  std::unique_ptr<Unpacked> unpacked;
};

TEST(Blocks, ProductsHaveTheBitsOfUnpackedRows) {
  for (const CpuLevel& level : cpu_levels(detect_cpu())) {
    const GgmlBlockKernels& kernels = choose_blocks(level.cpu);
    const QuantizedDotKernels& dots = choose_quantized_dot(level.cpu);
    if (kernels.dot_row == nullptr) continue;
    int known = 0;
    for (const GgmlForm& form : ggml_forms()) {
      for (const int64_t k : {32, 64, 96, 128, 192, 256, 384, 512, 768, 5888}) {
        if (k % form.columns != 0) continue;
        Product product(form, 11, k, k == 512);
        const QuantizedMatrix matrix = product.unpack();
        QuantizedRows rows = quantized_form(dots, matrix, 1);
        std::vector<std::byte> memory = aligned_memory(quantized_bytes(rows)),
                               scratch = aligned_memory(quantized_dot_scratch_bytes());
        place_quantized(rows, aligned(memory));
        dots.quantize(product.x.data(), k, 0, 1, rows);
        for (const float* bias :
             {static_cast<const float*>(nullptr), static_cast<const float*>(product.bias.data())}) {
          std::vector<float> expected(11, 7), y(11, 7);
          dots.dot({&matrix, &rows, bias, expected.data(), 11, 1, 11, aligned(scratch)});
          if (!kernels.dot_row({&product.w, &rows, bias, y.data(), 1, 11})) continue;
          ++known;
          EXPECT_TRUE(same_bits(y, expected)) << level.name << " " << form.name << " " << k;
        }
      }
    }
    EXPECT_GE(known, 40) << level.name;
  }
}

// All 256 scales of MXFP4's exponents.
TEST(Blocks, ExponentsBecomePowersOfTwo) {
  for (const GgmlBlockKernels* kernels : runnable(ggml_kernels(), detect_cpu())) {
    for (int exponent = 0; exponent < 256; ++exponent) {
      std::vector<uint8_t> block(17, 0x21);
      block[0] = static_cast<uint8_t>(exponent);
      Unpacked unpacked(ggml_form(GgmlType::Mxfp4), 1);
      kernels->unpack(GgmlType::Mxfp4, unpacked.args(block, 1));
      EXPECT_EQ(unpacked.scales[0], std::ldexp(1.0f, exponent - 128)) << kernels->name;
      EXPECT_EQ(unpacked.codes[0], 1);
      EXPECT_EQ(unpacked.codes[16], 2);
    }
  }
}

// A block written by hand from the format's definition: 6-bit scales and minima of groups, codes
// in halves of 64.
TEST(Blocks, Q4KIsReadAsItIsDefined) {
  std::vector<uint8_t> block(144, 0);
  block[1] = 0x3c;             // a scale of 1.0 in fp16
  block[3] = 0x40;             // and 2.0 for minima
  block[4] = 5 | 2 << 6;       // scale 0, high bits of scale 4
  block[8] = 7 | 1 << 6;       // minimum 0, high bits of minimum 4
  block[12] = 9 | 3 << 4;      // low halves of scale 4 and of minimum 4
  block[16] = 0xba;            // column 0: 10, column 32: 11
  block[16 + 64 + 31] = 0xdc;  // column 159: 12, column 191: 13
  for (const GgmlBlockKernels* kernels : runnable(ggml_kernels(), detect_cpu())) {
    Unpacked unpacked(ggml_form(GgmlType::Q4K), 1);
    kernels->unpack(GgmlType::Q4K, unpacked.args(block, 1));
    EXPECT_EQ(unpacked.scales[0], 5);
    EXPECT_EQ(unpacked.offsets[0], 14);
    EXPECT_EQ(unpacked.scales[4], 9 + 32);
    EXPECT_EQ(unpacked.offsets[4], 2 * (3 + 16));
    EXPECT_EQ(unpacked.codes[0], 10);
    EXPECT_EQ(unpacked.codes[32], 11);
    EXPECT_EQ(unpacked.codes[159], 12);
    EXPECT_EQ(unpacked.codes[191], 13);
    EXPECT_EQ(unpacked.codes[1], 0);
  }
}

TEST(Blocks, TheDocumentHasARowForEachType) {
  const std::string document = read_file(source_dir() / "docs/formats.md");
  for (const GgmlForm& form : ggml_forms()) {
    std::string name(form.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char letter) { return static_cast<char>(std::toupper(letter)); });
    const auto columns = static_cast<double>(form.columns), group = static_cast<double>(form.group);
    const std::string row =
        fmt::format("| {} | {} | {}int{} in blocks of {}{} | {} |\n", name,
                    static_cast<double>(form.bytes) * 8 / columns, form.is_signed ? "" : "u",
                    form.code_bits, form.group, form.has_offsets ? " with offsets" : "",
                    form.code_bits + 16 / group * (form.has_offsets ? 2 : 1));
    EXPECT_NE(document.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace pippin::kernels
