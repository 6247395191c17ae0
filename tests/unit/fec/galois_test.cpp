#include "agent/fec/galois.h"

#include <vector>

#include <gtest/gtest.h>

#include "agent/fec/code.h"
#include "tests/support/seed.h"
#include "tests/support/slow_code.h"

namespace weft::fec {
namespace {

Bytes random_bytes(Rng& rng, std::size_t size) {
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(rng.next());
  return bytes;
}

class GaloisImplementation : public testing::TestWithParam<const Galois*> {
 protected:
  void SetUp() override {
    if (GetParam() == nullptr) GTEST_SKIP() << "this processor has no AVX-512 with GFNI";
  }
};

TEST_P(GaloisImplementation, MultipliesEveryPair) {
  const Galois& field = *GetParam();
  Bytes all(256);
  for (unsigned value = 0; value < all.size(); ++value)
    all[value] = static_cast<std::uint8_t>(value);
  for (unsigned coefficient = 0; coefficient < 256; ++coefficient) {
    const auto factor = static_cast<std::uint8_t>(coefficient);
    std::vector<std::uint8_t> tables(kTableBytes);
    field.make_tables({&factor, 1}, tables.data());
    Bytes product(all.size());
    std::uint8_t* destination = product.data();
    const Factor term{tables.data(), all.data()};
    field.multiply_add({&term, 1}, 1, all.size(), &destination);
    for (unsigned value = 0; value < all.size(); ++value)
      ASSERT_EQ(product[value], weft::test::slow_multiply(factor, all[value]))
          << coefficient << " * " << value;
  }
}

// Any number of factors and rows, any length and alignment; nothing outside the destinations is touched.
TEST_P(GaloisImplementation, AddsAnyNumberOfFactorsToAnyNumberOfRows) {
  const Galois& field = *GetParam();
  Rng rng = weft::test::rng(31);
  constexpr std::size_t kMargin = 70;
  for (int round = 0; round < 300; ++round) {
    const std::size_t factors = rng.between(1, 10);
    const auto rows = static_cast<unsigned>(rng.between(1, 11));
    const std::size_t length = rng.between(1, 400);
    const std::size_t shift = rng.below(kMargin);
    std::vector<Bytes> sources;
    std::vector<Bytes> coefficients;
    std::vector<Bytes> tables;
    std::vector<Factor> terms;
    for (std::size_t i = 0; i < factors; ++i) {
      sources.push_back(random_bytes(rng, length));
      coefficients.push_back(random_bytes(rng, rows));
      tables.emplace_back(rows * kTableBytes);
      field.make_tables(coefficients.back(), tables.back().data());
      terms.push_back({tables.back().data(), sources.back().data()});
    }
    std::vector<Bytes> storage;
    std::vector<std::uint8_t*> destinations;
    for (unsigned row = 0; row < rows; ++row)
      storage.push_back(random_bytes(rng, length + 2 * kMargin));
    std::vector<Bytes> expected = storage;
    for (unsigned row = 0; row < rows; ++row) {
      destinations.push_back(storage[row].data() + shift);
      for (std::size_t i = 0; i < factors; ++i) {
        for (std::size_t at = 0; at < length; ++at)
          expected[row][shift + at] ^= weft::test::slow_multiply(coefficients[i][row], sources[i][at]);
      }
    }
    field.multiply_add(terms, rows, length, destinations.data());
    ASSERT_EQ(storage, expected) << factors << " factors, " << rows << " rows, " << length << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Isal, GaloisImplementation, testing::Values(&isal_galois()));
INSTANTIATE_TEST_SUITE_P(Gfni, GaloisImplementation, testing::Values(gfni_galois()));

}  // namespace
}  // namespace weft::fec
