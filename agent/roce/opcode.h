// The opcode table: what each BTH opcode carries and what it means for order and fill. Numbers and names as
// in the kernel's include/rdma/ib_pack.h, without IB_OPCODE_. An opcode that is not in the table is not ours:
// it passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::roce {

enum class Opcode : std::uint8_t {
  kRcSendFirst = 0x00,
  kRcSendMiddle = 0x01,
  kRcSendLast = 0x02,
  kRcSendLastWithImmediate = 0x03,
  kRcSendOnly = 0x04,
  kRcSendOnlyWithImmediate = 0x05,
  kRcRdmaWriteFirst = 0x06,
  kRcRdmaWriteMiddle = 0x07,
  kRcRdmaWriteLast = 0x08,
  kRcRdmaWriteLastWithImmediate = 0x09,
  kRcRdmaWriteOnly = 0x0a,
  kRcRdmaWriteOnlyWithImmediate = 0x0b,
  kRcRdmaReadRequest = 0x0c,
  kRcRdmaReadResponseFirst = 0x0d,
  kRcRdmaReadResponseMiddle = 0x0e,
  kRcRdmaReadResponseLast = 0x0f,
  kRcRdmaReadResponseOnly = 0x10,
  kRcAcknowledge = 0x11,
  kRcAtomicAcknowledge = 0x12,
  kRcCompareSwap = 0x13,
  kRcFetchAdd = 0x14,
  kRcSendLastWithInvalidate = 0x16,
  kRcSendOnlyWithInvalidate = 0x17,
  kRcFlush = 0x1c,
  kRcAtomicWrite = 0x1d,
  kUcSendFirst = 0x20,
  kUcSendMiddle = 0x21,
  kUcSendLast = 0x22,
  kUcSendLastWithImmediate = 0x23,
  kUcSendOnly = 0x24,
  kUcSendOnlyWithImmediate = 0x25,
  kUcRdmaWriteFirst = 0x26,
  kUcRdmaWriteMiddle = 0x27,
  kUcRdmaWriteLast = 0x28,
  kUcRdmaWriteLastWithImmediate = 0x29,
  kUcRdmaWriteOnly = 0x2a,
  kUcRdmaWriteOnlyWithImmediate = 0x2b,
  kUdSendOnly = 0x64,
  kUdSendOnlyWithImmediate = 0x65,
  kCnp = 0x81,
};

enum class Transport : std::uint8_t { kRc, kUc, kUd, kNone };  // kNone: CNP
enum class Operation : std::uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAcknowledge,
  kAtomicRequest,
  kAtomicAcknowledge,
  kFlush,
  kAtomicWrite,
  kCongestionNotification,
};
enum class Position : std::uint8_t { kFirst, kMiddle, kLast, kOnly };

// Extended headers, in the order they stand on the wire.
enum Extension : std::uint16_t {
  kExtDeth = 1 << 0,
  kExtFeth = 1 << 1,
  kExtReth = 1 << 2,
  kExtAtomicEth = 1 << 3,
  kExtAeth = 1 << 4,
  kExtAtomicAckEth = 1 << 5,
  kExtImm = 1 << 6,
  kExtIeth = 1 << 7,
  kExtCnpReserved = 1 << 8,  // sixteen zero bytes of a congestion notification
};

struct OpcodeInfo {
  Opcode opcode;
  std::string_view name;  // "RC_RDMA_WRITE_FIRST"
  Transport transport;
  Operation operation;
  Position position;
  std::uint16_t extensions;      // a set of Extension bits
  std::uint8_t extension_bytes;  // their total length, between BTH and payload
  bool carries_payload;          // false: the payload must be empty

  bool has(Extension extension) const { return (extensions & extension) != 0; }
  bool starts_message() const { return position == Position::kFirst || position == Position::kOnly; }
  bool ends_message() const { return position == Position::kLast || position == Position::kOnly; }
  // Responses echo the requester's PSNs and form an ordered flow of their own (RC only).
  bool is_response() const {
    return operation == Operation::kReadResponse || operation == Operation::kAcknowledge ||
           operation == Operation::kAtomicAcknowledge;
  }
  bool is_rc_write() const { return transport == Transport::kRc && operation == Operation::kWrite; }
};

// The table's row, or nullptr for an opcode that is reserved, vendor-specific or of a transport Weft does not
// handle. The pointer is to static storage.
const OpcodeInfo* find_opcode(std::uint8_t opcode);
const OpcodeInfo& opcode_info(Opcode opcode);

// Every row, by opcode.
std::span<const OpcodeInfo> opcode_table();

}  // namespace weft::roce
