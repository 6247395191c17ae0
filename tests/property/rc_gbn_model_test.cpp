// The endpoint against an independent model of go-back-N, over the same link: a baseline that were slower would
// flatter every policy measured against it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "netem/loss.h"
#include "tests/support/gbn_model.h"
#include "tests/support/rc_messages.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kSmallBytes = 1U << 20;
constexpr std::uint32_t kLargeBytes = 4U << 20;
constexpr std::uint64_t kRateBits = 200'000'000;
constexpr double kPacketMs = 1068 * 8 / 200e3;  // a WRITE MIDDLE at PMTU 1024
constexpr double kOneWayMs = 15;
constexpr double kTimeoutMs = 134;

struct Cell {
  double loss;
  double burst;
  std::uint32_t messages;  // as many as bring the mean's standard error to about 3 %
};

class GbnModelTest : public testing::TestWithParam<Cell> {};

std::uint32_t bytes_of(std::uint64_t message) { return message % 2 == 0 ? kSmallBytes : kLargeBytes; }

// Completion times of a closed loop with one message in flight; nullopt when the endpoint gave up on a message: bursts
// are counted in packets, and a burst may outlive all retries of a message's last packet. The model knows no end of
// retries.
std::optional<std::vector<double>> endpoint_ms(const Cell& cell, std::uint64_t attempt) {
  World world({.rate_bits = kRateBits, .memory_bytes = kLargeBytes});
  netem::LossProfile profile;
  profile.model =
      cell.burst == 1 ? netem::LossProfile::Model::kIid : netem::LossProfile::Model::kGilbertElliott;
  profile.probability = cell.loss;
  profile.mean_burst_packets = cell.burst;
  netem::LossProcess losses[] = {{profile, seed() + attempt, 1}, {profile, seed() + attempt, 2}};
  world.fate = [&](const Sent& sent) {
    const bool lost = losses[static_cast<std::size_t>(sent.from)].next_is_lost(netem::Stream::kRest);
    return lost ? std::vector<Copy>{} : once(sent);
  };
  world.connect({.window_packets = 2197});  // BDP and a queue of twice that, as in the lab
  std::uint64_t posted = 0;
  const auto post = [&] {
    if (posted == cell.messages) return;
    world.a().post(world.now(), kQpnA, request(world, rc::WorkOp::kWrite, bytes_of(posted), posted));
    ++posted;
  };
  std::vector<double> times;
  bool gave_up = false;
  world.on_completion = [&](const rc::Completion& completion) {
    gave_up = gave_up || completion.status == rc::WorkStatus::kRetryExceeded;
    EXPECT_TRUE(gave_up || completion.status == rc::WorkStatus::kSuccess);
    const std::chrono::duration<double, std::milli> time = completion.completed_at - completion.posted_at;
    times.push_back(time.count());
    post();
  };
  post();
  world.run();
  return gave_up ? std::nullopt : std::optional(std::move(times));
}

std::vector<double> model_ms(const Cell& cell) {
  constexpr std::uint32_t kMessages = 4000;
  GbnModel model({kPacketMs, kOneWayMs, kTimeoutMs, cell.loss, cell.burst}, seed() + 1);
  std::vector<double> times;
  for (std::uint32_t i = 0; i < kMessages; ++i)
    times.push_back(model.message_ms(bytes_of(i) / 1024));
  return times;
}

double lossless_ms(std::uint64_t message) { return 2 * kOneWayMs + bytes_of(message) / 1024 * kPacketMs; }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

double p99_slowdown(const std::vector<double>& times) {
  std::vector<double> slowdowns;
  for (std::size_t i = 0; i < times.size(); ++i)
    slowdowns.push_back(times[i] / lossless_ms(i));
  std::sort(slowdowns.begin(), slowdowns.end());
  return slowdowns[static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(slowdowns.size()))) - 1];
}

TEST_P(GbnModelTest, MeansAgreeWithinFifteenPercent) {
  const Cell cell = GetParam();
  std::optional<std::vector<double>> kept;
  for (std::uint64_t attempt = 0; !kept && attempt < 6; ++attempt)
    kept = endpoint_ms(cell, attempt);
  ASSERT_TRUE(kept.has_value());
  const std::vector<double>& endpoint = *kept;
  const std::vector<double> model = model_ms(cell);
  ASSERT_EQ(endpoint.size(), cell.messages);
  std::printf("loss %g burst %g: mean %.0f ms, model %.0f ms; p99 slowdown %.2f, model %.2f\n", cell.loss,
              cell.burst, mean(endpoint), mean(model), p99_slowdown(endpoint), p99_slowdown(model));
  EXPECT_NEAR(mean(endpoint) / mean(model), 1, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Cells, GbnModelTest,
                         testing::Values(Cell{0, 1, 4}, Cell{1e-3, 1, 500}, Cell{1e-3, 4, 500},
                                         Cell{1e-2, 1, 150}, Cell{1e-2, 4, 250}));

}  // namespace
}  // namespace weft::test
