// Constant data on the fake driver: sent in parts, once, and released with the last owner.
#include "pippin/cuda/run/weights.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "pippin/cuda/fake/fake_driver.h"

namespace pippin::cuda {
namespace {

class CudaWeights : public testing::Test {
 protected:
  CudaWeights() { gpu_->enter(); }

  std::vector<std::byte> on_device(const UploadedBytes& uploaded) {
    std::vector<std::byte> bytes(uploaded->size);
    Timeline timeline(gpu_);
    const Timeline::Piece piece{bytes.data(), address_of(uploaded->data), bytes.size()};
    timeline.download({&piece, 1});
    return bytes;
  }

  FakeDriver fake_;
  const GpuPointer gpu_ = std::make_shared<const Gpu>(fake_.driver(), 0);
};

TEST_F(CudaWeights, AreSentInParts) {
  DeviceWeights weights(gpu_, /*part=*/100);
  std::vector<std::byte> host(1234);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::byte>(i * 7);
  for (const uint64_t grain : {1, 12, 99, 500, 5000}) {
    std::vector<uint64_t> ends;
    const auto uploaded = weights.upload(host.data(), std::to_string(grain), host.size(), grain,
                                         [&](std::byte* to, uint64_t begin, uint64_t end) {
                                           EXPECT_EQ(begin, ends.empty() ? 0 : ends.back());
                                           EXPECT_TRUE(end % grain == 0 || end == host.size());
                                           std::memcpy(to, host.data() + begin, end - begin);
                                           ends.push_back(end);
                                         });
    EXPECT_EQ(ends.back(), host.size());
    EXPECT_LE(ends.front(), std::max<uint64_t>(grain, 100));
    weights.finish();
    EXPECT_EQ(on_device(uploaded), host) << grain;
  }
  EXPECT_EQ(weights.bytes(), 0U);
  EXPECT_EQ(fake_.memory_bytes(), 0U);
}

TEST_F(CudaWeights, AreSharedWhileSomeoneHoldsThem) {
  DeviceWeights weights(gpu_);
  const std::vector<std::byte> host(300, std::byte{5});
  auto first = weights.upload(host.data(), host.size());
  EXPECT_EQ(weights.upload(host.data(), host.size()), first);
  auto part = weights.upload(host.data(), 200);
  EXPECT_NE(part, first);
  EXPECT_EQ(weights.bytes(), 500U);
  MeasuredWeights measured(weights);
  measured.upload(host.data(), host.size());
  EXPECT_EQ(measured.bytes(), 0U);
  first = nullptr;
  EXPECT_EQ(weights.bytes(), 200U);
  measured.upload(host.data(), host.size());
  measured.upload(host.data(), host.size());
  EXPECT_EQ(measured.bytes(), 300U);
}

}  // namespace
}  // namespace pippin::cuda
