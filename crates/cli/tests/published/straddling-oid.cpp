// expect: assertion lost oid kept oid
// flags: --checks crash
/* An object's identity has 16 bytes, and its place lets them straddle two lines: half of it may be there (PMDK's hashmap_atomic.c:169). */
// says: "declared":{"column":0,"file":"tests/published/straddling-oid.cpp"
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <landfall.h>

struct oid {
  uint64_t pool, offset;
};
struct map {
  alignas(64) uint64_t before[7];
  oid buckets; /* 56 bytes from the start: the end of a line is in the middle */
};

int main() {
  map *found = static_cast<map *>(lf_pm(sizeof(map)));
  if (lf_failures()) {
    assert(!found->buckets.offset || found->buckets.pool);
    return 0;
  }
  oid made = {7, 4096};
  found->buckets = made; //~ oid
  lf_persist(&found->buckets, sizeof made);
  return 0;
}
