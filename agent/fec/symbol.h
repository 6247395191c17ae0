// What is coded: a symbol is a packet in canonical form behind its length.
//
//    0  length of the IP packet, big-endian       2
//    2  the IP packet with the fields that routers may change set to zero (roce::set_exempt_fields)
//
// The length is inside the code, so a recovered packet's length is as trustworthy as its bytes (RFC 8627's
// length recovery), and the padding behind a short symbol is zeros on both sides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/base/bytes.h"

namespace weft::fec {

// A symbol lies in up to two pieces that follow each other; either may be empty, neither need be aligned.
using SymbolPieces = std::array<ByteView, 2>;

inline std::size_t symbol_bytes(const SymbolPieces& pieces) { return pieces[0].size() + pieces[1].size(); }

inline constexpr std::size_t kSymbolLengthBytes = 2;

// The symbol of a packet, without touching the packet: the headers are copied and made canonical, the rest is
// referred to. Valid while the packet's bytes are; cheap to make again when they are needed again.
class SourceSymbol {
 public:
  // `ip_packet` runs from the IP header to the end of the ICRC, holds at least IP + UDP + BTH, and is shorter
  // than 64 KiB.
  SourceSymbol(bool ipv6, ByteView ip_packet);

  SymbolPieces pieces() const { return {ByteView(head_).first(head_bytes_), tail_}; }
  std::size_t bytes() const { return head_bytes_ + tail_.size(); }

 private:
  // Holds the length and every header with an exempt field, and is two cache lines, so that the larger piece
  // meets the repair rows at a cache line's start.
  static constexpr std::size_t kHeadBytes = 128;

  std::array<std::uint8_t, kHeadBytes> head_;  // the first head_bytes_ are written
  std::size_t head_bytes_;
  ByteView tail_;
};

// The packet inside a symbol, which may be padded; nullopt when the length is zero or exceeds the symbol.
std::optional<ByteView> packet_in_symbol(ByteView symbol);

}  // namespace weft::fec
