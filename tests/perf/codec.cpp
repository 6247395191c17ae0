// Encoder and decoder against bare ISA-L on the same buffers, both sides writing to the same rows, alternating. Prints
// JSON: source bytes per second of CPU time, medians over the rounds, and medians of the rounds' ratios.
//
//   encode               ours: symbols added one by one as they pass
//                        ISA-L: ec_encode_data_update one by one, into rows cleared before
//   encode_from_packets  ours: the same from packets, whose headers are copied and made canonical first
//                        ISA-L: packets copied and made canonical, as it takes a source in one piece
//   decode               ours: the first r sources lost, recovered from r repairs: shape checked, matrix inverted
//                        ISA-L: what its own erasure_code_perf does: decoding matrix inverted, tables, ec_encode_data
//   decode_given_matrix  ISA-L: ec_encode_data alone, its tables made beforehand
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include <isa-l/erasure_code.h>
#include <nlohmann/json.hpp>

#include "agent/base/clock.h"
#include "agent/base/rng.h"
#include "agent/fec/block_decoder.h"
#include "agent/fec/block_encoder.h"
#include "agent/fec/symbol.h"
#include "agent/roce/icrc.h"

namespace {

using weft::Bytes;
using weft::ByteView;
using namespace weft::fec;

constexpr unsigned kColumns = 32;
// Together more than the first cache levels hold, as packets in a ring are.
constexpr unsigned kBlocks = 32;
// Many short rounds: the two sides of a ratio are then milliseconds apart, and other work on the machine hits both.
constexpr std::size_t kRounds = 31;
constexpr double kSecondsPerRound = 0.01;
constexpr std::size_t kTableBytesPerCoefficient = 32;

double cpu_seconds() {
  return std::chrono::duration<double>(weft::clock_now(CLOCK_THREAD_CPUTIME_ID)).count();
}

// Source bytes per second of CPU time; `work` handles one block, by its number.
double throughput(std::size_t block_bytes, const std::function<void(unsigned)>& work) {
  std::uint64_t blocks = 0;
  const double start = cpu_seconds();
  double elapsed = 0;
  do {
    for (unsigned block = 0; block < kBlocks; ++block)
      work(block);
    blocks += kBlocks;
    elapsed = cpu_seconds() - start;
  } while (elapsed < kSecondsPerRound);
  return static_cast<double>(blocks * block_bytes) / elapsed;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

[[noreturn]] void wrong(const char* what) {
  static_cast<void>(std::fprintf(stderr, "codec: %s is wrong\n", what));
  std::exit(1);
}

// The same symbols for both sides, and what each needs beside them.
class Bench {
 public:
  Bench(std::size_t symbol_bytes, unsigned rows) : bytes_(symbol_bytes), rows_(rows), copy_(symbol_bytes) {
    weft::Rng rng(1);
    // Each behind 14 bytes of Ethernet in a chunk of its own, as frames lie in a UMEM; the two bytes before the packet
    // become the symbol's length.
    const std::size_t chunk_bytes = symbol_bytes > 2048 ? 8192 : 2048;
    constexpr std::size_t kPacketOffset = 256 + 14;
    frames_.resize(std::size_t{kBlocks} * kColumns * chunk_bytes);
    for (std::uint8_t& byte : frames_)
      byte = static_cast<std::uint8_t>(rng.next());
    for (unsigned i = 0; i < kBlocks * kColumns; ++i) {
      std::uint8_t* symbol = frames_.data() + i * chunk_bytes + kPacketOffset - kSymbolLengthBytes;
      weft::store_be16(symbol, static_cast<std::uint16_t>(symbol_bytes - kSymbolLengthBytes));
      symbols_.push_back(symbol);
    }
    make_encode_tables();
    make_repairs();
    // How fast rows are written depends on where they lie, so both sides write to the same ones.
    for (unsigned row = 0; row < rows_; ++row)
      encode_rows_[row] = const_cast<std::uint8_t*>(encoder_.repair(row).data());
    for (const RecoveredSymbol& recovered : decode(0))
      decode_rows_[recovered.column] = const_cast<std::uint8_t*>(recovered.bytes.data());
    check();
  }

  void encode(unsigned block) {
    encoder_.open(CodeKind::kReedSolomon, rows_, bytes_);
    for (unsigned column = 0; column < kColumns; ++column) {
      if (!encoder_.add({symbol(block, column), {}})) wrong("a symbol's size");
    }
  }

  void encode_from_packets(unsigned block) {
    encoder_.open(CodeKind::kReedSolomon, rows_, bytes_);
    for (unsigned column = 0; column < kColumns; ++column) {
      const SourceSymbol made(false, symbol(block, column).subspan(kSymbolLengthBytes));
      if (!encoder_.add(made.pieces())) wrong("a symbol's size");
    }
  }

  void isal_encode(unsigned block) {
    for (unsigned row = 0; row < rows_; ++row)
      std::memset(encode_rows_[row], 0, bytes_);
    for (unsigned column = 0; column < kColumns; ++column) {
      ec_encode_data_update(length(), kColumns, static_cast<int>(rows_), static_cast<int>(column),
                            encode_tables_.data(), symbols_[block * kColumns + column], encode_rows_.data());
    }
  }

  // ISA-L takes a source in one piece, and the packet itself must stay as it is: it is being sent.
  void isal_encode_from_packets(unsigned block) {
    for (unsigned row = 0; row < rows_; ++row)
      std::memset(encode_rows_[row], 0, bytes_);
    for (unsigned column = 0; column < kColumns; ++column) {
      const ByteView packet = symbol(block, column).subspan(kSymbolLengthBytes);
      weft::store_be16(copy_.data(), static_cast<std::uint16_t>(packet.size()));
      std::memcpy(copy_.data() + kSymbolLengthBytes, packet.data(), packet.size());
      weft::roce::set_exempt_fields(false, weft::MutableByteView(copy_).subspan(kSymbolLengthBytes), 0);
      ec_encode_data_update(length(), kColumns, static_cast<int>(rows_), static_cast<int>(column),
                            encode_tables_.data(), copy_.data(), encode_rows_.data());
    }
  }

  std::span<const RecoveredSymbol> decode(unsigned block) {
    known_.clear();
    for (unsigned column = rows_; column < kColumns; ++column)
      known_.push_back({column, {symbol(block, column), {}}});
    const auto recovered =
        decoder_.recover({CodeKind::kReedSolomon, kColumns, rows_}, known_, repairs_[block]);
    if (!recovered || recovered->size() != rows_) wrong("the number of recovered symbols");
    return *recovered;
  }

  void isal_decode(unsigned block) {
    make_decode_tables();
    isal_decode_given_matrix(block);
  }

  void isal_decode_given_matrix(unsigned block) {
    std::array<std::uint8_t*, kColumns> at_hand{};
    for (unsigned column = rows_; column < kColumns; ++column)
      at_hand[column - rows_] = symbols_[block * kColumns + column];
    for (unsigned row = 0; row < rows_; ++row)
      at_hand[kColumns - rows_ + row] = repair_storage_[block][row].data();
    ec_encode_data(length(), kColumns, static_cast<int>(rows_), decode_tables_.data(), at_hand.data(),
                   decode_rows_.data());
  }

  std::size_t block_bytes() const { return bytes_ * kColumns; }

 private:
  int length() const { return static_cast<int>(bytes_); }
  ByteView symbol(unsigned block, unsigned column) const {
    return {symbols_[block * kColumns + column], bytes_};
  }

  void make_encode_tables() {
    for (unsigned row = 0; row < rows_; ++row) {
      for (unsigned column = 0; column < kColumns; ++column)
        matrix_.push_back(coefficient(CodeKind::kReedSolomon, row, column, rows_));
    }
    encode_tables_.resize(matrix_.size() * kTableBytesPerCoefficient);
    ec_init_tables(kColumns, static_cast<int>(rows_), matrix_.data(), encode_tables_.data());
  }

  void make_repairs() {
    for (unsigned block = 0; block < kBlocks; ++block) {
      encode(block);
      repair_storage_.emplace_back();
      for (unsigned row = 0; row < rows_; ++row) {
        const ByteView repair = encoder_.repair(row);
        repair_storage_.back().emplace_back(repair.begin(), repair.end());
      }
      repairs_.emplace_back();
      for (unsigned row = 0; row < rows_; ++row)
        repairs_.back().push_back({row, repair_storage_.back()[row]});
    }
  }

  // Rows of the decoding matrix: what makes the first r columns of the others and the repairs.
  void make_decode_tables() {
    std::array<std::uint8_t, kColumns * kColumns> at_hand{};
    for (unsigned i = 0; i < kColumns - rows_; ++i)
      at_hand[i * kColumns + rows_ + i] = 1;
    std::ranges::copy(matrix_, at_hand.begin() + (kColumns - rows_) * kColumns);
    std::array<std::uint8_t, kColumns * kColumns> inverse{};
    if (gf_invert_matrix(at_hand.data(), inverse.data(), kColumns) != 0) wrong("the decoding matrix");
    decode_tables_.resize(std::size_t{rows_} * kColumns * kTableBytesPerCoefficient);
    ec_init_tables(kColumns, static_cast<int>(rows_), inverse.data(), decode_tables_.data());
  }

  // A benchmark of wrong results measures nothing: both encoders agree, and both decoders find the sources.
  void check() {
    isal_encode(0);
    for (unsigned row = 0; row < rows_; ++row) {
      if (std::memcmp(encode_rows_[row], repair_storage_[0][row].data(), bytes_) != 0)
        wrong("a repair symbol");
    }
    const auto find_sources = [&] {
      for (unsigned row = 0; row < rows_; ++row) {
        if (std::memcmp(decode_rows_[row], symbol(0, row).data(), bytes_) != 0) wrong("a recovered symbol");
        std::memset(decode_rows_[row], 0, bytes_);
      }
    };
    decode(0);
    find_sources();
    isal_decode(0);
    find_sources();
  }

  std::size_t bytes_;
  unsigned rows_;
  Bytes copy_;  // of a packet, for ISA-L
  Bytes frames_;
  std::vector<std::uint8_t*> symbols_;  // into frames_
  std::vector<std::uint8_t> matrix_;
  std::vector<std::uint8_t> encode_tables_;
  std::vector<std::uint8_t> decode_tables_;
  std::vector<std::vector<Bytes>> repair_storage_;
  std::vector<std::vector<RepairSymbol>> repairs_;
  std::array<std::uint8_t*, kMaxRows> encode_rows_{};  // encoder_'s
  std::array<std::uint8_t*, kMaxRows> decode_rows_{};  // decoder_'s
  BlockEncoder encoder_;
  BlockDecoder decoder_;
  std::vector<KnownSymbol> known_;
};

enum Work : std::size_t {
  kEncode,
  kFromPackets,
  kIsalEncode,
  kIsalFromPackets,
  kDecode,
  kIsalDecode,
  kIsalGivenMatrix,
  kWorks
};

nlohmann::json measure(std::size_t symbol_bytes, unsigned rows) {
  Bench bench(symbol_bytes, rows);
  const std::array<std::function<void(unsigned)>, kWorks> works{
      [&](unsigned block) { bench.encode(block); },
      [&](unsigned block) { bench.encode_from_packets(block); },
      [&](unsigned block) { bench.isal_encode(block); },
      [&](unsigned block) { bench.isal_encode_from_packets(block); },
      [&](unsigned block) { bench.decode(block); },
      [&](unsigned block) { bench.isal_decode(block); },
      [&](unsigned block) { bench.isal_decode_given_matrix(block); }};
  std::array<std::vector<double>, kWorks> rates;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kWorks; ++i)
      rates[i].push_back(throughput(bench.block_bytes(), works[i]));
  }
  const auto ratio = [&](Work ours, Work reference) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < kRounds; ++round)
      ratios.push_back(rates[ours][round] / rates[reference][round]);
    return median(ratios);
  };
  return {{"symbol_bytes", symbol_bytes},
          {"k", kColumns},
          {"r", rows},
          {"encode_bytes_per_s", median(rates[kEncode])},
          {"isal_encode_bytes_per_s", median(rates[kIsalEncode])},
          {"decode_bytes_per_s", median(rates[kDecode])},
          {"isal_decode_bytes_per_s", median(rates[kIsalDecode])},
          {"encode_ratio", ratio(kEncode, kIsalEncode)},
          {"encode_from_packets_ratio", ratio(kFromPackets, kIsalFromPackets)},
          {"decode_ratio", ratio(kDecode, kIsalDecode)},
          {"decode_given_matrix_ratio", ratio(kDecode, kIsalGivenMatrix)}};
}

}  // namespace

int main() {
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t symbol_bytes : {1086U, 4160U}) {
    for (const unsigned rows : {2U, 4U, 8U})
      results.push_back(measure(symbol_bytes, rows));
  }
  return std::puts(results.dump().c_str()) < 0 ? 1 : 0;
}
