// The bodies of Weft packets as values, and their bytes: docs/protocol.md has the layout field by field.
//
// Encoding is for values within the limits given here, into room of at least body_bytes(). Decoding is
// strict: every length and count is checked against the bytes that are there; reserved bits, trailing bytes
// and values without a meaning are refused with the reason; nothing is allocated beyond what the bytes hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/base/bytes.h"
#include "agent/base/result.h"
#include "agent/fec/code.h"
#include "agent/roce/flow_key.h"
#include "agent/roce/headers.h"
#include "agent/roce/psn.h"

namespace weft::wire {

using BootId = std::array<std::uint8_t, 16>;

// A flow's short name, given by the sending agent, unique within its boot id while announced.
using FlowId = std::uint16_t;

inline constexpr std::size_t kMaxClasses = 16;  // four bits
inline constexpr std::size_t kLevels = 8;       // three bits
inline constexpr std::size_t kMaxPaths = 8;     // VLAN stacks of a peer that have streams of their own

// A stream is what one class and level of a peer, lane and VLAN stack sends, in order; its packets are counted by
// ordinals (modulo 2^32), so that a receiver can tell losses and their runs apart whatever the flows' PSNs
// do.
struct StreamId {
  std::uint8_t class_id = 0;  // below kMaxClasses
  std::uint8_t level = 0;     // below kLevels
  // Which VLAN stack, by this side's numbers. Not written: the frame tells, and a decoder leaves it 0.
  std::uint8_t path = 0;  // below kMaxPaths
  friend bool operator==(const StreamId&, const StreamId&) = default;
};

// Loss seen by the receiver of a direction, before recovery; cumulative since the session began (modulo
// 2^64), so a lost feedback loses nothing.
struct LossCounts {
  std::uint64_t expected_packets = 0;
  std::uint64_t lost_packets = 0;
  std::uint64_t loss_runs = 0;  // maximal runs of consecutive ordinals lost: lost/runs is the mean burst
  std::uint64_t ce_marked_packets = 0;
  std::uint64_t undecodable_packets = 0;  // lost and not recovered by FEC
  friend bool operator==(const LossCounts&, const LossCounts&) = default;
};

// How far the sender of a hello has come with the agent whose boot id it echoes.
enum class HelloState : std::uint8_t {
  kSeeking = 0,   // has not seen its own boot id echoed by it
  kEchoSeen = 1,  // has: the data keys of the two boot ids are in force on this side
  kComplete = 2,  // and knows that the other side has, too; nothing need be answered
};

// Sealed with the hello key. Sent when a peer is first needed, and until both sides have seen their own id
// echoed.
struct Hello {
  BootId boot_id{};
  BootId echoed_boot_id{};              // the peer's, all zero while unknown
  std::uint64_t sent_at_ns = 0;         // sender's clock, never 0
  std::uint64_t echoed_sent_at_ns = 0;  // the newest sent_at_ns received from the echoed boot id, 0 when none
  std::uint64_t echo_delay_ns = 0;      // how long ago it came: RTT = now - echoed - delay
  std::uint64_t classes_digest = 0;     // class_names_digest(): class ids mean the same on both sides
  std::uint32_t capabilities = 0;       // kCapability... bits
  std::uint16_t mtu_bytes = 0;          // largest IP packet the sender's WAN port takes
  HelloState state = HelloState::kSeeking;
  friend bool operator==(const Hello&, const Hello&) = default;
};

inline constexpr std::uint32_t kCapabilityReedSolomon = 1U << 0;
inline constexpr std::uint32_t kCapabilityXor = 1U << 1;

inline constexpr std::size_t kMaxConfirmedFlows = 256;
inline constexpr std::size_t kMaxCovered = kMaxClasses * kLevels;

struct Feedback {
  std::uint32_t sequence = 0;           // of this sender's feedback, rising
  std::uint32_t period_us = 0;          // when the next one is due at the latest; the peer's idea of silence
  std::uint64_t sent_at_ns = 0;         // sender's clock, never 0
  std::uint64_t echoed_sent_at_ns = 0;  // the newest sent_at_ns received from the peer, 0 when none
  std::uint64_t echo_delay_ns = 0;      // how long ago it came: RTT = now - echoed - delay
  LossCounts loss;
  std::vector<FlowId> confirmed_flows;  // announcements learned since the last feedback, and the one before
  // Per stream, the newest ordinal (exclusive) up to which the receiver knows what was sent: a tail is
  // covered when the end of it is.
  struct Covered {
    StreamId stream;
    std::uint32_t ordinal = 0;
    friend bool operator==(const Covered&, const Covered&) = default;
  };
  std::vector<Covered> covered;
  friend bool operator==(const Feedback&, const Feedback&) = default;
};

inline constexpr std::size_t kMaxAnnouncedFlows = 255;

// Flow ids for flow keys. VLAN ids in the key are not sent: the receiver takes its own from the frame.
struct Announcement {
  struct Flow {
    FlowId id = 0;
    std::uint8_t epoch = 0;
    StreamId stream;
    roce::FlowKey key;
    friend bool operator==(const Flow&, const Flow&) = default;
  };
  std::vector<Flow> flows;
  friend bool operator==(const Announcement&, const Announcement&) = default;
};

// What only the last packet of a message says.
struct MessageEnd {
  bool solicited_event = false;
  std::optional<std::uint32_t> imm;
  friend bool operator==(const MessageEnd&, const MessageEnd&) = default;
};

// Everything needed to write any header of an RDMA WRITE message again.
struct MessageDescriptor {
  FlowId flow = 0;
  roce::Psn first_psn;
  std::uint16_t pmtu_bytes = 0;
  roce::Reth reth;
  std::uint16_t pkey = 0xffff;
  bool mig_req = false;
  std::optional<MessageEnd> end;  // known once the encoder has seen the last packet
  friend bool operator==(const MessageDescriptor&, const MessageDescriptor&) = default;
};

inline constexpr std::size_t kMaxManifestRuns = 255;
inline constexpr std::size_t kMaxManifestDescriptors = 255;

// What was sent, for packets no repair lists, and descriptors of the messages they belong to.
struct Manifest {
  StreamId stream;
  // Of the first packet of the first run; runs follow each other in sending order.
  std::uint32_t first_ordinal = 0;
  struct Run {
    FlowId flow = 0;
    roce::Psn first_psn;
    std::uint16_t packets = 0;  // at least 1
    friend bool operator==(const Run&, const Run&) = default;
  };
  std::vector<Run> runs;
  std::vector<MessageDescriptor> descriptors;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Length + largest IP packet the format carries: PMTU 4096 with headers has room, jumbo frames of 9000 too.
inline constexpr std::size_t kMaxSymbolBytes = 9216;
using fec::CodeKind;

// One repair symbol. A group is `interleave` blocks filled round-robin, so symbol i of block j of the group
// has ordinal first_ordinal + i * interleave + j. Groups close as a whole.
struct Repair {
  StreamId stream;
  std::uint32_t first_ordinal = 0;  // of the group
  std::uint8_t interleave = 1;      // at least 1
  std::uint8_t block = 0;           // j, below interleave
  CodeKind code = CodeKind::kReedSolomon;
  std::uint8_t k = 0;              // source symbols in this block, 1 to fec::kMaxColumns
  std::uint8_t r = 0;              // repair symbols sent for it, 1 to fec::kMaxRows
  std::uint8_t index = 0;          // of this one, below r
  bool ce_seen = false;            // a source packet of the block came to the encoder with CE
  std::uint16_t symbol_bytes = 0;  // length of every repair symbol of this block, 1 to kMaxSymbolBytes

