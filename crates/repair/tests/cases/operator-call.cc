// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

struct Slot {
  uint64_t key;
  void operator()(uint64_t k) noexcept { key /*@*/= k; }
};
