// main() of every GoogleTest binary: adds --seed=N and prints the seed, so that a failure can be repeated.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace {
std::uint64_t run_seed = 0;
}  // namespace

std::uint64_t weft::test::seed() { return run_seed; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* text = std::getenv("WEFT_TEST_SEED");
  constexpr std::string_view kFlag = "--seed=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kFlag)) text = argv[i] + kFlag.size();
  }
  run_seed =
      text != nullptr
          ? std::strtoull(text, nullptr, 10)
          : static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::printf("seed %llu\n", static_cast<unsigned long long>(run_seed));
  return RUN_ALL_TESTS();
}
