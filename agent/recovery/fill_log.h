// Fill records on their way to a reader that takes them now and then. Bounded: a reader that falls behind loses the
// oldest, and is told how many.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "agent/recovery/fill_record.h"

namespace weft::recovery {

class FillLog final : public FillSink {
 public:
  explicit FillLog(std::size_t max_records) : max_records_(max_records) {}

  void on_fill(const FillRecord& record) override {
    if (records_.size() == max_records_) {
      records_.pop_front();
      ++missed_;
    }
    records_.push_back(record);
  }

  struct Taken {
    std::vector<FillRecord> records;
    std::uint64_t missed = 0;  // since the last call, older than the records
  };
  Taken take() {
    Taken taken{.records = {records_.begin(), records_.end()}, .missed = missed_};
    records_.clear();
    missed_ = 0;
    return taken;
  }

 private:
  std::size_t max_records_;
  std::deque<FillRecord> records_;
  std::uint64_t missed_ = 0;
};

}  // namespace weft::recovery
