// An open-addressing hash table; 0 is the empty key. The store of the key is what commits an insertion: the value is
// durable before it. The keys are packed together, so that a probe touches few lines; the values have lines of their own.
//
// After a power failure every key in the table has its value.
#include <cassert>
#include <cstdint>
#include <landfall.h>

struct Table {
  static constexpr unsigned slots = 8;
  uint64_t keys[slots];
  uint64_t values[slots];

  static unsigned home(uint64_t key) { return key * 0x9e3779b97f4a7c15u >> 61; }

  bool insert(uint64_t key, uint64_t value) {
    for (unsigned i = 0; i < slots; i++) {
      unsigned slot = (home(key) + i) % slots;
      if (keys[slot] == key)
        return false;
      if (keys[slot])
        continue;
      values[slot] = value;
      lf_persist(&values[slot], sizeof values[slot]);
      __atomic_store_n(&keys[slot], key, __ATOMIC_RELEASE);
      lf_persist(&keys[slot], sizeof keys[slot]);
      return true;
    }
    return false;
  }

  void check() const {
    for (unsigned slot = 0; slot < slots; slot++)
      if (uint64_t key = keys[slot])
        assert(values[slot] == key * 100);
  }
};

int main() {
  auto *table = static_cast<Table *>(lf_pm(sizeof(Table)));
  table->check();
  for (uint64_t key = 1; key <= 4; key++)
    table->insert(key, key * 100);
  table->check();
}
