// The encoder under random traffic of every kind: whatever it is fed, source packets pass untouched and in
// order, what is added stays within its buckets at every moment (P9), lists name exactly what was sent, repairs
// give it back, memory stays bounded (P7) and no frame is lost.
#include <algorithm>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/encoder_rig.h"
#include "tests/support/random_packet.h"
#include "tests/support/seed.h"
#include "tests/support/wan_reader.h"

namespace weft::recovery {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::EncoderRig;
using test::WriteFlow;

constexpr int kRuns = 24;
constexpr int kStepsPerRun = 3000;
// Shorter than an id of a closed flow rests: every id has one meaning in a run, and names can be checked afterwards.
constexpr Time kLongestRun = milliseconds(1900);
constexpr double kDepthBytes = 256 * 1024;
constexpr double kControlDepthBytes = 64 * 1024;

// Every branch of the encoder's side, none of which may go unvisited.
constexpr Event kBranches[] = {
    Event::kSourceSent,
    Event::kSourceSentBytes,
    Event::kSourceUncoded,
    Event::kEncodeSkippedTooLarge,
    Event::kEncodeSkippedFlowCap,
    Event::kEncodeSkippedOverhead,
    Event::kEncodeSkippedNoGroup,
    Event::kGroupClosedFull,
    Event::kGroupClosedMessageEnd,
    Event::kGroupClosedTimer,
    Event::kGroupClosedList,
    Event::kRepairSent,
    Event::kRepairSentBytes,
    Event::kRepairResent,
    Event::kRepairDroppedBudget,
    Event::kRepairDroppedNoFrame,
    Event::kManifestSent,
    Event::kManifestResent,
    Event::kManifestDroppedBudget,
    Event::kAnnouncementSent,
    Event::kControlSentBytes,
    Event::kControlDroppedNoFrame,
    Event::kAckCopySent,
};

class Traffic {
 public:
  Traffic(Rng& rng, EncoderRig& rig) : rng_(rng), rig_(rig) {
    const std::size_t flows = rng.between(1, 40);
    for (std::size_t i = 0; i < flows; ++i) {
      flows_.emplace_back(static_cast<std::uint32_t>(i + 1), rng.chance(0.3));
      flows_.back().pmtu_bytes = rng.chance(0.8) ? 1024 : 256;
      if (rng.chance(0.1))
        flows_.back().path.vlans = {.tags = {roce::VlanTag{.tci = 5}, roce::VlanTag{.tci = 6}},
                                    .count = static_cast<std::uint8_t>(rng.between(1, 2))};
    }
    pending_.resize(flows_.size());
    classes_.resize(flows_.size());
  }

  void step() {
    const std::size_t which = rng_.below(flows_.size());
    WriteFlow& flow = flows_[which];
    auto& pending = pending_[which];
    const double kind = rng_.uniform();
    if (kind < 0.04)
      return send(flow.acknowledge(roce::Psn(static_cast<std::uint32_t>(rng_.next())),
                                   rng_.chance(0.2) ? roce::kNakPsnSequenceError : 0x1f),
                  classes_[which]);
    if (kind < 0.08) return send(test::random_packet(rng_, 1024).frame(), random_tag());
    if (kind < 0.09) flow.psn = roce::Psn(static_cast<std::uint32_t>(rng_.next()));
    if (pending.empty()) {
      const std::uint32_t bytes =
          static_cast<std::uint32_t>(rng_.chance(0.5) ? rng_.between(1, 4000) : rng_.between(4000, 200000));
      auto frames = flow.message(bytes, rng_.chance(0.3) ? std::optional(7U) : std::nullopt);
      pending.assign(frames.rbegin(), frames.rend());
      if (rng_.chance(0.1)) pending.insert(pending.end(), frames.rbegin(), frames.rend());  // go-back-N
      if (rng_.chance(0.2)) classes_[which] = random_tag();
      flow.path.tos = static_cast<std::uint8_t>(rng_.below(256));
    }
    for (std::uint64_t burst = rng_.between(1, 20); burst > 0 && !pending.empty(); --burst) {
      send(pending.back(), classes_[which]);
      pending.pop_back();
    }
  }

  const std::vector<Bytes>& sent() const { return sent_; }

