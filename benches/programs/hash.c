/* Inserts into an open-addressing hash table in persistent memory. */
#include <landfall.h>
#include <stdint.h>
enum { SLOTS = 1 << 16, INSERTS = 2000000 };
struct slot { uint64_t key, value; };
int main(void) {
  struct slot *table = lf_pm(SLOTS * sizeof *table);
  uint64_t x = 88172645463325252ull, stored = 0;
  for (int i = 0; i < INSERTS; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    uint64_t key = (x & (SLOTS / 2 - 1)) + 1, at = key * 0x9E3779B97F4A7C15ull >> 48;
    while (table[at].key && table[at].key != key)
      at = (at + 1) & (SLOTS - 1);
    stored += !table[at].key;
    table[at].value = i;
    table[at].key = key;
#ifdef PERSIST
    lf_persist(&table[at], sizeof table[at]);
#endif
  }
  return stored > SLOTS;
}
