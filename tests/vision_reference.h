// Parts of networks in doubles, one loop after another, from a checkpoint's tensors: a second
// implementation of towers of which no output of another library is stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "pippin/image/image_inputs.h"
#include "pippin/io/safetensors.h"

namespace pippin::vision_reference {

struct Table {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Table(int64_t r, int64_t c) : rows(r), columns(c), values(static_cast<size_t>(r * c)) {}
  double& at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
  double at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

// The tensors of a folder by name; the first axis is that of the rows.
class TableSource {
 public:
  explicit TableSource(const std::filesystem::path& folder)
      : file_(SafetensorsFile::open(folder / "model.safetensors")) {}

  bool has(const std::string& name) const { return file_->find(name) != nullptr; }
  Table get(const std::string& name) const {
    const TensorInfo* const tensor = file_->find(name);
    if (tensor == nullptr) throw std::runtime_error(name);
    const int64_t rows = tensor->shape.at(0);
    Table table(rows, tensor->num_elements() / rows);
    for (size_t i = 0; i < table.values.size(); ++i) {
      float value = 0;
      std::memcpy(&value, tensor->bytes.data() + i * sizeof(float), sizeof(float));
      table.values[i] = value;
    }
    return table;
  }

 private:
  std::shared_ptr<const SafetensorsFile> file_;
};

Table sum(Table a, const Table& b);
Table mapped(Table x, const std::function<double(double)>& function);

double exact_gelu(double x);
double tanh_gelu(double x);
double silu(double x);

// x · weightᵀ, with a bias where the checkpoint has one.
Table linear(const TableSource& tensors, const std::string& name, const Table& x);
// A layer norm, or an RMS norm without a bias.
Table normed(const TableSource& tensors, const std::string& name, const Table& x, double epsilon);
// Queries (rows, heads * size) among keys and values of as many heads or fewer.
Table attended(const Table& queries, const Table& keys, const Table& values, int64_t heads,
               int64_t size);
// The patches of an image (3, height, width), row by row, each in the order of a convolution's
// weight.
Table patches_of(const float* pixels, int64_t height, int64_t width, int64_t rows, int64_t columns,
                 int64_t side);

// Writes a checkpoint of a size at which every part makes a difference to the result.
void write_model(const std::filesystem::path& folder, const std::string& config,
                 const image::ImageInputs& inputs);
// Gives the tensors of a checkpoint numbers of such a size.
void redraw(const std::filesystem::path& folder);
// Normally distributed.
image::ImageInputs random_pixels(std::vector<int64_t> shape);

// Compares the runs of a model's tower with these, one after another: differences are at most
// `bound` of the largest number.
void expect_rows(const std::filesystem::path& folder, const image::ImageInputs& inputs,
                 const std::vector<Table>& expected, double bound = 1e-5);

}  // namespace pippin::vision_reference