 private:
  Tag random_tag() {
    return {.class_id = static_cast<ClassId>(rng_.below(rig_.policy.classes.size())),
            .level = static_cast<std::uint8_t>(rng_.below(kLevels))};
  }
  void send(const Bytes& frame, Tag tag) {
    rig_.send(frame, tag);
    sent_.push_back(frame);
  }

  Rng& rng_;
  EncoderRig& rig_;
  std::vector<WriteFlow> flows_;
  std::vector<std::vector<Bytes>> pending_;  // last first
  std::vector<Tag> classes_;
  std::vector<Bytes> sent_;
};

PolicyTable random_policy(Rng& rng) {
  PolicyTable policy = PolicyTable::defaults();
  policy.fec.code = rng.chance(0.7) ? CodeKind::kReedSolomon : CodeKind::kXor;
  policy.min_fill_message_bytes = 8192;
  for (ClassPolicy& row : policy.classes) {
    if (rng.chance(0.6)) {
      const std::uint64_t most = rng.chance(0.3) ? 2 : 80;
      row.fixed = FixedCode{.k = static_cast<std::uint16_t>(rng.between(1, most)),
                            .r = static_cast<std::uint16_t>(rng.between(1, 9)),
                            .interleave = static_cast<std::uint16_t>(rng.between(1, std::min(most, 9UL)))};
    }
  }
  return policy;
}

void random_feedback(Rng& rng, EncoderRig& rig) {
  wire::Feedback feedback;
  feedback.period_us = static_cast<std::uint32_t>(rng.between(1000, 50000));
  for (int i = 0; i < 10; ++i)
    feedback.confirmed_flows.push_back(static_cast<wire::FlowId>(rng.below(60)));
  for (int i = 0; i < 5; ++i) {
    feedback.covered.push_back({{.class_id = static_cast<std::uint8_t>(rng.below(5)),
                                 .level = static_cast<std::uint8_t>(rng.below(kLevels))},
                                static_cast<std::uint32_t>(rng.below(20000))});
  }
  feedback.loss = {.expected_packets = rng.below(1U << 30),
                   .lost_packets = rng.below(1U << 20),
                   .loss_runs = rng.below(1U << 20),
                   .ce_marked_packets = rng.below(1U << 20),
                   .undecodable_packets = 0};
  rig.feedback(feedback, microseconds(rng.between(100, 60000)));
}

// Every ordinal a list or a manifest run names, at most once of each kind, and what it names was sent.
void check_names(const test::WanTraffic& wan, Rng& rng, std::uint64_t& decoded_blocks) {
  const test::WanReader reader(wan);
  std::map<std::tuple<std::uint8_t, std::uint8_t, std::uint32_t>, const Bytes*> by_ordinal;
  for (const auto& [name, block] : reader.blocks()) {
    const auto& [class_id, level, first_ordinal, index] = name;
    if (block.sources.empty()) continue;  // its list was shed
    ASSERT_EQ(block.sources.size(), block.shape.columns);
    bool known = true;
    for (std::size_t i = 0; i < block.sources.size(); ++i) {
      const std::uint32_t ordinal = first_ordinal + static_cast<std::uint32_t>(i) * block.interleave + index;
      const Bytes* frame = reader.frame_of(block.sources[i]);
      // Its announcement may have been shed.
      known = known && frame != nullptr;
      if (reader.flows().contains(block.sources[i].flow)) {
        ASSERT_NE(frame, nullptr);
      }
      ASSERT_TRUE(by_ordinal.emplace(std::tuple(class_id, level, ordinal), frame).second);
    }
    // A packet that was sent twice, bytes and all, stands in two columns and cannot be lost from one.
    std::set<const Bytes*> frames;
    for (const wire::Repair::Source& source : block.sources)
      frames.insert(reader.frame_of(source));
    if (!known || frames.size() < block.sources.size() || !rng.chance(0.3)) continue;
    const std::size_t wanted =
        block.shape.code == CodeKind::kXor ? 1 : std::min(block.rows.size(), block.sources.size());
    // XOR: a row may not have been sent; take a column of one that was.
    std::set<const Bytes*> lost;
    if (block.shape.code == CodeKind::kXor) {
      if (block.rows.empty()) continue;
      lost.insert(reader.frame_of(block.sources[block.rows.begin()->first]));
    }
    for (std::size_t tries = 0; lost.size() < wanted && tries < 1000; ++tries)
      lost.insert(reader.frame_of(block.sources[rng.below(block.sources.size())]));
    ASSERT_TRUE(reader.recovers(
        block, [&](const Bytes& frame) { return lost.contains(&frame); }, [](unsigned) { return false; }));
    ++decoded_blocks;
  }
  for (const wire::Manifest& manifest : wan.manifests) {
    std::uint32_t ordinal = manifest.first_ordinal;
    for (const auto& run : manifest.runs) {
      for (std::uint32_t i = 0; i < run.packets; ++i, ++ordinal) {
        const auto listed = by_ordinal.find({manifest.stream.class_id, manifest.stream.level, ordinal});
        ASSERT_EQ(listed, by_ordinal.end()) << "an ordinal is both coded and uncoded";
      }
    }
  }
}

TEST(EncoderProperty, AnyTrafficPassesAndWhatIsAddedIsBoundedAndTrue) {
  Rng rng = test::rng(1);
  std::array<std::uint64_t, kEventCount> hits{};
  std::uint64_t packets = 0;
  std::uint64_t decoded_blocks = 0;
  const auto all_hit = [&] {
    return std::ranges::all_of(kBranches,
                               [&](Event event) { return hits[static_cast<std::size_t>(event)] > 0; });
  };
  // Some branches need a rare coincidence of policy and traffic: as many runs more until it has come about.
  for (int run = 0; run < kRuns || (run < 10 * kRuns && !all_hit()); ++run) {
    SCOPED_TRACE(run);
    const double max_overhead = 0.02 + 0.4 * rng.uniform();
    EncoderRig rig(rng.next(), random_policy(rng),
                   {.max_flows = rng.chance(0.3) ? std::size_t{8} : std::size_t{65536},
                    .max_guarded_flows = 16,
                    .max_groups = rng.chance(0.3) ? std::size_t{6} : std::size_t{64}},
                   {.wan_mtu_bytes = static_cast<std::uint16_t>(rng.chance(0.3) ? 1180 : 1500),
                    .max_overhead = max_overhead});
    Traffic traffic(rng, rig);
    const Time start = rig.now();
    const bool tight = rng.chance(0.3);  // the pool runs dry now and then
    for (int step = 0; step < kStepsPerRun && rig.now() - start < kLongestRun; ++step) {
      traffic.step();
      if (rng.chance(0.02)) random_feedback(rng, rig);
      if (rng.chance(0.001)) rig.encoder.reset();
      if (tight) rig.pool.set_capacity(rng.chance(0.1) ? 0 : 65536);
      rig.advance(rng.chance(0.02) ? Time(milliseconds(rng.between(1, 40)))
                                   : Time(microseconds(rng.below(200))));
      const auto& wan = rig.wan();
      ASSERT_LE(static_cast<double>(wan.overhead_bytes),
                kDepthBytes + max_overhead * static_cast<double>(wan.source_bytes));
      const double seconds = std::chrono::duration<double>(rig.now() - start).count();
      ASSERT_LE(static_cast<double>(wan.control_bytes), kControlDepthBytes + 4000 * (seconds + 1));
      ASSERT_EQ(rig.pool.in_use(), 0U);
    }
    rig.advance(std::chrono::seconds(2));
    ASSERT_EQ(rig.wan().sources, traffic.sent());
    ASSERT_NO_FATAL_FAILURE(check_names(rig.wan(), rng, decoded_blocks));
    for (std::size_t event = 0; event < kEventCount; ++event)
      hits[event] += rig.counters.total(static_cast<Event>(event));
    packets += traffic.sent().size();
  }
  std::printf("%llu source packets, %llu blocks decoded\n", static_cast<unsigned long long>(packets),
              static_cast<unsigned long long>(decoded_blocks));
  EXPECT_GT(decoded_blocks, 100U);
  for (const Event event : kBranches) {
    const auto index = static_cast<std::size_t>(event);
    std::printf("%-28s %llu\n", kEventNames[index].data(), static_cast<unsigned long long>(hits[index]));
    EXPECT_GT(hits[index], 0U) << kEventNames[index];
  }
}

}  // namespace
}  // namespace weft::recovery
