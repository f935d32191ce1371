// Language models of every family on a device other than the CPU return the same numbers as the
// reference, through the usual loaders.

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/engine/device_testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/open/loaded_model.h"
#include "tests/sequence_rows.h"
#include "tests/tiny_model.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using engine::ReferenceDevice;
using runtime::LoadOptions;
using Ids = std::vector<int32_t>;

LoadOptions on(std::shared_ptr<ReferenceDevice> device) {
  LoadOptions options;
  options.threads = 1;
  options.compute.device = std::move(device);
  return options;
}

LoadOptions on_cpu() {
  LoadOptions options;
  options.threads = 1;
  options.compute.precision = engine::Precision::Reference;
  return options;
}

void expect_same(runtime::Model& there, runtime::Model& here, const ReferenceDevice& device) {
  EXPECT_GT(device.plans(), 0);
  EXPECT_EQ(there.vocab_size(), here.vocab_size());
  const auto have = rows_of(there), want = rows_of(here);
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(have[i], want[i]) << "row " << i;
  EXPECT_GT(device.runs(), 10);
}

TEST(Devices, Stateful) {
  const auto device = std::make_shared<ReferenceDevice>();
  const models::BuildOptions size{.context = 16};
  const auto there = runtime::make_runnable(models::build(demo_model_folder(), size), on(device));
  const auto here = runtime::make_runnable(models::build(demo_model_folder(), size), on_cpu());
  expect_same(*there.model, *here.model, *device);
  EXPECT_GE(device->states(), 2);
}

void expect_same_packages(const fs::path& folder, int64_t states) {
  for (const bool low_memory : {false, true}) {
    const auto device = std::make_shared<ReferenceDevice>();
    LoadOptions options = on(device);
    options.low_memory = low_memory;
    const auto there = runtime::make_runnable(runtime::find_packages(folder), options);
    const auto here = runtime::make_runnable(runtime::find_packages(folder), on_cpu());
    expect_same(*there.model, *here.model, *device);
    EXPECT_GE(device->states(), states);
  }
}

TEST(Devices, Anemll) {
  const TempDir folder;
  testing_models::write_anemll(folder.path());
  expect_same_packages(folder.path(), 2);
}

TEST(Devices, Windowed) {
  const TempDir folder;
  models::WindowedOptions form;
  form.window = 4;
  form.cache = 12;
  for (const auto& part : models::Windowed(demo_model_folder(), form).parts()) {
    mil::write_package(part.model, folder / (part.stem + ".mlpackage"));
  }
  expect_same_packages(folder.path(), 0);
}

// Copies rows of states only if their bytes are needed, not for their sizes.
void expect_few_copies(runtime::Model& model, const ReferenceDevice& device) {
  const auto& copies = device.copies();
  const auto sequence = model.new_sequence(), other = model.new_sequence();
  const Ids prompt = {3, 17, 5};
  sequence->prefill(prompt);
  const uint64_t to_host = copies.to_host, to_device = copies.to_device;
  EXPECT_GT(sequence->cached_bytes(), 0U);
  const runtime::RowLayout layout = sequence->row_layout();
  EXPECT_GT(layout.parts.size(), 0U);
  sequence->decode(4);
  EXPECT_EQ(copies.to_host, to_host);
  EXPECT_EQ(copies.to_device, to_device);

  std::vector<std::byte> rows(3 * layout.row_bytes());
  sequence->copy_rows(0, 3, rows);
  EXPECT_EQ(copies.to_host, to_host + rows.size());
  const auto row = sequence->decode(9);
  const std::vector<float> want(row.begin(), row.end());
  EXPECT_EQ(copies.to_device, to_device);

  const runtime::RowPiece piece{rows, 3, 0, 3};
  other->append_rows(prompt, {&piece, 1});
  other->decode(4);
  EXPECT_EQ(copies.to_device, to_device + rows.size());
  const auto have = other->decode(9);
  EXPECT_TRUE(std::equal(have.begin(), have.end(), want.begin(), want.end()));

  // Saving a sequence reads the rows that are filled; restoring writes another one's.
  const TempDir folder;
  sequence->save(folder / "saved");
  EXPECT_EQ(copies.to_host, to_host + rows.size() + 5 * layout.row_bytes());
  sequence->decode(1);
  EXPECT_EQ(copies.to_device, to_device + rows.size());
  other->restore(folder / "saved");
  other->decode(1);
  EXPECT_EQ(copies.to_device, to_device + rows.size() + 5 * layout.row_bytes());
}

