// How strong a code must be: the least overhead that brings a class's loss down to its target, within the time
// its packets may be held. One function for the running agent and for `weftctl explain`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/fec/code.h"
#include "agent/fec/loss_model.h"
#include "agent/fec/residual.h"

namespace weft::fec {

// Bytes at IP level. A repair packet carries its block's list as long as that fits the path; else lists travel in
// packets of their own, with the first few rows.
struct PacketSizes {
  std::size_t source_bytes = 0;       // a full source packet
  std::size_t repair_bytes = 0;       // a packet with a symbol of such a source, without its list
  std::size_t list_bytes = 0;         // of a list, for every source symbol it names
  std::size_t list_packet_bytes = 0;  // a packet with nothing but a list, without the list
  unsigned list_packets = 1;          // most of those that a block sends
  std::size_t mtu_bytes = 0;
  friend bool operator==(const PacketSizes&, const PacketSizes&) = default;
};

// Bytes of all repairs of a full block, and the same over its source bytes.
std::size_t repair_bytes_of_block(const PacketSizes& sizes, unsigned columns, unsigned rows);
double overhead(const PacketSizes& sizes, unsigned columns, unsigned rows);

struct StrengthQuery {
  CodeKind code = CodeKind::kReedSolomon;
  double target_residual = 1e-9;
  LossModel loss;
  double packets_per_second = 0;  // of the class, at present
  // How long a packet may be held for a gap before it: see hold bounds in agent/recovery. The block is fitted
  // to a part of it, the rest is for reordering and for work.
  std::chrono::nanoseconds hold_bound{};
  double max_overhead = 0.25;
  // What all blocks of a group may send together: more than the token bucket holds would never be sent.
  std::size_t max_group_repair_bytes = SIZE_MAX;
  unsigned max_columns = kMaxColumns;
  unsigned max_interleave = 1;
  PacketSizes sizes;
  friend bool operator==(const StrengthQuery&, const StrengthQuery&) = default;
};

struct Strength {
  unsigned columns = 0;  // k
  unsigned rows = 0;     // r; 0: not coded
  unsigned interleave = 1;
  double overhead = 0;
  double residual = 0;
  // From the first packet of a group to its last repair, at the rate asked for.
  std::chrono::nanoseconds added_delay{};
  bool meets_target = false;
  bool fits_hold_bound = false;
  friend bool operator==(const Strength&, const Strength&) = default;
};

class StrengthChooser {
 public:
  // Deterministic, and within a millisecond; memory is reused from call to call.
  //
  // Among the shapes that meet the target within max_overhead and the hold bound, one of least overhead; where
  // several are within a twentieth of it, the one that holds packets for the shortest time. Where none meets
  // the target, the least residual that max_overhead buys. Where the class is so slow that not even one repair
  // fits, the shortest block that max_overhead allows.
  Strength choose(const StrengthQuery& query);

 private:
  struct Search;
  ResidualTable table_;
  std::vector<Strength> candidates_;
};

// What a given shape does, for classes whose code is fixed.
Strength assess(const StrengthQuery& query, unsigned columns, unsigned rows, unsigned interleave);

}  // namespace weft::fec
