// What a worker does with the frames it receives. The recovery engine is one processor, plain forwarding another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "agent/recovery/engine_io.h"
#include "agent/recovery/policy.h"
#include "bpf/weft_abi.h"

namespace weft::dataplane {

// A frame the XDP program took, with what it said about it. The processor owns one reference to the frame.
struct Arrival {
  recovery::Port port = recovery::Port::kLan;
  recovery::FrameId frame;
  recovery::Tag tag;
  weft_reason reason = WEFT_REASON_LEARNED;  // WEFT_REASON_WEFT: a packet of the peer agent
  std::uint16_t peer = 0;                    // index of the peer on the far side
};

// Single-threaded: all calls come from the worker that owns it.
class Processor {
 public:
  virtual ~Processor() = default;

  virtual void receive(const Arrival& arrival, recovery::Time now) = 0;
  virtual void tick(recovery::Time now) = 0;
  // When tick() is next needed; nullopt: not before something arrives.
  virtual std::optional<recovery::Time> next_deadline(recovery::Time now) const = 0;
  // The worker did not run for so long that the programs passed traffic by it: drop what is held, forget what
  // was known of flows.
  virtual void reset(recovery::Time now) = 0;
  // The bridge is about to have the traffic: send on what is held, in order.
  virtual void release_all() = 0;
};

// One per worker; the FrameIo is the worker and outlives the processor.
using ProcessorFactory = std::function<std::unique_ptr<Processor>(recovery::FrameIo&)>;

// lan to wan and wan to lan, by reference.
class Forwarder final : public Processor {
 public:
  explicit Forwarder(recovery::FrameIo& io) : io_(io) {}

  void receive(const Arrival& arrival, recovery::Time /*now*/) override {
    io_.send(recovery::opposite(arrival.port), arrival.frame);
  }
  void tick(recovery::Time /*now*/) override {}
  std::optional<recovery::Time> next_deadline(recovery::Time /*now*/) const override { return std::nullopt; }
  void reset(recovery::Time /*now*/) override {}
  void release_all() override {}

 private:
  recovery::FrameIo& io_;
};

}  // namespace weft::dataplane