TEST(Devices, StatesAreCopiedForTheirBytesAlone) {
  const auto device = std::make_shared<ReferenceDevice>();
  const auto stateful =
      runtime::make_runnable(models::build(demo_model_folder(), {.context = 16}), on(device));
  expect_few_copies(*stateful.model, *device);
  const TempDir folder;
  testing_models::write_anemll(folder.path());
  const auto anemll = runtime::make_runnable(runtime::find_packages(folder.path()), on(device));
  expect_few_copies(*anemll.model, *device);
}

// A prediction of a whole model, including states and the text of describe().
TEST(Devices, Predictions) {
  const TempDir folder;
  testing_models::PackageMaker maker;
  testing_models::add_step(maker, "main", {.takes_ids = true, .gives_logits = true});
  maker.write(folder / "m.mlpackage");
  const auto device = std::make_shared<ReferenceDevice>();
  pippin::LoadOptions there_options, here_options;
  there_options.device = device;
  there_options.trace = true;
  here_options.precision = Precision::Reference;
  const Model there = Model::load(folder / "m.mlpackage", there_options);
  const Model here = Model::load(folder / "m.mlpackage", here_options);
  const Function there_function = there.function(), here_function = here.function();
  State there_state = there_function.make_state(), here_state = here_function.make_state();
  for (int step = 0; step < 3; ++step) {
    Values inputs;
    for (const FeatureInfo& input : here_function.inputs()) {
      std::vector<double> values;
      const Tensor zeros(input.type, input.shape);
      for (size_t i = 0; i < zeros.to_doubles().size(); ++i) {
        values.push_back(static_cast<double>((i + static_cast<size_t>(step)) % 3));
      }
      inputs.emplace(input.name, Tensor::from(values, input.shape).to(input.type));
    }
    const Values have = there_function.predict(inputs, there_state);
    const Values want = here_function.predict(inputs, here_state);
    ASSERT_EQ(have.size(), want.size());
    for (const auto& [name, value] : want) {
      EXPECT_EQ(tensor_at(have, name).to_doubles(), tensor_at(want, name).to_doubles()) << name;
    }
    for (const FeatureInfo& feature : here_state.features()) {
      const Tensor value = here_state.get(feature.name);
      EXPECT_EQ(there_state.get(feature.name).to_doubles(), value.to_doubles());
      if (step == 1) there_state.set(feature.name, value);  // copied to the device
    }
  }
  EXPECT_EQ(device->runs(), 3);
  EXPECT_EQ(there_function.describe(), "main on the reference device\n");
  // A state belongs to the device of its model.
  try {
    Values inputs;
    for (const FeatureInfo& input : here_function.inputs()) {
      inputs.emplace(input.name, Tensor(input.type, input.shape));
    }
    there_function.predict(inputs, here_state);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(error.what(),
                 "a state of the device 'cpu' cannot be used on the device 'reference device'");
  }
}

// The caller gets the error, and no computation continues with missing numbers.
TEST(Devices, AModelStopsWhereItsDeviceFails) {
  const auto device = std::make_shared<ReferenceDevice>(/*failing_run=*/3);
  const auto model =
      runtime::make_runnable(models::build(demo_model_folder(), {.context = 16}), on(device));
  const auto sequence = model.model->new_sequence();
  sequence->decode(1);
  sequence->decode(2);
  for (int i = 0; i < 2; ++i) {
    try {
      sequence->decode(3);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      EXPECT_STREQ(error.what(), "the reference device failed in run 3");
    }
    EXPECT_EQ(sequence->position(), 2);
  }
}

}  // namespace
}  // namespace pippin
