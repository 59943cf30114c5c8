// What is lost was stored by the standard library: the place is the call, and the object is flushed there.
// exit: 0
// says: checked again: the check is clean
#include <landfall.h>
#include <array>
#include <cassert>
#include <cstdint>
#include <new>
#include <utility>
#include <optional>
struct Entry { std::pair<long, long> kv; std::optional<long> extra; };
struct Table { std::array<Entry, 4> entries; alignas(64) long count; };
static void put(Table *t, long k, long v) {
  long n = t->count;
  t->entries[n].kv = std::make_pair(k, v);
  t->entries[n].extra.emplace(7);
  t->count = n + 1;
  lf_persist(&t->count, sizeof t->count);
}
int main() {
  Table *t = (Table *)lf_pm(sizeof(Table));
  for (long i = 0; i < t->count; i++) {
    assert(t->entries[i].kv.second == 10 + i);
    assert(t->entries[i].extra.value() == 7);
  }
  if (lf_failures() == 0) { put(t, 1, 10); put(t, 2, 11); }
}
