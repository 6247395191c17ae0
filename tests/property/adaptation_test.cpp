// Strength follows a path that changes under running traffic, told to nobody: in virtual time, by what goes into the WAN.
#include "agent/recovery/adaptation.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "netem/packet_kind.h"
#include "tests/property/sites_config.h"
#include "tests/support/seed.h"

namespace weft::test {
namespace {

using netem::PacketKind;
using recovery::Time;
using sim::Side;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Repair packets per source packet towards host B, by time.
class StrengthOverTime {
 public:
  static constexpr Time kBin = milliseconds(100);

  // Of frames that enter the WAN.
  void count(ByteView frame, Time now) {
    const PacketKind kind = classifier_.classify(frame, netem::IpFrame::locate(frame)).kind;
    bins_.resize(std::max<std::size_t>(bins_.size(), static_cast<std::size_t>(now / kBin) + 1));
    if (kind == PacketKind::kSource || kind == PacketKind::kRetransmit) ++bins_.back().source;
    if (kind == PacketKind::kRepair) ++bins_.back().repair;
  }

  double between(Time from, Time until) const {
    double source = 0;
    double repair = 0;
    for (auto bin = static_cast<std::size_t>(from / kBin); bin < static_cast<std::size_t>(until / kBin);
         ++bin) {
      if (bin >= bins_.size()) break;
      source += bins_[bin].source;
      repair += bins_[bin].repair;
    }
    return source == 0 ? 0 : repair / source;
  }

 private:
  struct Bin {
    double source = 0;
    double repair = 0;
  };

  netem::Classifier classifier_{wire::kDefaultUdpPort};
  std::vector<Bin> bins_;
};

constexpr Wan kPath{.loss = 0, .burst = 1, .rtt = milliseconds(30), .rate_bits = 100'000'000};
// Under two bandwidth-delay products, as the lab gives one queue pair.
constexpr std::uint32_t kWindowPackets = 700;
constexpr std::uint32_t kMessageBytes = 4U << 20;

// Over how long a strength is looked at.
constexpr Time kWindow = milliseconds(300);

struct LossFrom {
  Time from;
  double loss;
};

StrengthOverTime transfer_over(const std::vector<LossFrom>& steps, Time duration) {
  const auto policy = recovery::PolicyTable::defaults();
  sim::SitesConfig config = sites_config(kPath, &policy, seed());
  for (netem::LinkSchedule& schedule : config.wan.schedules) {
    const netem::LinkProfile clean = schedule.front().link;
    schedule.clear();
    for (const LossFrom& step : steps) {
      schedule.push_back({.from = step.from, .link = clean});
      schedule.back().link.loss.probability = step.loss;
    }
  }
  const double bytes =
      std::chrono::duration<double>(duration).count() * static_cast<double>(kPath.rate_bits) / 8;
  const std::vector<sim::MessageSpec> messages(1 + static_cast<std::size_t>(bytes / kMessageBytes),
                                               {.bytes = kMessageBytes, .dscp = kDscpExact});
  sim::TwoSites sites(config);
  StrengthOverTime strength;
  sites.tap = [&](sim::Place place, Side side, sim::TwoSites::Tapped& tapped) {
    if (place == sim::Place::kIntoWan && side == Side::kA) strength.count(tapped.frame, sites.now());
    return true;
  };
  sim::Transfer transfer(sites, {.messages = messages, .window_packets = kWindowPackets, .seed = seed()});
  transfer.run(duration);
  for (const auto& outcome : transfer.outcomes())
    EXPECT_EQ(outcome.corrupt_bytes, 0U);
  return strength;
}

// Repairs per source packet that the policy asks for at this loss, once it is known exactly.
double wanted_strength(double loss) {
  recovery::StrengthController controller;
  const recovery::PathState path{.loss = {loss, 1},
                                 .measured_loss = loss,
                                 .rtt = kPath.rtt,
                                 .endpoint_timeout = milliseconds(134),
                                 .wan_mtu_bytes = 1500};
  constexpr std::size_t kPacketBytes = 1068;
  const auto* strength =
      controller.choose(recovery::PolicyTable::defaults().level({}), {}, path,
                        {.packets_per_second = static_cast<double>(kPath.rate_bits) / 8 / kPacketBytes,
                         .packet_bytes = kPacketBytes});
  return static_cast<double>(strength->rows) / strength->columns;
}

TEST(Adaptation, StrengthFollowsAStepWithinTwoSecondsAndComesBackDown) {
  constexpr Time kWorse = seconds(6);
  constexpr Time kClean = seconds(12);
  constexpr Time kEnd = seconds(16);
  const auto strength = transfer_over({{Time{0}, 1e-4}, {kWorse, 1e-2}, {kClean, 0}}, kEnd);
  const double wanted = wanted_strength(1e-2);
  const double before = strength.between(kWorse - seconds(2), kWorse);
  Time followed = kWorse;
  while (followed < kClean && strength.between(followed, followed + kWindow) < wanted)
    followed += StrengthOverTime::kBin;
  followed += kWindow;
  const double worse = strength.between(kWorse + seconds(2), kClean);
  const double after = strength.between(kEnd - seconds(2), kEnd);
  std::printf(
      "repairs per source packet at 1e-4 %.1f %%, at 1e-2 %.1f %% (wanted %.1f %%) after %.1f s, clean %.1f "
      "%%\n",
      100 * before, 100 * worse, 100 * wanted, std::chrono::duration<double>(followed - kWorse).count(),
      100 * after);
  EXPECT_LE(followed, kWorse + seconds(2));
  EXPECT_GE(worse, wanted);
  EXPECT_LT(before, 0.8 * worse);
  EXPECT_LT(after, 0.5 * worse);
}

}  // namespace
}  // namespace weft::test
