#include "agent/roce/opcode.h"

#include <array>

#include "agent/roce/headers.h"

namespace weft::roce {
namespace {

constexpr std::uint8_t bytes_of(std::uint16_t extensions) {
  std::size_t total = 0;
  for (const auto& [bit, bytes] : kExtensionOrder) {
    if ((extensions & bit) != 0) total += bytes;
  }
  return static_cast<std::uint8_t>(total);
}

constexpr OpcodeInfo row(Opcode opcode, std::string_view name, Transport transport, Operation operation,
                         Position position, unsigned extensions, bool payload) {
  const auto set = static_cast<std::uint16_t>(extensions);
  return {opcode, name, transport, operation, position, set, bytes_of(set), payload};
}

using enum Opcode;
using enum Transport;
using enum Operation;
using enum Position;

constexpr std::array kTable{
    row(kRcSendFirst, "RC_SEND_FIRST", kRc, kSend, kFirst, 0, true),
    row(kRcSendMiddle, "RC_SEND_MIDDLE", kRc, kSend, kMiddle, 0, true),
    row(kRcSendLast, "RC_SEND_LAST", kRc, kSend, kLast, 0, true),
    row(kRcSendLastWithImmediate, "RC_SEND_LAST_WITH_IMMEDIATE", kRc, kSend, kLast, kExtImm, true),
    row(kRcSendOnly, "RC_SEND_ONLY", kRc, kSend, kOnly, 0, true),
    row(kRcSendOnlyWithImmediate, "RC_SEND_ONLY_WITH_IMMEDIATE", kRc, kSend, kOnly, kExtImm, true),
    row(kRcRdmaWriteFirst, "RC_RDMA_WRITE_FIRST", kRc, kWrite, kFirst, kExtReth, true),
    row(kRcRdmaWriteMiddle, "RC_RDMA_WRITE_MIDDLE", kRc, kWrite, kMiddle, 0, true),
    row(kRcRdmaWriteLast, "RC_RDMA_WRITE_LAST", kRc, kWrite, kLast, 0, true),
    row(kRcRdmaWriteLastWithImmediate, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", kRc, kWrite, kLast, kExtImm,
        true),
    row(kRcRdmaWriteOnly, "RC_RDMA_WRITE_ONLY", kRc, kWrite, kOnly, kExtReth, true),
    row(kRcRdmaWriteOnlyWithImmediate, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kRc, kWrite, kOnly,
        kExtReth | kExtImm, true),
    row(kRcRdmaReadRequest, "RC_RDMA_READ_REQUEST", kRc, kReadRequest, kOnly, kExtReth, false),
    row(kRcRdmaReadResponseFirst, "RC_RDMA_READ_RESPONSE_FIRST", kRc, kReadResponse, kFirst, kExtAeth, true),
    row(kRcRdmaReadResponseMiddle, "RC_RDMA_READ_RESPONSE_MIDDLE", kRc, kReadResponse, kMiddle, 0, true),
    row(kRcRdmaReadResponseLast, "RC_RDMA_READ_RESPONSE_LAST", kRc, kReadResponse, kLast, kExtAeth, true),
    row(kRcRdmaReadResponseOnly, "RC_RDMA_READ_RESPONSE_ONLY", kRc, kReadResponse, kOnly, kExtAeth, true),
    row(kRcAcknowledge, "RC_ACKNOWLEDGE", kRc, kAcknowledge, kOnly, kExtAeth, false),
    row(kRcAtomicAcknowledge, "RC_ATOMIC_ACKNOWLEDGE", kRc, kAtomicAcknowledge, kOnly,
        kExtAeth | kExtAtomicAckEth, false),
    row(kRcCompareSwap, "RC_COMPARE_SWAP", kRc, kAtomicRequest, kOnly, kExtAtomicEth, false),
    row(kRcFetchAdd, "RC_FETCH_ADD", kRc, kAtomicRequest, kOnly, kExtAtomicEth, false),
    row(kRcSendLastWithInvalidate, "RC_SEND_LAST_WITH_INVALIDATE", kRc, kSend, kLast, kExtIeth, true),
    row(kRcSendOnlyWithInvalidate, "RC_SEND_ONLY_WITH_INVALIDATE", kRc, kSend, kOnly, kExtIeth, true),
    row(kRcFlush, "RC_FLUSH", kRc, kFlush, kOnly, kExtFeth | kExtReth, false),
    row(kRcAtomicWrite, "RC_ATOMIC_WRITE", kRc, kAtomicWrite, kOnly, kExtReth, true),
    row(kUcSendFirst, "UC_SEND_FIRST", kUc, kSend, kFirst, 0, true),
    row(kUcSendMiddle, "UC_SEND_MIDDLE", kUc, kSend, kMiddle, 0, true),
    row(kUcSendLast, "UC_SEND_LAST", kUc, kSend, kLast, 0, true),
    row(kUcSendLastWithImmediate, "UC_SEND_LAST_WITH_IMMEDIATE", kUc, kSend, kLast, kExtImm, true),
    row(kUcSendOnly, "UC_SEND_ONLY", kUc, kSend, kOnly, 0, true),
    row(kUcSendOnlyWithImmediate, "UC_SEND_ONLY_WITH_IMMEDIATE", kUc, kSend, kOnly, kExtImm, true),
    row(kUcRdmaWriteFirst, "UC_RDMA_WRITE_FIRST", kUc, kWrite, kFirst, kExtReth, true),
    row(kUcRdmaWriteMiddle, "UC_RDMA_WRITE_MIDDLE", kUc, kWrite, kMiddle, 0, true),
    row(kUcRdmaWriteLast, "UC_RDMA_WRITE_LAST", kUc, kWrite, kLast, 0, true),
    row(kUcRdmaWriteLastWithImmediate, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", kUc, kWrite, kLast, kExtImm,
        true),
    row(kUcRdmaWriteOnly, "UC_RDMA_WRITE_ONLY", kUc, kWrite, kOnly, kExtReth, true),
    row(kUcRdmaWriteOnlyWithImmediate, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kUc, kWrite, kOnly,
        kExtReth | kExtImm, true),
    row(kUdSendOnly, "UD_SEND_ONLY", kUd, kSend, kOnly, kExtDeth, true),
    row(kUdSendOnlyWithImmediate, "UD_SEND_ONLY_WITH_IMMEDIATE", kUd, kSend, kOnly, kExtDeth | kExtImm, true),
    row(kCnp, "CNP", kNone, kCongestionNotification, kOnly, kExtCnpReserved, false),
};

constexpr std::uint8_t kAbsent = 0xff;

constexpr auto kIndex = [] {
  std::array<std::uint8_t, 256> index{};
  index.fill(kAbsent);
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    index[static_cast<std::size_t>(kTable[i].opcode)] = static_cast<std::uint8_t>(i);
  }
  return index;
}();

}  // namespace

const OpcodeInfo* find_opcode(std::uint8_t opcode) {
  const std::uint8_t i = kIndex[opcode];
  return i == kAbsent ? nullptr : &kTable[i];
}

const OpcodeInfo& opcode_info(Opcode opcode) { return *find_opcode(static_cast<std::uint8_t>(opcode)); }

std::span<const OpcodeInfo> opcode_table() { return kTable; }

}  // namespace weft::roce