  // The name of each source symbol, in order: see repair_list.h.
  struct Source {
    FlowId flow = 0;
    roce::Psn psn;
    std::uint16_t fingerprint = 0;  // first two ICRC bytes
    friend bool operator==(const Source&, const Source&) = default;
  };
  std::vector<Source> sources;  // k of them, or empty in the packet that carries only the symbol
  ByteView symbol;              // into the packet; empty in the packet that carries only the list
};

// An ACK's IP packet is 48 bytes over IPv4; an ATOMIC ACK over IPv6 is 76.
inline constexpr std::size_t kMinAckCopyBytes = 48;
inline constexpr std::size_t kMaxAckCopyBytes = 128;

// The newest ACK or NAK of a flow again, whole: its IP packet with the ICRC names flow, PSN and copy.
struct AckCopy {
  ByteView ip_packet;
};

// Bytes of a body. `encode` writes exactly that many into `out` and returns the number.
std::size_t body_bytes(const Hello& hello);
std::size_t body_bytes(const Feedback& feedback);
std::size_t body_bytes(const Announcement& announcement);
std::size_t body_bytes(const Manifest& manifest);
std::size_t body_bytes(const AckCopy& copy);
std::size_t encode(const Hello& hello, MutableByteView out);
std::size_t encode(const Feedback& feedback, MutableByteView out);
std::size_t encode(const Announcement& announcement, MutableByteView out);
std::size_t encode(const Manifest& manifest, MutableByteView out);
std::size_t encode(const AckCopy& copy, MutableByteView out);

Result<Hello> decode_hello(ByteView body);
Result<Feedback> decode_feedback(ByteView body);
Result<Announcement> decode_announcement(ByteView body);
Result<Manifest> decode_manifest(ByteView body);
Result<Repair> decode_repair(ByteView body);  // encoding: repair_list.h
Result<AckCopy> decode_ack_copy(ByteView body);

// What Hello::classes_digest says of a class table: equal exactly when the names, in order, are.
std::uint64_t class_names_digest(const std::vector<std::string_view>& names_by_id);

}  // namespace weft::wire
