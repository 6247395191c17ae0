// What the encoder costs per source packet, repairs and sealing included, against a forwarder that only hands
// frames over the same interface. One line per policy; medians of five.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "agent/recovery/encoder.h"
#include "tests/support/encoder_rig.h"

namespace {

using namespace weft;
using recovery::FrameId;
using recovery::Port;
using recovery::Time;

constexpr std::size_t kFrames = 4096;  // distinct packets, 4 MiB and more: as cold as a real ring's
constexpr int kRounds = 50;
constexpr auto kPacketTime = std::chrono::microseconds(1);

// Frames by reference over fixed memory: the cheapest driver there could be.
class FlatIo final : public recovery::FrameIo {
 public:
  explicit FlatIo(std::vector<Bytes> frames) : frames_(std::move(frames)) {}
  std::optional<FrameId> allocate(std::size_t frame_bytes) override {
    scratch_bytes_ = frame_bytes;
    return FrameId{kScratch};
  }
  ByteView bytes(FrameId frame) override { return frames_[frame.value]; }
  MutableByteView writable_bytes(FrameId) override { return MutableByteView(scratch_).first(scratch_bytes_); }
  void retain(FrameId) override { ++references_; }
  void release(FrameId) override { --references_; }
  void send(Port, FrameId frame) override { sent_ += frame.value == kScratch ? 0 : 1; }
  bool scarce() const override { return false; }
  std::uint64_t sent() const { return sent_; }

 private:
  static constexpr std::uint64_t kScratch = ~std::uint64_t{0};
  std::vector<Bytes> frames_;
  std::array<std::uint8_t, 4096> scratch_{};
  std::size_t scratch_bytes_ = 0;
  std::int64_t references_ = 0;
  std::uint64_t sent_ = 0;
};

std::vector<Bytes> frames() {
  test::WriteFlow flow(17);
  return flow.message(kFrames * 1024);
}

double nanoseconds_per_packet(const recovery::PolicyTable& policy, recovery::Tag tag, bool encode) {
  test::SessionPair sessions(1, std::chrono::milliseconds(1));
  sessions.run(std::chrono::milliseconds(100));
  FlatIo io(frames());
  recovery::Counters counters;
  recovery::WeftSender sender(io, counters, sessions.session(test::Side::kA), {.max_overhead = 0.5});
  recovery::Encoder encoder(io, policy, sender, counters, recovery::EncoderLimits());
  Time now = sessions.now();
  std::array<double, 5> results{};
  for (double& result : results) {
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) {
      for (std::uint64_t i = 0; i < kFrames; ++i) {
        const FrameId frame{i};
        const auto view = roce::PacketView::parse(io.bytes(frame));
        now += kPacketTime;
        if (encode) {
          encoder.on_source(frame, *view, tag, now);
          encoder.tick(now);
        } else {
          io.send(Port::kWan, frame);
        }
      }
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    result = took.count() / (kRounds * static_cast<double>(kFrames));
  }
  std::ranges::sort(results);
  return results[results.size() / 2];
}

}  // namespace

int main() {
  struct Case {
    const char* name;
    recovery::FixedCode code;
    bool coded;
  };
  const std::array cases{Case{"uncoded, manifests", {}, false}, Case{"RS(224,1)", {224, 1, 1}, true},
                         Case{"RS(64,4) x 8", {64, 4, 8}, true}, Case{"RS(32,4)", {32, 4, 1}, true},
                         Case{"RS(32,8)", {32, 8, 1}, true}};
  recovery::PolicyTable policy = recovery::PolicyTable::defaults();
  const double bare = nanoseconds_per_packet(policy, {}, false);
  std::printf("%-20s %6.0f ns per source packet\n", "parse and send", bare);
  for (const Case& row : cases) {
    recovery::ClassPolicy& exact = policy.classes[recovery::kClassExact];
    exact.fixed = row.code;
    for (auto& level : exact.levels)
      level.target_residual = row.coded ? std::optional(1e-9) : std::nullopt;
    std::printf("%-20s %6.0f ns more\n", row.name, nanoseconds_per_packet(policy, {}, true) - bare);
  }
  return 0;
}
